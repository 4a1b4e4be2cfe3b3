"""The titles and tones of the phases of a run, for the cards of both modes."""

from __future__ import annotations

from collections.abc import Iterable

from autocoder_jupyter.run.function_run import Phase
from autocoder_jupyter.view.document import Tone

TONES: dict[Phase, Tone] = {
    "running": "busy",
    "waiting": "warn",
    "ready": "good",
    "failed": "bad",
    "cancelled": "quiet",
    "over_budget": "bad",
    "not_verified": "warn",
}

ENDS: dict[Phase, str] = {
    "waiting": "Waiting for approval",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "over_budget": "Out of budget",
    "not_verified": "Not verified here",
}
"""The titles of the phases that always have the same."""


def waits_for(loading: bool, faults: Iterable[str]) -> tuple[str, ...]:
    """What a run waits for: the import of the model client, or the model's service."""
    found = ["Loading the model client; this takes some seconds, once per kernel"] if loading else []
    return (*found, *(f"{fault[:1].upper()}{fault[1:]}" for fault in faults))


def reason_of(reason: str, title: str) -> str:
    """The reason why a run ended; "" if it only repeats the title."""
    return "" if reason.strip(".").casefold() == title.casefold() else reason
