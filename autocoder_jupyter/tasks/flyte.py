"""A function as a task of Flyte: in this process, where it runs in its sandbox, and as a module of an exported package.

Flyte stores tables as Parquet, delivers each `datetime` in UTC, and caches by a version that is made of code, packages
and interface.
"""

from __future__ import annotations

import datetime as dt
import importlib
import inspect
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from autocoder_jupyter.calls import outcome_cache
from autocoder_jupyter.calls.binding import checked_value
from autocoder_jupyter.calls.call import program_of, require_callable
from autocoder_jupyter.calls.function import Function, Interface
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.sandbox.environments.locking import check_pins, pin_of
from autocoder_jupyter.settings import parameters as settings_parameters
from autocoder_jupyter.settings.parameters import is_input_name
from autocoder_jupyter.tasks.command_line import literal
from autocoder_jupyter.tasks.package import export_package
from autocoder_jupyter.tasks.task import Task
from autocoder_jupyter.types import Dir, File, InputSpec, OutputSpec, Report
from autocoder_jupyter.types.of_flyte import class_of_flyte
from autocoder_jupyter.untrusted.visible import visible

# Tasks in this process
#
# Flyte takes only a coroutine function with declared types, so one is made. The machine that Flyte chooses needs this
# package.


def to_flyte(
    function: Function, options: CallOptions, env: Any, *, retries: int, timeout: float | None, cache: bool
) -> Any:
    """A task of Flyte, registered in `env` under the name of the function.

    Raises:
        InvalidRequest: `env` is something else, an argument is invalid, an output is a figure, or `cache` is demanded
            and the versions of packages are not known.
    """
    if class_of_flyte(type(env)) != "TaskEnvironment":
        raise InvalidRequest(
            f"env must be a flyte.TaskEnvironment, not {type(env).__name__}.",
            hint='Write env = flyte.TaskEnvironment(name="reports").',
        )
    require_callable(function, options)
    settings_parameters.count("retries", retries, least=0)
    settings_parameters.flag("cache", cache)
    limit = 0 if timeout is None else _duration(timeout)
    import flyte

    kept = tuple(spec for spec in function.outputs if options.output in ("", spec.name))
    require_no_figure(kept, hint='Name another output: output="…".')
    version = outcome_cache.version_of(function, program_of(function, replace(options, secrets=())))
    if cache and version is None:
        raise InvalidRequest(
            "The versions of packages of this function are not known, so Flyte cannot cache its outcomes.",
            hint="Write cache=False.",
        )
    of_flyte = {spec.name: _type_for_flyte(spec, None) for spec in kept if spec.type in ("File", "Dir")}
    task = Task(function.name, function.without_samples(), replace(options, given_back=of_flyte))
    return env.task(
        cache=flyte.Cache("override", version_override=version) if cache else "disable",
        retries=retries,
        timeout=limit,
        task_resolver=TaskResolver(),
    )(_coroutine(task, function.inputs, kept, zoneless_inputs(function)))


def _duration(timeout: float) -> dt.timedelta:
    seconds = settings_parameters.seconds("timeout", timeout)
    try:
        return dt.timedelta(seconds=seconds)
    except OverflowError:
        raise InvalidRequest(f"timeout is too long: {seconds:g} seconds.", hint="Leave it out for no limit.") from None


def require_no_figure(outputs: tuple[OutputSpec, ...], hint: str) -> None:
    """Refuse a figure, for which Flyte has no type."""
    if figure := next((spec.name for spec in outputs if spec.whole == "Figure"), None):
        raise InvalidRequest(f"A Flyte task cannot return the figure {visible(figure)!r}.", hint=hint)


def _coroutine(
    task: Task, inputs: tuple[InputSpec, ...], outputs: tuple[OutputSpec, ...], naive: Collection[str]
) -> Any:
    """The coroutine function, with the types that Flyte reads from it."""

    async def called(*args: Any, **keywords: Any) -> Any:
        given = declared_signature.bind(*args, **keywords).arguments
        changed = {name: _zoneless(given[name]) for name in naive if given.get(name) is not None}
        found = await task.aio(**{**given, **changed})
        return found if len(outputs) == 1 else tuple(found)

    signature = Interface("", inputs, outputs).signature()
    declared = [
        parameter.replace(annotation=_type_for_flyte(spec, parameter.annotation), default=_default(spec))
        for spec, parameter in zip(inputs, signature.parameters.values(), strict=True)
    ]
    types = [_type_for_flyte(spec, own) for spec, own in zip(outputs, _each(signature, outputs), strict=True)]
    returned = types[0] if len(types) == 1 else tuple.__class_getitem__(tuple(types))
    declared_signature = inspect.Signature(declared, return_annotation=returned)
    called.__signature__ = declared_signature  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in declared} | {"return": returned}
    called.__name__ = called.__qualname__ = task.__name__
    called.__doc__ = task.__doc__
    return called


