"""Accept a cell that has only its first line. IPython would refuse it before it calls a magic."""

from __future__ import annotations

_OURS = ("%%autocode", "%%autocode_test")


def keep_empty_cell(lines: list[str]) -> list[str]:
    """Add an empty second line to a single `%%autocode …` line, so that `%%autocode -h` works."""
    if len(lines) == 1 and lines[0].startswith(_OURS) and lines[0].split()[0] in _OURS:
        return [lines[0].rstrip("\n") + "\n", "\n"]
    return lines


# IPython skips transformers with side effects when it checks whether a typed cell is complete. Without this flag the
# added line would make a cell run after its first line.
keep_empty_cell.has_side_effects = True  # type: ignore[attr-defined]
