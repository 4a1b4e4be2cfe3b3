"""What the model is told about a database beside its samples: how to query it, keys, comments and the other tables."""

from __future__ import annotations

from collections.abc import Iterator

from autocoder_jupyter.data.rendering import neutral
from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.types import DatabaseTable, SampledDatabase

MOST_CHARACTERS = 6_000
"""Most characters of what a catalogue says. Lines that do not fit are left out, and that is said."""

_LONGEST_LINE = 400


def database_text(database: SampledDatabase, withheld: WithheldColumns, masker: Masker) -> str:
    """The rules for queries, and the catalogue of one database. Its texts were written by others."""
    head = prompt("shared.database", database=database.name, tables=", ".join(database.tables))
    lines, left, left_out = list[str](), MOST_CHARACTERS, 0
    for line in _lines(database, withheld):
        shown = neutral(masker.mask(line, bare_numbers=False))[:_LONGEST_LINE]
        left -= len(shown)
        if left < 0:
            left_out += 1
        else:
            lines.append(shown)
    if left_out:
        lines.append(f"left out for length: {left_out} lines")
    return "\n".join([head, f'<data name="catalogue of {database.name}">', *lines, "</data>"])


def _lines(database: SampledDatabase, withheld: WithheldColumns) -> Iterator[str]:
    yield f"engine: {database.dialect}"
    for name, table in database.tables.items():
        yield from _of_table(name, table, withheld)
    if database.others:
        yield f"other tables, which are not passed and cannot be queried: {', '.join(database.others)}"


def _of_table(name: str, table: DatabaseTable, withheld: WithheldColumns) -> Iterator[str]:
    rows = "" if table.rows is None else f"{table.rows:,} rows"
    yield ", ".join(filter(None, (f"table {name}", rows, _without(table.comment, withheld))))
    yield from (f"  {key}" for key in table.keys if _without(key, withheld))
    for column in table.columns:
        withheld_here = column.name in withheld.hidden or column.name in withheld.masked
        if not withheld_here and (comment := _without(column.comment, withheld)):
            yield f"  {column.name}: {comment}"


def _without(text: str, withheld: WithheldColumns) -> str:
    """The text; "" if it names a hidden column, in any case: SQL does not distinguish it."""
    return "" if any(name.casefold() in text.casefold() for name in withheld.hidden) else text
