"""The commands of ``python -m numgrad`` that use a GPU."""

import re

import pytest

from numgrad import nn
from numgrad.__main__ import main
from numgrad.commands import train

OPTIONS = ["--digits", "40", "--hidden", "4", "--epochs", "2", "--batch-size", "16", "--lr", "0.02"]


@pytest.fixture
def run(capsys):
    """Return a function that runs a command and returns its output."""

    def command(*arguments):
        status = main(arguments)
        output = capsys.readouterr()
        assert status == 0, output.err
        return output.out

    return command


def test_training_on_a_gpu_goes_as_on_the_cpu(cuda, run, monkeypatch):
    """Without dropout, which draws other numbers on a GPU."""
    histories = []
    original = train._run

    def noted(*arguments):
        model, history = original(*arguments)
        histories.append(history)
        return model, history

    monkeypatch.setattr(train, "_run", noted)
    monkeypatch.setattr(nn, "Dropout", lambda p: nn.Identity())
    for device in ("cpu", "cuda"):
        output = run("train", "digits", "--device", device, *OPTIONS)
        assert "of 8 held-out digits read correctly, after 2 epochs" in output
    there, here = histories[1], histories[0]
    assert there.losses == pytest.approx(here.losses, rel=1e-4)
    assert there.accuracies == here.accuracies
    assert here.losses[1] < here.losses[0]


def test_a_model_trained_on_a_gpu_scores_the_same_anywhere(cuda, run, tmp_path):
    file = str(tmp_path / "model.pt")
    trained = run("train", "digits", "--device", "cuda", *OPTIONS, "--save", file)
    shares = {re.match(r"[\d.]+%", trained)[0]}
    shares |= {re.match(r"[\d.]+%", run("score", "digits", file, "--device", device))[0] for device in ("cpu", "cuda")}
    assert len(shares) == 1


def test_info_lists_the_gpus(cuda, run):
    rows = dict(re.split(r"  +", line, maxsplit=1) for line in run("info").splitlines())
    properties = cuda.runtime.driver.device_properties(0)
    assert rows["GPU 0"].startswith(f"{properties.name}, compute capability {properties.major}.{properties.minor}, ")
    assert rows["GPU 0"].endswith(" GB")
