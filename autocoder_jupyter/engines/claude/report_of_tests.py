"""The text about a run of its tests that the agent gets. Our runner replaces pytest's command."""

from __future__ import annotations

from autocoder_jupyter.engine.repair import shortened
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.sandbox.protocol import TestRun

MOST_TOLD = 8
"""The number of failing tests whose messages are included; of the others, only the names."""

WAS_RUN = (
    "(tests.py was run as it is when it counts: by a runner of its own, tests and function in separate processes, "
    "without conftest.py, plugins and options.)"
)


def told_of(run: TestRun, suite: TestSuite) -> str:
    """The outcomes of the tests as text.

    The tests make their own values, so the text has none of the user's data. What looks private is masked anyway.
    """
    if run.collection_error:
        return f"tests.py cannot be run:\n{_masked(run.collection_error)}\n{WAS_RUN}"
    failing = [outcome for outcome in run.outcomes if outcome.outcome != "passed"]
    lines = [f"{len(run.outcomes) - len(failing)} of {len(suite.ids)} tests passed. {WAS_RUN}"]
    for outcome in failing[:MOST_TOLD]:
        lines.append(f"\n{outcome.outcome.upper()} {outcome.id}\n{_masked(outcome.message)}".rstrip())
    if more := failing[MOST_TOLD:]:
        lines.append(f"\nFailing too: {', '.join(outcome.id for outcome in more)}")
    return "\n".join(lines)


def _masked(text: str) -> str:
    return shortened(Masker().mask(text))
