"""Take hold of a value of the notebook so that later edits of it change nothing."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pandas as pd

from autocoder_jupyter.data.foreign import converted, original_kind, with_original_kind
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import Dir, File


def capture(value: Any) -> Any:
    """A private hold on a sample, made on the thread that owns it.

    With copy-on-write (always on in pandas 3, an option in pandas 2) a shallow copy is enough: it takes no time at
    any size, and whoever writes to the frame afterwards writes to a new block. Without copy-on-write the data are
    copied (40 ms for 1 million rows by 20 columns).

    Two kinds of edit still reach a captured frame, and would reach a deep copy of pandas just as well in the first
    case: changing a list or dict *inside* a cell in place, and writing into a numpy array that a frame was made
    from with `copy=False`.

    Args:
        value: a DataFrame, a Series, a `File` or a `Dir`; or a table of another library (`foreign`), which is
            converted.

    Raises:
        InvalidRequest: anything else, or a path where there is no such file or folder.
    """
    if isinstance(value, pd.DataFrame | pd.Series):
        return with_original_kind(value.copy(deep=not _copy_on_write()), original_kind(value))
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
    """Refuse a subclass of DataFrame or Series: what it holds besides would be lost on its way, unsaid.

    Raises:
        InvalidRequest: with the variable's name in it.
    """
    plain = next((kind for kind in (pd.DataFrame, pd.Series) if isinstance(value, kind)), None)
    if plain is None or type(value) is plain:
        return
    kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}".removeprefix("__main__.")
    way_out = f"{name} = pd.{plain.__name__}({name})"
    if plain is pd.DataFrame and callable(getattr(value, "to_wkt", None)):
        way_out = f"{name} = {name}.to_wkt()"  # of GeoPandas: geometries cross as text only
    raise InvalidRequest(
        f"{name} is a {kind}, and only a plain {plain.__name__} can be sent into the sandbox.",
        hint=f"Write for instance {way_out}, then run the cell again.",
    )


def captured_value(value: Any) -> Any:
    """A private hold on a value of an example: data as samples are captured, plain values copied.

    Raises:
        InvalidRequest: a file or folder that is not there.
    """
    is_data = isinstance(value, pd.DataFrame | pd.Series | File | Dir)
    converts = callable(getattr(value, "to_pandas", None)) and not isinstance(value, type)
    return capture(value) if is_data or converts else copy.deepcopy(value)


def with_absolute_path(value: File | Dir) -> File | Dir:
    """The same file or folder by its absolute path, so that it stays the same when the working folder changes.

    A link that a person names is followed, for they mean what it points at; links inside a `Dir` are refused later,
    because nobody has named those.

    Raises:
        InvalidRequest: it is not there, or not of this kind.
    """
    path = value.path
    if path.is_file() if isinstance(value, File) else path.is_dir():
        return type(value)(path.resolve())
    if path.is_file() or path.is_dir():
        other = "Dir" if isinstance(value, File) else "File"
        raise InvalidRequest(f"{path} is not a {type(value).__name__}.", hint=f"Write {other}({str(path)!r}).")
    if path.exists():
        raise InvalidRequest(f"{path} is neither a plain file nor a folder.")
    hint = "" if path.is_absolute() else f"It is looked for in {Path.cwd()}."
    raise InvalidRequest(f"{path} does not exist.", hint=hint)


def _copy_on_write() -> bool:
    return int(pd.__version__.partition(".")[0]) >= 3 or pd.options.mode.copy_on_write is True


def _hint(value: object) -> str:
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        return f"For a file write File({str(value)[:80]!r})."
    if isinstance(value, list | dict):
        return "Make a table of it: pd.DataFrame(value)."
    return "Convert it to a DataFrame first."
