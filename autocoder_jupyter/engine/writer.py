"""The interface of writers, which write and fix a function: by stages with one question each, or as an agent.

Only the loop tests the function and decides whether it passes. The first tests are here too: all writers ask for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.tests import TestSuite, joined, with_earlier_outputs, without_tests, write_tests
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.types import ErrorDiagnosis, TestChoice, Trace


class Writer(Protocol):
    """Writes the code and the tests of each attempt into the state that it was created with."""

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped after an independent re-derivation."""
        ...

    @property
    def snapshot(self) -> object:
        """Everything that the next attempt depends on. Equal snapshots mean that a fix changed nothing."""
        ...

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The unusable answers, in order."""
        ...

    @property
    def trace(self) -> Trace | None:
        """What an agent did; None for a writer that works by stages."""
        ...

    async def write(self) -> None:
        """Write the first code and tests. The base environment may not be built yet."""
        ...

    async def fix(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Fix code or tests after a failed verdict.

        Returns:
            The diagnosis, if a model was asked for one.
        """
        ...

    async def close(self) -> None:
        """Stop everything that still runs. Called once, after success, failure or cancel."""
        ...


class WriterFactory(Protocol):
    """Makes the writer of a generation."""

    async def prepare(self) -> None:
        """Import what takes long to import. Called while the model is asked for the plan."""
        ...

    def create(self, state: GenerationState, packages: GenerationPackages) -> Writer:
        """Create the writer of one generation.

        Args:
            state: the state of the generation; it has a plan.
            packages: its packages.
        """
        ...


# First tests
#
# In a refinement, the tests of the earlier version that still hold are kept.


def _dropped_tests_text(source: str, choices: Sequence[TestChoice]) -> str:
    """The part of the prompt about tests that the wish contradicts; "" if there are none."""
    reasons = "\n".join(f"- {choice.id}: {choice.reason}" for choice in choices if choice.fate == "dropped")
    return prompt("tests.dropped", dropped=f"{source.strip()}\n\n{reasons}") if reasons else ""


async def write_first_tests(state: GenerationState) -> TestSuite:
    """Ask for the tests. The model does not see the code.

    Raises:
        UnusableAnswer: the model wrote no tests that can fail.
    """
    writing = partial(write_tests, state.setup.conversation, state.brief)
    earlier, choices = state.setup.request.earlier, state.choices
    if earlier is None:
        return await writing()
    dropped_ids = [choice.id for choice in choices if choice.fate == "dropped"]
    kept_ids = [choice.id for choice in choices if choice.fate == "kept"]
    if not kept_ids:
        return await writing(also=_dropped_tests_text(earlier.tests, choices))
    kept = with_earlier_outputs(
        without_tests(earlier.tests, dropped_ids), earlier.plan.outputs, state.brief.plan.outputs
    )
    dropped = _dropped_tests_text(without_tests(earlier.tests, kept_ids), choices) if dropped_ids else ""
    also = prompt("tests.after a wish", kept=kept.strip(), dropped=f"{dropped}\n\n" if dropped else "")
    return await writing(also=also, suite_of=partial(joined, kept))


async def write_further_tests(state: GenerationState, sentences: Sequence[str]) -> TestSuite:
    """Ask for tests of sentences that were added to the request of an existing function. The model does not see it."""
    suite, lines = state.suite, "\n".join(f"- {sentence}" for sentence in sentences)
    if suite is None:
        return await write_tests(state.setup.conversation, state.brief)
    kept = (suite.blind or suite).source
    also = prompt("tests.after added sentences", kept=kept.strip(), sentences=lines)
    written = await write_tests(state.setup.conversation, state.brief, also=also, suite_of=partial(joined, kept))
    return written if suite.blind is None else replace(suite, blind=written)
