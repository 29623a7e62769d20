"""numgrad.inspect shows the kernels that ran on a GPU."""

import pytest

import numgrad as torch
from numgrad.devices import gpu_driver


@pytest.fixture(scope="module")
def inspection(cuda):
    return torch.inspect(torch.tanh, torch.linspace(0, 1, 20, device="cuda").requires_grad_())


def test_kernels_on_a_gpu_show_their_text_their_types_and_their_bytes(inspection):
    assert inspection.subject == "tanh([20] float32)"
    forward, backward = inspection
    assert (forward.name, forward.stage) == ("tanh", "forward")
    assert (backward.name, backward.stage) == ("tanh_backward", "backward")
    assert forward.cuda == forward.python
    assert "while i < uint64(n):" in forward.python
    assert forward.types == {"input": "float32*", "out": "float32*", "n": "int64"}
    assert (forward.bytes, backward.bytes) == (160, 320)
    assert len(forward.runs) == 3
    assert forward.origin == gpu_driver()


def test_a_kernel_on_a_gpu_has_ptx_and_no_machine_code_of_the_processor(inspection):
    kernel = inspection[0]
    if kernel.origin == "simulated":
        assert "none: Numba's CUDA simulator is on" in inspection.text("ptx")
    else:
        assert ".visible .entry kernel(" in kernel.ptx
    for name in ("loop", "llvm", "assembly"):
        with pytest.raises(NotImplementedError, match=r"tanh runs on a GPU and has no .*: see its ptx"):
            getattr(kernel, name)
    assert (kernel.vector_bits, kernel.vectors[:10]) == (0, "no vectors")


def test_the_text_and_the_page_show_what_there_is(inspection):
    text = str(inspection)
    assert "GB/s, on cuda:0 (the last of 3 runs" in text
    assert "def kernel(input, out, n):" in text
    assert "main loop" not in text
    assert inspection.text("python", "cuda") == inspection.text("python")
    page = inspection._repr_html_()
    assert "<b>def</b> kernel(input, out, n):" in page
    assert "LLVM" not in page


def test_kernels_written_by_hand_are_shown_like_others(cuda):
    (kernel,) = torch.inspect(torch.cumsum, torch.ones(3, 4, device="cuda"), 1)
    assert "def kernel(" in kernel.python
    assert set(kernel.types.values()) <= {"float32*", "int64", "float64", "bool"}


def test_the_rule_of_a_node_runs_where_it_ran(cuda):
    x = torch.ones(3, 4, device="cuda", requires_grad=True)
    inspection = torch.inspect((x * 2.0).grad_fn)
    assert [kernel.name for kernel in inspection] == ["mul", "mul_backward"]
    forward, backward = inspection
    assert backward.last.device == "cuda:0"
    assert (forward.last, forward.bytes) == (None, 96)  # read from the plan
