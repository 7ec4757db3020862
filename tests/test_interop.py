"""Tensors beside numpy and torch, in files, in pickles, on devices: who shares bytes with whom, and what travels."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch

import limn
from limn import Tensor, bfloat16, float16, float32, float64, int8, int16, int32
from limn.core import Device, cpu

pytestmark = pytest.mark.usefixtures("device")

DTYPES = [float64, float32, float16, bfloat16, int32, int16, int8, limn.bool_]


def other(device):
    return "numpy" if device == "c" else "c"


needs_two = pytest.mark.skipif(len(__import__("conftest").DEVICES) < 2, reason="no C compiler here")


# ---- numpy


def test_arrays_and_tensors_meet_on_both_sides():
    array = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    t = Tensor(array)
    for found in (array + t, t + array, np.float32(1) * t + array, array @ t.T @ t, array < t, array - t):
        assert isinstance(found, Tensor)
    np.testing.assert_array_equal((array + t).numpy(), array * 2)
    np.testing.assert_array_equal((array - t * 2).numpy(), -array)
    assert type(np.asarray(t)) is np.ndarray
    assert np.asarray(t, dtype=np.float64).dtype == np.float64
    np.testing.assert_array_equal(np.stack([t, t])[1], array)


def test_a_tensor_keeps_a_copy_of_an_array():
    array = np.ones(4, np.float32)
    t = Tensor(array)
    late = t * 2  # an expression closes over the tensor, not the array
    array[:] = 9
    assert late.tolist() == [2, 2, 2, 2]
    out = t.numpy()
    out[:] = 5
    assert t.tolist() == [1, 1, 1, 1]


def test_python_sees_numbers_and_lists():
    t = Tensor([[1.5, 2.0], [0.0, -1.0]])
    assert t.tolist() == [[1.5, 2.0], [0.0, -1.0]]
    assert (len(t), float(t[0, 0]), int(t[0, 1]), bool(t[1, 0])) == (2, 1.5, 2, False)
    assert {t: 1}[t] == 1
    assert (t == t).numpy().all()
    assert (Tensor(3).tolist(), [10, 20, 30][Tensor(1)]) == (3, 20)
    assert "not computed yet" in repr(t + 1)
    assert repr(Tensor([1.5, 2.0])) == "Tensor([1.5, 2. ], dtype=float32)"


# ---- DLPack


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d is not bfloat16])
def test_dlpack_shares_bytes_both_ways(dtype):
    t = Tensor(np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype.numpy))
    assert t.__dlpack_device__() == (1, 0)
    there = torch.from_dlpack(t)
    assert there.data_ptr() == t._node.realized.address
    back = limn.from_dlpack(there)
    assert back.dtype is dtype
    assert back._node.realized.address == there.data_ptr()
    waiting = back.cast(float32) + 1
    there[0, 1] = 1
    assert t.tolist()[0][1] == 1
    assert waiting.tolist() == [[2, 2, 2], [1, 2, 2]]
    assert np.shares_memory(np.from_dlpack(t), t._node.realized.array)


def test_dlpack_computes_what_is_lazy_and_copies_where_asked():
    t = Tensor([1.0, 2.0]) * 3
    assert torch.from_dlpack(t).tolist() == [3, 6]
    copied = np.from_dlpack(t) if np.lib.NumpyVersion(np.__version__) < "2.1.0" else np.from_dlpack(t, copy=True)
    copied = copied.copy() if not copied.flags.writeable else copied
    copied[0] = 100
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert t.tolist() == [3, 6]


def test_dlpack_of_other_layouts_and_dtypes_copies():
    source = torch.arange(6.0).reshape(2, 3)
    turned = limn.from_dlpack(source.T)
    source[0, 0] = 50
    assert turned.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert limn.from_dlpack(torch.arange(3)).dtype is int32
    assert limn.from_dlpack(torch.arange(3, dtype=torch.uint8)).tolist() == [0, 1, 2]
    assert limn.from_dlpack(np.arange(4.0)[::2]).tolist() == [0, 2]


def test_dlpack_outlives_the_tensor():
    there = torch.from_dlpack(Tensor(np.arange(100_000, dtype=np.float32)) * 1)
    for _ in range(3):
        Tensor(np.zeros(100_000, np.float32)).realize()
    assert there[77].item() == 77
    t = limn.from_dlpack(torch.arange(100_000.0) + 1)
    torch.zeros(100_000)
    assert t[77].item() == 78


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: torch.from_dlpack(Tensor([1.0], requires_grad=True)),
            BufferError,
            r"requires them; pass t.detach\(\)",
        ),
        (lambda: Tensor([1.0]).cast(bfloat16).__dlpack__(), BufferError, r"no bfloat16; pass t.cast\(float32\)"),
        (lambda: Tensor([1.0]).__dlpack__(dl_device=(2, 0)), BufferError, r"host, \(1, 0\), not on \(2, 0\)"),
        (lambda: limn.from_dlpack([1, 2]), TypeError, r"list has no __dlpack__; use Tensor\(data\)"),
        (lambda: limn.from_dlpack(torch.ones(2, dtype=torch.bfloat16)), BufferError, "not as bfloat16"),
        (lambda: limn.from_dlpack(torch.ones(2, requires_grad=True)), BufferError, "pass it detached"),
        (lambda: limn.from_dlpack(torch.tensor([2**40])), OverflowError, "1099511627776 do not fit int32"),
    ],
)
def test_wrong_dlpack(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


# ---- raw files


@pytest.mark.many_kernels
@pytest.mark.parametrize("dtype", DTYPES)
def test_raw_files_go_out_and_in(dtype, tmp_path):
    t = Tensor(np.array([[1, 0, 3], [0, 5, 6]])).cast(dtype)
    path = tmp_path / "values.bin"
    t.numpy().tofile(path)
    assert path.stat().st_size == 6 * dtype.itemsize
    back = Tensor.fromfile(path, dtype, (2, 3))
    assert back.dtype is dtype
    np.testing.assert_array_equal(back.numpy(), t.numpy())
    assert Tensor.fromfile(str(path), dtype.numpy).shape == (6,)


def test_wrong_raw_files(tmp_path):
    path = tmp_path / "values.bin"
    np.zeros(5, np.float32).tofile(path)
    with pytest.raises(ValueError, match=r"values.bin has 20 bytes, \(2, 3\) of float32 takes 24; give the shape"):
        Tensor.fromfile(path, float32, (2, 3))
    with pytest.raises(ValueError, match=r"has 20 bytes, \(2,\) of float64 takes 16"):
        Tensor.fromfile(path, float64)
    with pytest.raises(FileNotFoundError):
        Tensor.fromfile(tmp_path / "nothing.bin", float32)


# ---- pickle and copies


@pytest.mark.many_kernels
@pytest.mark.parametrize("dtype", DTYPES)
def test_pickles_hold_values(dtype):
    t = Tensor(np.array([[1, 0, 3]])).cast(dtype)
    back = pickle.loads(pickle.dumps(t))
    assert (back.dtype, back.shape, back.requires_grad) == (dtype, (1, 3), False)
    np.testing.assert_array_equal(back.numpy(), t.numpy())


def test_leaves_travel_with_their_gradients():
    w = Tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    for twin in (pickle.loads(pickle.dumps(w)), copy.deepcopy(w), copy.copy(w)):
        assert twin.requires_grad
        assert twin.is_leaf
        assert twin.grad.tolist() == [2, 4]
        (twin * 3).sum().backward()
        assert twin.grad.tolist() == [5, 7]
        twin.assign([7.0, 7.0])
        assert twin.tolist() == [7, 7]
    assert w.tolist() == [1, 2]
    assert w.grad.tolist() == [2, 4]


def test_copies_share_bytes_and_deep_ones_do_not():
    t = Tensor(np.arange(4.0))
    assert copy.copy(t)._node.realized is t._node.realized
    deep = copy.deepcopy([t, t])
    assert deep[0] is deep[1]
    assert not np.shares_memory(deep[0]._node.realized.array, t._node.realized.array)
    y = Tensor([1.0], requires_grad=True) * 2
    for travel in (pickle.dumps, copy.deepcopy):
        with pytest.raises(RuntimeError, match=r"of shape \(1,\) is computed from others .* use t.detach\(\)"):
            travel(y)
    again = copy.copy(y)
    assert again.requires_grad
    assert copy.deepcopy(y.detach()).tolist() == [2]


# ---- devices


def test_an_ordinary_tensor_is_on_the_current_device(device):
    t = Tensor([1.0]) + 1
    assert t.device == Device(device)
    assert t.device.is_cpu
    limn.set_device("numpy")
    assert t.device == Device("numpy")
    limn.set_device(Device(device))
    assert limn.get_device().name == device
    assert t.to(cpu).device.type in ("c", "numpy")


@needs_two
def test_a_bound_tensor_takes_its_batch_along(device, monkeypatch):
    there = limn.runtime.find_device(other(device))
    compiled = []
    compile_module = type(there).compile
    monkeypatch.setattr(type(there), "compile", lambda self, m: compiled.append(self.name) or compile_module(self, m))
    t = Tensor(np.arange(5, dtype=np.float32))
    bound = t.to(other(device))
    assert bound._node.realized.address == t._node.realized.address  # host devices share bytes
    assert (bound.device, t.device) == (Device(other(device)), Device(device))
    assert bound.to(Device(other(device))) is bound
    result = (bound * 2.5 + t).exp()
    assert result.device == Device(other(device))
    np.testing.assert_allclose(result.numpy(), np.exp(np.arange(5) * 3.5), rtol=1e-5)
    assert compiled in ([other(device)], [])  # [] where another test has made the plan
    assert result.device == result.detach().reshape(1, 5).device == Device(other(device))
    bound.assign(bound + 1).realize()
    assert (bound.device, bound.tolist(), t.tolist()) == (Device(other(device)), [1, 2, 3, 4, 5], [0, 1, 2, 3, 4])
    assert result.to(device).device == Device(device)
    assert pickle.loads(pickle.dumps(bound)).device == copy.deepcopy(bound).device == Device(other(device))


@needs_two
def test_gradients_come_back_from_another_device(device):
    w = Tensor([1.0, 2.0], requires_grad=True)
    (w.to(other(device)) ** 3).sum().backward()
    assert w.grad.tolist() == [3, 12]
    w.assign(w - 0.5 * w.grad).realize()
    assert w.tolist() == [-0.5, -4]


@needs_two
def test_one_batch_has_one_device(device):
    a, b = Tensor([1.0]).to("c"), Tensor([2.0]).to("numpy")
    with pytest.raises(RuntimeError, match=r"bound to c and to numpy; bring them to one with t.to\('c'\)"):
        (a + b).realize()
    assert (a + b.to("c")).item() == 3


def test_wrong_devices_say_so():
    t = Tensor([1.0])
    with pytest.raises(ValueError, match="unknown device 'gpu'; limn has cpu, numpy, c, cuda"):
        t.to("gpu")
    with pytest.raises(ValueError, match="unknown device 'c:1'"):
        t.to("c:1")
    with pytest.raises(RuntimeError, match="no cuda device yet; use"):
        t.to("cuda")
    with pytest.raises(TypeError, match="got 3; write 'c'"):
        t.to(3)


def test_the_numpy_device_warns_once_of_a_product_above_256_mb(monkeypatch):
    from limn.runtime import numpy_device

    assert numpy_device.LARGE_PRODUCT == 256 * 2**20
    monkeypatch.setattr(numpy_device, "_warned", False)
    limn.set_device("numpy")
    a = Tensor(np.ones((1024, 129), np.float32))
    monkeypatch.setattr(numpy_device, "Program", lambda func: None)  # seeing it is enough, computing it takes memory
    with pytest.warns(UserWarning, match=r'\(1024, 512, 129\), 258 MB.*limn.set_device\("c"\)'):
        limn.get_device().compile(module_of(a @ Tensor(np.ones((129, 512), np.float32))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        limn.get_device().compile(module_of(a @ Tensor(np.ones((129, 512), np.float32))))


def module_of(tensor):
    from limn.importer import build, record

    return build(record([tensor._node]))


def test_a_tensor_of_another_library_that_numpy_cannot_read():
    for source in (torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.bfloat16)):
        with pytest.raises(TypeError, match=r"numpy cannot read this Tensor: .*; pass it detached, in host memory"):
            Tensor(source)


def test_a_file_of_less_than_one_element(tmp_path):
    (tmp_path / "short").write_bytes(b"abc")
    with pytest.raises(ValueError, match=r"short has 3 bytes, \(1,\) of float32 takes 4"):
        Tensor.fromfile(tmp_path / "short", "float32")
