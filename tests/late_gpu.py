"""A simulated GPU that does work on a stream as late as a GPU may: when the host waits for it."""

import contextlib
from types import SimpleNamespace

from numgrad.devices import DeviceBuffer, buffers


class Stream:
    """Pending work, from number ``done`` on."""

    def __init__(self):
        self.work = []
        self.done = 0

    def run(self, end=None):
        end = len(self.work) if end is None else end
        while self.done < end:
            self.done += 1
            self.work[self.done - 1]()


class Event:
    """One made here: the simulated GPU's own, of before, have come."""

    def __init__(self):
        self.stream, self.place = Stream(), 0


class LateGPU:
    """It replaces the module ``numgrad.devices.cuda.simulated``, which does the work when it is due."""

    def __init__(self, cuda):
        self.simulated = cuda.runtime.driver
        self.note_uses = cuda.memory.note_uses
        self.streams = {}
        self.captured, self.capturing = [], set()
        self.launched = 0

    def driver(self):
        late = {
            name: self.later(getattr(self.simulated, name))
            for name in ("copy_to_device", "copy_to_host", "copy_within", "fill_bytes")
        }
        known = vars(self.simulated)
        return SimpleNamespace(__name__="late.simulated", **{
            **{name: value for name, value in known.items() if name[:2] != "__"}, **late,
            **{name: getattr(self, name) for name in vars(LateGPU) if name in known},
        })

    def on(self, stream):
        return self.streams.setdefault(int(stream), Stream())

    def later(self, function):
        def put(*arguments):
            self.on(arguments[-1]).work.append(lambda: function(*arguments))

        return put

    def late_launch(self, launch):
        """A kernel, of which a launch holds no memory: it must be there all the same when it runs."""

        def put(blocks, threads, stream, *values):
            self.note_uses(stream, values)
            bare = [
                DeviceBuffer(value.address, value.size, value.dtype, value.device, None)
                if value.__class__ is DeviceBuffer else value
                for value in values
            ]  # fmt: skip
            self.on(stream).work.append(lambda: launch(blocks, threads, stream, *bare))

        vars(put).update(vars(launch), own=launch)
        return put

    def load(self, name, text, arguments):
        return self.late_launch(self.simulated.load(name, text, arguments))

    def free(self, address, device):
        self.synchronize_device(device)
        self.simulated.free(address, device)

    def capture(self, stream, work):
        """A graph is the list of the works that were put on a stream."""
        assert stream, "a default stream captures nothing"
        self.capturing.add(int(stream))
        assert not self.on(stream).work
        work()
        self.captured.append(self.streams.pop(int(stream)).work)
        return self.captured[-1]

    def launch_graph(self, graph, stream):
        self.on(stream).work += graph
        self.launched += 1

    def stream_is_done(self, stream):
        return self.on(stream).done == len(self.on(stream).work)

    def synchronize(self, stream):
        self.on(stream).run()

    def synchronize_device(self, device):
        for stream in [*self.streams.values()]:
            stream.run()

    def create_event(self, device, timing=False, blocking=False):
        return Event()

    def record_event(self, event, stream):
        assert int(stream) not in self.capturing, "the event would be a part of a graph"
        event.stream, event.place = self.on(stream), len(self.on(stream).work)

    def event_is_done(self, event):
        return not isinstance(event, Event) or event.stream.done >= event.place

    def wait_for_event(self, event):
        if isinstance(event, Event):
            event.stream.run(event.place)

    def elapsed_time(self, start, end):
        return 0.0

    def wait_on_stream(self, stream, event):
        other, place = event.stream, event.place
        self.on(stream).work.append(lambda: other.run(place))


@contextlib.contextmanager
def begin(cuda):
    """In this context the simulated GPU is late."""
    gpu, kernels = LateGPU(cuda), cuda.launching.kernels
    own = cuda.runtime.driver
    cuda.runtime.driver = buffers._driver = gpu.driver()
    for kernel in kernels.values():
        kernel.run = gpu.late_launch(kernel.run)
    cuda.pinned._release_idle()  # it has events of the simulated GPU, which would be recorded again
    try:
        yield gpu
        gpu.synchronize_device(0)
        cuda.pinned._release_idle()
    finally:
        cuda.runtime.driver = buffers._driver = own
        for kernel in kernels.values():
            kernel.run = kernel.run.own
