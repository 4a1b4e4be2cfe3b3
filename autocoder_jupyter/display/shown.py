"""Cards of both kinds, of a generation and of a run of code mode; the type of the state selects one."""

from __future__ import annotations

from autocoder_jupyter.display import card, pane
from autocoder_jupyter.display.codemode import card as code_card
from autocoder_jupyter.display.codemode import strip as code_strip
from autocoder_jupyter.display.codemode.state import CodeState
from autocoder_jupyter.display.state import CardState
from autocoder_jupyter.view.html import Html

Shown = CardState | CodeState


def card_html(state: Shown) -> Html:
    """The card."""
    return code_card.render_html(state) if isinstance(state, CodeState) else card.render_html(state)


def card_text(state: Shown) -> str:
    """The card in a few lines of text."""
    return code_card.render_text(state) if isinstance(state, CodeState) else card.render_text(state)


def status_line(state: Shown) -> str:
    """The current step in one line of text."""
    return code_card.status_line(state) if isinstance(state, CodeState) else card.status_line(state)


def title(state: Shown) -> str:
    """The state in a few words."""
    return code_card.title(state) if isinstance(state, CodeState) else card.title(state)


def strip_html(state: Shown) -> Html:
    """The live part below the card."""
    return code_strip.render_html(state) if isinstance(state, CodeState) else pane.render_html(state)
