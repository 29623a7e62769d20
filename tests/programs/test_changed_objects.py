"""Objects through which a function reaches others: methods, descriptors, attributes read by name, wrappers."""

import builtins
import collections
import configparser
import contextlib
import dataclasses
import enum
import functools
import logging
import sys
from operator import attrgetter, methodcaller

import pytest
from programs.comparison import Holder, compared_with_eager, in_turn, ramp

import numgrad

FACTOR = 1.0


@functools.singledispatch
def dispatched(x):
    return x


@dispatched.register
def _(x: numgrad.Tensor):
    return x * FACTOR


@compared_with_eager
def test_methods_that_are_built_in(compiled, see):
    named, listed = {"a": 1.0}, [1.0]
    get, item, size, values = named.get, listed.__getitem__, listed.__len__, named.values()
    functions = [
        compiled(lambda x: x * get("a")), compiled(lambda x: x * item(0)), compiled(lambda x: x * size()),
        compiled(lambda x: x * sum(values)),
    ]
    in_turn(functions, see, lambda: named.update(a=2.0), lambda: listed.__setitem__(0, 3.0), lambda: listed.append(1))


@compared_with_eager
def test_reads_of_attributes_by_name(compiled, see):
    held = Holder()
    held.k, held.f = 1.0, lambda x: x * 3
    read, call = attrgetter("k"), methodcaller("f", 2.0)
    functions = compiled(lambda x: x * read(held)), compiled(lambda x: x * call(held))
    in_turn(functions, see, lambda: setattr(held, "k", 2.0), lambda: setattr(held, "f", lambda x: x * 5))


@compared_with_eager
def test_attributes_that_patterns_read(compiled, see):
    class Point:
        __match_args__ = ("a",)

        def __init__(self):
            self.a, self.b = 1.0, 2.0

    point = Point()

    def by_name(x):
        match point:
            case Point(b=found):
                return x * found

    def by_place(x):
        match point:
            case Point(found):
                return x * found

    in_turn(
        [compiled(by_name), compiled(by_place)], see, lambda: setattr(point, "a", 3.0), lambda: setattr(point, "b", 4.0)
    )


@compared_with_eager
def test_wrapped_objects(compiled, see):
    global FACTOR
    held, FACTOR = Holder(), 1.0
    held.k = 1.0

    @contextlib.contextmanager
    def manager():
        yield held.k

    def managed(x):
        with manager() as k:
            return x * k

    def twice(function):
        @functools.wraps(function)
        def inner(*arguments):
            return function(*arguments) * held.k

        return inner

    @twice
    def decorated(x):
        return x

    @functools.lru_cache
    def cached(k):
        return k * 2

    def change():
        global FACTOR
        FACTOR = 2.0

    each, gradient = numgrad.vmap(lambda x: x * held.k), numgrad.func.grad(lambda x: (x * x * held.k).sum())
    functions = [
        compiled(managed), compiled(decorated), compiled(lambda x: x * cached(held.k)), compiled(each),
        compiled(lambda x: each(x)), compiled(gradient), compiled(lambda x: dispatched(x)),
    ]
    in_turn(functions, see, lambda: setattr(held, "k", 4.0), change)


@compared_with_eager
def test_descriptors_and_classes_of_classes(compiled, see):
    class Meta(type):
        k = 1.0

        @property
        def p(cls):
            return cls._p

    class Kind(metaclass=Meta):
        _p = 1.0

    class Descriptor:
        v = 1.0

        def __get__(self, instance, owner=None):
            return self.v

    class Described:
        d = Descriptor()

    described = Described()
    functions = compiled(lambda x: x * Kind.k), compiled(lambda x: x * Kind.p), compiled(lambda x: x * described.d)
    in_turn(
        functions, see, lambda: setattr(Meta, "k", 2.0), lambda: setattr(Kind, "_p", 3.0),
        lambda: setattr(vars(Described)["d"], "v", 5.0), lambda: setattr(Meta, "p", 7.0),
    )


@compared_with_eager(falls_back=True)
def test_counters_of_compiled_functions(compiled, see):
    @compiled
    def step(x):
        step.n += 1
        return x * step.n

    step.n = 0
    for _ in range(7):
        see(step(ramp(3)), step.n)


@compared_with_eager
def test_attributes_of_compiled_functions(compiled, see):
    @compiled
    def step(x):
        return x * step.n

    step.n = 1.0
    outer = compiled(lambda x: step(x) * step.n)
    in_turn([step, outer], see, lambda: setattr(step, "n", 3.0))


@compared_with_eager(falls_back=True)
def test_modules_by_name(compiled, see):
    global FACTOR
    f = compiled(lambda x: x * sys.modules[__name__].FACTOR)
    for FACTOR in (1.0, 1.0, 2.0, 2.0):  # noqa: B007
        see(f(ramp(3)))


@compared_with_eager
def test_names_that_are_built_in(compiled, see):
    builtins.own_factor = 1.0
    try:
        in_turn([compiled(lambda x: x * own_factor)], see, lambda: setattr(builtins, "own_factor", 2.0))  # noqa: F821
    finally:
        del builtins.own_factor


