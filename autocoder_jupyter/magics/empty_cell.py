"""Lets a cell that is only its first line reach us; IPython itself refuses it before any magic is asked."""

from __future__ import annotations

_OURS = ("%%autocode", "%%autocode_test")


def keep_empty_cell(lines: list[str]) -> list[str]:
    """An input transformer: gives a lone `%%autocode …` line an empty second one, so that `%%autocode -h` answers."""
    if len(lines) == 1 and lines[0].startswith(_OURS) and lines[0].split()[0] in _OURS:
        return [lines[0].rstrip("\n") + "\n", "\n"]
    return lines


# What has side effects is left out while IPython only looks whether a typed cell is complete: with a second line
# made up, the cell would run after its first.
keep_empty_cell.has_side_effects = True  # type: ignore[attr-defined]
