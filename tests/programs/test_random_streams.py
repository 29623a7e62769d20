"""Random numbers in compiled functions: each replay goes on where the last draw ended, wherever that was."""

# ruff: noqa: B007 - functions defined earlier see the changed variables

from programs.comparison import compared_with_eager, ramp

import numgrad
import numgrad.nn.functional as F  # noqa: N812


@compared_with_eager
def test_generator_rebound(compiled, see):
    g = numgrad.Generator().manual_seed(1)
    f = compiled(lambda x: x + numgrad.rand(3, generator=g))
    see(f(ramp(3)), f(ramp(3)))
    g = numgrad.Generator().manual_seed(5)
    see(f(ramp(3)), f(ramp(3)))
    g.manual_seed(5)
    see(f(ramp(3)))
    s = g.get_state()
    see(f(ramp(3)))
    g.set_state(s)
    see(f(ramp(3)))


@compared_with_eager
def test_rng_states(compiled, see):
    f = compiled(lambda x: F.dropout(x))
    x = numgrad.ones(20)
    see(f(x), f(x))
    s = numgrad.get_rng_state()
    see(f(x), f(x))
    numgrad.set_rng_state(s)
    see(f(x))
    numgrad.manual_seed(4)
    see(f(x))
    with numgrad.random.fork_rng():
        see(f(x))
    see(f(x))
    see(numgrad.rand(3))


@compared_with_eager(falls_back=True)
def test_seed_inside(compiled, see):

    def g(x):
        numgrad.manual_seed(3)
        return x + numgrad.rand(3)

    f = compiled(g)
    see(f(ramp(3)), f(ramp(3)), numgrad.rand(2), f(ramp(3)), numgrad.rand(2))


@compared_with_eager(falls_back=True)
def test_fork_inside(compiled, see):

    def g(x):
        with numgrad.random.fork_rng():
            a = numgrad.rand(3)
        return x + a + numgrad.rand(3)

    f = compiled(g)
    see(f(ramp(3)), f(ramp(3)), numgrad.rand(2), f(ramp(3)), numgrad.rand(2))


@compared_with_eager(falls_back=True)
def test_generator_inside_made(compiled, see):

    def g(x):
        q = numgrad.Generator().manual_seed(3)
        return x + numgrad.rand(3, generator=q)

    f = compiled(g)
    for i in range(4):
        see(f(ramp(3)))


@compared_with_eager
def test_generator_argument(compiled, see):
    f = compiled(lambda x, g: x + numgrad.rand(3, generator=g))
    g = numgrad.Generator().manual_seed(1)
    h = numgrad.Generator().manual_seed(2)
    for q in (g, g, h, h, g, h):
        see(f(ramp(3), q))
