"""SummaryWriter: the calls of tensorboardX, which a class that records them replaces."""

import sys
from types import ModuleType

import numpy as np
import pytest

import numgrad
from numgrad.utils import tensorboard


class Noting:
    """Stand-in for tensorboardX's SummaryWriter, with the methods that are used."""

    def __init__(self, logdir=None):
        self.logdir, self.noted = logdir, []

    def add_scalar(self, tag, scalar_value, global_step=None):
        self.noted.append((tag, scalar_value, global_step))

    def add_hparams(self, hparam_dict, metric_dict):
        self.noted.append((hparam_dict, metric_dict))

    def add_graph(self, model):
        raise AssertionError("it would be traced")


@pytest.fixture(autouse=True)
def anew():
    tensorboard._summary_writer.cache_clear()
    yield
    tensorboard._summary_writer.cache_clear()


def test_tensors_become_arrays(monkeypatch):
    package = ModuleType("tensorboardX")
    package.SummaryWriter = Noting
    monkeypatch.setitem(sys.modules, "tensorboardX", package)
    writer = tensorboard.SummaryWriter("runs/first")
    loss = numgrad.tensor(2.5, requires_grad=True)
    writer.add_scalar("loss", loss, global_step=3)
    writer.add_hparams({"rate": 0.1, "sizes": [numgrad.tensor(2)]}, metric_dict={"loss": loss})
    (tag, value, step), (parameters, metrics) = writer.noted
    assert (tag, value, step) == ("loss", 2.5, 3)
    assert all(type(array) is np.ndarray for array in (value, parameters["sizes"][0], metrics["loss"]))
    assert writer.log_dir == "runs/first"
    with pytest.raises(NotImplementedError, match=r"numgrad\.viz\.draw"):
        writer.add_graph(numgrad.nn.Linear(1, 1))


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match="needs the package tensorboardX: pip install tensorboardX"):
        from numgrad.utils.tensorboard import SummaryWriter  # noqa: F401
    with pytest.raises(AttributeError, match="has no attribute 'FileWriter'"):
        tensorboard.FileWriter  # noqa: B018
