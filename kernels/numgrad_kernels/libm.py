"""Calls of the C library's mathematics that LLVM can vectorise with glibc's vector library, libmvec.

A call with the attribute ``vector-function-abi-variant`` specifies for LLVM's vectoriser which function takes two,
four, eight or more numbers at once. glibc 2.22 introduced the first six such functions, glibc 2.35 most others. Without
libmvec (other systems and processors), the C library's scalar function is called.

The scalar ``sinf`` rounds differently from the vector one, and the vector functions of different lengths from each
other. A loop would call several of them: the long one in its body, the others for the remaining elements. To make an
element's value independent of its position, a single function of libmvec computes all of them: the one of the
processor's preferred length. Small wrapper functions of other lengths, down to a single number, fill up its lanes or
call it several times.

Setting the environment variable NUMGRAD_LIBMVEC=0 before the import disables libmvec.
"""

import functools
import os
import platform
from collections.abc import Callable, Iterable

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils

from .instructions import Value, device_function, on_gpu, target_assembly

# The letter of each instruction set in the vector functions' names, and the size of its registers in bits.
_REGISTER_BITS = {"b": 128, "d": 256, "e": 512}

# The numbers of lanes that vectorised loops may use.
_LANES = (2, 4, 8, 16, 32)

# Compiled for a target, the first function uses a whole 256-bit register (ymm) only with avx2, the second a 512-bit one
# (zmm) only with avx512f, and only where the compiler considers such registers worthwhile. The probe thus follows the
# compiler's own reading of a processor's name and features.
_PROBE = """
define <8 x i32> @d(<8 x i32> %x) { %y = add <8 x i32> %x, %x ret <8 x i32> %y }
define void @e(ptr %p) #0 {
  %x = load <16 x float>, ptr %p
  %y = fadd <16 x float> %x, %x
  store <16 x float> %y, ptr %p
  ret void
}
attributes #0 = { "min-legal-vector-width"="0" }
"""

# errno and signgam are never read, so calls may be moved, omitted, or made though their result is not needed.
_PURE = "nounwind willreturn memory(none)"


@functools.cache
def libmvec_found() -> bool:
    """Load libmvec if this machine has it, and return True if Numba's code can call it."""
    if os.environ.get("NUMGRAD_LIBMVEC") == "0":
        return False
    try:
        llvm.load_library_permanently("libmvec.so.1")
    except RuntimeError:
        return False
    return llvm.address_of_symbol("_ZGVbN4v_expf") is not None  # on other processors the names differ


def ensure_loaded() -> None:
    """Load libmvec if there is one. Without it, machine code that calls it, compiled or cached, crashes."""
    libmvec_found()


@functools.cache
def variant() -> str:
    """Return the instruction set whose vector functions are called: b, d (from avx2 on), e (avx512f), or none.

    Numba's target decides, not the machine: NUMBA_CPU_NAME and NUMBA_CPU_FEATURES change it, and a loop that calls
    functions wider than the target's registers computes wrong numbers.
    """
    if not libmvec_found():
        return ""
    assembly = target_assembly(_PROBE)
    return "e" if "%zmm" in assembly else "d" if "vpaddd\t%ymm" in assembly else "b"


def fingerprint() -> str:
    """Return the part of a cache key that identifies the libraries that compiled code depends on."""
    return f"{_c_library()}, libmvec {variant() or 'absent'}"


def _c_library() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or platform.platform()
    except (AttributeError, ValueError, OSError):  # no confstr, or none that has the name: not glibc
        return platform.platform()


def has_vector_form(name: str) -> bool:
    """Return True if this version of libmvec has the function that C calls ``name``, such as "exp"."""
    names = (_vector_name("b", 4, arguments, f"{name}f") for arguments in (1, 2))
    return libmvec_found() and any(llvm.address_of_symbol(name) is not None for name in names)


