"""Keeps saved HTML below a size: parts are replaced by shorter forms, the least important first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autocoder_jupyter.display.html import Html


def fit(parts: Mapping[str, Html], shorter: Iterable[tuple[str, Html]], room: int) -> dict[str, Html]:
    """The parts, as many of them in their full form as there is room for.

    Args:
        parts: by title.
        shorter: (title, shorter form) in the order in which they give way; a title may come again.
        room: characters for all of them; more only where even the shortest forms need more.
    """
    shown = dict(parts)
    for title, form in shorter:
        if sum(map(len, shown.values())) <= room:
            break
        if len(form) < len(shown.get(title, "")):
            shown[title] = form
    return shown
