"""The differences between two requests: what tells the user why the model is asked, and whether it has to be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.versions import request_fields
from autocoder_jupyter.versions.field_changes import Change, listed, mapping, short

_NAMED = 3


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """How a request differs from an earlier one: "new wording; a new constraint: …".

    Args:
        before: the earlier one, as `engine.prepare.request_record` wrote it. The file is untrusted.
        now: the current one.

    Returns:
        The line; "" if the records do not differ.
    """
    return in_words(differences(before, now))


def in_words(found: Iterable[Change]) -> str:
    """Differences as one line."""
    return "; ".join(change.words for change in found)


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[Change, ...]:
    """The differences between an earlier request and the current one; the arguments are those of `changes`."""
    now = json.loads(json.dumps(now, default=str))  # the form in which it would be read back
    return (
        *request_fields.differences(before, now),
        *(Change(words, "setting") for words in _of_settings(before, now)),
        *(Change(words, "schema") for words in _of_schemas(_schemas(before), _schemas(now))),
    )


def written_otherwise(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """With which other instructions, packages and parameters a function was written; "" if with the current ones.

    The model, and what may be shared, are told apart from these. The arguments are those of `changes`.
    """
    return "; ".join(_of_settings(before, now, _TOLD_APART))


_TOLD_APART = frozenset({"model", "share", "hide", "mask", "skip_tests"})


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
        return f"is a {short(new.get('type'))}, no {short(old.get('type'))}"
    columns, were = dict(_pairs(new.get("columns"))), dict(_pairs(old.get("columns")))
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


def _pairs(columns: Any) -> list[tuple[str, str]]:
    return [(short(pair[0]), short(pair[1])) for pair in listed(columns) if isinstance(pair, list) and len(pair) == 2]


def _listed(items: Sequence[str]) -> str:
    more = len(items) - _NAMED
    return ", ".join(items[:_NAMED]) + (f" and {more} more" if more > 0 else "")
