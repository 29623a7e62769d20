"""Adjoints run as Python, without compiling them."""

import numpy as np
from numba import typeof

from numgrad.adjoints.program import COUNTS, DerivativeProgram
from numgrad.adjoints.source import compiled
from numgrad.adjoints.support import same_length


def adjoint_in_python(program):
    """Return the adjoint of a program as a Python function."""
    namespace = {**program.normal.namespace, "same_length": same_length.py_func}
    return compiled(program.adjoint.source, program.adjoint.name, namespace)


def gradients(function, *arguments, same=(), seed=1.0):
    """Return value and derivatives of a function by its floating-point arguments."""
    arguments = [np.array(each, float) if isinstance(each, list) else each for each in arguments]
    names = function.__code__.co_varnames[: len(arguments)]
    by = [name for name, each in zip(names, arguments, strict=True) if np.asarray(each).dtype.kind == "f"]
    program = DerivativeProgram(function, list(map(typeof, arguments)), {}, by, same)
    generated = dict(zip(program.parameters, program.normal.parameters, strict=True))
    given = dict(zip(generated.values(), arguments, strict=True))
    shadows = {name: np.zeros_like(given[name]) for name in program.adjoint.shadows}
    for one, other in same:
        shadows[generated[other]] = shadows[generated[one]]
    tapes = [np.empty(1000), np.empty(1000, np.int64), np.empty(1000, np.uint8)]
    seeds = [seed] * len(program.adjoint.seeds)
    out = adjoint_in_python(program)(*program._copies(arguments), *shadows.values(), *seeds, *tapes)
    scalars = program.adjoint.scalars
    found = {**shadows, **dict(zip(scalars, out[-COUNTS - len(scalars) : -COUNTS], strict=True))}
    return out[0], [found.get(generated[name], 0.0) for name in by]
