"""A person's edits that are not in the version that counts, as after a merge of two branches, and how they get in."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from autocoder_jupyter.versions.store import CODE_FILE, TESTS_FILE, Version, Versions, plain, sources_of

_MOST_LINES = 5_000
"""To compare lines takes quadratic time, and a version may be of others."""


def lost_edits(known: list[Version], current: Version | None) -> list[Version]:
    """The edited versions that are not in the current one, though both were made from one version.

    An edit is in it if the current version was made from it, or has the same changes.
    """
    if current is None:
        return []
    by_id = {version.id: version for version in known}
    line = list(_line(current, by_id))
    before = {version.id for version in line[1:]}
    edited = [version for version in known if version.report.author == "you" and version.is_good]
    lost = [version for version in edited if version not in line and version.report.parent in before]
    return [version for version in lost if not _is_in(version, current, line, by_id)]


def _line(version: Version, by_id: dict[str, Version]) -> Iterator[Version]:
    """The version, and those that it was made from."""
    seen: set[str] = set()
    found: Version | None = version
    while found is not None and found.id not in seen:
        seen.add(found.id)
        yield found
        found = by_id.get(found.report.parent)


def _is_in(edit: Version, current: Version, line: list[Version], by_id: dict[str, Version]) -> bool:
    own = sources_of(current.report)
    merged = taken_over(edit, current, by_id)
    if merged is not None:
        return all(plain(text) == plain(own[name]) for name, text in merged.items())
    # A person decided between conflicting changes, if they edited after both were there.
    began = [version.report.started for version in line if version.report.author == "you"]
    return any(when and edit.report.started and when > edit.report.started for when in began)


def taken_over(edit: Version, current: Version, by_id: dict[str, Version]) -> dict[str, str] | None:
    """Code and tests of the current version with the changes of an edit; None if the changes are in conflict."""
    base = by_id.get(edit.report.parent)
    if base is None:
        return None
    made = {}
    for name in (CODE_FILE, TESTS_FILE):
        texts = (plain(sources_of(version.report)[name]) for version in (base, current, edit))
        merged = _merged(*(text.split("\n") for text in texts))
        if merged is None:
            return None
        made[name] = "\n".join(merged) + "\n"
    return made


def _merged(base: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    """The lines with the changes of both sides; None if both change the same or neighbouring lines differently, or if
    there are too many lines to compare.
    """
    if max(map(len, (base, ours, theirs))) > _MOST_LINES:
        return None
    changes = sorted({*_changes(base, ours), *_changes(base, theirs)})
    made: list[str] = []
    place = 0
    for number, (start, end, lines) in enumerate(changes):
        if number and start <= changes[number - 1][1]:
            return None
        made += [*base[place:start], *lines]
        place = end
    return made + base[place:]


def _changes(base: list[str], other: list[str]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    for kind, start, end, first, last in SequenceMatcher(None, base, other).get_opcodes():
        if kind != "equal":
            yield start, end, tuple(other[first:last])


def words_of_lost(versions: Versions, known: list[Version] | None = None) -> dict[str, str]:
    """By version a sentence about an edit that is not in the version that counts, and what takes it over."""
    current = versions.last_good()
    if current is None:
        return {}
    return {
        edit.id: f"version {edit.number} (edited) is not in version {current.number}: "
        f"%autocode take {versions.name} {edit.number} takes it over"
        for edit in lost_edits(known if known is not None else versions.all(), current)
    }
