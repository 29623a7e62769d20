"""The table is complete and consistent: samples, rules, names."""

import builtins
import copy
import dis
import inspect
import re

import numpy as np
import pytest
from ops.samples import SAMPLES, WITHOUT
from ops.sampling import LAYOUTS

import numgrad
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.formulas import rule_formula
from numgrad.ops.table.lookup import operation
from numgrad.ops.table.op import ops, parameters

CASES = [case for sample in SAMPLES for case in sample.cases(shape=(2, 3))]
DIFFERENTIABLE = [case for case in CASES if "float64" in case.sample.dtypes and any(case.differentiable())]


def layouts_tried(name, cases):
    return {case.layout for case in cases if case.sample.name == name}


def missing_samples(names, cases):
    """Return the untried (name, layout) pairs of these operations."""
    return [
        (name, layout) for name in names for layout in LAYOUTS
        if layout not in WITHOUT.get(name, ()) and layout not in layouts_tried(name, cases)
    ]


def test_every_op_is_sampled_in_every_layout():
    assert missing_samples(ops, CASES) == []


def test_no_exception_is_made_in_vain():
    assert set(WITHOUT) <= set(ops)
    assert [name for name, layouts in WITHOUT.items() if set(layouts) & layouts_tried(name, CASES)] == []


def test_an_op_without_samples_is_noticed():
    assert missing_samples(["no_such_op"], CASES) == [("no_such_op", layout) for layout in LAYOUTS]
    few = [case for case in CASES if (case.sample.name, case.layout) != ("tanh", "empty")]
    assert missing_samples(["tanh"], few) == [("tanh", "empty")]


@pytest.mark.parametrize("op", ops.values(), ids=lambda op: op.name)
def test_every_input_has_a_rule_or_is_declared_nondifferentiable(op):
    assert set(op.inputs) == set(op.rules) | op.nondifferentiable
    assert set(op.rules).isdisjoint(op.nondifferentiable)


def test_a_rule_for_an_input_without_gradient_is_refused():
    with pytest.raises(ValueError, match="mm_op has no differentiable input 'other'"):
        ops["mm_op"].gradient("other")(lambda grad: grad)
    with pytest.raises(ValueError, match="choose has no differentiable input 'condition'"):
        ops["choose"].gradient("condition")(lambda grad: grad)


def declared_elsewhere(op):
    """Return the parts of a declaration that are in another file than the decorated function.

    Files of the same folder that declare no operations, and the table's own rules, are accepted.
    """
    parts = {f"the rule for {name}": rule for name, rule in op.rules.items()}
    for name in ("batch_rule", "decomposition", "prepare_change"):
        if getattr(op, name, None) is not None:
            parts[name] = getattr(op, name)
    own = op.function.__module__
    declaring = {other.function.__module__ for other in ops.values()}
    return [
        (op.name, name, module) for name, part in parts.items()
        if (module := getattr(part, "func", part).__module__) not in (own, "numgrad.ops.table.op")
        and (module in declaring or module.rpartition(".")[0] != own.rpartition(".")[0])
    ]


def test_an_op_is_declared_in_one_file():
    assert [found for op in ops.values() for found in declared_elsewhere(op)] == []


def test_an_op_declared_in_two_files_is_noticed():
    stranger = copy.copy(ops["mm_op"])
    stranger.rules = {**stranger.rules, "mat2": ops["sum_all"].rules["input"]}
    stranger.batch_rule = ops["t_op"].batch_rule
    assert declared_elsewhere(stranger) == [
        ("mm_op", "the rule for mat2", "numgrad.ops.reductions.sums"),
        ("mm_op", "batch_rule", "numgrad.ops.shapes.dimensions"),
    ]


def test_a_name_stands_for_one_op():
    def tanh(input):
        return input

    with pytest.raises(ValueError, match="'tanh'"):
        operation("TanhBackward0")(tanh)
    assert isinstance(ops["tanh"], Pointwise)


def names_for(op):
    """Return the permitted names of the parameters of an op's rules."""
    if isinstance(op, Pointwise):
        return {"grad", "out", *op.inputs, *op.attributes}
    inputs = [f"{name}_{what}" for name in op.inputs for what in ("shape", "layout")]
    return {"grad", *op.outputs, *op.extras, *op.parameters, *inputs, *(["needed"] if op.joint else [])}


@pytest.mark.parametrize("op", [op for op in ops.values() if op.rules], ids=lambda op: op.name)
def test_names_in_rules_resolve(op):
    function = inspect.unwrap(op.function)
    for rule in {*op.rules.values(), function}:
        if rule is not function:
            assert set(parameters(rule)) <= names_for(op)
        used = {i.argval for i in dis.get_instructions(rule) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        assert [name for name in used if name not in rule.__globals__ and not hasattr(builtins, name)] == []


@pytest.mark.parametrize("op", [op for op in ops.values() if op.rules], ids=lambda op: op.name)
def test_each_rule_has_a_formula_that_can_be_read(op):
    for rule in [rule for rule in op.rules.values() if rule is not None]:
        text = rule_formula(rule, real=True)
        assert not re.search(r"\b_\w|\b(if|for|devices|isinstance|state|conj|grad_view|scalar)\b|_op\b", text), text
        assert len(text) <= 200, text


@pytest.mark.parametrize("op", ops.values(), ids=lambda op: op.name)
def test_node_classes_have_names_in_pytorchs_form(op):
    for node in [op.node_class, *(op.numbers.values() if isinstance(op, Pointwise) else [])]:
        assert re.fullmatch(r"([A-Z][a-z0-9]*)+Backward\d(_copy)?", node.__name__)
        assert node.op is op


@pytest.mark.parametrize("case", [case for case in CASES if case.layout in ("contiguous", "0-d")], ids=str)
def test_the_result_has_the_node_of_its_op(case):
    leaves = case.leaves(case.dtype, requires_grad=True)
    for number, output in enumerate(output for output in case(*leaves) if output.requires_grad):
        assert output.grad_fn.name() == type(output.grad_fn).__name__ == case.op.node_class.__name__
        assert output.output_nr == number
        found = [node for node, _ in output.grad_fn.next_functions if node is not None]
        assert len(found) == sum(case.differentiable())
    recorded = [output.requires_grad for output in case(*leaves) if output.is_floating_point()]
    assert all(recorded) == any(case.differentiable()) or not recorded


@pytest.mark.parametrize("case", [case for case in DIFFERENTIABLE if case.layout == "contiguous"], ids=str)
def test_rules_are_linear_in_the_gradient(case):
    leaves = case.leaves("float64", requires_grad=True)
    wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
    outputs = [output for output in case(*leaves) if output.requires_grad]
    random = np.random.default_rng(3)
    one, two = [
        [random.normal(size=output.shape) * (1 + 2j * output.is_complex()) for output in outputs] for _ in range(2)
    ]

    def gradients(arrays):
        weights = [
            numgrad.from_numpy(np.array(array if output.is_complex() else array.real, order="C"))
            for array, output in zip(arrays, outputs, strict=True)
        ]
        found = numgrad.autograd.grad(outputs, wanted, weights, retain_graph=True)
        return [gradient.numpy() for gradient in found]

    combined = gradients([3 * a - 0.7 * b for a, b in zip(one, two, strict=True)])
    for total, a, b in zip(combined, gradients(one), gradients(two), strict=True):
        np.testing.assert_allclose(total, 3 * a - 0.7 * b, 1e-12, 1e-13)

