"""Values that change between calls or by a call: arrays, cells, tensors' attributes, and opaque objects."""

import array
import collections
import contextvars
import random
import threading
import weakref
from types import MappingProxyType

import numpy as np
import pytest
from programs.comparison import Holder, compared_with_eager, in_turn, ramp

import numgrad

LATER_GLOBAL = None
del LATER_GLOBAL


def with_gradient(value):
    tensor = ramp(3).requires_grad_()
    tensor.grad = numgrad.full((3,), value)
    return tensor


def with_attribute(value):
    tensor = ramp(3)
    tensor.scale = value
    return tensor


@pytest.mark.parametrize("read", [
    lambda t: getattr(t, "scale", 1.5), lambda t: 2.0 if isinstance(t, numgrad.nn.Parameter) else 1.0,
    lambda t: t.grad if t.is_leaf and t.grad is not None else 2.0, lambda t: t.is_leaf + 1,
    lambda t: 2.0 if t.grad_fn is None else 1.0,
])
def test_a_tensor_of_which_no_elements_are_used_gives_way_to_another(read):
    held = Holder()
    compiled = numgrad.compile(lambda x: x * read(held.tensor))
    others = ramp(3), with_attribute(2.0), with_attribute(3.0), with_gradient(4.0), with_gradient(5.0)
    for held.tensor in (*others, numgrad.nn.Parameter(ramp(3)), ramp(3).requires_grad_() * 2, ramp(3)):
        for _ in range(3):
            assert numgrad.equal(compiled(ramp(3)), ramp(3) * read(held.tensor))


@compared_with_eager
def test_arrays_in_containers(compiled, see):
    ones = [np.ones(3, np.float32) for _ in range(6)]
    listed, pair, named, held = [ones[0]], (ones[1], 2.0), {"a": ones[2]}, Holder()
    held.pair = (ones[4],)

    def default(x, a=ones[3]):
        return x * numgrad.tensor(a)

    functions = [
        compiled(lambda x: x * numgrad.tensor(listed[0])), compiled(lambda x: x * numgrad.tensor(pair[0])),
        compiled(lambda x: x * numgrad.tensor(named["a"])), compiled(default),
        compiled(lambda x: x * numgrad.tensor(held.pair[0])),
    ]
    in_turn(
        functions, see, *[lambda one=one: one.fill(2) for one in ones], lambda: listed.__setitem__(0, ones[5]),
        lambda: ones[5].fill(7),
    )


@compared_with_eager
def test_dictionaries_of_other_classes(compiled, see):
    user, inner = collections.UserDict(a=1.0), {"a": 1.0}
    chain, proxy = collections.ChainMap({}, inner), MappingProxyType(inner)
    functions = [
        compiled(lambda x: x * user["a"]), compiled(lambda x: x * chain["a"]), compiled(lambda x: x * proxy["a"]),
        compiled(lambda x: x * sum(proxy.values())),
    ]
    in_turn(
        functions, see, lambda: user.update(a=2.0), lambda: inner.update(a=3.0), lambda: inner.update(b=4.0),
        lambda: chain.maps[0].update(a=5.0),
    )


@compared_with_eager
def test_containers_filled_later(compiled, see):
    global LATER_GLOBAL

    def of_global(x):
        try:
            return x * LATER_GLOBAL
        except NameError:
            return x - 1

    def of_cell(x):
        try:
            return x * cell
        except NameError:
            return x - 1

    def fill():
        nonlocal cell
        cell = 3.0

    functions = compiled(of_global), compiled(of_cell)
    in_turn(functions, see)
    LATER_GLOBAL = 2.0
    in_turn(functions, see)
    fill()
    in_turn(functions, see)
    cell = 5.0
    del LATER_GLOBAL
    in_turn(functions, see)


@compared_with_eager
def test_attributes_of_tensors(compiled, see):
    w, v, ws = ramp(3), ramp(3), [ramp(3)]

    def tried(x):
        try:
            return x * v.scale
        except AttributeError:
            return x

    functions = [
        compiled(lambda x: x * w * getattr(w, "scale", 1.0)), compiled(tried),
        compiled(lambda x: sum(x * one * (2 if hasattr(one, "scale") else 1) for one in ws)),
    ]
    in_turn(
        functions, see, lambda: setattr(w, "scale", 5.0), lambda: setattr(v, "scale", 6.0),
        lambda: setattr(ws[0], "scale", 7.0), lambda: setattr(w, "scale", 8.0), lambda: delattr(w, "scale"),
    )


@compared_with_eager
def test_a_flag_of_a_tensor_with_attributes(compiled, see):
    w = ramp(3)
    w.scale = 2.0
    in_turn([compiled(lambda x: x * w.requires_grad + 1)], see, w.requires_grad_)


