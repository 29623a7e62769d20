"""The widget for browsing the steps of backward: a slider, buttons, the picture and the text.

The widget needs ipywidgets: ``pip install -e ".[notebooks]"``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import ipywidgets

from .frames import HEIGHT, Frames, step_html
from .step import BackwardStep

#: The number of pictures cached, and of steps whose text height is computed in advance.
KEPT, LOOKED_AT = 128, 200


class Stepper:
    """The widget; Jupyter shows its ``box``.

    Attributes:
        slider: selects the number of the step that is shown.
        back, next: buttons for the previous and the next step.
        play: plays all steps in turn.
        view: the content shown for the step.
    """

    def __init__(self, steps: Sequence[BackwardStep], frames: Frames | None):
        self.steps = steps
        self.frames = frames
        count = len(steps)
        few = count <= LOOKED_AT
        self._lines = max([str(step).count("\n") + 1 for step in steps]) if few else HEIGHT
        self._html = functools.lru_cache(maxsize=KEPT)(self._rendered)
        self.slider = ipywidgets.IntSlider(
            value=1, min=1, max=count, description="Step", continuous_update=True,
            layout=ipywidgets.Layout(width="auto", min_width="200px", flex="1 1 200px", max_width="480px"),
        )
        self.back = _button("Back", "step-backward", "The step before")
        self.next = _button("Next", "step-forward", "The next step")
        self.play = ipywidgets.Play(value=1, min=1, max=count, interval=1200, show_repeat=False)
        self.view = ipywidgets.HTML(layout=ipywidgets.Layout(width="100%"))
        controls = ipywidgets.HBox(
            [self.back, self.next, self.play, self.slider],
            layout=ipywidgets.Layout(flex_flow="row wrap", align_items="center"),
        )
        self.box = ipywidgets.VBox([controls, self.view], layout=ipywidgets.Layout(width="100%"))
        ipywidgets.jslink((self.play, "value"), (self.slider, "value"))
        self.slider.observe(self._show, names="value")
        self.back.on_click(functools.partial(self._move, -1))
        self.next.on_click(functools.partial(self._move, 1))
        self._show()

    def _move(self, by: int, button: Any) -> None:
        self.slider.value = min(max(self.slider.value + by, 1), len(self.steps))

    def _show(self, change: Any = None) -> None:
        number = self.slider.value
        self.view.value = self._html(number - 1)
        self.back.disabled = number == 1
        self.next.disabled = number == len(self.steps)

    def _rendered(self, index: int) -> str:
        return step_html(self.steps[index], self.frames, self._lines)


def _button(text: str, icon: str, tooltip: str) -> Any:
    return ipywidgets.Button(
        description=text, icon=icon, tooltip=tooltip, layout=ipywidgets.Layout(width="auto", min_width="5em")
    )
