"""Mask messages of programs, tests and diagnoses in a record before it is written to a file."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.redaction.masking import Masker

_SAID = frozenset(
    (
        *("error", "output", "message", "error_message", "change", "drift"),
        *("expected_behavior", "actual_behavior", "root_cause", "suggested_fix"),
        *("generated_schemas", "sample_schemas"),  # which name the columns of the data
        *("first", "second", "at", "not_compared", "smallest", "derivation", "stays"),  # of a second opinion
    )
)
"""Fields of a report with messages about a run. The other fields hold its sources and the user's text."""

LONGEST = 100_000
"""Maximum length of one such text."""


def redacted_record(record: Any, masker: Masker | None = None, *, said: bool = False) -> Any:
    """A record of JSON values with masked messages. Equal records give equal results.

    Args:
        record: lists, objects and texts.
        masker: the masker for the whole record.
        said: whether the texts in it are messages about a run.
    """
    masker = masker or Masker()
    if isinstance(record, dict):
        return {key: redacted_record(value, masker, said=said or key in _SAID) for key, value in record.items()}
    if isinstance(record, list):
        return [redacted_record(item, masker, said=said) for item in record]
    return masker.mask(record[:LONGEST]) if said and isinstance(record, str) else record
