"""Loops whose rounds run on several threads: ``prange`` of Numba's language, without what Numba makes of it.

Numba analyses a whole function to run its ``prange`` loops on threads, which takes more than half of the time that a
kernel is compiled in.  The loops of kernels need none of that: what one round writes, no other one reads.  So the body
of a loop is made a function of its own, of the numbers of the first round and of that after the last, and of the
variables that it reads.  Numba's threading layer is given that function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import llvmlite.ir as ir
import numba
from numba.core import cgutils, types
from numba.extending import intrinsic

#: Decorates the function of a loop's rounds.
part = numba.njit(error_model="numpy", fastmath={"contract"}, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def with_parts(text: str) -> str:
    """The module text of a kernel with its ``prange`` loops as calls of :func:`parallel_for`.

    Raises:
        TypeError: a variable that a round writes is read after the loop.
    """
    module = ast.parse(text)
    (kernel,) = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "kernel"]
    loops = _Loops([parameter.arg for parameter in kernel.args.args])
    loops.visit(kernel)
    module.body.insert(0, ast.parse(f"from {__name__} import parallel_for, part").body[0])
    at = module.body.index(kernel)
    module.body[at:at] = loops.parts
    return ast.unparse(ast.fix_missing_locations(module))


class _Loops(ast.NodeTransformer):
    """Goes through a kernel in the order of its text, and takes its loops out of it."""

    def __init__(self, parameters: Iterable[str]):
        self.assigned = set(parameters)
        self.private: set[str] = set()  # what only rounds of loops so far have assigned
        self.parts: list[ast.stmt] = []

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if isinstance(node.ctx, ast.Store):
            self.assigned.add(node.id)
            self.private.discard(node.id)
        elif node.id in self.private:
            raise TypeError(f"a round of a prange loop writes '{node.id}', which is read after the loop")
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)
        return node

    def visit_For(self, node: ast.For) -> Any:
        match node:
            case ast.For(target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="prange"), args=[count])):
                self.visit(count)
                return self._call(index, count, node.body)
        return self.generic_visit(node)

    def _call(self, index: str, count: ast.expr, body: list[ast.stmt]) -> ast.stmt:
        """The call in the place of a loop, whose body is made a function."""
        names = [node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)]
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)} - {index}
        given = sorted(read & self.assigned)
        self.private |= {node.id for node in names if isinstance(node.ctx, ast.Store)} - self.assigned
        name, values = f"rounds_{len(self.parts)}", "".join([f"{one}, " for one in given])
        function, call = ast.parse(
            f"@part\ndef {name}(_first, _stop, {values}):\n    for {index} in range(_first, _stop):\n        pass\n"
            f"parallel_for({name}, {ast.unparse(count)}, ({values}))"
        ).body
        function.body[0].body = body  # type: ignore[attr-defined]
        self.parts.append(function)
        return call


@intrinsic
def parallel_for(typing_context: Any, function: Any, count: Any, arguments: Any) -> Any:
    """``function(first, stop, *arguments)`` for ranges that make up ``range(count)``, each on a thread."""
    signature = types.void(function, types.int64, arguments)
    rounds = function.get_call_type(typing_context, (types.int64, types.int64, *arguments.types), {})
    compiled = function.dispatcher.overloads[rounds.args]

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        _, count, given = values
        context.active_code_library.add_linking_library(compiled.library)
        data = cgutils.alloca_once_value(builder, given)
        callback = _callback(context, builder.module, builder.function.name, compiled.fndesc, rounds, given.type)
        # A loop over elements one byte apart, the first at address 0: the address of each is its number.
        loop = [cgutils.alloca_once_value(builder, value) for value in (_BYTES(None), count, _INT64(1))]
        threads = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_INT32, []), "get_num_threads")
        run = cgutils.get_or_insert_function(builder.module, _RUN, "numba_parallel_for")
        pointers = [builder.bitcast(one, _BYTES) for one in (callback, data)]
        builder.call(run, [pointers[0], *loop, pointers[1], _INT64(1), _INT64(1), builder.call(threads, [])])
        return context.get_dummy_value()

    return signature, generate


_INT32, _INT64, _BYTES = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()

#: What Numba's threading layers call: addresses of elements, how many there are, their steps, and further data.
_CALLBACK = ir.FunctionType(ir.VoidType(), [_BYTES.as_pointer(), _INT64.as_pointer(), _INT64.as_pointer(), _BYTES])

#: The function of theirs that does so: it is given that, the numbers of sizes and of elements, and that of the threads.
_RUN = ir.FunctionType(ir.VoidType(), [_BYTES, *_CALLBACK.args, _INT64, _INT64, _INT32])


def _callback(context: Any, module: Any, name: str, function: Any, signature: Any, data_type: Any) -> Any:
    """A function that threading layers can call, which calls one of rounds with what the data hold."""
    callback = ir.Function(module, _CALLBACK, module.get_unique_name(f"{name}.rounds"))
    callback.linkage = "internal"
    builder = ir.IRBuilder(callback.append_basic_block())
    elements, sizes, _, data = callback.args
    first = builder.ptrtoint(builder.load(elements), _INT64)
    stop = builder.add(first, builder.load(sizes))
    given = cgutils.unpack_tuple(builder, builder.load(builder.bitcast(data, data_type.as_pointer())))
    context.call_internal_no_propagate(builder, function, signature, (first, stop, *given))
    builder.ret_void()
    return callback
