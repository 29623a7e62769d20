"""Packages of the devices: one for the CPU and one for GPUs, with the same functions."""

import ast
from pathlib import Path

import numgrad
from numgrad.devices import cpu


def asked_of_a_backend(text):
    """The attributes that code reads from variables called ``backend``."""
    read = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)]
    return {node.attr for node in read if getattr(node.value, "attr", getattr(node.value, "id", None)) == "backend"}


def test_required_attributes_of_a_backend_exist():
    assert asked_of_a_backend("x = out.type.backend.empty(shape)\nbackend.moved\ny.backend = cpu.zeros") == {
        "empty", "moved",
    }


#: Functions of the CPU alone, which operations call if ``depthwise_is_fused``.
CPU_ONLY = {"depthwise"}


def test_both_have_what_operations_ask_for(cuda):
    files = Path(numgrad.__file__).parent.rglob("*.py")
    asked = set().union(*[asked_of_a_backend(file.read_text(encoding="utf-8")) for file in files])
    assert {"empty", "row_step", "softmax_axis"} <= asked
    assert {name for name in asked if not (hasattr(cpu, name) and hasattr(cuda, name))} == CPU_ONLY
    type = numgrad.ones(1).cuda()._layout.type
    assert not cuda.depthwise_is_fused(type, 1)


def test_the_type_of_a_tensor_has_that_of_its_device(cuda):
    x = numgrad.ones(2)
    assert (x._layout.type.backend, x.cuda()._layout.type.backend) == (cpu, cuda)
