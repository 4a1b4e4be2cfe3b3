"""Outputs by mime type. Our lab extension renders two types of its own; other front ends use the standard types.

An output can be older than the run that it shows: a page is reloaded, a notebook is saved while a job runs, a kernel
ends. So a card names its run and its progress, and our page can then show what became of the run.
"""

from __future__ import annotations

from typing import Any, Literal

from autocoder_jupyter.display.shown import Shown, card_html, card_text
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.view.markup import html_output

FOLLOWED = "application/vnd.autocoder-jupyter.followed+json"
"""An output that our lab extension keeps up to date: the run and the progress shown."""

OUR_WIDGET = "application/vnd.autocoder-jupyter.widget+json"
"""A widget that our lab extension shows while its model exists; otherwise it shows the HTML of the same output."""

WIDGET = "application/vnd.jupyter.widget-view+json"


def card_bundle(state: Shown, started: float, *, for_page: bool) -> dict[str, Any]:
    """A card.

    Args:
        state: the state to show.
        started: start of the run in seconds since 1970; name and start identify a run of a kernel.
        for_page: whether our lab extension is present.
    """
    own = _followed("card", state.name, started, step(state), finished=state.finished and not _goes_on(state))
    return {**(own if for_page else {}), **html_output(card_html(state), card_text(state))}


def pending_result(name: str, started: float) -> dict[str, Any]:
    """The data that our lab extension needs to replace an output by the result when the run has ended.

    Args:
        name: the name of the result.
        started: start of the run in seconds since 1970.
    """
    return _followed("result", name, started)


def _followed(
    shows: Literal["card", "result"], name: str, started: float, step: str = "", *, finished: bool = False
) -> dict[str, Any]:
    return {FOLLOWED: {"shows": shows, "name": name, "started": started, "step": step, "finished": finished}}


def widget_bundle(model_id: str, *, for_page: bool) -> dict[str, Any]:
    """A widget, without the HTML that replaces it later.

    Args:
        model_id: the model id of the widget.
        for_page: whether our lab extension is present.
    """
    if for_page:
        return {OUR_WIDGET: {"model_id": model_id}}
    return {WIDGET: {"version_major": 2, "version_minor": 0, "model_id": model_id}}


def step(state: Shown) -> str:
    """The progress of a run as a key: the cards of two states with the same key look the same."""
    if isinstance(state, CodeRun):
        return _code_step(state)
    last = f"{state.log[-1].at:.3f}" if state.log else ""
    there = (state.plan is not None, state.evidence is not None, bool(state.sent))
    counts = (len(state.log), len(state.outcomes), state.test_count, len(state.solution), len(state.tests))
    agent = (len(state.agent.trace.calls), len(state.agent.under_way), state.agent.trace.turns) if state.agent else ()
    tokens = (state.usage.input_tokens, state.usage.output_tokens)
    splits = (len(state.splits.found), state.splits.doing, state.splits.failed)
    return " ".join(
        map(str, (state.phase, state.stage, state.attempt, last, *there, *counts, *agent, *tokens, *splits))
    )


def _goes_on(state: Shown) -> bool:
    """Whether something is found out about a run that has ended."""
    return isinstance(state, FunctionRun) and bool(state.splits.doing)


def _code_step(state: CodeRun) -> str:
    decided = tuple((call.outcome, call.waits) for call in state.calls)
    blocks = tuple(block.ok for block in state.blocks)
    key = (state.phase, state.turn, blocks, decided, state.fault, state.loading, len(state.summary), bool(state.sent))
    return " ".join(map(str, (*key, state.usage.input_tokens, state.usage.output_tokens)))
