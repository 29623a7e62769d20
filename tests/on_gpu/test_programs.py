"""Compiled programs on a GPU: a list of launches, which gives the bits of the program itself."""

import re

import numpy as np
import pytest
from on_gpu.comparison import ON_THE_CPU, on_device
from programs import test_operations
from programs.comparison import program_of, replays

import numgrad
from numgrad import nn, optim
from numgrad.compiler import CaptureError
from numgrad.devices import launches
from numgrad.nn.functional import cross_entropy, dropout
from numgrad.ops.table.op import ops

pytestmark = pytest.mark.usefixtures("cuda")


@pytest.fixture(autouse=True)
def deterministic():
    """Sums in which threads add in an order of their own have other bits each time."""
    numgrad.use_deterministic_algorithms(True)
    yield
    numgrad.use_deterministic_algorithms(False)


def made(*shape, seed=0):
    """A tensor on the GPU."""
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return numgrad.tensor(values, device="cuda")


def bits(tensor):
    return None if tensor is None else (tensor.device, tensor.stride(), tensor.detach().cpu().numpy().tobytes())


def compare(program, *shapes, calls=3):
    """Compile a program, compare each call with the program itself, and return the compiled function."""
    compiled = numgrad.compile(program, fullgraph=True)
    for seed in range(calls):
        found = compiled(*[made(*shape, seed=seed) for shape in shapes])
        assert bits(found) == bits(program(*[made(*shape, seed=seed) for shape in shapes]))
    assert replays(compiled) == [1]
    return compiled


# -- replays -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [
    lambda x: (x * 2 + 1).tanh().sum(),
    lambda x: x.softmax(-1).mean(0),
    lambda x: nn.functional.layer_norm(x, (8,)),
    lambda x: x @ x.t(),
    lambda x: numgrad.cat([x[1:], x[:1], numgrad.zeros(2, 8, device="cuda")]),
    lambda x: numgrad.full((3, 8), 2.0, device="cuda").mul_(x[0]),
    lambda x: x + numgrad.tensor([0.5] * 8, device="cuda"),
    lambda x: x.sort(dim=1)[1][:, 2:5],
    lambda x: x.clone().t(),
])
def test_results_are_those_of_the_program(program):
    compare(program, (5, 8))


def chain(x, y):
    z = (x * y + 1.5).abs() + 0.25
    return (z * x - y) * z + x.tanh()


def squares_by_rows(x, weight):
    x = x.detach().requires_grad_()
    d = x - x.mean(1, keepdim=True)
    normal = d / ((d * d).mean(1, keepdim=True) + 1e-5).sqrt() * weight
    return numgrad.autograd.grad(normal.square().sum(), x)[0]


def in_place(x, y):
    x.mul_(0.9).add_(y, alpha=0.1)
    y.sub_(0.01 * x / (x.abs().sqrt() + 1e-8))
    return (x * 2).sum() + y[0] + (x > y).sum()


MERGED = [  # with the numbers of launches before and after
    (chain, ((5, 8), (5, 8)), 9, 1),
    (chain, ((5, 8), (8,)), 9, 1),
    (chain, ((130, 128), (130, 128)), 9, 1),  # four elements at a time
    (lambda x, y: chain(x.t(), y), ((5, 8), (8, 5)), 9, 1),
    (squares_by_rows, ((6, 8), (8,)), 24, 14),
    (in_place, ((30,), (30,)), 14, 5),
]


@pytest.mark.parametrize(("function", "shapes", "before", "after"), MERGED)
def test_merged_kernels_give_the_same_bits(function, shapes, before, after):
    def arguments(seed):
        return [made(*shape, seed=seed + number) for number, shape in enumerate(shapes)]

    compiled = numgrad.compile(function, fullgraph=True)
    for seed in (0, 1):
        compiled(*arguments(seed))
    program = program_of(compiled)
    assert sum(map(len, program.plan.steps)) == before
    program.improve()
    assert sum(map(len, program.plan.steps)) == after
    ours, theirs = arguments(2), arguments(2)
    assert bits(compiled(*ours)) == bits(function(*theirs))
    assert list(map(bits, ours)) == list(map(bits, theirs))


