"""Export a function as a package with a task of Flyte, which runs without a sandbox and this package.

The task's image has the packages that were tested, in their versions. Flyte takes the package's own modules along.
"""

from __future__ import annotations

from pathlib import Path

from autocoder_jupyter.calls import function as outcome_cache
from autocoder_jupyter.calls.call import program_of
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.sandbox.environments.pins import check_pins, pin_of
from autocoder_jupyter.settings.parameters import is_input_name
from autocoder_jupyter.tasks.flyte_task import require_no_figure, zoneless_inputs
from autocoder_jupyter.tasks.package import export_package
from autocoder_jupyter.tasks.quoting import literal
from autocoder_jupyter.types import InputSpec, OutputSpec, Report
from autocoder_jupyter.untrusted.parsing import visible

MODULE = "flyte_task.py"

_TYPES = {
    "datetime": "datetime.datetime",
    "date": "datetime.date",
    "timedelta": "datetime.timedelta",
    "File": "_io.File",
    "Dir": "_io.Dir",
    "DataFrame": "_pd.DataFrame",
    "Series": "_pd.Series",
}
"""How the module writes a type. Names that are used in the task begin with `_`, so that no input hides one."""


def export_for_flyte(report: Report, function: Function, folder: Path, *, tests: bool = True) -> Path:
    """Write the package and the module of the task into a folder; see `export_package`.

    Raises:
        InvalidRequest: as for a package, an output is a figure, or the name is one that the module uses.
    """
    require_no_figure(function.outputs, hint="Write kind='package'.")
    if report.name in ("flyte", "env"):
        raise InvalidRequest(
            f"A task of Flyte in a module of its own cannot be named {report.name}.",
            why="Its module uses this name for something else.",
            hint=f"%autocode rename {report.name} my_{report.name}",
        )
    for spec in function.inputs:  # a record that somebody else wrote may have any text as a name
        if spec.name.startswith("_") or not is_input_name(spec.name):
            raise InvalidRequest(f"{visible(spec.name)!r} cannot be an input of a task.", hint="Ask for another name.")
    return export_package(report, function, folder, tests=tests, more={MODULE: module(function)})


def module(function: Function) -> str:
    """The text of the module."""
    name, environment = function.name, function.environment
    check_pins(environment.lock)
    version = outcome_cache.version_of(function, program_of(function, CallOptions()))
    cache = f'_flyte.Cache("override", version_override="{version}")' if version else '"disable"'
    pins = "".join(f"\n        {literal(pin_of(line))}," for line in environment.lock)
    image = f"_flyte.Image.from_debian_base(python_version={environment.python_version!r})"
    image += f".with_pip_packages({pins}\n    )" if pins else ""
    if environment.system_packages:
        image += f".with_apt_packages({', '.join(map(literal, environment.system_packages))})"
    parameters = ", ".join(map(_parameter, _required_first(function.inputs)))
    returned = ", ".join(map(_type, function.outputs))
    zoneless = zoneless_inputs(function)
    given = "".join(_given(spec, zoneless) for spec in function.inputs)
    values = [_returned(spec, f"found[{place}]") for place, spec in enumerate(function.outputs)]
    several = len(function.outputs) > 1
    return "\n".join(
        [
            "import datetime",
            "from pathlib import Path as _Path",
            "",
            "import flyte as _flyte",
            "import flyte.io as _io",
            "import pandas as _pd",
            "",
            f"from {name} import {name} as _function",
            "",
            f'env = _flyte.TaskEnvironment(\n    name="{name}",\n    image={image},\n)',
            "",
            "",
            f"@env.task(cache={cache})",
            f"def {name}({parameters}) -> {f'tuple[{returned}]' if several else returned}:",
            f"    found = _function({given}\n    )",
            f"    return {', '.join(values) if several else _returned(function.outputs[0], 'found')}",
            "",
        ]
    )


def _required_first(inputs: tuple[InputSpec, ...]) -> list[InputSpec]:
    """Flyte calls by name, so the order is free; Python demands this one."""
    return sorted(inputs, key=lambda spec: not spec.required)


def _type(spec: InputSpec | OutputSpec) -> str:
    return _TYPES.get(spec.type, spec.written_type)


def _parameter(spec: InputSpec) -> str:
    if spec.required:
        return f"{spec.name}: {_type(spec)}"
    if spec.default is None:
        return f"{spec.name}: {_type(spec)} | None = None"
    source = KINDS[spec.type].source(spec.default)
    if spec.type in ("File", "Dir"):
        source = f"{_type(spec)}(path={source})"
    elif spec.type == "float":  # Flyte takes no int for it
        source = f"float({source})"
    return f"{spec.name}: {_type(spec)} = {source}"


def _given(spec: InputSpec, zoneless: list[str]) -> str:
    """An argument of the call. One without a value is left out, so that the function's own default counts."""
    value = f"_Path({spec.name}.download_sync())" if spec.type in ("File", "Dir") else spec.name
    value += ".replace(tzinfo=None)" if spec.name in zoneless else ""
    if spec.required or spec.default is not None:
        return f"\n        {spec.name}={value},"
    return f"\n        **({{}} if {spec.name} is None else {{{literal(spec.name)}: {value}}}),"


def _returned(spec: OutputSpec, value: str) -> str:
    return f"_io.{spec.type}.from_local_sync(str({value}))" if spec.type in ("File", "Dir") else value
