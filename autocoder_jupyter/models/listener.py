"""What follows a question to a model while it is answered: its text, pauses, and what it uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from autocoder_jupyter.models.metering import Meter, Unmetered


def _ignored(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Listener:
    """Follows one question.

    Args:
        on_text: called with pieces of the answer; after `on_retry` they start from the beginning.
        on_retry: called with the reason for a pause and its seconds.
        meter: must allow each request before it is sent, also continuations and retries, and gets its usage. By default
            every request is allowed.
    """

    on_text: Callable[[str], None] = _ignored
    on_retry: Callable[[str, float], None] = _ignored
    meter: Meter = field(default_factory=Unmetered)


SILENT: Listener = Listener()
"""For a question that nobody follows."""