def function(name: str) -> Callable[..., Value]:
    """Return the function that C calls ``name`` as a function of values: ``sinf`` for float32, ``sin`` for float64."""

    def call(*arguments: Value) -> Value:
        first, count = arguments[0], len(arguments)
        if on_gpu(first):
            return device_function(name, *arguments)
        builder, number = first.builder, first.value.type
        symbol = f"{name}f" if first.size == 32 else name
        if has_vector_form(name):
            result = _vectorisable_call(builder, symbol, number, first.size, [x.value for x in arguments])
        else:
            scalar = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(number, [number] * count), symbol
            )
            result = builder.call(scalar, [x.value for x in arguments])
        set.add(result.attributes, _PURE)  # (`add` would refuse these newer names)
        return Value(builder, result)

    return call


def by_size(polynomial: Callable[..., Value], name: str) -> Callable[..., Value]:
    """Return a function that uses the polynomial for float32 and the C library for float64."""
    library = function(name)
    return lambda *numbers: (polynomial if numbers[0].size == 32 else library)(*numbers)


def _vector_name(letter: str, lanes: int, arguments: int, symbol: str) -> str:
    """Return the name by the x86 vector function ABI: unmasked, all arguments vectors."""
    return f"_ZGV{letter}N{lanes}{'v' * arguments}_{symbol}"


def _vectorisable_call(
    builder: ir.IRBuilder, symbol: str, number: ir.Type, bits: int, arguments: list[ir.Value]
) -> ir.CallInstr:
    """Add a call of the function of a single number, with a list of the vector functions that may replace it."""
    module, count = builder.module, len(arguments)
    native = _REGISTER_BITS[variant()] // bits
    vector = ir.VectorType(number, native)
    signature = ir.FunctionType(vector, [vector] * count)
    libmvec = cgutils.get_or_insert_function(module, signature, _vector_name(variant(), native, count, symbol))
    single = _resized(module, libmvec, 1, symbol)
    mapping = []
    for lanes in _LANES:
        form = libmvec if lanes == native else _resized(module, libmvec, lanes, symbol)
        _keep(module, form)
        mapping.append(f"{_vector_name('_LLVM_', lanes, count, single.name)}({form.name})")
    result = builder.call(single, arguments)
    set.add(result.attributes, f'"vector-function-abi-variant"="{",".join(mapping)}"')
    return result


def _resized(module: ir.Module, libmvec: ir.Function, lanes: int, symbol: str) -> ir.Function:
    """Return the vector function for another number of lanes; for one lane, a function of a single number."""
    name = f"numgrad_{symbol}_{lanes}"
    if name in module.globals:
        return module.globals[name]
    native = libmvec.function_type.return_type
    type = ir.VectorType(native.element, lanes) if lanes > 1 else native.element
    function = ir.Function(module, ir.FunctionType(type, [type] * len(libmvec.args)), name)
    function.linkage = "linkonce_odr"  # each kernel has its own copy, all of them identical
    # If it were inlined before the loop is vectorised, it could not be replaced by another form.
    set.add(function.attributes, f"noinline speculatable {_PURE}")
    builder = ir.IRBuilder(function.append_basic_block())
    vectors = [x if lanes > 1 else builder.bitcast(x, ir.VectorType(native.element, 1)) for x in function.args]
    results = []
    for start in range(0, lanes, native.count):
        # If there are too few numbers, the last one is repeated, which is harmless.
        lane_indices = [min(start + lane, lanes - 1) for lane in range(native.count)]
        results.append(builder.call(libmvec, [_shuffled(builder, x, x, lane_indices) for x in vectors]))
    while len(results) > 1:
        pairs = zip(results[::2], results[1::2], strict=True)
        results = [_shuffled(builder, a, b, range(2 * a.type.count)) for a, b in pairs]
    result = _shuffled(builder, results[0], results[0], range(lanes))
    builder.ret(result if lanes > 1 else builder.bitcast(result, type))
    return function


def _shuffled(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, lanes: Iterable[int]) -> ir.Value:
    """Return the vector of these lanes of two others."""
    numbers = [*lanes]
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), numbers)
    return builder.shuffle_vector(a, b, mask)


def _keep(module: ir.Module, function: ir.Function) -> None:
    """Append the function to the list of those that LLVM must not drop, although nothing calls them yet."""
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
