"""Grad modes as decorators: of functions, methods and generators, and their metadata."""

import asyncio
import functools
import inspect
import re

import pytest

from numgrad import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    tensor,
)
from numgrad.autograd import is_multithreading_enabled, set_multithreading_enabled


@pytest.fixture(autouse=True)
def modes_as_before():
    yield
    left = is_grad_enabled(), is_inference_mode_enabled(), is_multithreading_enabled()
    set_grad_enabled(True)
    set_multithreading_enabled(True)
    assert left == (True, False, True)


def modes():
    return is_grad_enabled(), is_inference_mode_enabled()


#: Every way to decorate, with the modes that the decorated function then runs in.
DECORATORS = {
    "no_grad": (no_grad, (False, False)),
    "no_grad()": (no_grad(), (False, False)),
    "enable_grad": (enable_grad, (True, False)),
    "enable_grad()": (enable_grad(), (True, False)),
    "set_grad_enabled(False)": (lambda function: set_grad_enabled(False)(function), (False, False)),
    "set_grad_enabled(True)": (lambda function: set_grad_enabled(True)(function), (True, False)),
    "inference_mode": (inference_mode, (False, True)),
    "inference_mode()": (inference_mode(), (False, True)),
    "inference_mode(False)": (inference_mode(False), (True, False)),
    "inference_mode(mode=True)": (inference_mode(mode=True), (False, True)),
}
ways = pytest.mark.parametrize(("decorate", "inside"), DECORATORS.values(), ids=DECORATORS)


def probe(a, b=2, *rest, c, **others):
    """Return the metadata of a decorated function."""
    return modes(), a, b, rest, c, others


# --- functions --------------------------------------------------------------------------


@ways
@pytest.mark.parametrize("outside", [no_grad, enable_grad, inference_mode])
def test_functions(decorate, inside, outside):
    with outside():
        before = modes()
        function = decorate(probe)
        assert modes() == before
        result = function(1, 3, 4, c=5, d=6)
        assert modes() == before
    if outside is inference_mode and "inference" not in repr(decorate):
        inside = (inside[0], result[0][1])  # recording alone does not end inference mode
    assert result == (inside, 1, 3, (4,), 5, {"d": 6})


@ways
def test_a_decorated_function_says_of_itself_what_it_did(decorate, inside):
    function = decorate(probe)
    assert (function.__name__, function.__doc__, function.__module__) == ("probe", probe.__doc__, __name__)
    assert function.__wrapped__ is probe
    assert inspect.signature(function) == inspect.signature(probe)


@ways
def test_functions_that_raise(decorate, inside):
    @decorate
    def fail():
        raise ValueError(str(modes()))

    with pytest.raises(ValueError, match=re.escape(str(inside))):
        fail()
    assert modes() == (True, False)


@ways
def test_functions_that_call_themselves(decorate, inside):
    @decorate
    def count(n):
        assert modes() == inside
        result = 0 if n == 0 else 1 + count(n - 1)
        assert modes() == inside
        return result

    assert count(5) == 5
    assert modes() == (True, False)


def test_one_object_may_decorate_several():
    mode = no_grad()

    @mode
    def inner():
        return is_grad_enabled()

    @mode
    def outer():
        return inner(), is_grad_enabled()

    assert outer() == (False, False)
    with mode:
        assert outer() == (False, False)
    assert is_grad_enabled()


def test_any_callable_can_be_decorated():
    class Callable:
        def __call__(self):
            return is_grad_enabled()

    for function in (Callable(), functools.partial(is_grad_enabled), lambda: is_grad_enabled()):
        assert not no_grad()(function)()


def test_methods():
    x = tensor([1.0], requires_grad=True)

    class Model:
        @no_grad()
        def plain(self, x):
            return x * 2

        @classmethod
        @no_grad()
        def of_class(cls, x):
            return cls, x * 2

        @staticmethod
        @no_grad
        def static(x):
            return x * 2

        @property
        @inference_mode()
        def value(self):
            return x * 2

    assert not Model().plain(x).requires_grad
    assert Model.of_class(x)[0] is Model
    assert not Model().of_class(x)[1].requires_grad
    assert not Model.static(x).requires_grad
    assert Model().value.is_inference()


def test_the_outer_decorator_is_the_method_kind():
    class Model:
        @no_grad()
        @classmethod
        def of_class(cls):
            return cls

    with pytest.raises(TypeError, match="'classmethod' object is not callable"):
        Model().of_class()


def test_decorators_nest():
    @no_grad()
    @enable_grad()
    def record(x):
        return x * 2

    @inference_mode()
    @enable_grad()
    def infer(x):
        return x * 2

    x = tensor([1.0], requires_grad=True)
    assert record(x).requires_grad
    assert not infer(x).requires_grad
    assert infer(x).is_inference()


def test_set_grad_enabled_holds_until_it_decorates():
    mode = set_grad_enabled(False)
    assert not is_grad_enabled()
    function = mode(is_grad_enabled)
    assert is_grad_enabled()
    assert not function()


def test_decorating_with_set_grad_enabled_puts_back_what_was_when_it_was_made():
    mode = set_grad_enabled(False)
    set_grad_enabled(False)
    mode(is_grad_enabled)
    assert is_grad_enabled()


# --- classes ----------------------------------------------------------------------------


@ways
def test_decorated_classes_warn(decorate, inside):
    class Model:
        """A model."""

        def __init__(self, value):
            self.seen = value, modes()

        def modes(self):
            return modes()

    with pytest.warns(FutureWarning, match="Decorating classes is deprecated") as caught:
        make = decorate(Model)
    assert len(caught) == 1
    model = make(3)
    assert isinstance(model, Model)
    assert model.seen == (3, inside)
    assert model.modes() == (True, False)
    assert (make.__name__, make.__doc__) == ("Model", "A model.")


def test_the_warning_points_to_the_decoration():
    with pytest.warns(FutureWarning) as caught:

        @no_grad()
        class Model:
            pass

    assert caught[0].filename == __file__
    assert isinstance(Model(), object)


# --- asynchronous functions -------------------------------------------------------------


def test_a_coroutine_runs_in_the_mode_of_who_awaits_it():
    @no_grad()
    async def decorated():
        return is_grad_enabled()

    async def with_block():
        with no_grad():
            return is_grad_enabled()

    assert asyncio.run(decorated())
    assert not asyncio.run(with_block())


def test_an_asynchronous_generator_runs_in_the_mode_of_who_asks_it():
    @no_grad()
    async def generate():
        yield is_grad_enabled()

    async def collect():
        return [value async for value in generate()]

    assert asyncio.run(collect()) == [True]
