"""The classes `File`, `Dir` and `Figure` for inputs and outputs of a function."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.chart_words import chart_words
from autocoder_jupyter.untrusted.charts import chart_bundle, why_not_drawn
from autocoder_jupyter.untrusted.folder import Folder

FigureKind = Literal["matplotlib", "plotly", "altair"]
"""The library of a figure. Libraries that draw with matplotlib count as matplotlib."""


class _PathValue(os.PathLike[str]):
    """A path with a type. Two are equal if they have the same type and the same path."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, _PathValue) and other.path == self.path

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.path))


class File(_PathValue):
    """One file as an input or output. In the sandbox the solution gets a `pathlib.Path` to a copy."""


class Dir(_PathValue):
    """A folder and its content as an input or output. In the sandbox the solution gets a `pathlib.Path` to a copy."""


@dataclass(frozen=True)
class Figure:
    """A figure of a solution, as pictures and as data. It was rendered in the sandbox and checked afterwards.

    Args:
        png: the picture as PNG; b"" for a figure of Plotly or Altair, which the page renders.
        width: the width of the picture in pixels.
        height: the height of the picture in pixels.
        svg: the picture as SVG, without scripts and external references; b"" if there is none or it is too large.
        kind: `matplotlib`, `plotly` or `altair`.
        spec: its content as JSON values: axes with titles, labels and series; or the specification of its library.
        data: its data: one dict per series (`type`, `name`, `x`, `y` …); for Altair the rows of its tables.
        preview: a smaller copy of a large `png`, in fewer colours, which the card shows; b"" if there is none.
    """

    png: bytes
    width: int
    height: int
    svg: bytes = field(default=b"", repr=False)
    kind: FigureKind = "matplotlib"
    spec: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    data: list[dict[str, Any]] = field(default_factory=list, hash=False, repr=False)
    preview: bytes = field(default=b"", repr=False, compare=False)

    @property
    def description(self) -> str:
        """What it shows, in one line of at most 600 characters: kind, title, axes with ranges, number of marks.

        It is the text for readers who do not see the figure. If its content is not known, it is the size in pixels.
        """
        size = f"a picture of {self.width} × {self.height} pixels" if self.width else f"a figure of {self.kind}"
        return chart_words(self.kind, self.spec) or size

    def _repr_png_(self) -> bytes | None:
        return self.png or None

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {} if self.kind == "matplotlib" else chart_bundle(self.kind, self.spec)

    def __repr__(self) -> str:
        if self.png:
            content = chart_words(self.kind, self.spec)
            return f"<Figure {self.width}x{self.height} png{f': {content}' if content else ''}>"
        reason = "" if self.kind == "matplotlib" else why_not_drawn(self.kind, self.spec)
        drawn = f"; not drawn, because {reason}" if reason else ""
        return f"<Figure of {self.kind}: {self.description}; see .data{drawn}>"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture as PNG or SVG, or its content as JSON, depending on the suffix of the file.

        Args:
            path: the path of the file, which is replaced if it exists. The suffix is `.png`, `.svg` or `.json`. Without
                a suffix, the first of these that the figure has is added.

        Returns:
            The path that was written.

        Raises:
            InvalidRequest: the suffix is not known, the figure does not have this format, or writing failed.
        """
        target = Path(path).expanduser()
        contents = {".png": self.png, ".svg": self.svg, ".json": json.dumps(self.spec).encode() if self.spec else b""}
        formats = [suffix for suffix, content in contents.items() if content]
        if not target.suffix and not target.is_dir():
            target = target.with_name(f"{target.name}{formats[0] if formats else '.png'}")
        if target.is_dir():
            example = target / f"figure{formats[0] if formats else '.png'}"
            raise InvalidRequest(f"{target} is a folder.", hint=f"Name a file: {str(example)!r}.")
        content = contents.get(target.suffix.lower(), b"")
        if not content:
            raise InvalidRequest(
                f"This figure of {self.kind} cannot be saved as {target.suffix}.",
                why=f"The sandbox returned {_listed(formats) or 'no file'}.",
                hint=f"Write .save({str(target.with_suffix(formats[0]))!r})." if formats else "",
            )
        refusal = f"The figure cannot be written to {target}."
        if not target.parent.is_dir():
            raise InvalidRequest(refusal, why=f"There is no folder {target.parent}.", hint="Create the folder first.")
        try:
            Folder(target.parent).write(target.name, content)  # a symbolic link is replaced, not followed
        except OSError as error:
            raise InvalidRequest(
                refusal, why=f"{error.strerror or error}.", hint="Choose a folder with write permission."
            ) from None
        return target


def _listed(suffixes: list[str]) -> str:
    return " and ".join(suffix[1:].upper() for suffix in suffixes)
