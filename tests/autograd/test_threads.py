"""Several threads recording and running backward at once."""

import _thread
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import numgrad
from numgrad import ones, tensor
from numgrad.autograd import Function, grad


@pytest.fixture(autouse=True)
def frequent_switches():
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(count, work):
    """Call ``work(number)`` in ``count`` threads that start at once; errors come through."""
    start, errors = threading.Barrier(count), []

    def target(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=target, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_separate_graphs():
    def work(number):
        for turn in range(30):
            x = numgrad.full((8,), 0.5 + number, dtype=numgrad.float64).requires_grad_()
            y = x
            for _ in range(10):
                y = (y * x).tanh() + x
            z = numgrad.from_numpy(np.full(8, 0.5 + number)).requires_grad_()
            w = z
            for _ in range(10):
                w = (w * z).tanh() + z
            (first,) = grad(y.sum(), x, create_graph=bool(turn % 2))
            w.sum().backward()
            assert first.tolist() == z.grad.tolist()
            results[number].add(tuple(first.tolist()))

    results = [set(), set()]
    together(2, work)
    assert [len(r) for r in results] == [1, 1]
    assert results[0] != results[1]


@pytest.mark.parametrize("count", [2, 4])
def test_graphs_that_share_leaves(count):
    for _ in range(20):
        x, w = ones(16, requires_grad=True), numgrad.full((16,), 2.0, requires_grad=True)

        def work(number, x=x, w=w):
            for _ in range(3):
                y = (x * w + w * 3).sum()  # x: w; w: x + 3
                if number % 2:
                    y.backward()
                else:
                    y.backward(inputs=[x, w])

        together(count, work)
        assert x.grad.tolist() == [6.0 * count] * 16
        assert w.grad.tolist() == [12.0 * count] * 16


def test_the_first_gradients_of_a_leaf_come_at_once():
    for _ in range(300):
        x = ones(2, requires_grad=True)
        together(4, lambda number, x=x: x.sum().backward())
        assert x.grad.tolist() == [4.0, 4.0]


def test_grad_of_shared_leaves():
    x = ones(16, requires_grad=True)
    w = numgrad.full((16,), 2.0, requires_grad=True)

    def work(number):
        for turn in range(30):
            gradients = grad((x * w * (number + 1)).sum(), [x, w], create_graph=turn % 3 == 0)
            assert gradients[0].tolist() == [2.0 * (number + 1)] * 16
            assert gradients[1].tolist() == [1.0 * (number + 1)] * 16

    together(4, work)
    assert x.grad is None


def test_one_graph_kept_by_several_threads():
    for _ in range(20):
        x = ones(4, requires_grad=True)
        y = (x * x * 3).sum()
        together(4, lambda number, y=y: y.backward(retain_graph=True))
        assert x.grad.tolist() == [24.0] * 4


def test_a_graph_recorded_in_one_thread_and_run_in_another():
    x = ones(4, requires_grad=True)
    results = []
    together(1, lambda number: results.append((x * 5).exp()))
    results[0].sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [5 * np.exp(5.0)] * 4, rtol=1e-6)


def test_a_graph_of_several_threads_is_gone_through_in_order():
    # Numbers of nodes come from all threads; a later node must still be the later one.
    for _ in range(20):
        x = ones(3, requires_grad=True)
        lock, value = threading.Lock(), [x * 1.0]

        def work(number, lock=lock, value=value):
            for _ in range(10):
                with lock:
                    value[0] = value[0] + value[0] * 0.5

        together(3, work)
        value[0].sum().backward()
        np.testing.assert_allclose(x.grad.tolist(), [1.5**30] * 3, rtol=1e-4)


def test_backward_runs_in_the_mode_of_its_own_thread():
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append((threading.get_ident(), numgrad.is_grad_enabled()))
            return g

    x = ones(2, requires_grad=True)
    modes = {}

    def work(number):
        if number:
            numgrad.set_grad_enabled(False)
        with numgrad.enable_grad():
            y = Look.apply(x).sum()
        for turn in range(10):
            grad(y, x, retain_graph=True, create_graph=turn % 2 == 1)
        modes[threading.get_ident()] = numgrad.is_grad_enabled(), number

    together(2, work)
    assert {mode == (number == 0) for mode, number in modes.values()} == {True}
    for thread in modes:
        assert [mode for ident, mode in seen if ident == thread] == [False, True] * 5
    assert numgrad.is_grad_enabled()


