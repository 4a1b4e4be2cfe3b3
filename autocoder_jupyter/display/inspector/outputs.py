"""What came out of a call: tables as tables, figures as pictures, files as links, everything else as text."""

from __future__ import annotations

import pprint
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display import markup
from autocoder_jupyter.display.inspector.source import data_address, download
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.types import Dir, Figure, File
from autocoder_jupyter.untrusted.long_ints import shortened

if TYPE_CHECKING:
    from autocoder_jupyter.types.overview import Excerpt

DOWNLOAD_BYTES = 2**20
"""Files up to this size can be downloaded from the output; the kernel may be on another machine."""

_LISTED = 20
_TEXT_CHARACTERS = 4_000


def outputs_html(name: str, values: Mapping[str, Any], excerpt: Callable[[Any], Excerpt]) -> str:
    """Every output under its name.

    Args:
        name: of the result, for the names of downloads.
        values: outputs by name.
        excerpt: the first rows of a table.
    """
    return "".join(_named(output, _output(name, output, value, excerpt)) for output, value in values.items())


def _named(output: str, html: str) -> str:
    return f'<div style="margin-top:8px"><strong>{markup.text(output)}</strong> {html}</div>'


def error_html(error: Exception) -> str:
    """An error as the product says it: what, why, what next."""
    what, *rest = (error.what, error.why, error.hint) if isinstance(error, AutocodeError) else (str(error),)
    told = f"{markup.coloured(f'✗ {type(error).__name__}', markup.BAD)} {markup.text(what)}"
    more = "".join(f"<div>{markup.text(line)}</div>" for line in rest if line)
    return f'<div role="alert" style="margin-top:8px">{told}{more}</div>'


def _output(name: str, output: str, value: Any, excerpt: Callable[[Any], Excerpt]) -> str:
    if isinstance(value, Figure):
        return figure_html(value, f"{name}-{output}", output)
    if isinstance(value, File):
        return _file(value.path)
    if isinstance(value, Dir):
        return _dir(value.path)
    if type(value).__name__ in ("DataFrame", "Series") and hasattr(value, "index"):
        return table_html(excerpt(value))
    return value_text(value)


def figure_html(figure: Figure, filename: str, name: str) -> str:
    """A picture, as wide as there is room for, with links that save it; of one that a page draws, what it holds.

    Args:
        figure: what came out.
        filename: of a file that it is saved in, without ending.
        name: of the output.
    """
    if not figure.png:
        return markup.text(f"a figure of {figure.kind}, which is shown alone as the last line of a cell")
    links = [download(f"{filename}.png", figure.png, "image/png", f"Save {filename}.png")]
    if 0 < len(figure.svg) <= DOWNLOAD_BYTES:
        links.append(download(f"{filename}.svg", figure.svg, "image/svg+xml", "SVG"))
    link = " ".join(links)
    size = markup.muted(f"{figure.width} × {figure.height} pixels")
    style = "display:block;max-width:100%;height:auto;background:#fff;margin:4px 0"
    return f'{size} {link}<img alt="{markup.text(name)}" src="{data_address(figure.png, "image/png")}" style="{style}">'


def table_html(excerpt: Excerpt) -> str:
    """The first rows, and the size of the whole."""
    sides = ["right" if numeric else "left" for numeric in excerpt.numeric]
    lines = [_row("th", excerpt.headings, sides), *(_row("td", row, sides) for row in excerpt.rows)]
    size = excerpt.size + ("; the first of them:" if excerpt.cut else "")
    style = f"{markup.FONT};border-collapse:collapse;margin:4px 0;border:none;font-variant-numeric:tabular-nums"
    return f'{markup.muted(size)}<div style="overflow-x:auto"><table style="{style}">{"".join(lines)}</table></div>'


def _row(tag: str, cells: tuple[str, ...], sides: list[str]) -> str:
    line = f"padding:3px 12px;white-space:nowrap;border:none;border-bottom:1px solid {markup.LINE}"
    shown = "".join(
        f'<{tag} style="text-align:{side};{line}">{markup.text(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f'<tr style="background:none">{shown}</tr>'


def _file(path: Path) -> str:
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= DOWNLOAD_BYTES else b""
    except OSError as error:
        return markup.text(f"{path} cannot be read: {error.strerror}")
    link = download(path.name, content, "application/octet-stream") if size <= DOWNLOAD_BYTES else ""
    return f"{markup.inline_code(path)} {markup.muted(f'{size:,} bytes')} {link}"


def _dir(path: Path) -> str:
    try:
        files = sorted(file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
        entries = [f"{markup.inline_code(file.relative_to(path))} {markup.muted(f'{file.stat().st_size:,} bytes')}"
                   for file in files[:_LISTED]]  # fmt: skip
    except OSError as error:
        return markup.text(f"{path} cannot be read: {error.strerror}")
    more = [markup.muted(f"and {len(files) - _LISTED} more")] if len(files) > _LISTED else []
    return markup.inline_code(path) + markup.items([*entries, *more])


def value_text(value: Any) -> str:
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
