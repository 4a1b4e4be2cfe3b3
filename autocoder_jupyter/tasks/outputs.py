"""What a caller gets: one output bare, several as a named tuple, files moved to where the caller can keep them."""

from __future__ import annotations

import functools
import keyword
import re
import shutil
from collections import namedtuple
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autocoder_jupyter.types import Dir, File, OutputSpec


def field_names(names: Sequence[str]) -> tuple[str, ...]:
    """Output names as field names of a tuple: `summary.csv` becomes `summary_csv`, `class` becomes `class_`.

    A digit or an underscore cannot come first: `2024` becomes `output_2024`. Equal ones are numbered.
    """
    fields: list[str] = []
    for name in names:
        field = re.sub(r"\W", "_", name)
        if not field or field[0] == "_" or not field.isidentifier():
            field = "output_" + field.lstrip("_")
        if keyword.iskeyword(field):
            field += "_"
        base, number = field, 2
        while field in fields:
            field = f"{base}_{number}"
            number += 1
        fields.append(field)
    return tuple(fields)


def packed(values: Mapping[str, Any], outputs: Sequence[OutputSpec]) -> Any:
    """The values in declared order: one bare, several as a named tuple."""
    ordered = [values[output.name] for output in outputs]
    if len(ordered) == 1:
        return ordered[0]
    return outputs_type(field_names([output.name for output in outputs]))(*ordered)


class NamedOutputs:
    """What every tuple of outputs is besides a named tuple: a notebook shows it by this type, a Figure as a picture."""

    __slots__ = ()


@functools.lru_cache(maxsize=256)
def outputs_type(fields: tuple[str, ...]) -> Any:
    """The named tuple with these fields. It pickles although it is made on the fly."""
    base = namedtuple("Outputs", fields)  # type: ignore[misc]  # the fields are known only now

    def __reduce__(self: tuple[Any, ...]) -> Any:
        return _revive, (fields, tuple(self))

    return type("Outputs", (base, NamedOutputs), {"__slots__": (), "__reduce__": __reduce__, "__module__": __name__})


def _revive(fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return outputs_type(fields)(*values)


def landed(values: Mapping[str, Any], folder: Path | None, home: Path) -> dict[str, Any]:
    """Move files and folders that came out of a sandbox to where they stay.

    Args:
        values: outputs by name.
        folder: the place that the caller gave, if any; what is there under the same name is replaced.
        home: where a fresh numbered folder is made otherwise.
    """
    result = dict(values)
    paths = {name: value for name, value in values.items() if isinstance(value, File | Dir)}
    if not paths:
        return result
    if folder is None:
        folder = _fresh_folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    for name, value in paths.items():
        own = value.path.name if value.path.name not in taken else f"{name}-{value.path.name}"
        taken.add(own)
        result[name] = type(value)(_moved(value.path, folder / own))
    return result


def _moved(source: Path, target: Path) -> Path:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
        shutil.rmtree(source)
    else:
        target.unlink(missing_ok=True)
        shutil.move(source, target)
    return target.resolve()


def _fresh_folder(home: Path) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(path.name) for path in home.iterdir() if path.name.isdecimal()), default=0)
    while True:
        try:
            (home / str(number)).mkdir()
        except FileExistsError:  # another call was faster
            number += 1
        else:
            return home / str(number)
