"""Optimizers on a GPU: their steps against the CPU's, in one launch for all parameters of a dtype."""

import copy

import numpy as np
import pytest

import numgrad
from numgrad import from_numpy, optim, tensor
from numgrad.devices.launches import listening
from numgrad.nn.utils import clip_grad_norm_, clip_grad_value_

pytestmark = pytest.mark.usefixtures("cuda")

CASES = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.2}),
    ("SGD", {"momentum": 0.7, "nesterov": True, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.4, 0.6), "eps": 0.1, "weight_decay": 0.2, "amsgrad": True}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.5, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"alpha": 0.6, "weight_decay": 0.2, "momentum": 0.5, "centered": True, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.3, "weight_decay": 0.2, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {"rho": 0.7, "weight_decay": 0.2, "maximize": True}),
    ("Adamax", {"betas": (0.4, 0.6), "weight_decay": 0.2, "maximize": True}),
    ("NAdam", {"betas": (0.4, 0.6), "weight_decay": 0.2, "maximize": True}),
    ("RAdam", {"betas": (0.4, 0.99), "weight_decay": 0.2, "decoupled_weight_decay": True}),
    ("ASGD", {"lambd": 0.1, "t0": 0.5, "weight_decay": 0.2, "maximize": True}),
    ("Rprop", {"step_sizes": (0.005, 0.3), "maximize": True}),
]

#: What is kept as one number, on the CPU.
SCALARS = ("step", "mu_product", "eta", "mu")


def on_host(param):
    return param.detach().cpu().numpy()


def trained(device, name, options, arrays, grads):
    """Parameters after a step for each of the gradients, and the optimizer."""
    params = [tensor(array, device=device, requires_grad=True) for array in arrays]
    optimizer = getattr(optim, name)(params, **options)
    for step in grads:
        for param, grad in zip(params, step, strict=True):
            param.grad = tensor(grad, device=device)
        optimizer.step()
    return params, optimizer


@pytest.fixture(scope="module")
def data(size):
    """Parameters of sizes around those of blocks and of vectors of four, and gradients for three steps."""
    random = np.random.default_rng(0)
    shapes = [(3, 5), (1,), (0,), size((41, 53), (700, 1201))]  # the last one is more than a block
    arrays = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    return arrays, [[random.normal(size=shape).astype(np.float32) for shape in shapes] for _ in range(2)]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_steps_are_the_cpus(data, name, options):
    found, optimizer = trained("cuda", name, options, *data)
    expected, other = trained("cpu", name, options, *data)
    for param, like in zip(found, expected, strict=True):
        assert param.is_cuda
        np.testing.assert_allclose(on_host(param), on_host(like), rtol=1e-5, atol=1e-6)
    states, others = optimizer.state_dict()["state"], other.state_dict()["state"]
    assert states.keys() == others.keys()
    for number, kept in states.items():
        assert kept.keys() == others[number].keys()
        assert all(value.is_cuda != (key in SCALARS) for key, value in kept.items())
        assert "step" in kept or name == "SGD"


