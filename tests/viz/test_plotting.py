"""Matplotlib, pandas and Plotly take tensors as they are."""


import numpy as np
import pytest

import numgrad
from numgrad import tensor

pandas = pytest.importorskip("pandas")
plotly = pytest.importorskip("plotly.graph_objects")
express = pytest.importorskip("plotly.express")
figure = pytest.importorskip("matplotlib.figure")

X, Y, Z = [0.0, 1.0, 2.0, 3.0], [1.0, 4.0, 2.0, 8.0], [[1.0, 2.0], [3.0, 5.0]]

MAKERS = {
    "plain": tensor,
    "double": lambda data: tensor(data, dtype=numgrad.float64),
    "view": lambda data: tensor([data, data]).movedim(0, -1)[..., 1],
    "detached": lambda data: tensor(data, requires_grad=True).detach(),
    "integers": lambda data: tensor(data, dtype=numgrad.int32),
}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


@pytest.fixture
def axes():
    return figure.Figure().subplots()


def test_what_requires_a_gradient_is_drawn_once_detached(axes):
    x = tensor(X, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        axes.plot(x)
    (line,) = axes.plot(x.detach())
    assert line.get_ydata().tolist() == X


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


def test_matplotlib_draws_fields(axes):
    x, z = tensor([0.0, 1.0]), tensor(Z)
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
