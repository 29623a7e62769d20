"""Fixtures of all tests, and the count of the deselected ones, which worker processes do not report."""

import gc
import os

import pytest

import numgrad
from numgrad_kernels import overloads

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin would keep the other processes waiting

overloads.register()  # some tests compile functions that call the kernels' scalar mathematics themselves

_left_out = pytest.StashKey[int]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """Freeze existing objects, so that the garbage collector, which many tests call, only visits those of the test."""
    gc.freeze()
    try:
        return (yield)
    finally:
        gc.unfreeze()


@pytest.fixture(autouse=True)
def _seeded():
    """Seed the generators, so that a test's random numbers do not depend on the tests before it."""
    numgrad.manual_seed(0)


def pytest_deselected(items):
    if items:
        stash = items[0].config.stash
        stash[_left_out] = stash.get(_left_out, 0) + len(items)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(_left_out, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[_left_out] = getattr(node, "workeroutput", {}).get("left_out", 0)  # the same in each process


def pytest_terminal_summary(terminalreporter, config):
    if config.pluginmanager.hasplugin("dsession"):
        terminalreporter.write_line(f"{config.stash.get(_left_out, 0)} tests deselected by name in each process")
