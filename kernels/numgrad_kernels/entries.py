"""Entries of kernels: the functions through which Python calls compiled code.

Numba writes an entry around each function that it compiles.  The entry converts the arguments from Python's objects,
and takes a sixth of the time that a small kernel takes to compile.  It depends on the types of the arguments alone, so
all kernels whose arguments are converted alike share one entry here.  The address of the kernel is the ``self`` of the
built-in function.  The arguments arrive in an array (``METH_FASTCALL``), where Numba's own entries unpack a tuple.
"""

from __future__ import annotations

import ctypes
import functools
import pickle
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.np.numpy_support import as_dtype

from . import cache
from .passes import Library
from .target import environment, target_context

_FASTCALL = 0x0080  # METH_FASTCALL of CPython's methodobject.h

#: Element types that buffers are converted as: a conversion checks the size of the elements alone.
_ELEMENTS: dict[int, Any] = {1: types.uint8, 2: types.uint16, 4: types.uint32, 8: types.uint64, 16: types.complex128}


class _MethodDef(ctypes.Structure):
    """CPython's description of a built-in function."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = (ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.c_void_p)


class _Address(int):
    """Address of a function, with the library that owns its machine code."""

    library: Any


def entry_of(library: Any, symbol: str, arguments: tuple[types.Type, ...], *, nogil: bool) -> Callable[..., None]:
    """Return a built-in function that calls a compiled function which returns nothing.

    Args:
        library, symbol: the library that owns the function's machine code, and the function's name in it.
        arguments: Numba types of its arguments.
        nogil: True to release the global interpreter lock during the call.
    """
    address = _Address(library.get_pointer_to_function(symbol))
    address.library = library
    method, _ = _shared(tuple(map(_converted_as, arguments)), nogil)
    return _new_function(ctypes.byref(method), address, None)


def _converted_as(argument: types.Type) -> types.Type:
    """Return the type that an argument is converted as: buffers with elements of one size have the same type."""
    if isinstance(argument, types.Array):
        return types.Array(_ELEMENTS[as_dtype(argument.dtype).itemsize], argument.ndim, argument.layout)
    return argument


@functools.cache
def _shared(arguments: tuple[types.Type, ...], nogil: bool) -> tuple[_MethodDef, Any]:
    """Return the description of the entry for arguments of these types, and the library that owns its machine code."""
    digest = cache.digest_of(environment(), cache.sources(""), repr(arguments), str(nogil))
    stem = f"entry_{digest}"
    payload = cache.load(f"{stem}.machine_code", digest)
    if payload is None:
        library = _compile(stem, arguments, nogil)
        cache.save(f"{stem}.machine_code", cache.sealed(pickle.dumps(library.serialize_using_object_code()), digest))
    else:
        library = target_context().codegen().unserialize_library(pickle.loads(payload))
    return _MethodDef(b"kernel", library.get_pointer_to_function(stem), _FASTCALL, None), library


@global_compiler_lock
def _compile(symbol: str, arguments: tuple[types.Type, ...], nogil: bool) -> Any:
    """Return a library with ``PyObject *symbol(PyObject *address, PyObject *const *arguments, Py_ssize_t count)``."""
    context = target_context()
    library = Library(context.codegen(), symbol)
    library.enable_object_caching()
    module = context.create_module(symbol)
    object_type = context.get_argument_type(types.pyobject)
    kind = ir.FunctionType(object_type, [object_type, object_type.as_pointer(), context.get_value_type(types.intp)])
    function = ir.Function(module, kind, symbol)
    address, given, count = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    python = context.get_python_api(builder)

    with cgutils.if_unlikely(builder, builder.icmp_signed("!=", count, count.type(len(arguments)))):
        python.err_set_string("PyExc_TypeError", f"a kernel takes {len(arguments)} arguments")
        builder.ret(python.get_null_object())
    values = []
    for number, argument in enumerate(arguments):
        native = python.to_native_value(argument, builder.load(builder.gep(given, [count.type(number)])))
        with cgutils.if_unlikely(builder, native.is_error):
            builder.ret(python.get_null_object())
        values.append(native.value)
    callee_type = context.call_conv.get_function_type(types.none, arguments)
    callee = builder.bitcast(python.long_as_voidptr(address), callee_type.as_pointer())
    state = python.save_thread() if nogil else None
    status, _ = context.call_conv.call_function(builder, callee, types.none, arguments, values)
    if nogil:
        python.restore_thread(state)
    with builder.if_then(status.is_ok, likely=True):
        python.return_none()
    context.call_conv.raise_error(builder, python, status)
    builder.ret(python.get_null_object())
    library.add_ir_module(module)
    library.finalize()
    return library
