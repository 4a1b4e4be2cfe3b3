"""The strip below a running card: pictures, the current step and buttons. It is removed at the end and never saved.

The card is an output, which is sent anew with each change. A picture is too large for that: here it is a widget of its
own, and sent once.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, Protocol

from autocoder_jupyter.display.actions import HIDES_ASKED, QuestionForm
from autocoder_jupyter.display.live import Shown, is_unverified, pictures_html, strip_of, why_it_asks, widget_bundle
from autocoder_jupyter.display.strip import LAST_HTML, TABS
from autocoder_jupyter.view.markup import (
    EMPTY,
    Html,
    HtmlWidget,
    clipped,
    element,
    escape,
    html_output,
    html_widget,
    join,
)

FOLDED_SECONDS = 0.3
"""Seconds that the strip stays at the end, without height, so that the page does not scroll."""

SEEN_SECONDS = 0.7
"""Seconds that a new question is shown before its buttons work."""

_NOT_VERIFIED = element("div", element("strong", escape("not verified yet"), look="warn"), look="text")


class Controllable(Protocol):
    """The methods of a job that the buttons call. Each only sets a flag, because a click may come on any thread."""

    def cancel(self) -> None:
        """Cancel the job."""
        ...

    def approve(self, question: str = "") -> bool:
        """Allow the action that the job waits for. `question` is the key of the question that the user saw."""
        ...

    def decline(self, question: str = "") -> bool:
        """Refuse that action."""
        ...

    def answer(self, answers: Sequence[str]) -> bool:
        """Answer the questions of the plan, one answer for each."""
        ...


class Controls:
    """The strip. It is called with each state, like the view of the card.

    Args:
        for_page: whether our lab extension is present, which shows nothing in place of a closed widget.

    Raises:
        ImportError: ipywidgets is not installed; everything works without the strip.
    """

    def __init__(self, job: Controllable, state: Shown, *, for_page: bool = False) -> None:
        ipywidgets: Any = importlib.import_module("ipywidgets")
        self._job = job
        shown, alone = strip_of(state), {"width": "auto", "margin": "0"}
        self._now, self._live = (html_widget(part, alone) for part in (shown.now, shown.pane))
        self._tabs = ipywidgets.ToggleButtons(
            options=shown.labels,
            tooltips=shown.labels,
            style={"button_width": "auto"},
            layout={"margin": "2px 0 0", "height": "30px", "overflow": "hidden"},  # the same with and without tabs
        )
        self._tabs.add_class(TABS)
        self._pane = ipywidgets.VBox(
            (self._now, self._tabs, self._live),
            layout={"flex": "1 1 20em", "min_width": "0", "width": "auto", "overflow": "hidden"},
        )
        self._cancel = _button(
            ipywidgets, "Cancel", "", job.cancel, "20px 0 4px 10px"
        )  # beside the window, not the clock
        self._cancel.add_class("autocode-cancel")  # our lab extension has one in the card's head
        self._ipywidgets = ipywidgets
        self._question = ""
        self._asked_at = 0.0
        self._decisions: tuple[Any, ...] = ()
        self._box = ipywidgets.HBox(
            (self._pane, self._cancel),  # on a narrow page below the window
            layout={
                "max_width": "1312px",
                "margin": "0 20px 0 0",
                "align_items": "flex-start",
                "flex_flow": "row wrap",
                "overflow": "hidden",
            },
        )
        self._form: QuestionForm | None = None
        self._strip = ipywidgets.VBox((self._box,), layout={"overflow": "hidden"})
        self._strip.add_class("autocode-strip")
        self._open = True
        display_module: Any = importlib.import_module("IPython.display")
        self._place: Any = display_module.DisplayHandle()
        live = widget_bundle(self._strip.model_id, for_page=for_page)
        gone = html_output(EMPTY, _NO_WIDGETS) if for_page else {"text/plain": _NO_WIDGETS}
        self._place.display({**live, **gone}, raw=True)

    # Most runs ask nothing and draw nothing, and each widget takes a millisecond of the first ones: made when needed.

    @cached_property
    def _mark(self) -> HtmlWidget:
        return html_widget(_NOT_VERIFIED, {"margin": "0 0 0 17px"})  # where the content of the card begins

    @cached_property
    def _pictures(self) -> HtmlWidget:
        return html_widget(layout={"margin": "0 20px 6px 17px", "width": "auto"})

    @cached_property
    def _asks(self) -> HtmlWidget:
        return html_widget()

    @cached_property
    def _buttons(self) -> Any:
        return self._ipywidgets.HBox((), layout={"margin": "0", "flex_flow": "row wrap"})

    @cached_property
    def _consent(self) -> Any:
        return self._ipywidgets.VBox((self._asks, self._buttons), layout={"margin": "0 20px 6px 17px"})

    def __call__(self, state: Shown) -> None:
        """Show `state`; close if it is the last one."""
        if not self._open:
            return
        if state.finished:
            self._live.value = LAST_HTML
            self._pane.children = (self._live,)
            self._box.children = (self._pane,)
            self._draw(EMPTY)  # the card has them now
            self._show_above(state)
            time.sleep(FOLDED_SECONDS)
            self.close()
            return
        shown = strip_of(state)
        self._now.value, self._live.value = shown.now, shown.pane
        if shown.labels != tuple(self._tabs.options):
            self._tabs.options = self._tabs.tooltips = shown.labels
            self._tabs.index = 0 if shown.labels else None
        self._draw(pictures_html(state))
        self._tabs.layout.display = "none" if state.phase == "waiting" else None
        self._show_decisions(state.question, state.asks, why_it_asks(state))
        self._show_above(state)

    def _draw(self, pictures: Html) -> None:
        if pictures or self._draws:
            self._pictures.value = pictures  # not sent if they are the same

    @property
    def _draws(self) -> bool:
        return "_pictures" in vars(self) and bool(self._pictures.value)

    def _show_decisions(self, question: str, words: str, why: str) -> None:
        """Show a question with its buttons right below it, and no longer on the card. Each question has its own, which
        work when the user had time to read it: the second click of a double click must not answer the next question.
        """
        if question == self._question:
            for button in self._decisions:
                button.disabled = time.monotonic() - self._asked_at < SEEN_SECONDS
            return
        before, self._question, self._decisions = self._decisions, question, ()
        self._asked_at = time.monotonic()
        if question:
            button = partial(_button, self._ipywidgets, margin="4px 8px 4px 0", disabled=True)
            self._decisions = (
                button("Approve", "success", lambda: self._job.approve(question)),
                button("Decline", "", lambda: self._job.decline(question)),
            )
        asked = element("strong", escape(clipped(words, 1_000)), look="warn")
        self._asks.value = element("div", HIDES_ASKED, join(asked, escape(why), between=" "), look="text spaced within")
        self._buttons.children = self._decisions
        for button in before:
            button.close()

    def _show_above(self, state: Shown) -> None:
        """Show the form of open questions and the pictures, right below the card; the window comes after them."""
        before = self._form
        if bool(state.questions) != (before is not None):
            self._form = QuestionForm(state.questions, self._job.answer) if state.questions else None
        asked = (
            *((self._consent,) if self._decisions and not state.finished else ()),
            *((self._form.widget,) if self._form is not None else ()),
        )
        drawn = (*((self._mark,) if is_unverified(state) else ()), self._pictures) if self._draws else ()
        self._strip.children = (*asked, *drawn, self._box)
        if before is not None and before is not self._form:
            before.close()

    def close(self) -> None:
        """Remove the strip from the notebook. The output becomes empty; otherwise a saved notebook would refer to a
        closed widget.
        """
        self._open = False
        self._place.update({}, raw=True)
        if self._form is not None:
            self._form.close()
        further = ("_mark", "_pictures", "_asks", "_buttons", "_consent")
        made = (vars(self)[name] for name in further if name in vars(self))
        parts = (self._now, self._tabs, self._live, self._pane, self._cancel, *self._decisions)
        for widget in (*made, *parts, self._box, self._strip):
            widget.close()


_NO_WIDGETS = "%autocode status shows the progress. In place of buttons: %autocode cancel and %autocode reply."


def _button(ipywidgets: Any, label: str, style: str, act: Any, margin: str, *, disabled: bool = False) -> Any:
    layout = {"width": "84px", "margin": margin}
    button = ipywidgets.Button(description=label, button_style=style, layout=layout, disabled=disabled)
    button.on_click(lambda _: act())
    return button
