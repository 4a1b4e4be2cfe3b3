"""The fields of a request, one record each, the differences between two requests, and the key of a request.

The record of a field says how it is written to `request.json` and read again, its part of the key, the words for a
difference, and its value in a refinement.

What only a cell says of a field (its option) is in `magics`, what only a script says (its argument) in `agent`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import Any

import pandas as pd

from autocoder_jupyter.data.shapes import plain_shape
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import Example, HouseRule, Request
from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.settings.parameters import is_input_name, is_output_name
from autocoder_jupyter.types import File, Helpers, InputSpec, OutputSpec, SampledDatabase
from autocoder_jupyter.types.interface import demand_text
from autocoder_jupyter.versions import field_changes
from autocoder_jupyter.versions.field_changes import Change, listed, mapping, short

_Spec = InputSpec | OutputSpec


def _same(value: Any) -> Any:
    return value


def _later(before: Any, now: Any) -> Any:
    """The value of the cell, if it gives one."""
    return now or before


def _nothing(_: Any) -> None:
    """For a field that is no part of the key, or of which nothing is read."""


def _no_words(_: Any) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class RequestField:
    """What the record of a request, its key, its comparison and a refinement do with one field of `Request`.

    Args:
        differences: the changes from an earlier record to the current one; both are as `record` returns.
        key: its part of the request's key; by default what is recorded. An empty part does not count, so a new field
            does not change earlier keys.
        read: the value from a record, which is not trusted; None if there is none, or if only a cell can give it.
            Raises ValueError if the record has not the form that `record` writes.
        joined: the value of a refinement, from that of the existing function and that of the cell.
        words: what the user wrote that shows which columns are meant. It is compared with `hide` and `mask`.
    """

    differences: Callable[[Any, Any], list[Change]]
    record: Callable[[Any], Any] = _same
    key: Callable[[Any], Any] | None = None
    read: Callable[[Any], Any] = _nothing
    joined: Callable[[Any, Any], Any] = _later
    words: Callable[[Any], Iterable[str]] = _no_words


def field_records(request: Request) -> dict[str, Any]:
    """The fields of a request as JSON."""
    return {name: field.record(getattr(request, name)) for name, field in FIELDS.items()}


def key_parts(request: Request) -> dict[str, Any]:
    """The parts of a request's key, without the data and without empty parts."""
    parts = {name: (field.key or field.record)(getattr(request, name)) for name, field in FIELDS.items()}
    return {name: part for name, part in parts.items() if part}