def _zoneless(time: dt.datetime) -> dt.datetime:
    return time if time.tzinfo is None else time.astimezone(dt.UTC).replace(tzinfo=None)


def _each(signature: inspect.Signature, outputs: tuple[OutputSpec, ...]) -> tuple[Any, ...]:
    returned = signature.return_annotation
    return (returned,) if len(outputs) == 1 else tuple(returned.__args__)


def _type_for_flyte(spec: InputSpec | OutputSpec, own: Any) -> Any:
    import flyte.io

    kind = {"File": flyte.io.File, "Dir": flyte.io.Dir}.get(spec.type, own)
    return kind | None if isinstance(spec, InputSpec) and not spec.required and spec.default is None else kind


def _default(spec: InputSpec) -> Any:
    """The default as Flyte takes it: a value of the declared type, and not the JSON value of the record."""
    if spec.required:
        return inspect.Parameter.empty
    if spec.default is None:
        return None
    value = checked_value(spec, spec.default_value())
    return _type_for_flyte(spec, None)(path=str(value.path)) if isinstance(value, File | Dir) else value


def zoneless_inputs(function: Function) -> list[str]:
    """Inputs whose sample or default is a time without zone. Flyte reads it as UTC, and the zone is removed again."""
    times = [spec for spec in function.inputs if spec.type == "datetime"]
    usual = {
        spec.name: function.samples.get(spec.name, None if spec.default is None else spec.default_value())
        for spec in times
    }
    return [name for name, value in usual.items() if isinstance(value, dt.datetime) and value.tzinfo is None]


# Finding a task again on a cluster
#
# Flyte looks for a task in the module of its function, under the function's name. `to_flyte` makes the function, so
# neither belongs to the script, and the resolver names the script's variable instead. A notebook needs no resolver,
# because Flyte pickles its tasks.


class TaskResolver:
    """Satisfies Flyte's protocol of a resolver."""

    @property
    def import_path(self) -> str:
        """Where the cluster finds this class."""
        return f"{__name__}.{type(self).__name__}"

    def loader_args(self, task: Any, root_dir: Path | None = None) -> list[str]:
        """The module and the variable of a task."""
        for module in list(sys.modules.values()):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if value is task:
                    return ["mod", _import_name(module, root_dir), "instance", name]
        raise InvalidRequest(
            f"The cluster could not find the task {visible(task.name)}.",
            why="It is loaded there from a variable of a module.",
            hint="Write task = growth.to_flyte(env) at the top level of the script.",
        )

    def load_task(self, loader_args: Sequence[str]) -> Any:
        """The task, on the cluster."""
        _, module, _, name = loader_args
        return getattr(importlib.import_module(module), name)


def _import_name(module: ModuleType, root_dir: Path | None) -> str:
    """The name by which the cluster imports a module: its place in the folder that was sent, else its own name."""
    file = Path(module.__file__ or "").absolute()
    if root_dir is not None and file.is_relative_to(root_dir.absolute()):
        return ".".join(file.relative_to(root_dir.absolute()).with_suffix("").parts)
    return file.stem if module.__name__ == "__main__" else module.__name__


# Exported packages with a task
#
# They run without a sandbox and without this package. The task's image has the packages that were tested, in their
# versions. Flyte sends the modules of the exported package along.

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
            f"A Flyte task in its own module cannot be named {report.name}.",
            why="Its module uses this name for something else.",
            hint=f"%autocode versions {report.name} rename my_{report.name}",
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
    returned = ", ".join(map(_type_source, function.outputs))
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


def _type_source(spec: InputSpec | OutputSpec) -> str:
    return _TYPES.get(spec.type, spec.written_type)


def _parameter(spec: InputSpec) -> str:
    if spec.required:
        return f"{spec.name}: {_type_source(spec)}"
    if spec.default is None:
        return f"{spec.name}: {_type_source(spec)} | None = None"
    source = KINDS[spec.type].source(spec.default)
    if spec.type in ("File", "Dir"):
        source = f"{_type_source(spec)}(path={source})"
    elif spec.type == "float":  # Flyte takes no int for it
        source = f"float({source})"
    return f"{spec.name}: {_type_source(spec)} = {source}"


def _given(spec: InputSpec, zoneless: list[str]) -> str:
    """An argument of the call. One without a value is left out, so that the function's own default counts."""
    value = f"_Path({spec.name}.download_sync())" if spec.type in ("File", "Dir") else spec.name
    value += ".replace(tzinfo=None)" if spec.name in zoneless else ""
    if spec.required or spec.default is not None:
        return f"\n        {spec.name}={value},"
    return f"\n        **({{}} if {spec.name} is None else {{{literal(spec.name)}: {value}}}),"


def _returned(spec: OutputSpec, value: str) -> str:
    return f"_io.{spec.type}.from_local_sync(str({value}))" if spec.type in ("File", "Dir") else value
