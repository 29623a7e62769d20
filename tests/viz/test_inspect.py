"""numgrad.inspect: kernels from Python text to machine code, and how fast they ran."""

import importlib.util
import re
import sys
import threading

import pytest
from numba.core.registry import cpu_target

import numgrad as torch
from numgrad.devices import compiled_kernels
from numgrad.nn.functional import relu
from numgrad.viz.inspection import inspect_example
from numgrad.viz.inspection.assembly import function_of, functions, loops, main_loop, readable, widest


def stages(inspection):
    return [(kernel.name, kernel.stage) for kernel in inspection.kernels]


def leaf(*shape):
    return torch.linspace(0, 1, torch.Size(shape).numel()).view(shape).clone().requires_grad_()


@pytest.fixture(scope="module")
def addition():
    x = torch.ones(1000)
    return torch.inspect(torch.add, x, x).kernels[0]


def test_a_function_shows_the_kernels_that_ran_forward_and_backward():
    x = leaf(500)
    inspection = torch.inspect(torch.tanh, x)
    assert inspection.subject == "tanh([500] float32)"
    assert stages(inspection) == [("tanh", "forward"), ("tanh_backward", "backward")]
    forward, backward = inspection
    assert forward.kernel in compiled_kernels()
    assert "out[i] = tanh(input_i)" in forward.python
    assert forward.types == {"input": "array(float32, 1d, C)", "out": "array(float32, 1d, C)"}
    assert (forward.bytes, backward.bytes) == (4000, 8000)
    assert forward.bandwidth == pytest.approx(forward.bytes / forward.time / 1e9)
    assert forward.origin in ("compiled", "loaded")
    assert forward.seconds > 0
    assert len(forward.runs) == 3  # the first finds cold memory
    assert x.grad is None


def test_machine_code_is_shown_with_the_width_of_its_vectors(addition):
    features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
    assert addition.vector_bits == 32 * addition.lanes
    assert addition.vector_bits >= (256 if "+avx2" in features else 128)
    assert addition.vectors.startswith(f"{addition.vector_bits}-bit: {addition.lanes} float32 at a time (")
    assert addition.loop in addition.assembly
    assert re.search(rf"fadd .*<{addition.lanes} x float>", addition.llvm)
    assert "define " in addition.llvm.splitlines()[0]


def test_nothing_that_was_given_is_changed_or_freed():
    x = leaf(4, 5)
    y = x * 3.0
    inspection = torch.inspect(torch.softmax, y, 1)
    assert stages(inspection) == [("softmax_rows", "forward"), ("softmax_backward_rows", "backward")]
    y.sum().backward()
    assert x.grad.tolist() == [[3.0] * 5] * 4


def test_leaves_that_a_function_knows_get_gradients_too():
    model = torch.nn.Linear(3, 2)
    inspection = torch.inspect(model, torch.ones(5, 3))
    assert inspection.subject == "Linear([5, 3] float32)"
    assert ("products", "backward") in stages(inspection)
    assert model.weight.grad is None


def test_a_method_of_a_tensor_is_called_on_it():
    inspection = torch.inspect((leaf(7) * 2).tanh)
    assert inspection.subject == "tanh([7] float32)"
    assert stages(inspection) == [("tanh", "forward"), ("tanh_backward", "backward")]


def test_a_function_of_ones_own_is_run_once():
    calls = []

    def function(x):
        calls.append(x)
        return [x.add_(1), {"other": x * 2}]

    x = torch.zeros(10)
    inspection = torch.inspect(function, x)
    assert stages(inspection) == [("add", "forward"), ("mul", "forward")]
    assert "require a gradient" in inspection.notes[0]
    assert len(calls) == 1
    assert x.tolist() == [1.0] * 10


def test_what_changes_something_or_draws_numbers_is_run_once():
    x = torch.zeros(20)
    torch.inspect(relu, x, inplace=True)
    assert x._version == 1
    torch.manual_seed(3)
    torch.rand(20)
    state = torch.get_rng_state()
    torch.manual_seed(3)
    torch.inspect(torch.rand, 20)
    assert torch.equal(torch.get_rng_state(), state)
    own, other = (torch.Generator().manual_seed(3) for _ in range(2))
    torch.inspect(torch.rand, 20, generator=own)
    torch.rand(20, generator=other)
    assert torch.equal(own.get_state(), other.get_state())


