"""`growth.prepare` builds the environment of a function on a Dask cluster before it is called. Here are also the checks
that workers have this package, in the caller's versions.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from autocoder_jupyter.calls.callable import warn
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.runtime import runtime_for
from autocoder_jupyter.errors import AutocodeError, InvalidRequest, NoWorkersWarning, VersionsDiffer
from autocoder_jupyter.request import SandboxChoice
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
from autocoder_jupyter.settings.choices import SandboxMinimum
from autocoder_jupyter.types import ImageConfig
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.version import VERSION

# Versions


@functools.cache
def versions_here() -> Mapping[str, str]:
    """The version of this package, and the first two numbers of Python, pandas and PyArrow, which decide dtypes."""
    import pandas
    import pyarrow

    found = {"Python": sys.version, "pandas": pandas.__version__, "PyArrow": pyarrow.__version__}
    return {"autocoder-jupyter": VERSION, **{name: ".".join(text.split(".")[:2]) for name, text in found.items()}}


def require_same_versions(sent: Mapping[str, str]) -> None:
    """Compare the caller's versions with those of this process."""
    here = versions_here()
    differ = [
        f"{name} {visible(sent.get(name, 'none'))} and {here[name]}" for name in here if sent.get(name) != here[name]
    ]
    if differ:
        raise VersionsDiffer(
            f"The caller and a worker have different versions: {'; '.join(differ)}.",
            why="The first is the caller's. With other versions, the same call may have another outcome.",
            hint="Install the same versions for the workers, or use an image that has them.",
        )


def require_workers(client: Any) -> None:
    """Check the workers of Dask before they are called, see `require_package`, and warn if there are none: calls wait
    then. That is not an error, because a cluster that adapts has none until it is called.

    Raises: as `require_package`.
    """
    if not require_package(client):
        warn(
            "The cluster of Dask has no workers yet, so calls wait until it has one. If none comes by itself, start "
            "some, for instance with cluster.scale(2).",
            NoWorkersWarning,
        )


def require_package(client: Any) -> bool:
    """Check that all workers of Dask that are there have this package. One without it would end with its first call."""
    if getattr(client, "asynchronous", False):
        return True
    package = __name__.partition(".")[0]
    found = client.run(importlib.util.find_spec, package, on_error="return")
    missing = [address for address, spec in found.items() if spec is None or isinstance(spec, ModuleNotFoundError)]
    if missing:
        raise VersionsDiffer(
            f"{len(missing):,} of {len(found):,} workers do not have autocoder-jupyter: {', '.join(missing[:3])}.",
            hint=f"Install the version {VERSION} for the workers, or use an image that has it.",
        )
    return bool(found)


# Environments on a cluster


@dataclass(frozen=True)
class Preparation:
    """What a worker needs to build an environment.

    Args:
        built_in: the sandbox in which the function was tested.
    """

    environment: EnvironmentSpec
    sandbox: SandboxChoice
    image_config: ImageConfig
    minimum: SandboxMinimum
    built_in: str | None
    versions: Mapping[str, str] = field(default_factory=versions_here)

    def done(self, place: str) -> None:
        """Build the environment on this machine, if it is not there. It blocks."""
        try:
            require_same_versions(self.versions)
            runtime_for(self.sandbox, self.image_config, self.minimum, built_in=self.built_in).environment(
                self.environment
            )
        except AutocodeError as error:
            error.what = f"{place}: {error.what}"
            raise


def prepare(function: Function, options: CallOptions, client: Any) -> tuple[str, ...]:
    """Build the environment of a function once on each machine of a cluster, also of workers that come later.

    Raises:
        InvalidRequest: it is not a Dask client, its cluster does not answer, or a package was not approved.
        VersionsDiffer: a worker does not have this package.
        AutocodeError: a worker cannot build it; the message has its address.
    """
    if not callable(getattr(client, "register_plugin", None)):
        raise InvalidRequest(
            f"prepare takes a client of Dask, not {type(client).__name__}.",
            hint="Write from distributed import Client; growth.prepare(Client(…)).",
        )
    if getattr(client, "asynchronous", False):
        raise InvalidRequest(
            "prepare waits for the workers, so it does not accept an asynchronous client.",
            hint="Connect another one: growth.prepare(Client(client.scheduler.address)).",
        )
    from autocoder_jupyter.scaling.dask_plugin import BuildsEnvironment

    options.require_agreed(function.name)
    plugin = BuildsEnvironment(
        Preparation(
            function.environment, options.sandbox, options.image_config, options.sandbox_minimum, function.sandbox
        )
    )
    try:
        require_package(client)
        return tuple(sorted(client.register_plugin(plugin, name=plugin.name)))
    except Exception as error:
        with suppress(Exception):  # it may be closed
            client.unregister_worker_plugin(plugin.name)
        if isinstance(error, AutocodeError):
            raise
        raise InvalidRequest(
            "The cluster does not answer.",
            why=f"{type(error).__name__}: {visible(str(error)[:300])}",
            hint="Connect a new client: growth.prepare(Client(…)).",
        ) from error
