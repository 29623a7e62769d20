"""Constraints and transforms against PyTorch's."""

import functools

import numpy as np
import pytest
from ops.torch_comparison import assert_same, randoms

import numgrad

pytestmark = pytest.mark.torch

#: PyTorch writes some formulas otherwise.
assert_alike = functools.partial(assert_same, graph=False, tolerance=1e-12)

CONSTRAINTS = [
    "real", "real_vector", "positive", "nonnegative", "unit_interval", "boolean", "one_hot", "simplex",
    "nonnegative_integer", "positive_integer", "integer_interval(-1, 1)", "interval(-0.5, 1)", "less_than(0.5)",
    "half_open_interval(-1.0, 1.0)", "greater_than(1)", "greater_than_eq(1.0)", "independent(c.positive, 2)",
]


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_constraints(text):
    import torch

    rows = [[0, 0, 1], [1, 0, 0.5], [0.25, 0.25, 0.5], [2, -1, np.nan], [1, 1, 1], [-0.5, np.inf, 0]]
    seen = []
    for m in (torch, numgrad):
        constraint = eval(f"c.{text}", {"c": m.distributions.constraints})
        checked = constraint.check(m.tensor(rows))
        seen.append([repr(constraint), constraint.is_discrete, constraint.event_dim, checked.tolist(), checked.dtype])
    assert str(seen[0]) == str(seen[1])


TRANSFORMS = [
    "Exp()", "Sigmoid()", "Tanh()", "Softplus()", "Abs()", "Softmax()", "Power(0.7)", "Affine(0.5, -2.0)",
    "Affine(0.5, 2.0, event_dim=1)", "Independent(d.ExpTransform(), 1)", "Exp(cache_size=1)",
    "Compose([d.ExpTransform(), d.PowerTransform(2.0), d.AffineTransform(1.0, 2.0, event_dim=1)])", "Compose([])",
]


@pytest.mark.parametrize("text", TRANSFORMS)
def test_transforms(text):
    def made(m):
        name, _, rest = text.partition("(")
        return eval(f"d.{name}Transform({rest}", {"d": m.distributions})

    def program(m, x):
        one = made(m)
        x = x.exp() if "Power(" in text[:6] else x
        y = one(x)
        found = [y, one.inv(y)]
        if one.bijective:
            found += [one.log_abs_det_jacobian(x, y), one.inv.log_abs_det_jacobian(y, x), m.as_tensor(one.sign * 1.0)]
        return [*found, one.with_cache()(x)]

    assert_alike(program, *randoms((4, 3)))
    import torch

    seen = [[repr(t), repr(t.inv), t.bijective, str(t.domain), str(t.codomain), t == made(m), t.inv == made(m).inv,
             t.inv.inv is t, t == 3] for m in (torch, numgrad) for t in [made(m)]]  # fmt: skip
    assert seen[0] == seen[1]


@pytest.mark.parametrize("text", ["real", "positive", "nonnegative", "greater_than(2.0)", "less_than(-1.0)",
                                  "unit_interval", "interval(-1.0, 3.0)", "half_open_interval(0.0, 2.0)",
                                  "independent(c.positive, 1)", "simplex"])  # fmt: skip
def test_transforms_to_constraints(text):
    def program(m, x):
        d = m.distributions
        constraint = eval(f"c.{text}", {"c": d.constraints})
        y = d.transform_to(constraint)(x)
        assert constraint.check(y).all()
        return [y, d.biject_to(constraint)(x)] if text != "simplex" else y

    assert_alike(program, *randoms((4, 3)))
