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
    "multinomial(2)", "cat([c.positive, c.real], 1, [2, 1])", "stack([c.positive, c.real, c.boolean], -1)",
    "stack([c.simplex] * 6, 0)", "MixtureSameFamilyConstraint(c.simplex)",
]


def text_of(constraint):
    """The text of a constraint, without the arguments that only numgrad shows."""
    text = repr(constraint)
    return text.split("(")[0] if text.startswith(("Multinomial", "Cat", "Stack")) else text


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_constraints(text):
    import torch

    rows = [[0, 0, 1], [1, 0, 0.5], [0.25, 0.25, 0.5], [2, -1, np.nan], [1, 1, 1], [-0.5, np.inf, 0]]
    seen = []
    for m in (torch, numgrad):
        constraint = eval(f"c.{text}", {"c": m.distributions.constraints})
        checked = constraint.check(m.tensor(rows))
        seen.append([
            text_of(constraint), constraint.is_discrete, constraint.event_dim, checked.tolist(), checked.dtype
        ])
    assert str(seen[0]) == str(seen[1])


def test_constraints_of_matrices():
    import torch

    matrices = [
        [[1, 0, 0], [0.6, 0.8, 0], [0, 0, 1]], [[2, 1, 0], [1, 2, 1], [0, 1, 2]], [[1, 1, 0], [1, 1, 0], [0, 0, 3]],
        [[1, 2, 0], [2, 1, 0], [0, 0, 1]], [[-1, 0, 0], [2, 1, 0], [3, 2, 1]],
    ]
    names = ["lower_triangular", "lower_cholesky", "corr_cholesky", "square", "symmetric", "positive_semidefinite",
             "positive_definite"]
    seen = []
    for m in (torch, numgrad):
        found = [getattr(m.distributions.constraints, name) for name in names]
        lists = [m.tensor(matrix).double() for matrix in matrices] + [m.tensor(matrices[0][:2])]
        seen.append([
            [repr(each), each.event_dim, [each.check(one).tolist() for one in lists]] for each in found
        ])
    assert seen[0] == seen[1]


TRANSFORMS = [
    "Exp()", "Sigmoid()", "Tanh()", "Softplus()", "Abs()", "Softmax()", "Power(0.7)", "Affine(0.5, -2.0)",
    "Affine(0.5, 2.0, event_dim=1)", "Independent(d.ExpTransform(), 1)", "Exp(cache_size=1)",
    "Compose([d.ExpTransform(), d.PowerTransform(2.0), d.AffineTransform(1.0, 2.0, event_dim=1)])", "Compose([])",
    "StickBreaking()", "CorrCholesky()", "Reshape((3,), (3, 1))",
    "Cat([d.ExpTransform(), d.TanhTransform()], 1, [1, 2])",
    "Cat([d.StickBreakingTransform(cache_size=1), d.ExpTransform()], 0, [3, 1])",
    "Stack([d.ExpTransform(), d.TanhTransform(), d.SigmoidTransform()], -1)",
    "CumulativeDistribution(d.Normal(0.0, 1.0))",
    "LowerCholesky()", "PositiveDefinite()",
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
            found += [one.log_abs_det_jacobian(x, y), one.inv.log_abs_det_jacobian(y, x)]
        if one.bijective and not text.startswith(("Stick", "Corr", "Reshape", "Cat", "Stack")):
            found.append(m.as_tensor(one.sign * 1.0))
        return [*found, one.with_cache()(x)]

    assert_alike(program, *randoms((3 if text in ("LowerCholesky()", "PositiveDefinite()") else 4, 3)))
    import torch

    seen = []
    for m in (torch, numgrad):
        t = made(m)
        known = text == "CorrCholesky()"  # which PyTorch compares by identity
        seen.append([
            repr(t), repr(t.inv), t.bijective, text_of(t.domain), text_of(t.codomain), known or t == made(m),
            known or t.inv == made(m).inv, t.inv.inv is t, t == 3,
            *map(t.forward_shape, [m.Size([4, 3])] * t.bijective),
        ])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("text", ["real", "positive", "nonnegative", "greater_than(2.0)", "less_than(-1.0)",
                                  "unit_interval", "interval(-1.0, 3.0)", "half_open_interval(0.0, 2.0)",
                                  "independent(c.positive, 1)", "simplex", "corr_cholesky",
                                  "cat([c.positive, c.real], 1, [2, 1])", "stack([c.positive, c.real, c.positive], 1)",
                                  "lower_cholesky", "positive_definite", "positive_semidefinite"])  # fmt: skip
def test_transforms_to_constraints(text):
    def program(m, x):
        d = m.distributions
        constraint = eval(f"c.{text}", {"c": d.constraints})
        y = d.transform_to(constraint)(x)
        assert constraint.check(y).all()
        matrix = text in ("lower_cholesky", "positive_definite", "positive_semidefinite")
        return y if matrix else [y, d.biject_to(constraint)(x)]

    assert_alike(program, *randoms((3, 3)))
