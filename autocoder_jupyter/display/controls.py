"""A strip with a progress bar, a clock and buttons under a running card. It leaves no trace: widgets are no record."""

from __future__ import annotations

import importlib
from typing import Any, Protocol

from autocoder_jupyter.display.amounts import clock
from autocoder_jupyter.display.state import CardState


class Controllable(Protocol):
    """What the buttons need of a job. Each only sets a flag, because a click may come on any thread."""

    def cancel(self) -> None:
        """Stop."""
        ...

    def approve(self) -> bool:
        """Allow the packages it waits for."""
        ...

    def decline(self) -> bool:
        """Refuse them."""
        ...


class Controls:
    """The strip. A view like the card's.

    Args:
        job: what the buttons act upon.

    Raises:
        ImportError: ipywidgets is not installed; everything works without the strip.
    """

    def __init__(self, job: Controllable) -> None:
        ipywidgets: Any = importlib.import_module("ipywidgets")
        bar = {"width": "180px", "height": "12px", "margin": "auto 0"}
        self._bar = ipywidgets.IntProgress(min=0, max=100, layout=bar)
        self._note = ipywidgets.Label(layout={"margin": "0 8px"})
        self._cancel = _button(ipywidgets, "Cancel", "", job.cancel)
        self._approve = _button(ipywidgets, "Approve", "success", job.approve)
        self._decline = _button(ipywidgets, "Decline", "", job.decline)
        # Cancel comes first: a button must not move away under the pointer when the others appear.
        self._idle = (self._bar, self._cancel, self._note)
        self._asking = (self._bar, self._cancel, self._approve, self._decline, self._note)
        self._box = ipywidgets.HBox(self._idle, layout={"align_items": "center"})
        self._open = True
        display_module: Any = importlib.import_module("IPython.display")
        self._place: Any = display_module.DisplayHandle()
        self._place.display(self._box)

    def __call__(self, state: CardState) -> None:
        """Follow `state`; close when it is a last one."""
        if not self._open:
            return
        if state.finished:
            self.close()
            return
        self._bar.value = round(100 * state.progress)
        self._note.value = _note(state)
        children = self._asking if state.phase == "waiting" else self._idle
        if self._box.children != children:
            self._box.children = children

    def close(self) -> None:
        """Take the strip out of the notebook; what stays in the output is empty, or a saved notebook would look for
        a widget that is no more.
        """
        self._open = False
        self._place.update({}, raw=True)
        for widget in (*self._asking, self._box):
            widget.close()


def _note(state: CardState) -> str:
    written = f" · {state.written:,} characters written" if state.written else ""
    return f"{clock(state.seconds)}{written}"


def _button(ipywidgets: Any, label: str, style: str, act: Any) -> Any:
    button = ipywidgets.Button(description=label, button_style=style, layout={"width": "auto"})
    button.on_click(lambda _: act())
    return button
