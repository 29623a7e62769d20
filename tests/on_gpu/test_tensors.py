"""Tensors on a GPU for users: constructors, texts, and access to elements."""

import copy
import io
import pickle

import numpy as np
import pytest

import numgrad
from numgrad import nn, tensor
from numgrad.viz.values import values_text

#: Every constructor of tensors, with its result on the CPU.
CONSTRUCTORS = {
    "tensor": lambda **options: tensor([[1, 2], [3, 4]], **options),
    "as_tensor list": lambda **options: numgrad.as_tensor([1.5, 2.5], **options),
    "as_tensor array": lambda **options: numgrad.as_tensor(np.arange(3), **options),
    "zeros": lambda **options: numgrad.zeros(2, 3, **options),
    "ones": lambda **options: numgrad.ones(2, 3, **options),
    "full": lambda **options: numgrad.full((2, 3), 7.5, **options),
    "scalar_tensor": lambda **options: numgrad.scalar_tensor(2.5, **options),
    "eye": lambda **options: numgrad.eye(2, 3, **options),
    "arange": lambda **options: numgrad.arange(1, 9, 3, **options),
    "linspace": lambda **options: numgrad.linspace(0, 1, 5, **options),
    "logspace": lambda **options: numgrad.logspace(0, 2, 3, **options),
    "tril_indices": lambda **options: numgrad.tril_indices(3, 3, **options),
    "triu_indices": lambda **options: numgrad.triu_indices(2, 3, 1, **options),
    "no elements": lambda **options: numgrad.zeros(0, 3, **options),
}


@pytest.fixture(autouse=True)
def _in_use(cuda):
    """Every test here uses GPUs."""


@pytest.mark.parametrize("make", CONSTRUCTORS.values(), ids=CONSTRUCTORS)
def test_constructors_take_a_device(make):
    expected, made = make(), make(device="cuda")
    assert repr(made.device) == "device(type='cuda', index=0)"
    assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
    assert made.tolist() == expected.tolist()


def test_a_copy_of_a_tensor_does_not_go_by_way_of_the_host(monkeypatch):
    x = tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda").t()
    with monkeypatch.context() as patch:
        patch.setattr("numgrad.devices.buffers.DeviceBuffer.host", lambda row: pytest.fail("the GPU was waited for"))
        with pytest.warns(UserWarning, match="To copy construct from a tensor"):
            copied = tensor(x)
        with pytest.warns(UserWarning, match="To copy construct from a tensor"):
            converted = tensor(x, dtype=numgrad.int64, requires_grad=False)
    x.zero_()
    assert copied.is_cuda
    assert copied.tolist() == converted.tolist() == [[1, 3], [2, 4]]
    assert converted.dtype is numgrad.int64


def test_constructors_without_given_elements():
    assert numgrad.empty(2, 3, device="cuda").device == numgrad.device("cuda:0")
    for made in (numgrad.rand(3, device="cuda"), numgrad.randn(3, device="cuda"), numgrad.randperm(3, device="cuda")):
        assert made.is_cuda
        assert made.shape == (3,)


def test_a_leaf_on_a_gpu_requires_its_gradient_there():
    x = tensor([1.0, 2.0], device="cuda", requires_grad=True)
    assert x.is_leaf
    (x * x).sum().backward()
    assert x.grad.device == x.device
    assert x.grad.tolist() == [2, 4]


def test_tensors_made_like_another_are_on_its_device():
    x = tensor([[1.0, 2.0]], dtype=numgrad.float64, device="cuda")
    for made in (
        numgrad.zeros_like(x), numgrad.ones_like(x), numgrad.empty_like(x), numgrad.full_like(x, 3), x.new_zeros(2),
        x.new_ones(2), x.new_full((2,), 1), x.new_empty(2), x.new_tensor([1, 2]), numgrad.rand_like(x),
        numgrad.randn_like(x), x.clone(), x.detach(), x[0], x.t(),
    ):
        assert made.device == x.device
        assert made.dtype == x.dtype
    assert numgrad.ones_like(x, device="cpu").device == x.new_zeros(2, device="cpu").device == numgrad.device("cpu")
    assert numgrad.ones_like(x.cpu(), device="cuda").is_cuda
    assert numgrad.from_numpy(np.zeros(2)).device == numgrad.device("cpu")


# --- which device -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cuda", "cuda:0", 0, numgrad.device("cuda"), numgrad.device("cuda", 0)])
def test_names_of_the_first_gpu(name):
    assert numgrad.zeros(1, device=name).device == numgrad.device("cuda:0")


