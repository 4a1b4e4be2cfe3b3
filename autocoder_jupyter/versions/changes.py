"""The differences between two requests: what tells the user why the model is asked, and whether it has to be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.untrusted.visible import visible

_LONGEST = 60
_NAMED = 3

What = Literal["request", "demand", "default", "output", "schema", "setting"]


@dataclass(frozen=True)
class Change:
    """One difference between two requests.

    Args:
        words: it, for the user.
        what: `request`: a function is written for it. `demand`: a further demand, which an existing function can be
            tested with. `default`: another default of an input. `output`: other declared outputs. `schema`: the
            columns of a sample. `setting`: how a function was written, which is not a part of the request.
    """

    words: str
    what: What


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
    found = [Change("new wording", "request")] if before.get("prompt") != now.get("prompt") else []
    found += _of_inputs(before, now)
    found += _of_named("output", before.get("outputs"), now.get("outputs"))
    found += _of_lines("constraint", before.get("constraints"), now.get("constraints"))
    found += _of_lines("check", before.get("checks"), now.get("checks"))
    found += _of_lines("example", before.get("examples"), now.get("examples"))
    found += _of_lines("refinement", before.get("wishes"), now.get("wishes"))
    found += _of_contracts(_mapping(before.get("contracts")), _mapping(now.get("contracts")))
    found += _of_renames(_mapping(before.get("renames")), _mapping(now.get("renames")))
    if before.get("own_tests", "") != now.get("own_tests", ""):
        found.append(Change("other tests of yours", "demand"))  # the writer of the function did not see them
    if before.get("schema") != now.get("schema"):
        found.append(Change("what is said about the data", "request"))
    found += [Change(words, "setting") for words in _of_settings(before, now)]
    found += [Change(words, "schema") for words in _of_schemas(_schemas(before), _schemas(now))]
    return tuple(found)


def written_otherwise(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """With which other instructions, packages and parameters a function was written; "" if with the current ones.

    The model, and what may be shared, are told apart from these. The arguments are those of `changes`.
    """
    return "; ".join(_of_settings(before, now, _TOLD_APART))


_TOLD_APART = frozenset({"model", "share", "hide", "mask", "skip_tests"})


def _of_settings(before: Mapping[str, Any], now: Mapping[str, Any], left_out: Iterable[str] = ()) -> list[str]:
    old, new = _mapping(before.get("settings")), _mapping(now.get("settings"))
    return [
        f"{record.setting.shapes}: {_short(_plain(old.get(name)))} → {_short(_plain(new[name]))}"
        for name, record in RECORDS.items()
        if record.setting.shapes and name in new and _plain(old.get(name)) != _plain(new[name]) and name not in left_out
    ]


def _plain(value: Any) -> Any:
    """A setting as JSON."""
    return list(value) if isinstance(value, tuple) else value


def _of_inputs(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    old, new = _mapping(before.get("samples")), _mapping(now.get("samples"))
    return [
        *(Change(f"{_short(name)} is given", "request") for name in new if name not in old),
        *(Change(f"{_short(name)} is no longer given", "request") for name in old if name not in new),
        *_of_named("input", before.get("inputs"), now.get("inputs")),
    ]


def _of_named(what: Literal["input", "output"], before: Any, now: Any) -> list[Change]:
    """Declared inputs or outputs that were added, removed or changed."""
    old = {str(spec.get("name")): _filled(spec) for spec in map(_mapping, _list(before))}
    new = {str(spec.get("name")): _filled(spec) for spec in map(_mapping, _list(now))}
    kind: What = "output" if what == "output" else "request"
    both = [name for name in new if name in old]
    found = [
        *(Change(f"a new {what}: {_short(name)}", kind) for name in new if name not in old),
        *(Change(f"no {what} {_short(name)} any more", kind) for name in old if name not in new),
        *(_of_spec(what, name, old[name], new[name]) for name in both if old[name] != new[name]),
    ]
    in_order = both == [name for name in old if name in new]
    return found if in_order else [*found, Change(f"another order of the {what}s", "request")]


def _of_spec(what: Literal["input", "output"], name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Change:
    if what == "output":
        return Change(f"another output: {_short(name)}", "output")
    rest_old, rest_new = ({key: spec[key] for key in spec if key != "default"} for spec in (old, new))
    if rest_old == rest_new and "default" in old and "default" in new:
        return Change(
            f"another default of {_short(name)}: {_short(old['default'])} → {_short(new['default'])}", "default"
        )
    return Change(f"another input: {_short(name)}", "request")


def _filled(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A declaration without the fields that say nothing: an older record may not have them."""
    return {name: part for name, part in spec.items() if part not in (None, "", [], ())}


def _of_lines(what: str, before: Any, now: Any) -> list[Change]:
    old, new = _list(before), _list(now)
    return [
        *(Change(f"a new {what}: {_short(line)}", "demand") for line in new if line not in old),
        *(Change(f"without the {what}: {_short(line)}", "request") for line in old if line not in new),
    ]


def _of_contracts(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    return [
        *(Change(f"a new contract of {_short(name)}", "demand") for name in new if name not in old),
        *(Change(f"no contract of {_short(name)} any more", "request") for name in old if name not in new),
        *(
            Change(f"another contract of {_short(name)}", "demand")
            for name in new
            if name in old and old[name] != new[name]
        ),
    ]


def _of_renames(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    return [
        *(
            Change(f"{_short(reads)} is {_short(has)} in the data", "demand")
            for reads, has in new.items()
            if old.get(reads) != has
        ),
        *(Change(f"{_short(reads)} has its own name again", "demand") for reads in old if reads not in new),
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
