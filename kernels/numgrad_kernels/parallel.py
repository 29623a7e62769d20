"""Functions within a kernel's machine code: rounds of loops that run on threads, and functions that ``call`` calls.

To run ``prange`` loops on threads, Numba analyses the whole function, which takes more than half of a kernel's compile
time.  The loops of kernels do not need that, since no round reads what another one writes.  The body of a loop
therefore becomes a function of its own.  Its parameters are the numbers of the first round and of the one after the
last, and the variables that it reads.  That function is passed to Numba's threading layer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import llvmlite.ir as ir
from numba.core import cgutils, types
from numba.core.targetconfig import ConfigStack
from numba.extending import intrinsic

from .passes import KernelCompiler


def with_parts(text: str) -> str:
    """Return the module text of a kernel with its ``prange`` loops replaced by calls of :func:`parallel_for`.

    Raises:
        TypeError: a loop is not over ``prange(count)`` in the kernel itself, or a round can end the loop or writes a
            variable that is used outside of the rounds.
    """
    module = ast.parse(text)
    (kernel,) = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "kernel"]
    loops = _LoopExtractor()
    loops.visit(kernel)
    parts = loops.parts({parameter.arg for parameter in kernel.args.args})
    at = module.body.index(kernel)
    module.body[at:at] = parts
    if any(isinstance(node, ast.Name) and node.id == "prange" for node in ast.walk(module)):
        raise TypeError("a loop over prange must be one over prange(count), in the kernel itself")
    module.body[:0] = ast.parse(f"from numba import njit\nfrom {__name__} import parallel_for").body
    return ast.unparse(ast.fix_missing_locations(module))


class _LoopExtractor(ast.NodeTransformer):
    """Transformer that takes the loops out of a kernel, and records the variables used outside of them."""

    def __init__(self) -> None:
        self.loops: list[tuple[ast.Name, list[ast.stmt], ast.Tuple]] = []  # their indices, bodies and variables
        self.read: set[str] = set()
        self.written: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.Name:
        (self.read if isinstance(node.ctx, ast.Load) else self.written).add(node.id)
        return node

    def visit_For(self, node: ast.For) -> Any:
        match node:
            case ast.For(target=ast.Name() as index, iter=ast.Call(func=ast.Name(id="prange"), args=[count])):
                variables = ast.Tuple([], ast.Load())
                self.loops.append((index, node.body, variables))
                arguments = [ast.Name(f"rounds_{len(self.loops)}", ast.Load()), self.visit(count), variables]
                return ast.Expr(ast.Call(ast.Name("parallel_for", ast.Load()), arguments, []))
        return self.generic_visit(node)

    def parts(self, parameters: set[str]) -> list[ast.stmt]:
        """Return the functions of the loops' rounds, which take the variables of the kernel that they read."""
        visible = parameters | self.written
        return [self._part(number, visible, *loop) for number, loop in enumerate(self.loops, 1)]

    def _part(
        self, number: int, visible: set[str], index: ast.Name, body: list[ast.stmt], variables: ast.Tuple
    ) -> ast.stmt:
        names = [index, *[node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)]]
        written = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        if shared := sorted(written & (visible | self.read)):
            raise TypeError(f"a round of a prange loop writes {', '.join(shared)}, known outside of the rounds, too")
        if _can_end(body):
            raise TypeError("a round of a prange loop can end the loop")
        captured = sorted({node.id for node in names} & visible)
        variables.elts = [ast.Name(name, ast.Load()) for name in captured]
        (function,) = ast.parse(
            f"@njit\ndef rounds_{number}({', '.join(['_first', '_stop', *captured])}):\n"
            f"    for {index.id} in range(_first, _stop):\n        pass"
        ).body
        function.body[0].body = body  # type: ignore[attr-defined]
        return function


def _can_end(body: Iterable[ast.stmt], inner: bool = False) -> bool:
    """Return True if one of these statements of a loop, or of an ``inner`` one in it, ends the loop early."""
    for statement in body:
        if isinstance(statement, ast.Return) or (isinstance(statement, ast.Break) and not inner):
            return True
        parts = [*getattr(statement, "body", ()), *getattr(statement, "orelse", ())]
        if _can_end(parts, inner or isinstance(statement, ast.For | ast.While)):
            return True
    return False


