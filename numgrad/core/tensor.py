"""Tensor: where its elements lie, its flags and its place in the graph.  No mathematics: ``ops`` attaches that."""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING, Any

from .. import autograd
from ..autograd.checks import check_may_require_grad, is_inference, new_counter
from ..autograd.grad_mode import LEVELS, ORDINARY, inference_blocks, state
from ..autograd.locations import DETACHED
from ..autograd.node import MAYBE, gradient_type
from ..autograd.variable import reshaped_gradient
from ..autograd.views import View, check_writable
from .conversions import Conversions
from .description import Description
from .display import class_name, shown_by
from .gradient_hooks import GradientHooks
from .layout import Layout, layout_of, overlaps_itself
from .text import text_of
from .types import TensorType

_new = object.__new__


class Tensor(Description, Conversions, GradientHooks):
    """An n-dimensional array that can record what is done with it.

    Made by :func:`numgrad.tensor` and its sisters; calling ``Tensor(data)`` is PyTorch's older spelling for a
    float32 tensor.
    """

    # Elements: ``_layout`` has their type, shape and strides; element ``index`` lies at ``_storage[_offset +
    # sum(index * stride)]``.
    # Graph: ``_edge`` is the node (and its output number) that made this tensor, None for a leaf;
    # ``_accumulator`` a leaf's weak reference to its AccumulateGrad; ``_view``, ``_root`` and ``_seen`` what a view
    # knows of its base (see ``autograd/views.py``);
    # ``_counter`` a list of one int, counting in-place changes, that all tensors on the same memory share;
    # ``_shared`` says that a gradient's memory is somebody else's too; ``_duals`` has the tangents by level;
    # ``_mapped`` says what a tensor without memory stands for (see ``ops/batching/batches.py``); ``_origin`` how
    # one came about that requires no gradient (see ``autograd/locations.py``).
    __slots__ = (
        "__dict__", "__weakref__", "_accumulator", "_counter", "_duals", "_edge", "_grad", "_grad_type",
        "_hooks", "_layout", "_mapped", "_offset", "_origin", "_requires_grad", "_root", "_seen", "_shared",
        "_storage", "_view",
    )

    __array_priority__ = 1000  # array * tensor is the tensor's business

    _accumulator: Any
    _counter: list[int]
    _duals: dict[Any, Tensor]  # in forward mode, else absent
    _edge: Any
    _grad: Any
    _grad_type: TensorType | None  # where ``grad_dtype`` was set, else absent
    _hooks: Any
    _layout: Layout
    _mapped: Any  # under ``vmap``, else absent
    _offset: int
    _origin: str  # where it is known, else absent
    _requires_grad: int
    _root: Tensor  # of a view, else absent
    _seen: int  # of a view, else absent
    _shared: bool
    _storage: Any
    _view: Any

    if TYPE_CHECKING:  # what numgrad.ops attaches

        def __new__(cls, *data: Any) -> Tensor: ...
        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...

    # -- its place in the graph ---------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded."""
        flag = self._requires_grad
        if flag == MAYBE:  # a view requires a gradient if its base does
            return self._edge is not None or bool(self._root._requires_grad)
        return bool(flag)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        if self.grad_fn is not None:
            advice = (
                " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
            raise RuntimeError(
                f"you can only change requires_grad flags of leaf variables.{'' if value else advice}"
            )
        if value:
            check_differentiable(self, "only Tensors of floating point and complex dtype")
            check_may_require_grad(self)
        self._requires_grad = bool(value) if value or self._view is None else MAYBE

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool, and cannot be deleted")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` and return the tensor."""
        if not isinstance(requires_grad, bool):
            given = type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' must be bool, not {given}")
        if not (requires_grad and (self._edge is not None or self.grad_fn is not None)):
            if requires_grad:
                check_differentiable(self, "only Tensors of floating point dtype")
            self.requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Any:
        """The node of the operation that made this tensor, None for a leaf."""
        edge = self._edge if self._view is None else self._view.edge(self)
        return None if edge is None else edge[0]

    @property
    def output_nr(self) -> int:
        """Which output of ``grad_fn`` this tensor is."""
        return 0 if self._edge is None else self._edge[1]

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return self.grad_fn is None

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by backward."""
        if self._grad is None and self._edge is not None and not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                given = type(value).__name__
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {given}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value._layout.type.device is not self._layout.type.device:
                raise RuntimeError(
                    f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device "
                    f"type '{self.device.type}'. Please ensure that the gradient and the tensor are on the same device"
                )
            kind = gradient_type(self)
            if kind is not None and value._layout.type is not kind:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{value.dtype.legacy.lower()}' to a tensor with "
                    f"grad_dtype '{kind.dtype.legacy}'. The gradient must match the tensor's grad_dtype (defaults to "
                    "the tensor's dtype)."
                )
            if value._layout.shape != self._layout.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                    f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size"
                )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Compute the gradients of this tensor and add them to the ``grad`` of the leaves, or of ``inputs`` only.

        ``gradient`` (of this tensor's shape) may be left out for a tensor of one element.  For the sake of older
        programs it may also have another shape with as many elements, or one that broadcasts; that warns.  The other
        arguments and the errors are those of :func:`numgrad.autograd.backward`.
        """
        if gradient is not None:
            gradient = reshaped_gradient(self, gradient)
        autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def detach(self) -> Tensor:
        """The same elements without the graph; in-place changes are seen, and noticed, by both."""
        alias = self._alias()
        if self._requires_grad:
            alias._origin = DETACHED
        if state.mode & LEVELS and hasattr(self, "_mapped"):
            alias._mapped = self._mapped._replace(tensor=self._mapped.tensor.detach())
        return alias

    def detach_(self) -> Tensor:
        """Cut this tensor from the graph that made it."""
        if self._is_view():
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        if self._requires_grad:
            self._origin = DETACHED
        self._edge = None
        self._requires_grad = False
        if state.mode & LEVELS:
            if hasattr(self, "_duals"):
                del self._duals
            if hasattr(self, "_mapped"):
                self._mapped = self._mapped._replace(tensor=self._mapped.tensor.detach())
        return self

    @property
    def data(self) -> Tensor:
        """The same elements without the graph; in-place changes through it are not noticed by autograd."""
        tensor = self.detach()
        tensor._counter = self._counter.__class__((0,))
        return tensor

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and not (value.is_floating_point() or value.is_complex()):
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex dtype, "
                f"not {value.dtype} (shape {list(value.shape)})"
            )
        changed = self._layout is not value._layout or self._storage is not value._storage
        other = self._layout.shape != value._layout.shape or self._layout.type is not value._layout.type
        for name in ("_layout", "_offset", "_storage"):
            setattr(self, name, getattr(value, name))
        if state.mode & LEVELS:
            if hasattr(value, "_mapped"):
                self._mapped = value._mapped
            elif hasattr(self, "_mapped"):
                del self._mapped
        if is_inference(self) or is_inference(value):
            self._counter = value._counter.__class__((0,))
        elif changed:
            self._counter = [self._counter[0] + 1]  # what saved this tensor finds that it is another
        if other:
            self._accumulator = None  # the old one expects gradients of the old shape and type

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def is_inference(self) -> bool:
        """Whether this is an inference tensor: made in inference mode, and no view of a normal tensor."""
        return is_inference(self)

    @property
    def _version(self) -> int:
        """How many in-place operations have changed the elements.

        Raises:
            RuntimeError: this is an inference tensor.
        """
        if is_inference(self):
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._counter[0]

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of; for inference tensors None, as they have no need to know."""
        return self._root if self._is_view() else None

    def _is_view(self) -> bool:
        """Whether this tensor is a view of another; for inference tensors False."""
        return self._view is not None and not is_inference(self)

    @property
    def name(self) -> None:
        """Always None: kept because PyTorch's tensors have it."""
        return None

    # -- its elements -------------------------------------------------------------------------------------

    @property
    def _flat(self) -> Any:
        """The part of the memory with exactly this tensor's elements in row-major order; None where they lie in another
        way, or it has no memory of its own."""
        layout, storage, offset = self._layout, self._storage, self._offset
        if not layout.contiguous or hasattr(self, "_mapped"):
            return None
        return storage if storage.size == layout.size else storage[offset : offset + layout.size]

    def _alias(self) -> Tensor:
        """Another tensor on the same memory, sharing the version counter, with no place in a graph."""
        tensor = tensor_of(self._layout, self._storage, self._offset)
        tensor._counter = self._counter
        if state.mode & LEVELS and hasattr(self, "_mapped"):
            tensor._mapped = self._mapped
        return tensor

    def __dir__(self) -> list[str]:
        """The names that there are: not every tensor has every field, and only those on a GPU lend it to others."""
        uncertain = {*Tensor.__slots__, "__cuda_array_interface__"}
        return [name for name in object.__dir__(self) if name not in uncertain or hasattr(self, name)]

    # Comparison gives a tensor, identity decides membership in sets and dictionaries.
    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return text_of(self)

    _repr_html_ = shown_by("tensor_html")

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        node = self.grad_fn
        if node is not None:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                f"moment; this one was made by {node.name()}. Use tensor.detach() first."
            )
        if id(self) in memo:
            return memo[id(self)]
        # Tensors that share memory share it in the copy, too: copying the storage once is left to the memo.
        storage = copy.deepcopy(self._storage, memo)
        result = strided(storage, self._layout.shape, self._layout.strides, self._offset, self._layout.type)
        result.__class__ = type(self)
        result._requires_grad = bool(self._requires_grad is True)
        memo[id(self)] = result
        if self._grad is not None:
            result._grad = copy.deepcopy(self._grad, memo)
        result.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return result


