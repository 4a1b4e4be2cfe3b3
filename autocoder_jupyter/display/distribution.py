"""The results on resamples and on shuffled data, as a small picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from autocoder_jupyter.view.as_html import data_address
from autocoder_jupyter.view.document import Block, Drawing
from autocoder_jupyter.view.markup import clipped, element, escape

if TYPE_CHECKING:
    from autocoder_jupyter.types import Stability

WIDTH, HEIGHT, LABEL = 320, 36, 90
"""Pixels of the picture, of a histogram in it, and of the names at its left."""

_BINS = 32
_LABEL_CHARACTERS = 14
_BLUE, _GREY, _RED = "#4c8bf5", "#8a8f98", "#d64545"  # can be read on a light and on a dark page


def distribution(found: Stability) -> tuple[Block, ...]:
    """The picture; nothing if the record has no results."""
    if found.numbers:
        rows = [("resamples", found.numbers, _BLUE), ("shuffled", found.shuffled_numbers, _GREY)]
        rows = [row for row in rows if row[1]]
        own = _number(found.result)
        every = [*own, *(number for _, numbers, _ in rows for number in numbers)]
        ends = min(every), max(every)
        if not math.isfinite(ends[1] - ends[0]):
            return ()
        words = "; ".join(f"{name}: {min(one):.4g} to {max(one):.4g}" for name, one, _ in rows)
        words += f"; the data: {own[0]:.4g}" if own else ""
        shapes, height = list(_histograms(rows, ends, own)), HEIGHT * len(rows) + 14
    elif found.tallies:
        most = max(max(one.resampled, one.shuffled) for one in found.tallies) or 1
        words = "; ".join(
            f"{clipped(one.label, 80)}: {one.resampled} of the resamples, {one.shuffled} of the shuffled data"
            for one in found.tallies
        )
        shapes = [
            shape
            for place, one in enumerate(found.tallies)
            for shape in (
                _text(LABEL - 4, 18 * place + 12, _short(one.label), "end"),
                _bar(18 * place + 2, one.resampled / most, _BLUE),
                _bar(18 * place + 9, one.shuffled / most, _GREY),
            )
        ]
        height = 18 * len(found.tallies)
    else:
        return ()
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">'
        f"{''.join(shapes)}</svg>"
    )
    source = data_address(svg.encode("utf-8", "replace"), "image/svg+xml")
    return (Drawing(element("img", alt=words, look="figure", src=source), words),)


def _number(text: str) -> list[float]:
    """The number that a text is, if it is one."""
    try:
        number = float(text)
    except ValueError:
        return []
    return [number] if math.isfinite(number) else []


def _histograms(
    rows: Sequence[tuple[str, Sequence[float], str]], ends: tuple[float, float], own: Sequence[float]
) -> Iterator[str]:
    """A histogram for each row, a dashed line at 0, and a red one at the result on the data."""
    low, high = ends
    span = high - low
    width = (WIDTH - LABEL) / _BINS
    for place, (name, numbers, colour) in enumerate(rows):
        counts = [0] * _BINS
        for number in numbers:
            counts[min(int((number - low) / span * _BINS), _BINS - 1) if span else _BINS // 2] += 1
        bottom, most = HEIGHT * (place + 1), max(counts)
        heights = ((number, (HEIGHT - 6) * count / most) for number, count in enumerate(counts) if count)
        path = "".join(
            f"M{LABEL + number * width:.1f} {bottom}v{-height:.1f}h{width - 1:.1f}V{bottom}z"
            for number, height in heights
        )
        yield f'<path fill="{colour}" d="{path}"/>'
        yield _text(LABEL - 4, bottom - 4, name, "end")
    marks = [(0.0, f'stroke="{_GREY}" stroke-dasharray="2 2"')] if low < 0 < high else []
    for number, look in (*marks, *((one, f'stroke="{_RED}"') for one in own if span)):
        place_of = LABEL + (WIDTH - LABEL) * (number - low) / span
        yield f'<path {look} d="M{place_of:.1f} 0V{HEIGHT * len(rows)}"/>'
    yield _text(LABEL, HEIGHT * len(rows) + 11, f"{low:.4g}", "start")
    yield _text(WIDTH, HEIGHT * len(rows) + 11, f"{high:.4g}", "end")


def _short(label: str) -> str:
    return label if len(label) <= _LABEL_CHARACTERS else f"{label[: _LABEL_CHARACTERS - 1]}…"


def _bar(top: int, share: float, colour: str) -> str:
    return f'<rect x="{LABEL}" y="{top}" width="{(WIDTH - LABEL) * share:.1f}" height="6" fill="{colour}"/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="11" font-family="sans-serif" '
        f'fill="{_GREY}">{escape(words)}</text>'
    )
