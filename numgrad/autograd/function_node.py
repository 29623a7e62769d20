"""Graph node of a Function, and the context that its forward and backward share.

In PyTorch the two are one object.  Here they are separate, because users may give any name to values kept on the
context (``ctx.shape = x.shape``), including names of the node's own fields.  The node exposes the context's attributes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any
from weakref import proxy, ref

from ..core.layout import Layout
from .checks import is_tensor
from .errors import freed_error
from .grad_mode import GRAD, state
from .locations import Location
from .node import NO_LAYOUT, Edge, edge_of
from .operations import operations
from .saved import SavedTensor, SavingNode, keep
from .thread_state import undisturbed


class FunctionCtx:
    """Methods for ``forward`` or ``setup_context`` of a Function to call on its context."""

    to_save: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    materialize_grads = True
    #: True if ``backward`` receives zeros instead of None for outputs that are not differentiable, too.
    _materialize_non_diff_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for ``backward``, which reads them from ``saved_tensors``."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for ``jvp``.

        Raises:
            AssertionError: a value is neither a tensor nor None.
        """
        for tensor in tensors:
            if tensor is not None and not is_tensor(tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                    f"on ctx. (It was given {type(tensor).__name__}.)"
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Mark inputs that ``forward`` modified in place; they must be among its outputs."""
        self.dirty_tensors = tensors

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing: tensors that share memory are tracked automatically."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked.",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Mark outputs that have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set the value that ``backward`` receives for an output without gradient: zeros (the default) or None.

        Raises:
            TypeError: ``value`` is not a bool.
        """
        if not isinstance(value, bool):
            raise TypeError(
                f"set_materialize_grads received an invalid combination of arguments - got ({type(value).__name__}), "
                "but expected (bool)"
            )
        self.materialize_grads = value


class Context(FunctionCtx):
    """Context of one call, owned by its node; any attribute may be set on it."""

    __slots__ = ("_failure", "_node", "needs_input_grad")  # the dictionary holds the user's attributes

    #: For each input of ``forward``, True if it needs a gradient.
    needs_input_grad: tuple[bool, ...]
    _failure: AttributeError | None  # raised by an unpack hook, to be re-raised for the user

    def __init__(self, node: BackwardCFunction, needs_input_grad: tuple[bool, ...]):
        self._node: Callable[[], BackwardCFunction | None] = ref(node)  # holds it once the node is dropped
        self.needs_input_grad = needs_input_grad

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors passed to ``save_for_backward``; in ``jvp``, those passed to ``save_for_forward``.

        Raises:
            RuntimeError: backward has freed them, one has since been modified in place, or the Function clears them
                on access and they have been read before.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        node = self._node()
        if node is None:
            raise freed_error(None, None)
        try:
            return node.unpack()
        except AttributeError as error:  # Python would take it for a missing property
            self._failure = error
            raise

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The former name of ``saved_tensors``."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return Context.saved_tensors.__get__(self)

    def __getattr__(self, name: str) -> Any:
        if name in ("saved_tensors", "saved_variables"):
            failure, self._failure = self._failure, None
            assert failure is not None
            raise failure
        node = None if name == "_node" else self._node()
        if node is not None and name in _OF_THE_NODE:
            return getattr(node, name)
        name_of_type = type(self if node is None else node).__name__
        raise AttributeError(f"'{name_of_type}' object has no attribute '{name}'")


#: Attributes of the node that its context also has, because in PyTorch they are the same object.
_OF_THE_NODE = frozenset({
    "_input_metadata", "_raw_saved_tensors", "_sequence_nr", "metadata", "name", "next_functions", "register_hook",
    "register_prehook",
})


class BackwardCFunction(SavingNode):
    """Node of a Function; each Function has its own subclass, named ``<Function>Backward``.

    The node and its edges are made before ``forward`` runs, and :meth:`set_outputs` completes the node.  Only inputs
    that are tensors have an edge, and only outputs that are tensors receive a gradient.
    """

    __slots__ = ("__weakref__", "cleared", "context", "input_count", "numbers", "tensor_inputs")

    makes_fresh_gradients = False  # the user's backward may return any tensor, such as a saved one
    wants_undefined = True
    function: Any  # the Function

    #: For each input of ``forward``, True if it is a tensor; None if all are.
    tensor_inputs: tuple[bool, ...] | None
    #: True if reading the saved tensors has cleared them.
    cleared: bool
    #: For each tensor saved for backward, its output index if it is an output of this node, otherwise None.
    numbers: tuple[int | None, ...]

    def __init__(self, inputs: tuple[Any, ...]):
        recording = state.mode & GRAD
        edges: list[Edge] = []
        needs: list[bool] = []
        others = False
        for value in inputs:
            if not is_tensor(value):
                others = True
                needs.append(False)
            elif recording:
                edge = edge_of(value)
                edges.append(edge)
                needs.append(edge is not None)
            else:
                needs.append(value.requires_grad)
        SavingNode.__init__(self, tuple(edges), NO_LAYOUT)
        self.input_count = len(inputs)
        self.tensor_inputs = tuple([is_tensor(value) for value in inputs]) if others else None
        self.context = Context(self, tuple(needs))
        self.cleared = False
        self.saved = self.versions = self.numbers = ()

    def __del__(self, ref: Any = ref, proxy: Any = proxy) -> None:  # kept from the module, which may be cleared before
        """Resurrect the node if the context is still in use; the context then holds the node instead of the reverse."""
        try:
            context = ref(self.context)
        except AttributeError:
            return  # an error prevented its completion
        del self.context
        held = context()
        if held is not None:
            self.context = proxy(held)
            held._node = lambda: self

    def __getattr__(self, name: str) -> Any:
        if name == "__dict__":
            return self.context.__dict__
        if name != "context" and not name.startswith("__"):
            context = self.context
            if name in context.__dict__ or hasattr(Context, name):
                return getattr(context, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __call__(self, *gradients: Any) -> Any:
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    def set_outputs(self, layouts: list[Layout]) -> None:
        """Set the layout of each output, with NO_LAYOUT for one that is not a tensor."""
        if layouts:
            self.layout = layouts[0]
            if len(layouts) > 1:
                self.more_outputs = tuple(layouts[1:])

    def keep_saved(self, tensors: tuple[Any, ...], outputs: list[tuple[int, Any]]) -> None:
        """Keep tensors for backward; ``outputs`` are the tensors with this node as their origin, with their indices."""
        saved, versions, numbers = [], [], []
        for index, tensor in enumerate(tensors):
            number = version = None
            if tensor is not None:
                if not is_tensor(tensor):
                    raise TypeError(
                        "save_for_backward can only save variables, but argument "
                        f"{index} is of type {type(tensor).__name__}"
                    )
                for candidate, output in outputs:
                    if output is tensor:
                        number = candidate
                tensor, version = keep(tensor, number)
            saved.append(tensor)
            versions.append(version)
            numbers.append(number)
        self.saved, self.versions, self.numbers = tuple(saved), tuple(versions), tuple(numbers)

    def unpack(self) -> tuple[Any, ...]:
        """Return the saved tensors after checking their versions, with graph edges for outputs among them."""
        if self.cleared:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                "autograd.Function. Either access saved_tensors only once, or set clear_saved_tensors_on_access=False. "
                f"(The function is {self.function.__name__}.)"
            )
        tensors = tuple([self.unpack_one(index) for index in range(len(self.kept()))])
        if self.function.clear_saved_tensors_on_access:
            self.saved = self.versions = self.numbers = ()
            self.cleared = True
        return tensors

    def saved_names(self) -> list[str]:
        return [f"saved_tensors[{index}]" for index in range(len(self.versions))]

    def saved_output(self, index: int) -> int | None:
        return self.numbers[index]

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        """The saved tensors in their stored form, for attaching hooks.

        Raises:
            RuntimeError: backward has run and freed them.
        """
        self.kept()
        return tuple([self.raw(index) for index in range(len(self.versions))])

    def apply(self, gradient: Any) -> tuple[Any, ...]:
        context = self.context
        several = self.more_outputs
        if several is None:
            gradients = [gradient]
        elif gradient and self.attached is None and self.function.boxed_grads_call:
            gradients = gradient  # the engine's own list, so that removing a gradient frees it
        else:
            gradients = list(gradient or [None] * (1 + len(several)))
        if context.materialize_grads:
            for number in range(len(gradients)):
                if gradients[number] is None:
                    layout = self.output(number)
                    if layout.type is not None:
                        gradients[number] = operations.zeros(layout.shape, layout.type)
        shared = [  # without the tensors, which must be free when backward has finished with them
            (g._layout.shape, g._counter, g._counter[0])
            for g in gradients
            if g is not None and (g._shared is True or g._view is not None)
        ]
        results = undisturbed(self.function._run_backward, context, gradients)
        for given_shape, counter, version in shared:
            if counter[0] != version:
                raise RuntimeError(
                    f"The backward of {self.function.__name__} changed a gradient that it was given, of shape "
                    f"{list(given_shape)}, in place. Others may be using the same memory: change a clone() of it."
                )
        return self._checked(results if isinstance(results, tuple) else (results,))

    def _checked(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Validate the gradients that ``backward`` returned for all inputs, and return those of the tensor inputs."""
        expected = self.input_count
        if len(results) != expected:
            if len(results) < expected or any(result is not None for result in results[expected:]):
                raise RuntimeError(
                    f"function {self.name()} returned an incorrect number of gradients "
                    f"(expected {expected}, got {len(results)})"
                )
            results = results[:expected]
        of_tensors = self.tensor_inputs
        for number, result in enumerate(results):
            if result is None:
                continue
            if of_tensors is not None and not of_tensors[number]:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {number + 1}, but "
                    "the corresponding forward input was not a Variable"
                )
            if not is_tensor(result):
                raise RuntimeError(
                    f"expected Variable or None (got {type(result).__name__}) as gradient {number + 1} of function "
                    f"{self.name()}"
                )
        if of_tensors is not None:
            results = tuple([result for result, of_tensor in zip(results, of_tensors, strict=True) if of_tensor])
        for number, (edge, result) in enumerate(zip(self.edges, results, strict=True)):
            if edge is not None and result is not None and result._layout.type.dtype.is_complex:
                expected_type = edge[0].output(edge[1]).type
                if expected_type is not None and not expected_type.dtype.is_complex:
                    raise RuntimeError(
                        f"Function {self.name()} returned an invalid gradient at index {number} - got one of "
                        f"{result.dtype} (shape {list(result.shape)}) for a real input of {expected_type.dtype}; its "
                        "real part would be the gradient"
                    )
        return results

    def release(self, freed_by: Location) -> None:
        self.saved = freed_by
