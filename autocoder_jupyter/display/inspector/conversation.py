"""The section *Conversation*: every exchange with the model, with cost, latency and full text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from autocoder_jupyter.contracts.applying import sources_of
from autocoder_jupyter.display import folds, parts
from autocoder_jupyter.display.inspector.evidence import source
from autocoder_jupyter.display.inspector.form import variable_name
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import STOPPED
from autocoder_jupyter.types.records import STAGES
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import amount, counted, dollars, duration
from autocoder_jupyter.view.document import Block, Fold, Items, Row, Source, Span, Table, drawn, line, lines, muted
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Subject
    from autocoder_jupyter.types import Exchange, Report, ToolClass, ToolUse, Trace, Usage
    from autocoder_jupyter.types.records import Bar, ColumnOverview, Overview


@dataclass(frozen=True)
class ConversationBounds:
    """How much of a conversation is shown.

    Args:
        message: characters of one message or answer.
        exchanges: the number of exchanges with their text, the last ones.
    """

    message: int
    exchanges: int


SAVED = ConversationBounds(message=1_000, exchanges=12)
"""In the static form, which is saved with the notebook."""

BRIEF = ConversationBounds(message=200, exchanges=6)
"""In the static form, if other sections are long."""

_NUMERIC = (True, False, False, True, True, True, True, True, False)

FACTS_ONLY = ConversationBounds(message=0, exchanges=0)

LIVE = ConversationBounds(message=60_000, exchanges=60)


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


# Small histograms of a column as HTML boxes, without scripts, images or external resources.
#
# Each box contains a block character, so the histogram is visible where styles are removed.


_BLOCKS = "▁▂▃▄▅▆▇█"
_HEIGHT = 30
"""Height of a histogram in pixels, as in `styles.css`."""


def drawing(column: ColumnOverview, *, counts: bool) -> Html:
    """The histogram of a column; empty if it has no bars."""
    if not column.bars:
        return EMPTY
    if column.drawing == "ranking":
        return _ranking(column.bars)
    return _histogram(column, counts=counts)


def _histogram(column: ColumnOverview, *, counts: bool) -> Html:
    most = max(bar.count for bar in column.bars) or 1
    boxes = (_box(bar, most, counts=counts) for bar in column.bars)
    ends = column.bars[0].label, column.bars[-1].label
    label = f"histogram of the values between {ends[0].split(' – ')[0]} and {ends[1].split(' – ')[-1]}"
    return element("span", *boxes, role="img", aria_label=label, look="histogram")


def _box(bar: Bar, most: int, *, counts: bool) -> Html:
    height = max(round(_HEIGHT * bar.count / most), 1 if bar.count else 0)
    block = _BLOCKS[min(len(_BLOCKS) * bar.count // (most + 1), len(_BLOCKS) - 1)] if bar.count else " "
    label = f"{bar.label}: {bar.count:,}" if counts else bar.label
    return element("span", escape(block), title=label, look="bar", style=f"height:{height}px")


def _ranking(bars: tuple[Bar, ...]) -> Html:
    most = max(bar.count for bar in bars) or 1
    return join(*(_line(bar, most) for bar in bars))


def _line(bar: Bar, most: int) -> Html:
    width = max(round(64 * bar.count / most), 1)
    shown = (
        element("span", escape(bar.label or "(empty)"), look="rank-name", title=bar.label),
        element("span", look="rank-bar", style=f"width:{width}px"),
        markup.muted(f"{bar.count:,}"),
    )
    return element("div", join(*shown, between=" "), look="rank")


# The table that describes a sample, one row per column.


_HEADINGS = ("column", "dtype", "missing", "distinct", "facts", "values")
_COUNTS = (2, 3)
"""The columns that are aligned right."""


def profiles(overviews: Mapping[str, Overview], *, counts: bool, drawings: bool = True) -> Html:
    """Every sample with its columns."""
    return join(*(profile(name, overview, counts=counts, drawings=drawings) for name, overview in overviews.items()))


def profile(name: str, overview: Overview, *, counts: bool, drawings: bool = True) -> Html:
    """One sample."""
    about = markup.muted(f"{overview.kind} · {overview.summary}")
    head = element("div", join(element("strong", escape(name)), about, between=" "))
    return element("div", head, _table(overview, counts, drawings), look="below-rows")


def _table(overview: Overview, counts: bool, drawings: bool) -> Html:
    if not overview.columns:
        return EMPTY
    has_facts = any(column.facts or column.bars or column.missing is not None for column in overview.columns)
    headings = _HEADINGS[: 2 if not has_facts else None if drawings else -1]
    lines = [_row("th", [escape(heading) for heading in headings])]
    lines += [_row("td", _cells(column, counts=counts)[: len(headings)]) for column in overview.columns]
    notes = [f"and {overview.more_columns:,} more columns"] if overview.more_columns else []
    if has_facts and overview.looked_at < overview.rows:
        notes.append(f"histograms and distinct values are from {overview.looked_at:,} rows of the table")
    below = markup.muted_line("; ".join(notes)) if notes else EMPTY
    return join(markup.scrolled(element("table", *lines, look="text table")), below)


def _cells(column: ColumnOverview, *, counts: bool) -> list[Html]:
    at_least = "" if column.distinct_exact or not column.distinct else "+"
    return [
        markup.inline_code(column.name),
        markup.muted(column.dtype),
        _count(column.missing),
        join(_count(column.distinct), escape(at_least)),
        join(*(_fact(label, text) for label, text in column.facts)),
        drawing(column, counts=counts),
    ]


def _count(count: int | None) -> Html:
    return markup.muted("?") if count is None else escape(f"{count:,}") if count else markup.muted("0")


def _fact(label: str, text: str) -> Html:
    if not label:
        return markup.muted_line(text)
    named = element("span", escape(label), look="fact-label")
    return element("div", join(named, escape(text), between=" "))


def _row(tag: Literal["th", "td"], cells: list[Html]) -> Html:
    # The border is a style of the row: as a style of each cell it would be most of the HTML.
    looks = (
        f"profile-cell{' right' if place in _COUNTS else ''}{' muted' if tag == 'th' else ''}"
        for place in range(len(cells))
    )
    shown = (element(tag, cell, look=look) for cell, look in zip(cells, looks, strict=True))
    return element("tr", *shown, look="profile-row")


# The section *Data*: the exact text that was sent to the model, and schema and profile of each sample.


SHARES = {
    "rows": "a profile and a few sample rows, private values masked",
    "stats": "a profile, without rows and without single texts",
    "schema": "names, dtypes and sizes only",
}

SCHEMA_CHARACTERS = 6_000
"""Characters of a schema in the static form."""


def data_section(subject: Subject, overviews: Mapping[str, Overview], *, words: bool = True) -> tuple[Block, ...]:
    """The section as it may be saved: only data that the model was allowed to see."""
    if not words:
        return (*sent_blocks(subject, words=False), *drawn(profiles(overviews, counts=False, drawings=False)))
    schemas = {} if subject.share == "schema" else _sources(subject.report)
    shown = {name: _cut(code, name, subject.report.name) for name, code in schemas.items()}
    return (*sent_blocks(subject), *drawn(profiles(overviews, counts=False)), *_schemas(shown, coloured=False))


def data_tab(subject: Subject) -> tuple[Block, ...]:
    """The tab without the samples; it is shown to the user and not saved."""
    return (*sent_blocks(subject), *_schemas(_sources(subject.report)))


def sent_blocks(subject: Subject, *, words: bool = True) -> tuple[Block, ...]:
    """The text about the data that was sent to the model, and facts about it; without `words`, only the facts."""
    text = str(subject.sent.get("text") or subject.report.data_context or "")
    if not text:
        return lines(["Nothing about data was sent to the model."])
    content = Source(text) if words else muted(f"%autocode preview {subject.report.name} shows it.")
    return Row("Sent", lines(_data_facts(subject, text))), Fold("Exactly what was sent", (content,))


def _data_facts(subject: Subject, text: str) -> Iterator[str]:
    sent = subject.sent
    share = str(sent.get("share", ""))
    yield f"{len(text):,} characters" + (f", share={share}: {SHARES.get(share, '')}" if "share" in sent else "")
    if masked := sent.get("masked") or {}:
        yield f"Masked: {', '.join(counted(count, str(kind)) for kind, count in masked.items())}"
    for name, left_out in (sent.get("left_out") or {}).items():
        yield f"Left out of {name}: {', '.join(map(str, left_out))}"
    yield _requests(subject)


def _requests(subject: Subject) -> str:
    """The number of requests to the model, and the file with all of them."""
    report = subject.report
    exchanges = report.conversation_history
    if exchanges and all(exchange.replayed for exchange in exchanges):
        return "This run sent nothing: every answer came from the journal."
    requests = subject.sent.get("requests")
    if not isinstance(requests, list) or not requests:
        return ""
    where = f"sent.json of version {report.run_id}, in .autocode/{report.name}/versions"
    return f"{counted(len(requests), 'request')} to the model, all are in {where}"


def _sources(report: Report) -> Mapping[str, str]:
    """The source of the schemas; empty if their record, which is untrusted, cannot be read."""
    try:
        return sources_of(report) or {}
    except InvalidRequest:
        return {}


def _schemas(schemas: Mapping[str, str], *, coloured: bool = True) -> tuple[Block, ...]:
    return tuple(
        Fold(f"Schema of {name}", (source(code, f"{name}_schema.py", coloured=coloured),))
        for name, code in schemas.items()
    )


def _cut(code: str, name: str, result: str) -> str:
    if len(code) <= SCHEMA_CHARACTERS:
        return code
    more = len(code) - SCHEMA_CHARACTERS
    whole = f"{variable_name(result)}.generated_schemas[{name!r}]"
    return f"{code[:SCHEMA_CHARACTERS]}\n# … {more:,} more characters: {whole}"


# The section *Trace*: every tool call of an agent in order, with its class, outcome and result.


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

TRACE_FACTS_ONLY = TraceBounds(calls=0, characters=0)

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
        *parts.warnings(report.evidence, report.trace),
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