def read_fields(name: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a request that a record has and that may be used without its cell. The record is not trusted.

    Raises:
        InvalidRequest: a value has not the form that `field_records` writes.
    """
    try:
        values = {field_name: field.read(record.get(field_name)) for field_name, field in FIELDS.items()}
    except ValueError:
        raise unreadable(name) from None
    return {field_name: value for field_name, value in values.items() if value is not None}


def unreadable(name: str) -> InvalidRequest:
    """The error for a recorded request without the expected form."""
    hint = "Run its cell again. Recorded answers are used again."
    return InvalidRequest(f"The record of {name} cannot be read.", hint=hint)


def joined(before: Request, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a refinement: those of the existing request, with what a cell gives."""
    return {name: FIELDS[name].joined(getattr(before, name), value) for name, value in given.items()}


def _differences_of_fields(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Change]:
    """The changes from an earlier record, which is not trusted, to the current one."""
    for name, field in FIELDS.items():
        yield from field.differences(before.get(name), now.get(name))


def texts_of(request: Request) -> tuple[str, ...]:
    """The texts of a request, without the meanings of its inputs and outputs."""
    return tuple(text for name, field in FIELDS.items() for text in field.words(getattr(request, name)))


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(text for text in listed(value) if isinstance(text, str))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _split(value: Any) -> str | None:
    if not isinstance(value, str) or not value:
        return None
    try:
        return demand_text(value)
    except InvalidRequest as error:
        raise ValueError("no way to split a table") from error


def _rules(value: Any) -> tuple[HouseRule, ...]:
    records = map(mapping, listed(value))
    return tuple(HouseRule(_text(rule.get("title")) or "", _text(rule.get("text")) or "") for rule in records)


def _pairs(value: Any) -> dict[str, str]:
    return {one: other for one, other in mapping(value).items() if isinstance(one, str) and isinstance(other, str)}


def _specs(kind: type[_Spec], is_name: Callable[[str], bool], value: Any) -> tuple[_Spec, ...]:
    specs = tuple(kind.model_validate(spec) for spec in listed(value))
    if not all(is_name(spec.name) for spec in specs):
        raise ValueError("a declared name is none")
    return specs


def _declared(specs: Iterable[_Spec]) -> list[Any]:
    return [spec.model_dump() for spec in specs]


def _declared_key(specs: Iterable[_Spec]) -> list[Any]:
    """Fields that were added later are left out if they are not used."""
    return [
        {name: part for name, part in declared.items() if name != "elements" or part} for declared in _declared(specs)
    ]


def _by_name(before: Iterable[_Spec], now: Iterable[_Spec]) -> tuple[_Spec, ...]:
    """A new declaration replaces the earlier one of the same name."""
    again = {spec.name for spec in now}
    return (*(spec for spec in before if spec.name not in again), *now)


def _example_keys(examples: Iterable[Example]) -> list[Any]:
    from autocoder_jupyter.data.context import example_record  # imports pandas

    return [example_record(example) for example in examples]


def _merged(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    return {**before, **now}


def _with_known_tables(
    before: Iterable[SampledDatabase], now: Iterable[SampledDatabase]
) -> tuple[SampledDatabase, ...]:
    """The databases that a refinement refers to, with the tables that the function reads already."""
    known = {database.name: database.tables for database in before}
    found = (one.model_copy(update={"tables": {**known.get(one.name, {}), **one.tables}}) for one in now)
    return tuple(found) or tuple(before)


def _lines(what: str) -> RequestField:
    """Sentences, each of which is one more demand."""
    return RequestField(
        partial(field_changes.of_lines, what),
        record=list,
        read=_texts,
        joined=lambda before, now: tuple(dict.fromkeys((*before, *now))),
        words=_same,
    )


FIELDS: Mapping[str, RequestField] = {
    "name": RequestField(lambda before, now: [], key=_nothing),
    "prompt": RequestField(partial(field_changes.of_value, "new wording", "request"), words=lambda text: (text,)),
    "samples": RequestField(
        field_changes.of_samples,
        record=lambda samples: {name: type(value).__name__ for name, value in samples.items()},
        key=_nothing,
        joined=_merged,
    ),
    "inputs": RequestField(
        partial(field_changes.of_declared, "input"),
        record=_declared,
        key=_declared_key,
        read=partial(_specs, InputSpec, is_input_name),
        joined=_by_name,
    ),
    "outputs": RequestField(
        partial(field_changes.of_declared, "output"),
        record=_declared,
        key=_declared_key,
        read=partial(_specs, OutputSpec, is_output_name),
        joined=_by_name,
    ),
    "constraints": _lines("constraint"),
    "checks": _lines("check"),
    "schema": RequestField(
        partial(field_changes.of_value, "what is said about the data", "request"),
        read=_text,
        words=lambda text: (text or "",),
    ),
    "rules": RequestField(
        field_changes.of_rules,
        record=lambda rules: [{"title": rule.title, "text": rule.text} for rule in rules],
        read=_rules,
        joined=lambda before, now: now,
        words=lambda rules: (text for rule in rules for text in (rule.title, rule.text)),
    ),
    "own_tests": RequestField(
        # The writer of the function did not see them.
        partial(field_changes.of_value, "other tests of yours", "demand"),
        read=_text,
    ),
    "contracts": RequestField(
        field_changes.of_contracts,
        record=lambda contracts: {name: contract.record for name, contract in contracts.items()},
        joined=_merged,
    ),
    "renames": RequestField(field_changes.of_renames, record=dict, read=_pairs, joined=_merged),
    "helpers": RequestField(
        field_changes.of_helpers,
        record=lambda helpers: helpers.model_dump(mode="json") if helpers else {},
        key=lambda helpers: helpers.digests,
        read=lambda value: Helpers.model_validate(value) if value else None,
        words=lambda helpers: (
            *(text for one in helpers.given for text in (one.signature, one.doc)),
            *helpers.modules().values(),
        ),
    ),
    "databases": RequestField(
        field_changes.of_databases,
        record=lambda databases: [database.model_dump(mode="json") for database in databases],
        key=lambda databases: [[one.name, one.dialect, list(one.tables)] for one in databases],
        read=lambda value: tuple(map(SampledDatabase.model_validate, listed(value))),
        joined=_with_known_tables,
    ),
    "split": RequestField(partial(field_changes.of_value, "another way to split it", "demand"), read=_split),
    "examples": RequestField(
        partial(field_changes.of_lines, "example"),
        record=lambda examples: [example.text for example in examples],
        key=_example_keys,
        joined=lambda before, now: (*before, *now),
    ),
    "wishes": RequestField(partial(field_changes.of_lines, "refinement"), record=list),
    "earlier": RequestField(
        lambda before, now: [],  # the refinement that it belongs to is shown
        record=lambda earlier: earlier.version if earlier else None,
        key=lambda earlier: earlier.request_key if earlier else None,
    ),
}
"""The fields of a request by name, in the order of `request.json`. The answers to questions are in the report."""


# Differences between two requests
#
# They show the user why the model is asked, and decide whether it has to be.

_NAMED = 3


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """How a request differs from an earlier one: "new wording; a new constraint: …"."""
    return in_words(differences(before, now))


def in_words(found: Iterable[Change]) -> str:
    """Differences as one line."""
    return "; ".join(change.words for change in found)


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[Change, ...]:
    """The differences between an earlier request and the current one; the arguments are those of `changes`."""
    now = json.loads(json.dumps(now, default=str))  # the form in which it would be read back
    return (
        *_differences_of_fields(before, now),
        *(Change(words, "setting") for words in _of_settings(before, now)),
        *(Change(words, "schema") for words in _of_schemas(_schemas(before), _schemas(now))),
    )


def written_otherwise(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """With which other instructions, packages and parameters a function was written; "" if with the current ones.

    The model, and what may be shared, are shown elsewhere. The arguments are those of `changes`.
    """
    return "; ".join(_of_settings(before, now, _SHOWN_ELSEWHERE))


_SHOWN_ELSEWHERE = frozenset({"model", "share", "hide", "mask", "skip_tests"})


def _of_settings(before: Mapping[str, Any], now: Mapping[str, Any], left_out: Iterable[str] = ()) -> list[str]:
    old, new = mapping(before.get("settings")), mapping(now.get("settings"))
    return [
        f"{record.setting.shapes}: {short(_plain(old.get(name)))} → {short(_plain(new[name]))}"
        for name, record in RECORDS.items()
        if record.setting.shapes and name in new and _plain(old.get(name)) != _plain(new[name]) and name not in left_out
    ]


def _plain(value: Any) -> Any:
    """A setting as JSON."""
    return list(value) if isinstance(value, tuple) else value


def _of_schemas(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [
        f"{short(name)} {words}"
        for name in now
        if name in before and before[name] != now[name] and (words := _of_schema(before[name], now[name]))
    ]


def _of_schema(before: Any, now: Any) -> str:
    """How a table differs from what it was: `has no column 'price' any more, the new column 'net'`."""
    old, new = mapping(before), mapping(now)
    if old.get("type") != new.get("type"):
        return f"is a {short(new.get('type'))}, not a {short(old.get('type'))}"
    columns, were = dict(_column_dtypes(new.get("columns"))), dict(_column_dtypes(old.get("columns")))
    gone = [name for name in were if name not in columns]
    added = [name for name in columns if name not in were]
    both = [name for name in columns if name in were]
    other = [f"{name} ({were[name]} → {columns[name]})" for name in both if were[name] != columns[name]]
    found = [
        f"lacks {_listed(gone)}" if gone else "",
        f"has the new {_listed(added)}" if added else "",
        f"has other dtypes: {_listed(other)}" if other else "",
        "has another index" if old.get("index") != new.get("index") else "",
    ]
    return ", ".join(words for words in found if words) or "is of another kind"


def _schemas(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(record.get("key")).get("schemas"))


def _column_dtypes(columns: Any) -> list[tuple[str, str]]:
    return [(short(pair[0]), short(pair[1])) for pair in listed(columns) if isinstance(pair, list) and len(pair) == 2]


def _listed(items: Sequence[str]) -> str:
    more = len(items) - _NAMED
    return ", ".join(items[:_NAMED]) + (f" and {more} more" if more > 0 else "")


# Keys of requests
#
# A key is a hash of the request, with its interface and its demands, and of the schema of its samples. Who wrote the
# function and with which settings (model, parameters, sharing level, machine) is not part of it.

_SUFFIX = re.compile(r"\.\w{1,8}")


def content_key(*parts: object) -> str:
    """A short hash of parts that JSON supports. Equal parts have equal keys on every machine."""
    canonical = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class RequestKey:
    """The key of a request, with its parts.

    Args:
        asked: hash of the request, without any setting.
        schemas: the schema of each sample without its rows: columns, dtypes and index of a table, the kind of a file.
    """

    asked: str
    schemas: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, request: Request, inputs: Sequence[InputSpec]) -> RequestKey:
        """The key of a request with complete inputs."""
        asked = content_key(key_parts(replace(request, inputs=tuple(inputs))))
        return cls(asked, {name: schema_of(value) for name, value in request.samples.items()})

    @property
    def id(self) -> str:
        """The request's key: it names the folder of the first version that was made for it."""
        return content_key(self.asked, self.schemas)

    def record(self) -> dict[str, Any]:
        """The record in `request.json`."""
        return {"asked": self.asked, "schemas": self.schemas}


def schema_of(value: Any) -> dict[str, Any]:
    """The schema of a sample, without its rows. Column names that may be private are masked."""
    if isinstance(value, pd.DataFrame | pd.Series):
        return {key: part for key, part in plain_shape(value).items() if key != "rows"}
    kind = {"type": type(value).__name__}
    if isinstance(value, File):
        suffix = PurePath(value.path).suffix.lower()
        kind["suffix"] = suffix if _SUFFIX.fullmatch(suffix) else ""
    return kind
