"""Random words as expressions: a counter, a key, and a small Feistel network between them.

A draw makes two words of 32 bits for each element from the element's number and the key of the draw alone, in ops of
the closed set. So random numbers fuse into the kernels that use them, nothing is stored for a backward, which computes
its mask again, and every device gets the same bits, since nothing but i32 arithmetic and IEEE steps of f32 is used.

The network: (left, right) -> (right, left + F(right)), five rounds. F is t plus its own top 17 bits, where t = x * (2 *
x + key) modulo 2**32 and the key is odd: the product, a permutation whose top bits depend on all bits below (it is the
one inside RC6, by Rivest, Robshaw, Sidney and Yin, 1998), spreads each bit upwards, and the sum brings the top back
down (there is no shift among the primitives; a cast to float32, times 2**-15, and back are one). A network of such
rounds is Luby's and Rackoff's construction (How to construct pseudorandom permutations, 1988); making random numbers
by such a block cipher in counter mode, with few rounds, is Salmon's, Moraes's, Dror's and Shaw's idea (Parallel random
numbers: as easy as 1, 2, 3, SC 2011). With four rounds, one less than the first word has, it passes the diehard and
sts suites of dieharder, and the counts of `tests/test_random.py` on ten times as many words; with three, the second
word fails some of them. A plain square for the product fails them even with five.

The key of a draw is BLAKE2b of the seed and the number of the draw, 28 bytes in a buffer of its own: data, not a
literal, so a plan serves all draws, and two equal expressions differ. Elements are numbered in row-major order, from a
small table for each dim. The price: about 42 ops an element, half a microsecond of Python for each, and a table as
long as each dim.
"""

from __future__ import annotations

import os
import struct
import threading
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from limn import trace as t
from limn.dtypes import float32, int32
from limn.runtime import Buffer
from limn.trace import Node
from limn.view import View

ROUNDS = 5
KEY_WORDS = 2 + ROUNDS
TOP = 2.0**-15  # what is left of a word times this are its top 17 bits
KEPT_TABLE = 1 << 16  # elements; longer tables are made again when nobody holds them


class _State:
    """The seed and the number of the next draw, each below 2**64."""

    def __init__(self) -> None:
        self.seed = int.from_bytes(os.urandom(8), "little")
        self.draw = 0
        self.lock = threading.Lock()


_state = _State()


def set_seed(seed: int) -> None:
    """Start the sequence of random tensors anew; equal seeds give equal sequences, on every device.

    Without it a process starts from a seed of the operating system. TypeError for a seed that is no int.
    """
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
        raise TypeError(f"set_seed: a seed is an int, got {seed!r}; pass one such as 0")
    with _state.lock:
        _state.seed, _state.draw = int(seed) % 2**64, 0


def get_rng_state() -> np.ndarray[Any, np.dtype[np.int32]]:
    """What set_rng_state takes to go on from here: 4 int32 numbers, the seed and the number of the next draw, low
    halves first. A checkpoint may hold them as an array or a tensor."""
    with _state.lock:
        return np.frombuffer(struct.pack("<QQ", _state.seed, _state.draw), "<i4").astype(np.int32)


def set_rng_state(state: Any) -> None:
    """Go on from what get_rng_state gave. ValueError for anything but 4 ints of 32 bits."""
    words = np.asarray(state)
    if words.shape != (4,) or words.dtype.kind not in "iu" or any(not -(2**31) <= int(n) < 2**32 for n in words):
        raise ValueError(
            f"set_rng_state: a state is 4 ints of 32 bits, got {state!r:.80}; pass what get_rng_state gave"
        )
    seed, draw = struct.unpack("<QQ", words.astype("<i4").tobytes())
    with _state.lock:
        _state.seed, _state.draw = seed, draw


class Key(Buffer):
    """The key of one draw: random words, for the element's number, the left side, and, odd ones, for each round. `seed`
    and `draw` say which draw it is.

    Being of this class tells a replay of recorded plans that a fresh key belongs in its place.
    """

    __slots__ = ("draw", "seed")

    def __init__(self, seed: int, draw: int):
        super().__init__(int32, KEY_WORDS)
        self.seed, self.draw = seed, draw
        digest = blake2b(struct.pack("<QQ", seed, draw), digest_size=4 * self.size).digest()
        self.array[:] = np.frombuffer(digest, "<i4")
        self.array[2:] |= 1

    @staticmethod
    def fresh() -> Key:
        """The key of the next draw."""
        with _state.lock:
            seed, draw = _state.seed, _state.draw
            _state.draw = (draw + 1) % 2**64
        return Key(seed, draw)


def words(shape: tuple[int, ...]) -> tuple[Node, Node]:
    """Two int32 nodes of independent words, each of which takes every value from -2**31 to 2**31 - 1 equally often.

    ValueError for 2**32 elements and more.
    """
    if View.contiguous(shape).size >= 2**32:
        raise ValueError(f"random: shape {shape} has 2**32 elements or more; draw it in parts")
    key = t.buffer_node(Key.fresh(), (KEY_WORDS,))
    right, left, *odd = (t.move(key, View.of(shape, (0,) * len(shape), number)) for number in range(KEY_WORDS))
    top = t.const(TOP, shape, float32)
    for table in _tables(shape):
        right = t.add(right, t.expand(table, shape))
    for round_key in odd:
        product = t.mul(right, t.add(right, t.add(right, round_key)))
        mixed = t.add(product, t.cast(t.mul(t.cast(product, float32), top), int32))
        left, right = right, t.add(left, mixed)
    return right, left


def _tables(shape: tuple[int, ...]) -> list[Node]:
    """For each dim what its index adds to an element's number, modulo 2**32, with extents of 1 for the dims after."""
    nodes, step = [], 1
    for dim in range(len(shape))[::-1]:
        if (extent := shape[dim]) > 1:
            nodes.append(t.buffer_node(_table(extent, step % 2**32), (extent, *[1] * (len(shape) - 1 - dim))))
        step *= extent
    return nodes[::-1]


_held: WeakValueDictionary[tuple[int, int], Buffer] = WeakValueDictionary()


def _table(extent: int, step: int) -> Buffer:
    """0, step, 2 * step, ... modulo 2**32. Equal ones are one buffer, so that a plan reads it once."""
    if extent <= KEPT_TABLE:
        return _small_table(extent, step)
    found = _held.get((extent, step))
    if found is None:
        found = _held[extent, step] = _new_table(extent, step)
    return found


def _new_table(extent: int, step: int) -> Buffer:
    return Buffer.of((np.arange(extent, dtype=np.uint32) * np.uint32(step)).view(np.int32), int32)


_small_table = lru_cache(maxsize=256)(_new_table)
