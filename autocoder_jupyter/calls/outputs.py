"""Return values of a call: a single output, or a named tuple of several; files are moved to a permanent place."""

from __future__ import annotations

import functools
import itertools
import keyword
import re
import shutil
from collections import namedtuple
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autocoder_jupyter.errors import writing
from autocoder_jupyter.types import Dir, File, OutputSpec
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.visible import hides, visible


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
    """The values in declared order: a single one itself, several as a named tuple."""
    ordered = [values[output.name] for output in outputs]
    if len(ordered) == 1:
        return ordered[0]
    return outputs_type(field_names([output.name for output in outputs]))(*ordered)


class NamedOutputs:
    """Base of all tuples of outputs. A notebook chooses the display by this type, and shows a Figure as a picture."""

    __slots__ = ()


@functools.lru_cache(maxsize=256)
def outputs_type(fields: tuple[str, ...]) -> Any:
    """The named tuple with these fields. It can be pickled although it is created dynamically."""
    base = namedtuple("Outputs", fields)  # type: ignore[misc]  # the fields are known only now

    def __reduce__(self: tuple[Any, ...]) -> Any:
        return _revive, (fields, tuple(self))

    return type("Outputs", (base, NamedOutputs), {"__slots__": (), "__reduce__": __reduce__, "__module__": __name__})


def _revive(fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return outputs_type(fields)(*values)


def moved_to_destination(values: Mapping[str, Any], folder: Path | None, root: Path, name: str) -> dict[str, Any]:
    """Move files and folders from a sandbox to their permanent place.

    The program chose their names. In the caller's folder they get the names of the outputs, and never replace existing
    files.
    """
    result = dict(values)
    paths = {name: value for name, value in values.items() if isinstance(value, File | Dir)}
    if not paths:
        return result
    with writing(f"What {name} made", root if folder is None else folder):
        if folder is None:
            place = _fresh_folder(Folder(root.parent), f"{root.name}/{name}/outputs")
        else:
            folder.mkdir(parents=True, exist_ok=True)
            place = folder
        for output, value in paths.items():
            own = value.path.name if folder is None else _called_as(output, value.path)
            result[output] = type(value)(_moved(value.path, place, own))
    return result


_MODULES = frozenset({".py", ".pyw", ".pyc", ".pyd", ".so", ".pth"})


def _called_as(output: str, path: Path) -> str:
    """The file name: `report` and `x.pdf` give `report.pdf`; an output with the name `report.pdf` keeps it.

    A file that Python could import from the caller's folder instead of the real module gets a name that cannot be
    imported: `json` and `x.py` give `json-file.py`, as does `json.py`, because a record may have named the output.
    """
    if path.is_dir():
        is_package = output.isidentifier() and any(_is_module(file.name) for file in path.rglob("*"))
        return f"{output}-folder" if is_package else output
    name = output if Path(output).suffix == path.suffix else output + path.suffix
    module, dot, suffix = name.partition(".")
    return f"{module}-file{dot}{suffix}" if module.isidentifier() and _is_module(name) else name


def _is_module(name: str) -> bool:
    """Whether Python could import a file with this name. Windows leaves out dots and blanks at the end, and the case of
    letters does not matter there. A folder is a package also if only its subfolders have modules.
    """
    return Path(name.rstrip(" .")).suffix.lower() in _MODULES


def _seen(name: str) -> str:
    """A name without hidden characters: one for U+202E, which changes the direction, becomes `_u202e`."""
    return visible(name).replace("\\", "_") if hides(name) else name


def _moved(source: Path, place: Path, name: str) -> Path:
    """Move into a folder under this name, or under a numbered one if the name is taken, without hidden characters."""
    name = _seen(name)
    for number in itertools.count(1):
        target = place / (name if number == 1 else f"{Path(name).stem}-{number}{Path(name).suffix}")
        try:  # exclusive creation: an existing file or link stays
            if source.is_dir():
                target.mkdir()
            else:
                target.touch(exist_ok=False)
        except FileExistsError:
            continue
        break
    if source.is_dir():
        for inner in sorted(source.iterdir()):
            _moved(inner, target, inner.name)
        source.rmdir()
    else:
        shutil.move(source, target)
    return target.resolve()


def _fresh_folder(files: Folder, home: str) -> Path:
    """A new numbered folder. No part of its path is a link, because `.autocode` is not trusted."""
    taken = [int(name) for name in files.names(home) if name.isdecimal() and len(name) < 10]
    number = 1 + max(taken, default=0)
    while True:
        try:
            return files.make_folder(f"{home}/{number}")
        except FileExistsError:  # another call took this number
            number += 1
