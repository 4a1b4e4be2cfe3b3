"""The section *Data*: the exact text that was sent to the model, and schema and profile of each sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from autocoder_jupyter.contracts.applying import sources_of
from autocoder_jupyter.display.inspector.call_code import variable_name
from autocoder_jupyter.display.inspector.profile import profiles
from autocoder_jupyter.display.inspector.source import source
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.document import Block, Fold, Row, Source, drawn, lines, muted

if TYPE_CHECKING:
    from autocoder_jupyter.display.inspector.subject import Subject
    from autocoder_jupyter.types import Report
    from autocoder_jupyter.types.records import Overview

SHARES = {
    "rows": "a profile and a few sample rows, private values masked",
    "stats": "a profile, without rows and without single texts",
    "schema": "names, dtypes and sizes only",
}

SCHEMA_CHARACTERS = 6_000
"""Characters of a schema in the static form."""


def data_section(subject: Subject, overviews: Mapping[str, Overview], *, words: bool = True) -> tuple[Block, ...]:
    """The section as it may be saved: only data that the model was allowed to see.

    Args:
        subject: the result.
        overviews: of the samples, as far as the share of the request allows.
        words: whether to include the sent text, the schemas and the histograms.
    """
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
    return Row("Sent", lines(_facts(subject, text))), Fold("Exactly what was sent", (content,))


def _facts(subject: Subject, text: str) -> Iterator[str]:
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
