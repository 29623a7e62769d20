"""Anomaly mode's search for NaN and infinities: the first operation that makes one, the element, and the inputs."""

import warnings

import numpy as np
import pytest

import numgrad
from numgrad import arange, ones, tensor, zeros
from numgrad.autograd import Function, detect_anomaly, set_detect_anomaly
from numgrad.autograd.grad_mode import state
from numgrad.autograd.graph import saved_tensors_hooks

NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def quiet():
    before = state.mode, state.watchers
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Error detected in", UserWarning)
        yield
    assert (state.mode, state.watchers) == before


def forward(**keywords):
    return set_detect_anomaly(True, check_forward=True, **keywords)


def refusal(call):
    with pytest.raises(RuntimeError) as caught:
        call()
    return str(caught.value)


# --- forward ----------------------------------------------------------------------------


def test_the_first_bad_element_and_the_inputs_there():
    x = tensor([[4.0, 1.0, -1.0], [-2.0, 0.0, 3.0]], requires_grad=True)
    with forward():
        text = refusal(x.sqrt)
    assert text == (
        "Operation 'sqrt' returned nan values from inputs without any.\n"
        "The first nan stands at [0, 2] in the result, of shape [2, 3].\n"
        "  input is -1 there"
    )


def test_broadcast_operands_and_numbers_are_shown_at_their_element():
    x, y = tensor([[1.0], [0.0]]), tensor([2.0, 0.0, 4.0])
    with forward():
        text = refusal(lambda: x / y)
        assert "at [1, 1] in the result, of shape [2, 3].\n  input is 0 there\n  other is 0 there" in text
        text = refusal(lambda: y * 0 / 0)
        assert text.endswith("  input is 0 there\n  other is 0")


def test_operands_of_other_shapes_are_summed_up():
    x = tensor([[1e30, 1.0]])
    with forward(check_inf=True):
        text = refusal(lambda: x @ tensor([[1e30], [-2.0]]))
    assert text.startswith("Operation 'mm' returned infinite values from inputs without any.")
    assert "  input has the shape [1, 2] and lies between 1 and 1e+30\n" in text
    assert "  mat2 has the shape [2, 1] and lies between -2 and 1e+30" in text


def test_who_was_given_nan_is_not_the_culprit():
    x = tensor([1.0, NAN, -1.0])
    with forward():
        y = numgrad.cat([x * 2, ones(1)]).sum()
        assert y.isnan()
        text = refusal(lambda: (x * 2)[2:].sqrt())
    assert text.startswith("Operation 'sqrt'")


def test_constants_that_are_bad_are_nobodys_fault():
    with forward(check_inf=True):
        x = numgrad.full((2,), NAN)
        x.fill_(INF)
        masked = ones(3).masked_fill(arange(3) > 1, -INF)
        assert masked.softmax(0).tolist() == [0.5, 0.5, 0.0]
        assert (ones(2) * INF).tolist() == [INF, INF]


def test_operations_in_place():
    x = tensor([1.0, -2.0])
    with forward():
        text = refusal(x.log_)
        assert text.startswith("Operation 'log_' returned nan values")
        assert text.endswith("  input is -2 there")  # as before
        x.add_(1)  # its input is bad by now
        y = tensor([-1.0, 4.0])
        assert "Operation 'sqrt_'" in refusal(y[:1].sqrt_)


def test_one_of_several_results():
    x = tensor([1.0, 1.0]) * 1e30
    with forward(check_inf=True):
        text = refusal(lambda: numgrad.var_mean(x * tensor([1.0, -1.0])))
    assert "The first infinity stands in result 0, of shape []." in text


def test_functions_are_operations():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return numgrad.from_numpy(x.detach().numpy() * NAN)

        @staticmethod
        def backward(ctx, g):
            return g

    with forward():
        text = refusal(lambda: Wrong.apply(ones(2, requires_grad=True)))
    assert text.startswith("Operation 'Wrong' returned nan values from inputs without any.")


def test_tensors_that_stand_for_a_batch():
    batch = tensor([[1.0, 2.0], [1.0, 0.0]])
    with forward():
        text = refusal(lambda: numgrad.func.vmap(lambda x: (x - 1).sum().sqrt())(batch))
    assert text.endswith("The first nan stands at [1] in the result, of shape [2].\n  input is -1 there")


