"""Verify a recorded function in the sandbox here, with its recorded tests and without a model."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.runtime import runtime_for
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import InvalidRequest, NotVerifiedWarning
from autocoder_jupyter.request import AgentConfig, Contract, Request
from autocoder_jupyter.result.pending import Resolution
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.types import Report
from autocoder_jupyter.versions import Version, Versions
from autocoder_jupyter.versions.request_fields import read_fields
from autocoder_jupyter.versions.store import sources_of
from autocoder_jupyter.versions.verification import new_key_problem


async def verified(
    resolution: Resolution,
    options: CallOptions,
    root: Path,
    samples: Mapping[str, Any],
    contracts: Mapping[str, Contract],
) -> Resolution:
    """Run the recorded tests of a function, and the function on samples if there are any."""
    from autocoder_jupyter import engine
    from autocoder_jupyter.engine.journal import Journal
    from autocoder_jupyter.engine.packages import requirement_name
    from autocoder_jupyter.engine.start import Draft
    from autocoder_jupyter.engines.staged.writer import StagedWriters
    from autocoder_jupyter.models.protocol import ModelConfig
    from autocoder_jupyter.models.replay import LockedModel, ReplayingModel

    if resolution.state not in ("ready", "not_verified"):
        raise InvalidRequest(
            f"{resolution.report.name} has no function that passed, so there is nothing to verify.",
            why=resolution.report.error or "",
            hint="Run its cell.",
        )
    version, versions = _recorded(resolution, root)
    report = version.report
    options.require_agreed(report.name)
    if report.plan is None or report.solution is None or not report.tests:
        raise InvalidRequest(f"{report.name} cannot be verified: its record has no tests.", hint="Run its cell.")
    record = {} if versions is None else versions.request(version.id)
    request = _request(report, record, samples, contracts)
    config = _config(options)
    runtime = await background.call_blocking(
        lambda: runtime_for(
            config.sandbox, config.image_config, config.sandbox_minimum, built_in=resolution.report.sandbox
        )
    )

    async def approve(packages: tuple[str, ...]) -> bool:
        """Only what the record names: none of these is withheld, so it is well known or was agreed to."""
        return {*packages} <= {requirement_name(package) or package for package in report.detected_packages}

    with tempfile.TemporaryDirectory() as elsewhere:
        journal = Journal(root if versions is not None else Path(elsewhere) / ".autocode", report.name)
        services = engine.Services(
            model=ReplayingModel(LockedModel(ModelConfig(model=config.model)), journal, config.cache),
            sandbox=runtime.sandbox,
            pool=runtime.pool,
            tier=runtime.tier,
            journal=journal,
            tracker=RunTracker(FunctionRun(report.name)),
            approve=approve,
        )
        draft = Draft(report.plan, report.solution.code, report.tests, report.blind_tests, as_is=True, kept=version)
        found = await engine.generate(request, config, services, StagedWriters(), draft)
    if problem := new_key_problem():
        warnings.warn(problem, NotVerifiedWarning, stacklevel=2)
    return Resolution("ready" if found.success else "failed", found)


def _recorded(resolution: Resolution, root: Path) -> tuple[Version, Versions | None]:
    """The version in the folder; without one, as of a saved result, one made of the report alone."""
    report = resolution.report
    versions = Versions(root, report.name)
    found = versions.get(report.run_id)
    if found is not None and found.is_good and _verified_in(found.report) == _verified_in(report):
        return found, versions
    return Version(report.run_id, 1, report.model_copy(update={"success": True})), None


def _verified_in(report: Report) -> tuple[Any, ...]:
    """The parts of a report that a verification runs."""
    interface = report.plan, report.declared_inputs, report.declared_outputs
    return *interface, sources_of(report), report.helpers, tuple(report.contracts)


def _request(
    report: Report, record: Mapping[str, Any], samples: Mapping[str, Any], contracts: Mapping[str, Contract]
) -> Request:
    """The request of the record."""
    from autocoder_jupyter.data.renames import with_names_read

    inputs = [spec.name for spec in report.declared_inputs]
    if strange := [name for name in samples if name not in inputs]:
        raise InvalidRequest(
            f"{', '.join(strange)} is not an input of {report.name}.", hint=f"Its inputs are {', '.join(inputs)}."
        )
    lacking = [name for name in report.contracts if name not in contracts]
    if lacking or record.get("examples"):
        what = "contracts" if lacking else "examples"
        raise InvalidRequest(
            f"{report.name} cannot be verified without its cell: it has {what}.",
            why="The record has only a description of them.",
            hint="Run its cell.",
        )
    recorded = read_fields(report.name, record)
    ruled = any(rule.checks for rule in recorded["rules"])
    if (recorded["constraints"] or recorded["checks"] or ruled) and not samples:
        raise InvalidRequest(
            f"{report.name} has checks or constraints, which need its data.",
            hint=f"Write {report.name}.verify({', '.join(f'{name}={name}' for name in inputs)}).",
        )
    if report.own_tests and "own_tests" not in recorded:
        raise InvalidRequest(
            f"{report.name} cannot be verified from a saved result: it has tests that its user wrote.",
            hint="Run its cell.",
        )
    fields = {
        **recorded,
        "samples": with_names_read(samples, report.renames),
        "inputs": report.declared_inputs,
        "outputs": report.declared_outputs,
        "renames": report.renames,
        "helpers": report.helpers,
        "databases": report.databases,
        "contracts": {name: contract for name, contract in contracts.items() if name in report.contracts},
    }
    return Request(report.name, report.prompt, **fields)


def _config(options: CallOptions) -> AgentConfig:
    """Settings with the sandbox and the limits of calls. No model is asked."""
    return AgentConfig(
        locked=True,
        sandbox=options.sandbox,
        sandbox_minimum=options.sandbox_minimum,
        image_config=options.image_config,
        resources=options.resources,
        timeout=options.timeout,
        env_vars=dict(options.env_vars),
        secrets=options.secrets,
        block_network=not options.network,
    )
