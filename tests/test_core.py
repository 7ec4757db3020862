"""`limn.core`: devices as values, index arithmetic and flat storage against numpy, scalar meanings against tensors and
the interpreter that is derived from them."""

import math
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import limn
from limn import Tensor
from limn.core import (
    Device,
    TensorData,
    broadcast_index,
    cpu,
    cuda,
    index_to_position,
    ops,
    resolve_device,
    scalar,
    shape_broadcast,
    strides_from_shape,
    tensor_data,
    to_index,
)
from limn.interpreters import scalar as interpreted

shapes = st.lists(st.integers(1, 4), max_size=4).map(tuple)

# ---- devices


def test_devices_are_values():
    assert repr(Device("cuda")) == "device('cuda:0')"
    assert repr(cpu) == "device('cpu:0')"
    assert (cuda.type, cuda.index, cuda.is_cuda, cuda.is_cpu) == ("cuda", 0, True, False)
    assert all(Device(kind).is_cpu and not Device(kind).is_cuda for kind in ("cpu", "numpy", "c"))
    assert len({Device("c"), Device("c", 0), Device("c", 1)}) == 2
    assert pickle.loads(pickle.dumps(Device("cuda", 2))) == Device("cuda", 2)
    with pytest.raises(AttributeError):
        cpu.index = 1


def test_names_become_devices(monkeypatch):
    monkeypatch.delenv("LIMN_DEVICE", raising=False)
    assert resolve_device() == cpu
    assert resolve_device("cuda:3") == Device("cuda", 3)
    assert resolve_device(cuda) is cuda
    monkeypatch.setenv("LIMN_DEVICE", "c")
    assert resolve_device(None) == Device("c")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: resolve_device("gpu"), ValueError, "unknown device 'gpu'; limn has cpu, numpy, c, cuda"),
        (lambda: resolve_device("cuda:x"), ValueError, "unknown device 'cuda:x'; an index is a number"),
        (lambda: resolve_device(3), TypeError, "a name or None, got 3; write 'c'"),
        (lambda: Device("tpu"), ValueError, "unknown device 'tpu'"),
        (lambda: Device("cuda", -1), ValueError, "0 or a positive int, got -1"),
    ],
)
def test_wrong_devices(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_a_wrong_default_names_its_variable(monkeypatch):
    monkeypatch.setenv("LIMN_DEVICE", "gpu")
    with pytest.raises(ValueError, match="LIMN_DEVICE=gpu: unknown device 'gpu'"):
        resolve_device()


# ---- index arithmetic


@given(shapes, shapes)
@settings(max_examples=200, deadline=None)
def test_shapes_broadcast_as_numpys(a, b):
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="do not broadcast: extents"):
            shape_broadcast(a, b)
    else:
        assert shape_broadcast(a, b) == expected


@given(shapes)
@settings(max_examples=100, deadline=None)
def test_strides_and_indices_are_numpys(shape):
    array = np.arange(math.prod(shape), dtype=np.int8).reshape(shape)
    assert strides_from_shape(shape) == array.strides
    for ordinal, index in enumerate(np.ndindex(shape)):
        out = [0] * len(shape)
        assert to_index(ordinal, shape, out) == index == tuple(out)
        assert index_to_position(index, strides_from_shape(shape)) == ordinal


@given(shapes, shapes)
@settings(max_examples=100, deadline=None)
def test_broadcast_indices_read_what_numpy_broadcasts(shape, more):
    big = (*more, *shape)
    array = np.arange(math.prod(shape)).reshape(shape)
    repeated = np.broadcast_to(array, big)
    for index in list(np.ndindex(big))[:50]:
        out = [0] * len(shape)
        assert array[broadcast_index(index, big, shape, out)] == repeated[index]
        assert array[tuple(out)] == repeated[index]


def test_where_the_functions_are_and_what_they_refuse():
    for name in ("shape_broadcast", "strides_from_shape", "index_to_position", "to_index", "broadcast_index"):
        assert getattr(ops, name) is getattr(tensor_data, name) is getattr(limn.core, name)
    with pytest.raises(IndexError, match=r"element 6 is outside shape \(2, 3\), which has 6"):
        to_index(6, (2, 3))
    with pytest.raises(ValueError, match=r"shape \(3, 2\) does not broadcast to \(2,\)"):
        broadcast_index((0,), (2,), (3, 2))
    with pytest.raises(ValueError, match="has 1 dims, strides"):
        index_to_position((1,), (3, 1))


