"""Looking at what limn makes of an expression: `ir(tensor, stage=...)`.

It gives the text that the device's own road starts from or passes through, so `limn-opt` can take it further from any
stage; nothing is computed and no plan is kept.
"""

from limn.importer import build, record
from limn.pipelines import PIPELINES, module_text, run_pipeline
from limn.runtime import get_device
from limn.targets.c import print_c
from limn.tensor import Tensor

STAGES = ("graph", "schedule", "nest", "final", "c")


def ir(*tensors: Tensor, stage: str = "graph") -> str:
    """The text of what realizing these tensors would run, at one stage of its way.

    graph     primitives on tensors
    schedule  fused kernels
    nest      plain loops, the same on every machine
    final     what the current device's pipeline ends with
    c         the C text, on whatever device

    Raises ValueError for another stage, and where every tensor is computed already and nothing would run.
    """
    if stage not in STAGES:
        raise ValueError(f"unknown stage {stage!r}; the stages are {', '.join(STAGES)}")
    c_text = stage == "c"
    nodes = [tensor._node for tensor in tensors if tensor._node.realized is None]
    if not nodes:
        raise ValueError(
            "nothing to show: each of these tensors is computed already; give ir a tensor before realizing it"
        )
    module = build(record(list(dict.fromkeys(nodes))))
    if stage == "final":
        stage = get_device().name if get_device().name in PIPELINES else "graph"
    run_pipeline(module, PIPELINES[stage][0])
    return print_c(module) if c_text else module_text(module)
