"""The differences between two requests, as one line that tells the user why the model is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.untrusted.visible import visible

_LONGEST = 60
_NAMED = 3


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """How a request differs from an earlier one: "new wording; a new constraint: …".

    Args:
        before: the earlier one, as `engine.prepare.request_record` wrote it. The file is untrusted.
        now: the current one.

    Returns:
        The line; "" if the records do not differ.
    """
    now = json.loads(json.dumps(now, default=str))  # the form in which it would be read back
    found: list[str] = []
    if before.get("prompt") != now.get("prompt"):
        found.append("new wording")
    found += _of_inputs(before, now)
    found += _of_named("output", before.get("outputs"), now.get("outputs"))
    found += _of_lines("constraint", before.get("constraints"), now.get("constraints"))
    found += _of_lines("check", before.get("checks"), now.get("checks"))
    found += _of_lines("example", before.get("examples"), now.get("examples"))
    found += _of_contracts(_mapping(before.get("contracts")), _mapping(now.get("contracts")))
    if before.get("own_tests", "") != now.get("own_tests", ""):
        found.append("other tests of yours")
    if before.get("schema") != now.get("schema"):
        found.append("what is said about the data")
    old, new = _mapping(before.get("settings")), _mapping(now.get("settings"))
    for name, record in RECORDS.items():
        if record.setting.shapes and name in new and old.get(name) != new[name]:
            found.append(f"{record.setting.shapes}: {_short(old.get(name))} → {_short(new[name])}")
    found += _of_schemas(_schemas(before), _schemas(now))
    return "; ".join(found)


def _of_inputs(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    old, new = _mapping(before.get("samples")), _mapping(now.get("samples"))
    return [
        *(f"{_short(name)} is given" for name in new if name not in old),
        *(f"{_short(name)} is no longer given" for name in old if name not in new),
        *_of_named("input", before.get("inputs"), now.get("inputs")),
    ]


def _of_named(what: str, before: Any, now: Any) -> list[str]:
    """Declared inputs or outputs that were added, removed or changed."""
    old = {str(spec.get("name")): spec for spec in map(_mapping, _list(before))}
    new = {str(spec.get("name")): spec for spec in map(_mapping, _list(now))}
    return [
        *(f"a new {what}: {_short(name)}" for name in new if name not in old),
        *(f"no {what} {_short(name)} any more" for name in old if name not in new),
        *(f"another {what}: {_short(name)}" for name in new if name in old and old[name] != new[name]),
    ]


def _of_lines(what: str, before: Any, now: Any) -> list[str]:
    old, new = _list(before), _list(now)
    return [
        *(f"a new {what}: {_short(line)}" for line in new if line not in old),
        *(f"without the {what}: {_short(line)}" for line in old if line not in new),
    ]


def _of_contracts(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [
        *(f"a new contract of {_short(name)}" for name in new if name not in old),
        *(f"no contract of {_short(name)} any more" for name in old if name not in new),
        *(f"another contract of {_short(name)}" for name in new if name in old and old[name] != new[name]),
    ]


def _of_schemas(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [
        f"{_short(name)} {words}"
        for name in now
        if name in before and before[name] != now[name] and (words := _of_schema(before[name], now[name]))
    ]


def _of_schema(before: Any, now: Any) -> str:
    """How a table differs from what it was: `has no column 'price' any more, the new column 'net'`."""
    old, new = _mapping(before), _mapping(now)
    if old.get("type") != new.get("type"):
        return f"is a {_short(new.get('type'))}, no {_short(old.get('type'))}"
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
    return _mapping(_mapping(record.get("key")).get("schemas"))


def _pairs(columns: Any) -> list[tuple[str, str]]:
    return [(_short(pair[0]), _short(pair[1])) for pair in _list(columns) if isinstance(pair, list) and len(pair) == 2]


def _listed(items: Sequence[str]) -> str:
    more = len(items) - _NAMED
    return ", ".join(items[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _short(value: Any) -> str:
    text = visible(value if isinstance(value, str) else str(value)).replace("\n", " ")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
