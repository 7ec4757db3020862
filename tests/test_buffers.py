"""Buffers: alignment, and the pool that reuses the memory of dead ones but never what somebody still reads."""

from __future__ import annotations

import gc
import os
import signal
import threading

import numpy as np
import pytest

import limn
from limn import Tensor
from limn.runtime import buffers
from limn.runtime.buffers import ALIGNMENT, POOL_LIMIT, POOLED, Buffer

SIZE = POOLED  # elements, so four times the bytes from which on blocks are pooled


def test_a_buffer_is_aligned_whatever_its_size() -> None:
    for size in (0, 1, 3, 1000, SIZE):
        buffer = Buffer(limn.float32, size)
        assert buffer.address % ALIGNMENT == 0
        assert buffer.array.__array_interface__["data"][0] == buffer.address
        assert buffer.array.shape == (size,)


def test_the_memory_of_a_dead_buffer_serves_the_next_of_its_size() -> None:
    first = Buffer(limn.float32, SIZE)
    address = first.address
    del first
    assert Buffer(limn.float32, SIZE).address == address


def test_memory_that_an_array_still_shows_is_not_reused() -> None:
    for look in (lambda a: a, lambda a: a[5:9], lambda a: a.reshape(-1, 2).T, lambda a: memoryview(a)):
        buffer = Buffer(limn.float32, SIZE)
        buffer.array[:] = 7
        seen = look(buffer.array)
        del buffer
        gc.collect()
        for _ in range(3):
            Buffer(limn.float32, SIZE).array[:] = -1
        assert np.all(np.asarray(seen) == 7)


def test_numbers_given_out_by_a_tensor_outlive_it() -> None:
    tensor = Tensor(np.full(SIZE, 3.0, np.float32)) + 1
    numbers = tensor.numpy()
    del tensor
    for _ in range(3):
        (Tensor(np.zeros(SIZE, np.float32)) - 1).realize()
    assert np.all(numbers == 4)


def test_the_pool_holds_no_more_than_its_limit() -> None:
    for size in range(SIZE, SIZE + 200):
        Buffer(limn.float64, 64 * size)
        assert buffers._pool.held <= POOL_LIMIT
    assert buffers._pool.held == sum(b.size for blocks in buffers._pool.free.values() for b in blocks)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_while_another_thread_is_in_the_pool_leaves_the_child_a_pool() -> None:
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with buffers._pool.lock:
            entered.set()
            leave.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a child that waits for ever
        Buffer(limn.float32, SIZE)
        os._exit(0)
    leave.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