# ---- storage


def test_views_of_storage_share_it():
    storage = np.arange(12, dtype=np.float32)
    data = TensorData(storage, (3, 4))
    assert (data.shape, data.strides, data.dims, data.size, data.dtype) == ((3, 4), (4, 1), 2, 12, limn.float32)
    assert data.storage is storage
    turned = data.permute(1, 0)
    assert (turned.shape, turned.strides, turned.storage) == ((4, 3), (1, 4), storage)
    np.testing.assert_array_equal(turned.to_numpy(), storage.reshape(3, 4).T)
    turned.set((3, 2), -1)
    assert data.get((2, 3)) == storage[11] == -1
    data.numpy_view()[0, 1] = 50
    assert turned.get((1, 0)) == 50
    assert not np.shares_memory(data.to_numpy(), storage)
    wide = TensorData(storage, (3, 1), (4, 1)).broadcast_to((2, 3, 4))
    assert wide.strides == (0, 4, 0)
    np.testing.assert_array_equal(wide.to_numpy(), np.broadcast_to(storage.reshape(3, 4)[:, :1], (2, 3, 4)))
    assert data.reshape(2, 6).storage is storage
    copied = turned.reshape(2, 6)
    assert copied.storage is not storage
    np.testing.assert_array_equal(copied.to_numpy(), storage.reshape(3, 4).T.reshape(2, 6))
    assert data.contiguous() is data
    assert list(data.indices()) == list(product(range(3), range(4)))
    assert "shape=(3, 4), strides=(4, 1), dtype=float32" in repr(data)