def test_what_does_more_than_compute_is_run_once():
    x = leaf(4)
    torch.inspect((x * 2.0).sum().backward)
    assert x.grad.tolist() == [2.0] * 4
    optimizer = torch.optim.SGD([x], lr=0.5)
    before = x.tolist()
    assert stages(torch.inspect(optimizer.step)) == [("sgd", "forward")]
    assert x.tolist() == pytest.approx([value - 1 for value in before])


def test_hooks_are_not_called_and_no_gradient_is_retained():
    calls = []
    x, weight = leaf(4), leaf(4)
    y = x * 2.0
    y.retain_grad()
    for tensor in (x, y, weight):
        tensor.register_hook(calls.append)
    for given in (x, y):
        torch.inspect(torch.tanh, given)
        torch.inspect(lambda value: value * weight, given)
    assert calls == []
    assert x.grad is y.grad is weight.grad is None
    (y * weight).sum().backward()
    assert len(calls) == 3
    assert y.grad is not None


def test_what_other_threads_run_is_left_out():
    def function():
        other = threading.Thread(target=torch.tanh, args=(torch.ones(3),))
        other.start()
        other.join()
        return torch.ones(3) + 1

    assert ("tanh", "forward") not in stages(torch.inspect(function))


def test_a_gradient_that_is_passed_on_is_distinguished_from_none():
    assert "passes the gradient on" in torch.inspect(torch.add, leaf(3), 1).notes[0]
    assert "require a gradient" in torch.inspect(torch.add, torch.ones(3), 1).notes[0]


# -- nodes --------------------------------------------------------------------------------------------------------


def test_a_node_shows_its_rule_and_the_operation_it_records():
    x, row = leaf(3, 4), leaf(4)
    y = x * row
    inspection = torch.inspect(y.grad_fn)
    assert inspection.subject == "MulBackward0, output [3, 4] float32"
    assert stages(inspection)[:2] == [("mul", "forward"), ("mul_backward", "backward")]
    assert ("fold_columns", "backward") in stages(inspection)  # which undoes the broadcasting
    assert x.grad is None
    y.sum().backward()
    assert x.grad.tolist() == [row.tolist()] * 3


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x * 2.0, ["mul", "mul_backward"]),
        (lambda x: x + 1.0, ["add"]),  # the node saves nothing
        (lambda x: x.sum(), ["fold_rows"]),
        (lambda x: torch.softmax(x, 0), ["softmax_rows", "softmax_backward_rows"]),
        (lambda x: torch.cat([x, x]), ["join_rows"]),
        (lambda x: x[1:], ["copy"]),
    ],
)
def test_the_kernels_of_forward_are_those_of_its_plan(function, expected):
    inspection = torch.inspect(function(leaf(6)).grad_fn)
    assert [kernel.name for kernel in inspection.kernels] == expected


@pytest.mark.parametrize("columns", [3, 300])
def test_a_plan_says_what_forward_must_read_and_write(columns):
    x = torch.ones(columns, 4, requires_grad=True)
    forward, backward = torch.inspect((x.t() * torch.ones(4, columns)).grad_fn)
    assert forward.bytes == 4 * 3 * x.numel()
    assert forward.types["out"] == "array(float32, 1d, C)"
    assert "nest" in forward.types  # as it ran, on a transposed tensor
    assert f"  {x.numel():,} elements, not run here: reads " in str(forward)
    assert forward.time is None
    assert backward.time > 0


def test_a_backward_of_ones_own_is_run_once():
    calls = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            calls.append(grad.tolist())
            return grad * 2

    inspection = torch.inspect(Double.apply(leaf(2)).grad_fn)
    assert stages(inspection) == [("mul", "backward")]
    assert "does not record an operation of the table" in inspection.notes[0]
    assert calls == [[1.0, 1.0]]


