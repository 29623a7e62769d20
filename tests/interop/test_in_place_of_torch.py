"""Programs with ``import torch`` run with numgrad in its place; and names that are there without an effect."""

import subprocess
import sys
import types

import pytest

import numgrad
from numgrad import nn

PROGRAM = """
import sys

import torch
import torch.backends.cudnn as cudnn
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Function, Variable
from torch.cuda.amp import GradScaler, autocast
from torch.nn.modules.utils import _pair
from torch.nn.parallel import DataParallel
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

cudnn.benchmark = True
torch.manual_seed(0)
assert nn.Linear is torch.nn.Linear and F.relu is nn.functional.relu
print(sys.argv[1:], torch.__version__ > "2", torch.ones(2).dtype, _pair(3), __name__)
print(hasattr(torch, "hash_tensor"))
"""


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


def _run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "numgrad", "run", *map(str, arguments)], capture_output=True, text=True, cwd=cwd
    )


def test_a_program_is_run_with_its_arguments_and_missing_functions_are_reported(program):
    done = _run(program, "--epochs", "3")
    assert done.stdout == "['--epochs', '3'] True torch.float32 (3, 3) __main__\nFalse\n"
    assert done.stderr == "numgrad lacks names that the program used: torch.hash_tensor\n"
    assert done.returncode == 0


def test_the_processes_that_a_program_starts_have_numgrad_too(tmp_path):
    file = tmp_path / "program.py"
    file.write_text("""
import torch
from torch.multiprocessing import get_context
if __name__ == "__main__":
    with get_context("spawn").Pool(1) as pool:
        print(pool.apply(eval, ["__import__('torch').nn.Linear"]) is torch.nn.Linear)
""")
    done = _run(file)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_module_is_run_and_its_error_shown(program):
    with program.open("a") as file:
        file.write("import torch.contrib\n")
    done = _run("-m", "program", cwd=program.parent)
    assert "ModuleNotFoundError: No module named 'torch.contrib'" in done.stderr
    assert done.stderr.endswith("numgrad lacks names that the program used: torch.contrib, torch.hash_tensor\n")
    assert done.returncode == 1


@pytest.fixture
def without_torch(monkeypatch):
    """Remove PyTorch from the imported modules, whatever other tests did."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)


def test_earlier_modules_are_restored(without_torch):
    finders = list(sys.meta_path)
    with numgrad.install_as_torch() as torch:
        assert "ones" not in vars(torch)
        assert torch.ones is vars(torch)["ones"] is numgrad.ones
        from torch.nn import functional

        assert functional is numgrad.nn.functional
        with numgrad.install_as_torch():
            pass
        import torch.optim

        assert torch.optim is numgrad.optim
    assert sys.meta_path == finders
    assert not any(name.partition(".")[0] == "torch" for name in sys.modules)
    assert numgrad.nn.__name__ == numgrad.nn.__spec__.name == "numgrad.nn"


def test_the_real_one_is_not_replaced(without_torch, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    with pytest.raises(RuntimeError, match="PyTorch has been imported already"):
        numgrad.install_as_torch()


# -- names that pass through -----------------------------------------------------------------------------------------


def test_it_is_said_once_that_scripts_run_as_they_are(monkeypatch):
    monkeypatch.setattr("numgrad.compiler._issued", set())
    module = nn.Linear(2, 2)
    with pytest.warns(UserWarning, match="numgrad compiles each operation") as said:
        assert [numgrad.jit.script(module) for _ in range(2)] == [module, module]
    assert len(said) == 1


def test_decorators_give_functions_back():
    def double(x):
        return 2 * x

    for decorate in (
        numgrad.compile(disable=True), numgrad.compiler.allow_in_graph, numgrad.compiler.assume_constant_result,
        numgrad.jit.ignore, numgrad.jit.unused, numgrad.jit.ignore(drop=True), numgrad.jit.script_if_tracing,
    ):
        assert decorate(double) is double
    assert not any(ask() for ask in (numgrad.compiler.is_compiling, numgrad.jit.is_scripting, numgrad.jit.is_tracing))
    assert numgrad.jit.wait(numgrad.jit.fork(double, 3)) == 6
    with pytest.raises(RuntimeError, match="Either mode or options"):
        numgrad.compile(double, mode="default", options={})


@pytest.mark.parametrize(("value", "type", "is_one"), [
    (1, int, True), (None, None, True), (1, (str, int), True), (1, str | None, False), ([1], list[int] | None, True),
    ([1], list[str], False), ([[1]], list[list[str]], False), ((1, "a"), tuple[int, str], True),
    ((1, 2), tuple[int], False), ((1, 2), tuple[int, ...], True), ({"a": 1}, dict[str, int], True),
    ({"a": 1}, dict[str, float], False),
])  # fmt: skip
def test_tensors_in_containers_are_found_too(value, type, is_one):
    assert numgrad.jit.isinstance(value, type) is is_one


def test_torchscript_is_refused():
    for call in (numgrad.jit.save, numgrad.jit.load):
        with pytest.raises(NotImplementedError, match=r"numgrad has no TorchScript: .* state_dict"):
            call(None, "file")


def test_data_parallel_calls_its_module():
    inner = nn.Linear(2, 3)
    outer = nn.DataParallel(inner)
    x = numgrad.ones(4, 2)
    assert numgrad.equal(outer(x), inner(x))
    state = outer.state_dict()
    assert list(state) == ["module.weight", "module.bias"]
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    inner.load_state_dict(state)
    with pytest.raises(NotImplementedError, match="on one GPU, not on 2"):
        nn.DataParallel(inner, device_ids=[0, 1])
    with pytest.raises(ValueError, match="call init_process_group"):
        nn.parallel.DistributedDataParallel(inner)


def test_kinds_of_attention_are_checked():
    kinds = nn.attention.SDPBackend
    with nn.attention.sdpa_kernel([kinds.MATH, kinds.FLASH_ATTENTION]):
        pass
    with pytest.raises(TypeError, match="expects SDPBackend"), nn.attention.sdpa_kernel("math"):
        pass
