"""Outputs of a function as rows, pictures, files and text: those on the sample, and those of a call."""

from __future__ import annotations

import pprint
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.types import Dir, Figure, File
from autocoder_jupyter.types.records import Glimpse
from autocoder_jupyter.untrusted.charts import chart_place, why_not_drawn
from autocoder_jupyter.untrusted.plain_json import shortened
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.as_html import blocks_html, data_address, download
from autocoder_jupyter.view.document import Block, Drawing, Row, Span, Table, line, lines, muted
from autocoder_jupyter.view.markup import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.types.records import Excerpt

# Outputs on the sample
#
# They are untrusted: text, and PNG that was checked.

MOST_OUTPUTS = 6
"""Outputs that are shown; of the others only the names."""


def output_blocks(seen: SampleOutputs | None, name: str, *, draws: bool = True) -> tuple[Block, ...]:
    """Every output with its name; if rows are withheld or a figure is left out, how to see them."""
    if seen is None:
        return ()
    groups = _groups(seen)
    shown = [block for group in groups[:MOST_OUTPUTS] for block in _group_blocks(group, name, draws)]
    if seen.withheld:
        shown.append(muted(f"Rows are not saved here because share forbids it. {name}.run() shows them."))
    if more := ", ".join(glimpse.name for group in groups[MOST_OUTPUTS:] for glimpse in group):
        shown.append(muted(f"and {more}"))
    return tuple(shown)


def picture_blocks(seen: SampleOutputs | None) -> tuple[Block, ...]:
    """The outputs that `output_blocks` shows in words if it does not draw; none before the function ran."""
    drawn = (tuple(filter(_is_drawn, group)) for group in _groups(seen)[:MOST_OUTPUTS]) if seen is not None else ()
    return tuple(block for group in drawn for block in _group_blocks(group, "", draws=True))


def _groups(seen: SampleOutputs) -> list[tuple[Glimpse, ...]]:
    """The outputs; the figures of one list, whose pictures stand side by side, are together."""
    return [tuple(group) for _, group in groupby(seen.glimpses, _drawn_with)]


def _drawn_with(glimpse: Glimpse) -> str:
    """What the figures of one list have in common; otherwise its own name."""
    return glimpse.name if glimpse.table else glimpse.name.partition("[")[0]


def _is_drawn(glimpse: Glimpse) -> bool:
    return bool(glimpse.picture or glimpse.chart)


def _group_blocks(group: Sequence[Glimpse], name: str, draws: bool) -> Iterable[Block]:
    pictures = list(filter(_is_drawn, group))
    if len(pictures) < 2 or not draws:
        return (block for one in group for block in glimpse_blocks(one, name, draws=draws))
    tiles = (
        element("div", element("strong", escape(one.name)), _picture(one, "figure"), look="tile") for one in pictures
    )
    captions = lines(f"output {one.name}: {one.text}" for one in pictures)
    others = (block for one in group if not _is_drawn(one) for block in glimpse_blocks(one, name))
    return Row("", captions, only="text"), Drawing(element("div", *tiles, look="tiles"), is_counted=False), *others


def _picture(glimpse: Glimpse, look: str) -> Html:
    """The picture or the chart of an output that has one."""
    if glimpse.chart:
        return markup.chart(glimpse.chart, glimpse.text)
    alt = f"{glimpse.name}: {glimpse.text}"
    return element("img", alt=alt, src=data_address(glimpse.picture, "image/png"), look=look)


def column_texts(seen: SampleOutputs | None, where: str) -> tuple[str, ...]:
    """The cells of a column that is shown, such as `monthly.revenue`; nothing for anything else."""
    for glimpse in seen.glimpses if seen else ():
        for place, heading in enumerate(glimpse.table.headings if glimpse.table else ()):
            if glimpse.table and where == f"{glimpse.name}.{heading}":
                return tuple(row[place] for row in glimpse.table.rows)
    return ()


def glimpse_blocks(glimpse: Glimpse, name: str = "", *, draws: bool = True) -> tuple[Block, ...]:
    """One output: its size and first rows, its picture, or its value."""
    named = Span(glimpse.name, "strong", only="html"), Span(f"output {glimpse.name}:", only="text")
    if _is_drawn(glimpse):
        if not draws:
            return (line(*named, Span(glimpse.text, "muted")),)
        drawing = Drawing(_picture(glimpse, "figure small"), is_counted=False)
        return line(*named, Span(glimpse.text, "muted", only="text")), drawing
    if glimpse.left_out:
        where = f"; {name}.run(…) returns it" if name else ""
        return (line(*named, Span(glimpse.text, "muted"), Span(f"({glimpse.left_out}{where})", "muted", only="html")),)
    if glimpse.table is None:
        return (line(*named, Span(glimpse.text, "code")),)
    table = glimpse.table
    return line(*named, Span(table.size, "muted")), Table(table.headings, table.rows, table.numeric)


# Outputs of a call

DOWNLOAD_BYTES = 2**20
"""Bytes of the largest file with a download link; the kernel may be on another machine."""

_LISTED = 20
_TEXT_CHARACTERS = 4_000


def outputs_html(name: str, values: Mapping[str, Any], excerpt: Callable[[Any], Excerpt]) -> Html:
    """Every output with its name."""
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
    """An image as wide as the page at most, with download links; an interactive figure is a chart."""
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
