"""What is shown of a run of either kind; the type of the state selects its view."""

from __future__ import annotations

from collections.abc import Hashable

from autocoder_jupyter.display import card, pane, tool_calls
from autocoder_jupyter.display.codemode import card as code_card
from autocoder_jupyter.display.codemode import strip as code_strip
from autocoder_jupyter.display.sample_outputs import picture_blocks
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.view import as_html, as_text
from autocoder_jupyter.view.amounts import clock
from autocoder_jupyter.view.document import Document
from autocoder_jupyter.view.markup import EMPTY, Html, element

Shown = FunctionRun | CodeRun

MAX_CHARACTERS = 19_400
"""Characters of HTML; a card stays under 20 KB in a saved notebook."""


def document_of(state: Shown) -> Document:
    """The document of a run."""
    return code_card.card(state) if isinstance(state, CodeRun) else card.card(state)


def title(state: Shown) -> str:
    """The state in a few words."""
    return code_card.title(state) if isinstance(state, CodeRun) else card.title(state)


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
    return {str(number): tool_calls.call_line(call) for number, call in enumerate(calls)}


def current_step(state: Shown) -> Hashable:
    """Identifies the step of a run; it changes when a terminal should print a new line."""
    if isinstance(state, CodeRun):
        return state.phase, state.turn, len(state.blocks)
    return state.phase, state.stage, state.attempt


def strip_html(state: Shown) -> Html:
    """The live part below the card."""
    return code_strip.render_html(state) if isinstance(state, CodeRun) else pane.render_html(state)


def pictures_html(state: Shown) -> Html:
    """The pictures of the outputs of a run under way, whose card has only their words; empty if there are none."""
    blocks = () if isinstance(state, CodeRun) else picture_blocks(state.outputs)
    return element("div", as_html.blocks_html(blocks), look="text spaced within") if blocks else EMPTY


def is_unverified(state: Shown) -> bool:
    """Whether the outputs are of code that has not passed its tests."""
    return isinstance(state, FunctionRun) and state.outputs is not None and not state.outputs.is_verified
