"""Steps of backward in Jupyter: the widget, and the HTML for readers without a kernel."""

import re
import sys

import pytest

import numgrad
from numgrad.viz import backward_steps
from numgrad.viz.stepping.frames import Frames, picture

WIDGET = "application/vnd.jupyter.widget-view+json"


def steps():
    x = numgrad.tensor([2.0, 3.0], requires_grad=True)
    return backward_steps((x * x).sum())


@pytest.fixture
def stepper():
    from numgrad.viz.stepping.widget import Stepper

    recorded = steps()
    return Stepper(list(recorded), recorded._frames)


def frames(recorded):
    """Return the picture of each step."""
    return [picture(step, recorded._frames) for step in recorded]


def headings(html):
    return re.findall(r"Step \d of \d: \w+", html)


def lit(html):
    """Return the notes in a picture, which are at lit nodes."""
    return re.findall(r">(step \d+)<", html)


def test_slider_buttons_and_player_show_the_step(stepper):
    shown = []
    for act in (lambda: None, stepper.next.click, lambda: setattr(stepper.slider, "value", 3), stepper.back.click):
        act()
        shown.append((headings(stepper.view.value), lit(stepper.view.value)))
    assert shown == [
        (["Step 1 of 3: SumBackward0"], ["step 1"]),
        (["Step 2 of 3: MulBackward0"], ["step 2"]),
        (["Step 3 of 3: AccumulateGrad"], ["step 3"]),
        (["Step 2 of 3: MulBackward0"], ["step 2"]),
    ]
    assert (stepper.play.min, stepper.play.max) == (stepper.slider.min, stepper.slider.max) == (1, 3)


def texts(svg):
    """Return the texts in a picture."""
    return re.findall(r">([^<>\n]+)</(?:text|tspan)>", svg)


def test_frames_have_the_gradients_that_there_are_by_then_and_where_they_went():
    x = numgrad.tensor([2.0, 3.0], requires_grad=True)
    b = numgrad.tensor(1.0, requires_grad=True)
    recorded = backward_steps((x * b).sum())  # to the sum, the product, and both leaves
    pictures = frames(recorded)
    gradients = [[text for text in texts(svg) if text.startswith("grad ")] for svg in pictures]
    assert sorted(gradients[1]) == ["grad None", "grad None"]
    assert "grad None" in gradients[2]
    assert sorted(gradients[3]) == ["grad 5", "grad [1, 1]"]
    flowing = [texts(svg).count("[1, 1]") + texts(svg).count("5") for svg in pictures]
    assert flowing == [1, 4, 4, 4]  # at arrows, and in the note of the step
    colours = [svg.count(' fill="none" stroke="#c2590a"') for svg in pictures]
    assert colours == [2, 4, 4, 4]  # the arrows on which a gradient has gone stay coloured
    walked = [svg.count('fill="#fff1c2"') for svg in pictures]
    assert walked == [0, 1, 2, 3]


def test_frames_count_the_gradients_in_folded_modules():
    model = numgrad.nn.Sequential(numgrad.nn.Linear(2, 3), numgrad.nn.Linear(3, 1))
    loss = model(numgrad.ones(4, 2)).sum()
    drawing = numgrad.viz.draw(loss, model, fold=1)
    steps = backward_steps(loss, module=model)
    folded = Frames(drawing, list(steps))
    ends = [step for step in steps if step.accumulated]
    found = [re.findall(r">(\w+ have a gradient)<", folded.at(step).svg) for step in ends]
    assert found[0] == ["1 have a gradient"]
    assert found[-1] == ["all have a gradient"] * 2


def test_buttons_end_at_the_ends(stepper):
    assert (stepper.back.disabled, stepper.next.disabled) == (True, False)
    stepper.slider.value = 3
    assert (stepper.back.disabled, stepper.next.disabled) == (False, True)
    stepper.next.click()
    assert stepper.slider.value == 3


def test_nothing_moves_from_step_to_step(stepper):
    """The picture, and the room for the text, have the same size in each."""
    sizes = set()
    for number in (1, 2, 3):
        stepper.slider.value = number
        html = stepper.view.value
        of_picture = re.search(r'<svg [^>]*?width="(\d+)" height="(\d+)"', html).groups()
        sizes.add((of_picture, re.search(r"<pre style=\"height:([\d.]+)em", html).group(1)))
    assert len(sizes) == 1


def test_of_a_large_graph_the_part_around_the_node_is_shown():
    y = numgrad.tensor([1.0], requires_grad=True)
    for _ in range(30):
        y = y.sin()
    views = [
        re.search(r'viewBox="\S+ (\S+) (\S+) (\S+)"', svg).groups() for svg in frames(backward_steps(y))
    ]
    starts = [int(start) for start, _, _ in views]
    assert len({(width, height) for _, width, height in views}) == 1
    assert starts == sorted(starts, reverse=True)
    assert starts[0] > starts[-1] + 1000


def test_a_step_within_a_step_lights_the_outer_node():
    from numgrad.utils.checkpoint import checkpoint

    x = numgrad.tensor([1.0], requires_grad=True)
    recorded = backward_steps(checkpoint(lambda x: x.exp() * x, x, use_reentrant=True))
    inner = next(step for step in recorded if step.depth)
    svg = frames(recorded)[inner.number - 1]
    assert lit(svg) == [f"step {inner.number}"]
    assert re.search(r'stroke="#\w+" stroke-width="2.6"', svg)


def test_jupyter_gets_widget_html_and_text():
    bundle = steps()._repr_mimebundle_()
    assert bundle.keys() == {WIDGET, "text/html", "text/plain"}
    assert headings(bundle["text/plain"]) == headings(bundle["text/html"])
    html = bundle["text/html"]
    assert html.count("<details") == html.count("<img ") == 3
    assert html.count(' open=""') == 1
    assert 'alt="The graph of' in html
    assert not re.search(r"<svg|<script", html)  # Jupyter removes these from notebooks that are not trusted
    assert not re.search(r"(?<!-)color:(?!inherit)", html)  # a fixed colour would not suit every theme


def test_without_ipywidgets_and_pygraphviz(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    monkeypatch.delitem(sys.modules, "numgrad.viz.stepping.widget", raising=False)
    assert steps()._repr_mimebundle_().keys() == {"text/html", "text/plain"}
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    html = steps()._repr_mimebundle_()["text/html"]
    assert len(headings(html)) == 3
    assert "<img" not in html


def test_no_steps_and_many():
    recorded = steps()
    assert recorded[:0]._repr_mimebundle_() == {"text/plain": "", "text/html": "<div>no steps</div>"}
    y = numgrad.tensor([1.0], requires_grad=True)
    for _ in range(250):
        y = y.sin()
    bundle = backward_steps(y)._repr_mimebundle_()
    assert bundle["text/html"].count("<details") == 100
    assert "and 151 more" in bundle["text/html"]
    assert bundle["text/plain"].startswith("<Steps: 251 of backward")
