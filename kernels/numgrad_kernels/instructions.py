"""Arithmetic for ``@njit`` code, written in Python and emitted as LLVM instructions.

A function of ``Value``s runs while Numba generates code, once for each call in the code; every operator in it emits one
instruction there. float32 and 32-bit integers, which Numba's own arithmetic widens, thus keep their type, the bits of a
float are accessible, and compiling takes hardly any time. ``emitting`` turns such a function into the code generator
that Numba calls::

    cube = emitting(lambda x: x * x * x)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

_SIZES = {ir.FloatType(): 32, ir.DoubleType(): 64}
_FLOATS = {size: llvm_type for llvm_type, size in _SIZES.items()}

#: A flag without effect that marks an instruction: no product with it is fused with the sum that it feeds
#: (``passes.py``).
EXACT = ("",)


class Value:
    """A float, integer or truth value in the code being generated, or a vector of these.

    Python's numbers combined with it take its type.
    """

    def __init__(self, builder: ir.IRBuilder, value: ir.Value):
        self.builder = builder
        self.value = value

    @property
    def size(self) -> int:
        """Number of bits of the value, or of each element of a vector."""
        return _SIZES.get(self.element) or self.element.width

    @property
    def element(self) -> ir.Type:
        """The type of the number, or of each element of a vector."""
        return self.value.type.element if isinstance(self.value.type, ir.VectorType) else self.value.type

    def of_same_length(self, element: ir.Type) -> ir.Type:
        """Return the type of as many numbers of another type."""
        type = self.value.type
        return ir.VectorType(element, type.count) if isinstance(type, ir.VectorType) else element

    def like(self, number: float) -> Value:
        """Return the number in the type of this value."""
        return Value(self.builder, ir.Constant(self.value.type, number))

    def _lift(self, other: Any) -> ir.Value:
        return (other if isinstance(other, Value) else self.like(other)).value

    def _binary(self, name: str, other: Any, reflected: bool = False) -> Value:
        if not isinstance(other, Value | Real):
            return NotImplemented
        operation = getattr(self.builder, f"f{name}" if self.element in _SIZES else name)
        operands = (self._lift(other), self.value) if reflected else (self.value, self._lift(other))
        return Value(self.builder, operation(*operands, flags=EXACT))

    def _compare(self, sign: str, other: Any) -> Value:
        if self.element not in _SIZES:
            return Value(self.builder, self.builder.icmp_unsigned(sign, self.value, self._lift(other)))
        # Comparisons with NaN are false, but NaN is unequal to everything.
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return Value(self.builder, compare(sign, self.value, self._lift(other)))

    def __add__(self, other: Any) -> Value:
        return self._binary("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Value:
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self._binary("sub", other, reflected=True)

    def __mul__(self, other: Any) -> Value:
        return self._binary("mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Value:
        return self._binary("div", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._binary("div", other, reflected=True)

    def __mod__(self, other: Any) -> Value:
        """C's ``fmod``: exact, with the sign of the left side.

        It is a call, which in a branch keeps LLVM from vectorising the loop, not the instruction, which LLVM would
        compute for all elements and NVIDIA's compiler would replace by a rounded difference.
        """
        if on_gpu(self):
            return device_function("fmod", self, other)
        number = self.value.type
        name = "fmodf" if self.size == 32 else "fmod"
        function = cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(number, [number] * 2), name)
        return Value(self.builder, self.builder.call(function, [self.value, self._lift(other)]))

    def __neg__(self) -> Value:
        if on_gpu(self):  # whose compiler lacks the newer instruction
            return self.like(-0.0) - self
        return Value(self.builder, self.builder.fneg(self.value))

    def __and__(self, other: Any) -> Value:
        return Value(self.builder, self.builder.and_(self.value, self._lift(other)))

    def __or__(self, other: Any) -> Value:
        return Value(self.builder, self.builder.or_(self.value, self._lift(other)))

    def __xor__(self, other: Any) -> Value:
        return Value(self.builder, self.builder.xor(self.value, self._lift(other)))

    def __lshift__(self, count: int) -> Value:
        return Value(self.builder, self.builder.shl(self.value, self._lift(count)))

    def __rshift__(self, count: int) -> Value:
        return Value(self.builder, self.builder.lshr(self.value, self._lift(count)))

    def __lt__(self, other: Any) -> Value:
        return self._compare("<", other)

    def __le__(self, other: Any) -> Value:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> Value:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Value:
        return self._compare(">=", other)

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]
        return self._compare("!=", other)


def on_gpu(x: Value) -> bool:
    """True if the code being generated is for an NVIDIA GPU."""
    return "nvptx" in x.builder.module.triple


def device_function(name: str, *arguments: Any) -> Value:
    """Emit a call of NVIDIA's libdevice, which has C's mathematical functions under C's names."""
    first = arguments[0]
    llvm_type = first.value.type
    symbol = f"__nv_{name}{'f' if first.size == 32 else ''}"
    signature = ir.FunctionType(llvm_type, [llvm_type] * len(arguments))
    function = cgutils.get_or_insert_function(first.builder.module, signature, symbol)
    return Value(first.builder, first.builder.call(function, [first._lift(x) for x in arguments]))


