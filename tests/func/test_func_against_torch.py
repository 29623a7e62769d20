"""Programs with ``func``: they have the same results and errors with PyTorch and with numgrad."""

import pytest
from autograd_programs import Programs, assert_same, leaf

pytestmark = pytest.mark.torch

program = Programs()


def attempt(show, function, *args, **options):
    """Show the result, or the error without numgrad's additions about shapes, dtypes and structures."""
    try:
        show(*plain(function(*args, **options)))
    except Exception as error:
        show(type(error).__name__, str(error).split(", not ")[0].split("Got primals")[0][:250])


def plain(result):
    """The tensors of a result, and whether they are in a graph: forward mode has other nodes than PyTorch's."""
    if isinstance(result, dict):
        return [part for name, value in result.items() for part in (name, *plain(value))]
    if isinstance(result, tuple | list):
        return [part for value in result for part in (type(result).__name__, *plain(value))]
    return [result.detach(), result.requires_grad] if hasattr(result, "detach") else []


def scalars(m, w):
    return [
        lambda a: (a**3).sum(), lambda a: (a * a * w).sum(), lambda a: w.sum(), lambda a: m.ones(()),
        lambda a: (a * a.detach()).sum(), lambda a: a[0] * a[1] * w[0], lambda a: (a.tanh() * m.stack([a, a])).sum(),
        lambda a: (a.clone().mul_(a)).sum(), lambda a: a, lambda a: 1.0, lambda a: a.sin_().sum(),
    ]


def vectors(m, w):
    return [
        lambda a: a * a, lambda a: (a * w, a.sum()), lambda a: [a, {"k": a[1:]}], lambda a: m.ones(2), lambda a: w,
        lambda a: (a, 1.0), lambda a: None, lambda a: a.outer(a),
    ]  # fmt: skip


def points(m):
    return [m.tensor([1.0, 2.0]), leaf(m), leaf(m) * 2]


@program
def gradients(m, show):
    w = leaf(m, 3.0, -1.0)
    for number, f in enumerate(scalars(m, w)):
        for x in points(m):
            show(number)
            attempt(show, m.func.grad(f), x)
            attempt(show, m.func.grad_and_value(f), x)
            with m.no_grad():
                attempt(show, m.func.grad_and_value(f), x)
    show(w.grad)


@program
def nested_gradients(m, show):
    w = leaf(m, 3.0, -1.0)
    grad, jvp, vjp = m.func.grad, m.func.jvp, m.func.vjp
    direction = m.tensor([0.5, 2.0])
    for number, f in enumerate(scalars(m, w)[:7]):
        for x in points(m):
            show(number)
            attempt(show, grad(lambda a: grad(f)(a).sum()), x)  # noqa: B023
            attempt(show, grad(lambda a: (a * grad(f)(a)).sum()), x)  # noqa: B023
            attempt(show, grad(lambda a: grad(lambda b: (a * b).sum() * f(b))(a).sum()), x)  # noqa: B023
            attempt(show, jvp, grad(f), (x,), (direction,))
            attempt(show, jvp, grad(f), (x,), (w,))
            attempt(show, grad(lambda a: jvp(f, (a,), (direction,))[1]), x)  # noqa: B023
            attempt(show, grad(lambda v: jvp(f, (x,), (v,))[1]), direction)  # noqa: B023
            attempt(show, lambda a: vjp(grad(f), a)[1](direction), x)  # noqa: B023


@program
def by_the_graph_outside(m, show):
    w = leaf(m, 3.0, -1.0)
    for number, f in enumerate(scalars(m, w)[:7]):
        x = leaf(m)
        gradient, value = m.func.grad_and_value(f)(x)
        primal, product = m.func.jvp(f, (x,), (w,))
        for result in (gradient.sum(), value, primal, product):
            if result.requires_grad:
                show(number, m.autograd.grad(result, (x, w), retain_graph=True, materialize_grads=True))


@program
def products(m, show):
    w = leaf(m, 3.0, -1.0)
    for number, f in enumerate(vectors(m, w)):
        for x in points(m):
            show(number)
            attempt(show, lambda: m.func.vjp(f, x)[0])  # noqa: B023
            attempt(show, lambda: m.func.vjp(f, x)[1](m.ones(2)))  # noqa: B023
            attempt(show, lambda: m.func.vjp(f, x)[1](w))  # noqa: B023
            attempt(show, lambda: m.func.vjp(f, x)[1]((x, m.ones(()))))  # noqa: B023
            attempt(show, lambda: m.func.vjp(f, x)[1]([x, {"k": m.ones(1)}]))  # noqa: B023
            attempt(show, m.func.jvp, f, (x,), (m.ones(2),))
            attempt(show, m.func.jvp, f, (x,), (w,))
            attempt(show, m.func.jvp, f, (x,), (m.ones(1),))
            attempt(show, m.func.jvp, f, (x,), (x, x))
            with m.no_grad():
                attempt(show, m.func.jvp, f, (x,), (w,))


@program
def positions_and_structures(m, show):
    x, y = m.tensor([1.0, 2.0]), m.tensor([3.0, 5.0])
    product = lambda a, b: (a * b * b).sum()  # noqa: E731
    for argnums in (0, 1, -1, -2, 2, -3, (0, 1), (1, 0), (0,), (), (0, -2), [0], "0", (0, 1.0), True):
        show(argnums)
        attempt(show, m.func.grad(product, argnums), x, y)
    inside = lambda tree: (tree["a"] * tree["b"][0]).sum()  # noqa: E731
    for tree in ({"a": x, "b": [y]}, {"b": (y, x), "a": x}, {"a": x, "b": [y, None]}, {"a": x, "b": [1.0]}, x):
        attempt(show, m.func.grad(inside), tree)
    aux = lambda a: ((a * a).sum(), {"twice": a * 2, "rest": (a, [a * y])})  # noqa: E731
    attempt(show, m.func.grad(aux, has_aux=True), x)
    attempt(show, m.func.grad_and_value(aux, has_aux=True), x)
    attempt(show, m.func.jvp, aux, (x,), (y,), has_aux=True)
    attempt(show, lambda: m.func.vjp(aux, x, has_aux=True)[2])


@program
def training(m, show):
    m.manual_seed(0)
    model = m.nn.Sequential(m.nn.Linear(2, 3), m.nn.Tanh(), m.nn.Linear(3, 1))
    inputs, targets = m.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]]), m.tensor([[1.0], [0.0], [-1.0]])
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(parameters):
        return m.nn.functional.mse_loss(m.func.functional_call(model, parameters, inputs), targets)

    for _ in range(4):
        gradients, value = m.func.grad_and_value(loss)(parameters)
        parameters = {name: parameters[name] - 0.5 * gradients[name] for name in parameters}
        show(value)
    slope = lambda parameters: sum(g.sum() for g in m.func.grad(loss)(parameters).values())  # noqa: E731
    show(*plain(m.func.grad(slope)(parameters)))


@program
def learning_to_learn(m, show):
    matrix = m.tensor([[1.0, 2.0], [0.5, -1.0]])

    def loss(p):
        return ((matrix @ p - 1) ** 2).sum()

    def after_three_steps(p):
        for _ in range(3):
            p = p - 0.05 * m.func.grad(loss)(p)
        return loss(p)

    attempt(show, m.func.grad_and_value(after_three_steps), m.tensor([0.5, 0.25]))
    p = leaf(m, 0.5, 0.25)
    show(*plain(m.autograd.grad(after_three_steps(p), p)))


@pytest.mark.parametrize("function", program)
def test_as_pytorch(function):
    assert_same(function)