def test_infinities_are_looked_for_only_if_asked_for():
    x = zeros(2)
    with forward():
        assert x.log().tolist() == [-INF, -INF]
    with forward(check_inf=True):
        assert "Operation 'log' returned infinite values" in refusal(x.log)
    with set_detect_anomaly(True, False, check_forward=True, check_inf=True):
        (x - 1).sqrt()
        assert "infinite" in refusal(x.log)


def test_by_default_the_forward_pass_is_not_checked():
    with set_detect_anomaly(True):
        assert ones(1).mul(-1).sqrt().isnan().item()
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = detect_anomaly(check_forward=True)
    with mode:
        refusal(ones(1).mul(-1).sqrt)
        with set_detect_anomaly(True):
            ones(1).mul(-1).sqrt()
        refusal(ones(1).mul(-1).sqrt)
    ones(1).mul(-1).sqrt()


def test_arrays_and_numbers_are_operands_too():
    with forward():
        (ones(2) * np.array([NAN, 1.0], np.float32)).sum()
        (ones(2) * np.float32(NAN)).sum()
        ones(2).add(1, alpha=NAN).sum()
        text = refusal(lambda: ones(2) * 0 / np.array([1.0, 0.0], np.float32))
    assert text.endswith("  input is 0 there\n  other is 0 there")


def test_the_error_leads_to_the_line():
    with forward(), pytest.raises(RuntimeError) as caught:
        ones(1).mul(-1).log()
    assert str(caught.traceback[0].statement).strip() == "ones(1).mul(-1).log()"


def test_results_are_the_same_under_the_check():
    def compute():
        x = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        base = x * x
        base[0].mul_(3)
        ((base @ x).softmax(0) * x.t()).exp().sum().backward()
        return x.grad.tolist()

    expected = compute()
    with forward(check_inf=True):
        assert compute() == expected


# --- backward ---------------------------------------------------------------------------


def test_the_first_bad_gradient_and_what_was_there():
    x = tensor([1.0, 0.0, 0.0], requires_grad=True)
    with set_detect_anomaly(True):
        total = (x.sqrt() * 0).sum()
        text = refusal(total.backward)
    assert text == (
        "Function 'SqrtBackward0' returned nan values in its 0th output.\n"
        "The first nan stands at [1] in this gradient, of shape [3].\n"
        "  the incoming gradient is 0 there\n"
        "  the saved 'result' is 0 there"
    )


def test_infinite_gradients():
    x = tensor([1.0, 0.0], requires_grad=True)
    with set_detect_anomaly(True, check_inf=True):
        text = refusal(x.sqrt().sum().backward)
    assert text.startswith("Function 'SqrtBackward0' returned infinite values in its 0th output.\n")
    assert "The first infinity stands at [1]" in text


def test_a_node_that_was_given_nan_is_said_to_be_no_culprit():
    x = ones(2, requires_grad=True)
    with set_detect_anomaly(True):
        text = refusal(lambda: (x * 2).backward(tensor([1.0, NAN])))
        assert text.endswith("The node is not the culprit: it received such a gradient.")
        total = (x * tensor([NAN, 1.0])).sum()
        text = refusal(total.backward)
    assert text.startswith("Function 'MulBackward0' returned nan values in its 0th output.\n")
    assert "  the saved 'other' is nan there\n" in text
    assert text.endswith("detect_anomaly(check_forward=True) finds the operation.")


def test_values_that_functions_save_and_hooks_pack():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, None, y)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * NAN, None

    x = ones(2, requires_grad=True)
    with set_detect_anomaly(True):
        text = refusal(Wrong.apply(x, zeros(3)).sum().backward)
        assert "  the saved 'saved_tensors[0]' is 1 there\n" in text
        assert text.endswith("  the saved 'saved_tensors[2]' has the shape [3] and lies between 0 and 0")
        with saved_tensors_hooks(lambda t: t, lambda t: pytest.fail("unpacked to be shown")):
            y = Wrong.apply(x, zeros(3)).sum()
        assert "saved_tensors" not in refusal(y.backward)


def test_nodes_of_several_outputs():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            return (g + h) * NAN

    x = ones(2, requires_grad=True)
    with set_detect_anomaly(True):
        first, second = Wrong.apply(x)
        text = refusal((first * second).sum().backward)
    assert "  the incoming gradient 0 is 2 there\n  the incoming gradient 1 is 1 there" in text
