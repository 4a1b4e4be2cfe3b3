"""Records on their way to a file: what a program, a test or a diagnosis said in them is masked."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.discretion.masking import Masker

_SAID = frozenset(
    [
        "error",
        "output",
        "message",
        "error_message",
        "expected_behavior",
        "actual_behavior",
        "root_cause",
        "suggested_fix",
    ]
)
"""Fields of a report that hold words about a run. The others are its sources and what the person wrote."""

LONGEST = 100_000
"""Characters of one such text that are kept."""


def for_file(record: Any, masker: Masker | None = None) -> Any:
    """A record of JSON values as it may be written down; equal records give equal ones."""
    masker = masker or Masker()
    if isinstance(record, dict):
        return {
            key: masker.mask(value[:LONGEST]) if key in _SAID and isinstance(value, str) else for_file(value, masker)
            for key, value in record.items()
        }
    if isinstance(record, list):
        return [for_file(item, masker) for item in record]
    return record
