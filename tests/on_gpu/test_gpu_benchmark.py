"""The benchmark on a GPU: in the simulator, without PyTorch and with tiny tensors, so only that it runs."""

import json
import sys
from pathlib import Path

import pytest


@pytest.fixture
def compare(monkeypatch):
    """The benchmark as a function of its arguments."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import compare
    import timing

    monkeypatch.setattr(timing, "_device", "cpu")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["compare.py", *arguments])
        compare.main()

    return run


def test_figures_are_written_after_each_case(cuda, compare, tmp_path, monkeypatch):
    import compare as script

    file, timed = tmp_path / "figures.json", script.best_times
    found = []

    def until_the_second(*arguments):
        found.append(json.loads(file.read_text()) if file.exists() else None)
        if len(found) == 2:
            raise KeyboardInterrupt
        return timed(*arguments)

    monkeypatch.setattr(script, "best_times", until_the_second)
    with pytest.raises(KeyboardInterrupt):
        compare(
            "pointwise", "--device", "cuda", "--no-torch", "--elements", "60", "--rounds", "1", "--seconds", "0",
            "--json", str(file),
        )  # fmt: skip
    assert found[0] is None
    assert len(found[1]["unfinished"]["cases"]) == 1


def test_times_of_each_part(cuda, size, compare, tmp_path, capsys):
    file = tmp_path / "figures.json"
    compare(
        "pointwise", "small", "--device", "cuda", "--no-torch", "--elements", "60", str(size(200, 100_000)),
        "--only", "relu", "--rounds", "1", "--seconds", "0", "--json", str(file),
    )  # fmt: skip
    printed = capsys.readouterr().out
    assert "of the bandwidth of a copy" in printed
    assert "geometric mean" not in printed
    figures = json.loads(file.read_text())
    assert [table["title"].split(",")[1] for table in figures["pointwise"]]
    for table in (*figures["pointwise"], *figures["small"]):
        assert table["cases"]
        for figure in table["cases"].values():
            assert figure["numgrad"] > 0
    assert figures["pointwise"][0]["share"] > 0
    assert "share" not in figures["small"][0]
