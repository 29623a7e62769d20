"""Numba's passes over a kernel: those that its few loops need, for which it is compiled in less time."""

from __future__ import annotations

from typing import Any

from numba.core import compiler, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import PassManager


class KernelCompiler(compiler.CompilerBase):
    """Numba's compiler without what looks for closures, array expressions, ``with`` blocks and branches never taken.

    A kernel has none: each of these passes would go through all of its code and change nothing.  Nor has it a variable
    of several types, so that none need be taken apart into one for each assignment.
    """

    def __init__(
        self, typing_context: Any, target_context: Any, library: Any, args: Any, return_type: Any, flags: Any,
        locals: Any,
    ):  # fmt: skip
        if library is None:
            library = _Library(target_context.codegen(), "kernel")
            library.enable_object_caching()
        super().__init__(typing_context, target_context, library, args, return_type, flags, locals)

    def define_pipelines(self) -> list[PassManager]:
        """What ``CompilerBase`` asks for: one sequence of passes."""
        passes = PassManager("kernel")
        passes.add_pass(untyped_passes.TranslateByteCode, "bytecode to Numba's representation")
        passes.add_pass(untyped_passes.FixupArgs, "arguments by name")
        passes.add_pass(untyped_passes.IRProcessing, "blocks and variables")
        passes.add_pass(untyped_passes.RewriteSemanticConstants, "numbers of dimensions are constants")
        passes.add_pass(untyped_passes.GenericRewrites, "constant indices")
        passes.add_pass(typed_passes.NopythonTypeInference, "types")
        passes.add_pass(typed_passes.IRLegalization, "ends of variables")
        passes.add_pass(typed_passes.NativeLowering, "machine code")
        passes.add_pass(typed_passes.NoPythonBackend, "result")
        passes.finalize()
        return [passes]


class _Library(JITCodeLibrary):
    """A kernel's machine code, which LLVM optimises once, as a whole.

    Numba has it do so three times: for each function, to find what counts references, and then.  A kernel counts none.
    """

    def add_ir_module(self, module: Any) -> None:
        """Take the code of a function, in which a product may be fused with the sum it feeds.

        Not so in what says of itself that it is ``EXACT``: Numba's option would have calls fused, too.
        """
        for function in module.functions:
            for block in function.blocks:
                for instruction in block.instructions:
                    if instruction.opname in ("fadd", "fsub", "fmul") and not instruction.flags:
                        instruction.flags.append("contract")
        super().add_ir_module(module)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)
