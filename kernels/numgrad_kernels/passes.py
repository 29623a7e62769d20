"""Numba's passes over a kernel: those that its few loops need, for which it is compiled in less time."""

from __future__ import annotations

from numba.core import compiler, typed_passes, untyped_passes
from numba.core.compiler_machinery import PassManager


class KernelCompiler(compiler.CompilerBase):
    """Numba's compiler without what looks for closures, array expressions, ``with`` blocks and branches never taken.

    A kernel has none: each of these passes would go through all of its code and change nothing.
    """

    def define_pipelines(self) -> list[PassManager]:
        """What ``CompilerBase`` asks for: one sequence of passes."""
        passes = PassManager("kernel")
        passes.add_pass(untyped_passes.TranslateByteCode, "bytecode to Numba's representation")
        passes.add_pass(untyped_passes.FixupArgs, "arguments by name")
        passes.add_pass(untyped_passes.IRProcessing, "blocks and variables")
        passes.add_pass(untyped_passes.RewriteSemanticConstants, "numbers of dimensions are constants")
        passes.add_pass(untyped_passes.GenericRewrites, "constant indices")
        passes.add_pass(untyped_passes.ReconstructSSA, "each variable assigned once")
        passes.add_pass(typed_passes.NopythonTypeInference, "types")
        passes.add_pass(typed_passes.PreLowerStripPhis, "variables assigned in each block before")
        passes.add_pass(typed_passes.IRLegalization, "ends of variables")
        passes.add_pass(typed_passes.NativeLowering, "machine code")
        passes.add_pass(typed_passes.NoPythonBackend, "result")
        passes.finalize()
        return [passes]