def test_storage_is_made():
    assert TensorData.zeros((2, 2)).to_numpy().tolist() == [[0, 0], [0, 0]]
    assert TensorData.ones((2,), "int8").dtype is limn.int8
    assert TensorData.empty((3, 1)).shape == (3, 1)
    assert TensorData([1.5, 2], (2,)).dtype is limn.float32
    assert TensorData([1, 2], ()).get(()) == 1
    assert TensorData([1, 2], (2,), device="c").device == Device("c")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: TensorData([1, 2], (3,)), ValueError, r"shape \(3,\) with strides \(1,\) does not fit 2 elements"),
        (lambda: TensorData([1, 2], (2,), (-1,)), ValueError, "are not negative"),
        (lambda: TensorData([1, 2], (2,), (1, 1)), ValueError, r"strides \(1, 1\) and shape \(2,\) differ in length"),
        (lambda: TensorData([[1], [2]], (2,)), ValueError, r"flat, got shape \(2, 1\); pass array.reshape\(-1\)"),
        (lambda: TensorData(np.zeros(2, complex), (2,)), TypeError, "complex128"),
        (lambda: TensorData.zeros((2, 0)), ValueError, r"positive ints, got \(2, 0\)"),
        (lambda: TensorData.zeros((2,), device="cuda"), ValueError, "host, not on cuda:0; use cpu"),
        (lambda: TensorData.zeros((2,)).get((2,)), IndexError, r"index \(2,\) is outside shape \(2,\)"),
        (lambda: TensorData.zeros((2,)).set((0, 0), 1), IndexError, r"index \(0, 0\) is outside shape \(2,\)"),
        (lambda: TensorData.zeros((2, 2)).permute(0, 0), ValueError, r"\(0, 0\) does not name each dim"),
        (lambda: TensorData.zeros((2,)).broadcast_to((3,)), ValueError, r"shapes \(2,\) and \(3,\) do not"),
        (lambda: TensorData.zeros((2,)).broadcast_to((1,)), ValueError, r"\(2,\) does not broadcast to \(1,\)"),
        (lambda: TensorData.zeros((2,)).reshape(3), ValueError, r"2 elements of shape \(2,\) do not fit \(3,\)"),
    ],
)
def test_wrong_storage(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


# ---- scalars

POINTS = [-800.0, -3.5, -1e-30, -0.0, 0.0, 1e-30, 0.25, 1.0, 3.5, 800.0, math.inf, -math.inf, math.nan]


def test_scalars_mean_what_tensors_compute(device):
    x = Tensor(np.array(POINTS), requires_grad=True)
    for function, method in [("relu", "relu"), ("exp", "exp"), ("log", "log"), ("inv", "reciprocal")]:
        expected = [getattr(scalar, function)(v) for v in POINTS]
        np.testing.assert_allclose(getattr(x, method)().numpy(), expected, rtol=1e-14, err_msg=function)
    np.testing.assert_array_equal((x + 3).numpy(), [scalar.add(v, 3.0) for v in POINTS])
    np.testing.assert_array_equal((x * 3).numpy(), [scalar.mul(v, 3.0) for v in POINTS])
    (slope,) = limn.grad(x.relu().sum(), x)
    np.testing.assert_array_equal(slope.numpy()[:-1], [scalar.relu_back(v, 1.0) for v in POINTS[:-1]])
    positive = Tensor(np.array([0.25, 1.0, 3.5, 800.0]), requires_grad=True)
    (slope,) = limn.grad(positive.log().sum(), positive)
    np.testing.assert_allclose(slope.numpy(), [scalar.log_back(v, 1.0) for v in positive.tolist()], rtol=1e-15)


def test_sigmoid_is_stable():
    found = [float(scalar.sigmoid(v)) for v in (-800.0, -745.0, 0.0, 40.0, 800.0)]
    assert found == pytest.approx([0, math.exp(-745), 0.5, 1, 1], rel=1e-12)
    assert scalar.sigmoid(-1.0) + scalar.sigmoid(1.0) == pytest.approx(1)
    assert math.isnan(scalar.sigmoid(math.nan))


def test_scalars_keep_numpys_types_and_closeness_has_a_tolerance():
    for function in (scalar.sigmoid, scalar.relu, scalar.exp, scalar.log, scalar.inv):
        assert function(np.float32(0.5)).dtype == np.float32
    assert scalar.is_close(1.0, 1.009)
    assert not scalar.is_close(1.0, 1.011)
    assert not scalar.is_close(math.nan, math.nan)
    assert scalar.is_close(1.0, 1.1, tolerance=0.2)


def test_the_interpreters_operations_are_these_at_each_width(monkeypatch):
    seen = []
    for name in ("add", "mul", "exp", "log"):
        meant = getattr(scalar, name)
        monkeypatch.setattr(scalar, name, lambda *a, name=name, meant=meant: seen.append(name) or meant(*a))
    one, two = np.float32(1.5), np.float32(2)
    assert interpreted.TABLE["nest.add"](one, two) == 3.5
    assert interpreted.TABLE["nest.mul"](np.int8(100), np.int8(3)) == np.int8(44)
    assert interpreted.TABLE["nest.exp"](two) == np.exp(two)
    assert interpreted.TABLE["nest.log"](two) == np.log(two)
    assert seen == ["add", "mul", "exp", "log"]


def test_storage_that_is_a_strided_array():
    """Strides count elements of the storage, wherever these lie in memory."""
    for storage in (np.arange(12.0)[::2], np.arange(6.0)[::-1]):
        data = TensorData(storage, (2, 3))
        assert np.array_equal(data.numpy_view(), storage.reshape(2, 3))
        assert np.array_equal(data.permute(1, 0).to_numpy(), storage.reshape(2, 3).T)
        data.numpy_view()[1, 2] = 50.0
        assert data.get((1, 2)) == storage[5] == 50.0


def test_what_flat_storage_refuses():
    with pytest.raises(OverflowError, match="1099511627776 does not fit int32"):
        TensorData([1, 2**40], (2,))
    for shape in ((2.5, 2), 6, "ab"):
        with pytest.raises(ValueError, match="a shape is a tuple of positive ints, got"):
            TensorData(np.arange(6.0), shape)
    with pytest.raises(IndexError, match=r"index 1 is outside shape \(2,\); it is a tuple of 1 ints"):
        TensorData.zeros((2,)).get(1)
    with pytest.raises(ValueError, match="an index is 0 or a positive int, got True"):
        Device("cuda", True)


@pytest.mark.filterwarnings("error")
def test_scalars_that_overflow_say_nothing():
    top = np.float32(3e38)
    assert scalar.add(top, top) == scalar.mul(top, top) == np.inf
    assert scalar.add(np.int8(127), np.int8(1)) == -128
