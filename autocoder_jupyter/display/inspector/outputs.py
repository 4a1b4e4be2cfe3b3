"""The outputs of a call: tables as tables, figures as images, files as links, everything else as text."""

from __future__ import annotations

import pprint
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.types import Dir, Figure, File
from autocoder_jupyter.untrusted.charts import chart_place, why_not_drawn
from autocoder_jupyter.untrusted.plain_json import shortened
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import blocks_html, data_address, download
from autocoder_jupyter.view.document import Table, muted
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.types.records import Excerpt

DOWNLOAD_BYTES = 2**20
"""Bytes of the largest file with a download link; the kernel may be on another machine."""

_LISTED = 20
_TEXT_CHARACTERS = 4_000


def outputs_html(name: str, values: Mapping[str, Any], excerpt: Callable[[Any], Excerpt]) -> Html:
    """Every output with its name.

    Args:
        name: the name of the result, for the names of downloads.
        values: outputs by name.
        excerpt: gives the first rows of a table.
    """
    shown = (one for output, value in values.items() for one in _parts(output, value))
    return join(*(_named(output, _output(name, output, value, excerpt)) for output, value in shown))


def _parts(output: str, value: Any) -> list[tuple[str, Any]]:
    """A value; or the parts of a list or dict of tables or figures, each with its place in it."""
    items = (
        list(value.items() if isinstance(value, dict) else enumerate(value)) if isinstance(value, list | dict) else []
    )
    if not items or not (isinstance(items[0][1], Figure) or _is_table(items[0][1])):
        return [(output, value)]
    shown = [(f"{output}[{key!r}]", part) for key, part in items[:_LISTED]]
    more = len(items) - _LISTED
    return [*shown, (output, f"and {more} more")] if more > 0 else shown


def _is_table(value: Any) -> bool:
    return type(value).__name__ in ("DataFrame", "Series") and hasattr(value, "index")


def _named(output: str, shown: Html) -> Html:
    return element("div", join(element("strong", escape(output)), shown, between=" "), look="below-rows")


def error_html(error: Exception) -> Html:
    """An error: its message, its cause, and what to do next."""
    what, *rest = (error.what, error.why, error.hint) if isinstance(error, AutocodeError) else (str(error),)
    title = markup.marked(f"✗ {type(error).__name__}", "bad", what)
    return element("div", title, markup.text_lines(filter(None, rest)), role="alert", look="below-rows")


def _output(name: str, output: str, value: Any, excerpt: Callable[[Any], Excerpt]) -> Html:
    if isinstance(value, Figure):
        return figure_html(value, f"{name}-{output}", output)
    if isinstance(value, File):
        return _file(value.path)
    if isinstance(value, Dir):
        return _dir(value.path)
    if _is_table(value):
        return table_html(excerpt(value))
    return value_text(value)


def figure_html(figure: Figure, filename: str, name: str) -> Html:
    """An image as wide as the page at most, with download links; an interactive figure is a chart.

    Args:
        figure: the figure.
        filename: the name of the downloaded file, without extension.
        name: the name of the output.
    """
    if not figure.png:
        place = chart_place(figure.kind, figure.spec, DOWNLOAD_BYTES) if figure.kind != "matplotlib" else ""
        return markup.chart(place, figure.description) if place else _not_drawn(figure)
    links = [download(f"{filename}.png", figure.png, "image/png", f"Save {filename}.png")]
    if 0 < len(figure.svg) <= DOWNLOAD_BYTES:
        links.append(download(f"{filename}.svg", figure.svg, "image/svg+xml", "SVG"))
    size = markup.muted(f"{figure.width} × {figure.height} pixels")
    picture = element(
        "img", alt=f"{name}: {figure.description}", src=data_address(figure.png, "image/png"), look="figure"
    )
    return join(join(size, *links, between=" "), picture)


def _not_drawn(figure: Figure) -> Html:
    reason = "" if figure.kind == "matplotlib" else why_not_drawn(figure.kind, figure.spec)
    why = f"It is not drawn here: {reason or 'it is too large'}."
    return join(element("div", escape(figure.description)), markup.muted_line(why))


def table_html(excerpt: Excerpt) -> Html:
    """The first rows, and the size of the whole table."""
    size = excerpt.size + ("; first rows:" if excerpt.cut else "")
    return blocks_html([muted(size), Table(excerpt.headings, excerpt.rows, excerpt.numeric)])


def _file(path: Path) -> Html:
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= DOWNLOAD_BYTES else b""
    except OSError as error:
        return escape(f"{path} cannot be read: {error.strerror}")
    link = download(path.name, content, "application/octet-stream") if size <= DOWNLOAD_BYTES else EMPTY
    return join(_sized(path, size), link, between=" ")


def _sized(path: Path, size: int) -> Html:
    return join(markup.inline_code(path), markup.muted(f"{size:,} bytes"), between=" ")


def _dir(path: Path) -> Html:
    try:
        files = sorted(file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
        entries = [_sized(file.relative_to(path), file.stat().st_size) for file in files[:_LISTED]]
    except OSError as error:
        return escape(f"{path} cannot be read: {error.strerror}")
    more = [markup.muted(f"and {len(files) - _LISTED} more")] if len(files) > _LISTED else []
    return join(markup.inline_code(path), markup.items([*entries, *more]))


def value_text(value: Any) -> Html:
    """A single value as HTML, cut where it is long."""
    value = shortened(value)
    if isinstance(value, str):
        text = value
    elif isinstance(value, dict | list):
        text = pprint.pformat(value, width=100, sort_dicts=False)
    else:
        text = str(value)
    cut = text if len(text) <= _TEXT_CHARACTERS else f"{text[:_TEXT_CHARACTERS]}… (+{len(text) - _TEXT_CHARACTERS:,})"
    return markup.code(cut) if "\n" in cut or len(cut) > 80 else markup.inline_code(cut if cut else "(empty)")
