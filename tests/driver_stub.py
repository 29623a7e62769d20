"""A stand-in for ``cuda.bindings.driver``: GPUs whose memory is the host's, for tests without a GPU.

Work on a stream is done as late as on a GPU: when the host waits for it.  Kernels are Python functions
that get the 8 bytes of each argument.  Every call is noted in ``calls``.
"""

import ctypes
import functools
import itertools

import numpy as np
from cuda.bindings import driver as real
from late_gpu import Stream

NAMES = (
    "CU_MEMHOSTALLOC_PORTABLE", "CUdevice_attribute", "CUevent_flags", "CUresult", "CUstream", "CUstreamCaptureMode",
    "CUstream_flags",
)
ERROR = real.CUresult


def _number(handle):
    return 0 if handle is None else int(handle)


def in_context(call):
    """A call of the driver that needs a current context."""

    @functools.wraps(call)
    def checked(self, *arguments):
        return (ERROR.CUDA_ERROR_INVALID_CONTEXT,) if self._gpu() is None else call(self, *arguments)

    return checked


class Event:
    def __init__(self, flags):
        self.flags = flags
        self.stream = None
        self.place = 0

    def run(self):
        if self.stream is not None:
            self.stream.run(self.place)


class Driver:
    """``gpus`` GPUs with ``memory`` bytes each; a launch calls ``kernel`` with its ``parameters`` arguments."""

    def __init__(self, gpus=1, memory=1 << 26):
        for name in NAMES:
            setattr(self, name, getattr(real, name))
        self.gpus = gpus
        self.memory = memory
        self.calls = []
        self.fail = {}  # errors by the name of the call
        self.context = {}  # by thread
        self.blocks = {}  # of GPUs: address to memory and GPU
        self.pinned = {}
        self.streams = {}
        self.capturing = {}  # the works of graphs, by stream
        self.numbers = itertools.count(0x1000, 16)
        self.parameters = 0
        self.kernel = None

    def _note(self, *call):
        self.calls.append(call)
        return self.fail.get(call[0], ERROR.CUDA_SUCCESS)

    def _gpu(self):
        """The GPU whose context is the current one of this thread; None if none is."""
        import threading

        return self.context.get(threading.get_ident())

    def _stream(self, handle):
        return self.streams.setdefault((self._gpu(), _number(handle)), Stream())

    def _put(self, call, stream, *works):
        """Note a call, and leave its works for later, or for a graph while the stream is captured."""
        error = self._note(*call)
        if not error:
            captured = self.capturing.get((self._gpu(), _number(stream)))
            (self._stream(stream).work if captured is None else captured).extend(works)
        return (error,)

    def cuInit(self, Flags):
        return (self._note("cuInit"),)

    def cuDriverGetVersion(self):
        return ERROR.CUDA_SUCCESS, 13010

    def cuDeviceGetCount(self):
        return self.fail.get("cuDeviceGetCount", ERROR.CUDA_SUCCESS), self.gpus

    def cuDeviceGet(self, ordinal):
        return ERROR.CUDA_SUCCESS, ordinal

    def cuDeviceGetName(self, length, dev):
        return ERROR.CUDA_SUCCESS, f"GPU number {dev}".encode().ljust(length, b"\0")

    def cuDeviceTotalMem(self, dev):
        return ERROR.CUDA_SUCCESS, self.memory

    def cuDeviceGetAttribute(self, attrib, dev):
        name = attrib.name.removeprefix("CU_DEVICE_ATTRIBUTE_")
        known = {"COMPUTE_CAPABILITY_MAJOR": 9, "COMPUTE_CAPABILITY_MINOR": dev, "MULTIPROCESSOR_COUNT": 132}
        return ERROR.CUDA_SUCCESS, known.get(name, 7)

    def cuDevicePrimaryCtxRetain(self, dev):
        return self._note("cuDevicePrimaryCtxRetain", dev), ("context", dev)

    def cuCtxSetCurrent(self, ctx):
        import threading

        self.context[threading.get_ident()] = ctx[1]
        return (self._note("cuCtxSetCurrent", ctx[1]),)

    def cuCtxGetCurrent(self):
        gpu = self._gpu()
        return ERROR.CUDA_SUCCESS, real.CUcontext(0 if gpu is None else 1 + gpu)

    @in_context
    def cuCtxSynchronize(self):
        for (gpu, _), stream in list(self.streams.items()):
            if gpu == self._gpu():
                stream.run()
        return (self._note("cuCtxSynchronize"),)

    @in_context
    def cuMemGetInfo(self):
        used = sum(memory.size for memory, gpu in self.blocks.values() if gpu == self._gpu())
        return ERROR.CUDA_SUCCESS, self.memory - used, self.memory

    @in_context
    def cuMemAlloc(self, bytesize):
        error = self._note("cuMemAlloc", bytesize)
        if bytesize > self.cuMemGetInfo()[1]:
            return ERROR.CUDA_ERROR_OUT_OF_MEMORY, None
        memory = np.zeros(bytesize, np.uint8)
        self.blocks[memory.ctypes.data] = memory, self._gpu()
        return error, real.CUdeviceptr(memory.ctypes.data)

    @in_context
    def cuMemFree(self, dptr):
        error = self._note("cuMemFree", int(dptr))
        self.cuCtxSynchronize()
        assert self.blocks.pop(int(dptr))[1] == self._gpu()
        return (error,)

    @in_context
    def cuMemHostAlloc(self, bytesize, Flags):
        memory = np.zeros(bytesize, np.uint8)
        self.pinned[memory.ctypes.data] = memory
        return self._note("cuMemHostAlloc", bytesize, Flags), memory.ctypes.data

    @in_context
    def cuMemFreeHost(self, p):
        del self.pinned[p]
        return (self._note("cuMemFreeHost"),)

    @in_context
    def cuMemcpyHtoDAsync(self, dstDevice, srcHost, ByteCount, hStream):
        call = "cuMemcpyHtoDAsync", ByteCount, _number(hStream)
        return self._put(call, hStream, lambda: ctypes.memmove(dstDevice, srcHost, ByteCount))

    @in_context
    def cuMemcpyDtoHAsync(self, dstHost, srcDevice, ByteCount, hStream):
        call = "cuMemcpyDtoHAsync", ByteCount, _number(hStream)
        return self._put(call, hStream, lambda: ctypes.memmove(dstHost, srcDevice, ByteCount))

    @in_context
    def cuMemcpyDtoDAsync(self, dstDevice, srcDevice, ByteCount, hStream):
        call = "cuMemcpyDtoDAsync", ByteCount, _number(hStream)
        return self._put(call, hStream, lambda: ctypes.memmove(dstDevice, srcDevice, ByteCount))

    @in_context
    def cuMemsetD8Async(self, dstDevice, uc, N, hStream):
        return self._put(("cuMemsetD8Async", N), hStream, lambda: ctypes.memset(dstDevice, uc, N))

    @in_context
    def cuStreamCreateWithPriority(self, flags, priority):
        return self._note("cuStreamCreateWithPriority", flags, priority), real.CUstream(next(self.numbers))

    @in_context
    def cuStreamQuery(self, hStream):
        stream = self._stream(hStream)
        left = len(stream.work) > stream.done
        return (ERROR.CUDA_ERROR_NOT_READY if left else self._note("cuStreamQuery"),)

    @in_context
    def cuStreamSynchronize(self, hStream):
        self._stream(hStream).run()
        return (self._note("cuStreamSynchronize", _number(hStream)),)

    @in_context
    def cuStreamWaitEvent(self, hStream, hEvent, Flags):
        return self._put(("cuStreamWaitEvent",), hStream, hEvent.run)

    @in_context
    def cuEventCreate(self, Flags):
        return self._note("cuEventCreate", Flags), Event(Flags)

    @in_context
    def cuEventRecord(self, hEvent, hStream):
        hEvent.stream = self._stream(hStream)
        hEvent.place = len(hEvent.stream.work)
        return (self._note("cuEventRecord", _number(hStream)),)

    @in_context
    def cuEventQuery(self, hEvent):
        left = hEvent.stream is not None and hEvent.stream.done < hEvent.place
        return (ERROR.CUDA_ERROR_NOT_READY if left else ERROR.CUDA_SUCCESS,)

    @in_context
    def cuEventSynchronize(self, hEvent):
        hEvent.run()
        return (self._note("cuEventSynchronize"),)

    @in_context
    def cuEventElapsedTime(self, hStart, hEnd):
        return ERROR.CUDA_SUCCESS, float(hEnd.place - hStart.place)

    def cuEventDestroy(self, hEvent):
        return (self._note("cuEventDestroy"),)

    @in_context
    def cuModuleLoadData(self, image):
        return self._note("cuModuleLoadData", image), "module"

    @in_context
    def cuModuleGetFunction(self, hmod, name):
        return self._note("cuModuleGetFunction", name), (name, self._gpu())

    @in_context
    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, func, blockSize, dynamicSMemSize):
        return ERROR.CUDA_SUCCESS, 1536 // blockSize

    @in_context
    def cuLaunchKernel(
        self, f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams,
        extra,
    ):
        assert (sharedMemBytes, extra) == (0, 0)
        pointers = (ctypes.c_uint64 * self.parameters).from_address(kernelParams)
        arguments = [bytes((ctypes.c_char * 8).from_address(pointer)) for pointer in pointers]
        grid, block = (gridDimX, gridDimY, gridDimZ), (blockDimX, blockDimY, blockDimZ)
        work = (lambda: self.kernel(*arguments)) if self.kernel else (lambda: None)
        return self._put(("cuLaunchKernel", f, grid, block, _number(hStream), arguments), hStream, work)

    @in_context
    def cuStreamBeginCapture(self, hStream, mode):
        error = self._note("cuStreamBeginCapture", mode)
        if not _number(hStream):
            return (ERROR.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,)
        if not error:
            self.capturing[self._gpu(), _number(hStream)] = []
        return (error,)

    @in_context
    def cuStreamEndCapture(self, hStream):
        return self._note("cuStreamEndCapture"), self.capturing.pop((self._gpu(), _number(hStream)))

    @in_context
    def cuGraphInstantiate(self, hGraph, flags):
        return self._note("cuGraphInstantiate", flags), hGraph[:]

    @in_context
    def cuGraphLaunch(self, hGraphExec, hStream):
        return self._put(("cuGraphLaunch", len(hGraphExec), _number(hStream)), hStream, *hGraphExec)

    def cuGraphDestroy(self, hGraph):
        return (self._note("cuGraphDestroy"),)

    def cuGraphExecDestroy(self, hGraphExec):
        return (self._note("cuGraphExecDestroy"),)

    def cuGetErrorString(self, error):
        return ERROR.CUDA_SUCCESS, b"what the driver says"

    def made(self, name):
        """The calls of this name, without it."""
        return [call[1:] for call in self.calls if call[0] == name]
