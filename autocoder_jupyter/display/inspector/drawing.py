"""Small histograms of a column as HTML boxes, without scripts, images or external resources.

Each box contains a block character, so the histogram is visible where styles are removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.view import markup
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.types.records import Bar, ColumnOverview

_BLOCKS = "▁▂▃▄▅▆▇█"
_HEIGHT = 30
"""Height of a histogram in pixels, as in `styles.css`."""


def drawing(column: ColumnOverview, *, counts: bool) -> Html:
    """The histogram of a column; empty if it has no bars.

    Args:
        column: the column.
        counts: whether the tooltip of a bar gives the number of cells.
    """
    if not column.bars:
        return EMPTY
    if column.drawing == "ranking":
        return _ranking(column.bars)
    return _histogram(column, counts=counts)


def _histogram(column: ColumnOverview, *, counts: bool) -> Html:
    most = max(bar.count for bar in column.bars) or 1
    boxes = (_box(bar, most, counts=counts) for bar in column.bars)
    ends = column.bars[0].label, column.bars[-1].label
    label = f"histogram of the values between {ends[0].split(' – ')[0]} and {ends[1].split(' – ')[-1]}"
    return element("span", *boxes, role="img", aria_label=label, look="histogram")


def _box(bar: Bar, most: int, *, counts: bool) -> Html:
    height = max(round(_HEIGHT * bar.count / most), 1 if bar.count else 0)
    block = _BLOCKS[min(len(_BLOCKS) * bar.count // (most + 1), len(_BLOCKS) - 1)] if bar.count else " "
    label = f"{bar.label}: {bar.count:,}" if counts else bar.label
    return element("span", escape(block), title=label, look="bar", style=f"height:{height}px")


def _ranking(bars: tuple[Bar, ...]) -> Html:
    most = max(bar.count for bar in bars) or 1
    return join(*(_line(bar, most) for bar in bars))


def _line(bar: Bar, most: int) -> Html:
    width = max(round(64 * bar.count / most), 1)
    shown = (
        element("span", escape(bar.label or "(empty)"), look="rank-name", title=bar.label),
        element("span", look="rank-bar", style=f"width:{width}px"),
        markup.muted(f"{bar.count:,}"),
    )
    return element("div", join(*shown, between=" "), look="rank")
