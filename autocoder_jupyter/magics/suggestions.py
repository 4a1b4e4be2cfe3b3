"""Suggestions for misspelled names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from autocoder_jupyter.untrusted.parsing import visible


def did_you_mean(word: str, known: Iterable[str], *, mark: str = "") -> str:
    """One line that suggests similar names, or else lists the known names; empty if there are none. Names may be those
    of columns or of folders, with any characters.

    Args:
        word: the misspelled word.
        known: the known names.
        mark: a prefix for each suggested name, such as `@`.
    """
    names = [name for name in dict.fromkeys(known) if name != word]  # the same name would be no help
    folded = {name.casefold(): name for name in names}
    wanted = word.casefold()
    # A word of three times the length of a name is below the cutoff, and a long word takes long to compare.
    candidates = [name for name in folded if len(wanted) < 3 * len(name)]
    close = difflib.get_close_matches(wanted, candidates, n=1, cutoff=0.6) if candidates else []
    if close:
        return f"Did you mean {mark}{visible(folded[close[0]])}?"
    if not names:
        return ""
    shown = ", ".join(f"{mark}{visible(name)}" for name in names[:12])
    return f"Available: {shown}{' …' if len(names) > 12 else ''}."
