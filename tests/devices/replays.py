"""A recorder that repeats the recorded steps, and the assertion that they are all that a function does."""

import contextlib

import numpy as np

import numgrad
from numgrad.devices import recording
from numgrad.devices.cpu.blas import is_on_one_thread, one_thread
from numgrad.devices.recording import Element


class ValuesReadError(Exception):
    """Python read elements."""


class Recorder:
    """Keeps all reported steps, and checks that memory changes only by steps that were reported before.

    Attributes:
        steps: functions that repeat the steps.
        born: arrays that were allocated for a step, or that a host function returned.
        held: all other arrays, with copies of their elements at their first use.
    """

    def __init__(self):
        self.steps, self.born, self.held = [], [], []
        self._seen = {}  # by identity, arrays and copies of their elements after the last step
        self._written = set()  # by the last step
        self._inside = False  # a host function

    def check(self):
        """Raise AssertionError if an array has changed that no reported step writes."""
        for key, (array, before) in self._seen.items():
            now = array.tobytes()
            assert key in self._written or now == before, "an array was written, and nobody told"
            self._seen[key] = array, now
        self._written = set()

    def _meet(self, array, new=False, written=False):
        root = root_of(array)
        if id(root) not in self._seen:
            self._seen[id(root)] = root, root.tobytes()
            if new:
                self.born.append(root)
            else:
                self.held.append((root, root.copy()))
        if written:
            self._written.add(id(root))

    def allocated(self, array):
        if not self._inside:
            self._meet(array, True)

    def launch(self, kernel, arguments):
        if self._inside:
            return
        self.check()
        facts, entry = kernel.facts, kernel.entry
        for name, value in zip(facts.parameters, arguments, strict=True):
            if isinstance(value, np.ndarray):
                self._meet(value, written=name in facts.written)
            elif isinstance(value, Element):
                self._meet(value.array)
        threads = one_thread if is_on_one_thread() else contextlib.nullcontext  # which decide how BLAS rounds

        def again():
            with threads():
                entry(*[each.array.item() if isinstance(each, Element) else each for each in arguments])

        self.steps.append(again)

    def host(self, function, operands, arguments, written):
        if self._inside:
            return function(*arguments)
        self.check()
        for number, operand in enumerate(operands):
            for array in arrays_in([operand]):
                self._meet(array, written=number in written)
        self._inside = True
        try:
            made = function(*arguments)
        finally:
            self._inside = False
        for array in made or ():
            self._meet(array, True, True)

        def again():
            given = [operand.array.item() if isinstance(operand, Element) else operand for operand in operands]
            for array, new in zip(made or (), function(*given) or (), strict=True):
                array[...] = new

        self.steps.append(again)
        return made

    def values_read(self, what):
        if not self._inside:
            raise ValuesReadError(what)

    def replay(self, outside):
        """Repeat all steps from the first elements, except those of ``outside``; overwritten ones begin as garbage."""
        for array, before in self.held:
            if not any(array is one for one in outside):
                np.copyto(array, before)
        for array in self.born:
            array.reshape(-1).view(np.uint8)[:] = 0xA5
        for step in self.steps:
            step()


def root_of(array):
    """The array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def arrays_in(values):
    result = []
    for value in values:
        if isinstance(value, np.ndarray):
            result.append(value)
        elif isinstance(value, list | tuple):
            result += arrays_in(value)
    return result


@contextlib.contextmanager
def recorded():
    """Return a context manager that records the block."""
    recorder = Recorder()
    recording.record_with(recorder)
    try:
        yield recorder
        recorder.check()
    finally:
        recording.record_with(None)


def assert_repeated(function, leaves, kept=()):
    """Assert that the recorded steps of a function without arguments repeat it, also for other elements.

    Args:
        function: returns a tuple of tensors and anything else.
        leaves: tensors that it depends on; it is recorded with their present elements.
        kept: tensors that it changes.
    """
    arrays = [leaf.detach().numpy() for leaf in leaves]
    states = [*[tensor.numpy() for tensor in kept], *numgrad.random.default_generator.memory()]
    outside = [root_of(array) for array in (*arrays, *states)]
    given, before = [array.copy() for array in arrays], [state.copy() for state in states]
    others = [np.roll(array.reshape(-1), 1).reshape(array.shape) for array in arrays]

    def begin(values):
        for array, own in zip((*arrays, *states), (*values, *before), strict=True):
            array[...] = own

    def elements(results):
        found = [
            result.detach().numpy().tobytes() if isinstance(result, numgrad.Tensor) else result for result in results
        ]
        return [*found, *[state.tobytes() for state in states]]

    begin(others)
    of_others = elements(function())
    begin(given)
    with recorded() as recorder:
        results = function()
    of_given = elements(results)
    for values, expected in ((given, of_given), (others, of_others)):
        begin(values)
        recorder.replay(outside)
        assert elements(results) == expected


def with_gradients(function, leaves):
    """A function without arguments that returns another one's result for these leaves, and the gradients for them."""
    wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]

    def run():
        results = function(*leaves)
        ends = [result for result in results if isinstance(result, numgrad.Tensor) and result.requires_grad]
        if not ends:
            return results
        gradients = [numgrad.linspace(0.5, 1.5, end.numel(), dtype=end.dtype).reshape(end.shape) for end in ends]
        return *results, *numgrad.autograd.grad(ends, wanted, gradients, allow_unused=True)

    return run
