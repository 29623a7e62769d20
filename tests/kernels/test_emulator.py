"""The emulator of GPUs: instructions compute the right results, and planted faults are found and named."""

import struct

import numpy as np
import pytest
from numba import types

from numgrad_kernels.cuda import adapter
from numgrad_kernels.cuda.emulator import ORDERS, EmulatedKernel, FaultError, UntranslatedError

BEGIN = """
import math
from numba import cuda


def kernel(x, out):
    part = cuda.shared.array(64, "float32")
    thread = cuda.threadIdx.x
    lane = thread % 32
"""

#: A thread loads %r2 from the first buffer, and stores %r0 to the second.
ASSEMBLY = """
.visible .entry planted(.param .u64 planted_param_0, .param .u64 planted_param_1)
{{
    .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
    ld.param.u64 %rd1, [planted_param_0]; ld.param.u64 %rd2, [planted_param_1];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
    ld.global.u32 %r2, [%rd1];
    {code}
    st.global.u32 [%rd2], %r0;
    ret;
}}
"""
FLOATS, WORDS = np.arange(64, dtype=np.float32), np.arange(64, dtype=np.uint32) * 0x05040302


def compiled(statements, element=types.float32):
    text = BEGIN + "".join(f"    {line}\n" for line in statements.splitlines())
    pointer = adapter.pointer_type(element)
    return EmulatedKernel("planted", adapter.compile_ptx("planted", text, (pointer, pointer), lines=True), text)


def run(kernel, x=FLOATS, blocks=1, **options):
    """Return the second buffer after a run of a kernel with 64 threads."""
    out = np.zeros_like(x)
    parameters = struct.pack("=QQ", x.ctypes.data, out.ctypes.data)
    buffers = [(array.ctypes.data, array.ctypes.data + array.nbytes, False) for array in (x, out)]
    kernel.run((blocks,), (64,), parameters, buffers, **options)
    return out


@pytest.mark.parametrize("order", ORDERS)
def test_lanes_and_barriers(order):
    kernel = compiled("""value = x[thread]
half = 16
while half:
    value += cuda.shfl_down_sync(0xffffffff, value, half)
    half >>= 1
part[thread] = value
cuda.syncthreads()
out[thread] = part[thread // 32 * 32]""")
    np.testing.assert_array_equal(run(kernel, order=order), FLOATS.reshape(2, 32).sum(1).repeat(32))


@pytest.mark.parametrize(("statements", "message", "blocks"), [
    ("part[thread] = x[thread]\nout[thread] = part[63 - thread]", r"a race: it (reads|writes) what thread \d+", 1),
    ("part[thread] = x[thread]\ncuda.syncwarp()\nout[thread] = part[63 - thread]", "a race", 1),
    ("out[thread] = x[thread] + cuda.blockIdx.x", "a race: it writes what thread 0 writes: thread 0 of block 1", 2),
    ("out[thread] = x[thread + 1]", r"outside of all buffers: thread 63 of block 0.*line 10 \(out", 1),
    ("out[thread] = part[thread + 64]", "outside of shared memory", 1),
    ("out[thread] = cuda.shfl_down_sync(0xffff, x[thread], 8) if lane < 8 else x[thread]", "does not take part", 1),
    ("if lane < 16:\n    out[thread] = cuda.shfl_sync(0xffffffff, x[thread], 20)", "does not take part", 1),
    ("if thread < 40:\n    cuda.syncthreads()\nelse:\n    cuda.syncwarp(0xffffffff)\nout[thread] = 1", "not all", 1),
])
def test_planted_faults_are_found(statements, message, blocks):
    for order in ORDERS[:1] if "thread 0" in message or "thread 63" in message else ORDERS:
        with pytest.raises(FaultError, match=rf"^kernel planted: .*{message}"):
            run(compiled(statements), blocks=blocks, order=order)


def test_lines_are_those_of_the_kernel_and_not_of_another_one_with_its_name():
    kernel = compiled("out[thread] = x[thread + 1]")
    compiled("out[thread] = 1")
    with pytest.raises(FaultError, match=r"line 10 \(out\[thread\] = x\[thread \+ 1\]\)"):
        run(kernel)


def test_equal_values_and_synchronised_lanes_do_not_race():
    assert run(compiled("out[0] = 7"), blocks=2)[0] == 7
    kernel = compiled("part[thread] = x[thread]\ncuda.syncwarp()\nout[thread] = part[thread ^ 31]")
    np.testing.assert_array_equal(run(kernel), FLOATS.reshape(2, 32)[:, ::-1].ravel())


def test_a_misaligned_access_is_found():
    with pytest.raises(FaultError, match="a misaligned access"):
        run(EmulatedKernel("planted", ASSEMBLY.format(code="ld.global.u64 %rd4, [%rd1]; mov.u32 %r0, %r2;")), WORDS)


def test_called_functions_of_float64():
    kernel = compiled("out[thread] = math.sin(x[thread]) + math.pow(abs(x[thread]), 0.25)", types.float64)
    x = np.linspace(-1, 1, 64) ** 3 * 1e9
    np.testing.assert_allclose(run(kernel, x), np.sin(x) + np.abs(x) ** 0.25, rtol=1e-14)


