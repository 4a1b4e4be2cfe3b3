"""Types of Flyte converted to ours, for scripts that come from there.

They are recognised by their class, so Flyte is never imported. A script that has such a value has imported it.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
from collections.abc import Mapping
from typing import Any, TypeVar

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.values import Dir, File
from autocoder_jupyter.types.records import ImageConfig, Resources, Secret

K = TypeVar("K")

DATA = ("File", "Dir", "DataFrame")
"""The classes of `flyte.io` that hold data."""


def class_of_flyte(kind: type) -> str:
    """The name of a class of Flyte: `File` also for `File[T]`; "" for another class."""
    return next((base.__name__.partition("[")[0] for base in kind.__mro__ if _is_of_flyte(base)), "")


def _is_of_flyte(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "flyte"


def declared_of_flyte(kind: Any) -> str:
    """The name of our type if an input or output is declared as a class of `flyte.io`; else ""."""
    name = class_of_flyte(kind) if isinstance(kind, type) else ""
    return name if name in DATA else ""


def in_our_form(parameter: str, value: Any) -> Any:
    """A setting of Flyte as ours; any other value unchanged.

    Args:
        parameter: for the message.
        value: `flyte.Resources`, `flyte.Secret`, `flyte.sandbox.ImageConfig` or `flyte.Cache`.

    Raises:
        InvalidRequest: it says what a sandbox does not have.
    """
    change = _CHANGES.get(class_of_flyte(type(value)))
    return value if change is None else change(parameter, value)


def _resources(parameter: str, value: Any) -> Resources:
    """A range means its limit, because a sandbox has no requests."""
    _require_none(parameter, value, ("gpu", "disk", "shm"))
    given = {name: _limit(getattr(value, name)) for name in ("cpu", "memory")}
    cpu = given["cpu"]
    if isinstance(cpu, str):
        try:
            given["cpu"] = float(cpu[:-1]) / 1000 if cpu.endswith("m") else float(cpu)
        except ValueError:
            raise InvalidRequest(f"{parameter}: cpu={cpu!r} is not a number of cores.") from None
    return Resources(**{name: limit for name, limit in given.items() if limit is not None})


def _limit(given: Any) -> Any:
    return given[1] if isinstance(given, tuple) else given


def _secret(parameter: str, value: Any) -> Secret:
    _require_none(parameter, value, ("group", "mount"))
    name = value.as_env_var or value.key
    return Secret(key=_variable(value.key, name), as_env_var=name)


def _variable(key: str, name: str) -> str:
    """The variable that holds a secret. In a task of Flyte it has this name; elsewhere it may have that of the key."""
    return key if key in os.environ else name


def _image_config(parameter: str, value: Any) -> ImageConfig:
    key = value.registry_secret
    return ImageConfig(
        registry=value.registry,
        registry_secret=_variable(key, key.replace("-", "_").upper()) if isinstance(key, str) else key,
        python_version=value.python_version,
    )


def _cache(parameter: str, value: Any) -> str:
    _require_none(parameter, value, ("version_override", "serialize", "ignored_inputs", "salt", "max_age"))
    return str(value.behavior)


def _require_none(parameter: str, value: Any, names: tuple[str, ...]) -> None:
    """Refuse what would have no effect here."""
    for name in names:
        if getattr(value, name, None):
            raise InvalidRequest(
                f"{parameter}: {name} of a flyte.{type(value).__name__} has no meaning in a sandbox of this machine.",
                hint=f"Leave {name} out.",
            )


_CHANGES = {"Resources": _resources, "Secret": _secret, "ImageConfig": _image_config, "Cache": _cache}


def has_data_of_flyte(values: Mapping[Any, Any]) -> bool:
    """Whether `all_fetched` changes any of these values."""
    return any(declared_of_flyte(type(value)) for value in values.values())


async def all_fetched(
    values: Mapping[K, Any], seconds: float | None = None, hint: str = "Allow more: timeout=600."
) -> dict[K, Any]:
    """Values by name, `fetched`, within these seconds in all.

    Flyte reads tables without giving its loop a turn, so it has a thread, and the loop of this coroutine goes on.

    Args:
        values: by name.
        seconds: None for no limit.
        hint: what the user can do if it takes longer.

    Raises:
        InvalidRequest: Flyte could not fetch one, or not in time.
    """
    if not has_data_of_flyte(values):
        return dict(values)
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]]] = []
    stopped = False

    async def fetch() -> dict[K, Any]:
        work = asyncio.ensure_future(_each(values))
        running.append((asyncio.get_running_loop(), work))
        if stopped:
            work.cancel()
        return await work

    def stop() -> None:
        nonlocal stopped
        stopped = True
        for loop, work in running:
            with contextlib.suppress(RuntimeError):  # it has ended meanwhile
                loop.call_soon_threadsafe(work.cancel)

    def on_thread() -> dict[K, Any]:
        with asyncio.Runner() as runner:
            return runner.run(fetch())

    context = contextvars.copy_context()  # a task of Flyte knows from it where its data are
    try:
        async with asyncio.timeout(seconds):
            return await background.call_blocking(lambda: context.run(on_thread), on_cancel=stop)
    except TimeoutError as error:
        raise InvalidRequest(f"Flyte did not fetch the arguments in {seconds:g} s.", hint=hint) from error


async def _each(values: Mapping[K, Any]) -> dict[K, Any]:
    return {name: await fetched(value) for name, value in values.items()}


async def fetched(value: Any) -> Any:
    """A file, folder or table of Flyte on this machine, as ours; any other value unchanged.

    What is elsewhere is downloaded by Flyte, with the credentials that it has. What is on this machine is not copied.

    Raises:
        InvalidRequest: Flyte could not fetch it.
    """
    name = class_of_flyte(type(value))
    if name not in DATA:
        return value
    try:
        if name == "DataFrame":
            import pandas as pd

            held = value.val
            return held if isinstance(held, pd.DataFrame) else await value.open(pd.DataFrame).all()
        return (File if name == "File" else Dir)(await value.download())
    except Exception as error:
        raise InvalidRequest(
            f"Flyte could not fetch the {name} {_address(value)!r}.", why=f"{type(error).__name__}: {str(error)[:300]}"
        ) from error


def _address(value: Any) -> str:
    return str(getattr(value, "path", None) or getattr(value, "uri", None) or "")[:200]


def given_back(value: Any, kind: Any) -> Any:
    """An output as its declared class of Flyte. Inside a task on a cluster, Flyte uploads a file.

    Args:
        value: a table, or a `File` or `Dir` on this machine.
        kind: a class of `flyte.io`.
    """
    return kind.from_local_sync(str(value.path)) if isinstance(value, File | Dir) else kind.from_df(value)
