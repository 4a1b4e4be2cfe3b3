"""Constraints as checks on the outputs: rules read the clear ones, and one question to the model the others."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.data.checks import ColumnCheck, Match, condition_text, evaluate, texts_of
from autocoder_jupyter.data.constraints import (
    ParsedConstraints,
    Tables,
    apply,
    constraint_question_text,
    read_constraints,
    tables_of,
)
from autocoder_jupyter.engine.conversation import Conversation
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.sample_run import PROGRAM_FAILURES
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import CheckOutcome, CodePlan, InputSpec, OutputSpec
from autocoder_jupyter.versions.request_fields import content_key

# Regular expressions
#
# They are untrusted, and one can take time that is exponential in a text's length. So they are applied in the sandbox.


async def matches(session: SandboxSession, pattern: str, texts: pd.Series[Any]) -> pd.Series[Any] | str:
    """Whether a pattern matches at the start of each text, as `re.match` does; or why it could not be applied."""
    if texts.empty:
        return pd.Series([], dtype=bool)
    program = Program(
        code=program_text("matcher"),
        inputs=(InputSpec(name="pattern", type="str"), InputSpec(name="texts", type="Series")),
        outputs=(OutputSpec(name="found", type="Series"),),
    )
    try:
        outcome = await session.work(lambda worker: worker.call(program, {"pattern": pattern, "texts": texts}))
    except PROGRAM_FAILURES as error:
        return f"its pattern could not be applied: {error.what}"
    found: pd.Series[Any] = outcome.values["found"]
    return found if found.dtype == bool and len(found) == len(texts) else "its pattern could not be applied"


# Checks

_STEP = "constraints"
"""The journal's name for the answer about constraints that no rule can read."""


class Constraints:
    """The constraints of a request as checks. Every prompt has all of them as text, even those that cannot be read."""

    def __init__(self, checks: Sequence[ColumnCheck], unread: Sequence[str], tables: Tables) -> None:
        self._checks = tuple(checks)
        self._translated: tuple[ColumnCheck, ...] = ()
        self._unread = tuple(unread)
        self._tables = tables

    @classmethod
    def read(cls, sentences: Sequence[str], samples: Mapping[str, Any], plan: CodePlan) -> Constraints:
        """Read the constraints that need no model."""
        tables = tables_of(samples, plan.outputs)
        reading = read_constraints(sentences, tables)
        return cls(reading.checks, reading.unread, tables)

    async def ask_about_unread(self, conversation: Conversation, journal: Journal) -> None:
        """Ask the model once about constraints that no rule can read. Runs while code and tests are written."""
        if not self._unread or not self._tables.columns:
            return
        text = constraint_question_text(self._unread, self._tables)
        system = prompt("constraints.system", data=prompt("shared.data"))
        messages = ({"role": "system", "content": system}, {"role": "user", "content": text})
        try:
            answer = await conversation.structured("plan", messages, ParsedConstraints)
        except UnusableAnswer:
            return  # they stay text in the prompts
        journal.add_step(_STEP, self._key, answer.model_dump(mode="json"))
        self._take(answer)

    def recall(self, journal: Journal) -> None:
        """Read the rest from the journal of the kept function. The journal is untrusted."""
        with contextlib.suppress(ValueError):
            if (recorded := journal.find_step(_STEP, self._key)) is not None:
                self._take(ParsedConstraints.model_validate(recorded))

    @property
    def unread(self) -> tuple[str, ...]:
        """The sentences that became no check, and can only be tested."""
        return self._unread

    def on(self, table: str) -> tuple[ColumnCheck, ...]:
        """The checks of one table."""
        return tuple(check for check in self._checks if check.target == table)

    @property
    def _key(self) -> str:
        return content_key(self._unread)

    def _take(self, answer: ParsedConstraints) -> None:
        reading = apply(answer, self._unread, self._tables)
        self._translated = reading.checks
        self._checks = (*self._checks, *reading.checks)
        self._unread = reading.unread

    async def evaluate(
        self, session: SandboxSession, values: Mapping[str, Any], samples: Mapping[str, Any], *, show_values: bool
    ) -> tuple[CheckOutcome, ...]:
        """Evaluate the checks of outputs. The function is not responsible for constraints on inputs.

        A model, or a record of somebody else, may have translated a sentence into another condition. So a condition
        that no rule read is part of its outcome.
        """
        tables = {
            name: value for name, value in {**samples, **values}.items() if isinstance(value, pd.DataFrame | pd.Series)
        }
        return tuple(
            [
                self._with_condition(check, await _outcome(session, check, tables, show_values))
                for check in self._checks
                if check.target in self._tables.outputs and check.target in tables
            ]
        )

    def _with_condition(self, check: ColumnCheck, outcome: CheckOutcome) -> CheckOutcome:
        if not outcome.passed or check not in self._translated:
            return outcome
        return outcome.model_copy(update={"message": f"A model translated it. Tested: {condition_text(check)}."})


async def _outcome(
    session: SandboxSession, check: ColumnCheck, tables: Mapping[str, Any], show_values: bool
) -> CheckOutcome:
    match: Match | None = None
    table = tables[check.target]
    texts = texts_of(check, table) if check.kind == "regex" else None
    if texts is not None:
        found = await matches(session, check.pattern or "", texts)
        if isinstance(found, str):
            return CheckOutcome(name=check.sentence or check.kind, passed=False, message=found)
        match = lambda _pattern, present: found.set_axis(present.index)  # noqa: E731
    return await call_blocking(lambda: evaluate(check, table, others=tables, show_values=show_values, match=match))
