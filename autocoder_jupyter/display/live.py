"""Shows the card of a run of either kind, and keeps it up to date while the run is active."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, Generic, Literal, TypeVar

from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.display import card, code_card, folds, strip
from autocoder_jupyter.display.outputs import picture_blocks
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.events import Event, Finished, FunctionVerified, SampleOutputs
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.record import RunRecord
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.view import as_html, as_text
from autocoder_jupyter.view.amounts import clock
from autocoder_jupyter.view.document import Document
from autocoder_jupyter.view.markup import EMPTY, Html, element, html_output

logger = redacting_logger(__name__)

# Updates
#
# A card is updated on its own thread, at most four times a second, and at once where a user waits.

UPDATE_SECONDS = 0.25
"""Minimum time between two updates."""

SETTLE_SECONDS = 0.05
"""Time to wait for further changes after a change. The end of a step is several events, and the next question to the
model is sent between them: drawing the card meanwhile would delay it."""

HEARTBEAT_SECONDS = 1.0
"""Time between two updates when nothing but the clock changes."""

AT_ONCE = (SampleOutputs, FunctionVerified, Finished)
"""Events that are shown at once: the rows, a function that can be used, and the end. There are few in a run."""


S = TypeVar("S", bound=RunRecord)

View = Callable[[S], None]
"""Shows a record; called from the thread of the card, one call at a time."""


class LiveCard(Generic[S]):
    """Shows the record of a run, the latest only, until the run ends.

    Its own thread shows the records. It inherits no context, so that its messages are not tied to the cell that started
    it (nbclient drops such updates once the cell has ended).

    Args:
        views: called with each record that is shown.
        complete: adds to the last record what is in no event, such as the text sent to the model; called once.
    """

    def __init__(self, tracker: RunTracker[S], *views: View[S], complete: Callable[[S], S] = lambda run: run) -> None:
        self._tracker = tracker
        self._views = views
        self._complete = complete
        self._last: S | None = None
        self._shown_last: S | None = None
        self._changed = threading.Event()
        self._urgent = threading.Event()
        self._ended = threading.Event()
        self._added: dict[str, Any] = {}
        self._showing = threading.Lock()
        tracker.listen(self._on_event)

    @property
    def state(self) -> S:
        """The record as of the last event; the complete one at the end. With what was added to it."""
        return replace(self._last or self._tracker.run, **self._added)

    def add(self, **found: Any) -> None:
        """Set fields of the record that no event sets, such as findings after the end of the run."""
        self._added = {**self._added, **found}
        self._changed.set()
        if self._ended.is_set():
            start_thread(self._show_last, "autocode-card")

    def add_view(self, view: View[S]) -> None:
        """Add a view; call this before `start`."""
        self._views = (*self._views, view)

    def start(self) -> None:
        """Start the thread."""
        start_thread(self._update, "autocode-card")

    def wait(self, timeout: float) -> bool:
        """Wait until the last state is shown; returns whether it is."""
        return self._ended.wait(timeout)

    def _on_event(self, event: Event) -> None:
        self._changed.set()
        if isinstance(event, AT_ONCE):
            self._urgent.set()

    def _update(self) -> None:
        while True:
            if self._changed.wait(HEARTBEAT_SECONDS):
                self._urgent.wait(SETTLE_SECONDS)
            self._changed.clear()
            self._urgent.clear()
            run = self._tracker.run
            if run.finished:
                self._last = self._completed(run)
                self._show_last()
                self._ended.set()
                self._show_last()  # with what was added meanwhile
                return
            self._show(replace(run, seconds=self._tracker.seconds, **self._added))
            self._urgent.wait(UPDATE_SECONDS)

    def _show_last(self) -> None:
        with self._showing:
            if (state := self.state) != self._shown_last:
                self._shown_last = state
                self._show(state)

    def _show(self, state: S) -> None:
        for view in self._views:
            try:
                view(state)
            except Exception:
                logger.exception("the card could not be shown")

    def _completed(self, state: S) -> S:
        try:
            return self._complete(state)
        except Exception:
            logger.exception("the last state of the card could not be completed")
            return state


# Cards of both kinds of run

Shown = FunctionRun | CodeRun

MAX_CHARACTERS = 19_400
"""Characters of HTML; a card stays under 20 KB in a saved notebook."""


def document_of(state: Shown) -> Document:
    """The document of a run."""
    return code_card.card(state) if isinstance(state, CodeRun) else card.card(state)


def card_html(state: Shown) -> Html:
    """The card."""
    return as_html.document_html(document_of(state), MAX_CHARACTERS)


def card_text(state: Shown, columns: int = 0) -> str:
    """The card in a few lines of text, for a terminal that is so wide; 0 for none."""
    return as_text.document_text(document_of(state), columns)


def status_line(state: Shown) -> str:
    """The current step in one line of text."""
    return as_text.status_line(document_of(state), "" if state.finished else clock(state.seconds))


def ended_calls(state: Shown) -> dict[str, str]:
    """The tool calls that have ended, each in one line of text, by their id."""
    if isinstance(state, CodeRun):
        return {call.call: code_card.call_line(call) for call in state.calls if call.outcome}
    calls = state.trace.calls if state.trace else ()
    return {str(number): folds.call_line(call) for number, call in enumerate(calls)}


def current_step(state: Shown) -> Hashable:
    """Identifies the step of a run; it changes when a terminal should print a new line."""
    if isinstance(state, CodeRun):
        return state.phase, state.turn, len(state.blocks), state.silent
    return state.phase, state.stage, state.attempt, state.silent


def strip_of(state: Shown) -> strip.Strip:
    """The live part below the card."""
    return code_card.render(state) if isinstance(state, CodeRun) else strip.render(state)


def why_it_asks(state: Shown) -> str:
    """Why a run asks what it asks; "" if that is not known."""
    return code_card.why_it_asks(state) if isinstance(state, CodeRun) else card.WHY_IT_ASKS


def pictures_html(state: Shown) -> Html:
    """The pictures of the outputs of a run under way, whose card has only their words; empty if there are none."""
    blocks = () if isinstance(state, CodeRun) else picture_blocks(state.outputs)
    return element("div", as_html.blocks_html(blocks), look="text spaced within") if blocks else EMPTY


def is_unverified(state: Shown) -> bool:
    """Whether the outputs are of code that has not passed its tests."""
    return isinstance(state, FunctionRun) and state.outputs is not None and not state.outputs.is_verified


# Outputs by mime type
#
# Our lab extension renders two types that only it knows; other front ends use the standard types.
#
# An output can be older than the run that it shows: a page is reloaded, a notebook is saved while a job runs, a kernel
# ends. So a card names its run and its progress, and our page can then show what became of the run.

FOLLOWED = "application/vnd.autocoder-jupyter.followed+json"
"""An output that our lab extension keeps up to date: the run and the progress shown."""

OUR_WIDGET = "application/vnd.autocoder-jupyter.widget+json"
"""A widget that our lab extension shows while its model exists; otherwise it shows the HTML of the same output."""

WIDGET = "application/vnd.jupyter.widget-view+json"


def card_bundle(state: Shown, started: float, *, for_page: bool) -> dict[str, Any]:
    """A card."""
    own = _followed("card", state.name, started, step(state), finished=state.finished and not _is_still_checked(state))
    return {**(own if for_page else {}), **html_output(card_html(state), card_text(state))}


def pending_result(name: str, started: float) -> dict[str, Any]:
    """The data that our lab extension needs to replace an output by the result when the run has ended."""
    return _followed("result", name, started)


def _followed(
    shows: Literal["card", "result"], name: str, started: float, step: str = "", *, finished: bool = False
) -> dict[str, Any]:
    return {FOLLOWED: {"shows": shows, "name": name, "started": started, "step": step, "finished": finished}}


def widget_bundle(model_id: str, *, for_page: bool) -> dict[str, Any]:
    """A widget, without the HTML that replaces it later."""
    if for_page:
        return {OUR_WIDGET: {"model_id": model_id}}
    return {WIDGET: {"version_major": 2, "version_minor": 0, "model_id": model_id}}


def step(state: Shown) -> str:
    """The progress of a run as a key: the cards of two states with the same key look the same."""
    if isinstance(state, CodeRun):
        return _code_step(state)
    last = f"{state.log[-1].at:.3f}" if state.log else ""
    there = (state.silent, state.plan is not None, state.evidence is not None, bool(state.sent))
    counts = (len(state.log), len(state.outcomes), state.test_count, len(state.solution), len(state.tests))
    agent = (len(state.agent.trace.calls), len(state.agent.under_way), state.agent.trace.turns) if state.agent else ()
    tokens = (state.usage.input_tokens, state.usage.output_tokens)
    later = (
        len(state.splits.found),
        state.splits.doing,
        state.splits.failed,
        len(state.answered),
        state.replaced or state.later,
    )
    return " ".join(map(str, (state.phase, state.stage, state.attempt, last, *there, *counts, *agent, *tokens, *later)))


def _is_still_checked(state: Shown) -> bool:
    """Whether something is found out about a run that has ended."""
    return isinstance(state, FunctionRun) and bool(state.splits.doing)


def _code_step(state: CodeRun) -> str:
    decided = tuple((call.outcome, call.waits) for call in state.calls)
    blocks = tuple(block.ok for block in state.blocks)
    key = (
        state.phase,
        state.turn,
        blocks,
        decided,
        state.fault,
        state.loading,
        state.silent,
        state.waits,
        len(state.summary),
        bool(state.sent),
    )
    return " ".join(map(str, (*key, state.usage.input_tokens, state.usage.output_tokens)))


# The card in an output


class NotebookView:
    """Shows states in the output of the cell that made it. Make it in the cell; call it from any thread.

    Args:
        started: start of the run, in seconds since 1970.
        has_page: whether our lab extension is present; that may change.
    """

    def __init__(self, state: Shown, started: float, has_page: Callable[[], bool]) -> None:
        display_module: Any = importlib.import_module("IPython.display")
        self._started = started
        self._has_page = has_page
        self._handle: Any = display_module.DisplayHandle()
        self._shown = self._key(state)
        self._handle.display(self._bundle(state), raw=True)

    def __call__(self, state: Shown) -> None:
        """Show `state`. Nothing is rendered or sent if the card would be the same: rendering holds the interpreter, and
        an update closes the parts that the user has opened.
        """
        key = self._key(state)
        if key != self._shown:
            self._shown = key
            self._handle.update(self._bundle(state), raw=True)

    def _key(self, state: Shown) -> tuple[Shown, bool]:
        return state.still, self._has_page()

    def _bundle(self, state: Shown) -> dict[str, Any]:
        return card_bundle(state, self._started, for_page=self._has_page())
