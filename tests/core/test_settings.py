"""Settings that programs make once at their start."""

import threading
import typing

import numpy as np
import pytest

import numgrad as torch


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield before
    torch.set_num_threads(before)


def test_threads_are_as_many_as_asked_for_and_there_are(threads):
    torch.set_num_threads(1)
    assert torch.get_num_threads() == 1
    other = []
    thread = threading.Thread(target=lambda: other.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert other == [threads]  # that one has not called it
    torch.set_num_threads(10_000)
    assert 1 <= torch.get_num_threads() < 10_000


def test_results_do_not_depend_on_the_threads(threads):
    x = torch.randn(300, 1000)
    many = x.softmax(1).sum(0)
    torch.set_num_threads(1)
    assert torch.equal(x.softmax(1).sum(0), many)


@pytest.mark.parametrize("function", ["set_num_threads", "set_num_interop_threads"])
def test_no_threads_cannot_be_asked_for(function):
    with pytest.raises(RuntimeError, match=f"{function} expects a positive integer, but got 0"):
        getattr(torch, function)(0)
    with pytest.raises(TypeError, match=f"{function} expects an int, but got float"):
        getattr(torch, function)(1.5)


def test_products_of_float32_are_computed_in_float32():
    before, x = torch.get_float32_matmul_precision(), torch.randn(40, 40)
    wanted = x @ x
    torch.set_float32_matmul_precision("medium")
    try:
        assert torch.get_float32_matmul_precision() == "medium"
        assert torch.equal(x @ x, wanted)
        with pytest.raises(RuntimeError, match="invalid precision 'low'"):
            torch.set_float32_matmul_precision("low")
    finally:
        torch.set_float32_matmul_precision(before)


def test_default_tensor_type():
    try:
        torch.set_default_tensor_type(torch.DoubleTensor)
        assert torch.tensor(1.0).dtype is torch.float64
        torch.set_default_tensor_type("torch.FloatTensor")
        assert torch.tensor(1.0).dtype is torch.float32
        with pytest.raises(TypeError, match=r"only floating-point types .* not torch\.LongTensor"):
            torch.set_default_tensor_type(torch.LongTensor)
    finally:
        torch.set_default_dtype(torch.float32)


def test_names_of_types():
    assert torch.typename(torch.ones(1)) == "torch.FloatTensor"
    assert torch.typename(torch.Tensor) == "numgrad.Tensor"
    assert torch.typename(3) == "int"
    assert torch.typename(torch.nn.ReLU()) == "numgrad.nn.modules.activation.ReLU"


def test_flags_of_libraries_are_remembered():
    cudnn, cuda = torch.backends.cudnn, torch.backends.cuda
    with cudnn.flags(enabled=True, benchmark=True):
        assert cudnn.benchmark
    assert not cudnn.benchmark
    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled()
    assert cuda.flash_sdp_enabled()
    for library in (cudnn, torch.backends.mkldnn, torch.backends.mps, torch.backends.opt_einsum):
        assert not library.is_available()
    assert isinstance(torch.backends.mkl.is_available(), bool)
    assert torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "NEON", "DEFAULT")
    assert torch.version.cuda is None


# -- memory, and classes of tensors ---------------------------------------------------------------------------------


def test_storage_is_what_views_share():
    x = torch.arange(6.0)
    view = x.reshape(2, 3)[1, 1:]
    assert view.storage().tolist() == [0, 1, 2, 3, 4, 5]
    assert view.storage_offset() == 4
    assert view.untyped_storage() == x.untyped_storage() != x.clone().untyped_storage()
    assert (len(view.storage()), view.untyped_storage().nbytes()) == (6, 24)
    view.storage()[0] = 7
    assert x[0] == 7
    assert bytes(x.untyped_storage().tolist()) == np.float32([7, 1, 2, 3, 4, 5]).tobytes()


def test_storage_is_printed_element_by_element():
    assert repr(torch.tensor([1.5, 2.0]).storage()) == (
        " 1.5\n 2.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 2]"
    )
    assert repr(torch.tensor([1], dtype=torch.uint8).untyped_storage()) == (
        " 1\n[torch.storage.UntypedStorage(device=cpu) of size 1]"
    )


class Marked(torch.Tensor):
    """A user's class."""


def test_tensors_of_a_class_of_ones_own_stay_in_the_graph():
    x = torch.ones(2, requires_grad=True)
    marked = (3 * x).as_subclass(Marked)
    assert type(marked) is Marked
    marked.sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(TypeError, match=r"cls must be a type .* not <class 'int'>"):
        x.as_subclass(int)
    leaf = torch.Tensor._make_subclass(Marked, x, True)
    assert type(leaf) is Marked
    assert leaf.is_leaf and leaf.requires_grad and leaf.data_ptr() == x.data_ptr()  # noqa: PT018
    assert not leaf._is_view()
    assert repr(leaf) == "Marked([1., 1.], requires_grad=True)"


def test_parameters_of_a_class_of_ones_own_print_it():
    class Weight(torch.nn.Parameter):
        pass

    text = "Parameter containing:\nParameter(Weight([1., 1.], requires_grad=True))"
    assert repr(Weight(torch.ones(2))) == text
    assert typing.get_type_hints(Weight) is not None


def test_new_tensors_like_another():
    x = torch.ones(2, dtype=torch.float64)
    assert x.new([1, 2]).tolist() == [1.0, 2.0]
    assert x.new([1, 2]).dtype is torch.float64
    assert x.new(2, 3).shape == (2, 3)
