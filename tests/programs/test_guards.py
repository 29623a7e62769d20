"""State that changes between calls: a replay has the results of the function itself, or is refused."""

# ruff: noqa: B007 - functions defined earlier see the changed variables

from types import SimpleNamespace

from programs.comparison import compared_with_eager, ramp

import numgrad
import numgrad.nn.functional as F  # noqa: N812

N, FLAG, W, HELP = 2.0, True, numgrad.ones(3), numgrad.relu


class Thing:
    pass


class Slots:
    __slots__ = ("k",)


@compared_with_eager
def test_global_number(compiled, see):
    global N
    N = 2.0
    f = compiled(lambda x: x * N)
    for n in (2.0, 2.0, 3.0, 4.0):
        N = n
        see(f(ramp(3)))


@compared_with_eager
def test_global_flag(compiled, see):
    global FLAG

    def g(x):
        return x + 1 if FLAG else x - 1

    f = compiled(g)
    for n in (True, True, False, False, True):
        FLAG = n
        see(f(ramp(3)))


@compared_with_eager
def test_global_tensor(compiled, see):
    global W
    f = compiled(lambda x: x * W)
    for n in range(5):
        W = numgrad.ones(3) * n
        see(f(ramp(3)))


@compared_with_eager
def test_global_function(compiled, see):
    global HELP
    HELP = numgrad.relu
    f = compiled(lambda x: HELP(x))
    see(f(ramp(3)))
    see(f(ramp(3)))
    HELP = numgrad.sin
    see(f(ramp(3)))
    HELP = numgrad.tanh
    see(f(ramp(3)))


@compared_with_eager
def test_closure_number(compiled, see):
    n = 1
    f = compiled(lambda x: x * n)
    for n in (1, 1, 2, 3):
        see(f(ramp(3)))


@compared_with_eager
def test_closure_function(compiled, see):
    a = numgrad.tanh
    f = compiled(lambda x: a(x))
    for a in (numgrad.tanh, numgrad.tanh, numgrad.sin, F.relu):
        see(f(ramp(3)))


@compared_with_eager
def test_closure_string(compiled, see):
    a = "relu"
    f = compiled(lambda x: getattr(numgrad, a)(x))
    for a in ("relu", "relu", "tanh"):
        see(f(ramp(3)))


@compared_with_eager
def test_attr_number(compiled, see):
    o = Thing()
    o.k = 1.0
    f = compiled(lambda x: x * o.k)
    for k in (1.0, 1.0, 2.0, 2.0):
        o.k = k
        see(f(ramp(3)))


@compared_with_eager
def test_slots_number(compiled, see):
    o = Slots()
    o.k = 1.0
    f = compiled(lambda x: x * o.k)
    for k in (1.0, 1.0, 2.0, 2.0):
        o.k = k
        see(f(ramp(3)))


@compared_with_eager
def test_dict_number(compiled, see):
    o = {"k": 1.0}
    f = compiled(lambda x: x * o["k"])
    for k in (1.0, 1.0, 2.0, 2.0):
        o["k"] = k
        see(f(ramp(3)))


@compared_with_eager
def test_list_number(compiled, see):
    o = [1.0]
    f = compiled(lambda x: x * o[0])
    for k in (1.0, 1.0, 2.0, 2.0):
        o[0] = k
        see(f(ramp(3)))


@compared_with_eager
def test_list_appended(compiled, see):
    o = [ramp(3) + 1]

    def g(x):
        for w in o:
            x = x * w
        return x

    f = compiled(g)
    see(f(ramp(3)), f(ramp(3)))
    o.append(ramp(3) + 2)
    see(f(ramp(3)))
    o.pop()
    see(f(ramp(3)))


@compared_with_eager
def test_class_attribute(compiled, see):

    class M:
        k = 1.0

        def g(self, x):
            return x * self.k

    m = M()
    f = compiled(m.g)
    for k in (1.0, 1.0, 2.0):
        M.k = k
        see(f(ramp(3)))


@compared_with_eager
def test_class_method_replaced(compiled, see):

    class M:
        def h(self, x):
            return x * 2

        def g(self, x):
            return self.h(x)

    m = M()
    f = compiled(m.g)
    see(f(ramp(3)), f(ramp(3)))
    M.h = lambda self, x: x * 3
    see(f(ramp(3)))


@compared_with_eager
def test_namespaces(compiled, see):
    o = SimpleNamespace(k=1.0)
    f = compiled(lambda x: x * o.k)
    g = compiled(lambda x: x * sum(vars(o).values()))
    for k in (1.0, 1.0, 2.0):
        o.k = k
        see(f(ramp(3)), g(ramp(3)))


@compared_with_eager
def test_returned_as_it_is(compiled, see):
    thing = Thing()
    thing.w = numgrad.zeros(3)
    functions = [
        compiled(lambda: thing.w), compiled(lambda: thing.w[1:]), compiled(lambda: (thing.w.detach(), 1)),
        compiled(lambda: thing.w.view(3, 1).t()),
    ]
    for number in range(5):
        if number > 1:
            thing.w = numgrad.full((3,), float(number), requires_grad=number > 2)
        results = [f() for f in functions]
        see(*results, results[0] is thing.w)


@compared_with_eager
def test_returned_memory(compiled, see):
    w = numgrad.zeros(3)
    functions = compiled(lambda: w), compiled(lambda: w[1:]), compiled(lambda: w.detach())
    for number in range(5):
        if number > 1:
            w.data = numgrad.full((3,), float(number))
        see(*[f() for f in functions])


@compared_with_eager
def test_gradient_returned(compiled, see):
    w, other = (numgrad.zeros(3, requires_grad=True) for _ in range(2))

    def moved():
        other.grad = w.grad

    def exchanged():
        before, w.grad = w.grad, w.detach() + 1
        return before

    functions = [compiled(f) for f in (lambda: w.grad, lambda: w.grad.view(3, 1), moved, exchanged)]
    for number in range(5):
        w.grad = numgrad.full((3,), float(number))
        see(*[f() for f in functions], other.grad is w.grad, other.grad, w.grad)


@compared_with_eager
def test_options_read(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    optimizer = numgrad.optim.Adam([w], lr=0.1)
    optimizer.param_groups[0]["factor"] = 1.0

    def step(x):
        optimizer.zero_grad()
        (w * x * optimizer.param_groups[0]["factor"]).sum().backward()
        optimizer.step()
        return x * optimizer.param_groups[0]["lr"]

    f = compiled(step)
    for number in range(6):
        if number > 2:
            optimizer.param_groups[0]["lr"] = 0.1 / number
        if number > 4:
            optimizer.param_groups[0]["factor"] = 2.0
        see(f(ramp(3)), w)


@compared_with_eager
def test_methods_of_instances(compiled, see):
    class Own:
        def scaled(self, x):
            return x * 2

    own, layer = Own(), numgrad.nn.Linear(3, 2)
    net = numgrad.nn.Sequential(layer)
    functions = compiled(lambda x: own.scaled(x)), compiled(net), compiled(lambda x: net(x))
    for number in range(4):
        if number == 1:
            own.scaled = lambda x: x * 3
        elif number == 2:
            layer.forward = lambda x: x + 1
        elif number == 3:
            del own.scaled
        see(*[f(ramp(3)) for f in functions])
