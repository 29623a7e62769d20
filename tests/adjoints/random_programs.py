"""Random loop programs, and dual numbers that compute their derivatives.

``PYTHONPATH=tests python -m adjoints.random_programs 0 2000`` compares the adjoints of 2,000 programs; a third number
is the interval of checkpoints, a fourth other than 0 lets programs make arrays in their loops.
"""

import math
import random
import sys
import types
from collections import Counter

import numpy as np
from adjoints.in_python import adjoint_in_python
from numba import types as nb

from numgrad.adjoints.program import COUNTS, DerivativeProgram
from numgrad.adjoints.source import Refused, compiled

TYPES = [nb.float64[::1], nb.float64[:, ::1], nb.float64, nb.float64, nb.int64, nb.int64[::1]]
PLACES = np.array([2, 0, 3, 1])


class Dual:
    """Number with its derivatives by all inputs."""

    __array_ufunc__ = None

    def __init__(self, value, by):
        self.value, self.by = float(value), by

    def __add__(self, other):
        return Dual(self.value + value(other), self.by + derivative(other))

    def __sub__(self, other):
        return Dual(self.value - value(other), self.by - derivative(other))

    def __rsub__(self, other):
        return Dual(value(other) - self.value, derivative(other) - self.by)

    def __mul__(self, other):
        return Dual(self.value * value(other), self.by * value(other) + self.value * derivative(other))

    def __truediv__(self, other):
        quotient = self.value / value(other)
        return Dual(quotient, (self.by - quotient * derivative(other)) / value(other))

    def __rtruediv__(self, other):
        return Dual(value(other), self.by * 0) / self

    def __neg__(self):
        return Dual(-self.value, -self.by)

    def __lt__(self, other):
        return self.value < value(other)

    def __le__(self, other):
        return self.value <= value(other)

    def __gt__(self, other):
        return self.value > value(other)

    def __ge__(self, other):
        return self.value >= value(other)

    def __int__(self):
        return int(self.value)

    __radd__, __rmul__ = __add__, __mul__


def value(number):
    return number.value if isinstance(number, Dual) else number


def derivative(number):
    return number.by if isinstance(number, Dual) else 0.0


def lifted(function, by):
    def called(number):
        result = function(value(number))
        return Dual(result, by(value(number)) * derivative(number)) if isinstance(number, Dual) else result

    return called


DUAL_MATH = types.SimpleNamespace(
    sin=lifted(math.sin, math.cos), tanh=lifted(math.tanh, lambda u: 1 - math.tanh(u) ** 2),
    exp=lifted(math.exp, math.exp), sqrt=lifted(math.sqrt, lambda u: 0.5 / math.sqrt(u)),
)


def zeros(shape):
    made = np.empty(shape, object)
    made[...] = 0.0
    return made


DUAL_NUMPY = types.SimpleNamespace(zeros=zeros, empty_like=lambda array: zeros(array.shape))


