"""What a database contains: tables with their columns, keys, comments and numbers of rows."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from autocoder_jupyter.untrusted.visible import hides, visible

MOST_TABLES = 2_000
MOST_COLUMNS = 1_000
MOST_CHARACTERS = 300
"""Most tables of a catalogue, columns of a table, and characters of a comment."""

_LONGEST_NAME = 128


@dataclass(frozen=True)
class CatalogueColumn:
    """A column of a table.

    Args:
        type: the type of DuckDB that its values have in a result, such as `DECIMAL(10,2)`; "" if they cannot be read.
        native: the type as the database calls it.
        is_cast: whether the database itself has to convert the values to that type.
    """

    name: str
    type: str
    nullable: bool = True
    comment: str = ""
    native: str = ""
    is_cast: bool = False


@dataclass(frozen=True)
class ForeignKey:
    """Columns whose values are those of columns of another table."""

    columns: tuple[str, ...]
    schema: str
    table: str
    references: tuple[str, ...]


@dataclass(frozen=True)
class RowCount:
    """The number of rows of a table: counted, or an estimate of the engine."""

    rows: int
    is_exact: bool = False


@dataclass(frozen=True)
class CatalogueTable:
    """A table or a view.

    Args:
        schema: the name of its schema.
        in_default: whether a query finds it by its name alone.
        rows: None if nobody knows without counting, as for a view.
    """

    name: str
    schema: str
    columns: tuple[CatalogueColumn, ...]
    comment: str = ""
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    rows: RowCount | None = None
    is_view: bool = False
    in_default: bool = True

    @property
    def shown(self) -> str:
        """The name by which a query finds it."""
        return self.name if self.in_default else f"{self.schema}.{self.name}"

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from the other tables of its catalogue."""
        return self.schema, self.name


@dataclass(frozen=True)
class Catalogue:
    """The tables of a database, without those of the system.

    Args:
        left_out: the number of tables that are missing, because there are too many or their names hide characters.
    """

    tables: tuple[CatalogueTable, ...]
    left_out: int = 0

    def table(self, schema: str, name: str) -> CatalogueTable | None:
        """The table with these names; without a schema, one of the default schema."""
        for table in self.tables:
            if table.name == name and (table.schema == schema or (not schema and table.in_default)):
                return table
        return None


@dataclass(frozen=True)
class ChosenTables:
    """The tables that a request needs, the most relevant first, and the names of the others."""

    tables: tuple[CatalogueTable, ...]
    others: tuple[str, ...] = ()


@dataclass
class TableDraft:
    """A table while its catalogue is read."""

    name: str
    schema: str
    columns: list[CatalogueColumn] = field(default_factory=list)
    comment: str = ""
    primary_key: tuple[str, ...] = ()
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    rows: RowCount | None = None
    is_view: bool = False
    in_default: bool = True


def bounded(drafts: Sequence[TableDraft]) -> Catalogue:
    """A catalogue of what was read, without names that hide characters, and with short comments."""
    tables: list[CatalogueTable] = []
    for draft in drafts:
        if not _is_plain(draft.name) or not _is_plain(draft.schema) or len(tables) == MOST_TABLES:
            continue
        columns = tuple(
            replace(column, comment=short(column.comment), native=short(column.native))
            for column in draft.columns[:MOST_COLUMNS]
            if _is_plain(column.name)
        )
        names = {column.name for column in columns}
        keys = tuple(key for key in draft.foreign_keys if names.issuperset(key.columns) and _is_plain(key.table))
        tables.append(
            CatalogueTable(
                name=draft.name,
                schema=draft.schema,
                columns=columns,
                comment=short(draft.comment),
                primary_key=draft.primary_key if names.issuperset(draft.primary_key) else (),
                foreign_keys=keys,
                rows=draft.rows,
                is_view=draft.is_view,
                in_default=draft.in_default,
            )
        )
    tables.sort(key=lambda table: (not table.in_default, table.key))
    return Catalogue(tuple(tables), left_out=len(drafts) - len(tables))


def short(text: str | None) -> str:
    """A comment in one line, with its hidden characters escaped."""
    shown = visible((text or "")[: 2 * MOST_CHARACTERS].strip())
    return shown if len(shown) <= MOST_CHARACTERS else f"{shown[: MOST_CHARACTERS - 1]}…"


def _is_plain(name: str) -> bool:
    return bool(name) and len(name) <= _LONGEST_NAME and not hides(name)


# The tables that a request names

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])")
_OWN_NAME, _OWN_COLUMN, _OWN_COMMENT = 6.0, 2.0, 1.0
_STOP = frozenset(
    "a an and are as at by data each for from id in is it key name of on or per table the to type with".split()  # noqa: SIM905
)


def chosen(catalogue: Catalogue, words: Iterable[str], *, most: int = 20) -> ChosenTables:
    """The tables that texts name, and their neighbours by foreign keys.

    Args:
        catalogue: all tables.
        words: the request, rules, plan: any texts. A table counts by its name, its columns and comments; a word that
            many tables have counts less.
        most: the most tables. A catalogue that has no more is chosen as a whole.
    """
    if len(catalogue.tables) <= most:
        return ChosenTables(catalogue.tables)
    asked = _words(*words)
    texts = [
        (_words(table.name), _words(*(c.name for c in table.columns)), _words(table.comment, *_comments(table)))
        for table in catalogue.tables
    ]
    spread = Counter(word for parts in texts for word in set().union(*parts))
    scores: dict[tuple[str, str], float] = {}
    for table, (own, columns, comments) in zip(catalogue.tables, texts, strict=True):
        score = sum(_rarity(spread[word], len(texts)) * _OWN_NAME / len(own) for word in own & asked)
        score += sum(_rarity(spread[word], len(texts)) * _OWN_COLUMN for word in (columns - own) & asked)
        score += sum(_rarity(spread[word], len(texts)) * _OWN_COMMENT for word in (comments - own - columns) & asked)
        if own and own <= asked:
            score += _OWN_NAME
        if score:
            scores[table.key] = score
    named = sorted(scores, key=lambda key: (-scores[key], key))[:most]
    by_key = {table.key: table for table in catalogue.tables}
    first = named[: (most + 1) // 2]  # with room for what they refer to, which words may not name
    order = list(dict.fromkeys([*first, *_neighbours(catalogue, first), *named]))[:most]
    others = [table.shown for table in catalogue.tables if table.key not in set(order)]
    return ChosenTables(tuple(by_key[key] for key in order), tuple(others))


def _neighbours(catalogue: Catalogue, named: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The tables that these refer to, and then those that refer to them, in the order of these."""
    to: dict[tuple[str, str], list[tuple[str, str]]] = {}
    back: dict[tuple[str, str], list[tuple[str, str]]] = {}
    present = {table.key for table in catalogue.tables}
    for table in catalogue.tables:
        for key in table.foreign_keys:
            if (target := (key.schema, key.table)) in present:
                to.setdefault(table.key, []).append(target)
                back.setdefault(target, []).append(table.key)
    return [key for links in (to, back) for name in named for key in links.get(name, ())]


def _comments(table: CatalogueTable) -> Iterable[str]:
    return (column.comment for column in table.columns if column.comment)


def _rarity(tables: int, of: int) -> float:
    return math.log(1 + of / (1 + tables))


def _words(*texts: str) -> set[str]:
    """The words of texts in lower case and singular, with those of `camelCase` and `snake_case` names."""
    found = {word.lower() for text in texts for word in _WORD.findall(_HUMP.sub(" ", text))}
    return {_singular(word) for word in found if len(word) > 1} - _STOP


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("ses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
