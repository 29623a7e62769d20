"""Forward mode through its public interface: dual tensors, changes in place and views, Functions, levels, errors."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import numgrad
from numgrad.autograd import forward_ad
from numgrad.autograd.forward_ad import dual_tensor, make_dual, primal_and_tangent, unpack_dual
from numgrad.autograd.levels import Tangents


def dual(*primal, tangent=1.0):
    values = numgrad.tensor(list(primal), dtype=numgrad.float64)
    return make_dual(values, numgrad.full_like(values, tangent))


def tangent(tensor):
    found = unpack_dual(tensor).tangent
    return None if found is None else found.tolist()


@pytest.fixture
def level():
    with forward_ad.dual_level():
        yield


# -- dual tensors -----------------------------------------------------------------------------------------------


def test_a_program_computes_a_derivative_in_one_direction():
    x = numgrad.tensor([1.0, 2.0])
    with forward_ad.dual_level():
        y = (make_dual(x, numgrad.tensor([1.0, 0.5])) ** 3).sum()
        value, slope = unpack_dual(y)
    assert (value.item(), slope.item()) == (9.0, 9.0)


def test_a_dual_tensor_is_a_view_and_keeps_its_tangent_object(level):
    x, t = numgrad.ones(3), numgrad.ones(3)
    d = make_dual(x, t)
    assert d._base is x
    assert unpack_dual(d).tangent is t
    assert unpack_dual(x).tangent is None
    assert unpack_dual(d).primal._base is x


def test_a_tangent_that_lies_in_memory_otherwise_is_copied(level):
    x, t = numgrad.ones(2, 3).t(), numgrad.ones(3, 2)
    found = unpack_dual(make_dual(x, t)).tangent
    assert found.stride() == x.stride()
    assert found is not t
    assert make_dual(numgrad.ones(6)[::2], numgrad.ones(3)).as_strided((2,), (4,)).shape == (2,)


def test_tangents_are_gone_when_the_level_has_ended():
    with forward_ad.dual_level():
        d = dual(1.0) * 2
    assert unpack_dual(d) == (d, None)
    with forward_ad.dual_level():
        assert tangent(d) is None
        assert tangent(d * 2) is None


def test_detached_tensors_and_comparisons_have_no_tangent(level):
    d = dual(1.0, 2.0)
    for other in (d.detach(), d > 1, d.long(), d.argmax(), d.data):
        assert tangent(other) is None
    assert tangent(d.float()) == [1.0, 1.0]


@pytest.mark.parametrize("mode", [numgrad.no_grad, numgrad.inference_mode])
def test_tangents_are_computed_where_nothing_is_recorded(level, mode):
    d = dual(1.0)
    with mode():
        assert tangent(d * 3) == [3.0]


def test_a_dual_tensor_shows_its_tangent(level):
    d = make_dual(numgrad.ones(2), numgrad.zeros(2))
    assert repr(d) == "tensor([1., 1.], tangent=tensor([0., 0.]))"
    assert repr(d.sum()) == "tensor(2., tangent=0.0)"


def test_a_level_decorates():
    @forward_ad.dual_level()
    def slope(x):
        return unpack_dual(make_dual(x, numgrad.ones_like(x)) ** 2).tangent

    assert slope(numgrad.tensor([3.0])).tolist() == [6.0]


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: forward_ad.enter_dual_level(), RuntimeError, "Nested forward mode AD"),
    (lambda: make_dual(dual(1.0), numgrad.ones(1, dtype=numgrad.float64)), RuntimeError, r"already has a .*\[1\]"),
    (lambda: make_dual(numgrad.ones(1), dual(1.0)), RuntimeError, r"itself has a forward gradient .*\[1\]"),
    (lambda: make_dual(numgrad.ones(2), numgrad.ones(3)), RuntimeError, r"different size .* \[2\] .* \[3\]"),
    (lambda: make_dual(numgrad.arange(2), numgrad.ones(2)), ValueError, "primal to be floating point .*int64"),
    (lambda: make_dual(numgrad.ones(2), numgrad.arange(2)), ValueError, "tangent to be floating point .*int64"),
    (lambda: forward_ad.exit_dual_level(level=5), RuntimeError, "not the last one"),
    (lambda: numgrad.add(dual(1.0), 1, out=numgrad.ones(1)), NotImplementedError, "add_out"),
    (lambda: unpack_dual(3), TypeError, "must be Tensor, not int"),
])
def test_errors(level, call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_errors_outside_of_a_level():
    with pytest.raises(RuntimeError, match="no level exists"):
        make_dual(numgrad.ones(1), numgrad.ones(1))
    with pytest.raises(RuntimeError, match="positive"):
        forward_ad.exit_dual_level()


def test_the_module_is_there_without_being_imported():
    code = "import numgrad; print(numgrad.autograd.forward_ad.make_dual.__name__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "make_dual\n"


def test_integers_that_are_overwritten_with_a_dual_tensor_have_no_tangent(level):
    integers = numgrad.arange(1)
    integers.copy_(dual(3.0))
    assert integers.tolist() == [3]
    assert unpack_dual(integers).tangent is None


# -- in place, and views ----------------------------------------------------------------------------------------


def test_changes_in_place_change_the_tangent(level):
    x, t = numgrad.ones(2), numgrad.ones(2)
    d = make_dual(x, t)
    assert tangent(d.mul_(3)) == [3.0, 3.0]
    assert t.tolist() == [3.0, 3.0]
    assert tangent(dual(2.0).mul_(dual(2.0, tangent=5.0))) == [12.0]
    assert tangent(dual(0.0).exp_()) == [1.0]
    for change in (lambda d: d.zero_(), lambda d: d.fill_(3.0), lambda d: d.copy_(numgrad.ones(1)),
                   lambda d: d.uniform_(), lambda d: d.clamp_(5.0)):
        assert tangent(change(dual(2.0))) == [0.0]
    assert tangent(dual(2.0, 3.0).unsqueeze_(0)) == [[1.0, 1.0]]
    assert tangent(dual(1.0, 2.0, 3.0).index_add_(0, numgrad.tensor([0, 0]), dual(1.0, 1.0))) == [3.0, 1.0, 1.0]
    d = dual(1.0, 2.0)
    d -= d
    assert tangent(d) == [0.0, 0.0]


def test_views_and_their_bases_see_each_others_tangents(level):
    base = dual(1.0, 2.0, 3.0) * 1
    view = base[1:]
    view.mul_(5)
    assert tangent(base) == [1.0, 5.0, 5.0]
    base.add_(base)
    assert tangent(view) == [10.0, 10.0]


def test_writing_into_part_of_a_tensor_gives_the_whole_a_tangent(level):
    base = numgrad.zeros(2, 3, dtype=numgrad.float64)
    other = base[:, 0]
    base[1] = dual(1.0, 2.0, 3.0)
    assert tangent(base) == [[0.0] * 3, [1.0] * 3]
    assert tangent(other) == [0.0, 1.0]  # though it was made before


def test_parts_that_one_operation_made_see_the_tangent_that_their_base_is_given(level):
    base = numgrad.zeros(4)
    first, second = base.split(2)
    base.copy_(make_dual(numgrad.ones(4), numgrad.arange(4.0)))
    assert (tangent(first), tangent(second)) == ([0.0, 1.0], [2.0, 3.0])


def test_the_primal_part_has_no_tangent_nor_have_its_views(level):
    d = dual(1.0, 2.0) * 1
    primal = unpack_dual(d).primal
    assert tangent(primal * 2) is None
    assert tangent(primal[0] * 2) is None
    primal.mul_(dual(1.0, 1.0))
    assert tangent(primal) == [1.0, 2.0]
    assert tangent(d) == [1.0, 1.0]


def test_a_change_does_not_reach_tangents_of_other_tensors(level):
    t = numgrad.ones(2, dtype=numgrad.float64)
    d = make_dual(numgrad.ones(2, dtype=numgrad.float64), t)
    for made in (d + 1, d.clone(), d.sum(0, keepdim=True).expand(2).contiguous(), d.double() + 0):
        made.mul_(7)
    assert t.tolist() == [1.0, 1.0]


# -- together with reverse mode ---------------------------------------------------------------------------------


def test_the_tangent_of_a_gradient_is_a_product_with_the_hessian(level):
    x = numgrad.tensor([1.0, 2.0], requires_grad=True)
    d = make_dual(x, numgrad.tensor([1.0, 3.0]))
    y = (d**3).sum() + d[0] * d[1]
    (gradient,) = numgrad.autograd.grad(y, x)
    assert tangent(gradient) == [9.0, 37.0]


def test_accumulated_gradients_have_the_tangents_of_all(level):
    x = numgrad.tensor([1.0, 2.0], requires_grad=True)
    for times in (1, 2):
        (make_dual(x, numgrad.ones(2)) ** 3).sum().backward()
        assert tangent(x.grad) == [6.0 * times, 12.0 * times]


def test_a_tangent_can_be_differentiated(level):
    x = numgrad.tensor([1.0, 2.0], requires_grad=True)
    v = numgrad.tensor([1.0, 3.0], requires_grad=True)
    slope = unpack_dual((make_dual(x, v) ** 3).sum()).tangent
    by_x, by_v = numgrad.autograd.grad(slope, (x, v))
    assert by_x.tolist() == [6.0, 36.0]
    assert by_v.tolist() == [3.0, 12.0]


def test_a_tangent_that_was_changed_in_place_can_be_differentiated(level):
    x = numgrad.tensor([3.0], requires_grad=True)
    d = make_dual(x, numgrad.ones(1))
    y = d.clone().mul_(d)
    y[0] = y[0].exp_() * 2
    slope = unpack_dual(y).tangent  # of 2 * exp(x**2), so 4 * x * exp(x**2)
    (second,) = numgrad.autograd.grad(slope, x)
    np.testing.assert_allclose(second.numpy(), [(4 + 8 * 9) * np.exp(9.0)], 1e-6)


def test_hooks_and_operations_with_saved_results_see_tangents(level):
    seen = []
    x = numgrad.tensor([1.0], requires_grad=True)
    y = make_dual(x, numgrad.tensor([2.0])).exp()
    y.register_hook(lambda gradient: seen.append(tangent(gradient)))
    z = y * y
    (gradient,) = numgrad.autograd.grad(z, x)
    e = np.exp(2.0)
    np.testing.assert_allclose(tangent(gradient), [8 * e], 1e-6)
    np.testing.assert_allclose(seen, [[4 * np.exp(1.0)]], 1e-6)


def test_parameters_of_modules_can_be_dual(level):
    module = numgrad.nn.Linear(3, 2)
    for name, parameter in list(module.named_parameters()):
        delattr(module, name)
        setattr(module, name, make_dual(parameter, numgrad.ones_like(parameter)))
    assert tangent(module(numgrad.ones(1, 3))) == [[4.0, 4.0]]


# -- Functions --------------------------------------------------------------------------------------------------


class Scaled(numgrad.autograd.Function):
    """``x * y * k``, with all methods of a Function."""

    @staticmethod
    def forward(ctx, x, y, k):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        ctx.k = k
        return x * y * k

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y * ctx.k, gradient * x * ctx.k, None

    @staticmethod
    def jvp(ctx, x_t, y_t, _):
        x, y = ctx.saved_tensors
        return ctx.k * (x_t * y + x * y_t)


def test_a_function_says_what_its_tangents_are(level):
    x, y = dual(2.0), dual(3.0, tangent=10.0)
    assert tangent(Scaled.apply(x, y, 5)) == [115.0]
    assert tangent(Scaled.apply(x, numgrad.tensor([3.0]).double(), 5)) == [15.0]  # the other's tangent is zeros


def test_a_function_without_jvp_says_so(level):
    class Silent(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(NotImplementedError, match="implement the jvp"):
        Silent.apply(dual(1.0))


def made(forward_of, jvp_of):
    """A Function of one input."""

    class Made(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return forward_of(ctx, x)

        @staticmethod
        def jvp(ctx, t):
            return jvp_of(t)

    return Made.apply


def doubled_in_place(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


@pytest.mark.parametrize(("forward_of", "jvp_of", "message"), [
    (lambda ctx, x: x * 2, lambda t: (t, t), "expected 1 but got 2"),
    (lambda ctx, x: x * 2, lambda t: t[:1], r"different size .*\[2\].*\[1\]"),
    (lambda ctx, x: x * 2, lambda t: 3, r"expected Variable or None \(got int\)"),
    (lambda ctx, x: x, lambda t: t.clone(), "not returning a view"),
    (lambda ctx, x: x.view(2, 1), lambda t: t.view(2, 1).clone(), "not returning a view"),
    (doubled_in_place, lambda t: t * 2, "not modifying the forward mode gradients inplace"),
])
def test_errors_of_functions(level, forward_of, jvp_of, message):
    with pytest.raises(RuntimeError, match=message):
        made(forward_of, jvp_of)(dual(1.0, 1.0))


def test_functions_that_return_views_or_change_their_input(level):
    assert tangent(made(lambda ctx, x: x.view(2, 1), lambda t: t.view(2, 1))(dual(1.0, 1.0))) == [[1.0], [1.0]]
    d = dual(1.0, 1.0) * 1
    assert tangent(made(doubled_in_place, lambda t: t.mul_(2))(d)) == [2.0, 2.0]
    assert tangent(d) == [2.0, 2.0]


# -- levels -----------------------------------------------------------------------------------------------------


def slope_at(function, x):
    """The derivative of a function of one variable, in a separate level."""
    with Tangents() as level:
        result = function(dual_tensor(x, numgrad.ones_like(x), level))
        return primal_and_tangent(result, level)[1]


def test_levels_are_kept_apart():
    x = numgrad.tensor(3.0)
    # d/dx (x * d/dy (x + y)) is 1: the inner derivative does not see the outer variable as its own
    assert slope_at(lambda x: x * slope_at(lambda y: x + y, numgrad.tensor(1.0)), x).item() == 1.0
    assert slope_at(lambda x: slope_at(lambda y: y**3, x), x).item() == 18.0
    assert slope_at(lambda x: slope_at(lambda y: slope_at(lambda z: z**3 * y * x, y), x), x).item() == 27 * 3**2


def test_levels_end_with_an_error_inside():
    with pytest.raises(ZeroDivisionError):
        slope_at(lambda x: 1 / 0, numgrad.tensor(1.0))
    assert numgrad.autograd.grad_mode.state.level is None
    assert numgrad.autograd.grad_mode.state.mode == numgrad.autograd.grad_mode.GRAD


class Failing(numgrad.autograd.Function):
    """Raises in forward."""

    @staticmethod
    def forward(ctx, x):
        raise ZeroDivisionError


def test_a_function_that_fails_leaves_everything_as_it_was():
    mode = numgrad.autograd.grad_mode.state.mode
    with forward_ad.dual_level(), pytest.raises(ZeroDivisionError):
        Failing.apply(dual(1.0))
    assert numgrad.autograd.grad_mode.state.mode == mode


def test_tangents_go_with_their_level():
    gc.disable()
    try:
        total = numgrad.zeros(1, dtype=numgrad.float64)
        x = numgrad.ones(1, dtype=numgrad.float64, requires_grad=True)
        with forward_ad.dual_level():
            y = make_dual(x, numgrad.ones_like(x)).exp()  # its tangent is recorded as computed from itself
            total.add_(dual(3.0))
            kept = [weakref.ref(unpack_dual(tensor).tangent) for tensor in (y, total)]
            result = weakref.ref(y)
        assert [weak() for weak in kept] == [None, None]
        del y
        assert result() is None
    finally:
        gc.enable()


def test_tensors_detached_in_place_have_no_tangent(level):
    d = dual(1.0) * 2
    product = d * d
    assert tangent(d.detach_()) is None
    assert tangent(product) == [8.0]


def test_a_part_of_a_tensor_made_dual_has_a_tangent_as_large_as_the_whole(level):
    whole, direction = numgrad.ones(2, 3), numgrad.ones(3)
    d = make_dual(whole[0], direction)
    assert tangent(d.as_strided((3,), (1,), 3)) == [0.0, 0.0, 0.0]  # the other row's
    d.mul_(2)
    assert tangent(d) == [2.0, 2.0, 2.0]
    assert direction.tolist() == [1.0, 1.0, 1.0]
