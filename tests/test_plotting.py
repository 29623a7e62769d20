"""Matplotlib, pandas and Plotly take tensors as they are, those that require a gradient, too."""

import copy

import numpy as np
import pytest

import numgrad
from numgrad import nn, tensor

pandas = pytest.importorskip("pandas")
plotly = pytest.importorskip("plotly.graph_objects")
express = pytest.importorskip("plotly.express")
figure = pytest.importorskip("matplotlib.figure")

X, Y, Z = [0.0, 1.0, 2.0, 3.0], [1.0, 4.0, 2.0, 8.0], [[1.0, 2.0], [3.0, 5.0]]

MAKERS = {
    "plain": tensor,
    "leaf": lambda data: tensor(data, requires_grad=True),
    "result": lambda data: tensor(data, requires_grad=True) * 1,
    "view": lambda data: tensor([data, data], requires_grad=True).movedim(0, -1)[..., 1],
    "parameter": lambda data: nn.Parameter(tensor(data, dtype=numgrad.float64)),
    "integers": lambda data: tensor(data, dtype=numgrad.int32),
}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


@pytest.fixture
def axes():
    return figure.Figure().subplots()


def from_module(name, function, *arguments):
    """What a function returns that is called by a function of the module ``name``."""
    namespace = {"__name__": name}
    exec("def call(function, *arguments):\n    return function(*arguments)", namespace)
    return namespace["call"](function, *arguments)


@pytest.mark.parametrize("module", ["matplotlib.lines", "pandas.core.frame", "plotly.express", "_plotly_utils.x"])
def test_a_library_that_draws_is_given_the_elements_to_read(module):
    x = tensor(X, requires_grad=True)
    array = from_module(module, np.asarray, x)
    assert array.tolist() == X
    assert np.shares_memory(array, x.detach().numpy())
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0
    assert from_module(module, np.atleast_1d, x.sum()).tolist() == [6.0]
    assert from_module(module, np.median, x) == 1.5
    assert from_module(module, copy.deepcopy, x * 1).is_leaf


@pytest.mark.parametrize(
    "module", [__name__, "numgrad.func", "scipy.linalg", "matplotlib_of_mine", "numpy_of_mine", None],
)
def test_others_are_not(module):
    x = tensor(X, requires_grad=True)
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that requires grad"):
        from_module(module, np.asarray, x)
    with pytest.raises(TypeError, match="cannot pass on the gradient"):
        from_module(module, np.median, x)
    with pytest.raises(RuntimeError, match="deepcopy"):
        from_module(module, copy.deepcopy, x * 1)


def test_a_function_of_the_program_that_a_library_calls_is_the_program():
    with pytest.raises(RuntimeError, match="requires grad"):
        from_module("pandas.core.apply", lambda x: np.asarray(x), tensor(X, requires_grad=True))


def test_matplotlib_draws_the_numbers(axes, make):
    x, y, z, level = make(X), make(Y), make(Z), make(Y)[2]
    (line,) = axes.plot(x, y)
    np.testing.assert_array_equal(line.get_xydata(), np.column_stack([X, Y]))
    (mixed,) = axes.plot(np.array(X), y, "o--")
    np.testing.assert_array_equal(mixed.get_xydata(), np.column_stack([X, Y]))
    (losses,) = axes.plot([level, level, level])
    assert losses.get_ydata().tolist() == [2, 2, 2]
    assert axes.scatter(x, y, c=y, s=y).get_offsets().tolist() == np.column_stack([X, Y]).tolist()
    assert [bar.get_height() for bar in axes.bar(x, y, yerr=y)] == Y
    assert axes.hist(y, bins=2)[0].tolist() == [3, 1]
    assert axes.hist([x, y], bins=[0, 4, 9])[0].tolist() == [[4, 0], [2, 2]]
    assert axes.imshow(z).get_array().tolist() == Z
    assert axes.axhline(level).get_ydata() == [2, 2]
    axes.errorbar(x, y, yerr=y, xerr=level)
    axes.fill_between(x, y, level, where=y > 2)
    axes.set_xlim(level, level + 4)
    assert axes.get_xlim() == (2, 6)
    axes.text(level, level, level)
    axes.set_title(level)
    axes.set_xticks(x, labels=[f"{v:.1f}" if v.is_floating_point() else f"{v}" for v in x])
    axes.figure.draw_without_rendering()


@pytest.mark.parametrize("name", ["plain", "result"])
def test_matplotlib_draws_fields(axes, name):
    x, z = MAKERS[name]([0.0, 1.0]), MAKERS[name](Z)
    axes.contourf(x, x, z, levels=x + 2)
    axes.pcolormesh(x, x, z)
    axes.quiver(x, x, z, z)
    axes.streamplot(x, x, z, z)
    axes.stackplot(x, z)
    axes.boxplot(z)
    axes.figure.draw_without_rendering()


def test_pandas_takes_the_numbers(make):
    x, z = make(X), make(Z)
    series = pandas.Series(x, index=make(Y))
    assert series.tolist() == X
    assert series.dtype == x.dtype.name
    table = pandas.DataFrame({"x": x, "n": range(4)})
    table["y"] = make(Y)
    assert table.y.tolist() == Y
    assert (table.n + x).tolist() == [0, 2, 4, 6]
    assert pandas.DataFrame(z, columns=["a", "b"]).b.tolist() == [2, 5]
    assert pandas.DataFrame([x, x]).shape == (2, 4)
    assert pandas.Series(x, dtype=numgrad.float64).dtype == np.float64
    with pytest.raises((TypeError, ValueError)):
        series.array[0] = "?"
    assert x.tolist() == X


def test_what_is_written_to_a_table_does_not_reach_the_graph():
    x = tensor(X, requires_grad=True)
    table = pandas.DataFrame({"x": x})
    table.loc[0, "x"] = 9.0
    assert table.x[0] == 9
    assert x.tolist() == X
    assert x._version == 0


def test_plotly_draws_the_numbers(make):
    x, y, z, level = make(X), make(Y), make(Z), make(Y)[2]
    drawn = plotly.Figure(plotly.Scatter(x=x, y=y, marker={"size": y}, error_y={"array": y}))
    drawn.add_hline(y=level)
    drawn.add_trace(plotly.Heatmap(z=z))
    drawn.update_xaxes(range=[level, level + 1])
    points, heat = drawn.data
    assert points.x.tolist() == X
    assert points.marker.size.tolist() == Y
    assert heat.z.tolist() == Z
    assert plotly.Figure(plotly.Scatter(y=[level, level])).data[0].y == (2, 2)
    assert '"range":[2' in drawn.to_json()
    assert express.line(x=x, y=y).data[0].y.tolist() == Y
    assert express.histogram(y).data[0].x.tolist() == Y
    assert express.imshow(z).data[0].z.tolist() == Z
    assert express.scatter({"a": x, "b": y}, x="a", y="b", color="b").data[0].marker.color.tolist() == Y
