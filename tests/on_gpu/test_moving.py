"""Tensors, modules and gradients that are moved from one device to another."""

import numpy as np
import pytest

import numgrad
from numgrad import nn, tensor
from numgrad.utils.data import DataLoader, TensorDataset

KINDS = [
    numgrad.bool, numgrad.uint8, numgrad.int8, numgrad.int16, numgrad.int32, numgrad.int64, numgrad.float32,
    numgrad.float64, numgrad.complex64, numgrad.complex128,
]

MIXED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


@pytest.fixture(autouse=True)
def _in_use(cuda):
    """Every test here uses GPUs."""


# --- there and back ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_there_and_back(kind):
    x = tensor([[0, 1, 2], [3, 4, 5]]).to(kind)
    there = x.cuda()
    assert (there.dtype, there.shape, there.is_cuda) == (kind, x.shape, True)
    back = there.cpu()
    assert (back.dtype, back.tolist(), back.device) == (kind, x.tolist(), x.device)
    assert back.data_ptr() != x.data_ptr()


@pytest.mark.parametrize(
    ("view", "stride"),
    [
        (lambda x: x.transpose(0, 2), (1, 4, 12)),
        (lambda x: x.permute(1, 0, 2), (4, 12, 1)),
        (lambda x: x[:, 1:], None),
        (lambda x: x[..., ::2], None),
        (lambda x: x[:1].expand(2, 3, 4), None),
        (lambda x: x[1, 2, 3], ()),
        (lambda x: x[:, :0], None),
        (lambda x: x[1:].transpose(1, 2), (12, 1, 4)),
    ],
)
def test_the_order_of_dimensions_in_memory_is_kept(view, stride):
    x = numgrad.arange(24.0).reshape(2, 3, 4)
    there = view(x).cuda()
    back = view(x.cuda()).cpu()
    for moved in (there, back):
        assert moved.tolist() == view(x).tolist()
        assert moved.stride() == (view(x).to(numgrad.float64).stride() if stride is None else stride)


@pytest.mark.parametrize(
    "move",
    [
        lambda x: x.to("cuda"),
        lambda x: x.to(0),
        lambda x: x.to(numgrad.device("cuda:0"), non_blocking=True),
        lambda x: x.to(device="cuda"),
        lambda x: x.to(numgrad.zeros(1, device="cuda")),
        lambda x: x.cuda(),
        lambda x: x.cuda(0, True),
        lambda x: x.cuda("cuda:0"),
        lambda x: x.type("torch.cuda.FloatTensor"),
        lambda x: x.type_as(numgrad.zeros(1, device="cuda")),
    ],
)
def test_ways_to_a_gpu(move):
    x = tensor([1.0, 2.0])
    there = move(x)
    assert (there.device, there.dtype, there.tolist()) == (numgrad.device("cuda:0"), x.dtype, [1, 2])
    assert move(there) is there
    assert there.to("cuda", copy=True) is not there


def test_a_device_and_a_dtype_at_once():
    x = tensor([1.7, 2.2], requires_grad=True)
    wide = x.to("cuda", numgrad.float64)
    assert (wide.dtype, wide.grad_fn.name()) == (numgrad.float64, "ToCopyBackward0")
    assert wide.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    wide.backward(tensor([1.0, 2.0], dtype=numgrad.float64, device="cuda"))
    assert (x.grad.dtype, x.grad.device, x.grad.tolist()) == (x.dtype, x.device, [1, 2])
    assert wide.detach().to("cpu", numgrad.int64).tolist() == [1, 2]
    assert x.detach().type("torch.cuda.LongTensor").tolist() == [1, 2]
    assert wide.detach().type("torch.FloatTensor").device == numgrad.device("cpu")
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        assert tensor([1 + 2j]).to("cuda", numgrad.float32).tolist() == [1]


def test_a_format_on_a_gpu_and_on_the_way_there():
    x = numgrad.arange(16.0).reshape(1, 4, 2, 2)
    for found in (
        x.to("cuda", memory_format=numgrad.channels_last), x.cuda().to(memory_format=numgrad.channels_last),
        x.to(numgrad.float64, memory_format=numgrad.channels_last).cuda(),
        x.cuda().to(numgrad.float64, memory_format=numgrad.channels_last),
        x.cuda().contiguous(memory_format=numgrad.channels_last),
    ):
        assert (found.is_cuda, found.stride(), found.tolist()) == (True, (16, 1, 8, 4), x.tolist())


def test_where_cuda_leads():
    with pytest.raises(RuntimeError, match="Invalid device, must be cuda device"):
        tensor([1.0]).cuda("cpu")


