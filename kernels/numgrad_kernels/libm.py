"""Calls of the C library's mathematics that LLVM can vectorise with glibc's vector library, libmvec.

A call of ``expf`` with the attribute ``vector-function-abi-variant`` tells LLVM's vectoriser which function
takes four, eight or sixteen floats at once. glibc 2.22 brought the first six such functions, glibc 2.35
most others. Where there is no libmvec (other systems and processors) the plain scalar call stands.

The scalar and the vector functions round differently, and a loop calls both: the vector one in its body,
the scalar one for what is left at its end. Whoever needs values that do not depend on an element's place
must see to it that every element goes through the vector loop.

Setting the environment variable NUMGRAD_LIBMVEC=0 before the import does without libmvec.
"""

import functools
import os
import platform
from collections.abc import Callable

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils
from numba.core.registry import cpu_target

from .instructions import Value

__all__ = ["ensure_loaded", "fingerprint", "function", "has_vector_form", "libmvec_found", "variants"]

# The letter of each instruction set in the vector functions' names, and the size of its registers in bits.
_REGISTER_BITS = {"b": 128, "d": 256, "e": 512}

# Compiled for a target, the first takes a whole 256-bit register (ymm) only with avx2, the second a 512-bit
# one (zmm) only with avx512f: the compiler itself says what it understands by a processor's name and
# features.
_PROBE = """
define <8 x i32> @d(<8 x i32> %x) #0 { %y = add <8 x i32> %x, %x ret <8 x i32> %y }
define <16 x float> @e(<16 x float> %x) #0 { %y = fadd <16 x float> %x, %x ret <16 x float> %y }
attributes #0 = { "min-legal-vector-width"="512" "prefer-vector-width"="512" }
"""


@functools.cache
def libmvec_found() -> bool:
    """Whether this machine has libmvec for Numba's code to call; it is loaded then."""
    if os.environ.get("NUMGRAD_LIBMVEC") == "0":
        return False
    try:
        llvm.load_library_permanently("libmvec.so.1")
    except RuntimeError:
        return False
    return llvm.address_of_symbol("_ZGVbN4v_expf") is not None  # on other processors the names differ


def ensure_loaded() -> None:
    """Load libmvec if there is one. Without it machine code that calls it, compiled or cached, crashes."""
    libmvec_found()


@functools.cache
def variants() -> str:
    """The instruction sets whose vector functions may be called: b (always), d (avx2), e (avx512f).

    Numba's target decides, not the machine: NUMBA_CPU_NAME and NUMBA_CPU_FEATURES change it, and a loop
    that calls functions wider than the target's registers computes wrong numbers.
    """
    if not libmvec_found():
        return ""
    triple, name, features = cpu_target.target_context.codegen().magic_tuple()
    machine = llvm.Target.from_triple(triple).create_target_machine(name, features)
    assembly = machine.emit_assembly(llvm.parse_assembly(_PROBE))
    return "b" + ("d" if "vpaddd\t%ymm" in assembly else "") + ("e" if "%zmm" in assembly else "")


def fingerprint() -> str:
    """What compiled code depends on here, for the key of a cache."""
    return f"{_c_library()}, libmvec {variants() or 'absent'}"


def _c_library() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or platform.platform()
    except (AttributeError, ValueError, OSError):  # no confstr, or none that knows the name: not glibc
        return platform.platform()


def has_vector_form(name: str) -> bool:
    """Whether libmvec has the function that C calls ``name``, such as "exp" (its version decides)."""
    names = (_vector_name("b", 4, arguments, f"{name}f") for arguments in (1, 2))
    return libmvec_found() and any(llvm.address_of_symbol(name) is not None for name in names)


def function(name: str) -> Callable[..., Value]:
    """The function that C calls ``name``, as a function of values: ``sinf`` for float32, ``sin`` for
    float64."""

    def call(*arguments: Value) -> Value:
        first, count = arguments[0], len(arguments)
        builder, number = first.builder, first.value.type
        symbol = f"{name}f" if first.size == 32 else name
        signature = ir.FunctionType(number, [number] * count)
        scalar = cgutils.get_or_insert_function(builder.module, signature, symbol)
        result = builder.call(scalar, [x.value for x in arguments])
        # Nobody reads errno or signgam, so calls may move or vanish. (`add` would refuse these newer names.)
        set.add(result.attributes, "nounwind willreturn memory(none)")
        if has_vector_form(name):
            mapping = _declare_vector_forms(builder.module, symbol, number, first.size, count)
            set.add(result.attributes, f'"vector-function-abi-variant"="{mapping}"')
        return Value(builder, result)

    return call


def _vector_name(letter: str, lanes: int, arguments: int, symbol: str) -> str:
    """The name by the x86 vector function ABI: unmasked, all arguments vectors."""
    return f"_ZGV{letter}N{lanes}{'v' * arguments}_{symbol}"


def _declare_vector_forms(module: ir.Module, symbol: str, number: ir.Type, bits: int, arguments: int) -> str:
    """Declare the vector forms in the module; their list for LLVM."""
    mapping = []
    for letter in variants():
        lanes = _REGISTER_BITS[letter] // bits
        name = _vector_name(letter, lanes, arguments, symbol)
        vector = ir.VectorType(number, lanes)
        signature = ir.FunctionType(vector, [vector] * arguments)
        _keep(module, cgutils.get_or_insert_function(module, signature, name))
        mapping.append(f"{_vector_name('_LLVM_', lanes, arguments, symbol)}({name})")
    return ",".join(mapping)


def _keep(module: ir.Module, function: ir.Function) -> None:
    """Append the function to the list of those that LLVM must not drop, though nothing calls them yet."""
    name, pointer = "llvm.compiler.used", ir.IntType(8).as_pointer()
    used = module.globals.get(name)
    kept = [] if used is None else list(used.initializer.constant)
    entry = function.bitcast(pointer)
    if str(entry) in map(str, kept):
        return
    array = ir.ArrayType(pointer, len(kept) + 1)
    if used is None:
        used = ir.GlobalVariable(module, array, name)
        used.linkage, used.section = "appending", "llvm.metadata"
    used.value_type, used.type = array, array.as_pointer()
    used.initializer = ir.Constant(array, [*kept, entry])


ensure_loaded()
