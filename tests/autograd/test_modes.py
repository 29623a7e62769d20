"""Whether operations are recorded: ``no_grad``, ``enable_grad`` and ``set_grad_enabled`` in all their forms."""

import threading

import pytest

import numgrad
from numgrad import enable_grad, is_grad_enabled, no_grad, set_grad_enabled, tensor


@pytest.fixture(autouse=True)
def recording_as_before():
    assert is_grad_enabled()
    yield
    left = is_grad_enabled()
    set_grad_enabled(True)
    assert left


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


#: The modes that switch recording off, and those that switch it on.
OFF = [no_grad, lambda: set_grad_enabled(False)]
ON = [enable_grad, lambda: set_grad_enabled(True)]
NAMES = ["own", "set"]


# --- as a context manager ---------------------------------------------------------------


@pytest.mark.parametrize("off", OFF, ids=NAMES)
@pytest.mark.parametrize("on", ON, ids=NAMES)
def test_modes_nest(x, off, on):
    with off():
        assert not is_grad_enabled()
        assert not (x * 2).requires_grad
        with on():
            assert is_grad_enabled()
            assert (x * 2).requires_grad
            with off():
                assert not is_grad_enabled()
            assert is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled()


@pytest.mark.parametrize("off", OFF, ids=NAMES)
def test_modes_end_with_an_exception(off):
    with pytest.raises(ValueError, match="out"), off():
        raise ValueError("out")
    assert is_grad_enabled()


def test_one_object_may_be_entered_twice():
    mode = no_grad()
    with mode:
        with mode:
            assert not is_grad_enabled()
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_results_without_recording_are_leaves(x):
    with no_grad():
        y = x * 2
        z = tensor([1.0], requires_grad=True)
    assert y.is_leaf
    assert not y.requires_grad
    assert y.grad_fn is None
    assert z.requires_grad
    assert (y + 1).is_leaf


def test_what_was_recorded_can_be_differentiated_without_recording(x):
    y = (x * x).sum()
    with no_grad():
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert not x.grad.requires_grad


def test_leaves_may_be_written_to_without_recording(x):
    with no_grad():
        x.mul_(2)
        x[0] = 5.0
        x -= 1
    assert x.tolist() == [4.0, 3.0]
    assert x.is_leaf
    assert x.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [8.0, 6.0]


# --- as a function ----------------------------------------------------------------------


def test_set_grad_enabled_holds_at_once():
    set_grad_enabled(False)
    assert not is_grad_enabled()
    set_grad_enabled(mode=True)
    assert is_grad_enabled()


def test_set_grad_enabled_made_early_and_entered_late():
    mode = set_grad_enabled(False)
    assert not is_grad_enabled()
    with mode:
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_what_is_set_inside_a_block_ends_with_it():
    with no_grad():
        set_grad_enabled(True)
        assert is_grad_enabled()
    assert is_grad_enabled()
    with enable_grad():
        set_grad_enabled(False)
    assert is_grad_enabled()


# --- as a decorator ---------------------------------------------------------------------


def probe(a, b=2, *rest, c, **others):
    """What a decorated function still says of itself."""
    return is_grad_enabled(), a, b, rest, c, others


@pytest.mark.parametrize("decorate", [no_grad, no_grad(), lambda f: set_grad_enabled(False)(f)])
def test_decorated_functions(decorate):
    function = decorate(probe)
    assert is_grad_enabled()
    assert function(1, 3, 4, c=5, d=6) == (False, 1, 3, (4,), 5, {"d": 6})
    assert (function.__name__, function.__doc__, function.__wrapped__) == ("probe", probe.__doc__, probe)
    assert is_grad_enabled()


@pytest.mark.parametrize("decorate", [enable_grad, enable_grad(), lambda f: set_grad_enabled(True)(f)])
def test_decorated_functions_that_record(decorate):
    with no_grad():
        function = decorate(probe)
        assert function(1, c=2)[0]
        assert not is_grad_enabled()


def test_decorated_methods(x):
    class Model:
        @no_grad()
        def plain(self, x):
            return x * 2

        @staticmethod
        @no_grad
        def static(x):
            return x * 2

    assert not Model().plain(x).requires_grad
    assert not Model.static(x).requires_grad


def test_decorated_functions_may_call_themselves():
    @no_grad()
    def count(n):
        assert not is_grad_enabled()
        return 0 if n == 0 else 1 + count(n - 1)

    assert count(5) == 5
    assert is_grad_enabled()


def test_decorated_functions_may_raise():
    @no_grad()
    def fail():
        raise ValueError("out")

    with pytest.raises(ValueError, match="out"):
        fail()
    assert is_grad_enabled()


# --- generators -------------------------------------------------------------------------


@pytest.mark.parametrize("decorate", [no_grad, no_grad(), lambda f: set_grad_enabled(False)(f)])
def test_a_generators_mode_holds_in_it_and_not_outside(decorate):
    inside = []

    @decorate
    def generate():
        inside.append(is_grad_enabled())
        received = yield "first"
        inside.append((received, is_grad_enabled()))
        try:
            yield "second"
        except ValueError:
            inside.append(("caught", is_grad_enabled()))
        yield "third"
        inside.append(is_grad_enabled())
        return "result"

    generator = generate()
    outside = []
    values = []
    for step in (lambda: next(generator), lambda: generator.send("sent"), lambda: generator.throw(ValueError)):
        values.append(step())
        outside.append(is_grad_enabled())
    with pytest.raises(StopIteration) as stopped:
        next(generator)
    assert values == ["first", "second", "third"]
    assert stopped.value.value == "result"
    assert inside == [False, ("sent", False), ("caught", False), False]
    assert outside == [True, True, True]


def test_a_generator_is_closed_in_its_mode():
    seen = []

    @no_grad()
    def generate():
        try:
            yield 1
        finally:
            seen.append(is_grad_enabled())

    generator = generate()
    next(generator)
    generator.close()
    assert seen == [False]
    assert is_grad_enabled()


def test_errors_of_a_generator_come_through():
    @no_grad()
    def generate():
        yield 1
        raise ValueError("out")

    generator = generate()
    next(generator)
    with pytest.raises(ValueError, match="out"):
        next(generator)
    assert is_grad_enabled()


def test_a_recording_generator_inside_no_grad():
    @enable_grad()
    def generate():
        while True:
            yield is_grad_enabled()

    with no_grad():
        generator = generate()
        assert next(generator)
        assert not is_grad_enabled()
        assert next(generator)


# --- threads ----------------------------------------------------------------------------


def test_each_thread_has_its_own_mode(x):
    entered, checked = threading.Event(), threading.Event()
    seen = []

    def work():
        seen.append(is_grad_enabled())
        with no_grad():
            entered.set()
            assert checked.wait(10)
            seen.append((x * 2).requires_grad)

    with no_grad():
        thread = threading.Thread(target=work)
        thread.start()
        assert entered.wait(10)
        set_grad_enabled(True)
        assert (x * 2).requires_grad
        checked.set()
        thread.join()
    assert seen == [True, False]


def test_a_new_thread_records_and_leaves_the_others_alone(x):
    results = []
    with no_grad():
        thread = threading.Thread(target=lambda: (results.append(x * 2), set_grad_enabled(False)))
        thread.start()
        thread.join()
        assert results[0].requires_grad
    assert is_grad_enabled()


def test_numgrads_own_names_are_the_same_objects():
    assert numgrad.autograd.no_grad is no_grad
    assert numgrad.autograd.enable_grad is enable_grad
    assert numgrad.autograd.set_grad_enabled is set_grad_enabled
