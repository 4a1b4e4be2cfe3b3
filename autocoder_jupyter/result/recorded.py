"""A recorded version as a callable result: after a restart, or if the last run failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.request import Contract
from autocoder_jupyter.result.handle import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.result.storage import without_strange_packages
from autocoder_jupyter.versions import Version, Versions
from autocoder_jupyter.versions.verification import shown


def result_of(
    version: Version,
    root: Path,
    options: CallOptions,
    *,
    samples: Mapping[str, Any] | None = None,
    contracts: Mapping[str, Contract] | None = None,
    trusted: bool = False,
) -> CodeGenEvalResult:
    """The result of a recorded version. It is `not_verified` if its evidence was not gathered here.

    Its samples are not recorded: a call needs all inputs that `samples` lacks.
    """
    state, found = shown(Versions(root, version.report.name), version)
    report, withheld = (found, ()) if trusted else without_strange_packages(found)
    resolution = Resolution(state, report)
    inputs = {spec.name for spec in report.declared_inputs}
    return CodeGenEvalResult(
        report.name,
        Pending.resolved(resolution),
        samples={name: value for name, value in (samples or {}).items() if name in inputs},
        options=replace(options, withheld=withheld),
        root=root,
        contracts=contracts,
    )


def last_good(root: Path, name: str, options: CallOptions) -> CodeGenEvalResult | None:
    """The good version of a name that counts, from disk; None if there is none."""
    version = Versions(root, name).last_good()
    return None if version is None else result_of(version, root, options)