def _halves(x):
    return (x & 0xFFFF) * (x & 0xFF) + (x >> 16) * (x >> 8 & 0xFF)


@pytest.mark.parametrize(("code", "expected"), [
    ("add.cc.u32 %r3, %r2, 0xF0000000; addc.u32 %r0, 5, 0;", lambda x: 5 + (x >= 0x10000000)),
    ("sub.cc.u32 %r3, %r2, 0x10000000; subc.u32 %r0, 5, 0;", lambda x: 5 - (x < 0x10000000)),
    ("mad.lo.cc.u32 %r3, %r2, 3, %r2; madc.hi.u32 %r0, %r2, 3, 0;", lambda x: 4 * x.astype(np.uint64) >> 32),
    ("mad.lo.u32 %r0, %r2, 3, %r1;", lambda x: 3 * x + np.arange(64)),
    ("dp2a.lo.u32.u32 %r0, %r2, %r2, 9;", lambda x: _halves(x) + 9),
    ("dp4a.u32.u32 %r0, %r2, %r2, 0;", lambda x: (x.view(np.uint8).reshape(64, 4).astype(np.uint32) ** 2).sum(1)),
    ("shf.l.wrap.b32 %r0, %r2, %r2, 40;", lambda x: x << 8 | x >> 24),
    ("lop3.b32 %r0, %r2, 0xFF, 0xFFFF00, 0x6A;", lambda x: (x & 0xFF) ^ 0xFFFF00),
    ("redux.sync.max.u32 %r0, %r2, 0xFFFFFFFF;", lambda x: x.reshape(2, 32).max(1).repeat(32)),
    ("redux.sync.add.s32 %r0, %r2, 0xFFFFFFFF;", lambda x: x.reshape(2, 32).sum(1, dtype=np.uint32).repeat(32)),
    ("and.b32 %r3, %r2, 2; match.any.sync.b32 %r0, %r3, 0xFFFFFFFF;",
     lambda x: np.where(x & 2, 0xAAAAAAAA, 0x55555555)),
    ("match.all.sync.b32 %r0|%p1, 7, 0xFFFFFFFF;", lambda x: 0xFFFFFFFF),
    ("setp.lt.u32 %p1, %r1, 9; bar.red.popc.u32 %r0, 0, %p1;", lambda x: 9),
    ("setp.lt.u32 %p1, %r1, 9; bar.red.or.pred %p2, 0, !%p1; selp.u32 %r0, 1, 0, %p2;", lambda x: 1),
    ("setp.lt.u32 %p1, %r1, 9; bar.red.and.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2;", lambda x: 0),
    ("mov.b32 %f1, 0f3F800000; add.rp.f32 %f2, %f1, 0f00000001; mov.b32 %r0, %f2;", lambda x: 0x3F800001),
    ("mov.b32 %f1, 0f3F800000; add.rn.f32 %f2, %f1, 0f00000001; mov.b32 %r0, %f2;", lambda x: 0x3F800000),
    (".local .align 4 .b8 depot[8]; .reg .b64 %SP; mov.u64 %SP, depot; cvta.local.u64 %rd5, %SP; "
     "st.local.u32 [%SP+4], %r2; ld.u32 %r0, [%rd5+4];", lambda x: x),
    (".shared .align 4 .b8 tile[256]; mov.u32 %r3, tile; mad.lo.u32 %r3, %r1, 4, %r3; "
     "cp.async.ca.shared.global [%r3], [%rd1], 4; cp.async.commit_group; cp.async.wait_group 0; "
     "ld.shared.u32 %r0, [%r3];", lambda x: x),
    ("and.b32 %r3, %r1, 1; mov.u32 %r0, 5; brx.idx %r3, targets;\ntargets: .branchtargets\nodd, even;\n"
     "odd: mov.u32 %r0, 7;\neven:", lambda x: np.where(np.arange(64) % 2, 5, 7)),
])
def test_instructions(code, expected):
    result = run(EmulatedKernel("planted", ASSEMBLY.format(code=code)), WORDS)
    np.testing.assert_array_equal(result, np.broadcast_to(expected(WORDS), 64).astype(np.uint32))


def test_a_call_by_some_lanes():
    function = """.func (.param .b32 result) triple(.param .b32 given)
{ .reg .b32 %r<3>; ld.param.u32 %r1, [given]; mul.lo.u32 %r2, %r1, 3; st.param.b32 [result], %r2; ret; }
"""
    code = """mov.u32 %r0, 0; setp.lt.u32 %p1, %r1, 9;
    { .param .b32 own; .param .b32 found; st.param.b32 [own], %r1; st.param.b32 [found], %r0;
    @%p1 call.uni (found), triple, (own); ld.param.b32 %r0, [found]; }"""
    result = run(EmulatedKernel("planted", function + ASSEMBLY.format(code=code)), WORDS)
    np.testing.assert_array_equal(result, np.where(np.arange(64) < 9, 3 * np.arange(64), 0))


def test_an_unknown_instruction_is_named():
    with pytest.raises(UntranslatedError, match=r"cannot run the kernel planted, which has mbarrier\.init"):
        EmulatedKernel("planted", ASSEMBLY.format(code="mbarrier.init.shared.b64 [%r1], 1;"))
