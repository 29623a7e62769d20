"""Numgrad: PyTorch's define-by-run autograd on Numba.

Python records the graph, and kernels compiled by Numba run every forward and backward step.  The public names are
PyTorch's: ``import numgrad as torch``.
"""

import gc as _gc

_collects = _gc.isenabled()
_gc.disable()  # imported objects stay alive, and the collector would traverse all of Numba and free nothing

from math import e, inf, nan, pi
from os import environ as _environ
from typing import TYPE_CHECKING

from . import autograd, random
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .core.deterministic import (
    are_deterministic_algorithms_enabled,
    is_deterministic_algorithms_warn_only_enabled,
    use_deterministic_algorithms,
)
from .core.device import get_default_device, set_default_device
from .core.missing import found_later as _found_later
from .core.missing import say_what_is_missing as _say_what_is_missing
from .core.types import (
    Size,
    bfloat16,
    channels_last,
    channels_last_3d,
    complex64,
    complex128,
    contiguous_format,
    device,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    jagged,
    layout,
    memory_format,
    preserve_format,
    set_default_dtype,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .core.types import bool_ as bool
from .foreach import *  # noqa: F403 - functions of lists of tensors
from .ops import public_functions as _public_functions
from .ops.network.weight_normalization import weight_norm as _weight_norm  # noqa: F401 - PyTorch has it, too
from .random import Generator, default_generator, initial_seed, manual_seed, seed
from .tensors.printing import set_printoptions
from .tensors.tensor import Tensor

# Operations are exported where they are defined (``numgrad.ops``).
globals().update(_public_functions)
_say_what_is_missing(Tensor)

from .interop import numpy_functions as _numpy_functions  # noqa: F401 - these two need the operations
from .interop.interchange import from_dlpack, to_dlpack

__version__ = "0.1.0"

newaxis = None
float, double, half = float32, float64, float16
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128

#: Functions that ``nn.functional`` has with other signatures.
_NATIVE = [
    "affine_grid_generator", "batch_norm", "binary_cross_entropy_with_logits", "constant_pad_nd", "conv_tbc",
    "convolution", "cosine_embedding_loss", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "gru", "gru_cell",
    "hinge_embedding_loss", "instance_norm", "kl_div", "lstm", "lstm_cell", "margin_ranking_loss",
    "native_batch_norm", "native_layer_norm", "poisson_nll_loss", "rnn_relu", "rnn_relu_cell", "rnn_tanh",
    "rnn_tanh_cell", "triplet_margin_loss",
]

#: Settings and their getters.
_SETTINGS = [
    "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads", "init_num_threads",
    "is_warn_always_enabled", "set_default_tensor_type", "set_float32_matmul_precision", "set_flush_denormal",
    "set_num_interop_threads", "set_num_threads", "set_warn_always", "typename",
]

_AUTOCAST = [
    "clear_autocast_cache", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
    "set_autocast_dtype", "set_autocast_enabled",
]

#: Classes of symbolic numbers, which refuse to be used.
_SYMBOLIC = ["SymBool", "SymFloat", "SymInt"]

__all__ = [
    "Generator", "GradScaler", "OutOfMemoryError", "Size", "Tensor", "accelerator", "amp",
    "are_deterministic_algorithms_enabled", "asarray", "autocast", "autograd", "backends", "bfloat16", "bool",
    "cdouble", "cfloat", "channels_last", "channels_last_3d", "compile", "compiler", "complex128", "complex64",
    "contiguous_format", "cuda", "data", "default_generator", "derivative", "device", "differentiable", "distributed",
    "distributions", "double", "dtype", "e", "enable_grad", "explain", "fft", "finfo", "float", "float16", "float32",
    "float64", "from_dlpack", "frombuffer", "func", "futures", "get_default_device", "get_default_dtype", "half", "hub",
    "iinfo", "inf", "inference_mode", "initial_seed", "inspect", "install_as_torch", "int", "int16", "int32", "int64",
    "int8", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_deterministic_algorithms_warn_only_enabled",
    "is_grad_enabled", "is_inference_mode_enabled", "jagged", "jit", "layout", "linalg", "load", "long", "manual_seed",
    "memory_format", "multiprocessing", "nan", "newaxis", "nn", "no_grad", "optim", "pi", "preserve_format", "profiler",
    "quasirandom", "random", "save", "scalar", "seed", "set_anomaly_enabled", "set_default_device", "set_default_dtype",
    "set_grad_enabled", "set_printoptions", "short", "signal", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc",
    "sparse_csr", "special", "strided", "to_dlpack", "types", "uint16", "uint32", "uint64", "uint8",
    "use_deterministic_algorithms", "utils", "vectorize", "version", "viz", "vmap",
    *_AUTOCAST,
    *_NATIVE,
    *_SETTINGS,
    *_SYMBOLIC,
    *[name for name in _public_functions if not name.startswith("_")],
]

#: Names imported on first access, to keep ``import numgrad`` fast: modules, and names with the module that defines
#: them.
_MODULES = [
    "_vmap_internals", "accelerator", "amp", "array_api", "backends", "compiler", "cuda", "data", "distributed",
    "distributions", "fft", "func", "futures", "hub", "jit", "linalg", "multiprocessing", "nn", "optim", "profiler",
    "quasirandom", "scalar", "serialization", "signal", "special", "testing", "types", "utils", "version", "viz",
]
_LATER = {
    **{name: name for name in _MODULES},
    "GradScaler": "amp", "OutOfMemoryError": "cuda", "asarray": "interop.array_data", "autocast": "amp",
    "compile": "compiler", "derivative": "adjoints", "differentiable": "adjoints",
    "explain": "viz.explanation", "frombuffer": "interop.array_data",
    "inspect": "viz.inspection", "install_as_torch": "interop.in_place_of_torch",
    "load": "serialization", "save": "serialization",
    "vectorize": "adjoints", "vmap": "func",
    **dict.fromkeys(_SYMBOLIC, "interop.in_place_of_torch.refusals"),
    **dict.fromkeys(_AUTOCAST, "amp.autocast_mode"),
    **dict.fromkeys(_NATIVE, "native_functions"),
    **dict.fromkeys(_SETTINGS, "settings"),
}

if TYPE_CHECKING:
    from . import (
        accelerator,
        amp,
        backends,
        compiler,
        cuda,
        data,
        distributed,
        distributions,
        fft,
        func,
        futures,
        hub,
        jit,
        linalg,
        multiprocessing,
        nn,
        optim,
        profiler,
        quasirandom,
        scalar,
        signal,
        special,
        types,
        utils,
        version,
        viz,
    )
    from . import serialization as serialization
    from . import testing as testing
    from .adjoints import differentiable
    from .adjoints.derivatives import derivative
    from .adjoints.vectorized import vectorize
    from .amp import GradScaler, autocast
    from .amp.autocast_mode import *  # noqa: F403 - settings of autocast
    from .compiler import compile
    from .cuda import OutOfMemoryError
    from .interop.array_data import asarray, frombuffer
    from .interop.in_place_of_torch import install_as_torch
    from .native_functions import *  # noqa: F403 - functions that ``nn.functional`` has with other signatures
    from .ops.signatures import *  # noqa: F403 - functions made by the op table
    from .serialization import load, save
    from .settings import *  # noqa: F403 - settings
    from .viz.explanation import explain
    from .viz.inspection import inspect

    vmap = func.vmap

else:
    __getattr__, __dir__ = _found_later(globals(), "torch", _LATER)

if "NUMGRAD_DEBUG" in _environ:
    from .viz.debugging import start as _start_debugging

    _start_debugging()

if _collects:
    if not _gc.get_freeze_count():
        _gc.freeze()  # the two move all objects to the oldest generation, so that the next collection skips them
        _gc.unfreeze()
    _gc.enable()