@compared_with_eager
def test_objects_of_another_class(compiled, see):
    class One:
        def f(self, x):
            return x

    class Other:
        def f(self, x):
            return x * 2

    class Slots:
        __slots__ = ("k",)

    class OtherSlots:
        __slots__ = ("k",)

    one, slots = One(), Slots()
    slots.k = 1.0
    functions = compiled(lambda x: one.f(x)), compiled(one.f), compiled(lambda x: x * slots.k)
    in_turn(
        functions, see, lambda: setattr(one, "__class__", Other), lambda: setattr(slots, "__class__", OtherSlots),
        lambda: setattr(slots, "k", 5.0),
    )


@compared_with_eager
def test_records(compiled, see):
    @dataclasses.dataclass
    class Plain:
        k: float = 1.0

        @functools.cached_property
        def twice(self):
            return self.k * 2

    @dataclasses.dataclass(slots=True)
    class Slots:
        k: float = 1.0

    @dataclasses.dataclass(frozen=True)
    class Frozen:
        k: float = 1.0

        def anew(self):
            return dataclasses.replace(self, k=2.0)

        def __post_init__(self):
            object.__setattr__(self, "z", held.g)

    class Kind(enum.Enum):
        A = 1.0
        B = 2.0

    held, config = Holder(), configparser.ConfigParser()
    held.g, held.kind = 1.0, Kind.A
    config.read_dict({"a": {"b": "2"}})
    plain, slots, frozen = Plain(), Slots(), Frozen()
    functions = [
        compiled(lambda x: x * plain.k), compiled(lambda x: x * slots.k), compiled(lambda x: x * frozen.anew().z),
        compiled(lambda x: x * sum(dataclasses.astuple(plain))), compiled(lambda x: x * held.kind.value),
        compiled(lambda x: x * float(config["a"]["b"])), compiled(lambda x: x * config.getfloat("a", "b")),
    ]
    assert plain.twice == 2
    in_turn(
        functions, see, lambda: setattr(plain, "k", 3.0), lambda: setattr(slots, "k", 3.0),
        lambda: setattr(held, "g", 3.0), lambda: setattr(held, "kind", Kind.B), lambda: config.set("a", "b", "3"),
    )


@compared_with_eager
def test_another_dictionary_of_attributes(compiled, see):
    held = Holder()
    held.weight = 1.0
    in_turn([compiled(lambda x: x * held.weight)], see, lambda: setattr(held, "__dict__", {"weight": 2.0}))


class Number(float):
    """A number that may have attributes."""


@compared_with_eager
def test_attributes_of_numbers(compiled, see):
    number = Number(3.0)
    number.weight = 1.0

    def replace():
        nonlocal number
        number = Number(3.0)

    function = compiled(lambda x: x * getattr(number, "weight", 5.0))
    in_turn([function], see, lambda: setattr(number, "weight", 2.0), replace)


@compared_with_eager
def test_the_state_of_partial_functions(compiled, see):
    product = functools.partial(lambda one, other: one * other, other=1.0)
    state = (product.func, (), {"other": 2.0}, {})
    in_turn([compiled(lambda x: product(x))], see, lambda: product.__setstate__(state))


@compared_with_eager
def test_dictionaries_that_add_what_is_missing(compiled, see):
    held = collections.defaultdict(lambda: 3.0, one=1.0, two=2.0)
    in_turn([compiled(lambda x: x * held["one"])], see, held.clear)
    see(len(held))


@compared_with_eager
def test_a_default_factory_is_known(compiled, see):
    @dataclasses.dataclass
    class Options:
        weight: float = 1.0
        sizes: list = dataclasses.field(default_factory=list)

    options = Options()
    in_turn([compiled(lambda x: x * options.weight)], see, lambda: setattr(options, "weight", 2.0))


@compared_with_eager
def test_levels_that_loggers_have_from_elsewhere(compiled, see):
    logger = logging.getLogger("programs")
    level = logging.root.level
    functions = [compiled(lambda x: x * logger.getEffectiveLevel()), compiled(lambda x: x * logger.isEnabledFor(50))]
    try:
        in_turn(functions, see, lambda: logging.root.setLevel(40), lambda: logging.disable(50))
    finally:
        logging.root.setLevel(level)
        logging.disable(0)


@compared_with_eager
def test_a_tensor_that_comes_into_a_place_is_known_as_argument(compiled, see):
    held, other = [ramp(3)], ramp(3)
    pad = ramp(3)
    function = compiled(lambda x: x * (2.0 if x is pad else 1.0))
    for x in (*held, *held, other, pad):
        see(function(x))
    pad = other
    for x in (other, *held):
        see(function(x))


@pytest.mark.filterwarnings("ignore:grad and param do not obey")
@compared_with_eager
def test_a_gradient_with_other_strides(compiled, see):
    parameter, flat = ramp(3).requires_grad_(), numgrad.zeros(9)
    parameter.grad = flat[:3]

    def backward(x):
        (parameter * x).sum().backward()

    function = compiled(backward)
    for made in (flat[:3], flat[:3], flat[::3]):
        parameter.grad.data = made
        function(ramp(3))
        see(flat.clone())
