"""Modules of PyTorch that libraries import, in numgrad's modules or with names that refuse to be used."""

import abc
import copy
import importlib
import sys
from pathlib import Path

import pytest

import numgrad
from numgrad.interop.in_place_of_torch.module_paths import _MODULES, _PACKAGES
from numgrad.interop.in_place_of_torch.torch_version import TorchVersion


@pytest.fixture
def torch(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    with numgrad.install_as_torch() as torch:
        yield torch


def test_every_module_is_importable_and_an_attribute_of_the_one_above(torch):
    others = ["torch.fx.passes.shape_prop", "torch.utils._pytree", "torch.nn.utils.stateless"]
    for name in [*_MODULES, *_PACKAGES, *others]:
        module = importlib.import_module(name)
        above, _, last = name.rpartition(".")
        assert getattr(sys.modules[above], last) is module is sys.modules[name]


def test_names_come_from_where_numgrad_has_them(torch):
    importlib.import_module("torch.utils.model_zoo")
    for name, here in {
        "functional.einsum": numgrad.einsum, "_functorch.eager_transforms.jacrev": numgrad.func.jacrev,
        "_dynamo.is_compiling": numgrad.compiler.is_compiling, "_jit_internal.ignore": numgrad.jit.ignore,
        "_C._nn.gelu": numgrad.nn.functional.gelu, "_C.Generator": numgrad.Generator,
        "utils.model_zoo.load_url": numgrad.hub.load_state_dict_from_url, "SymInt": numgrad.SymInt,
        "distributed.nn.functional.all_reduce": numgrad.distributed.nn.functional.all_reduce,
        "Future": numgrad.futures.Future, "futures.wait_all": numgrad.futures.wait_all,
        "UntypedStorage": type(numgrad.ones(1).untyped_storage()),
        "jit._overload": numgrad.jit._overload, "_jit_internal._overload_method": numgrad.jit._overload,
        "optim.lr_scheduler._LRScheduler": numgrad.optim.lr_scheduler.LRScheduler,
    }.items():
        value = torch
        for part in name.split("."):
            value = getattr(value, part)
        assert value is here
    errors = importlib.import_module("torch.distributed.elastic.multiprocessing.errors")
    assert errors.record(torch.relu) is torch.relu
    assert torch._C._get_tracing_state() is None
    assert not hasattr(torch._C, "no_such_name")
    assert type(torch.ones(1)).__module__ == type(torch.Generator()).__module__ == "torch"


def test_from_finds_modules_below_those_of_numgrad(torch, monkeypatch):
    for module, name in [(numgrad.utils, "model_zoo"), (numgrad.nn.attention, "flex_attention")]:
        monkeypatch.delattr(module, name, raising=False)  # set by other tests' imports
        monkeypatch.delitem(sys.modules, f"{module.__name__}.{name}", raising=False)
    from torch.nn.attention import flex_attention
    from torch.utils import model_zoo

    assert model_zoo is sys.modules["torch.utils.model_zoo"]
    assert flex_attention is sys.modules["torch.nn.attention.flex_attention"]
    with pytest.raises(ImportError, match=r"cannot import name 'no_such_module' from 'numgrad\.utils'"):
        from torch.utils import no_such_module  # noqa: F401


def test_devices_of_other_makers_are_not_available(torch):
    assert not torch.xpu.is_available()
    assert not torch.mps.is_available()


def test_tensors_are_grouped_by_device_and_dtype(torch):
    from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype as grouped

    x, y, z = torch.ones(1), torch.ones(1, dtype=torch.float64), torch.ones(2)
    cpu = torch.device("cpu")
    assert grouped([[x, y, z], [None, y, x]], True) == {
        (cpu, torch.float32): ([[x, z], [None, x]], [0, 2]), (cpu, torch.float64): ([[y], [y]], [1]),
    }


def test_missing_names_can_be_mentioned_but_not_used(torch):
    from torch.futures import Future
    from torch.fx import GraphModule, Tracer, wrap

    class Own(Tracer):
        pass

    assert wrap("len") == "len"
    assert not isinstance(torch.nn.Linear(1, 1), GraphModule)
    with pytest.raises(NotImplementedError, match=r"torch\.fx\.Tracer: numgrad has no symbolic traces"):
        Own()
    with pytest.raises(NotImplementedError, match=r"torch\.distributed\.optim\.\w*: numgrad has no optimizers"):
        importlib.import_module("torch.distributed.optim").ZeroRedundancyOptimizer([])
    assert issubclass(GraphModule, torch.nn.Module)
    assert Future[int].__origin__ is Future
    assert not isinstance(3, torch.SymInt | torch.SymFloat | torch.SymBool)


def test_classes_override_functions(torch):
    class Logged:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return NotImplemented if args[1:] else (function, types, args)

    @torch.overrides.wrap_torch_function(lambda *args: args)
    def double(x, *rest):
        return 2 * x

    x = Logged()
    assert double(3) == 6
    assert double(x) == (double, (Logged,), (x,))
    with pytest.raises(TypeError, match=r"no implementation found for '.*double' on types that implement"):
        double(x, 1)
    assert torch.overrides.is_tensor_like(x)
    assert not torch.overrides.has_torch_function((torch.ones(1), 2))


def test_functions_become_operations_with_a_gradient(torch):
    @torch.library.custom_op("tests::scaled", mutates_args=())
    def scaled(x: numgrad.Tensor, by: float = 2.0) -> numgrad.Tensor:
        return x.detach() * by

    def save(ctx, inputs, output):
        ctx.by = inputs[1]

    torch.library.register_autograd("tests::scaled", lambda ctx, grad: (grad * ctx.by, None), setup_context=save)
    x = torch.ones(2, requires_grad=True)
    torch.ops.tests.scaled(x, by=3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    relu = torch.ops.aten.relu.default
    assert relu is torch.ops.aten.relu
    assert relu(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert not hasattr(torch.ops.tests, "other")
    with pytest.raises(NotImplementedError, match="'tests::other' is not an operation that custom_op"):
        torch.library.register_autograd("tests::other", None)


def test_the_flag_fullgraph_warns_where_values_are_read(torch):
    @torch.compile(fullgraph=True)
    def shifted(x):
        return x + x.sum().item()

    with pytest.warns(UserWarning, match="item.. needs values"):
        assert shifted(torch.ones(2)).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(("text", "other"), [("2.9.0", "2.13"), ("2.13.0a1", "2.13.0"), ("2.13.0", (2, 13, 1))])
def test_versions_compare_by_their_numbers(text, other):
    version = TorchVersion(text)
    assert version < other
    assert version <= other
    assert not version >= other
    assert version != other
    assert version == text == str(version)


def test_batched_tensors(torch):
    from torch._C import _functorch

    seen = []

    def function(x):
        seen.extend([_functorch.is_batchedtensor(x), _functorch.maybe_get_bdim(x), _functorch.get_unwrapped(x).shape])
        return x

    torch.vmap(function)(torch.ones(3, 2))
    assert seen == [True, 0, (3, 2)]
    assert _functorch.maybe_get_bdim(torch.ones(1)) == -1


def test_names_of_torch_alone(torch):
    assert torch.torch is torch
    assert torch._shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]
    for check, error in (torch._check, RuntimeError), (torch._check_index, IndexError):
        check(True)
        with pytest.raises(error, match="too long"):
            check(False, lambda: "too long")
    with pytest.raises(AssertionError, match="no batch"):
        torch._assert(False, "no batch")
    device, dtype, *others = torch._C._nn._parse_to(torch.float64, memory_format=torch.channels_last)
    assert (device, dtype, others) == (None, torch.float64, [False, torch.channels_last])
    assert torch.jit.TracerWarning.__mro__[1] is Warning


def test_modules_made_on_import_are_forgotten_at_the_end():
    with numgrad.install_as_torch():
        importlib.import_module("torch.utils.cpp_extension")
        assert hasattr(numgrad.utils, "cpp_extension")
    assert not hasattr(numgrad.utils, "cpp_extension")
    assert numgrad.nn.functional is sys.modules["numgrad.nn.functional"]


def test_a_function_of_a_module_that_numgrad_lacks_says_so(torch):
    importlib.import_module("torch.ao")
    with pytest.raises(AttributeError, match=r"^torch\.ao\.quantization\.quantize_dynamic: numgrad has no"):
        torch.ao.quantization.quantize_dynamic  # noqa: B018

    class Both(torch.fx.Interpreter, abc.ABC):
        pass

    with pytest.raises(NotImplementedError, match=r"torch\.fx\.Interpreter: numgrad has no symbolic traces"):
        Both()


def test_tables_name_no_module_that_numgrad_has():
    without_sources = {*_MODULES, *_PACKAGES} - {name for name, contents in _MODULES.items() if contents.sources}
    for name in without_sources:
        path = Path(numgrad.__file__).parent.joinpath(*name.split(".")[1:])
        assert not path.is_dir(), name
        assert not path.with_suffix(".py").exists(), name


def test_dtypes_that_numgrad_lacks_have_limits_and_refuse_to_be_those_of_tensors(torch):
    float8 = torch.float8_e4m3fn
    assert isinstance(float8, torch.dtype)
    assert (str(float8), float8.itemsize) == ("torch.float8_e4m3fn", 1)
    assert {float8: 1, torch.float8_e5m2: 2}[torch.float8_e5m2] == 2
    assert copy.deepcopy(float8) is float8
    assert str(torch.finfo(float8)).startswith("finfo(resolution=1, min=-448, max=448, eps=0.125, smallest_normal=0.01")
    x = torch.ones(2)
    for use in (
        lambda: x.to(float8), lambda: torch.zeros(2, dtype=float8), lambda: torch.nn.Linear(2, 2, dtype=float8),
        lambda: x.view(torch.complex32), lambda: torch.promote_types(float8, torch.float32),
        lambda: torch.set_default_dtype(float8),
    ):
        with pytest.raises(NotImplementedError, match=r"numgrad has no dtype torch\."):
            use()
    assert str(torch.finfo(torch.complex32)) == str(torch.finfo(torch.float16))


def test_classes_are_in_the_modules_where_pytorch_has_them(torch):
    for name in (
        "rnn.LSTMCell", "container.ParameterList", "loss.TripletMarginLoss", "batchnorm.SyncBatchNorm",
        "transformer.Transformer",
    ):
        module, _, cls = name.partition(".")
        assert getattr(importlib.import_module(f"torch.nn.modules.{module}"), cls) is getattr(torch.nn, cls)
    from torch.nn import _reduction
    from torch.nn.modules.dropout import _DropoutNd
    from torch.nn.modules.transformer import _get_activation_fn, _get_clones
    from torch.nn.modules.utils import _list_with_default, _reverse_repeat_tuple

    assert isinstance(torch.nn.Dropout2d(), _DropoutNd)
    assert _get_activation_fn("gelu") is torch.nn.functional.gelu
    first, second = _get_clones(torch.nn.Linear(2, 2), 2)
    assert first is not second
    assert first.weight.equal(second.weight)
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert _list_with_default([None, 3], [7, 8, 9]) == [8, 3]
    assert _reduction.get_enum("sum") == 2
    assert _reduction.legacy_get_string(None, False, emit_warning=False) == "none"


def test_optimizers_written_for_pytorch_find_their_helpers(torch):
    from torch.optim.optimizer import (
        Optimizer,
        _default_to_fused_or_foreach,
        _get_scalar_dtype,
        _get_value,
        _use_grad_for_differentiable,
        _view_as_real,
    )

    class Descent(Optimizer):
        @_use_grad_for_differentiable
        def step(self):
            for param in self.param_groups[0]["params"]:
                param.add_(param.grad, alpha=-0.5)

    x = torch.ones(1, requires_grad=True)
    optimizer = Descent([x], {"differentiable": False})
    x.grad = torch.ones(1)
    optimizer.step()
    assert x.item() == _get_value(x) == 0.5
    assert _default_to_fused_or_foreach([x], differentiable=False) == (False, False)
    assert _get_scalar_dtype() is torch.float32
    params, grads = [torch.ones(1, dtype=torch.complex64), x], [torch.ones(1, dtype=torch.complex64), x]
    _view_as_real(params, grads)
    assert [tuple(tensor.shape) for tensor in params + grads] == [(1, 2), (1,), (1, 2), (1,)]


def test_functions_of_sizes(torch):
    assert (torch.sym_max(3, 2.0), torch.sym_min(3, 4), torch.sym_int(2.7), torch.sym_not(0)) == (3.0, 3, 2, True)
    assert type(torch.sym_max(3, 2.0)) is float


def test_libraries_find_that_there_are_no_remote_calls(torch):
    rpc = importlib.import_module("torch.distributed.rpc")
    assert not rpc.is_available()
    assert not hasattr(rpc, "api")


def test_data_pipes_become_methods(torch):
    pipes = importlib.import_module("torch.utils.data.datapipes.iter")

    @torch.utils.data.functional_datapipe("pairs")
    class Pairs(pipes.Batcher):
        def __init__(self, datapipe):
            super().__init__(datapipe, 2, drop_last=True)

    pipe = pipes.IterableWrapper([3, 1, 2, 5, 4])
    assert list(pipe.pairs().map(max)) == [3, 5]
    assert len(pipe.pairs()) == 2


def test_placements_are_descriptions_without_sharded_tensors(torch):
    placements = importlib.import_module("torch.distributed.tensor")
    assert placements.Shard(0) == placements.Shard(0) != placements.Replicate()
    with pytest.raises(NotImplementedError, match="numgrad has no sharded tensors"):
        placements.DTensor()