@compared_with_eager
def test_tensors_in_lists_that_are_looked_at(compiled, see):
    ws, pair = [ramp(3)], (ramp(3),)
    functions = compiled(lambda x: x * ws[0].shape[0]), compiled(lambda x: x * pair[0].shape[0])
    in_turn(functions, see, lambda: setattr(ws[0], "data", ramp(5)), lambda: setattr(pair[0], "data", ramp(7)))


@compared_with_eager
def test_views_that_come_to_require_gradients(compiled, see):
    b = numgrad.ones(4)
    v = b[:3]
    f = compiled(lambda x: x * 2 if v.requires_grad else x * 3)
    see(f(ramp(3)), f(ramp(3)))
    b.mul_(numgrad.ones(4, requires_grad=True))
    see(f(ramp(3)), f(ramp(3)))


class Reads:
    def __init__(self, value):
        self.value = value


local = threading.local()
local.n = 1.0
context = contextvars.ContextVar("context", default=1.0)


@pytest.mark.parametrize(("value", "read"), [
    (iter([1.0, 2.0]), next), (context, lambda one: one.get()), (local, lambda one: one.n),
    (array.array("d", [1.0]), lambda one: one[0]), (bytearray(b"1"), lambda one: one[0]),
    (weakref.ref(Holder), lambda one: one() is None), (random.Random(0), lambda one: one.random()),
    (np.random.default_rng(0), lambda one: one.random()), (np.array([1.0], object), lambda one: one[0]),
    (np.ones(1 << 17), lambda one: float(one[0])),
])
def test_calls_without_a_guard_run_uncompiled(value, read):
    held = Reads(value)
    f = numgrad.compile(lambda x: x * read(held.value))
    with pytest.warns(UserWarning, match=r"held\.value (is an?|draws) "):
        f(ramp(3))
    f = numgrad.compile(lambda x: x * 2)
    f(ramp(3))


def test_a_list_linked_through_thousands_of_objects():
    head = None
    for _ in range(2000):
        node = Reads(1.0)
        node.next, head = head, node

    def last(x):
        node = head
        while node.next is not None:
            node = node.next
        return x * node.value

    compiled = numgrad.compile(last, fullgraph=True)
    assert [compiled(numgrad.ones(1)).item() for _ in range(3)] == [1.0] * 3


# -- changes made by a call -------------------------------------------------------------------------------------


def counters():
    """Return functions that change, each in another way, state that their next calls read; by name."""
    numbers, order, chosen = [0], [1.0, 2.0], {1}
    array_, arrays, held, names = np.zeros(1), [np.zeros(1)], Holder(), {"a": 1.0, "b": 2.0}
    held.pair = (0,)

    class Kind:
        count = 0

    def listed(x):
        numbers[0] += 1
        return x * numbers[0]

    def reversed_(x):
        order.reverse()
        return x * order[0]

    def replaced(x):
        one = chosen.pop()
        chosen.add(one + 1)
        return x * one

    def of_array(x):
        array_[0] += 1
        return x * float(array_[0])

    def of_arrays(x):
        arrays[0][0] += 1
        return x * float(arrays[0][0])

    def of_function(x):
        of_function.n += 1
        return x * of_function.n

    def of_object(x):
        held.pair = (held.pair[0] + 1,)
        return x * held.pair[0]

    def of_class(x):
        Kind.count += 1
        return x * Kind.count

    def turned(x):
        first = next(iter(names))
        names[first] = names.pop(first)
        return x * names[first]

    of_function.n = 0
    return {
        "numbers": listed, "order": reversed_, "chosen": replaced, "array_": of_array, "arrays": of_arrays,
        "n": of_function, "held.pair": of_object, "Kind.count": of_class, "names": turned,
    }


@pytest.mark.parametrize("name", counters())
def test_counters_go_on_and_are_named(name):
    expected, counted = counters()[name], counters()[name]
    results = [expected(ramp(3)).tolist() for _ in range(7)]
    compiled = numgrad.compile(counted)
    with pytest.warns(UserWarning, match=rf"each call changes state that the next one reads \({name}"):
        assert [compiled(ramp(3)).tolist() for _ in range(7)] == results


def test_changed_cells_and_globals_are_named():
    count = 0

    def counting(x):
        nonlocal count
        count += 1
        return x * count

    def of_global(x):
        global LATER_GLOBAL
        LATER_GLOBAL += 1
        return x * LATER_GLOBAL

    global LATER_GLOBAL
    LATER_GLOBAL = 0
    for function, name in ((counting, "count"), (of_global, "LATER_GLOBAL")):
        compiled = numgrad.compile(function)
        with pytest.warns(UserWarning, match=rf"reads \({name}\)"):
            assert [compiled(numgrad.ones(1)).item() for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    del LATER_GLOBAL
