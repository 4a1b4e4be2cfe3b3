"""How two recorded values of one field of a request differ, in words for the user. The records are not trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from autocoder_jupyter.untrusted.visible import visible

_LONGEST = 60

What = Literal["request", "demand", "default", "output", "schema", "setting"]


@dataclass(frozen=True)
class Change:
    """One difference between two requests.

    Args:
        what: `request`: a function is written for it. `demand`: a further demand, which an existing function can be
            tested with. `default`: another default of an input. `output`: other declared outputs. `schema`: the
            columns of a sample. `setting`: how a function was written, which is not a part of the request.
    """

    words: str
    what: What


def of_value(words: str, what: What, before: Any, now: Any) -> list[Change]:
    """One change if the values are not equal. "" and None are equal."""
    return [] if (before or None) == (now or None) else [Change(words, what)]


def of_lines(what: str, before: Any, now: Any) -> list[Change]:
    """Lines that were added, which are demands, or removed."""
    old, new = listed(before), listed(now)
    return [
        *(Change(f"a new {what}: {short(line)}", "demand") for line in new if line not in old),
        *(Change(f"without the {what}: {short(line)}", "request") for line in old if line not in new),
    ]


def of_rules(before: Any, now: Any) -> list[Change]:
    """House rules that were added, changed or removed. The code may depend on each."""
    old, new = _by_title(before), _by_title(now)
    words = (("a new house rule", new.keys() - old), ("without the house rule", old.keys() - new))
    changed = ("another house rule", {title for title in new.keys() & old if new[title] != old[title]})
    return [
        Change(f"{what}: {short(title) or 'the text above the first heading'}", "request")
        for what, titles in (*words, changed)
        for title in sorted(titles)
    ]


def _by_title(rules: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for rule in map(mapping, listed(rules)):
        found.setdefault(str(rule.get("title")), []).append(rule.get("text"))
    return found


def of_samples(before: Any, now: Any) -> list[Change]:
    """Data that were added or removed."""
    old, new = mapping(before), mapping(now)
    return [
        *(Change(f"{short(name)} is given", "request") for name in new if name not in old),
        *(Change(f"{short(name)} is no longer given", "request") for name in old if name not in new),
    ]


def of_declared(what: Literal["input", "output"], before: Any, now: Any) -> list[Change]:
    """Declared inputs or outputs that were added, removed or changed."""
    old = {str(spec.get("name")): _filled(spec) for spec in map(mapping, listed(before))}
    new = {str(spec.get("name")): _filled(spec) for spec in map(mapping, listed(now))}
    kind: What = "output" if what == "output" else "request"
    both = [name for name in new if name in old]
    found = [
        *(Change(f"a new {what}: {short(name)}", kind) for name in new if name not in old),
        *(Change(f"no {what} {short(name)} any more", kind) for name in old if name not in new),
        *(_of_spec(what, name, old[name], new[name]) for name in both if old[name] != new[name]),
    ]
    in_order = both == [name for name in old if name in new]
    return found if in_order else [*found, Change(f"another order of the {what}s", "request")]


def _of_spec(what: Literal["input", "output"], name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Change:
    if what == "output":
        return Change(f"another output: {short(name)}", "output")
    rest_old, rest_new = ({key: spec[key] for key in spec if key != "default"} for spec in (old, new))
    if rest_old == rest_new and "default" in old and "default" in new:
        return Change(f"another default of {short(name)}: {short(old['default'])} → {short(new['default'])}", "default")
    return Change(f"another input: {short(name)}", "request")


def _filled(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A declaration without its empty fields: an older record may not have them."""
    return {name: part for name, part in spec.items() if part not in (None, "", [], ())}


def of_contracts(before: Any, now: Any) -> list[Change]:
    """Contracts that were added, removed or changed."""
    old, new = mapping(before), mapping(now)
    changed = [name for name in new if name in old and old[name] != new[name]]
    return [
        *(Change(f"a new contract of {short(name)}", "demand") for name in new if name not in old),
        *(Change(f"no contract of {short(name)} any more", "request") for name in old if name not in new),
        *(Change(f"another contract of {short(name)}", "demand") for name in changed),
    ]


def of_helpers(before: Any, now: Any) -> list[Change]:
    """Helpers that were added or removed, or whose code has changed: an existing function can be tested with that."""
    old, new = (
        {str(one.get("name")): one.get("digest") for one in map(mapping, listed(mapping(record).get("given")))}
        for record in (before, now)
    )
    return [
        *(Change(f"the helper {short(name)} is given", "request") for name in new if name not in old),
        *(Change(f"the helper {short(name)} is no longer given", "request") for name in old if name not in new),
        *(Change(f"{short(name)} has changed", "demand") for name in new if name in old and old[name] != new[name]),
    ]


def of_databases(before: Any, now: Any) -> list[Change]:
    """Databases that are referred to anew or no longer, or of another kind, or from which other tables come."""
    old, new = (
        {
            str(one.get("name")): (one.get("dialect"), list(mapping(one.get("tables"))))
            for one in map(mapping, listed(all_))
        }
        for all_ in (before, now)
    )
    return [
        *(Change(f"the database {short(name)} is given", "request") for name in new if name not in old),
        *(Change(f"the database {short(name)} is no longer given", "request") for name in old if name not in new),
        *(
            Change(f"other tables of {short(name)}", "request")
            for name in new
            if name in old and old[name] != new[name]
        ),
    ]


def of_renames(before: Any, now: Any) -> list[Change]:
    """Columns that have another name in the data than before."""
    old, new = mapping(before), mapping(now)
    other = {reads: has for reads, has in new.items() if old.get(reads) != has}
    return [
        *(Change(f"{short(reads)} is {short(has)} in the data", "demand") for reads, has in other.items()),
        *(Change(f"{short(reads)} has its own name again", "demand") for reads in old if reads not in new),
    ]


def short(value: Any) -> str:
    """A value of a record as text, in one line."""
    text = visible(value if isinstance(value, str) else str(value)).replace("\n", " ")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def mapping(value: Any) -> Mapping[str, Any]:
    """A value of a record, if it is a mapping, or else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """A value of a record as a list, if it is one, or else an empty one."""
    return list(value) if isinstance(value, list | tuple) else []
