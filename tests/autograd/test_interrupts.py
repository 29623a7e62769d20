"""Ctrl-C at every point: all contexts are left, and the state of the thread is restored."""

import inspect
import sys

import pytest

import numgrad
from numgrad import func, ones
from numgrad.autograd import detect_anomaly, enable_grad, forward_ad, inference_mode, no_grad, profiler
from numgrad.autograd.grad_mode import inference_blocks, state
from numgrad.autograd.graph import save_on_cpu, saved_tensors_hooks
from numgrad.autograd.thread_state import thread_state
from numgrad.devices import launches, recording
from numgrad.programs.recording_lock import RecordingLock, recording_lock
from numgrad.utils.checkpoint import checkpoint


def interrupted(program, point):
    """Run a program, interrupt it at one of the points where Python checks for signals, and return their number.

    Python does so as a function of Python's begins, and after a call of C code.  An interrupt as a ``with`` block of a
    program, or of the lock of recording, calls ``__exit__`` is left out: it comes before anything could be restored.
    The thread may take that lock again.  Also left out are calls of generators, because Python does not check as it
    closes one.
    """
    count = 0

    def look(frame, event, _):
        nonlocal count
        if event not in ("call", "c_return") or (event == "call" and frame.f_code.co_flags & inspect.CO_GENERATOR):
            return
        if event == "call" and frame.f_code.co_name == "__exit__" and (
            frame.f_back.f_code is program.__code__ or frame.f_code is RecordingLock.__exit__.__code__
        ):
            return
        count += 1
        if count == point:
            raise KeyboardInterrupt

    sys.setprofile(look)
    try:
        program()
        assert count < point or program in MAY_LOSE_INTERRUPTS, "an interrupt was lost"
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return count


DEFAULTS = {name: value for name, value in vars(type(state)).items() if not name.startswith("_")}


def present_state():
    return (
        {**DEFAULTS, **thread_state()}, len(inference_blocks), recording.recorder, recording.observed,
        launches.listeners, [*recording_lock.holder],
    )  # fmt: skip


X = ones(3, requires_grad=True)
Y = ones(3)


def computed(x):
    return (x.sin() * 2).exp().sum()


def recorded():
    compiled = numgrad.compile(lambda x: computed(x))
    for _ in range(2):
        compiled(X)


REPLAYED = numgrad.compile(lambda x: computed(x))


def within(*contexts):
    """A program of consecutive ``with`` blocks."""

    def program():
        for make in contexts:
            with make():
                computed(X)

    return program


PROGRAMS = {
    "recording": recorded,
    "a replay": lambda: REPLAYED(X).backward(),
    "backward": lambda: computed(X).backward(),
    "a checkpoint": lambda: checkpoint(computed, X, use_reentrant=False).backward(),
    "a checkpoint with a log": lambda: checkpoint(computed, X, use_reentrant=False, debug=True).backward(),
    "a reentrant checkpoint": lambda: checkpoint(computed, X, use_reentrant=True).backward(),
    "hooks": within(lambda: saved_tensors_hooks(lambda x: x, lambda x: x), save_on_cpu),
    "anomaly mode": within(detect_anomaly, lambda: detect_anomaly(check_forward=True)),
    "a profile": within(profiler.profile),
    "modes": within(no_grad, inference_mode, enable_grad),
    "no_grad() as a decorator": no_grad()(lambda: Y.sin()),
    "inference_mode() as a decorator": inference_mode()(lambda: Y.sin()),
    "a level of forward mode": within(forward_ad.dual_level),
    "grad": lambda: func.grad(computed)(Y),
    "vmap": lambda: func.vmap(lambda x: x.sin() * 2)(ones(2, 3)),
    "jvp": lambda: func.jvp(computed, (Y,), (Y,)),
    "jacrev": lambda: func.jacrev(computed)(Y),
    "hessian": lambda: func.hessian(computed)(Y),
}
#: Programs that run ``__del__`` or another callback in Python, in which Python ignores interrupts.
MAY_LOSE_INTERRUPTS = [PROGRAMS["recording"], PROGRAMS["a reentrant checkpoint"]]


@pytest.mark.filterwarnings("ignore")  # of anomaly mode, and of interrupts in __del__ and the like
@pytest.mark.parametrize("name", PROGRAMS)
def test_interrupts(name):
    program = PROGRAMS[name]
    for _ in range(3):
        program()
    points, before = interrupted(program, sys.maxsize), present_state()
    for point in range(1, points + 1, max(1, points // 400)):
        interrupted(program, point)
        assert present_state() == before, point
    X.grad = None
    program()