class Writer:
    """Writer of one program."""

    def __init__(self, seed, arrays):
        self.random, self.arrays = random.Random(seed), arrays
        self.bindings = ["b, y = y, b", "row = A[k % 4]", "b = np.zeros(4)", "b = x[:]", "y = b", "row = A[:, 1]"]
        if arrays:
            self.bindings = ["y = y * 0.5 + x", "b = row - y", "row = row + y", "y = x * 0.7", "b = y * 0.3; y = b * y"]
            self.bindings += [f"q3 = {each} * y; q3[k % 4] {sign} u; {self.choose('u', 'v')} = q3[1] * q3[2]"
                              for each in ("b", "row") for sign in ("=", "+=")]
        self.loops, self.budget = 0, 16

    def choose(self, *options):
        return self.random.choice(options)

    def place(self, counters):
        chosen = self.choose(*counters, "0", "k", "2")
        return chosen if chosen in "02" else f"({chosen}) % 4"

    def element(self, counters):
        i, j = self.place(counters), self.place(counters)
        return self.choose(
            f"x[{i}]", f"y[{i}]", f"A[{i}, {j}]", f"b[{i}]", f"row[{i}]", f"x[n0[{i}]]", "x[1:][1]", "y[2]",
        )

    def number(self, counters, depth=2):
        if depth == 0:
            return self.choose("p", "z", "u", "v", self.element(counters), self.element(counters), "0.5", "1.25")
        a, b = self.number(counters, depth - 1), self.number(counters, depth - 1)
        return self.choose(
            f"({a} + {b})", f"({a} - {b})", f"{a} * {b}", f"{a} * {b}", f"{a} / (2.0 + {b} * {b})", f"math.sin({a})",
            f"math.tanh({a} * {b})", f"max({a}, {b})", f"({a} if {self.test(counters, 0)} else {b})", f"-{a}",
            f"min({a}, {b})", f"math.sqrt(1.0 + {a} * {a})",
        )

    def test(self, counters, depth=1):
        a, b = self.number(counters, depth), self.number(counters, 0)
        return self.choose(
            f"{a} > 0.3", f"{b} < {a}", f"{b} > 0.1 and {a} < 1.0", "k % 2 == 0", "k < 2", f"not {a} < 0.2",
        )

    def statement(self, counters, depth, in_loop, indent):
        self.budget -= 1
        pad, drawn = "    " * indent, self.random.random()
        if depth and self.budget > 0 and drawn < 0.42:
            return self.compound(counters, depth, in_loop, indent)
        number, element = self.number(counters), self.element(counters)
        small = self.number(counters, 1)
        if drawn < 0.50:
            return f"{pad}k = {self.choose('k + 1', 'n0[(k + 1) % 4]', '(k * 3 + 1) % 7', 'k // 2', 'n0[k % 4] % 3')}\n"
        if drawn < 0.54:
            return f"{pad}u, v = v, {number}\n"
        if drawn < 0.58:
            return f"{pad}{self.choose(*self.bindings)}\n"
        if drawn < 0.62 and self.arrays:
            return f"{pad}{self.choose(*self.bindings)}\n"
        if drawn < 0.68:
            return f"{pad}{element} {self.choose('+=', '-=', '*=')} {small}\n"
        if drawn < 0.84:
            return f"{pad}{element} = {number}\n"
        if drawn < 0.88 and in_loop:
            return f"{pad}if {self.test(counters)}:\n{pad}    {self.choose('break', 'continue', 'continue')}\n"
        if drawn < 0.90:
            return f"{pad}if {self.test(counters)}:\n{pad}    return {number}\n"
        target = self.choose("p", "z", "u", "v", "q1", "q2")
        if target[0] == "q":
            return f"{pad}{target} = {number}\n{pad}{self.choose('u', 'v')} = {target} * {small}\n"
        return f"{pad}{target} {self.choose('=', '=', '+=', '*=')} {number}\n"

    def compound(self, counters, depth, in_loop, indent):
        pad, kind = "    " * indent, self.random.random()
        self.loops += 1
        if kind < 0.4:
            own = f"i{self.choose(self.loops, 1)}"
            bounds = self.choose("3", "1, 4", "3, -1, -1", "0, 4, 2", "m", "k % 4", "k % 3, 3")
            return f"{pad}for {own} in range({bounds}):\n" + self.block([*counters, own], depth - 1, True, indent + 1)
        if kind < 0.55:
            own = f"w{self.loops}"
            head = f"{pad}{own} = 0\n{pad}while {own} < 3 and {self.test(counters)}:\n{pad}    {own} += 1\n"
            return head + self.block(counters, depth - 1, True, indent + 1)
        text = f"{pad}if {self.test(counters)}:\n" + self.block(counters, depth - 1, in_loop, indent + 1)
        if self.random.random() < 0.5:
            text += f"{pad}else:\n" + self.block(counters, depth - 1, in_loop, indent + 1)
        return text

    def block(self, counters, depth, in_loop, indent):
        count = self.random.randint(1, 3)
        return "".join(self.statement(counters, depth, in_loop, indent) for _ in range(count))


