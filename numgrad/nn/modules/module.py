"""Module, the base class of everything with parameters."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar, Self

from ...autograd.accumulation import forget_gradients
from ...autograd.grad_mode import no_grad
from ...autograd.hooks import note_module_change
from ...core.device import to_device
from ...core.display import shown_by
from ...core.formats import check_memory_format
from ...core.types import bfloat16, float16, float32, float64, to_dtype
from ...core.types import device as device_class
from ...core.types import dtype as dtype_class
from ...ops.creation.factories import empty
from ...random import fork_rng
from ...tensors.tensor import Tensor
from ..parameter import Parameter, is_lazy
from .attributes import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .hooks import (
    Hooks,
    every_module,
    next_sequence,
    note_call,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from .state import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX  # libraries import these from here
from .state import ModuleState
from .state import _IncompatibleKeys as _IncompatibleKeys

__all__ = [
    "Module", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


class Module(ModuleState, Hooks):
    """A part of a model, with parameters of its own or of its submodules.

    A subclass calls ``super().__init__()``, assigns parameters and modules to attributes, and defines ``forward``.

    Example:
        >>> import numgrad
        >>> from numgrad import nn
        >>> class Line(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.slope = nn.Parameter(numgrad.tensor(2.0))
        ...     def forward(self, x):
        ...         return self.slope * x
        >>> line = Line()
        >>> line(numgrad.tensor([1.0, 3.0]))
        tensor([2., 6.], grad_fn=<MulBackward0>)
        >>> [name for name, parameter in line.named_parameters()]
        ['slope']
    """

    training: bool

    #: The name of the child that ``numgrad.compile`` compiles instead of a module that communicates.
    _compiled_part: ClassVar[str | None] = None

    def __init__(self) -> None:
        self.__dict__.update(training=True, **_nothing_registered())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        begun = next_sequence()
        if (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or every_module.has_hooks
        ):
            result = self._call_with_hooks(args, kwargs)
        else:
            result = self.forward(*args, **kwargs)
        note_call((id(self), begun, next_sequence()))
        return result

    # -- modes ----------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Put the module and all submodules in training mode, or with False in evaluation mode; return the module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Put the module and all submodules in evaluation mode, which turns off dropout, and return the module."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad`` of all parameters and return the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or overwrite them with zeros."""
        forget_gradients(self.parameters(), set_to_none)

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call ``fn`` with every submodule, children first, and with the module; return the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the module's computation in place: its ``forward`` becomes ``numgrad.compile(forward, ...)``."""
        compiler = importlib.import_module("numgrad.compiler")  # a higher layer, which few need
        self.__dict__["forward"] = compiler.compile(self.forward, *args, **kwargs)

    # -- conversions ----------------------------------------------------------------------------------------

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Convert every parameter in place, and every buffer, by ``fn``; subclasses may extend it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        parameters = [parameter for parameter in self._parameters.values() if parameter is not None]
        for tensor in [*parameters, *[parameter._grad for parameter in parameters if parameter._grad is not None]]:
            with no_grad():
                converted = fn(tensor)
            if converted is not tensor:
                tensor.data = converted  # keeps the identity of the parameter
        for name, buffer in self._buffers.items():
            if buffer is not None and is_lazy(buffer):
                buffer.data = fn(buffer)  # remains the same object, which gets its shape later
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        note_module_change()
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move parameters and buffers to a device, or convert the floating-point ones to a dtype; return the module.

        ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype)`` or ``to(tensor)``, the last for that tensor's
        dtype and device.  With ``memory_format=...``, tensors of four and five dimensions get that format.  The
        parameters keep their identity.

        Raises:
            TypeError: the dtype is neither floating-point nor complex, or an argument is none of these.
            RuntimeError: there is no such device, or the format is for other ranks than four and five.
        """
        memory_format = kwargs.pop("memory_format", None)
        check_memory_format(memory_format)
        device, dtype, non_blocking = _to_arguments(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor: Tensor) -> Tensor:
            new_dtype = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            order = memory_format if memory_format is not None and tensor.dim() in (4, 5) else None
            return tensor.to(device=device, dtype=new_dtype, non_blocking=non_blocking, memory_format=order)

        return self._apply(convert)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype and return the module."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert the floating-point parameters and buffers to float32 and return the module."""
        return self._apply(lambda tensor: tensor.to(float32) if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Convert the floating-point parameters and buffers to float64 and return the module."""
        return self._apply(lambda tensor: tensor.to(float64) if tensor.is_floating_point() else tensor)

    def half(self) -> Self:
        """Convert the floating-point parameters and buffers to float16 and return the module."""
        return self._apply(lambda tensor: tensor.to(float16) if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Self:
        """Convert the floating-point parameters and buffers to bfloat16 and return the module."""
        return self._apply(lambda tensor: tensor.to(bfloat16) if tensor.is_floating_point() else tensor)

    def cpu(self) -> Self:
        """Move parameters and buffers to the CPU and return the module."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Self:
        """Move parameters and buffers to a GPU and return the module."""
        return self._apply(lambda tensor: tensor.cuda(device))

    # -- text and pickles -----------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """Return the text in the parentheses of ``repr``, before the submodules; subclasses may define it."""
        return ""

    def _get_name(self) -> str:
        return self.__class__.__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        below = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        return f"{self._get_name()}({enclosed(lines, below)})"

    _repr_html_ = shown_by("module_html")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**_nothing_registered(), **state})