def tensor_of(layout: Layout, storage: Any, offset: int = 0) -> Tensor:
    """A tensor on this memory, with its first element at ``offset``."""
    tensor = _new(Tensor)
    tensor._layout = layout
    tensor._storage = storage
    tensor._offset = offset
    tensor._counter = new_counter() if inference_blocks else [0]
    tensor._requires_grad = tensor._shared = False
    tensor._edge = tensor._grad = tensor._view = tensor._hooks = tensor._accumulator = None
    return tensor


def view_on(tensor: Tensor, layout: Layout, delta: int, view: View) -> Tensor:
    """A view of a tensor that begins so many elements later, and is made as ``view`` says."""
    result = _new(Tensor)
    result._layout = layout
    result._storage = tensor._storage
    result._offset = tensor._offset + delta
    result._counter = tensor._counter
    result._requires_grad = MAYBE
    result._shared = False
    result._edge = result._grad = result._hooks = result._accumulator = None
    result._view = view
    result._root = root = tensor if tensor._view is None else tensor._root
    counter = root._counter
    result._seen = counter[0] if counter.__class__ is list else 0
    return result


def fresh(row: Any, shape: tuple[int, ...], type: TensorType) -> Tensor:
    """A tensor on its own memory: ``row`` holds its elements in row-major order."""
    return tensor_of(layout_of(type, shape), row)


