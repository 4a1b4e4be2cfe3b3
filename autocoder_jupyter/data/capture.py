"""Capture a value of the notebook, so that later changes of the variable have no effect."""

from __future__ import annotations

import copy
import re
from typing import Any

import pandas as pd

from autocoder_jupyter.codec import Unencodable, encode
from autocoder_jupyter.codec.geometry import is_geographic
from autocoder_jupyter.codec.plain import to_json
from autocoder_jupyter.data.elsewhere import refuse_elsewhere
from autocoder_jupyter.data.foreign import converted, origin_of, with_origin
from autocoder_jupyter.errors import InvalidRequest, working_folder
from autocoder_jupyter.kinds.values import one_table
from autocoder_jupyter.types import Dir, File


def capture(value: Any) -> Any:
    """A private copy of a sample. Call it on the thread that owns the value.

    With copy-on-write (always on in pandas 3, an option in pandas 2) a shallow copy is enough: it takes no time at
    any size, and a later write to the frame goes to a new block. Without copy-on-write the data are copied (40 ms
    for 1 million rows by 20 columns).

    Two kinds of change still reach a captured frame: changing a list or dict *inside* a cell in place (which would
    also reach a deep copy of pandas), and writing into a numpy array from which the frame was made with
    `copy=False`.

    Args:
        value: a DataFrame, a Series, a `File` or a `Dir`; or a table of another library (`foreign`), which is
            converted.

    Raises:
        InvalidRequest: the value has another type, its rows are not in memory, or the file or folder does not exist.
    """
    refuse_elsewhere(value)
    if isinstance(value, pd.DataFrame | pd.Series):
        return with_origin(value.copy(deep=not _copy_on_write()), origin_of(value))
    if isinstance(value, File | Dir):
        return with_absolute_path(value)
    if (table := converted(value)) is not None:
        return table
    raise InvalidRequest(
        f"A sample cannot be a {type(value).__name__}.",
        why="Samples are DataFrame, Series, File or Dir, or a table with to_pandas().",
        hint=_hint(value),
    )


def require_plain(name: str, value: Any) -> None:
    """Refuse a subclass of DataFrame or Series, because its additional data would be lost silently.

    Those of GeoPandas are kept as they are.

    Raises:
        InvalidRequest: it is another subclass; the message names the variable.
    """
    plain: Any = next((kind for kind in (pd.DataFrame, pd.Series) if isinstance(value, kind)), None)
    if plain is None or type(value) is plain or is_geographic(value):
        return
    kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}".removeprefix("__main__.")
    way_out = f"{name} = pd.{plain.__name__}({name})"
    if plain is pd.DataFrame and callable(getattr(value, "to_wkt", None)):
        way_out = f"{name} = {name}.to_wkt()"  # of a library beside GeoPandas
    raise InvalidRequest(
        f"{name} is a {kind}, but only a plain {plain.__name__} can be sent to the sandbox.",
        hint=f"Write for instance {way_out}, then run the cell again.",
    )


def captured_value(value: Any) -> Any:
    """A private copy of a value of an example: data are captured like samples, other values are copied.

    Raises:
        InvalidRequest: a file or folder does not exist, or the value cannot cross into a sandbox.
    """
    is_data = isinstance(value, pd.DataFrame | pd.Series | File | Dir)
    converts = callable(getattr(value, "to_pandas", None)) and not isinstance(value, type)
    held = capture(value) if is_data or converts else value
    try:  # before it is copied or shown, because that calls methods of its class
        if isinstance(held, pd.DataFrame | pd.Series):
            encode(held, "DataFrame" if isinstance(held, pd.DataFrame) else "Series")
        elif not isinstance(held, File | Dir):
            to_json(held, "it", simplify=True)
    except Unencodable as error:
        raise InvalidRequest("A value of an example cannot be sent to the sandbox.", why=f"{error}.") from None
    return copy.deepcopy(held) if held is value else held


def with_absolute_path(value: File | Dir) -> File | Dir:
    """The same file or folder with its absolute path, so that it does not depend on the working folder.

    A link that the user names is followed. Links inside a `Dir` are refused later, because the user did not name
    them.

    Raises:
        InvalidRequest: it does not exist, or is not a file or a folder as declared.
    """
    path = value.path
    if path.is_file() if isinstance(value, File) else path.is_dir():
        return type(value)(path.resolve())
    if path.is_file() or path.is_dir():
        other = "Dir" if isinstance(value, File) else "File"
        raise InvalidRequest(f"{path} is not a {type(value).__name__}.", hint=f"Write {other}({str(path)!r}).")
    if path.exists():
        raise InvalidRequest(f"{path} is neither a plain file nor a folder.")
    hint = "" if path.is_absolute() else f"It is looked for in {working_folder()}."
    if re.match(r"[A-Za-z][\w+.-]+:/", str(path)):
        hint = "Addresses are not opened. Download it first, and pass the path of the file."
    raise InvalidRequest(f"{path} does not exist.", hint=hint)


def _copy_on_write() -> bool:
    return int(pd.__version__.partition(".")[0]) >= 3 or pd.options.mode.copy_on_write is True


def _hint(value: object) -> str:
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        return f"For a file write File({str(value)[:80]!r})."
    if isinstance(value, list | dict):
        return f"Make a table of it: {one_table('value', value)}."
    return "Convert it to a DataFrame first."
