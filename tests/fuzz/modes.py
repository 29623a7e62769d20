"""Modes of running a program; each returns facts, which are values by name."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from fuzz.programs import Program

__all__ = [
    "MODES", "Facts", "Mode", "batch", "differentiable", "flattened", "nested_by", "scalar", "seen", "twice", "wanted",
    "weights",
]

#: What is seen of a result: an array for a tensor, None, or anything else that can be compared.
Facts = list[tuple[str, Any]]

#: Functions that run a program with a module; the generator chooses free details, such as a nesting or an axis.
Mode = Callable[[ModuleType, Program, random.Random], Facts]

MODES: dict[str, Mode] = {}


def mode(function: Mode) -> Mode:
    MODES[function.__name__] = function
    return function


# -- facts ------------------------------------------------------------------------------------------------------


def seen(name: str, value: Any) -> Facts:
    """The elements of a tensor, with their dtype and shape; tuples are taken apart."""
    if isinstance(value, tuple | list):
        return [fact for number, part in enumerate(value) for fact in seen(f"{name}[{number}]", part)]
    if value is None:
        return [(name, None)]
    value = value.detach().clone()  # PyTorch has numbers that are conjugated, negated or zero only when they are read
    return [(name, value.resolve_conj().resolve_neg().numpy())]


def weights(module: ModuleType, output: Any, number: int = 0) -> Any:
    """Fixed numbers of the dtype and shape of a result."""
    choose = np.random.default_rng(number)
    shape, kind = tuple(output.shape), str(output.dtype).removeprefix("torch.")
    values = choose.uniform(0.5, 1.5, shape) * choose.choice((-1, 1), shape)
    if output.is_complex():
        values = values + 1j * choose.uniform(-1, 1, shape)
    return module.from_numpy(np.asarray(values, kind))


def differentiable(outputs: Any) -> list:
    return [x for x in outputs if x.is_floating_point() or x.is_complex()]


def scalar(module: ModuleType, outputs: Any) -> Any:
    """One real number that depends on all elements of the outputs."""
    total = 0
    for number, output in enumerate(differentiable(outputs)):
        product = (output * weights(module, output, number).conj()).sum()
        total = total + (product.real if product.is_complex() else product)
    return total


def flattened(module: ModuleType, program: Program, tensors: list, number: int) -> Callable:
    """The scalar as a function of one leaf, the others as they are."""
    function = program.function(module)

    def of_one(x: Any) -> Any:
        return scalar(module, function(*[x if place == number else t for place, t in enumerate(tensors)]))

    return of_one


def wanted(tensors: list) -> list:
    return [x for x in tensors if x.requires_grad]


def some_leaf(program: Program, choose: random.Random) -> int:
    return choose.choice([number for number, leaf in enumerate(program.leaves) if leaf.requires_grad])


# -- one direction ----------------------------------------------------------------------------------------------


@mode
def backward(module: ModuleType, program: Program, choose: random.Random) -> Facts:
    tensors = program.tensors(module)
    outputs = program.function(module)(*tensors)
    return seen("output", outputs) + _gradients(module, outputs, tensors)


def _gradients(module: ModuleType, outputs: Any, tensors: list) -> Facts:
    recorded = [(x, weights(module, x, number)) for number, x in enumerate(differentiable(outputs)) if x.requires_grad]
    if recorded:
        module.autograd.backward(*map(list, zip(*recorded, strict=True)))
    facts = [("requires_grad", [x.requires_grad for x in outputs])]
    return facts + seen("gradient", [x.grad for x in wanted(tensors)])


@mode
def second(module: ModuleType, program: Program, choose: random.Random) -> Facts:
    """Gradients of gradients, None where there is no path."""
    tensors = program.tensors(module)
    outputs = program.function(module)(*tensors)
    return seen("output", outputs) + seen("gradient", twice(module, outputs, wanted(tensors)))


def twice(module: ModuleType, outputs: Any, leaves: list, orders: int = 2) -> list:
    """The gradients, and those of the gradients."""
    found = differentiable(outputs)
    gradients: list = []
    for _ in range(orders):
        given = [(x, weights(module, x, n)) for n, x in enumerate(found) if x is not None and x.requires_grad]
        if not given:
            break
        starts, vectors = zip(*given, strict=True)
        found = module.autograd.grad(starts, leaves, vectors, create_graph=True, allow_unused=True)
        gradients.append(found)
    return gradients


@mode
def forward(module: ModuleType, program: Program, choose: random.Random) -> Facts:
    """Tangents of some of the leaves."""
    tensors = [x.detach() for x in program.tensors(module)]
    able = [number for number, leaf in enumerate(program.leaves) if leaf.differentiable]
    moved = set(choose.sample(able, choose.randint(1, len(able))))
    facts: Facts = []
    with module.autograd.forward_ad.dual_level():
        duals = [
            module.autograd.forward_ad.make_dual(x, weights(module, x, number)) if number in moved else x
            for number, x in enumerate(tensors)
        ]
        for number, output in enumerate(program.function(module)(*duals)):
            primal, tangent = module.autograd.forward_ad.unpack_dual(output)
            facts += seen(f"output {number}", primal) + seen(f"tangent {number}", tangent)
    return facts


# -- transforms -------------------------------------------------------------------------------------------------


@mode
def vmap(module: ModuleType, program: Program, choose: random.Random) -> Facts:
    tensors, axes = batch(module, program, choose)
    return seen("output", module.func.vmap(program.function(module), axes)(*tensors))


def batch(module: ModuleType, program: Program, choose: random.Random, count: int = 3) -> tuple[list, tuple]:
    """Several of some of the leaves, along any of their dimensions, and these."""
    tensors: list = []
    axes: list = []
    for number, leaf in enumerate(program.leaves):
        if number and choose.random() < 0.3:
            tensors.append(leaf.tensor(module).detach())
            axes.append(None)
            continue
        several = [member.leaves[number].tensor(module).detach() for member in members(program, count)]
        axis = choose.randint(0, several[0].ndim)
        tensors.append(module.stack(several).movedim(0, axis))
        axes.append(axis)
    return tensors, tuple(axes)


def members(program: Program, count: int) -> list[Program]:
    """Programs on other numbers."""
    return [program, *[program.moved(seed, 0.6) for seed in range(1, count)]]


@mode
def nested(module: ModuleType, program: Program, choose: random.Random) -> Facts:
    """Transforms of transforms."""
    return nested_by(module.func, module, program, choose)


def nested_by(f: Any, module: ModuleType, program: Program, choose: random.Random) -> Facts:
    """Some nesting of transforms: ``f`` has them."""
    number, name = some_leaf(program, choose), choose.choice(NESTINGS)
    tensors = [x.detach() for x in program.tensors(module)]
    if program.leaves[number].values.dtype.kind == "c" and "jac" in name + name.replace("hessian", "jac"):
        name = "vjp(grad)"
    function, x = flattened(module, program, tensors, number), tensors[number]
    vector = weights(module, x, 1)
    return seen(name, {
        "hessian": lambda: f.hessian(function)(x),
        "jacfwd(jacrev)": lambda: f.jacfwd(f.jacrev(function))(x),
        "jacrev(jacfwd)": lambda: f.jacrev(f.jacfwd(function))(x),
        "jacrev(jacrev)": lambda: f.jacrev(f.jacrev(function))(x),
        "jacfwd(jacfwd)": lambda: f.jacfwd(f.jacfwd(function))(x),
        "grad(grad)": lambda: f.grad(lambda x: _dot(f.grad(function)(x), vector))(x),
        "jvp(grad)": lambda: f.jvp(f.grad(function), (x,), (vector,)),
        "jvp(jvp)": lambda: f.jvp(lambda x: f.jvp(function, (x,), (vector,))[1], (x,), (vector,)),
        "grad(jvp)": lambda: f.grad(lambda x: f.jvp(function, (x,), (vector,))[1])(x),
        "vjp(grad)": lambda: _vjp(f, f.grad(function), x, vector),
        "vmap(grad)": lambda: f.vmap(f.grad(function))(module.stack((x, x * 0.9))),
        "grad(vmap)": lambda: f.grad(lambda x: f.vmap(function)(x).sum())(module.stack((x, x * 0.9))),
        "vmap(jvp(grad))": lambda: f.vmap(lambda v: f.jvp(f.grad(function), (x,), (v,))[1])(module.stack((vector, x))),
        "jacrev(vmap)": lambda: f.jacrev(f.vmap(function))(module.stack((x, x * 0.9))),
        "vmap(vmap(grad))": lambda: f.vmap(f.vmap(f.grad(function)))(module.stack((x, x * 0.9)).unsqueeze(0)),
    }[name]())


NESTINGS = (
    "hessian", "jacfwd(jacrev)", "jacrev(jacfwd)", "jacrev(jacrev)", "jacfwd(jacfwd)", "grad(grad)", "jvp(grad)",
    "jvp(jvp)", "grad(jvp)", "vjp(grad)", "vmap(grad)", "grad(vmap)", "vmap(jvp(grad))", "jacrev(vmap)",
    "vmap(vmap(grad))",
)


def _dot(x: Any, y: Any) -> Any:
    product = (x * y.conj()).sum()
    return product.real if product.is_complex() else product


def _vjp(f: Any, function: Callable, x: Any, vector: Any) -> tuple:
    output, pull = f.vjp(function, x)
    return output, *pull(vector)


# -- checkpoints ------------------------------------------------------------------------------------------------


@mode
def checkpoint(module: ModuleType, program: Program, choose: random.Random) -> Facts:
    """Backward through a program that is run again: reentrant, not so, or one in the other."""
    ways = choose.choice(((False,), (True,), (False, False), (True, False), (False, True), (True, True)))
    function = program.function(module)
    for reentrant in ways:
        function = _kept(module, function, reentrant)
    tensors = program.tensors(module)
    outputs = function(*tensors)
    return seen("output", outputs) + _gradients(module, outputs, tensors)


def _kept(module: ModuleType, function: Callable, reentrant: bool) -> Callable:
    return lambda *args: module.utils.checkpoint.checkpoint(function, *args, use_reentrant=reentrant)
