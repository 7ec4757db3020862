"""Element types, and which type two of them meet at.

A `DType` is compared by identity: there is one object for each type, and `float32 is limn.float32`
everywhere. The rules of promotion are `promote` for two tensors and `scalar_dtype` for a Python number beside
a tensor; nothing else decides a dtype.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np


class DType:
    """One element type. `name` is Python's and numpy's word for it, `mlir` the word in printed IR, `kind` is
    "float", "int" or "bool"; `min` and `max` are the least and greatest finite values; `tiny` is the smallest
    value above 0."""

    __slots__ = ("itemsize", "kind", "max", "min", "mlir", "name", "numpy", "tiny")

    def __init__(self, name: str, mlir: str, kind: str, numpy: np.dtype):
        self.name, self.mlir, self.kind, self.numpy, self.itemsize = name, mlir, kind, numpy, numpy.itemsize
        if kind == "float":
            info = ml_dtypes.finfo(numpy)
            self.min, self.max, self.tiny = float(info.min), float(info.max), float(info.smallest_subnormal)
        elif kind == "int":
            self.min, self.max, self.tiny = int(np.iinfo(numpy).min), int(np.iinfo(numpy).max), 1
        else:
            self.min, self.max, self.tiny = False, True, True

    def __repr__(self) -> str:
        return f"limn.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # pickled as a module global, so identity survives

    @property
    def is_float(self) -> bool:
        """True for float64, float32, float16 and bfloat16."""
        return self.kind == "float"

    @property
    def is_half(self) -> bool:
        """A storage width: every operation on it computes in float32 and rounds once."""
        return self.kind == "float" and self.itemsize == 2

    @property
    def lowest(self) -> float | int | bool:
        """The value a maximum starts from: minus infinity, the lowest int, false."""
        return float("-inf") if self.kind == "float" else self.min


float64 = DType("float64", "f64", "float", np.dtype(np.float64))
float32 = DType("float32", "f32", "float", np.dtype(np.float32))
float16 = DType("float16", "f16", "float", np.dtype(np.float16))
bfloat16 = DType("bfloat16", "bf16", "float", np.dtype(ml_dtypes.bfloat16))
int32 = DType("int32", "i32", "int", np.dtype(np.int32))
int16 = DType("int16", "i16", "int", np.dtype(np.int16))
int8 = DType("int8", "i8", "int", np.dtype(np.int8))
bool_ = DType("bool_", "i1", "bool", np.dtype(np.bool_))

ALL = (float64, float32, float16, bfloat16, int32, int16, int8, bool_)
BY_MLIR = {t.mlir: t for t in ALL}
BY_NUMPY = {t.numpy: t for t in ALL}
_BY_NAME = {t.name: t for t in ALL} | {"bool": bool_}
_BY_PYTHON = {float: float32, int: int32, bool: bool_}


def as_dtype(spec: object) -> DType:
    """The DType meant by a DType, a name ("float32"), a numpy dtype or Python's float, int, bool. TypeError
    for others."""
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, str) and spec in _BY_NAME:
        return _BY_NAME[spec]
    if isinstance(spec, type) and spec in _BY_PYTHON:
        return _BY_PYTHON[spec]
    try:
        found = None if spec is None else BY_NUMPY.get(np.dtype(spec))  # type: ignore[call-overload]
    except TypeError:
        found = None
    if found is None:
        raise TypeError(f"{spec!r} is not an element type of limn; use one of {', '.join(t.name for t in ALL)}")
    return found


def promote(a: DType, b: DType) -> DType:
    """Where two tensors meet: the wider of one kind, float16 with bfloat16 at float32, an int with a float
    among the floats at float32 or wider, bool as whatever it meets."""
    if a is b:
        return a
    if a.kind == b.kind:
        if a.itemsize == b.itemsize:
            return float32
        return a if a.itemsize > b.itemsize else b
    if a.kind == "bool" or b.kind == "bool":
        return b if a.kind == "bool" else a
    wide = a if a.kind == "float" else b
    return float32 if wide.is_half else wide


def scalar_dtype(tensor: DType, value: object) -> DType:
    """Where a Python number meets a tensor: at the tensor's dtype, except that a float lifts an int or bool
    tensor to float32 and an int lifts a bool tensor to int32."""
    if isinstance(value, bool) or tensor.kind == "float":
        return tensor
    if isinstance(value, float):
        return float32
    return int32 if tensor.kind == "bool" else tensor


def check_scalar(value: object, dtype: DType) -> float | int | bool:
    """`value` as a Python number that `dtype` can hold. OverflowError for an int outside an int dtype's
    range; a float too large for its dtype becomes an infinity, as everywhere in IEEE arithmetic. For halves the number
    is rounded here, so that it is the same as a constant of a plan and as an argument."""
    if dtype.kind == "float":
        try:
            number = float(value)  # type: ignore[arg-type]
        except OverflowError:
            raise OverflowError(f"an int of {len(str(value))} digits does not fit {dtype.name}") from None
        if number != number or (abs(number) <= dtype.max and not dtype.is_half):
            return number
        with np.errstate(over="ignore"):
            through = np.float32(number) if dtype is bfloat16 else np.float64(number)  # as casts go
            return float(through.astype(dtype.numpy))
    if dtype.kind == "bool":
        return bool(value)
    if not dtype.min <= value <= dtype.max:  # type: ignore[operator]
        raise OverflowError(
            f"{value} does not fit {dtype.name}, which holds {dtype.min} to {dtype.max}; "
            "cast the tensor to a wider dtype first"
        )
    return int(value)  # type: ignore[call-overload]
