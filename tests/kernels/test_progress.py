"""The line on the terminal that names the kernel being compiled."""

import io

import pytest

from numgrad_kernels import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def waited(monkeypatch):
    """Pretend that nine kernels took two seconds, outside of pytest."""
    monkeypatch.delenv("PYTEST_VERSION", raising=False)
    monkeypatch.delenv("NUMGRAD_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "_waited", progress._Waited())
    progress._waited.kernels, progress._waited.seconds = 9, 2.0
    return progress._waited


def written(monkeypatch, stream):
    monkeypatch.setattr("sys.stderr", stream)
    with progress.compiling("exp_rows"):
        pass
    return stream.getvalue()


def test_a_kernel_is_named_and_the_line_goes(waited, monkeypatch):
    text = written(monkeypatch, Terminal())
    assert "numgrad compiles exp_rows, kernel 10" in text
    assert text.endswith("\r")  # over blanks
    assert waited.kernels == 10


def test_nothing_is_written_where_nobody_waits_or_looks(waited, monkeypatch):
    assert written(monkeypatch, io.StringIO()) == ""
    monkeypatch.setenv("NUMGRAD_PROGRESS", "0")
    assert written(monkeypatch, Terminal()) == ""
    monkeypatch.delenv("NUMGRAD_PROGRESS")
    monkeypatch.setenv("PYTEST_VERSION", "9")
    assert written(monkeypatch, Terminal()) == ""
    monkeypatch.delenv("PYTEST_VERSION")
    waited.seconds = 0.5
    assert written(monkeypatch, Terminal()) == ""


def test_a_kernel_that_cannot_be_compiled_is_an_error(waited, monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    with pytest.raises(TypeError), progress.compiling("exp_rows"):
        raise TypeError