def reciprocal(x: Value) -> Value:
    """1 / x, on GPUs in float32 with an error of one unit in the last place.

    There it is 0 for x above 2^126 and infinite for subnormal x.  A division would take some ten
    instructions and a branch; this is one.
    """
    if x.size != 32 or not on_gpu(x):
        return 1 / x
    signature = ir.FunctionType(x.value.type, [x.value.type])
    return Value(x.builder, x.builder.asm(signature, "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x.value], False))


def quotient(numerator: Value, denominator: Value) -> Value:
    """The quotient, for denominators that are neither subnormal nor above 2^126.

    On GPUs in float32, the error of the quotient with the reciprocal is subtracted.
    """
    if denominator.size != 32 or not on_gpu(denominator):
        return numerator / denominator
    inverse = reciprocal(denominator)
    result = numerator * inverse
    return fma(fma(-result, denominator, numerator), inverse, result)


def rounded(x: Value) -> Value:
    """Return a float that is not fused with other operations: a sum takes the rounded value of a product.

    NVIDIA's compilers do not fuse an addition with an explicit rounding mode, and adding -0 changes nothing.
    """
    if not on_gpu(x):
        return from_bits(bits(x))
    symbol = f"__nv_{'f' if x.size == 32 else 'd'}add_rn"
    signature = ir.FunctionType(x.value.type, [x.value.type] * 2)
    function = cgutils.get_or_insert_function(x.builder.module, signature, symbol)
    return Value(x.builder, x.builder.call(function, [x.value, x.like(-0.0).value]))


def instruction(name: str) -> Callable[..., Value]:
    """Return an LLVM intrinsic of floats, such as ``llvm.sqrt``, as a function of values."""
    in_c = "fma" if name == "llvm.fmuladd" else name.removeprefix("llvm.")

    def call(*arguments: Any) -> Value:
        first = arguments[0]
        if on_gpu(first):  # NVIDIA's compiler rejects most of LLVM's intrinsics
            return device_function(in_c, *arguments)
        llvm_type = first.value.type
        signature = ir.FunctionType(llvm_type, [llvm_type] * len(arguments))
        length = f"v{llvm_type.count}" if isinstance(llvm_type, ir.VectorType) else ""
        symbol = f"{name}.{length}{first.element.intrinsic_name}"
        function = cgutils.get_or_insert_function(first.builder.module, signature, symbol)
        return Value(first.builder, first.builder.call(function, [first._lift(x) for x in arguments]))

    return call


absolute = instruction("llvm.fabs")
copysign = instruction("llvm.copysign")
_fmuladd = instruction("llvm.fmuladd")


def fma(a: Value, b: Any, c: Any) -> Value:
    """a * b + c: rounded once if the target multiplies and adds in one instruction, else twice.

    The target alone decides, so the vector body of a loop and its scalar remainder agree bit for bit. (The ``contract``
    flag might make the two differ, since it fuses operations that happen to be adjacent.)
    """
    return _fmuladd(a, b, c)


def product_rest(a: Value, b: Any, product: Value) -> Value:
    """The rounding error of the product a * b, exact if none of its parts is subnormal or too large."""
    if fuses(a):
        return fma(a, b, -product)
    # Dekker's product (1971): the products of halves of the numbers are exact.
    a_high, b_high = _upper_half(a), _upper_half(product.like(b) if not isinstance(b, Value) else b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _upper_half(x: Value) -> Value:
    large = x * (4097.0 if x.size == 32 else 134217729.0)
    return large - (large - x)


def fuses(x: Value) -> bool:
    """Return True if the code being generated multiplies and adds in one instruction."""
    return on_gpu(x) or _processor_fuses()


@functools.cache
def _processor_fuses() -> bool:
    declaration = "declare float @llvm.fmuladd.f32(float, float, float)"
    body = "%d = call float @llvm.fmuladd.f32(float %a, float %b, float %c) ret float %d"
    assembly = target_assembly(f"{declaration} define float @f(float %a, float %b, float %c) {{ {body} }}")
    return "fmadd" in assembly or "fmla" in assembly


def target_assembly(text: str) -> str:
    """Return the assembly that LLVM generates from a module's text for the processor that Numba compiles for."""
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    machine = llvm.Target.from_triple(triple).create_target_machine(name, features)
    return machine.emit_assembly(llvm.parse_assembly(text))


def horner(x: Value, coefficients: Sequence[float]) -> Value:
    """c[0] + c[1] x + c[2] x^2 + ..."""
    result: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = fma(x, result, coefficient)
    return result


def select(condition: Value, a: Any, b: Any) -> Value:
    """a where the condition holds, else b, without a branch; one of the two may be a plain number."""
    typed = a if isinstance(a, Value) else b
    chosen = condition.builder.select(condition.value, typed._lift(a), typed._lift(b))
    return Value(condition.builder, chosen)


def bits(x: Value) -> Value:
    """The bits of a float as an integer of the same size."""
    return Value(x.builder, x.builder.bitcast(x.value, x.of_same_length(ir.IntType(x.size))))


def from_bits(n: Value) -> Value:
    """The float with these bits."""
    return Value(n.builder, n.builder.bitcast(n.value, n.of_same_length(_FLOATS[n.size])))


def either(
    condition: Value, then: Callable[[], Sequence[Value]], otherwise: Callable[[], Sequence[Value]], likely: Any = None
) -> list[Value]:
    """The results of one of two functions, by branching: for functions that take long to compute.

    Args:
        condition: a single truth value, which chooses ``then``.
        likely: True or False if one of the branches is taken seldom.
    """
    builder, results = condition.builder, []
    with builder.if_else(condition.value, likely=likely) as branches:
        for branch, function in zip(branches, (then, otherwise), strict=True):
            with branch:
                results.append(([*function()], builder.block))
    merged = []
    for part in range(len(results[0][0])):
        value = builder.phi(results[0][0][part].value.type)
        for values, block in results:
            value.add_incoming(values[part].value, block)
        merged.append(Value(builder, value))
    return merged


def repeat(step: Callable[..., tuple[Sequence[Value], Value]], start: Sequence[Value], rounds: int) -> list[Value]:
    """The values after a loop that replaces them by ``step(*values)``, first by ``step(*start)``.

    ``step`` returns the new values and the condition for another round, of which there are at most ``rounds``.
    """
    builder, before = start[0].builder, start[0].builder.block
    body, after = builder.append_basic_block("repeat"), builder.append_basic_block("repeated")
    builder.branch(body)
    builder.position_at_end(body)
    count = builder.phi(ir.IntType(32))
    values = [builder.phi(value.value.type) for value in start]
    results, again = step(*[Value(builder, value) for value in values])
    counted = builder.add(count, ir.Constant(count.type, 1))
    more = builder.and_(again.value, builder.icmp_unsigned("<", counted, ir.Constant(count.type, rounds)))
    end = builder.block
    builder.cbranch(more, body, after)
    for phi, first, last in zip([count, *values], [0, *start], [counted, *results], strict=True):
        phi.add_incoming(first.value if isinstance(first, Value) else ir.Constant(count.type, first), before)
        phi.add_incoming(last.value if isinstance(last, Value) else last, end)
    builder.position_at_end(after)
    return [*results]


def emitting(function: Callable[..., Value]) -> Callable[..., Any]:
    """Return the code generator of a function of values."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, operands: Any) -> Any:
        return function(*(Value(builder, x) for x in operands)).value

    return generate


def compiled_pairs(function: Callable[..., Any], arguments: int = 1, real: bool = False) -> Any:
    """Return a function of complex numbers, each a pair of values, for ``@njit`` code; the result may be ``real``."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, operands: Any) -> Any:
        numbers = [context.make_complex(builder, signature.args[0], x) for x in operands]
        computed = function(*[(Value(builder, x.real), Value(builder, x.imag)) for x in numbers])
        if real:
            return computed.value
        result = context.make_complex(builder, signature.return_type)
        result.real, result.imag = (part.value for part in computed)
        return result._getvalue()

    def signature(x: Any, *others: Any) -> Any:
        if isinstance(x, types.Complex) and all(other == x for other in others):
            return (x.underlying_float if real else x)(x, *others), generate
        return None

    def unary(typingctx, x):
        return signature(x)

    def binary(typingctx, x, y):
        return signature(x, y)

    return intrinsic(unary if arguments == 1 else binary)
