"""State of libraries that changes between calls: random generators, their objects, their modules and their classes."""

import collections
import decimal
import functools
import logging
import os
import queue
import random
import re
import string
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from programs.comparison import Holder, compared_with_eager, in_turn, ramp

import numgrad
from numgrad import nn
from numgrad.nn import functional as F  # noqa: N812


def local_draw(x):
    import random as generator

    return x * generator.random()


def local_name(x):
    from numpy.random import beta

    return x * float(beta(1.0, 2.0))


def helper():
    return random.uniform(0, 1)


def shuffled(x):
    order = [*range(9)]
    random.shuffle(order)
    return x * order[0]


draw = random.random


@pytest.mark.parametrize("draws", [
    lambda x: x * random.random(), lambda x: x * draw(), lambda x: x * helper(), lambda x: x * np.random.rand(),
    lambda x: x * int(np.random.choice(100)), lambda x: x * (lambda module: module.rand())(np.random), local_draw,
    local_name, shuffled,
])
def test_random_numbers_of_python_and_numpy_are_drawn_in_each_call(draws):
    random.seed(0)
    np.random.seed(0)
    expected = [draws(ramp(3)).tolist() for _ in range(4)]
    random.seed(0)
    np.random.seed(0)
    compiled = numgrad.compile(draws)
    with pytest.warns(UserWarning, match=r"draws random numbers that are not numgrad's"):
        assert [compiled(ramp(3)).tolist() for _ in range(4)] == expected


def event():
    one = threading.Event()
    return lambda x: x * one.is_set(), one.set


def queued():
    one = queue.Queue()
    for number in range(4):
        one.put(number)
    return lambda x: x * one.get(), lambda: None


def thread():
    one = threading.Thread()
    one.weight = 1.0
    return lambda x: x * one.weight, lambda: setattr(one, "weight", 2.0)


def polynomial():
    one = np.poly1d([1.0, 2.0])
    return lambda x: x * float(one(3.0)), lambda: one.coeffs.fill(3.0)


def of_an_abstract_base():
    one = np.polynomial.Polynomial([1.0, 2.0])  # its base derives from abc.ABC
    return lambda x: x * float(one(3.0)), lambda: one.coef.fill(3.0)


def vectorized():
    held = Holder()
    held.weight = 1.0
    one = np.vectorize(lambda value: value * held.weight)
    return lambda x: x * float(one(2.0)), lambda: setattr(held, "weight", 3.0)


def template():
    one = string.Template("1")
    return lambda x: x * float(one.substitute()), lambda: setattr(one, "template", "2")


def context():
    before = decimal.getcontext().prec
    held = decimal.Context(prec=7)
    assert before != held.prec
    return lambda x: x * held.prec, lambda: setattr(held, "prec", 5)


def without_module():
    class One:
        __module__ = property(lambda self: "elsewhere")  # as the functions that Cython compiles

    one = One()
    one.weight = 1.0
    return lambda x: x * one.weight, lambda: setattr(one, "weight", 2.0)


@pytest.mark.parametrize("made", [
    event, queued, thread, polynomial, of_an_abstract_base, vectorized, template, context, without_module,
])
def test_an_object_of_an_unknown_class_ends_a_program(made):
    f, change = made()
    expected = [f(ramp(3)).tolist() for _ in range(2)]
    change()
    expected += [f(ramp(3)).tolist() for _ in range(2)]
    f, change = made()
    compiled = numgrad.compile(f)
    with pytest.warns(UserWarning, match=r"(one|held) is an object of the class \w+, whose changes guards cannot see"):
        found = [compiled(ramp(3)).tolist()]
    found.append(compiled(ramp(3)).tolist())  # the warning comes once: a second one would be an error
    change()
    found += [compiled(ramp(3)).tolist() for _ in range(2)]
    assert found == expected


@pytest.mark.parametrize(("reads", "reason"), [
    (lambda x: x * decimal.getcontext().prec, r"decimal\.getcontext\(\) may return"),
    (lambda x: x * time.perf_counter(), r"time\.perf_counter\(\) reads a clock"),
    (lambda x: x * numgrad.get_num_threads(), "the number of threads"),
])
def test_functions_that_return_state_end_a_program(reads, reason):
    with pytest.raises(numgrad.compiler.CaptureError, match=reason):
        numgrad.compile(reads, fullgraph=True)(ramp(3))


