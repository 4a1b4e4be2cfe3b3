"""Keeps saved HTML below a size: replaces parts by shorter forms, the least important first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autocoder_jupyter.view.html import Html


def fit(parts: Mapping[str, Html], shorter: Iterable[tuple[str, Html]], room: int) -> dict[str, Html]:
    """The parts, as many as possible in their full form.

    Args:
        parts: by title.
        shorter: (title, shorter form) in the order of replacement; a title may occur several times.
        room: characters for all parts; the result is longer only if the shortest forms are.
    """
    shown = dict(parts)
    for title, form in shorter:
        if sum(map(len, shown.values())) <= room:
            break
        if len(form) < len(shown.get(title, "")):
            shown[title] = form
    return shown
