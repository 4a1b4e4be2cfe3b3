"""The classes `File`, `Dir` and `Figure`, and what the record of a type refers to: checks, hints and conversions."""

from __future__ import annotations

import datetime as dt
import functools
import json
import numbers
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.untrusted.chart_words import chart_words
from autocoder_jupyter.untrusted.charts import chart_bundle, why_not_drawn
from autocoder_jupyter.untrusted.folder import Folder

if TYPE_CHECKING:
    from pydantic import TypeAdapter


# Files, folders and figures

FigureKind = Literal["matplotlib", "plotly", "altair"]
"""The library of a figure. Libraries that draw with matplotlib count as matplotlib."""


class _PathValue(os.PathLike[str]):
    """A path with a type. Two are equal if they have the same type and the same path."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = local_path(path, "Download it first, and pass the path of the file or folder.").expanduser()

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
        target = local_path(path).expanduser()
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


# The record of a type, such as `DataFrame` or `date`

TypeName = Literal[
    "str",
    "int",
    "float",
    "bool",
    "datetime",
    "date",
    "timedelta",
    "File",
    "Dir",
    "DataFrame",
    "Series",
    "dict",
    "list",
    "Figure",
]
"""The types of inputs and outputs of a solution."""

Form = Literal["single", "time", "container", "path", "table", "figure"]
"""Groups of types: scalars, times in ISO format, dicts and lists, files, tables, figures."""

REFUSED = object()
"""The result of a check for a value of another type."""


@dataclass(frozen=True)
class Kind:
    """One type of inputs and outputs. How it is sent to the sandbox is defined in `codec`, which also runs there.

    Args:
        python: the class in the notebook, as `module:name`; the module is imported when it is needed.
        annotation: how it is written in a solution.
        words: names that models use for it, in lower case and without separators.
        aliases: names of other classes that also mean this type.
        accept: returns a value in the form that is sent, or `REFUSED` for a value of another type. Tables were
            converted to pandas before.
        hint: returns what to write instead, from the name of an input and the refused value; "" if there is no hint.
        json: the JSON types of a default; empty if it cannot have a default.
        from_json: converts a default from JSON. Raises ValueError or TypeError if it is not valid.
        source: such a default as an expression in a solution.
        from_iso: returns a time in canonical ISO format. Raises ValueError if it is not valid.
        empty: the output for an empty result; "" if there is none.
        reader: the function that reads it on the command line of an exported script.
        metavar: its placeholder in the help of the script.
        sample_hint: the hint if a sample cannot be sent to the sandbox.
        is_input: whether it can be the type of an input.
        is_compared: whether two values can be compared by their content.
        names_columns: whether its value can contain the name of a column.
    """

    python: str
    annotation: str
    form: Form
    words: str
    accept: Callable[[Any], Any]
    aliases: tuple[str, ...] = ()
    hint: Callable[[str, Any], str] = lambda name, value: ""
    json: tuple[type, ...] = ()
    from_json: Callable[[Any], Any] = lambda default: default
    source: Callable[[Any], str] = repr
    from_iso: Callable[[str], str] | None = None
    iso_example: str = ""
    empty: str = ""
    reader: str = ""
    metavar: str = ""
    sample_hint: str = "Convert or drop that column first, then run the cell again."
    is_input: bool = True
    is_compared: bool = True
    names_columns: bool = True

    @property
    def python_type(self) -> Any:
        """The class in the notebook."""
        module, _, name = self.python.partition(":")
        return getattr(import_module(module), name)

    @property
    def is_data(self) -> bool:
        """Whether it is data: a table or files."""
        return self.form in ("table", "path")

    @property
    def stands_alone(self) -> bool:
        """Whether it cannot be an element of a list or dict."""
        return self.is_data or self.form == "figure"

    def takes_json(self, value: Any) -> bool:
        """Whether a JSON value can be its default. True and False are not numbers here."""
        return isinstance(value, self.json) and isinstance(value, bool) == (bool in self.json)


# Checks of values, and hints for values of another type
#
# A check returns the value in the form that is sent to the sandbox: an int becomes a float, a numpy scalar a Python
# value, a tuple a list. Nothing else is converted.


def text(value: Any) -> Any:
    return str(value) if isinstance(value, str) else REFUSED


def truth(value: Any) -> Any:
    """True or False, of Python or numpy."""
    numpys = type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")
    return bool(value) if isinstance(value, bool) or numpys else REFUSED


def whole(value: Any) -> Any:
    return int(value) if isinstance(value, numbers.Integral) and _is_number(value) else REFUSED


def number(value: Any) -> Any:
    return float(value) if isinstance(value, numbers.Real) and _is_number(value) else REFUSED


def _is_number(value: object) -> bool:
    """Whether it is a number. Unlike in Python, numpy durations and bools are not numbers."""
    return not isinstance(value, bool) and type(value).__name__ != "timedelta64"


def time(value: Any) -> Any:
    """A date with a time of day."""
    return value if isinstance(value, dt.datetime) and value == value else REFUSED  # NaT is not equal to itself


def day(value: Any) -> Any:
    """A date without a time of day."""
    return value if isinstance(value, dt.date) and not isinstance(value, dt.datetime) else REFUSED


def duration(value: Any) -> Any:
    return value if isinstance(value, dt.timedelta) and value == value else REFUSED


def instance(kind: type) -> Callable[[Any], Any]:
    """A check for an instance of a class."""
    return lambda value: value if isinstance(value, kind) else REFUSED


def of_pandas(name: str) -> Callable[[Any], Any]:
    """A check for an instance of a pandas class. pandas is not imported for it."""

    def check(value: Any) -> Any:
        pandas = sys.modules.get("pandas")
        return value if pandas is not None and isinstance(value, getattr(pandas, name)) else REFUSED

    return check


def mapping(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else REFUSED


def sequence(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else REFUSED


def never(value: Any) -> Any:
    """Refuses every value, for types that cannot be inputs."""
    return REFUSED


def hint_of_path(kind: str) -> Callable[[str, Any], str]:
    """Hint for a path: wrap it in `File` or `Dir`."""
    return lambda name, value: (
        f"Write {name}={kind}({os.fspath(value)!r})." if isinstance(value, str | os.PathLike) else ""
    )


def hint_of_frame(name: str, value: Any) -> str:
    """Hint for a Series: convert it to a DataFrame; for a list or dict: make one table of it."""
    if isinstance(value, list | tuple | dict):
        return f"Pass {one_table(name, value)}."
    return f"Pass {name}.to_frame()." if hasattr(value, "to_frame") else ""


def one_table(name: str, value: list[Any] | tuple[Any, ...] | dict[Any, Any]) -> str:
    """The expression that makes one DataFrame of a list or dict: of its tables, or of its values."""
    parts = list(value.values()) if isinstance(value, dict) else list(value)
    if not parts or not all(callable(getattr(type(part), "head", None)) for part in parts):
        return f"pd.DataFrame({name})"
    if isinstance(value, dict):
        return f'pd.concat({name}, names=["key"]).reset_index("key")'
    return f"pd.concat({name}, ignore_index=True)"


def hint_of_series(name: str, value: Any) -> str:
    """Hint for a DataFrame: pass one column."""
    return f"Pass one column of it, for instance {name}[{name}.columns[0]]." if hasattr(value, "columns") else ""


def hint_of_date(name: str, value: Any) -> str:
    """Hint for a datetime: pass its date."""
    return "Pass its .date()." if isinstance(value, dt.datetime) else ""


def hint_of_datetime(name: str, value: Any) -> str:
    """Hint for texts, dates and times of numpy."""
    convertible = isinstance(value, str | dt.date) or hasattr(value, "astype")
    return "Pass pd.Timestamp(…) of it." if convertible else ""


def hint_of_duration(name: str, value: Any) -> str:
    """Hint for texts, numbers and durations of numpy."""
    convertible = isinstance(value, str | numbers.Real) or hasattr(value, "astype")
    return "Pass pd.Timedelta(…) of it, with a unit." if convertible else ""


# Conversions from text and JSON, and back. Invalid input raises ValueError or TypeError.

_ISO_DURATION = re.compile(r"P(?=.)(?:\d+W)?(?:\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?")


def duration_from_json(value: Any) -> dt.timedelta:
    """A duration from its ISO text or from a number of seconds."""
    return _durations().validate_python(value)


def duration_source(default: Any) -> str:
    """The default of a duration as an expression."""
    return f"datetime.timedelta(seconds={duration_from_json(default).total_seconds():.15g})"


@functools.cache
def _durations() -> TypeAdapter[dt.timedelta]:
    from pydantic import TypeAdapter

    return TypeAdapter(dt.timedelta)


def iso_datetime(text: str) -> str:
    return dt.datetime.fromisoformat(text).isoformat()


def iso_date(text: str) -> str:
    return dt.date.fromisoformat(text).isoformat()


def iso_duration(text: str) -> str:
    if not _ISO_DURATION.fullmatch(text):
        raise ValueError
    return text