def test_results_are_new_and_launches_are_reported():
    names = []

    @numgrad.compile(fullgraph=True)
    def f(x):
        return x * 2, {"sum": x.sum()}

    first, second = f(made(5)), f(made(5, seed=1))
    kept, x = bits(second[0]), made(5, seed=2)
    with launches.listening(lambda launch: names.append(launch.name)):
        third = f(x)
    assert len(names) == 2
    assert replays(f) == [1]
    assert bits(second[0]) == kept == bits(made(5, seed=1) * 2)
    assert len({first[0].data_ptr(), second[0].data_ptr(), third[0].data_ptr()}) == 3


def test_arguments_may_begin_anywhere_in_their_memory():
    compiled = numgrad.compile(lambda x: x.exp(), fullgraph=True)
    memory = made(40000)
    for begin in (16, 0, 4, 1, 3):  # from 16384 elements on kernels read four at once, where a row begins as they need
        assert bits(compiled(memory[begin : begin + 20000])) == bits(memory[begin : begin + 20000].exp())
    assert replays(compiled) == [2]


def test_views_share_memory_and_changes_in_place_are_made():
    @numgrad.compile(fullgraph=True)
    def f(x, total):
        part = x[1:3]
        part.mul_(2)
        total += x.sum()
        return part

    x, total = made(4, 3), made(1)
    y, other = x.clone(), total.clone()
    for _ in range(3):
        part = f(x, total)
        y[1:3] *= 2
        other += y.sum()
        assert part.data_ptr() == x.data_ptr() + 12
        assert bits(x) == bits(y)
        assert bits(total) == bits(other)
    versions = x._version, total._version
    f(x, total)
    assert (x._version, total._version) == (versions[0] + 1, versions[1] + 1)


def test_memory_that_is_written_is_not_taken_for_other_memory():
    @numgrad.compile(fullgraph=True)
    def f(x, y):
        x.add_(1)
        return y * 2

    memory = made(12)
    for x, y in ((made(4), made(4)), (memory[0:4], memory[4:8]), (memory[0:4], memory[2:6]), (made(4), made(4))):
        own = y.clone()
        own[:2] += 2 * (y.data_ptr() - x.data_ptr() == 8) * 0.5
        assert bits(f(x, y)) == bits(own * 2)


def test_constants_are_kept_and_changed_tensors_begin_with_their_values():
    @numgrad.compile(fullgraph=True)
    def f(x):
        counted = numgrad.arange(5, device="cuda")
        counted += 1
        return x * counted

    for seed in range(3):
        assert bits(f(made(5, seed=seed))) == bits(made(5, seed=seed) * numgrad.arange(1, 6, device="cuda"))


# -- backward ----------------------------------------------------------------------------------------------------


def test_backward_is_a_program():
    weight = made(4, 3).requires_grad_()

    def f(x):
        return (x @ weight).tanh() * x.sum()

    compiled = numgrad.compile(f, fullgraph=True)
    given = made(60)
    for seed, begin in enumerate((0, 4, 1, 2)):  # gradients may begin anywhere, too
        found = []
        for function in (compiled, f):
            x = made(5, 4, seed=seed).requires_grad_()
            weight.grad = None
            y = function(x)
            y.backward(given[begin : begin + 15].view(5, 3))
            found.append([bits(one) for one in (y, x.grad, weight.grad)])
        assert found[0] == found[1]
    text = str(numgrad.compiler.explain(compiled))
    assert re.search(r"1 program\n.*\n  program: \d launches, backward \d launches", text)