def program(seed, arrays=False):
    """Return the text of a program; with ``arrays``, one that makes arrays in its loops."""
    writer = Writer(seed, arrays)
    head = (
        "def f(x, A, p, z, m, n0):\n    y = np.zeros(4)\n    b = x\n    row = A[1]\n    u = 0\n    v = p * 1.0\n"
        "    k = 1\n    i1 = 0\n    u = u + z\n"
    )
    if arrays:
        head = head.replace("np.zeros(4)", "x * 0.0").replace("b = x", "b = x * 1.0").replace("A[1]", "x * A[1]")
    body = "".join(writer.statement([], 3, False, 1) for _ in range(writer.random.randint(4, 7)))
    tail = (
        "    s = u + v * p + z\n    for i in range(4):\n"
        "        s += x[i] * x[i] + y[i] * 1.5 + A[i, 0] * A[i, 3] + b[i]\n    return s + x[i] * i1\n"
    )
    return head + body + tail


def inputs(seed):
    generator = np.random.default_rng(seed)
    return generator.normal(size=4), generator.normal(size=(4, 4)), 0.7, -0.4


def by_duals(text, x, A, p, z):
    """Return the value of a program and its derivatives by all inputs."""
    unit = np.eye(22)
    scope = {"math": DUAL_MATH, "np": DUAL_NUMPY}
    exec(text, scope)
    xs = np.array([Dual(each, unit[i]) for i, each in enumerate(x)], object)
    As = np.array([Dual(each, unit[4 + i]) for i, each in enumerate(A.flat)], object).reshape(4, 4)
    result = scope["f"](xs, As, Dual(p, unit[20]), Dual(z, unit[21]), 3, PLACES)
    return value(result), derivative(result) + np.zeros(22)


def compare(seed, checkpoint=None, arrays=False):
    """Return "right", or a description of a wrong derivative of a program; "skipped" where numbers grow too large."""
    text = program(seed, arrays)
    x, A, p, z = inputs(seed)
    expected_value, expected = by_duals(text, x, A, p, z)
    if not np.isfinite(expected).all() or abs(expected).max() > 1e6:
        return "skipped"
    python = compiled(text, "f", {"np": np, "math": math})
    made = DerivativeProgram(python, TYPES, {}, ["x", "A", "p", "z"], [], checkpoint)
    run = adjoint_in_python(made)
    shadows = {each: np.zeros_like({"x": x, "A": A}[each]) for each in made.adjoint.shadows}
    tapes = [np.empty(20000), np.empty(20000, np.int64), np.empty(20000, np.uint8)]
    seeds = [1.0] * len(made.adjoint.seeds)
    out = run(x.copy(), A.copy(), p, z, 3, PLACES, *shadows.values(), *seeds, *tapes)
    found = {**shadows, **dict(zip(made.adjoint.scalars, out[1:-COUNTS], strict=True))}
    gradient = np.concatenate([np.ravel(found.get(each, np.zeros(size)))
                               for each, size in (("x", 4), ("A", 16), ("p", 1), ("z", 1))])
    error = abs(gradient - expected).max() / (1 + abs(expected).max())
    if error < 1e-9 and abs(out[0] - expected_value) < 1e-9 * (1 + abs(expected_value)):
        return "right"
    return f"WRONG: {error:.1e}, value {out[0] - expected_value:.1e}"


def main(first, last, checkpoint=0, arrays=0):
    outcomes, shown = Counter(), {}
    for seed in range(first, last):
        try:
            outcome = compare(seed, checkpoint or None, arrays)
        except Refused as refusal:
            outcome = f"refused: {refusal.reason[:90]}"
        except Exception as error:
            outcome = f"FAILED: {type(error).__name__} {str(error)[:90]}"
        outcomes[outcome.split(":")[0] if outcome.startswith("WRONG") else outcome] += 1
        shown.setdefault(outcome.split(":")[0] if outcome.startswith("WRONG") else outcome, []).append(seed)
    for outcome, count in outcomes.most_common():
        print(count, outcome, shown[outcome][:12])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