# --- gradients --------------------------------------------------------------------------


def test_gradients_go_the_way_back():
    x = tensor([1.0, 2.0], requires_grad=True)
    y = (x.cuda() * 3).cpu() * 5
    y.backward(tensor([1.0, 2.0]))
    assert (x.grad.device, x.grad.tolist()) == (numgrad.device("cpu"), [15, 30])


def test_second_derivatives_go_the_way_back():
    x = tensor([1.0, 2.0], dtype=numgrad.float64, requires_grad=True)
    assert numgrad.autograd.gradgradcheck(lambda x: (x.cuda() ** 3).cpu(), (x,))


def test_forward_mode_goes_along():
    value, tangent = numgrad.func.jvp(lambda x: x.cuda() * 2, (tensor([1.0]),), (tensor([3.0]),))
    assert value.is_cuda
    assert tangent.is_cuda
    assert tangent.tolist() == [6]


def test_examples_of_a_batch_go_together():
    moved = numgrad.func.vmap(lambda x: x.cuda() + 1)(tensor([[1.0], [2.0]]))
    assert moved.is_cuda
    assert moved.tolist() == [[2], [3]]


def test_a_gradient_lies_where_its_tensor_lies():
    x = tensor([1.0, 2.0], device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="invalid gradient at index 0 - expected device cuda:0 but got cpu"):
        (x * 2).backward(numgrad.ones(2))
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with device type 'cpu'"):
        x.grad = numgrad.ones(2)
    assert x.grad is None

    class Astray(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad.cpu() * 2

    with pytest.raises(RuntimeError, match=r"AstrayBackward returned an invalid gradient .* cuda:0 but got cpu"):
        Astray.apply(x).backward(numgrad.ones(2, device="cuda"))
    one = tensor(1.0, device="cuda", requires_grad=True)
    Astray.apply(one).backward()  # one number is moved, as in PyTorch
    (one * 2).backward(tensor(3.0))
    assert one.grad.is_cuda
    assert one.grad.item() == 8


@pytest.mark.parametrize("pin_memory", [False, True])
def test_tensors_are_saved_on_the_cpu(pin_memory):
    x = tensor([1.0, 2.0], device="cuda", requires_grad=True)
    with numgrad.autograd.graph.save_on_cpu(pin_memory=pin_memory):
        y = x * x
    y.sum().backward()
    assert x.grad.is_cuda
    assert x.grad.tolist() == [2, 4]


# --- overwriting ------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", "cuda"])
@pytest.mark.parametrize(
    ("view", "source"),
    [
        (lambda x: x, tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])),
        (lambda x: x, tensor([1.0, 2.0, 3.0])),
        (lambda x: x, tensor([[1, 2, 3], [4, 5, 6]])),
        (lambda x: x.t(), tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
        (lambda x: x[:, ::2], tensor([[1.0, 2.0], [3.0, 4.0]]).t()),
        (lambda x: x[:0], numgrad.zeros(0, 3)),
    ],
)
def test_copy_from_another_device(target, view, source):
    expected, found = numgrad.zeros(2, 3), numgrad.zeros(2, 3, device=target)
    view(expected).copy_(source)
    written = view(found).copy_(source.to("cpu" if target == "cuda" else "cuda"), non_blocking=True)
    assert written.device.type == target
    assert found.tolist() == expected.tolist()


def test_copied_tensors_get_gradients():
    x = tensor([1.0, 2.0], requires_grad=True)
    out = numgrad.zeros(2, device="cuda").copy_(x)
    (out * tensor([3.0, 4.0], device="cuda")).sum().backward()
    assert (x.grad.device, x.grad.tolist()) == (numgrad.device("cpu"), [3, 4])


def test_filling_with_a_number_from_another_device():
    value = tensor(2.0, requires_grad=True)
    out = numgrad.zeros(3, device="cuda").fill_(value)
    assert out.tolist() == [2, 2, 2]
    out.sum().backward()
    assert (value.grad.device, value.grad.item()) == (numgrad.device("cpu"), 3)


# --- pinned memory ----------------------------------------------------------------------


def test_pinned_memory():
    x = numgrad.arange(6.0).reshape(2, 3)
    assert not x.is_pinned()
    pinned = x.t().pin_memory()
    assert pinned.is_pinned()
    assert pinned[1].is_pinned()
    assert (pinned.tolist(), pinned.stride()) == (x.t().tolist(), (1, 3))
    assert pinned.pin_memory() is pinned
    there = pinned.cuda(non_blocking=True)
    numgrad.cuda.synchronize()
    assert there.tolist() == x.t().tolist()
    assert not there.is_pinned()
    back = there.to("cpu", non_blocking=True)
    assert back.is_pinned()
    numgrad.cuda.synchronize()
    assert back.tolist() == x.t().tolist()
    with pytest.raises(RuntimeError, match=r"cannot pin 'torch\.cuda\.FloatTensor' only dense CPU tensors"):
        there.pin_memory()


