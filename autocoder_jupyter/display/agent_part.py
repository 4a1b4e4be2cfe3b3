"""What a card shows of an agent: the newest tool calls while the agent works, a summary at the end."""

from __future__ import annotations

from collections.abc import Iterator

from autocoder_jupyter.display import tool_calls
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import Trace
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.document import Block, lines, muted
from autocoder_jupyter.view.markup import clipped

NEWEST = 5
"""Calls in the row while the agent works; earlier calls are in a collapsible part."""

MOST_FOLDED = 60


def agent_blocks(state: FunctionRun) -> tuple[Block, ...]:
    """The content of the row; nothing without an agent, or before its first turn."""
    agent = state.agent
    if agent is None or not agent.trace.turns:
        return ()
    calls = agent.trace.calls
    if state.finished:
        return (*lines(_summary(state, agent.trace)), *tool_calls.calls_block(tool_calls.denied(calls)))
    listed = tool_calls.calls_block(calls[-NEWEST:], (use for _, use in agent.under_way))
    return (*_before(len(calls) - NEWEST, ", see Tool calls below"), *(listed or (muted("no tool call yet"),)))


def folded_calls(state: FunctionRun, most: int = MOST_FOLDED) -> tuple[Block, ...]:
    """The calls in order, at most the newest `most`; while the agent works, without those in the row."""
    calls = state.trace.calls if state.trace else ()
    shown = calls if state.finished else calls[:-NEWEST]
    return (*_before(len(shown) - most), *tool_calls.calls_block(shown[-most:]))


def _before(count: int, where: str = "") -> tuple[Block, ...]:
    return (muted(f"{counted(count, 'earlier call')}{where}"),) if count > 0 else ()


def _summary(state: FunctionRun, trace: Trace) -> Iterator[str]:
    """The calls by tool and class; the packages that the code needs, and the image of the sandbox."""
    yield tool_calls.distribution(trace.calls)
    if state.environment:
        packages = ", ".join(state.packages) or "only the preinstalled ones"
        yield f"packages: {clipped(packages)}; image: {state.environment}"
