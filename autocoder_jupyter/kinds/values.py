"""Values that are ours: `File`, `Dir` and `Figure`, as inputs and outputs of a function."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plotly_figures import PLOTLY, harmless_traces
from autocoder_jupyter.untrusted.vega_charts import VEGALITE, harmless_chart

FigureKind = Literal["matplotlib", "plotly", "altair"]
"""The library that a figure was made with; what draws with matplotlib counts as that."""


class _PathValue(os.PathLike[str]):
    """A path that says what it points at; equal to another of its kind with the same path."""

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
    """One file, as an input or an output. Inside the sandbox the solution sees a `pathlib.Path` to a copy of it."""


class Dir(_PathValue):
    """A folder with all that is in it, as an input or an output. The solution sees a `pathlib.Path` to a copy."""


@dataclass(frozen=True)
class Figure:
    """A figure that a solution drew, as pictures and as data; all of it made inside the sandbox and checked here.

    Args:
        png: the encoded picture; b"" for a figure of Plotly or Altair, which a page draws.
        width: of the picture in pixels.
        height: likewise.
        svg: the picture as SVG, with nothing that runs or fetches; b"" where there is none, or it would be too large.
        kind: `matplotlib`, `plotly` or `altair`.
        spec: what it shows, as JSON values: axes with titles, labels and series; or the specification of its library.
        data: what is drawn: a dict a series (`type`, `name`, `x`, `y` …), for Altair the rows of its tables.
    """

    png: bytes
    width: int
    height: int
    svg: bytes = field(default=b"", repr=False)
    kind: FigureKind = "matplotlib"
    spec: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    data: list[dict[str, Any]] = field(default_factory=list, hash=False, repr=False)

    def _repr_png_(self) -> bytes | None:
        return self.png or None

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        shown = {
            PLOTLY: harmless_traces(self.spec) if self.kind == "plotly" else None,
            VEGALITE: harmless_chart(self.spec) if self.kind == "altair" else None,
        }
        return {mime: spec for mime, spec in shown.items() if spec is not None}

    def __repr__(self) -> str:
        if self.png:
            return f"<Figure {self.width}x{self.height} png>"
        return f"<Figure of {self.kind}: {len(self.data)} {'tables' if self.kind == 'altair' else 'series'}; see .data>"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture as PNG or SVG, or what it shows as JSON, by the ending of the file's name.

        Args:
            path: of the file, which is replaced if it exists. Its name ends in `.png`, `.svg` or `.json`; where there
                is no ending, the first of these that the figure has is added.

        Returns:
            The path that was written.

        Raises:
            InvalidRequest: another ending, one that this figure does not have, or a place that cannot be written.
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
                why=f"It was drawn in the sandbox; what came out of there is {_listed(formats) or 'nothing'}.",
                hint=f"Write .save({str(target.with_suffix(formats[0]))!r})." if formats else "",
            )
        refusal = f"The figure cannot be written to {target}."
        if not target.parent.is_dir():
            raise InvalidRequest(refusal, why=f"There is no folder {target.parent}.", hint="Make the folder first.")
        try:
            Folder(target.parent).write(target.name, content)  # never through a link that somebody put there
        except OSError as error:
            raise InvalidRequest(
                refusal, why=f"{error.strerror or error}.", hint="Choose a place that you may write to."
            ) from None
        return target


def _listed(suffixes: list[str]) -> str:
    return " and ".join(suffix[1:].upper() for suffix in suffixes)
