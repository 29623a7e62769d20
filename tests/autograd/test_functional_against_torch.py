"""Programs with ``autograd.functional``: they have the same results and errors with PyTorch and with numgrad."""

import pytest
from autograd_programs import Programs, assert_same, leaf

pytestmark = pytest.mark.torch

program = Programs()


def attempt(show, function, *args, **options):
    """Show the result, or the error, without numgrad's additions about shapes and dtypes."""
    try:
        show(function(*args, **options))
    except Exception as error:
        show(type(error).__name__, str(error).split(", not ")[0])


def functions(m):
    """Functions of two tensors."""
    constant = m.ones(2)
    return [
        lambda a, b: a * b, lambda a, b: (a * b, b.sum()), lambda a, b: a * 3, lambda a, b: constant,
        lambda a, b: (a, constant), lambda a, b: (a.exp() * b).sum(), lambda a, b: b.sum(), lambda a, b: a[0] * b[1],
        lambda a, b: a.clone().mul_(b), lambda a, b: [a], lambda a, b: (a, 1), lambda a, b: None,
    ]


OPTIONS = [{}, {"create_graph": True}, {"strict": True}, {"create_graph": True, "strict": True}]


@program
def products_with_jacobians(m, show):
    a, b, v = leaf(m), m.tensor([3.0, -1.0]), m.tensor([0.5, 2.0])
    for number, function in enumerate(functions(m)):
        for options in OPTIONS:
            show(number, options)
            for vectors in (v, (v, v), (v, m.tensor(2.0)), None):
                attempt(show, m.autograd.functional.vjp, function, (a, b), vectors, **options)
            attempt(show, m.autograd.functional.jvp, function, (a, b), (v, a), **options)


@program
def products_with_hessians(m, show):
    a, b, v = leaf(m), m.tensor([3.0, -1.0]), m.tensor([0.5, 2.0])
    scalars = [lambda a, b: (a**3 * b).sum(), lambda a, b: (a * a).sum() + (b * b).sum(), *functions(m)]
    for number, function in enumerate(scalars):
        for options in OPTIONS:
            show(number, options)
            for vectors in ((v, a), (v,), v, (v, m.ones(3)), None):
                attempt(show, m.autograd.functional.vhp, function, (a, b), vectors, **options)
                attempt(show, m.autograd.functional.hvp, function, (a, b), vectors, **options)


@program
def jacobians(m, show):
    a, b = leaf(m), m.tensor([3.0, -1.0])
    for number, function in enumerate(functions(m)):
        for options in OPTIONS:
            show(number, options)
            attempt(show, m.autograd.functional.jacobian, function, (a, b), **options)
            attempt(show, m.autograd.functional.jacobian, function, (a, b), vectorize=True, **options)
            attempt(show, m.autograd.functional.jacobian, lambda a: function(a, b), a, **options)  # noqa: B023


@program
def hessians(m, show):
    a, b = leaf(m), m.tensor([3.0, -1.0])
    scalars = [lambda a, b: (a**3 * b).sum(), lambda a, b: (a * a).sum() + (b * b).sum(), *functions(m)]
    for number, function in enumerate(scalars):
        for options in OPTIONS:
            show(number, options)
            attempt(show, m.autograd.functional.hessian, function, (a, b), **options)
            attempt(show, m.autograd.functional.hessian, function, (a, b), vectorize=True, **options)
            attempt(show, m.autograd.functional.hessian, lambda a: function(a, b), a, **options)  # noqa: B023


@program
def without_recording(m, show):
    a = leaf(m)
    with m.no_grad():
        for options in OPTIONS[:2]:
            show(m.autograd.functional.vjp(lambda a: a * a, a, a, **options))
            show(m.autograd.functional.jvp(lambda a: a * a, a, a, **options))
            show(m.autograd.functional.jacobian(lambda a: a * a, a, **options))
            show(m.autograd.functional.hvp(lambda a: (a**3).sum(), a, a, **options))
            show(m.autograd.functional.hessian(lambda a: (a**3).sum(), a, **options))


@program
def dtypes(m, show):
    a, b = m.tensor([1.0, 2.0]), m.tensor([3.0, -1.0], dtype=m.float64)
    for vectorize in (False, True):
        show(m.autograd.functional.jacobian(lambda a, b: (a * b, a.long(), a), (a, b), vectorize=vectorize))
    show(m.autograd.functional.vjp(lambda a, b: a * b, (a, b), b))
    show(m.autograd.functional.vjp(lambda a: a * 2, a, b))
    attempt(show, m.autograd.functional.vjp, lambda a: a * 2, a.long(), b)


@program
def forward_mode(m, show):
    a, b = leaf(m), m.tensor([3.0, -1.0])
    ways = {"vectorize": True, "strategy": "forward-mode"}
    for number, function in enumerate(functions(m)[:8]):
        parts = m.autograd.functional.jacobian(function, (a, b), **ways)
        rows = parts if isinstance(parts[0], tuple | list) else [parts]  # PyTorch gives lists, of outputs and inputs
        show(number, [[(part.detach(), part.shape) for part in row] for row in rows])
        show(m.autograd.functional.jacobian(lambda b: function(m.ones(2), b), b, **ways))  # noqa: B023
    ways = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
    show(m.autograd.functional.hessian(lambda a: (a**3).sum(), b, **ways))


@pytest.mark.parametrize("function", program)
def test_as_pytorch(function):
    assert_same(function)
