"""What devices tell a recorder is all that they do with memory: from it alone a run can be repeated, bit for bit."""

import contextlib
import re

import numpy as np
import pytest
from ops.samples import SAMPLES

import numgrad
from numgrad.devices import launches


class ValuesReadError(Exception):
    """Python looked at elements."""


def root_of(array):
    """The array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def garbage(array):
    """Overwrite an array with what no program would compute."""
    array.reshape(-1).view(np.uint8)[:] = 0xA5


class Recorder:
    """Keeps all that it is told of, and sees to it that memory changes only by what it was told of before.

    Attributes:
        steps: functions that do again what was done.
        born: arrays that were first met where a kernel, or a host function, overwrote them as a whole.
        held: what the others held when they were first met.
    """

    def __init__(self):
        self.steps, self.born, self.held = [], {}, {}
        self.inside = False
        self.seen = {}
        self.may_change = set()

    def check(self):
        """Raise AssertionError if an array has changed that no step was told to write."""
        for key, (array, before) in self.seen.items():
            now = array.tobytes()
            assert key in self.may_change or now == before, "an array was written by what was not told"
            self.seen[key] = array, now
        self.may_change = set()

    def meet(self, array, covered, written):
        root = root_of(array)
        key = id(root)
        if key not in self.seen:
            self.seen[key] = root, root.tobytes()
            if covered and root.nbytes == array.nbytes:
                self.born[key] = root
            else:
                self.held[key] = root, root.copy()
        if written:
            self.may_change.add(key)

    def launch(self, kernel, arguments):
        if self.inside:
            return
        self.check()
        facts, entry = kernel.facts, kernel.entry
        named = dict(zip(facts.parameters, arguments, strict=True))
        wholly = facts.covered(named)
        arrays = {name: value for name, value in named.items() if isinstance(value, np.ndarray)}
        for name in sorted(arrays, key=lambda name: name in wholly):  # an array may be given twice
            self.meet(arrays[name], name in wholly, name in facts.written)
        numbers = [(place, number) for place, number in enumerate(arguments) if hasattr(number, "array")]
        for _, number in numbers:
            self.meet(number.array, False, False)

        def again():
            given = list(arguments)
            for place, number in numbers:
                given[place] = number.array.item(number.index)
            entry(*given)

        self.steps.append(again)

    def host(self, function, arguments):
        if self.inside:
            return function(*arguments)
        self.check()
        for array in arrays_in(arguments):
            self.meet(array, False, True)  # the state of a generator is written
        self.inside = True
        try:
            made = function(*arguments)
        finally:
            self.inside = False
        results = arrays_in((made,))
        for array in results:
            assert id(root_of(array)) not in self.seen, "what a host function returns is new"
            self.meet(array, True, True)

        def again():
            for array, new in zip(results, arrays_in((function(*arguments),)), strict=True):
                array[...] = new

        self.steps.append(again)
        return made

    def values_read(self, what):
        if not self.inside:
            raise ValuesReadError(what)

    def before(self, effect):
        raise NotImplementedError

    def replay(self, outside):
        """Do it all again, from what was held before, but ``outside``, with garbage where all is overwritten."""
        for array, before in self.held.values():
            if not any(array is one for one in outside):
                np.copyto(array, before)
        for array in self.born.values():
            garbage(array)
        for step in self.steps:
            step()


def arrays_in(values):
    found = []
    for value in values:
        if isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += arrays_in(value)
    return found


@contextlib.contextmanager
def recorded():
    recorder = Recorder()
    launches.record(recorder)
    try:
        yield recorder
        recorder.check()
    finally:
        launches.record(None)


def memory_of(results):
    return [root_of(one._storage) for one in results if isinstance(one, numgrad.Tensor)]


def others(array):
    """Other elements of the same kind."""
    return np.roll(array.reshape(-1), 1).reshape(array.shape)


def assert_repeated(function, leaves):
    """What a function of nothing returns and changes is what the steps that it told of do again, for other leaves, too.

    It is told of once, with the leaves as they are.
    """
    arrays = [leaf.detach().numpy() for leaf in leaves]
    given = [array.copy() for array in arrays]
    other = [others(array) for array in arrays]

    def begin(values):
        for array, own in zip(arrays, values, strict=True):
            array[...] = own

    def elements(results):
        return [one.detach().numpy().tobytes() if isinstance(one, numgrad.Tensor) else one for one in results]

    begin(other)
    expected = elements(function())
    begin(given)
    with recorded() as recorder:
        results = function()
    told = elements(results)
    begin(given)
    recorder.replay([root_of(array) for array in arrays])
    assert elements(results) == told
    begin(other)
    recorder.replay([root_of(array) for array in arrays])
    assert elements(results) == expected


def forward_and_backward(case, leaves):
    """A function of nothing that returns the results of a case, and the gradients for its leaves."""
    wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]

    def run():
        results = case(*leaves)
        ends = [one for one in results if isinstance(one, numgrad.Tensor) and one.requires_grad]
        if not ends:
            return results
        gradients = [numgrad.linspace(0.5, 1.5, end.numel(), dtype=end.dtype).reshape(end.shape) for end in ends]
        return *results, *numgrad.autograd.grad(ends, wanted, gradients, allow_unused=True)

    return run


def cases():
    """Of each sample the first case, and of each operation one that does not lie in rows."""
    seen = set()
    for sample in SAMPLES:
        for case in sample.cases():
            strided = case.layout in ("transposed", "stepped") and case.is_in_turn and sample.name not in seen
            if case.layout == "contiguous" or strided:
                yield case
            if strided:
                seen.add(sample.name)


#: Operations that look at elements, forwards or backwards, and what they say.
LOOKING = {
    "index_fill_tensor": "the gradient of index_fill() for a tensor",
    "masked_scatter_backward": "indexing with a mask",
    "masked_scatter_op": "indexing with a mask",
    "masked_select_op": "indexing with a mask",
    "prod_all": "asking whether it is true",  # whether one is 0
    "prod_dim": "asking whether it is true",
}

#: The same, but only in some samples: bags with offsets, and second derivatives of packed sequences.
LOOKING_AT_TIMES = dict.fromkeys(
    ["embedding_bag_max_op", "embedding_bag_op", "recurrent_layer_backward"], "reading its elements"
)


@pytest.mark.parametrize("case", [*cases()], ids=str)
def test_samples(case):
    dtype = "float32" if "float32" in case.sample.dtypes else case.sample.dtypes[0]
    leaves = case.leaves(dtype, True)
    function, present = forward_and_backward(case, leaves), [leaf for leaf in leaves if leaf is not None]
    name = case.sample.name
    if name in LOOKING:
        with recorded(), pytest.raises(ValuesReadError, match=re.escape(LOOKING[name])):
            function()
        return
    try:
        assert_repeated(function, present)
    except ValuesReadError as error:
        assert str(error) == LOOKING_AT_TIMES.get(name), name  # noqa: PT017 - most samples raise nothing
