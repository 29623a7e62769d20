"""Grad modes as decorators of generators: the mode holds in the generator, and not outside while it is suspended."""

import inspect

import pytest

from numgrad import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled


@pytest.fixture(autouse=True)
def modes_as_before():
    yield
    left = modes()
    set_grad_enabled(True)
    assert left == (True, False)


def modes():
    return is_grad_enabled(), is_inference_mode_enabled()


@pytest.mark.parametrize(("decorate", "inside"), [
    (no_grad, (False, False)),
    (no_grad(), (False, False)),
    (lambda function: set_grad_enabled(False)(function), (False, False)),
    (enable_grad(), (True, False)),
    (inference_mode, (False, True)),
    (inference_mode(), (False, True)),
    (inference_mode(False), (True, False)),
])
def test_a_generators_mode_holds_in_it_and_not_outside(decorate, inside):
    seen = []

    @decorate
    def generate():
        seen.append(modes())
        received = yield "first"
        seen.append((received, modes()))
        try:
            yield "second"
        except ValueError:
            seen.append(("caught", modes()))
        yield "third"
        seen.append(modes())
        return "result"

    generator = generate()
    outside = []
    values = []
    for step in (lambda: next(generator), lambda: generator.send("sent"), lambda: generator.throw(ValueError)):
        values.append(step())
        outside.append(modes())
    with pytest.raises(StopIteration) as stopped:
        next(generator)
    assert values == ["first", "second", "third"]
    assert stopped.value.value == "result"
    assert seen == [inside, ("sent", inside), ("caught", inside), inside]
    assert outside == [(True, False)] * 3


def test_a_decorated_generator_function_is_one():
    @no_grad()
    def generate():
        yield is_grad_enabled()

    assert inspect.isgeneratorfunction(generate)
    assert inspect.isgenerator(generate())
    assert list(generate()) == [False]


def test_a_generator_has_its_mode_whatever_is_around_it():
    @enable_grad()
    def generate():
        while True:
            yield is_grad_enabled()

    generator = generate()
    with no_grad():
        assert next(generator)
        assert not is_grad_enabled()
    assert next(generator)
    with no_grad():
        assert next(generator)


def test_a_generator_may_switch_for_itself_until_it_yields():
    @no_grad()
    def generate():
        set_grad_enabled(True)
        yield is_grad_enabled()
        yield is_grad_enabled()

    generator = generate()
    set_grad_enabled(False)
    assert next(generator)
    assert not is_grad_enabled()
    set_grad_enabled(True)
    assert not next(generator)
    assert is_grad_enabled()


def test_a_generator_delegated_to_gives_its_result():
    @no_grad()
    def inner():
        received = yield is_grad_enabled()
        return received, is_grad_enabled()

    def outer():
        result = yield from inner()
        yield result, is_grad_enabled()

    generator = outer()
    assert next(generator) is False
    assert generator.send("sent") == (("sent", False), True)


def test_a_decorated_generator_may_delegate():
    def inner():
        yield is_grad_enabled()

    @no_grad()
    def outer():
        yield from inner()

    assert list(outer()) == [False]


def throw(generator):
    with pytest.raises(KeyError, match="out"):
        generator.throw(KeyError("out"))


@pytest.mark.parametrize("finish", [lambda g: g.close(), throw, lambda g: None], ids=["close", "throw", "drop"])
def test_a_generator_ends_in_its_mode(finish):
    seen = []

    @no_grad()
    def generate():
        try:
            yield 1
        finally:
            seen.append(is_grad_enabled())

    generator = generate()
    next(generator)
    finish(generator)
    del generator
    assert seen == [False]
    assert is_grad_enabled()


def test_a_generator_that_was_not_started_may_be_closed():
    @no_grad()
    def generate():
        raise AssertionError("this never runs")
        yield

    generator = generate()
    generator.close()
    assert list(generator) == []


def test_a_generator_thrown_generator_exit_passes_it_on():
    @no_grad()
    def generate():
        yield 1

    generator = generate()
    next(generator)
    with pytest.raises(GeneratorExit):
        generator.throw(GeneratorExit)


def test_a_generator_must_not_go_on_when_closed():
    @no_grad()
    def generate():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    generator = generate()
    next(generator)
    with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
        generator.close()
    assert is_grad_enabled()


def test_a_generator_that_is_not_started_takes_no_value():
    @no_grad()
    def generate():
        yield 1

    with pytest.raises(TypeError, match="can't send non-None value"):
        generate().send(3)


def test_errors_of_a_generator_come_through():
    @no_grad()
    def generate(error):
        yield 1
        raise error

    for error, expected in ((ValueError("out"), ValueError), (StopIteration(3), RuntimeError)):
        generator = generate(error)
        assert next(generator) == 1
        with pytest.raises(expected):
            next(generator)
        assert is_grad_enabled()
