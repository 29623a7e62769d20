"""Numba's passes over a kernel: only those that its few loops need, which makes compiling faster."""

from __future__ import annotations

from typing import Any

from numba.core import compiler, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import PassManager


class KernelCompiler(compiler.CompilerBase):
    """Numba's compiler without the passes for closures, array expressions, ``with`` blocks and branches never taken.

    Kernels contain none of these, so each of the passes would traverse all of the code and change nothing.  No variable
    of a kernel has several types either, so none needs to be split into one for each assignment.
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
        """Return a single sequence of passes."""
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

    Numba optimises three times: each function, then to remove reference counting, and then the whole.  A kernel has no
    reference counting.
    """

    def add_ir_module(self, module: Any) -> None:
        """Add the code of a function, permitting products to be fused with the sums they feed.

        Instructions flagged ``EXACT`` are excluded.  Numba's own option would fuse calls, too.
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