def test_backward_finds_results_where_they_lie_in_each_call():
    def f(x):
        return x.exp()[1:], x.tanh()

    compiled = numgrad.compile(f, fullgraph=True)
    for seed in range(3):
        grads = []
        for function in (compiled, f):
            x = made(5, seed=seed).requires_grad_()
            first, second = function(x)
            (first.sum() + second.sum()).backward()
            grads.append(bits(x.grad))
        assert grads[0] == grads[1]


@pytest.mark.parametrize("make", [
    lambda parameters: optim.SGD(parameters, lr=0.1),
    lambda parameters: optim.SGD(parameters, lr=0.1, momentum=0.9),
    lambda parameters: optim.Adam(parameters, lr=0.1),
    lambda parameters: optim.Adam(parameters, lr=0.1, foreach=False, amsgrad=True),
], ids=["sgd", "momentum", "adam", "amsgrad"])
def test_a_training_step_is_one_program(make):
    target = numgrad.tensor([0, 1, 2, 0, 1, 2], device="cuda")
    states = []
    for wrap in (lambda step: step, numgrad.compile(fullgraph=True)):
        numgrad.manual_seed(0)
        layers = nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Dropout(0.4), nn.Linear(8, 3)
        model = nn.Sequential(*layers).to("cuda")
        optimizer = make(model.parameters())

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()
            return loss.detach()

        wrapped, seen = wrap(step), []
        for number in range(6):
            optimizer.param_groups[0]["lr"] = 0.1 / (1 + number)
            function = step if number == 4 else wrapped  # between replays it may run as it is
            seen += [
                bits(function(made(6, 4, seed=number))), *[bits(parameter.grad) for parameter in model.parameters()]
            ]
        kept = [one for state in optimizer.state.values() for one in state.values() if numgrad.is_tensor(one)]
        seen += [bits(one) for one in (*model.parameters(), *kept)]
        states.append([*seen, bits(numgrad.rand(3, device="cuda"))])
    assert states[0] == states[1]
    assert replays(wrapped) == [1]


def test_a_step_on_new_gradients_is_one_program():
    states = []
    for wrap in (lambda step: step, numgrad.compile(fullgraph=True)):
        weight = nn.Parameter(made(4, 3, seed=0))
        optimizer = optim.SGD([weight], lr=0.1, momentum=0.9)

        def update(weight=weight, optimizer=optimizer):
            weight.grad.mul_(0.5)
            optimizer.step()

        step = wrap(update)
        for number in range(6):
            weight.grad = made(4, 3, seed=number)
            step()
        states.append([bits(weight), bits(weight.grad)])
    assert states[0] == states[1]
    assert replays(step) == [2]  # one for certain gradients, one for all


# -- random numbers ----------------------------------------------------------------------------------------------


def test_random_numbers_go_on():
    def f(x):
        return dropout(x, 0.5) + numgrad.randn(7, device="cuda")

    compiled, states = numgrad.compile(f, fullgraph=True), []
    for function in (compiled, f):
        numgrad.cuda.manual_seed(3)
        states.append([bits(function(made(7))) for _ in range(4)])
        numgrad.cuda.manual_seed(5)
        states[-1] += [bits(function(made(7))) for _ in range(2)]
        states[-1].append(numgrad.cuda.get_rng_state().tolist())
    assert states[0] == states[1]
    assert len(set(states[0][:4])) == 4


def test_a_generator_that_is_found_is_looked_for_anew():
    found = {"generator": numgrad.Generator("cuda").manual_seed(1)}

    @numgrad.compile(fullgraph=True)
    def f():
        return numgrad.rand(3, device="cuda", generator=found["generator"])

    for _ in range(2):
        f()
    found["generator"] = numgrad.Generator("cuda").manual_seed(2)
    assert bits(f()) == bits(numgrad.rand(3, device="cuda", generator=numgrad.Generator("cuda").manual_seed(2)))


# -- reported errors, and calls that are not recorded ------------------------------------------------------------