def test_a_gpu_that_there_is_not():
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        numgrad.zeros(1, device="cuda:99")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        numgrad.zeros(1).cuda(99)


def test_its_device():
    x = tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda")
    assert (x.is_cuda, x.is_cpu, x.get_device(), x.type()) == (True, False, 0, "torch.cuda.FloatTensor")
    assert x.device is numgrad.zeros(1, dtype=numgrad.int64, device="cuda").device
    assert x[1].data_ptr() == x.data_ptr() + 8
    assert not isinstance(x, numgrad.FloatTensor)
    assert isinstance(x.cpu(), numgrad.FloatTensor)


def test_the_default_device():
    with numgrad.device("cuda") as place:
        assert place == numgrad.device("cuda")
        assert numgrad.zeros(2).is_cuda
        assert tensor([1.0]).is_cuda
        assert numgrad.as_tensor(np.zeros(2)).is_cuda
        assert nn.Linear(2, 3).weight.is_cuda
        assert not numgrad.from_numpy(np.zeros(2)).is_cuda
        assert not numgrad.zeros(2, device="cpu").is_cuda
        with numgrad.device("cpu"):
            assert not numgrad.zeros(2).is_cuda
        assert numgrad.get_default_device() == numgrad.device("cuda:0")
    assert not numgrad.zeros(2).is_cuda
    numgrad.set_default_device("cuda")
    try:
        assert numgrad.arange(3).is_cuda
    finally:
        numgrad.set_default_device(None)
    assert numgrad.get_default_device() == numgrad.device("cpu")


def test_a_context_ends_with_an_exception_too():
    with pytest.raises(KeyError), numgrad.device("cuda"):
        raise KeyError
    assert not numgrad.zeros(1).is_cuda


# --- text -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda: tensor([1.0, 2.0], device="cuda"), "tensor([1., 2.], device='cuda:0')"),
        (lambda: tensor(3, device="cuda"), "tensor(3, device='cuda:0')"),
        (
            lambda: numgrad.ones(2, device="cuda", dtype=numgrad.float64, requires_grad=True),
            "tensor([1., 1.], device='cuda:0', dtype=torch.float64, requires_grad=True)",
        ),
        (lambda: numgrad.zeros(0, 3, device="cuda"), "tensor([], device='cuda:0', size=(0, 3))"),
        (
            lambda: tensor([1.0], device="cuda", requires_grad=True) * 2,
            "tensor([2.], device='cuda:0', grad_fn=<MulBackward0>)",
        ),
        (lambda: tensor([[1, 2], [3, 4]], device="cuda").t(), "tensor([[1, 3],\n        [2, 4]], device='cuda:0')"),
        (
            lambda: nn.Parameter(numgrad.zeros(1, device="cuda")),
            "Parameter containing:\ntensor([0.], device='cuda:0', requires_grad=True)",
        ),
    ],
)
def test_repr_names_the_device(value, text):
    assert repr(value()) == text


def test_other_texts_show_the_elements():
    x = tensor(2.5, device="cuda")
    assert f"{x:.2f}" == "2.50"
    y = tensor([1.0, 2.0], device="cuda", requires_grad=True)
    assert "shape [2], float32 on cuda:0, a leaf" in str(numgrad.explain(y))
    assert "cuda:0" in y._repr_html_()
    assert values_text(y) == ["[1, 2]"]
    assert "TanhBackward0: saved self = y [2], result" in str(numgrad.viz.draw(y.tanh()))


# --- elements ---------------------------------------------------------------------------


def test_elements_as_pythons_numbers():
    x = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device="cuda")
    assert x.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert x.t().tolist() == [[1, 4], [2, 5], [3, 6]]
    assert x[:, 1].tolist() == [2, 5]
    assert x[1, ::2].tolist() == [4, 6]
    assert x[:1].expand(2, 3).tolist() == [[1, 2, 3], [1, 2, 3]]
    assert x[:, :0].tolist() == [[], []]
    assert x[1, 2].item() == float(x[1, 2]) == int(x[1, 2]) == 6
    assert bool(x[0, 0])
    assert [row.tolist() for row in x] == [[1, 2, 3], [4, 5, 6]]
    assert [10, 20, 30][tensor(1, device="cuda")] == 20
    assert 5.0 in x
    assert 7.0 not in x
    assert tensor(1 + 2j, device="cuda").item() == 1 + 2j
    assert tensor([True, False], device="cuda").tolist() == [True, False]