@pytest.mark.parametrize("make", [
    lambda **where: numgrad.zeros(2, **where), lambda **where: numgrad.ones(2, requires_grad=True, **where),
    lambda **where: numgrad.empty(2, **where), lambda **where: numgrad.full((2,), 3, **where),
    lambda **where: numgrad.tensor([1, 2], **where), lambda **where: numgrad.rand(2, **where),
    lambda **where: numgrad.randn(2, **where),
])  # fmt: skip
def test_tensors_made_in_pinned_memory(make):
    made = make(pin_memory=True)
    assert made.is_pinned()
    assert made.is_leaf
    assert made.requires_grad == make().requires_grad
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        make(pin_memory=True, device="cuda")


def test_pinning_passes_gradients_on():
    x = tensor([1.0, 2.0], requires_grad=True)
    pinned = x.pin_memory()
    assert pinned.grad_fn.name() == "PinMemoryBackward0"
    (pinned * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_batches_in_pinned_memory():
    data = TensorDataset(numgrad.arange(6.0).reshape(3, 2), numgrad.arange(3))
    for inputs, labels in DataLoader(data, batch_size=2, pin_memory=True):
        assert inputs.is_pinned()
        assert labels.is_pinned()
    samples = [{"x": tensor([1.0]), "name": "a"}, {"x": tensor([2.0]), "name": "b"}]
    (batch,) = DataLoader(samples, batch_size=2, pin_memory=True)
    assert batch["x"].is_pinned()
    assert batch["name"] == ["a", "b"]


# --- modules and optimizers -------------------------------------------------------------


@pytest.mark.parametrize(
    "move",
    [
        lambda module: module.cuda(), lambda module: module.cuda(0), lambda module: module.to("cuda"),
        lambda module: module.to(0), lambda module: module.to(device="cuda:0", non_blocking=True),
        lambda module: module.to(numgrad.zeros(1, device="cuda")),
        lambda module: module.type("torch.cuda.FloatTensor"),
    ],
)
def test_a_module_moves_with_all_it_has(move):
    module = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
    module.register_buffer("mean", numgrad.ones(2))
    module[0].weight.grad = numgrad.ones(3, 2)
    parameters = list(module.parameters())
    assert move(module) is module
    assert all(old is new for old, new in zip(parameters, module.parameters(), strict=True))
    assert {tensor.device for tensor in module.state_dict().values()} == {numgrad.device("cuda:0")}
    assert module[0].weight.grad.is_cuda
    assert module[0].weight.is_leaf
    module.cpu()
    assert not any(tensor.is_cuda for tensor in module.state_dict().values())
    assert not module[0].weight.grad.is_cuda


def test_a_module_takes_device_and_dtype_at_once():
    module = nn.Linear(2, 3).to("cuda", numgrad.float64)
    assert (module.weight.device, module.weight.dtype) == (numgrad.device("cuda:0"), numgrad.float64)
    assert nn.Linear(2, 3, device="cuda").bias.is_cuda


def test_a_module_computes_where_it_lies():
    module = nn.Linear(2, 1)
    x = tensor([[1.0, 2.0]])
    expected = module(x)
    expected.backward()
    gradient = module.weight.grad.tolist()
    module.zero_grad()
    module.cuda()
    found = module(x.cuda())
    found.backward()
    np.testing.assert_allclose(found.item(), expected.item(), rtol=1e-6)
    assert module.weight.grad.is_cuda
    assert module.weight.grad.tolist() == gradient
    with pytest.raises(RuntimeError, match=MIXED):
        module(x)


def test_states_go_where_they_are_loaded():
    module, other = nn.Linear(2, 1), nn.Linear(2, 1, device="cuda")
    other.load_state_dict(module.state_dict())
    assert other.weight.is_cuda
    assert other.weight.tolist() == module.weight.tolist()
    optimizer = numgrad.optim.Adam(module.parameters())
    module(numgrad.ones(1, 2)).backward()
    optimizer.step()
    loaded = numgrad.optim.Adam(other.parameters())
    loaded.load_state_dict(optimizer.state_dict())
    state = loaded.state[other.weight]
    assert state["exp_avg"].is_cuda
    assert not state["step"].is_cuda
    assert state["exp_avg"].tolist() == optimizer.state[module.weight]["exp_avg"].tolist()
