"""Parts of the section *History*: the exchanges with the model, and the tool calls of an agent."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display import folds
from autocoder_jupyter.types import STOPPED
from autocoder_jupyter.types.records import STAGES
from autocoder_jupyter.view.amounts import amount, counted, dollars, duration
from autocoder_jupyter.view.document import Block, Fold, Items, Row, Source, Span, Table, line, lines, muted

if TYPE_CHECKING:
    from autocoder_jupyter.types import Exchange, Report, ToolClass, ToolUse, Trace, Usage


# Conversation


@dataclass(frozen=True)
class ConversationBounds:
    """How much of a conversation is shown.

    Args:
        message: characters of one message or answer.
        exchanges: the number of exchanges with their text, the last ones.
    """

    message: int
    exchanges: int


CONVERSATION_SAVED = ConversationBounds(message=1_000, exchanges=12)
"""In the static form, which is saved with the notebook."""

CONVERSATION_BRIEF = ConversationBounds(message=200, exchanges=6)
"""In the static form, if other sections are long."""

_NUMERIC = (True, False, False, True, True, True, True, True, False)

CONVERSATION_FACTS = ConversationBounds(message=0, exchanges=0)

CONVERSATION_LIVE = ConversationBounds(message=60_000, exchanges=60)


def conversation_section(report: Report, bounds: ConversationBounds) -> tuple[Block, ...]:
    """The section: a table of the exchanges with a total, then their text in collapsible parts."""
    exchanges = report.conversation_history
    if not exchanges:
        text = "The model was not asked." if not report.usage.input_tokens else "The messages are only in the journal."
        return (line(text, Span(_where(report) if report.usage.input_tokens else "", "muted")),)
    headings = ("", "stage", "model", "in", "cached", "out", "cost", "latency", "")
    rows = [_facts(number, exchange) for number, exchange in enumerate(exchanges, 1)]
    if report.second_opinion is not None:
        own = [exchange for exchange in exchanges if exchange.stage == "second"]
        rows.append(_total("second opinion only", report.second_opinion.usage, own))
    rows.append(_total("total", report.usage, exchanges))
    first = max(len(exchanges) - bounds.exchanges, 0)
    left_out = f"The messages of the first {first} are not shown here. {_where(report)}"
    return (
        Table(headings, tuple(rows), _NUMERIC, "exchanges"),
        *lines([left_out] if first else [], "muted"),
        *(_words(number, exchange, bounds, report) for number, exchange in enumerate(exchanges[first:], first + 1)),
    )


def _total(words: str, usage: Usage, exchanges: Sequence[Exchange]) -> tuple[str, ...]:
    return (
        "",
        words,
        "",
        amount(usage.input_tokens),
        amount(usage.cached_tokens),
        amount(usage.output_tokens),
        _cost(usage.cost),
        duration(sum(exchange.seconds for exchange in exchanges)),
        "",
    )


def _facts(number: int, exchange: Exchange) -> tuple[str, ...]:
    usage = exchange.usage
    return (
        str(number),
        _stage(exchange),
        exchange.model,
        amount(usage.input_tokens),
        amount(usage.cached_tokens),
        amount(usage.output_tokens),
        _cost(usage.cost),
        duration(exchange.seconds),
        _how(exchange),
    )


def _how(exchange: Exchange) -> str:
    if exchange.finish_reason == STOPPED:
        return "stopped in an earlier run" if exchange.replayed else "stopped, tokens estimated"
    return "replayed" if exchange.replayed else ""


def _words(number: int, exchange: Exchange, bounds: ConversationBounds, report: Report) -> Fold:
    ended = "" if exchange.finish_reason == "stop" else f" (ended by {exchange.finish_reason})"
    texts = [(message.get("role", ""), _content(message)) for message in exchange.messages]
    texts.append((f"answer{ended}", exchange.answer))
    shown = [block for role, text in texts for block in (muted(role), *_text(text, bounds, report))]
    return Fold(f"{number} · {_stage(exchange)}", tuple(shown))


def _text(text: str, bounds: ConversationBounds, report: Report) -> tuple[Block, ...]:
    if len(text) <= bounds.message:
        return (Source(text),)
    more = f"… {len(text) - bounds.message:,} more characters. {_where(report)}"
    return Source(text[: bounds.message]), muted(more)


def _where(report: Report) -> str:
    return f"Full text: {report.name}.conversation_history, or journal.jsonl of version {report.run_id}."


def _stage(exchange: Exchange) -> str:
    return next((record.label for stage, record in STAGES.items() if stage == exchange.stage), exchange.stage)


def _cost(cost: float | None) -> str:
    return "unknown" if cost is None else dollars(cost)


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):  # in parts, as some providers want it for caching
        return "\n".join(str(part.get("text", part)) if isinstance(part, Mapping) else str(part) for part in content)
    return "" if content is None else str(content)


# Trace


@dataclass(frozen=True)
class TraceBounds:
    """How much of a trace is shown.

    Args:
        calls: the number of calls, the last ones.
        characters: characters of an argument and of a result.
    """

    calls: int
    characters: int


TRACE_SAVED = TraceBounds(calls=100, characters=300)
"""In the static form, which is saved with the notebook."""

TRACE_BRIEF = TraceBounds(calls=20, characters=0)
"""In the static form, if other sections are long."""

TRACE_FACTS = TraceBounds(calls=0, characters=0)

TRACE_LIVE = TraceBounds(calls=1_000, characters=8_000)


def trace_section(report: Report, bounds: TraceBounds, kind: ToolClass | None = None) -> tuple[Block, ...]:
    """The section; nothing without an agent."""
    if report.trace is None:
        return ()
    calls = [call for call in report.trace.calls if kind in (None, call.kind)]
    left_out = len(calls) - bounds.calls
    where = f"{counted(left_out, 'earlier call')}: see {report.name}.trace.calls."
    return (
        *lines(_summary(report.trace)),
        *lines([where] if left_out > 0 else [], "muted"),
        *_by_turn(calls[max(left_out, 0) :], bounds),
    )


def trace_lines(report: Report) -> Iterator[str]:
    """The same for a terminal, without the results of the calls."""
    if report.trace is None:
        return
    yield from _summary(report.trace)
    for number, call in enumerate(report.trace.calls, 1):
        yield f"{number:>3}  turn {call.turn}  {folds.call_line(call)}"


def _summary(trace: Trace) -> tuple[str, str]:
    took = f"The agent took {folds.turns(trace, finished=True) or 'no turn'}."
    return took, folds.distribution(trace.calls)


def _by_turn(calls: list[ToolUse], bounds: TraceBounds) -> Iterator[Block]:
    """The calls as a list for each turn."""
    for turn, made in itertools.groupby(calls, key=lambda call: call.turn):
        items = tuple(folds.call_item(call, _details(call, bounds.characters)) for call in made)
        yield Row("", (muted(f"Turn {turn}"), Items(items, f"Calls of turn {turn}")))


def _details(call: ToolUse, most: int) -> tuple[Block, ...]:
    """The collapsible parts below a call: the whole argument, if it is longer than a line, and the result."""
    if not most:
        return ()
    whole = "" if call.argument.strip() == folds.argument(call) else call.argument
    texts = {"Whole argument": whole, "Result": call.observed}
    return tuple(Fold(title, (Source(_bounded(text, most)),)) for title, text in texts.items() if text)


def _bounded(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} more characters"
