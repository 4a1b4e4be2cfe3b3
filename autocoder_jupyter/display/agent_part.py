"""The row *Agent* of the card: the newest tool calls while the agent works, a summary at the end."""

from __future__ import annotations

from collections.abc import Iterator

from autocoder_jupyter.display import tool_calls
from autocoder_jupyter.display.state import CardState
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.html import EMPTY, Html, join

NEWEST = 5
"""Calls in the row while the agent works; earlier calls are in a collapsible part."""

MOST_FOLDED = 60


def agent_html(state: CardState) -> Html:
    """The content of the row; "" without an agent, or before its first turn."""
    agent = state.agent
    if agent is None or not agent.trace.turns:
        return EMPTY
    if state.finished:
        return _summary_html(state)
    newest, earlier = agent.trace.calls[-NEWEST:], len(agent.trace.calls) - NEWEST
    listed = tool_calls.calls_html(newest, (use for _, use in agent.under_way)) or markup.muted("no tool call yet")
    return join(_before(earlier, ", see Tool calls below"), listed)


def folded_calls(state: CardState, most: int = MOST_FOLDED) -> Html:
    """The calls in order, at most the newest `most`; while the agent works, without those in the row."""
    calls = state.trace.calls if state.trace else ()
    shown = calls if state.finished else calls[:-NEWEST]
    return join(_before(len(shown) - most), tool_calls.calls_html(shown[-most:]))


def _before(count: int, where: str = "") -> Html:
    return markup.muted_line(f"{counted(count, 'earlier call')}{where}") if count > 0 else EMPTY


def agent_lines(state: CardState) -> Iterator[str]:
    """The summary of the calls as text, after the end."""
    if not state.finished or state.trace is None or not state.trace.turns:
        return
    calls, *rest = _summary(state)
    yield f"agent: {calls}"
    yield from rest
    yield from (tool_calls.call_line(call) for call in tool_calls.denied(state.trace.calls))


def _summary_html(state: CardState) -> Html:
    assert state.trace is not None
    denied = tool_calls.calls_html(tool_calls.denied(state.trace.calls))
    return join(markup.text_lines(_summary(state)), denied)


def _summary(state: CardState) -> Iterator[str]:
    """The calls by tool and class; the packages that the code needs, and the image of the sandbox."""
    assert state.trace is not None
    yield tool_calls.distribution(state.trace.calls)
    if state.environment:
        packages = ", ".join(state.packages) or "only the preinstalled ones"
        yield f"packages: {markup.clipped(packages)}; image: {state.environment}"
