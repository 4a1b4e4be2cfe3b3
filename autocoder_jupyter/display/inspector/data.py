"""The section *Data*: the exact text that was sent to the model, and schema and profile of each sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from autocoder_jupyter.contracts.of_report import sources_of
from autocoder_jupyter.display.inspector.call_code import variable_name
from autocoder_jupyter.display.inspector.profile import profiles
from autocoder_jupyter.display.inspector.source import source_block
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.html import Html, join

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Subject
    from autocoder_jupyter.types import Report
    from autocoder_jupyter.types.overview import Overview

SHARES = {
    "rows": "a profile and a few sample rows, private values masked",
    "stats": "a profile, without rows and without single texts",
    "schema": "names, dtypes and sizes only",
}

SCHEMA_CHARACTERS = 6_000
"""Characters of a schema in the static form."""


def data_section(subject: Subject, overviews: Mapping[str, Overview], *, words: bool = True) -> Html:
    """The section as it may be saved: only data that the model was allowed to see.

    Args:
        subject: the result.
        overviews: of the samples, as far as the share of the request allows.
        words: whether to include the sent text, the schemas and the histograms.
    """
    if not words:
        return join(sent_html(subject, words=False), profiles(overviews, counts=False, drawings=False))
    schemas = {} if subject.share == "schema" else _sources(subject.report)
    shown = {name: _cut(source, name, subject.report.name) for name, source in schemas.items()}
    return join(sent_html(subject), profiles(overviews, counts=False), _schemas(shown, coloured=False))


def data_tab(subject: Subject) -> Html:
    """The tab without the samples; it is shown to the user and not saved."""
    return join(sent_html(subject), _schemas(_sources(subject.report)))


def sent_html(subject: Subject, *, words: bool = True) -> Html:
    """The text about the data that was sent to the model, and facts about it; without `words`, only the facts."""
    text = str(subject.sent.get("text") or subject.report.data_context or "")
    if not text:
        return markup.text_lines(["Nothing about data was sent to the model."])
    content = markup.code(text) if words else markup.muted(f"%autocode preview {subject.report.name} shows it.")
    return join(markup.row("Sent", _facts(subject, text)), markup.details("Exactly what was sent", content))


def _facts(subject: Subject, text: str) -> Html:
    sent = subject.sent
    lines = [f"{len(text):,} characters"]
    if "share" in sent:
        share = str(sent["share"])
        lines[0] += f", share={share}: {SHARES.get(share, '')}"
    masked = sent.get("masked") or {}
    if masked:
        lines.append(f"Masked: {', '.join(counted(count, str(kind)) for kind, count in masked.items())}")
    lines += [
        f"Left out of {name}: {', '.join(map(str, parts))}" for name, parts in (sent.get("left_out") or {}).items()
    ]
    lines.append(_requests(subject))
    return markup.text_lines(filter(None, lines))


def _requests(subject: Subject) -> str:
    """The number of requests to the model, and the file with all of them."""
    report = subject.report
    exchanges = report.conversation_history
    if exchanges and all(exchange.replayed for exchange in exchanges):
        return "This run sent nothing: every answer came from the journal."
    requests = subject.sent.get("requests")
    if not isinstance(requests, list) or not requests:
        return ""
    where = f".autocode/{report.name}/{report.run_id}/sent.json"
    return f"{counted(len(requests), 'request')} to the model, all are in {where}"


def _sources(report: Report) -> Mapping[str, str]:
    """The source of the schemas; empty if their record, which is untrusted, cannot be read."""
    try:
        return sources_of(report) or {}
    except InvalidRequest:
        return {}


def _schemas(schemas: Mapping[str, str], *, coloured: bool = True) -> Html:
    return join(
        *(
            markup.details(f"Schema of {name}", source_block(source, f"{name}_schema.py", coloured=coloured))
            for name, source in schemas.items()
        )
    )


def _cut(source: str, name: str, result: str) -> str:
    if len(source) <= SCHEMA_CHARACTERS:
        return source
    more = len(source) - SCHEMA_CHARACTERS
    whole = f"{variable_name(result)}.generated_schemas[{name!r}]"
    return f"{source[:SCHEMA_CHARACTERS]}\n# … {more:,} more characters: {whole}"
