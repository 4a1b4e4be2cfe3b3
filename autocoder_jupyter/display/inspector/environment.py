"""The section *Environment*: the sandbox of tests and calls, its limits and its packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.display import parts
from autocoder_jupyter.settings.choices import sandbox_line
from autocoder_jupyter.view.document import Block, Fold, Row, Source, lines

if TYPE_CHECKING:
    from autocoder_jupyter.calls.options import CallOptions
    from autocoder_jupyter.types import Report

LOCK_LINES = 200
"""Locked packages that are shown."""


def environment_section(report: Report, options: CallOptions | None, *, most: int = LOCK_LINES) -> tuple[Block, ...]:
    """The section. Without `options`, the limits of a call are unknown. `most` lines of the lock are shown."""
    rows = {
        "Image": report.image or "",
        "Python": ".".join(map(str, report.python_version or ())),
        "Limits": _limits(options) if options else "",
        "Network": _network(options) if options else "",
        "Variables": _variables(options) if options else "",
        "Packages": ", ".join(report.detected_packages) or ("only the preinstalled ones" if report.sandbox else ""),
        "System": ", ".join(report.detected_system_packages),
    }
    sandbox = parts.sandbox_blocks(sandbox_line(report.sandbox or "", report.sandbox_tier))
    if not any(rows.values()) and not sandbox:
        return lines(["The run ended before a sandbox was started."])
    shown = (Row(label, lines([text], "code" if label == "Image" else "")) for label, text in rows.items())
    return (
        Row("Sandbox", sandbox),
        *shown,
        Fold(f"Locked packages ({len(report.lock)})", (Source(_lock(report, most)),)),
    )


def _limits(options: CallOptions) -> str:
    cores = f"{options.resources.cpu:g} core{'' if options.resources.cpu == 1 else 's'}"
    return f"{cores}, {options.resources.memory} memory, {options.timeout:g} s a call"


def _network(options: CallOptions) -> str:
    return "allowed" if options.network else "none"


def _variables(options: CallOptions) -> str:
    """Names only; a value may be a secret."""
    secrets = [secret.as_env_var or secret.key for secret in options.secrets]
    return ", ".join([*options.env_vars, *(f"{name} (secret)" for name in secrets)])


def _lock(report: Report, most: int) -> str:
    more = len(report.lock) - most
    return "\n".join([*report.pins[:most], *([f"… and {more} more: {report.name}.report.pins"] if more > 0 else [])])
