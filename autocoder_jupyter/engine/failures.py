"""Failures as text for a model that fixes the code."""

from __future__ import annotations

from collections.abc import Sequence

from autocoder_jupyter.engine.diagnose import shortened
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.types import TestFailure


def failures_text(failures: Sequence[TestFailure]) -> str:
    """Each failure with its error, what was expected, its cause and the suggested fix, masked and shortened."""
    masker = Masker()  # an error message on the sample may quote values that the data section hides
    blocks = []
    for failure in failures:
        rows = [
            ("what happened", failure.error_message),
            ("expected", failure.expected_behavior),
            ("actual", failure.actual_behavior if failure.actual_behavior != failure.error_message else ""),
            ("cause", failure.root_cause),
            ("to do", failure.suggested_fix),
        ]
        lines = "\n".join(f"  {label}: {shortened(masker.mask(text))}" for label, text in rows if text.strip())
        blocks.append(f"- {failure.test_name}\n{lines}")
    return "\n".join(blocks)
