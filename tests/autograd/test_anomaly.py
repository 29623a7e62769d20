"""Anomaly detection: where an error of backward comes from, and which node made the first NaN."""

import threading
import warnings

import pytest

import numgrad
from numgrad import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled, tensor
from numgrad.autograd import Function, detect_anomaly, grad, set_detect_anomaly

ENABLED = "Anomaly Detection has been enabled"


@pytest.fixture(autouse=True)
def off_as_before():
    assert not is_anomaly_enabled()
    yield
    left = is_anomaly_enabled()
    set_detect_anomaly(False)
    assert not left


@pytest.fixture
def x():
    return tensor([0.0, 1.0], requires_grad=True)


class Fails(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise ValueError("my own")


def the_culprit(x):
    return (x * 0).sqrt()  # infinite slope, times zero


# --- switching --------------------------------------------------------------------------


def test_detect_anomaly_warns_that_it_costs_time(x):
    with pytest.warns(UserWarning, match=ENABLED) as caught, detect_anomaly():
        assert is_anomaly_enabled()
    assert caught[0].filename == __file__
    assert not is_anomaly_enabled()


def test_set_detect_anomaly_as_a_context_manager_and_as_a_function():
    with set_detect_anomaly(True):
        assert is_anomaly_enabled()
        with set_detect_anomaly(False):
            assert not is_anomaly_enabled()
        assert is_anomaly_enabled()
    assert not is_anomaly_enabled()
    set_detect_anomaly(True)
    assert is_anomaly_enabled()
    set_detect_anomaly(False)
    assert not is_anomaly_enabled()


def test_it_ends_with_an_exception():
    with pytest.raises(ValueError, match="out"), set_detect_anomaly(True):
        raise ValueError("out")
    assert not is_anomaly_enabled()


def test_it_changes_no_result(x):
    def compute():
        y = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        base = y * y
        base[0].mul_(3)
        ((base @ y).softmax(0) * y.t()).exp().sum().backward(create_graph=True)
        first = y.grad.tolist()
        y.grad = None
        return first

    expected = compute()
    with set_detect_anomaly(True):
        assert compute() == expected


# --- NaN --------------------------------------------------------------------------------


def test_a_nan_names_the_node_that_made_it(x):
    with set_detect_anomaly(True):
        y = the_culprit(x)
        total = (y * 0).sum()
        with (
            pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
            pytest.raises(RuntimeError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output\."),
        ):
            total.backward()
    assert x.grad is None
    assert numgrad.is_grad_enabled()


def test_without_it_nan_goes_on(x):
    (the_culprit(x) * 0).sum().backward()
    assert all(g != g for g in x.grad.tolist())


@pytest.mark.parametrize("mode", [set_detect_anomaly, detect_anomaly])
def test_check_nan_can_be_left_out(x, mode):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = (True,) if mode is set_detect_anomaly else ()
        with mode(*arguments, check_nan=False):
            (the_culprit(x) * 0).sum().backward()
            assert all(g != g for g in x.grad.tolist())
    with set_detect_anomaly(True):  # the next one checks again
        total = (the_culprit(x) * 0).sum()
        with pytest.warns(UserWarning, match="SqrtBackward0"), pytest.raises(RuntimeError, match="nan values"):
            total.backward()


def test_which_of_several_outputs(x):
    other = tensor([1.0, 1.0], requires_grad=True)
    with set_detect_anomaly(True):
        total = (other.detach() * (x / x.detach() * other)).sum()  # 0 / 0
        with (
            pytest.warns(UserWarning, match="Error detected in MulBackward0"),
            pytest.raises(RuntimeError, match=r"Function 'MulBackward0' returned nan values in its 1th output"),
        ):
            total.backward()


def test_infinity_is_not_nan(x):
    with set_detect_anomaly(True):
        x.sqrt().sum().backward()
    assert x.grad.tolist() == [float("inf"), 0.5]


def test_a_nan_in_the_second_derivative(x):
    with set_detect_anomaly(True):
        (first,) = grad((x**1.5).sum(), x, create_graph=True)
        assert first.tolist() == [0.0, 1.5]
        total = (first * x.detach()).sum()
        with (
            pytest.warns(UserWarning, match="Error detected in|Previous calculation") as caught,
            pytest.raises(RuntimeError, match="nan values"),
        ):
            total.backward()
    assert "Error detected in PowBackward0. Traceback of forward call that caused" in str(caught[0].message)
    induced = str(caught[1].message)
    assert induced.startswith("\n\nPrevious calculation was induced by PowBackward0. Traceback of forward call that in")
    assert induced.rstrip().endswith("(first,) = grad((x**1.5).sum(), x, create_graph=True)")


# --- tracebacks -------------------------------------------------------------------------


def warned(call, error):
    """The warning that comes with an error."""
    with pytest.warns(UserWarning, match="Error detected in") as caught, pytest.raises(error):
        call()
    assert len(caught) == 1
    return str(caught[0].message)


@pytest.mark.parametrize(("make", "node"), [
    (the_culprit, "SqrtBackward0"),  # by the general way, which this mode takes
    (lambda x: the_culprit(x.expand(2, 2).t()), "SqrtBackward0"),
    (lambda x: (x * 0).sqrt_(), "SqrtBackward0"),
])
def test_the_warning_shows_the_forward_call(x, make, node):
    with set_detect_anomaly(True):
        total = (make(x) * 0).sum()
        text = warned(total.backward, RuntimeError)
    assert text.startswith(f"Error detected in {node}. Traceback of forward call that caused the error:\n")
    assert __file__ in text
    assert "in test_the_warning_shows_the_forward_call" in text
    assert "sqrt" in text.rstrip().splitlines()[-1]  # the user's line is last: those of the recorder are left out


def test_errors_of_functions_come_with_the_forward_call(x):
    def calls_it():
        return Fails.apply(x)

    with set_detect_anomaly(True):
        y = calls_it().sum()
        text = warned(y.backward, ValueError)
    assert "Error detected in FailsBackward. Traceback of forward call" in text
    assert "in calls_it" in text
    assert text.rstrip().splitlines()[-1].strip() == "return Fails.apply(x)"


def test_general_operations_and_modified_tensors(x):
    with set_detect_anomaly(True):
        y = x.view(1, 2) * 1
        total = (y @ y.t()).sum()
        y.add_(1)
        with (
            pytest.warns(UserWarning, match="Error detected in MmBackward0. Traceback of forward call"),
            pytest.raises(RuntimeError, match=r"modified by an inplace operation: .*Hint: the backtrace further above"),
        ):
            total.backward()


def test_without_a_forward_pass_in_the_mode_there_is_no_traceback(x):
    y = Fails.apply(x).sum()
    with set_detect_anomaly(True):
        text = warned(y.backward, ValueError)
    assert text.startswith("Error detected in FailsBackward. No forward pass information available.")


def test_without_the_mode_nothing_is_shown(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="my own"):
            Fails.apply(x).sum().backward()


def test_a_user_folder_may_be_called_numgrad(x, tmp_path):
    folder = tmp_path / "numgrad" / "tests"
    folder.mkdir(parents=True)
    script = folder / "numgrad_script.py"
    script.write_text("def forward(x):\n    return (x * 0).sqrt()\n", encoding="utf-8")
    names = {}
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), names)
    with set_detect_anomaly(True):
        total = (names["forward"](x) * 0).sum()
        text = warned(total.backward, RuntimeError)
    assert f'File "{script}", line 2, in forward' in text


