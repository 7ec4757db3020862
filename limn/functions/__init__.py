"""Functions composed from the primitives. `Tensor` inherits them as methods; a file holds one family.

Adding one takes a few lines: record nodes or combine Tensor methods; the gradient follows. Where the natural
gradient would be inexact or wasteful, `trace.with_rule` gives the function one of its own (softmax, maximum).
"""

from limn.functions.comparison import Comparison
from limn.functions.creation import Creation
from limn.functions.elementwise import Elementwise
from limn.functions.linear import Linear
from limn.functions.order import Order
from limn.functions.reduction import Reduction
from limn.functions.sampling import Sampling
from limn.functions.select import Select
from limn.functions.shape import Shape


class Functions(Comparison, Creation, Elementwise, Linear, Order, Reduction, Sampling, Select, Shape):
    """What `Tensor` can do beyond its core; every method is written in terms of the core or of trace nodes."""

    __slots__ = ()
