"""A function as a task of Flyte. Flyte takes only a coroutine function with declared types, so one is made.

The function runs in its sandbox on the machine that Flyte chooses, which needs this package. Flyte stores tables as
Parquet, delivers each `datetime` in UTC, and caches by a version that is made of code, packages and interface.
"""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from autocoder_jupyter.calls import function as outcome_cache
from autocoder_jupyter.calls.binding import checked_value
from autocoder_jupyter.calls.call import program_of, require_callable
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.outputs import Interface
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.settings import parameters
from autocoder_jupyter.tasks.flyte_resolver import TaskResolver
from autocoder_jupyter.tasks.task import Task
from autocoder_jupyter.types import Dir, File, InputSpec, OutputSpec
from autocoder_jupyter.types.of_flyte import class_of_flyte
from autocoder_jupyter.untrusted.parsing import visible


def to_flyte(
    function: Function, options: CallOptions, env: Any, *, retries: int, timeout: float | None, cache: bool
) -> Any:
    """A task of Flyte, registered in `env` under the name of the function.

    Args:
        function: the function.
        options: the options of its calls.
        env: a `flyte.TaskEnvironment`.
        retries: how often Flyte repeats a task that failed.
        timeout: seconds that Flyte gives the task, the set-up of its packages included; None for no limit of Flyte's.
        cache: whether Flyte keeps outcomes.

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
    parameters.count("retries", retries, least=0)
    parameters.flag("cache", cache)
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
    of_flyte = {spec.name: _type(spec, None) for spec in kept if spec.type in ("File", "Dir")}
    task = Task(function.name, function.without_samples(), replace(options, given_back=of_flyte))
    return env.task(
        cache=flyte.Cache("override", version_override=version) if cache else "disable",
        retries=retries,
        timeout=limit,
        task_resolver=TaskResolver(),
    )(_coroutine(task, function.inputs, kept, zoneless_inputs(function)))


def _duration(timeout: float) -> dt.timedelta:
    seconds = parameters.seconds("timeout", timeout)
    try:
        return dt.timedelta(seconds=seconds)
    except OverflowError:
        raise InvalidRequest(f"timeout is too long: {seconds:g} seconds.", hint="Leave it out for no limit.") from None


def require_no_figure(outputs: tuple[OutputSpec, ...], hint: str) -> None:
    """Refuse a figure, for which Flyte has no type.

    Raises:
        InvalidRequest: an output is one.
    """
    if figure := next((spec.name for spec in outputs if spec.whole == "Figure"), None):
        raise InvalidRequest(f"A task of Flyte cannot return the figure {visible(figure)!r}.", hint=hint)


def _coroutine(
    task: Task, inputs: tuple[InputSpec, ...], outputs: tuple[OutputSpec, ...], naive: Collection[str]
) -> Any:
    """The coroutine function, with the types that Flyte reads from it.

    Args:
        task: the call.
        inputs: of the function.
        outputs: those that it returns.
        naive: inputs from which the zone is removed.
    """

    async def called(*args: Any, **keywords: Any) -> Any:
        given = declared_signature.bind(*args, **keywords).arguments
        changed = {name: _zoneless(given[name]) for name in naive if given.get(name) is not None}
        found = await task.aio(**{**given, **changed})
        return found if len(outputs) == 1 else tuple(found)

    signature = Interface("", inputs, outputs).signature()
    declared = [
        parameter.replace(annotation=_type(spec, parameter.annotation), default=_default(spec))
        for spec, parameter in zip(inputs, signature.parameters.values(), strict=True)
    ]
    types = [_type(spec, own) for spec, own in zip(outputs, _each(signature, outputs), strict=True)]
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


def _type(spec: InputSpec | OutputSpec, own: Any) -> Any:
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
    return _type(spec, None)(path=str(value.path)) if isinstance(value, File | Dir) else value


def zoneless_inputs(function: Function) -> list[str]:
    """Inputs whose sample or default is a time without zone. Flyte reads it as UTC, and the zone is removed again."""
    times = [spec for spec in function.inputs if spec.type == "datetime"]
    usual = {
        spec.name: function.samples.get(spec.name, None if spec.default is None else spec.default_value())
        for spec in times
    }
    return [name for name, value in usual.items() if isinstance(value, dt.datetime) and value.tzinfo is None]
