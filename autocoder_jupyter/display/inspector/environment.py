"""The section *Environment*: the sandbox of tests and calls, its limits and its packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autocoder_jupyter.settings.tiers import sandbox_line
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.html import EMPTY, Html, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.calls.options import CallOptions
    from autocoder_jupyter.types import Report

LOCK_LINES = 200
"""Locked packages that are shown."""


def environment_section(report: Report, options: CallOptions | None, *, lines: int = LOCK_LINES) -> Html:
    """The section. Without `options`, the limits of a call are unknown. `lines` of the lock are shown."""
    rows = (
        ("Sandbox", escape(sandbox_line(report.sandbox or "", report.sandbox_tier))),
        ("Image", markup.inline_code(report.image) if report.image else EMPTY),
        ("Python", escape(".".join(map(str, report.python_version or ())))),
        ("Limits", _limits(options) if options else EMPTY),
        ("Network", escape(_network(options)) if options else EMPTY),
        ("Variables", escape(_variables(options)) if options else EMPTY),
        (
            "Packages",
            escape(", ".join(report.detected_packages) or ("only the preinstalled ones" if report.sandbox else "")),
        ),
        ("System", escape(", ".join(report.detected_system_packages))),
    )
    body = join(*(markup.row(label, content) for label, content in rows))
    if not body:
        return markup.text_lines(["The run ended before a sandbox was started."])
    return join(body, markup.details(f"Locked packages ({len(report.lock)})", _lock(report, lines)))


def _limits(options: CallOptions) -> Html:
    cores = f"{options.resources.cpu:g} core{'' if options.resources.cpu == 1 else 's'}"
    return escape(f"{cores}, {options.resources.memory} memory, {options.timeout:g} s a call")


def _network(options: CallOptions) -> str:
    return "allowed" if options.network else "none"


def _variables(options: CallOptions) -> str:
    """Names only; a value may be a secret."""
    secrets = [secret.as_env_var or secret.key for secret in options.secrets]
    return ", ".join([*options.env_vars, *(f"{name} (secret)" for name in secrets)])


def _lock(report: Report, most: int) -> Html:
    more = len(report.lock) - most
    lines = [*report.pins[:most], *([f"… and {more} more: {report.name}.report.pins"] if more > 0 else [])]
    return markup.code("\n".join(lines))