@pytest.mark.parametrize("name", ["LBFGS", "Adafactor", "Muon"])
def test_optimizers_of_many_operations(name):
    found = []
    for device in ("cuda", "cpu"):
        start = numgrad.arange(6.0).reshape(2, 3)
        param = (start / 6 - 0.4).to(device).requires_grad_()
        optimizer = getattr(optim, name)([param], lr=0.1, **({"max_iter": 3} if name == "LBFGS" else {}))

        def closure(param=param, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (param**4 - param).sum()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(2)]
        assert losses[1] < losses[0]
        found.append(on_host(param))
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
def test_other_dtypes(dtype):
    random = np.random.default_rng(1)
    imaginary = dtype(1j if dtype == np.complex64 else 0)
    arrays, *grads = ([random.normal(size=7).astype(dtype) + imaginary] for _ in range(3))
    (found,), _ = trained("cuda", "Adam", {"lr": 0.1}, arrays, grads)
    (expected,), _ = trained("cpu", "Adam", {"lr": 0.1}, arrays, grads)
    np.testing.assert_allclose(on_host(found), on_host(expected), rtol=1e-12 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("layout", ["transposed", "at odd addresses", "with gaps", "gradients transposed"])
def test_layouts(layout):
    """Parameters and gradients in layouts that the kernel cannot take, or not four elements at a time."""

    def step(device):
        values = from_numpy(np.arange(60, dtype=np.float32)).to(device)
        param = {
            "transposed": lambda: values.reshape(6, 10).t(),
            "at odd addresses": lambda: values[1:31],
            "with gaps": lambda: values.reshape(6, 10)[:, ::3],
            "gradients transposed": lambda: values.reshape(6, 10),
        }[layout]()
        param.requires_grad_()
        grad = numgrad.ones(param.shape, device=device).cumsum(0)
        param.grad = grad.t().contiguous().t() if "gradients" in layout else grad
        optimizer = optim.Adam([param], lr=0.5)
        optimizer.step()
        optimizer.step()
        return on_host(values.detach())

    np.testing.assert_allclose(step("cuda"), step("cpu"), rtol=1e-5)


def test_one_launch_for_all_parameters():
    runs = []
    params = [numgrad.ones(size, device="cuda", requires_grad=True) for size in (3, 4, 5)]
    optimizer = optim.SGD([{"params": params[:2], "lr": 1.0}, {"params": params[2:], "lr": 0.5}])
    for param in params:
        param.grad = numgrad.ones_like(param)
    with listening(runs.append):
        optimizer.step()
    assert [run.name for run in runs] == ["sgd"]
    assert [param.tolist()[0] for param in params] == [0.0, 0.0, 0.5]
    optimizer.param_groups[1]["lr"] = 0.25  # which must reach the table on the GPU
    optimizer.step()
    assert [param.tolist()[0] for param in params] == [-1.0, -1.0, 0.25]
    params[0].grad = None
    optimizer.step()
    assert [param.tolist()[0] for param in params] == [-1.0, -2.0, 0.0]


def test_gradients_that_move_are_found():
    param = numgrad.zeros(3, device="cuda", requires_grad=True)
    optimizer = optim.SGD([param], lr=1.0)
    kept = []
    for _ in range(3):
        param.grad = numgrad.ones(3, device="cuda")
        kept.append(param.grad)
        optimizer.step()
    assert param.tolist() == [-3.0] * 3


def test_zero_grad():
    param = numgrad.ones(3, device="cuda", requires_grad=True)
    optimizer = optim.SGD([param])
    (param * 2).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert param.grad.tolist() == [0.0] * 3
    optimizer.zero_grad()
    assert param.grad is None


@pytest.mark.parametrize("foreach", [None, True])
def test_clipping(foreach):
    params = [numgrad.zeros(size, device="cuda", requires_grad=True) for size in (3, 2)]
    for param, value in zip(params, (2.0, -4.0), strict=True):
        param.grad = numgrad.full_like(param, value)
    norm = clip_grad_norm_(params, 1.0, foreach=foreach)
    assert norm.is_cuda
    expected = (3 * 2**2 + 2 * 4**2) ** 0.5
    assert norm.item() == pytest.approx(expected)
    assert params[1].grad.tolist() == pytest.approx([-4 / expected] * 2, rel=1e-5)
    clip_grad_value_(params, 0.4)
    assert params[1].grad.tolist() == pytest.approx([-0.4] * 2)


def test_clipping_on_two_devices():
    params = [numgrad.zeros(1, device=device, requires_grad=True) for device in ("cuda", "cpu")]
    for param, value in zip(params, (3.0, 4.0), strict=True):
        param.grad = numgrad.full_like(param, value)
    assert clip_grad_norm_(params, 1.0).item() == 5.0
    assert [param.grad.item() for param in params] == pytest.approx([0.6, 0.8], rel=1e-5)


def test_averages_are_kept_on_another_device():
    model = numgrad.nn.Linear(2, 1)
    average = optim.swa_utils.AveragedModel(model, "cuda")
    weights = []
    for _ in range(3):
        with numgrad.no_grad():
            model.weight.add_(1.0)
        weights.append(model.weight.tolist()[0])
        average.update_parameters(model)
    assert average.module.weight.is_cuda
    assert average.n_averaged.is_cuda
    np.testing.assert_allclose(average.module.weight.tolist()[0], weights[1], rtol=1e-6)


def test_states_are_saved_and_loaded(data):
    params, optimizer = trained("cuda", "AdamW", {}, *data)
    copies, other = trained("cpu", "AdamW", {}, *data)
    saved = copy.deepcopy(other.state_dict())
    saved["state"][0]["step"] = saved["state"][0]["step"].cuda()  # as PyTorch has it for capturable steps
    optimizer.load_state_dict(saved)
    kept = optimizer.state[params[0]]
    assert kept["exp_avg"].is_cuda
    assert (kept["step"].is_cuda, kept["step"].item()) == (False, 2.0)
    for param, like in zip(params, copies, strict=True):
        param.grad, like.grad = numgrad.ones_like(param), numgrad.ones_like(like)
    optimizer.step()
    other.step()
    for param, like in zip(params, copies, strict=True):
        np.testing.assert_allclose(on_host(param), on_host(like), rtol=1e-5, atol=1e-6)


def test_parameters_that_overlap_are_updated_one_after_the_other():
    values = numgrad.zeros(4, device="cuda")
    params = [values[:3].requires_grad_(), values[1:].requires_grad_()]
    for param in params:
        param.grad = numgrad.ones(3, device="cuda")
    optim.SGD(params, lr=1.0).step()
    assert values.tolist() == [-1.0, -2.0, -2.0, -1.0]


def test_training_follows_the_cpu():
    """The losses of a small network over some steps, with a schedule."""

    def losses(device):
        numgrad.manual_seed(0)
        model = numgrad.nn.Sequential(numgrad.nn.Linear(3, 8), numgrad.nn.Tanh(), numgrad.nn.Linear(8, 1)).to(device)
        optimizer = optim.Adam(model.parameters(), lr=0.05)
        schedule = optim.lr_scheduler.StepLR(optimizer, 2)
        x = numgrad.rand(6, 3).to(device)
        result = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            result.append(loss.item())
        return result

    on_gpu = losses("cuda")
    assert on_gpu == pytest.approx(losses("cpu"), rel=1e-4)
    assert on_gpu[-1] < on_gpu[0]
