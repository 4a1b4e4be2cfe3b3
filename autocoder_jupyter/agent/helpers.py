"""The helpers of a request, from the values that a user passes: code of the user, and functions verified before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.data.helpers import capture_helpers
from autocoder_jupyter.engine.prompt import FUNCTION, signature
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.tasks.export import with_module_renamed
from autocoder_jupyter.types import HELPERS, Helper, Helpers
from autocoder_jupyter.types.helpers import module_of


def captured_helpers(values: Mapping[str, Any]) -> Helpers:
    """The helpers by name. Waits for a function that is still being written.

    Raises:
        InvalidRequest: one cannot be passed, or a function was not verified here.
    """
    code = {name: value for name, value in values.items() if not isinstance(value, CodeGenEvalResult)}
    found, given = capture_helpers(code), []
    results, packages = dict[str, str](), list[str]()
    known = {one.name: one for one in found.given}
    for name, value in values.items():
        if name in known:
            given.append(known[name])
            continue
        helper, modules, needed = _of_result(name, value)
        given.append(helper)
        results |= modules
        packages += needed
    return Helpers(given=tuple(given), source=found.source, results=results, packages=tuple(dict.fromkeys(packages)))


def _of_result(name: str, result: CodeGenEvalResult) -> tuple[Helper, dict[str, str], tuple[str, ...]]:
    """A verified function as a helper, its modules, and the packages that it needs."""
    report = result.report
    if result.last_good is not result or report.plan is None or report.solution is None:
        raise InvalidRequest(
            f"@{name} is not verified here, so no other function can build on it.",
            why=report.error or "Its evidence was not gathered here.",
            hint=f"Run its cell, or {name}.verify(), first. {name} without an at sign is only a word.",
        )
    if report.databases:
        raise InvalidRequest(
            f"@{name} reads a database, so no other function can build on it.",
            why="A function that builds on it would not send its queries.",
            hint=f"Pass what {name} returns as a table.",
        )
    if report.contracts:
        raise InvalidRequest(
            f"@{name} has contracts ({', '.join(report.contracts)}), so no other function can build on it.",
            why="They are checked in the notebook, which does not see how one function calls another.",
            hint=f"Write a helper that does the same, or pass what {name} returns as a table.",
        )
    home = module_of(name)
    within = {
        module.replace(HELPERS, f"{home}.{HELPERS}", 1): source for module, source in report.helpers.modules().items()
    }
    modules = {
        module: with_module_renamed(source, HELPERS, f"{home}.{HELPERS}")
        for module, source in {home: report.solution.code, **within}.items()
    }
    content = json.dumps([modules, report.lock], sort_keys=True)
    outputs = (f"{spec.name}: {spec.meaning}" for spec in report.plan.outputs)
    helper = Helper(
        name=name,
        kind="result",
        digest=hashlib.sha256(content.encode()).hexdigest()[:16],
        signature=signature(report.plan).replace(f"def {FUNCTION}(", f"def {name}(", 1)[:10_000],
        doc="\n".join((report.plan.description.strip(), "", "Returns:", *outputs))[:10_000],
    )
    return helper, modules, report.detected_packages