@intrinsic
def parallel_for(typing_context: Any, function: Any, count: Any, arguments: Any) -> Any:
    """Run ``function(first, stop, *arguments)`` for ranges that make up ``range(count)``, one for each thread.

    Errors in them are not reported: a kernel must raise none.
    """
    variables = map(types.unliteral, arguments.types)  # type: ignore[attr-defined]
    rounds = types.void(types.int64, types.int64, *variables)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        _, count, captured = values
        compiled = _compiled_within(context, function.dispatcher.py_func, rounds)
        get_threads = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_INT32, []), "get_num_threads")
        threads = builder.call(get_threads, [])
        pieces = builder.sext(threads, _INT64)
        bound = cgutils.pack_struct(builder, [captured, count, pieces])
        data = cgutils.alloca_once_value(builder, bound)
        callback = _callback(context, builder.module, builder.function.name, compiled, rounds, bound.type)
        # A loop over elements one byte apart, the first at address 0: the address of each is its number.
        loop = [cgutils.alloca_once_value(builder, value) for value in (_BYTES(None), pieces, _INT64(1))]
        run = cgutils.get_or_insert_function(builder.module, _RUN, "numba_parallel_for")
        pointers = [builder.bitcast(pointer, _BYTES) for pointer in (callback, data)]
        builder.call(run, [pointers[0], *loop, pointers[1], _INT64(0), _INT64(1), threads])
        return context.get_dummy_value()

    return types.void(function, types.int64, arguments), generate


@intrinsic
def call(typing_context: Any, function: Any, arguments: Any) -> Any:
    """Call ``function(*arguments)``, which returns nothing and stays a separate function in the kernel's machine code.

    If it were inlined, LLVM would lose track of which strides are known.
    """
    chunk_signature = types.void(*map(types.unliteral, arguments.types))  # type: ignore[attr-defined]

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        compiled = _compiled_within(context, function.dispatcher.py_func, chunk_signature)
        context.active_code_library.get_function(compiled.llvm_func_name).add_function_attribute("noinline")
        captured = cgutils.unpack_tuple(builder, values[1])
        context.call_internal_no_propagate(builder, compiled, chunk_signature, captured)
        return context.get_dummy_value()

    return types.void(function, arguments), generate


def _compiled_within(context: Any, function: Any, signature: Any) -> Any:
    """Return the descriptor of a function whose code becomes part of the library under construction.

    Calling it as a compiled function would have the same effect, but Numba would first optimise it separately and
    generate machine code of it that is never run.
    """
    flags = ConfigStack.top_or_none().copy()
    flags.no_compile = flags.no_cpython_wrapper = True
    library = context.active_code_library
    compiler = KernelCompiler(
        context.typing_context, context, library, signature.args, signature.return_type, flags, {}
    )
    compiled = compiler.compile_extra(function)
    library.get_function(compiled.fndesc.llvm_func_name).linkage = "linkonce_odr"  # dropped where it is inlined
    return compiled.fndesc


_INT32, _INT64, _BYTES = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()

#: Type of the functions that Numba's threading layers call: addresses of elements, their number, their steps, and
#: further data.
_CALLBACK = ir.FunctionType(ir.VoidType(), [_BYTES.as_pointer(), _INT64.as_pointer(), _INT64.as_pointer(), _BYTES])

#: Type of their function that runs a callback: it takes the callback and its arguments, the number of sizes besides the
#: loop's own (none), the number of addresses and that of threads.
_RUN = ir.FunctionType(ir.VoidType(), [_BYTES, *_CALLBACK.args, _INT64, _INT64, _INT32])


def _callback(context: Any, module: Any, name: str, function: Any, signature: Any, data_type: Any) -> Any:
    """Return the function for threading layers: it calls the function of the rounds, with arguments from ``data``.

    The pieces of the loop are the elements of the layer, so a layer that calls for each element calls once per thread.
    """
    callback = ir.Function(module, _CALLBACK, module.get_unique_name(f"{name}.rounds"))
    callback.linkage = "internal"
    builder = ir.IRBuilder(callback.append_basic_block())
    elements, sizes, _, data = callback.args
    bound = builder.load(builder.bitcast(data, data_type.as_pointer()))
    captured, count, pieces = cgutils.unpack_tuple(builder, bound)
    first = builder.ptrtoint(builder.load(elements), _INT64)
    ends = first, builder.add(first, builder.load(sizes))
    rounds = [builder.sdiv(builder.mul(end, count), pieces) for end in ends]
    values = *rounds, *cgutils.unpack_tuple(builder, captured)
    context.call_internal_no_propagate(builder, function, signature, values)
    builder.ret_void()
    return callback
