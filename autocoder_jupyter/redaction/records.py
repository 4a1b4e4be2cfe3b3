"""Records on their way to a file: what a program, a test or a diagnosis said in them is masked."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.redaction.masking import Masker

_SAID = frozenset(
    (
        *("error", "output", "message", "error_message", "change"),
        *("expected_behavior", "actual_behavior", "root_cause", "suggested_fix"),
        *("generated_schemas", "sample_schemas"),  # which name the columns of the data
        *("first", "second", "at", "not_compared", "smallest", "derivation"),  # of a second opinion
    )
)
"""Fields of a report that hold words about a run. The others are its sources and what the person wrote."""

LONGEST = 100_000
"""Characters of one such text that are kept."""


def redacted_record(record: Any, masker: Masker | None = None, *, said: bool = False) -> Any:
    """A record of JSON values as it may be written down; equal records give equal ones.

    Args:
        record: of lists, objects and texts.
        masker: for all of it.
        said: whether texts in it are words about a run.
    """
    masker = masker or Masker()
    if isinstance(record, dict):
        return {key: redacted_record(value, masker, said=said or key in _SAID) for key, value in record.items()}
    if isinstance(record, list):
        return [redacted_record(item, masker, said=said) for item in record]
    return masker.mask(record[:LONGEST]) if said and isinstance(record, str) else record