def test_a_freed_node_says_so():
    y = leaf(3).exp()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward freed the values that ExpBackward0 saved"):
        torch.inspect(y.grad_fn)


# -- other subjects -----------------------------------------------------------------------------------------------


def test_a_kernel_of_the_store_is_shown_without_a_run(addition):
    (kernel,) = torch.inspect(addition.kernel)
    assert kernel.python == addition.python
    assert kernel.time is kernel.bytes is kernel.bandwidth is None
    assert "add\n" in str(kernel)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("tanh", "tanh"), ("cumsum", "cumsum_short_rows"), ("linear", "products"),
        ("entr", "entr"), ("gelu", "gelu_op"), ("vector_norm", "fold_rows"),  # of special, functional, linalg
        ("sum_all", "fold_rows"), ("mse_backward", "mse_backward"), ("clamp_op", "clamp_op"),  # only in the table
        ("floor_divide", "floor_quotient"), ("tanh_", "tanh"), ("clamp_", "clamp_op"),  # which need a detached one
    ],
)
def test_an_operation_is_tried_on_an_example(name, kernel):
    assert inspect_example(name, 400).kernels[0].name == kernel


@pytest.mark.parametrize(
    ("subject", "args", "error", "message"),
    [
        ("tanhh", (), ValueError, "no operation 'tanhh': tanh"),
        ("entrr", (), ValueError, "no operation 'entrr': entr"),
        ("__doc__", (), ValueError, "no operation '__doc__'"),
        ("einsum", (), TypeError, r"no example for einsum .*numgrad\.inspect\(einsum, \.\.\.\)"),
        (leaf(2), (), TypeError, "takes a tensor's grad_fn"),
        (leaf(2).sum().grad_fn, (1,), TypeError, "a SumBackward0 takes no arguments"),
        (leaf(2).sum().grad_fn.next_functions[0][0], (), TypeError, "the end of a path"),
        (3, (), TypeError, "a int has no kernels"),
        (torch.autograd.Function, (leaf(2),), TypeError, "class Function .* a Function's apply"),
    ],
)
def test_what_cannot_be_inspected_is_named(subject, args, error, message):
    with pytest.raises(error, match=message):
        torch.inspect(subject, *args)


def test_what_numpy_does_is_shown_without_a_text():
    (kernel,) = torch.inspect(torch.sort, torch.ones(5, 400)).kernels
    assert (kernel.name, kernel.bytes) == ("numpy.argsort", 8000 + 8000 + 16000)
    assert "NumPy's own machine code" in str(kernel)
    with pytest.raises(AttributeError, match="NumPy's own machine code"):
        kernel.python  # noqa: B018


def test_ptx_says_which_package_makes_it(addition, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "numgrad_kernels.cuda.adapter", raising=False)
    with pytest.raises(ImportError, match=r"\[cuda\]"):
        addition.ptx  # noqa: B018
    assert "none: kernels for GPUs need the package numba-cuda" in torch.inspect(addition.kernel).text("ptx")


def test_ptx_of_a_pointwise_kernel(addition):
    assert ".visible .entry kernel(" in addition.ptx
    assert "add.f32" in addition.ptx


def test_kernels_written_for_the_cpu_have_no_ptx_yet():
    kernel = torch.inspect(torch.sum, torch.ones(10)).kernels[0]
    for section in ("cuda", "ptx"):
        with pytest.raises(NotImplementedError, match="fold_rows is written by hand for the CPU"):
            getattr(kernel, section)


def test_a_pointwise_kernel_has_a_text_for_gpus(addition):
    assert "i, step = uint64(cuda.grid(1)), uint64(cuda.gridsize(1))" in addition.cuda
    assert addition.cuda.splitlines()[-1].strip() == "i += step"


# -- how it is shown ----------------------------------------------------------------------------------------------


