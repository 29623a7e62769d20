"""Compiled programs as functions that Numba's own call: the same bits as from the functions themselves."""

import copy
import threading

import numba
import numpy as np
import pytest
from numba.core.errors import NumbaWarning

import numgrad
from numgrad import nn, optim
from numgrad.compiler import CaptureError
from numgrad.devices.cpu.blas import openblas
from numgrad.nn.functional import cross_entropy


@numba.njit
def repeated(step, x, y, times):
    loss = 0.0
    for _ in range(times):
        loss = step(x, y)[()]
    return loss


def network():
    numgrad.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    return model, numgrad.randn(64, 8), numgrad.randint(0, 4, (64,))


def training(model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


@pytest.mark.parametrize("make", [
    lambda parameters: optim.SGD(parameters, lr=0.1), lambda parameters: optim.Adam(parameters, lr=0.01),
])  # fmt: skip
def test_a_loop_of_training_steps_in_a_users_function(make):
    model, x, y = network()
    optimizer = make(model.parameters())
    step = numgrad.compile(training(model, optimizer)).njit(x, y)
    own = copy.deepcopy(model)
    own_optimizer = make(own.parameters())
    own_optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    own_step = training(own, own_optimizer)
    before = [parameter._version for parameter in model.parameters()]
    loss = repeated(step, x.numpy(), y.numpy(), 20)
    expected = [own_step(x, y) for _ in range(20)][-1]
    assert loss == expected.item()
    for parameter, other in zip(model.parameters(), own.parameters(), strict=True):
        assert numgrad.equal(parameter, other)
        assert numgrad.equal(parameter.grad, other.grad)
    assert [parameter._version for parameter in model.parameters()] == [version + 20 for version in before]
    for state, other in zip(optimizer.state.values(), own_optimizer.state.values(), strict=True):
        assert state.keys() == other.keys()
        assert all(state[name] is None or numgrad.equal(state[name], other[name]) for name in state)


def test_the_rate_of_an_optimizer_is_what_it_is_when_the_function_is_called():
    parameter = nn.Parameter(numgrad.zeros(3))
    optimizer = optim.SGD([parameter], lr=1.0)

    @numgrad.compile
    def step(gradient):
        parameter.grad = gradient.clone()
        optimizer.step()

    run = step.njit(numgrad.ones(3))
    parameter.data.zero_()
    assert run(np.ones(3, np.float32)) is None
    optimizer.param_groups[0]["lr"] = 0.5
    run(np.ones(3, np.float32))
    assert parameter.tolist() == [-1.5] * 3


def test_gradients_add_up_in_the_memory_that_they_have():
    model, x, y = network()
    step = numgrad.compile(lambda x, y: cross_entropy(model(x), y).backward()).njit(x, y)
    before = [parameter.grad.clone() for parameter in model.parameters()]
    step(x.numpy(), y.numpy())
    cross_entropy(model(x), y).backward()
    after = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    with pytest.raises(RuntimeError, match=r"changed since \(a gradient\): call njit"):
        step(x.numpy(), y.numpy())
    cross_entropy(model(x), y).backward()
    for parameter, first, last in zip(model.parameters(), before, after, strict=True):
        numgrad.testing.assert_close(last, first + 2 * parameter.grad)


def test_results_are_new_arrays_whatever_they_are_of():
    parameter = nn.Parameter(numgrad.tensor([1.0, 2.0, 3.0]))

    @numgrad.compile
    def f(x):
        y = x * parameter
        return x, y, [y, y.view(3, 1).expand(3, 2)], {"own": parameter, "empty": x[:0], "number": numgrad.tensor(5)}

    x = np.array([1, 0, 2], np.float32)
    run = f.njit(numgrad.ones(3))
    results = run(x)
    expected = [x, [1, 0, 6], [1, 0, 6], [[1, 1], [0, 0], [6, 6]], [1, 2, 3], [], 5]
    assert [result.tolist() for result in results] == [np.array(one).tolist() for one in expected]
    for one in results:
        one.fill(7)
    assert x.tolist() == [1, 0, 2]
    assert parameter.tolist() == [1, 2, 3]
    assert [tensor.tolist() for tensor in run(x)] == [np.array(one).tolist() for one in expected]


def test_products_that_blas_computes_on_several_threads():
    x, weight = numgrad.randn(300, 400), numgrad.randn(400, 500)
    run = numgrad.compile(lambda x: (x @ weight).relu()).njit(x)
    threads = None if openblas() is None else openblas().get_num_threads()
    assert (run(x.numpy()) == (x @ weight).relu().numpy()).all()
    assert threads is None or openblas().get_num_threads() == threads


def test_arguments_other_than_tensors_are_guarded():
    run = numgrad.compile(lambda x, power, *, scale: scale * x**power).njit(numgrad.ones(3), 2, scale=numgrad.ones(()))
    assert run(np.array([1, 2, 3], np.float32), np.array(10, np.float32)).tolist() == [10, 40, 90]


def test_arrays_lie_as_the_arguments_did():
    run = numgrad.compile(lambda x: x + 1).njit(numgrad.zeros(2, 3).t())
    assert run(np.zeros((2, 3), np.float32).T).tolist() == [[1, 1], [1, 1], [1, 1]]
    with pytest.raises(ValueError, match=r"argument 0 must be of shape \(3, 2\) and of strides \(4, 12\) in bytes"):
        run(np.zeros((3, 2), np.float32))
    run = numgrad.compile(lambda x: x + 1).njit(numgrad.zeros(1, 3))
    assert run(np.zeros((5, 3), np.float32)[::5]).tolist() == [[1, 1, 1]]
    for wrong in (np.zeros((3, 1), np.float32), np.zeros((1, 6), np.float32)[:, ::2]):
        with pytest.raises(ValueError, match=r"argument 0 must be of shape \(1, 3\) and contiguous"):
            run(wrong)
    with pytest.raises(TypeError, match="float64"):
        run(np.zeros((1, 3)))


def test_arguments_that_are_changed():
    @numgrad.compile
    def add_to(x, y):
        x.add_(y)

    run = add_to.njit(numgrad.zeros(3), numgrad.zeros(3))
    x, y = np.zeros(3, np.float32), np.ones(3, np.float32)
    y.flags.writeable = False
    run(x, y)
    run(x, y)
    assert x.tolist() == [2, 2, 2]
    memory = np.zeros(5, np.float32)
    with pytest.raises(ValueError, match="argument 0 is changed and must not overlap argument 1"):
        run(memory[:3], memory[2:])
    with pytest.raises(TypeError):
        run(y, x)  # read-only memory


def test_values_that_the_function_refuses_are_refused_in_its_words():
    model, x, y = network()
    optimizer = optim.Adam(model.parameters())
    step = numgrad.compile(training(model, optimizer)).njit(x, y)
    wrong = y.numpy().copy()
    wrong[5] = 4
    state, before = optimizer.state[model[0].weight], model[0].weight.detach().clone()
    steps = state["step"].item()
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        repeated(step, x.numpy(), wrong, 1)
    assert numgrad.equal(model[0].weight, before)
    assert state["step"] == steps
    repeated(step, x.numpy(), y.numpy(), 1)
    assert state["step"] == steps + 1


def test_captured_values_are_guarded():
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout())
    run = numgrad.compile(lambda x: model(x)).njit(numgrad.ones(3))
    model.eval()
    with pytest.raises(RuntimeError, match=r"changed since \(model.*training.*\): call njit"):
        run(np.ones(3, np.float32))


