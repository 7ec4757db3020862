"""A hand-written nest that reads or writes outside its memory never becomes C, wherever that is certain."""

from __future__ import annotations

import pytest
from native import parse

from limn.dialects.legality import IllegalOp
from limn.targets.c import print_c

KERNEL = """
nest.kernel @k(%x: memref<20xf32>, %out: memref<20xf32>) {{
  nest.for %i = {low} to {high} step {step} {{
    nest.for %j = 0 to {inner} {{
      %v = nest.load %x[{read}]{checks} : f32
      nest.store %v, %out[%i] : f32
    }}
  }}
}}
"""
PLAIN = {"low": 0, "high": 20, "step": 1, "inner": 1, "read": "%i", "checks": ""}

WRONG = [
    ({"high": 21}, "'nest.load' touches elements 0 to 20 of %x, which has 20"),
    ({"read": "%i - 1"}, "'nest.load' touches elements -1 to 18 of %x, which has 20"),
    ({"read": "%i * 2", "high": 11}, "'nest.load' touches elements 0 to 20 of %x, which has 20"),
    ({"read": "19 - %i", "low": 0, "high": 22, "step": 7}, "'nest.load' touches elements -2 to 19 of %x, which has 20"),
    ({"high": 27, "step": 7, "read": "%j"}, "'nest.store' touches elements 0 to 21 of %out, which has 20"),
    ({"read": "%i + %j", "inner": 2}, "'nest.load' touches elements 0 to 20 of %x, which has 20"),
]

RIGHT = [
    {},
    {"low": 3, "high": 3, "read": "%i + 100"},  # the loop does not run
    {"high": 20, "step": 7, "read": "%i + 5"},
    {"read": "%i - 1", "checks": " where [%i] in [1] to [20]"},
    {"inner": "%i + 1", "read": "%j + 1"},  # not certain: the inner bound is no constant
    {"read": "%i mod 7"},
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_an_access_that_leaves_its_memory_is_refused(change, message):
    with pytest.raises(IllegalOp) as refused:
        print_c(parse(KERNEL.format(**PLAIN | change)))
    assert str(refused.value) == message


@pytest.mark.parametrize("change", RIGHT)
def test_what_stays_inside_or_is_not_certain_is_printed(change):
    assert "kernel_k" in print_c(parse(KERNEL.format(**PLAIN | change)))
