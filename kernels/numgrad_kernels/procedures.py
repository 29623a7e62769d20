"""Functions of arrays that compiled code calls by their addresses, so that it is compiled without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numba
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate
from numba.extending import typeof_impl

from .dispatchers import StoredOverloads


class Procedure:
    """Function that returns nothing and is compiled once for each dtype of its arrays, whatever their strides.

    ``text`` and ``options`` are those of ``stored_dispatcher``.
    """

    def __init__(self, function: Callable[..., None], text: str, **options: Any):
        options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        self.py_func, self.__name__ = function, function.__name__
        self._dispatcher = numba.njit(**options)(function)
        self._dispatcher._cache = self._overloads = StoredOverloads(function, text, options)
        #: Names by which callers find the machine code, by the types of the arguments.
        self.symbols: dict[tuple[types.Type, ...], str] = {}
        self.template = type(self.__name__, (_Template,), {"key": self})
        lower_builtin(self, types.VarArg(types.Any))(self._lower)  # type: ignore[attr-defined]

    def __call__(self, *arguments: Any) -> None:
        """Run the function in Python."""
        self.py_func(*arguments)

    def symbol(self, arguments: tuple[types.Type, ...]) -> str:
        """Return the name of the machine code for arguments of these types, which is loaded or compiled first."""
        if arguments not in self.symbols:
            self._dispatcher.compile(arguments)
            compiled = self._dispatcher.overloads[arguments]
            address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
            symbol = f"{self.__name__}_{self._overloads.digest(arguments)}"
            llvmlite.binding.add_symbol(symbol, address)
            self.symbols[arguments] = symbol
        return self.symbols[arguments]

    def _lower(self, context: Any, builder: Any, called: Any, values: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(types.none, called.args)
        function = cgutils.get_or_insert_function(builder.module, kind, self.symbol(called.args))
        status, _ = convention.call_function(builder, function, types.none, called.args, values)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()


class _Template(AbstractTemplate):
    """Type of a procedure: its arguments may be arrays of any layout."""

    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.none, *map(_of_any_layout, args))


def _of_any_layout(kind: types.Type) -> types.Type:
    kind = kind.literal_type if isinstance(kind, types.Literal) else kind
    return kind.copy(layout="A") if isinstance(kind, types.Array) else kind


@typeof_impl.register(Procedure)
def _type_of(value: Procedure, context: Any) -> types.Type:
    return types.Function(value.template)
