"""Planted faults: each is one edit of limn's source, made while a child process imports it.

``python -m pytest -p mutants TEST`` with ``LIMN_MUTANT=NAME`` runs a test against the fault NAME; tests/test_mutants.py
does so for every fault and demands that the named test fails. The edit is in memory: nothing on disk changes.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One edit of one module, and the test that has to notice."""

    module: str
    before: str
    after: str
    caught_by: str


MUTANTS: dict[str, Mutant] = {
    # lower and the passes on nests
    "operands of a division swapped": Mutant(
        "limn.targets.c_family",
        '("div", kind): "{0} / {1}"',
        '("div", kind): "{1} / {0}"',
        "test_c_target.py::test_each_operation_has_the_interpreters_bits_on_all_pairs_of_edge_values",
    ),
    "the first commit not printed": Mutant(
        "limn.targets.c",
        "for (int {turn} = 0;",
        "for (int {turn} = 1;",
        "test_c_target.py::test_a_c_main_drives_the_plan_and_reads_what_it_committed",
    ),
    "a total taken for independent": Mutant(
        "limn.analysis.dependence",
        "    if step == 0:\n        return False",
        "    if step == 0:\n        return True",
        "test_nest_passes.py::test_a_loop_that_is_proven_independent_is",
    ),
    "a pad that forgets where its mask ends": Mutant(
        "limn.view",
        "[(lo + a, hi + a) for (lo, hi), (a, _) in zip(self.box, pads)]",
        "[(lo + a, hi + a + b) for (lo, hi), (a, b) in zip(self.box, pads)]",
        "test_view.py::test_chains_of_movements_read_what_numpy_reads",
    ),
    "a gradient for the operand that where did not take": Mutant(
        "limn.autograd",
        "t.where(condition, zero, g) if b.tracked else None",
        "t.where(condition, g, zero) if b.tracked else None",
        "test_autograd.py::test_gradients_and_gradients_of_gradients_are_torchs",
    ),
    "a maximum's gradient not shared among ties": Mutant(
        "limn.autograd",
        "share = t.cast(t.div(t.cast(g, wide), ties), g.dtype)",
        "share = g",
        "test_autograd.py::test_gradients_of_functions_with_other_names_are_torchs",
    ),
    "a maximum that starts at zero": Mutant(
        "limn.passes._nest_values",
        "return 0 if isinstance(reduce, graph.SumOp) else",
        "return 0 if True else",
        "test_lower.py::test_the_corpus_keeps_its_bits",
    ),
    "a fold in the order of the loops": Mutant(
        "limn.analysis.dims",
        "changed |= order[place] != axis",
        "axis = order[place]",
        "test_lower.py::test_random_kernels_keep_their_bits",
    ),
    "a load without its mask": Mutant(
        "limn.passes._nest_elements",
        "for d, low, high in partial_masks(op)]",
        "for d, low, high in partial_masks(op)[1:]]",
        "test_lower.py::test_the_corpus_keeps_its_bits",
    ),
    "a load without its offset": Mutant(
        "limn.passes._nest_elements",
        "values.linear(strides, scope.bound, op.view_offset)",
        "values.linear(strides, scope.bound)",
        "test_lower.py::test_the_corpus_keeps_its_bits",
    ),
    "a missing commit": Mutant(
        "limn.passes.lower",
        "for n, target in enumerate(targets)]",
        "for n, target in enumerate(targets[1:])]",
        "test_lower.py::test_the_corpus_keeps_its_bits",
    ),
    "a sum beside what it needs": Mutant(
        "limn.passes._nest_kernel",
        "before = level[reduce] - (dims.home(behind) == tuple(scope.bound))",
        "before = level[reduce]",
        "test_lower.py::test_the_corpus_keeps_its_bits",
    ),
    "sums of one and of many elements as one": Mutant(
        "limn.analysis.dims",
        "shape = shape_of(op.operands[0]) if isinstance(op, graph.ReduceOp) else None",
        "shape = None",
        "test_lower.py::test_a_sum_of_repeated_elements_is_not_the_sum_of_one",
    ),
    "halves computed in halves": Mutant(
        "limn.passes._nest_values",
        "return append(nest.CastOp(value, f32)) if value.type in HALVES else value",
        "return value",
        "test_lower.py::test_every_element_type_keeps_its_bits",
    ),
    "a row number past the table": Mutant(
        "limn.passes._nest_elements",
        "nest.CheckRowOp(number, rows, position)",
        "nest.CheckRowOp(number, rows + 1, position)",
        "test_lower.py::test_a_bad_row_number_stops_the_plan_before_it_commits",
    ),
    "a maximum contracted": Mutant(
        "limn.passes.contract",
        " and user.kind.data == nest.ADD",
        "",
        "test_nest_passes.py::test_contract_keeps_the_bits_of_whole_numbers",
    ),
    "a pad split one turn late": Mutant(
        "limn.analysis.checks",
        "floor(rest - self.low, -self.factor) + 1",
        "floor(rest - self.low, -self.factor)",
        "test_nest_passes.py::test_split_pads_on_odd_steps_ragged_bounds_and_checks_over_several_indices",
    ),
    "a pad split between two turns": Mutant(
        "limn.passes.split_pads",
        "if loop.stride == 1:",
        "if True:",
        "test_nest_passes.py::test_split_pads_on_odd_steps_ragged_bounds_and_checks_over_several_indices",
    ),
    "a check dropped at its last element": Mutant(
        "limn.analysis.checks",
        "if low <= least and most < high:",
        "if low <= least and most <= high:",
        "test_nest_passes.py::test_each_pass_keeps_the_bits_of_the_corpus",
    ),
    "a buffer freed before its last reader": Mutant(
        "limn.passes.plan_memory",
        "for position in range(done, first):",
        "for position in range(done, first + 1):",
        "test_nest_passes.py::test_no_two_buffers_overlap_while_both_are_in_use",
    ),
    "an overlap of one element taken as none": Mutant(
        "limn.analysis.dependence",
        "if small < step and",
        "if small <= step and",
        "test_nest_passes.py::test_a_loop_that_is_proven_independent_is",
    ),
    "an inner loop collapsed unproven": Mutant(
        "limn.passes.parallelize",
        "inner is not None and independent(inner, ranges)",
        "inner is not None",
        "test_nest_passes.py::test_a_loop_that_is_proven_independent_is",
    ),
    "a kernel that waits for itself": Mutant(
        "limn.analysis.grouping",
        "if any(reaches(group, reader) for reader in readers if reader is not group):",
        "if False:",
        "test_fuse.py::test_the_corpus_keeps_its_bits",
    ),
    "folded dims in another order": Mutant(
        "limn.analysis.grouping",
        "if d > last and d not in taken",
        "if d >= 0 and d not in taken",
        "test_fuse.py::test_the_order_of_folded_axes_stays",
    ),
    "a reduction over other rows let in": Mutant(
        "limn.analysis.grouping",
        "if group.rows is not None and kept != group.rows:",
        "if False:",
        "test_fuse.py::test_reductions_over_other_rows_are_cut",
    ),
    "a padded view taken for a plain one": Mutant(
        "limn.analysis.nodes",
        "if view.offset or view.mask is not None:",
        "if view.offset:",
        "test_fuse.py::test_the_corpus_keeps_its_bits",
    ),
    "the mask of a load dropped": Mutant(
        "limn.passes._build_kernel",
        "strides, view.offset, mask))",
        "strides, view.offset))",
        "test_fuse.py::test_the_corpus_keeps_its_bits",
    ),
    "a merge that makes a cycle": Mutant(
        "limn.analysis.merging",
        "return not reaches(host, group) and not reaches(group, host)",
        "return not reaches(group, host)",
        "test_fuse.py::test_kernels_that_read_each_other_are_not_merged",
    ),
    "the kept row computed again": Mutant(
        "limn.passes._keep_row",
        "if wanted and op is not kept:",
        "if wanted:",
        "test_fuse.py::test_rows_read_each_input_at_most_twice_and_keep_at_most_one_row",
    ),
    "reduction dims that change places": Mutant(
        "limn.passes.order",
        "last = [dim for dim in loops if dim in reduced][-1:]",
        "last = loops",
        "test_order_dedupe.py::test_reduction_dims_keep_their_order",
    ),
    "minus zero taken for zero": Mutant(
        "limn.passes.dedupe",
        'struct.pack("<d", attribute.value.data)',
        "attribute.value.data",
        "test_order_dedupe.py::test_kernels_are_told_apart_by_all_but_names",
    ),
    "the rest of a long sum read from its start": Mutant(
        "limn.passes._split_dims",
        "offset += part.start * old[dims[-1]]",
        "offset += 0",
        "test_split_reduce.py::test_sums_of_whole_numbers_keep_their_bits",
    ),
    "a masked axis cut": Mutant(
        "limn.passes.split_reduce",
        "if group[0] in folded and not is_masked(kernel, group):",
        "if group[0] in folded:",
        "test_split_reduce.py::test_a_masked_axis_is_left_alone",
    ),
    "a contraction cut": Mutant(
        "limn.analysis.contractions",
        "return all(kept - varying(operand) for operand in product.operands)",
        "return False",
        "test_split_reduce.py::test_a_long_contraction_is_left_alone",
    ),
}


class _Loader(importlib.machinery.SourceFileLoader):
    mutant: Mutant

    def get_code(self, fullname: str):
        # never the cached bytecode: it is that of the sound source
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def get_data(self, path: str) -> bytes:
        source = super().get_data(path).decode()
        if source.count(self.mutant.before) != 1:
            raise SystemExit(
                f"mutant of {self.mutant.module}: its text stands {source.count(self.mutant.before)} times"
            )
        return source.replace(self.mutant.before, self.mutant.after).encode()


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant):
        self.mutant = mutant

    def find_spec(self, fullname, path, target=None):
        if fullname != self.mutant.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        assert spec.origin is not None
        loader = _Loader(fullname, spec.origin)
        loader.mutant = self.mutant
        spec.loader = loader
        return spec


if name := os.environ.get("LIMN_MUTANT"):
    sys.meta_path.insert(0, _Finder(MUTANTS[name]))