def test_an_index_outside_is_reported_when_the_gpu_is_waited_for():
    compiled = numgrad.compile(lambda x, index: x[index], fullgraph=True)
    x, index = made(4), numgrad.tensor([1, 3], device="cuda")
    for _ in range(2):
        assert bits(compiled(x, index)) == bits(x[index])
    compiled(x, index + 1)
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension with size 4"):
        numgrad.cuda.synchronize()
    assert bits(compiled(x, index)) == bits(x[index])


def foreign(x):
    class Exported:
        __cuda_array_interface__ = x.__cuda_array_interface__

    return numgrad.as_tensor(Exported())


@pytest.mark.parametrize(("program", "why"), [
    (lambda x: x * x.sum().item(), "needs values"),
    (lambda x: x.cpu(), "needs values"),
    (lambda x: x * numgrad.ones(()), "needs values"),
    (lambda x: x[x > 0], "needs values"),
    (lambda x: (x * 2, numgrad.ones(3) * 2), "two devices"),
    (lambda x: (x * 2, numgrad.zeros(3)), "another device"),
    (lambda x: numgrad.cuda.synchronize() or x * 2, "waiting for a GPU"),
    (lambda x: x.__cuda_array_interface__ and x * 2, "another library"),
    (lambda x: numgrad.cuda.Event().record() or x * 2, "streams and events"),
    (lambda x: numgrad.cuda.manual_seed(0) or x * 2, "seeding a generator"),
    (lambda x: foreign(x) * 2, "another library"),
])
def test_reasons_against_recording_are_reported(program, why):
    with pytest.raises(CaptureError, match=why):
        numgrad.compile(program, fullgraph=True)(made(5))
    compiled = numgrad.compile(program)
    with pytest.warns(UserWarning, match="cannot be compiled as a whole"):
        compiled(made(5))
    compiled(made(5))
    assert replays(compiled) == [0]


def test_memory_of_other_libraries_and_other_devices_is_refused():
    x = made(5)
    with pytest.raises(CaptureError, match="another library"):
        numgrad.compile(lambda y: y * 2, fullgraph=True)(foreign(x))
    host = numgrad.ones(5)
    with pytest.raises(CaptureError, match="two devices"):
        numgrad.compile(lambda y, z: y + z.to("cuda"), fullgraph=True)(x, host)


def test_programs_of_a_gpu_are_none_by_themselves():
    with pytest.raises(CaptureError, match="cannot be a program by itself"):
        numgrad.compile(lambda x: x * 2).njit(made(3))


def test_steps_are_shown():
    compiled = compare(lambda x: (x.exp() + 1).sum(), (5, 3))
    (program,) = numgrad.inspect(compiled).programs
    assert program.times is None
    assert [step.name for step in program.steps][:2] == ["exp", "add"]
    assert [buffer.name for buffer in program.steps[0].reads] == ["x"]
    assert [buffer.kind for buffer in program.steps[0].writes] == ["temporary"]
    assert numgrad.inspect(compiled)._repr_html_()


# -- every operation ---------------------------------------------------------------------------------------------

#: Operations that the host computes, with elements that it reads from the GPU, or that are given a number from there.
READ = {"masked_fill_tensor", *[name for name, op in ops.items() if op.host is not None]}

#: Sums in which threads add in any order, so that the last bits vary.
IN_ANY_ORDER = {"grid_sampler_op", "weighted_gather", "weighted_products"}

#: A layout of each operation is enough here: the others differ in the arguments of kernels.
CASES = [
    case for case in test_operations.REPLAYED
    if case.layout == "contiguous" and case.op.name not in {*ON_THE_CPU, *READ, *IN_ANY_ORDER}
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bits_are_those_of_the_program_itself(case):
    program = test_operations.program_of(case)
    compiled = numgrad.compile(program, fullgraph=True)
    for reversed_order in (False, True, False):
        found, expected = (
            function(*map(on_device, test_operations.leaves_of(case, reversed_order)))
            for function in (compiled, program)
        )
        for ours, others in zip(found, expected, strict=True):
            assert [*map(bits, ours)] == [*map(bits, others)]
    assert replays(compiled) == [1]