def test_the_text_has_the_sections_that_are_asked_for():
    inspection = torch.inspect(torch.add, torch.ones(70), torch.ones(70))
    text = str(inspection)
    assert text == repr(inspection) == inspection.text("python", "loop")
    assert text.startswith("add([70] float32, [70] float32)\n(Neither its arguments")
    assert "  70 elements in " in text
    assert "reads 560 bytes, writes 280 bytes" in text
    assert "def kernel(input, other, out):" in text
    assert f"main loop, {inspection[0].vectors}" in text
    assert "define " not in text
    assert "define " in inspection.text("llvm")
    assert "def kernel" not in inspection.text("assembly")
    with pytest.raises(ValueError, match="no section 'asm': there are python"):
        inspection.text("asm")


def test_html_unfolds_and_runs_nothing():
    inspection = torch.inspect(torch.tanh, leaf(30))
    html = inspection._repr_html_()
    assert "<script" not in html
    assert html.count("<details") > 2 * 5
    assert "<b>def</b> kernel(input, out):" in html
    assert '<span class="vector">' in html
    assert "&lt;lambda&gt;" in torch.inspect(lambda: torch.ones(3))._repr_html_()
    assert "<b>tanh, forward</b>" in inspection[0]._repr_html_()


# -- assembly -----------------------------------------------------------------------------------------------------

X86 = """
\t.text
\t.globl\twrapper
_ZN7cpython8wrapper:
.LBB0_1:
\tvaddps\t%zmm1, %zmm1, %zmm1
\tvaddps\t%zmm1, %zmm1, %zmm1
\tjne\t.LBB0_1
\tretq
work:
\txorl\t%eax, %eax
\tje\t.LBB1_4
.LBB1_1:
\tmovl\t$3, %ecx
.LBB1_2:
\tvmovups\t(%rdi,%rax,4), %ymm0      # a comment
\tvaddps\t(%rsi,%rax,4), %ymm0, %ymm0
\tvmovups\t%ymm0, (%rdx,%rax,4)
\taddq\t$8, %rax
\tjne\t.LBB1_2
.LBB1_3:
\tvaddss\t%xmm1, %xmm2, %xmm1
\tvpmaxsd\t%xmm1, %xmm2, %xmm1
\tjne\t.LBB1_3
\tjne\t.LBB1_1
.LBB1_4:
\tretq
.Lfunc_end1:
\t.size\twork, .Lfunc_end1-work
"""

ARM = """
work:
\tcbz\tx0, .LBB0_2
.LBB0_1:
\tldp\tq0, q1, [x1], #32
\tfadd\tv0.4s, v0.4s, v1.4s
\tstr\tq0, [x2], #16
\tsubs\tx0, x0, #8
\tb.ne\t.LBB0_1
.LBB0_2:
\tret
"""


def test_the_main_loop_of_x86_code_is_found():
    name, loop = main_loop(X86)
    assert name == "work"  # the function that prepares the arguments is left out
    assert loop.lines[0] == ".LBB1_2:"
    assert loop.lines[1] == "    vmovups      (%rdi,%rax,4), %ymm0"
    assert (loop.bits, loop.registers) == (256, {256: 3, 0: 2})
    assert loop.depth == 1
    assert ".size" not in function_of(X86, name)


def test_single_numbers_in_vector_registers_are_distinguished_from_vectors():
    (other,) = [loop for loop in loops(functions(X86)["work"]) if loop.lines[0] == ".LBB1_3:"]
    assert other.registers == {128: 1, 0: 2}


def test_the_main_loop_of_arm_code_is_found():
    name, loop = main_loop(ARM)
    assert (name, loop.bits, loop.registers) == ("work", 128, {128: 3, 0: 2})


def test_what_the_main_loop_does_not_show_is_said():
    loop = main_loop(X86.replace("addq\t$8, %rax", "callq\t*%rbx"))[1]
    assert (loop.calls, main_loop(X86)[1].calls) == (1, 0)
    assert widest(X86, "work") == 256
    assert widest(X86.replace("\txorl\t%eax, %eax", "\tvaddps\t(%rdi), %zmm0, %zmm0"), "work") == 512


def test_numbas_names_are_shortened(addition):
    assert addition.assembly.startswith("kernel:\n")
    assert "@kernel(" in addition.llvm.splitlines()[0]
    assert readable("call _ZN9something4elseE") == "call _ZN9something4elseE"
