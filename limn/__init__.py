"""limn: a deep learning framework made to be read.

from limn import Tensor, and train; `limn.ir(loss)` shows what runs. docs/architecture.md is the map.
"""

from limn.autograd import grad
from limn.codegen import ir
from limn.dtypes import DType, bfloat16, bool_, float16, float32, float64, int8, int16, int32
from limn.functions.free import *  # noqa: F403
from limn.random import get_rng_state, set_rng_state, set_seed
from limn.realize import realize
from limn.runtime import get_device, set_device
from limn.tensor import Tensor
from limn.trace import no_grad

from_dlpack = Tensor.from_dlpack

__all__ = [
    "DType",
    "Tensor",
    "bfloat16",
    "bool_",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "get_device",
    "get_rng_state",
    "grad",
    "int8",
    "int16",
    "int32",
    "ir",
    "no_grad",
    "realize",
    "set_device",
    "set_rng_state",
    "set_seed",
]
