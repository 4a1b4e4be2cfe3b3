"""The versions that a caller and the workers of its engine must share."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.calls.callable import warn
from autocoder_jupyter.errors import NoWorkersWarning, VersionsDiffer
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.version import VERSION


@functools.cache
def versions_here() -> Mapping[str, str]:
    """The version of this package, and the first two numbers of Python, pandas and PyArrow, which decide dtypes."""
    import pandas
    import pyarrow

    found = {"Python": sys.version, "pandas": pandas.__version__, "PyArrow": pyarrow.__version__}
    return {"autocoder-jupyter": VERSION, **{name: ".".join(text.split(".")[:2]) for name, text in found.items()}}


def require_same_versions(sent: Mapping[str, str]) -> None:
    """Compare the caller's versions with those of this process.

    Args:
        sent: the caller's.

    Raises:
        VersionsDiffer: they differ.
    """
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
    then. That is no error, because a cluster that adapts has none until it is called.

    Raises: as `require_package`.
    """
    if not require_package(client):
        warn(
            "The cluster of Dask has no workers yet, so calls wait until it has one. If none comes by itself, start "
            "some, for instance with cluster.scale(2).",
            NoWorkersWarning,
        )


def require_package(client: Any) -> bool:
    """Check that all workers of Dask that are there have this package. One without it would end with its first call.

    Args:
        client: a client of Dask. An asynchronous one is not asked, because it would have to be awaited.

    Returns:
        Whether there are workers, as far as that is known.

    Raises:
        VersionsDiffer: one has not.
        Exception: what Dask raises if the cluster does not answer.
    """
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