@pytest.mark.parametrize(("function", "reason"), [
    (lambda x: x.sum().item(), r"item\(\) needs values"),
    (lambda x: numgrad.histc(x.detach(), 4, 0, 1), "histc is computed by histogram, which is called from Python"),
    (lambda x: (x.sum(), 3), "returns a int"),
    (lambda x: x.sum().backward(), "sets the gradient of an argument"),
])
def test_programs_that_need_python_are_refused(function, reason):
    x = numgrad.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(CaptureError, match=f"cannot be a program by itself: (.|\n)*{reason}"):
        numgrad.compile(function).njit(x)


def test_arguments_that_are_refused():
    f = numgrad.compile(lambda x, y: x + y)
    x = numgrad.ones(3)
    with pytest.raises(CaptureError, match="arguments share memory"):
        f.njit(x, x)
    with pytest.raises(CaptureError, match=r"an argument of shape \[3\] has a graph: detach\(\) it"):
        f.njit(x, nn.Parameter(numgrad.ones(3)) * 2)


def test_a_function_runs_in_one_thread_at_a_time():
    run = numgrad.compile(lambda x: x.sin().sum()).njit(numgrad.ones(1 << 21))

    @numba.njit(nogil=True)
    def often(x, times):
        for _ in range(times):
            run(x)

    found = []

    def call():
        try:
            often(np.ones(1 << 21, np.float32), 50)
        except RuntimeError as error:
            found.append(str(error))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {"the function is running in another thread: create one function per thread with njit()"}
    assert run(np.ones(1 << 21, np.float32)) == numgrad.ones(1 << 21).sin().sum()


def test_machine_code_with_addresses_in_it_is_not_kept_on_disk(tmp_path):
    file = tmp_path / "users.py"
    file.write_text("import numba\n\n@numba.njit(cache=True)\ndef f(x):\n    return run(x) + 1\n")
    names = {"__file__": str(file), "__name__": "users", "run": numgrad.compile(lambda x: x * 2).njit(numgrad.ones(3))}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.warns(NumbaWarning, match="dynamic globals"):
        assert names["f"](np.ones(3, np.float32)).tolist() == [3, 3, 3]
    assert list(tmp_path.rglob("*.nbc")) == []


@pytest.mark.parametrize("make", [lambda program, x: program.njit(x), lambda program, x: program.save("never", x)])
def test_programs_are_not_made_while_another_is_recorded(make):
    inner = numgrad.compile(lambda x: x + 1)
    x, found = numgrad.ones(2), []

    @numgrad.compile
    def outer(x):
        with pytest.raises(CaptureError, match="cannot be called inside transforms, profilers or other programs"):
            make(inner, x)
        return x * 2

    # if it waited for the recording to end, it would wait forever
    thread = threading.Thread(target=lambda: found.append(outer(x)), daemon=True)
    thread.start()
    thread.join(60)
    assert [tensor.tolist() for tensor in found] == [[2, 2]]