class Configured(Module):
    """A module that keeps arguments of its constructor as attributes of the same names.

    A subclass passes them to ``super().__init__`` and lists those that ``repr`` shows in ``_shown``: ``"eps="`` with
    its name, ``"eps"`` without.
    """

    _shown: tuple[str, ...] = ()

    #: Further attributes that ``repr`` shows with their names unless they have these values.
    _shown_unless: tuple[tuple[str, Any], ...] = ()

    def __init__(self, **arguments: Any) -> None:
        super().__init__()
        for name, value in arguments.items():
            setattr(self, name, value)

    def _add_parameters(self, device: Any, dtype: Any, **shapes: Any) -> None:
        """Add uninitialized parameters of these shapes; where a shape is None, register only the name."""
        for name, shape in shapes.items():
            parameter = None if shape is None else Parameter(empty(shape, device=device, dtype=dtype))
            self.register_parameter(name, parameter)

    def extra_repr(self) -> str:
        values = [(shown, getattr(self, shown.rstrip("="))) for shown in self._shown]
        texts = [
            f"{shown if shown.endswith('=') else ''}{value is not None if shown == 'bias=' else value}"
            for shown, value in values
        ]
        others = [(name, getattr(self, name), default) for name, default in self._shown_unless]
        return ", ".join(texts + [f"{name}={value!r}" for name, value, default in others if value != default])


class CallsFunction(Configured):
    """A module that applies a function of ``nn.functional`` to its input and the arguments that it keeps.

    A subclass names the function and, if the module needs it, the rank of images.
    """

    _function: Callable[..., Any]
    _rank: int
    _arguments: tuple[str, ...] = ()

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._arguments = tuple(arguments)

    def _keep(self, **arguments: Any) -> None:
        """Store further arguments of the function."""
        self._arguments += tuple(arguments)
        for name, value in arguments.items():
            setattr(self, name, value)

    def __init_subclass__(
        cls, function: Callable[..., Any] | None = None, rank: int | None = None, **options: Any
    ) -> None:
        super().__init_subclass__(**options)
        if function is not None:
            cls._function = staticmethod(function)
        if rank is not None:
            cls._rank = rank

    def _keep_buffer(self, name: str, tensor: Tensor | None) -> None:
        """Store a tensor argument of the function as a buffer."""
        self.register_buffer(name, tensor)
        self._arguments += (name,)

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_arguments" not in state:  # of PyTorch's module, whose attributes are the arguments of the constructor
            cls: Any = next(cls for cls in type(self).__mro__ if cls.__module__.partition(".")[0] == _LIBRARY)
            with fork_rng():  # parameters of the module that is made for its other attributes
                made = cls(**{name: state[name] for name in signature(cls).parameters if name in state})
            state = {**vars(made), **state}
        super().__setstate__(state)

    def _options(self) -> dict[str, Any]:
        """Return the arguments of the function other than inputs."""
        return {name: getattr(self, name) for name in self._arguments}

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, **self._options())


#: The name of this library.
_LIBRARY = __name__.partition(".")[0]

#: The attributes that hold a module's hooks, as declared by the classes that register them.
_HOOKS = [*Hooks.__annotations__, *ModuleState.__annotations__]


def _nothing_registered() -> dict[str, Any]:
    """Return the initial contents of a module."""
    hooks: dict[str, Any] = {name: OrderedDict() for name in _HOOKS}
    return {"_parameters": {}, "_buffers": {}, "_modules": {}, "_non_persistent_buffers_set": set(), **hooks}


def indented(text: str) -> str:
    """Return the text with all lines but the first indented."""
    return text.replace("\n", "\n  ")


def enclosed(lines: list[str], below: list[str]) -> str:
    """Return the text in the parentheses of a ``repr``, on one line for a single line without submodules."""
    if len(lines) == 1 and not below:
        return lines[0]
    return "".join([f"\n  {line}" for line in lines + below]) + "\n" if lines or below else ""


def _to_arguments(
    *args: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False
) -> tuple[Any, Any, bool]:
    """Return the device and dtype given to ``Module.to``, None for each one missing, and the flag ``non_blocking``."""
    positional: list[Any] = []
    if args:
        first, *positional = args
        if isinstance(first, Tensor):
            device, dtype = first.device, first.dtype
        elif isinstance(first, dtype_class | type):
            dtype = first
        elif first is None or isinstance(first, str | device_class) or first.__class__ is int:
            device = first
            if positional:
                dtype, *positional = positional
        else:
            raise TypeError(f"to(): the first argument must be a device, dtype or Tensor, not {type(first).__name__}")
    if len(positional) > 1:  # device and dtype may be followed by non_blocking
        raise TypeError(f"to(): too many arguments ({len(args)} given)")
    non_blocking = non_blocking or positional[:1] == [True]
    return None if device is None else to_device(device), None if dtype is None else to_dtype(dtype), non_blocking