def test_few_elements_far_apart():
    x = numgrad.zeros(2, 1 << 17, device="cuda")
    x[:, 5] = tensor([1.0, 2.0], device="cuda")
    assert x[:, 5].tolist() == [1, 2]
    assert x[:, 5:6].expand(2, 2).tolist() == [[1, 1], [2, 2]]


def test_numpy_gets_no_memory_of_a_gpu():
    x = tensor([1.0, 2.0], device="cuda")
    words = (
        r"can't convert cuda:0 device type tensor to numpy\. Use Tensor\.cpu\(\) to copy the tensor to host memory "
        r"first\."
    )
    for read in (x.numpy, x[::2].numpy, lambda: np.asarray(x), lambda: np.interp(x, [0, 3], [0, 3])):
        with pytest.raises(TypeError, match=words):
            read()
    array = x.requires_grad_().numpy(force=True)
    array[0] = 5
    assert x.tolist() == [1, 2]


def test_numpys_functions_are_operations_on_the_gpu():
    x = tensor([1.0, 4.0], device="cuda")
    assert np.sqrt(x).tolist() == [1, 2]
    assert np.sqrt(x).is_cuda


# --- kept and copied --------------------------------------------------------------------


def test_copies():
    x = tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda")
    first, second = copy.deepcopy([x, x[1]])
    first[1, 0] = 9
    assert second.tolist() == [9, 4]
    assert x.tolist() == [[1, 2], [3, 4]]
    shallow = copy.copy(x)
    assert shallow.data_ptr() == x.data_ptr()
    parameter = copy.deepcopy(nn.Parameter(x))
    assert parameter.is_cuda
    assert parameter.requires_grad


def test_pickles():
    x = tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda", requires_grad=True)
    again = pickle.loads(pickle.dumps(x.detach().t()))
    assert again.device == x.device
    assert (again.tolist(), again.stride()) == ([[1, 3], [2, 4]], (1, 2))
    assert pickle.loads(pickle.dumps(x)).requires_grad


def test_files_remember_the_device():
    x = tensor([[1.0, 2.0], [3.0, 4.0]], device="cuda")
    state = {"x": x, "row": x[1], "transposed": x.t(), "column": x[:, 1].clone(), "on the cpu": numgrad.ones(2)}
    file = io.BytesIO()
    numgrad.save(state, file)

    def loaded(location=None):
        file.seek(0)
        return numgrad.load(file, location)

    again = loaded()
    assert {name: str(value.device) for name, value in again.items()} == {
        "x": "cuda:0", "row": "cuda:0", "transposed": "cuda:0", "column": "cuda:0", "on the cpu": "cpu",
    }
    assert {name: value.tolist() for name, value in again.items()} == {n: v.tolist() for n, v in state.items()}
    again["x"][1, 0] = 9
    assert again["row"].tolist() == again["transposed"][:, 1].tolist() == [9, 4]
    for location, expected in (("cpu", {"cpu"}), ("cuda", {"cuda:0"}), ({"cuda:0": "cpu"}, {"cpu"})):
        assert {str(value.device) for value in loaded(location).values()} == expected
    assert {str(value.device) for value in loaded({"cpu": "cuda"}).values()} == {"cuda:0"}


def test_derivatives_are_checked_there():
    x = tensor([0.5, 1.5], dtype=numgrad.float64, device="cuda", requires_grad=True)
    assert numgrad.autograd.gradcheck(lambda x: x * x.sin(), (x,))
    assert x.tolist() == [0.5, 1.5]
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        numgrad.autograd.gradcheck(lambda x: x.detach() * x, (x,))


def test_bad_values_are_found_there():
    x = tensor([0.0, 1.0], device="cuda", requires_grad=True)
    with (
        pytest.warns(UserWarning, match="Anomaly Detection"),
        numgrad.autograd.detect_anomaly(check_forward=True),
        pytest.raises(RuntimeError, match="nan"),
    ):
        x.log() * 0


def test_numbers_that_do_not_fit():
    """A number wraps around in a narrow type, as on the CPU; one of more than 64 bits is an error."""
    assert (numgrad.ones(2, dtype=numgrad.uint8, device="cuda") + 300).tolist() == [45, 45]
    with pytest.raises(OverflowError):
        numgrad.ones(2, device="cuda") + 2**70