@compared_with_eager
def test_the_environment_arguments_of_the_process_and_loggers(compiled, see):
    logger = logging.getLogger(__name__)
    functions = [
        compiled(lambda x: x * float(os.environ.get("NUMGRAD_TEST", 1))), compiled(lambda x: x * len(sys.argv)),
        compiled(lambda x: x * logger.level),
    ]
    try:
        in_turn(
            functions, see, lambda: os.environ.update(NUMGRAD_TEST="2"), lambda: sys.argv.append("-v"),
            lambda: logger.setLevel(30),
        )
    finally:
        os.environ.pop("NUMGRAD_TEST", None)
        sys.argv.remove("-v")
        logger.setLevel(0)


@compared_with_eager
def test_functions_and_methods_of_numgrad_that_a_program_replaces(compiled, see):
    model = nn.Sequential(nn.ReLU())
    replaced = [(F, "relu"), (nn.ReLU, "forward"), (numgrad.Tensor, "relu")]
    originals = [(owner, name, getattr(owner, name)) for owner, name in replaced]
    functions = [
        compiled(lambda x: F.relu(x)), compiled(lambda x: numgrad.nn.functional.relu(x)), compiled(model),
        compiled(lambda x: x.relu()),
    ]
    try:
        in_turn(functions, see, *[
            functools.partial(setattr, owner, name, lambda *args: args[-1] * 3) for owner, name in replaced
        ])
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)
    in_turn(functions, see, lambda: setattr(model[0], "__class__", nn.Sigmoid))


@compared_with_eager
def test_settings(compiled, see):
    functions = [
        compiled(lambda x: x * numgrad.backends.cudnn.benchmark),
        compiled(lambda x: x * getattr(numgrad.backends.cudnn, "-benchmark"[1:])),
        compiled(lambda x: x * numgrad.are_deterministic_algorithms_enabled()),
        compiled(lambda x: x * numgrad.autograd.is_multithreading_enabled()),
    ]
    try:
        in_turn(
            functions, see, lambda: setattr(numgrad.backends.cudnn, "benchmark", True),
            lambda: numgrad.use_deterministic_algorithms(True),
            lambda: numgrad.autograd.set_multithreading_enabled(False),
        )
    finally:
        numgrad.backends.cudnn.benchmark = False
        numgrad.use_deterministic_algorithms(False)
        numgrad.autograd.set_multithreading_enabled(True)


find = getattr


@compared_with_eager
def test_names_that_code_does_not_spell(compiled, see):
    class Kinds:
        @functools.singledispatchmethod
        def weight(self, value):
            return 1.0

    kinds, held = Kinds(), SimpleNamespace(w0=1.0, w1=2.0)
    number = 1
    functions = [
        compiled(lambda x: x * kinds.weight(3)), compiled(lambda x: x * find(held, f"w{number}")),
        compiled(lambda x: x * float("{.w1}".format(held))),  # noqa: UP032
    ]
    register = vars(Kinds)["weight"].register
    in_turn(functions, see, lambda: setattr(held, "w1", 5.0), lambda: register(int, lambda *_: 7.0))


@pytest.mark.parametrize("cls", [list, dict, set, collections.deque, collections.OrderedDict])
def test_attributes_of_containers(cls):
    one = type("Own", (cls,), {})()
    one.weight = 1.0
    compiled = numgrad.compile(lambda x: x * one.weight)
    for one.weight in (1.0, 1.0, 5.0, 5.0):
        assert compiled(numgrad.ones(1)).item() == one.weight


def test_known_classes_do_not_end_a_program():
    pair = collections.namedtuple("pair", "first second")(2.0, 3.0)
    pattern, moment = re.compile("a+"), decimal.Decimal("1.5")

    def f(x):
        with warnings.catch_warnings():
            return x * pair.first * float(moment) * len(pattern.findall("caat")[0]) * float(np.sum([1.0, 2.0]))

    compiled = numgrad.compile(f, fullgraph=True)
    assert [compiled(numgrad.ones(1)).item() for _ in range(3)] == [18.0] * 3
