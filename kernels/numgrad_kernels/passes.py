"""Numba's passes over a kernel: only those that its few loops need, which makes compiling faster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir
from llvmlite.ir.instructions import PhiInstr
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
            library = Library(target_context.codegen(), "kernel")
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


class Library(JITCodeLibrary):
    """A kernel's machine code, which LLVM optimises once, as a whole.

    Numba optimises three times: each function, then to remove reference counting, and then the whole.  A kernel has no
    reference counting.
    """

    def add_ir_module(self, module: Any) -> None:
        """Add the code of a function, with products fused with the sums that they feed; see Note [Fused products]."""
        for function in module.functions:
            _fuse_products(module, function)
        super().add_ir_module(module)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _finalize_specific(self) -> None:
        """Generate the machine code, and take the module from the engine, which keeps the code.

        The engine searches all of its modules twice for each one that it compiles.
        """
        super()._finalize_specific()
        self._codegen._engine._ee.remove_module(self._final_module)

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


def _fuse_products(module: ir.Module, function: ir.Function) -> None:
    """Replace each sum or difference of a product that nothing else uses by a multiply-add.

    Note [Fused products]
    A processor computes ``a * b + c`` in one instruction, with one rounding.  Each product that feeds a sum in the same
    function becomes such an instruction.  LLVM may fuse no others, so the bits of a result depend on the text of the
    function alone and not on the code around its call.  Instructions flagged ``EXACT`` are excluded.
    """
    uses = Counter([id(value) for block in function.blocks for each in block.instructions for value in _operands(each)])
    for block in function.blocks:
        instructions: list[ir.Instruction] = []
        for instruction in block.instructions:
            is_sum = instruction.opname in ("fadd", "fsub")
            instructions += (is_sum and _fused(module, block, instruction, uses)) or [instruction]
        block.instructions[:] = instructions


def _operands(instruction: ir.Instruction) -> Sequence[ir.Value]:
    if isinstance(instruction, PhiInstr):
        return [value for value, _ in instruction.incomings]
    return instruction.operands


def _fused(
    module: ir.Module, block: ir.Block, instruction: ir.Instruction, uses: Mapping[int, int]
) -> list[ir.Instruction]:
    """Return the instructions that replace a sum or difference; none if it has no product of its own."""
    for index, product in enumerate(instruction.operands):
        is_product = isinstance(product, ir.Instruction) and product.opname == "fmul"
        if not is_product or product.flags or instruction.flags or uses[id(product)] != 1:
            continue
        (left, right), term = product.operands, instruction.operands[1 - index]
        instructions = []
        if instruction.opname == "fsub":
            negated = ir.Instruction(block, left.type, "fneg", [left if index else term])
            instructions.append(negated)
            left, term = (negated, term) if index else (left, negated)
        kind = left.type
        vector = isinstance(kind, ir.VectorType)
        suffix = f"v{kind.count}{kind.element.intrinsic_name}" if vector else kind.intrinsic_name
        name = f"llvm.fmuladd.{suffix}"
        multiply_add = module.globals.get(name) or ir.Function(module, ir.FunctionType(kind, [kind] * 3), name)
        fused = ir.CallInstr(block, multiply_add, [left, right, term])
        fused._name = instruction.name  # by which others refer to it
        return [*instructions, fused]
    return []
