"""The section *Sent*: the exact text that was sent to the model, and schema and profile of each sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from autocoder_jupyter.contracts.sample_schema import sources_of
from autocoder_jupyter.display.calls import variable_name
from autocoder_jupyter.display.parts import source_block
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.document import Block, Fold, Row, Source, drawn, lines, muted
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Subject
    from autocoder_jupyter.types import Report
    from autocoder_jupyter.types.records import Bar, ColumnOverview, Overview


# Histograms
#
# They are HTML boxes without scripts, images or external resources. Each box contains a block character, so the
# histogram is visible where styles are removed.

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


# Profiles

_HEADINGS = ("column", "dtype", "missing", "distinct", "facts", "values")
_COUNTS = (2, 3)
"""The columns that are aligned right."""


def profiles(overviews: Mapping[str, Overview], *, counts: bool, drawings: bool = True) -> Html:
    """Every sample as a table with a row for each column."""
    return join(*(profile(name, overview, counts=counts, drawings=drawings) for name, overview in overviews.items()))


def profile(name: str, overview: Overview, *, counts: bool, drawings: bool = True) -> Html:
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


# The section

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
    content = Source(text) if words else muted(f"%autocode show {subject.report.name} --sent shows it.")
    probes = "\n\n".join(f">>> {probe}\n{told}" for probe, told in _probes(subject)) if words else ""
    folds = (
        Fold("Exactly what was sent", (content,)),
        *([Fold("What the model looked up", (Source(probes),))] if probes else []),
    )
    return Row("Sent", lines(_sent_facts(subject, text))), *folds


def _sent_facts(subject: Subject, text: str) -> Iterator[str]:
    sent = subject.sent
    share = str(sent.get("share", ""))
    yield f"{len(text):,} characters" + (f", share={share}: {SHARES.get(share, '')}" if "share" in sent else "")
    if masked := sent.get("masked") or {}:
        yield f"Masked: {', '.join(counted(count, str(kind)) for kind, count in masked.items())}"
    for name, left_out in (sent.get("left_out") or {}).items():
        yield f"Left out of {name}: {', '.join(map(str, left_out))}"
    if probes := _probes(subject):
        yield f"{counted(len(probes), 'expression')} of the model, and what each gives on this data"
    yield _requests(subject)


def _probes(subject: Subject) -> list[tuple[str, str]]:
    return list(subject.sent.get("probes") or [])


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
        Fold(f"Schema of {name}", (source_block(code, f"{name}_schema.py", coloured=coloured),))
        for name, code in schemas.items()
    )


def _cut(code: str, name: str, result: str) -> str:
    if len(code) <= SCHEMA_CHARACTERS:
        return code
    more = len(code) - SCHEMA_CHARACTERS
    whole = f"{variable_name(result)}.generated_schemas[{name!r}]"
    return f"{code[:SCHEMA_CHARACTERS]}\n# … {more:,} more characters: {whole}"
