"""Modules that change between calls: submodules, options, parameters, hooks, training mode."""

from programs.comparison import compared_with_eager, ramp

import numgrad
from numgrad import nn


@compared_with_eager
def test_sequential_append(compiled, see):
    m = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    f = compiled(m)
    see(f(ramp(2, 3)), f(ramp(2, 3)))
    m.append(nn.Tanh())
    see(f(ramp(2, 3)))
    m.append(nn.Linear(3, 3))
    see(f(ramp(2, 3)))
    del m[3]
    see(f(ramp(2, 3)))


@compared_with_eager
def test_dropout_p(compiled, see):
    m = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    f = compiled(m)
    see(f(ramp(2, 3)), f(ramp(2, 3)))
    m[1].p = 0.1
    see(f(ramp(2, 3)), f(ramp(2, 3)))
    m[1].p = 0.0
    see(f(ramp(2, 3)))


@compared_with_eager
def test_bn_momentum(compiled, see):
    m = nn.BatchNorm1d(3)
    f = compiled(m)
    for mom in (0.1, 0.1, 0.5, 0.5):
        m.momentum = mom
        see(f(ramp(4, 3)), m.running_mean, m.running_var, m.num_batches_tracked)


@compared_with_eager
def test_ln_eps(compiled, see):
    m = nn.LayerNorm(3)
    f = compiled(m)
    for e in (1e-05, 1e-05, 1.0, 1.0):
        m.eps = e
        see(f(ramp(4, 3)))


@compared_with_eager
def test_module_act(compiled, see):

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = numgrad.tanh
            self.l = nn.Linear(3, 3)

        def forward(self, x):
            return self.a(self.l(x))

    m = M()
    f = compiled(m)
    for a in (numgrad.tanh, numgrad.tanh, numgrad.relu):
        m.a = a
        see(f(ramp(2, 3)))


@compared_with_eager
def test_module_child_replaced(compiled, see):
    m = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    f = compiled(m)
    see(f(ramp(2, 3)), f(ramp(2, 3)))
    m[1] = nn.Tanh()
    see(f(ramp(2, 3)))
    m[0] = nn.Linear(3, 3)
    see(f(ramp(2, 3)))


@compared_with_eager
def test_module_forward_replaced(compiled, see):
    m = nn.Linear(3, 3)
    f = compiled(m)
    see(f(ramp(2, 3)), f(ramp(2, 3)))
    m.forward = lambda x: x * 2
    see(f(ramp(2, 3)))


@compared_with_eager
def test_submodule_eval(compiled, see):
    m = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Dropout(0.5))
    f = compiled(m)
    see(f(ramp(2, 3)), f(ramp(2, 3)))
    m[1].eval()
    see(f(ramp(2, 3)), f(ramp(2, 3)))
    m.eval()
    see(f(ramp(2, 3)))
    m[2].train()
    see(f(ramp(2, 3)))


def steps(module, compiled, see, *changes):
    """Twice forward and backward after each change."""
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            y = compiled(ramp(2, 3))
            y.sum().backward()
            see(y, module.weight.grad, None if module.bias is None else module.bias.grad)


@compared_with_eager
def test_parameters_replaced(compiled, see):
    m = nn.Linear(3, 3)
    steps(
        m, compiled(m), see,
        lambda: setattr(m, "weight", nn.Parameter(ramp(3, 3))),
        lambda: setattr(m.weight, "data", ramp(3, 3) * 2),
        lambda: m.load_state_dict({"weight": ramp(3, 3) * 3, "bias": ramp(3)}),
        lambda: setattr(m, "bias", None),
    )


@compared_with_eager
def test_parameters_frozen(compiled, see):
    m = nn.Linear(3, 3)
    steps(
        m, compiled(m), see, lambda: m.weight.requires_grad_(False), lambda: m.weight.requires_grad_(True),
        m.zero_grad, lambda: m.bias.requires_grad_(False),
    )


@compared_with_eager
def test_requires_grad_branch(compiled, see):
    w = numgrad.ones(3, requires_grad=True)
    f = compiled(lambda x: x * 2 if w.requires_grad else x * 3)
    see(f(ramp(3)), f(ramp(3)))
    w.requires_grad_(False)
    see(f(ramp(3)))


@compared_with_eager
def test_shape_of_unused(compiled, see):
    o = nn.Module()
    o.w = numgrad.ones(3)
    f = compiled(lambda x: x * o.w.shape[0])
    see(f(ramp(3)), f(ramp(3)))
    o.w = numgrad.ones(5)
    see(f(ramp(3)))
