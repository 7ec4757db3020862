"""What stands below the tensors, usable by itself: devices as values, flat storage with strides, index arithmetic, and
the mathematical meaning of the scalar operations. Plain Python and numpy; nothing here is made for speed.
"""

from limn.core import device, ops, scalar, tensor_data
from limn.core.device import Device, cpu, cuda, resolve_device
from limn.core.ops import broadcast_index, index_to_position, shape_broadcast, strides_from_shape, to_index
from limn.core.tensor_data import TensorData

__all__ = [
    "Device",
    "TensorData",
    "broadcast_index",
    "cpu",
    "cuda",
    "device",
    "index_to_position",
    "ops",
    "resolve_device",
    "scalar",
    "shape_broadcast",
    "strides_from_shape",
    "tensor_data",
    "to_index",
]
