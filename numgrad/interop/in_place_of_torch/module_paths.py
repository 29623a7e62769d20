"""Modules of PyTorch that libraries import and that numgrad has elsewhere, or lacks.

Their names are looked up on first use.  A module that numgrad lacks can be imported, too, because libraries import it
for classes in annotations or for functions that few programs call; its names raise an error when they are used.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, NamedTuple

from .refusals import refusing

__all__ = ["has_module", "make_module"]

_HERE = "interop.in_place_of_torch"


class _Contents(NamedTuple):
    """Contents of a module: the modules of numgrad that define its names, and what numgrad has instead of others."""

    sources: tuple[str, ...] = ()
    lacking: str = ""


def _found_in(*sources: str) -> _Contents:
    return _Contents(sources)


_FUNC = _found_in("func", "utils._pytree")
_DYNAMO = _found_in(f"{_HERE}.dynamo", "compiler")
_PLACEMENTS = _Contents((f"{_HERE}.placements",), "sharded tensors")
_SETTINGS = _found_in(f"{_HERE}.dynamo")

_LAUNCHER = "launcher of processes: MPI starts them"

#: The modules by PyTorch's names.
_MODULES = {
    "torch._C": _found_in(f"{_HERE}.internals", ""),
    "torch._C._nn": _found_in(f"{_HERE}.internals", "nn.functional"),
    "torch._C._functorch": _found_in(f"{_HERE}.batched_tensors"),
    "torch.__config__": _found_in(f"{_HERE}.config"),
    "torch._VF": _found_in("native_functions", ""),
    "torch._dynamo": _DYNAMO,
    "torch._dynamo.config": _SETTINGS,
    "torch._dynamo.decorators": _DYNAMO,
    "torch._dynamo.eval_frame": _DYNAMO,
    "torch._functorch": _FUNC,
    "torch._functorch.apis": _FUNC,
    "torch._functorch.config": _SETTINGS,
    "torch._functorch.eager_transforms": _FUNC,
    "torch._functorch.functional_call": _FUNC,
    "torch._functorch.vmap": _FUNC,
    "torch._inductor.config": _SETTINGS,
    "torch._jit_internal": _found_in("jit", f"{_HERE}.internals"),
    "torch._tensor": _found_in(""),
    "torch._tensor_str": _Contents(("tensors.printing",), "parts of the text of a tensor: see repr"),
    "torch._utils": _found_in(f"{_HERE}.internals"),
    "torch.distributed.constants": _found_in("distributed.groups"),
    "torch.distributed.distributed_c10d": _found_in("distributed"),
    "torch.distributed.elastic.multiprocessing.errors": _Contents((f"{_HERE}.internals",), _LAUNCHER),
    "torch.distributed.optim": _Contents((), "optimizers of parameters that are spread over processes"),
    "torch.distributed.rpc": _found_in(f"{_HERE}.rpc"),
    "torch.distributed.tensor": _PLACEMENTS,
    "torch.distributed.tensor.placement_types": _PLACEMENTS,
    "torch.functional": _found_in(""),
    "torch.fx": _Contents((f"{_HERE}.tracing",), "symbolic traces"),
    "torch.library": _Contents((f"{_HERE}.library",), "registration of operators by schemas"),
    "torch.mps": _Contents(("backends.mps",), "backend for Apple's GPUs"),
    "torch.onnx": _Contents((f"{_HERE}.tracing",), "export to ONNX"),
    "torch.nn._reduction": _found_in(f"{_HERE}.internals"),
    "torch.ops": _found_in(f"{_HERE}.operators"),
    "torch.overrides": _Contents((f"{_HERE}.overrides",), "modes that intercept functions"),
    "torch.storage": _Contents(("tensors.storage",), "storages as classes of their own"),
    "torch.torch_version": _found_in(f"{_HERE}.torch_version"),
    "torch.utils.cpp_extension": _Contents((), "extensions in C++"),
    "torch.utils._foreach_utils": _found_in(f"{_HERE}.internals"),
    "torch.utils._python_dispatch": _Contents((f"{_HERE}.internals",), "modes that intercept operations"),
    "torch.utils.bottleneck": _Contents((), "profiles of whole scripts: see autograd.profiler"),
    "torch.utils.collect_env": _Contents((), "description of the environment: see python -m numgrad info"),
    "torch.utils.data._utils": _found_in("utils.data"),
    "torch.utils.data._utils.collate": _found_in("utils.data.collate"),
    "torch.utils.data._utils.fetch": _found_in("utils.data.fetching"),
    "torch.utils.data._utils.worker": _found_in("utils.data.worker_info"),
    "torch.utils.data.datapipes": _Contents(("utils.data.datapipes",), "data pipes"),
    "torch.utils.data.datapipes.iter": _Contents(("utils.data.pipes", "utils.data.datapipes"), "data pipes"),
    "torch.utils.model_zoo": _found_in(f"{_HERE}.internals"),
    "torch.utils._contextlib": _found_in("autograd.grad_mode"),
    "torch.xpu": _Contents(("backends.mps",), "backend for Intel's GPUs"),
}

#: Packages all of whose modules are importable, and what numgrad has not in their place.
_PACKAGES = {
    "torch._dynamo": "compiler of bytecode",
    "torch._export": "export of programs",
    "torch._higher_order_ops": "symbolic traces",
    "torch._guards": "symbolic traces",
    "torch._inductor": "code generation by Inductor",
    "torch._ops": "registration of operators by schemas",
    "torch._prims": "symbolic traces",
    "torch._prims_common": "symbolic traces",
    "torch._refs": "symbolic traces",
    "torch._subclasses": "fake tensors",
    "torch.ao": "quantization",
    "torch.cuda.comm": "collective communication",
    "torch.cuda.nccl": "collective communication",
    "torch.distributed._composable": "sharded modules",
    "torch.distributed._functional_collectives": "collective communication as functions",
    "torch.distributed._shard": "sharded tensors",
    "torch.distributed._tensor": "sharded tensors",
    "torch.distributed.algorithms._checkpoint": "modules that wrap others to be computed again",
    "torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook": "compression by PowerSGD: see default_hooks",
    "torch.distributed.algorithms.model_averaging": "averages of parameters between steps",
    "torch.distributed.autograd": "gradients through remote calls",
    "torch.distributed.checkpoint": "checkpoints of sharded modules",
    "torch.distributed.device_mesh": "meshes of processes: see new_group",
    "torch.distributed.elastic": _LAUNCHER,
    "torch.distributed.launcher": _LAUNCHER,
    "torch.distributed.run": _LAUNCHER,
    "torch.distributed.fsdp": "sharded modules",
    "torch.distributed.pipelining": "pipelines of modules",
    "torch.distributed.tensor": "sharded tensors",
    "torch.export": "export of programs",
    "torch.fx": "symbolic traces",
    "torch.masked": "masked tensors",
    "torch.nested": "nested tensors",
    "torch.nn.attention.bias": "biases as tensors",
    "torch.nn.attention.flex_attention": "attention by functions of scores",
    "torch.nn.parallel.scatter_gather": "batches that are spread over GPUs",
    "torch.nn.intrinsic": "quantization",
    "torch.nn.qat": "quantization",
    "torch.nn.quantizable": "quantization",
    "torch.nn.quantized": "quantization",
    "torch.package": "packages of code",
    "torch.quantization": "quantization",
    "torch.sparse": "sparse tensors",
    "torch.testing._internal": "parts of PyTorch's own tests",
    "torch.utils.data.datapipes": "data pipes",
    "torch.utils.flop_counter": "counter of operations",
    "torch.utils.mobile_optimizer": "TorchScript",
    "torch.utils.module_tracker": "counter of operations",
    "torch.utils.weak": "dictionaries of tensors by weak references: see the module weakref",
}


def has_module(fullname: str) -> bool:
    """Return True for a module of these tables."""
    return fullname in _MODULES or _lacking(fullname) is not None


def _lacking(fullname: str) -> str | None:
    """Return what numgrad lacks of the package to which a module belongs; None for a module of no such package."""
    while "." in fullname:
        if fullname in _PACKAGES:
            return _PACKAGES[fullname]
        fullname = fullname.rpartition(".")[0]
    return None


def make_module(fullname: str) -> ModuleType:
    """Return a module of these tables."""
    sources, lacking = _MODULES.get(fullname) or _Contents((), _lacking(fullname) or "")
    module = ModuleType(fullname, f"Names of PyTorch's {fullname}, in numgrad.")
    module.__path__ = []  # submodules are found by the finder of torch

    def attribute(name: str) -> Any:
        if not name.startswith("__"):
            for source in sources:
                origin = importlib.import_module(f"numgrad.{source}".rstrip("."))
                if hasattr(origin, name):
                    value = vars(module)[name] = getattr(origin, name)
                    return value
            if f"{fullname}.{name}" in _MODULES or f"{fullname}.{name}" in _PACKAGES:
                return importlib.import_module(f"{fullname}.{name}")
            if lacking:
                value = vars(module)[name] = refusing(fullname, name, lacking)
                return value
        raise AttributeError(f"module '{fullname}' has no attribute '{name}'")

    module.__getattr__ = attribute  # type: ignore[method-assign]
    return module