def strided(storage: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, type: TensorType) -> Tensor:
    """A tensor that reads ``storage`` from ``offset`` in steps of ``strides``."""
    return tensor_of(layout_of(type, shape, strides), storage, offset)


def check_differentiable(tensor: Tensor, which: str) -> None:
    """Raise unless tensors of this dtype have derivatives; ``which`` says for the message what tensors have.

    Raises:
        RuntimeError: they have none.
    """
    kind = tensor._layout.type.dtype
    if not kind.differentiable:
        raise RuntimeError(f"{which} can require gradients, not {kind} (shape {list(tensor.shape)})")


def check_in_place(tensor: Tensor, *others: Any) -> None:
    """Raise unless an in-place operation may write to ``tensor`` from ``others``; see the errors of the two checks.

    Those of the others that are no tensors do not matter.
    """
    if (
        state.mode > ORDINARY or tensor._requires_grad or tensor._view is not None
        or tensor._counter.__class__ is not list
    ):
        check_writable(tensor, *others)
    if not tensor._layout.row_major and overlaps_itself(tensor._layout.shape, tensor._layout.strides):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            f"location (shape {list(tensor.shape)}, strides {list(tensor._layout.strides)}). "
            "Please clone() the tensor before performing the operation."
        )


def type_name(value: Any) -> str:
    """The class of a value; of a tensor PyTorch's name of its dtype and device, such as ``torch.FloatTensor``."""
    return value._layout.type.name if isinstance(value, Tensor) else class_name(type(value))