def test_an_error_in_one_thread_leaves_the_other_alone():
    outcomes = {}

    def work(number):
        x = tensor([1.0, 2.0], requires_grad=True)
        for _ in range(50):
            y = x * 1
            total = (y * y).sum()
            if number:
                y.add_(1)
            try:
                total.backward()
            except RuntimeError:
                continue
        outcomes[number] = x.grad

    together(2, work)
    assert outcomes[0].tolist() == [100.0, 200.0]
    assert outcomes[1] is None


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (_,) = ctx.saved_tensors
        return g * 2


def every_kind_of_node(x):
    y = Doubled.apply((x * x).tanh() + x)
    y = (y.view(2, 2) @ x.view(2, 2)).softmax(1).t().reshape(4) * 1
    y[:2].mul_(x[:2])
    first, second = y.split(2)
    y = numgrad.cat([second, first]).expand(3, 4).sum(0)
    return (numgrad.where(y > 0, y, x) + y.max()).sum()


def test_a_graph_that_is_not_kept_serves_one_thread_and_raises_in_the_others():
    for _ in range(50):
        x = numgrad.rand(4).requires_grad_()
        total = every_kind_of_node(x)
        (expected,) = grad(total, x, retain_graph=True)
        outcomes = []

        def work(number, total=total, x=x, outcomes=outcomes):
            try:
                outcomes.append(grad(total, x)[0].tolist())
            except RuntimeError as error:
                outcomes.append(str(error)[:47])

        together(4, work)
        assert len(outcomes) == 4
        others = [outcome for outcome in outcomes if outcome != expected.tolist()]
        assert set(others) <= {"Trying to backward through the graph a second t"}


def test_a_kept_gradient_of_a_result_is_added_up():
    x = ones(1000, requires_grad=True)
    y = x * 2
    y.retain_grad()
    total = y.sum()
    together(8, lambda number: [total.backward(retain_graph=True) for _ in range(5)])
    assert y.grad.tolist() == [40.0] * 1000
    assert x.grad.tolist() == [80.0] * 1000


def test_a_view_of_a_changed_base_is_brought_up_to_date_once_for_all():
    for _ in range(50):
        x = ones(4, requires_grad=True)
        base = x * 1
        view = base[:2]
        base.mul_(5)
        found = [None] * 4

        def work(number, x=x, view=view, found=found):
            found[number] = grad(view.sum(), x, retain_graph=True)[0].tolist()

        together(4, work)
        assert found == [[5.0, 5.0, 0.0, 0.0]] * 4


def test_hooks_and_callbacks_run_in_the_thread_that_called():
    x = ones(2, requires_grad=True)
    y = x * 2
    seen = []

    def look(gradient):
        threads = [threading.get_ident()]
        numgrad.autograd.Variable._execution_engine.queue_callback(
            lambda: seen.append([*threads, threading.get_ident()])
        )

    y.register_hook(look)
    together(3, lambda number: grad(y.sum(), x, retain_graph=True))
    assert len(seen) == 3
    for thread, of_callback in seen:
        assert thread == of_callback != threading.get_ident()


FIRST_USE = """
import sys, threading
sys.setswitchinterval(1e-6)
import numgrad
results = []
start = threading.Barrier(4)
def work():
    start.wait()
    x = numgrad.full((5,), 0.5, dtype=numgrad.float64).requires_grad_()
    ((x * 3).tanh() / x).sum().backward()
    results.append(tuple(x.grad.tolist()))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(results), len(set(results)), results[0][0])
"""


def test_a_thread_may_begin_with_backward_itself():
    """The program has no frame in that thread, so messages cannot name the line that began the pass."""
    x, done = tensor([1.0, 2.0], requires_grad=True), threading.Event()
    x.register_post_accumulate_grad_hook(lambda leaf: done.set())
    _thread.start_new_thread(numgrad.autograd.backward, ((x * x).sum(),))
    assert done.wait(10)
    assert x.grad.tolist() == [2, 4]


def test_kernels_used_for_the_first_time_by_several_threads(tmp_path):
    environment = {**os.environ, "NUMGRAD_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", FIRST_USE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, different, value = done.stdout.split()
    assert (count, different) == ("4", "1")
    x = 0.5
    expected = 3 * (1 - np.tanh(3 * x) ** 2) / x - np.tanh(3 * x) / x**2
    assert float(value) == pytest.approx(expected, rel=1e-12)
