"""Return values of a call: a single output, or a named tuple of several; files are moved to a permanent place."""

from __future__ import annotations

import functools
import inspect
import itertools
import keyword
import re
import shutil
from collections import namedtuple
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autocoder_jupyter.calls.option_specs import OPTIONS
from autocoder_jupyter.errors import writing
from autocoder_jupyter.kinds import table
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.types import Dir, File, InputSpec, OutputSpec
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import hides, visible, visible_block


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


# The interface of a function: its signature and docstring, or the known part before the function is generated.


@dataclass(frozen=True)
class Interface:
    """The interface of a function for its caller.

    Args:
        outputs: its outputs, in order; empty while they are unknown.
        sampled: names of inputs that have a sample as default.
    """

    description: str
    inputs: tuple[InputSpec, ...] = ()
    outputs: tuple[OutputSpec, ...] = ()
    sampled: Collection[str] = ()

    def signature(self) -> inspect.Signature:
        """The signature with Python types. Inputs with a sample or a default are optional."""
        parameters = [
            inspect.Parameter(
                spec.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=_annotation(spec),
                default=self._default(spec),
            )
            for spec in self.inputs
        ]
        if _required_after_default(parameters):
            parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        return inspect.Signature(parameters, return_annotation=self._returned())

    def _default(self, spec: InputSpec) -> Any:
        if spec.name in self.sampled:
            return SAMPLE
        return inspect.Parameter.empty if spec.required else spec.default

    def _returned(self) -> Any:
        types = tuple(map(_annotation, self.outputs))
        if not types:
            return inspect.Signature.empty
        return types[0] if len(types) == 1 else tuple.__class_getitem__(types)

    def documentation(self) -> str:
        """What it does, each argument and each output, and the options of a call."""
        parts = [self.description.strip()]
        if self.inputs:
            parts.append("\n".join(["Args:", *(_line(spec.name, spec) for spec in self.inputs)]))
        if self.outputs:
            fields = field_names([spec.name for spec in self.outputs])
            lines = [_line(name, spec) for name, spec in zip(fields, self.outputs, strict=True)]
            parts.append("\n".join(["Returns:", *lines]))
        parts.append(f"Options of a call, by name: {', '.join(OPTIONS)}.")
        return visible_block("\n\n".join(parts))


def _line(name: str, spec: InputSpec | OutputSpec) -> str:
    return f"    {name}: {spec.written_type}. {spec.meaning}".rstrip()


def _annotation(spec: InputSpec | OutputSpec) -> Any:
    return table.python_type(KINDS[spec.type].python_type, spec.elements)


class _Sample:
    """A placeholder in a signature for a default that is a sample."""

    def __repr__(self) -> str:
        return "<sample>"

    def __reduce__(self) -> str:
        return "SAMPLE"


SAMPLE = _Sample()


def _required_after_default(parameters: list[inspect.Parameter]) -> bool:
    optional = [parameter.default is not inspect.Parameter.empty for parameter in parameters]
    return any(earlier and not later for earlier, later in itertools.pairwise(optional))