def test_it_is_switched_on_and_off_for_good():
    set_anomaly_enabled(True, False)
    assert (is_anomaly_enabled(), is_anomaly_check_nan_enabled()) == (True, False)
    set_anomaly_enabled(True)
    assert (is_anomaly_enabled(), is_anomaly_check_nan_enabled()) == (True, True)
    set_anomaly_enabled(False)
    assert not is_anomaly_enabled()
    with pytest.raises(TypeError, match="must be bool, not int"):
        set_anomaly_enabled(1)
    assert not is_anomaly_enabled()


def test_each_thread_has_its_own(x):
    seen = []
    with set_detect_anomaly(True):
        thread = threading.Thread(target=lambda: seen.append(is_anomaly_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]


# --- with other modes -----------------------------------------------------------------


def test_the_end_of_a_block_leaves_the_other_modes_alone(x):
    with set_detect_anomaly(True):
        numgrad.set_grad_enabled(False)
    assert not numgrad.is_grad_enabled()
    numgrad.set_grad_enabled(True)
    switch = set_detect_anomaly(False)
    with numgrad.no_grad():
        with switch:
            pass
        assert not numgrad.is_grad_enabled()
    hooks = numgrad.autograd.graph.saved_tensors_hooks(lambda t: t * 3, lambda t: t)
    with set_detect_anomaly(True):
        hooks.__enter__()
    try:
        y = x * x.detach()
    finally:
        hooks.__exit__()
    assert y.grad_fn._saved_other.tolist() == (x * 3).tolist()


def test_the_look_for_nan_is_each_threads_own(x):
    entered, left = threading.Event(), threading.Event()

    def other():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with detect_anomaly(check_nan=False):
                entered.set()
                left.wait()

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait()
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = detect_anomaly()
    with mode:
        left.set()
        thread.join()
        assert is_anomaly_check_nan_enabled()
    assert is_anomaly_check_nan_enabled()


def test_the_modes_are_not_decorators(x):
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = detect_anomaly()
    for switch in (mode, set_detect_anomaly(False)):
        assert not callable(switch)


def test_a_place_is_warned_of_once(x):
    """Warnings are filtered as by default."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            with set_detect_anomaly(True), pytest.raises(RuntimeError, match="nan values"):
                (x * 0).sqrt().mul(0).sum().backward()
    assert len([w for w in caught if "Error detected in SqrtBackward0" in str(w.message)]) == 1


def test_the_sum_of_what_meets_belongs_to_the_node_that_sent_the_last():
    x = tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with detect_anomaly():
            gradient, = grad((x * x * x).sum(), x, create_graph=True)
    assert gradient.grad_fn.name() == "AddBackward0"
    assert gradient.grad_fn.metadata["parent_"].name() == "MulBackward0"
