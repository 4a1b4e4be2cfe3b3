"""The writer by stages: one question each for code and tests, which are written concurrently and independently."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.prompt import (
    FUNCTION,
    Brief,
    approach_text,
    code_rules,
    extended,
    interface_problem,
    without_entry,
)
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.writer import write_first_tests
from autocoder_jupyter.engines.staged.fixer import Fixer
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import ErrorDiagnosis

# The code

_ROLE = "You write one module that answers the request, as an expert in Python and pandas."

_WHOLE = "Answer with the whole module in one ```python block, and nothing else: no tests, no example of a call."

_ESCALATIONS = (
    "",
    "The module above does not have the interface that was fixed: {problem}. Write the whole module again with exactly "
    "that interface.",
    "This is the last try. Your module was refused twice because {problem}. The `def` line under <interface> is not "
    "negotiable: copy it as it stands and write the whole module around it.",
)
"""The text that is added on each try, more forceful each time, as in the reference."""


def code_messages(brief: Brief, system_prompt: str | None) -> Messages:
    """The question for the module."""
    role = "You write one module that answers the request." if system_prompt else _ROLE
    return brief.question(
        approach_text(brief.plan),
        code_rules(brief.plan),
        system_prompt or "",
        f"{role} {_WHOLE}",
    )


async def write_code(conversation: Conversation, brief: Brief, system_prompt: str | None, also: str = "") -> str:
    """Ask for the module until it has the planned interface."""
    messages = extended(code_messages(brief, system_prompt), also)
    problem = ""
    for insistence in _ESCALATIONS:
        if insistence:
            messages = (*messages, {"role": "user", "content": insistence.format(problem=problem)})
        code = without_entry(await conversation.code("code", messages, must_define=FUNCTION))
        problem = interface_problem(code, brief.plan)
        if not problem:
            return code
        messages = (*messages, {"role": "assistant", "content": f"```python\n{code}\n```"})
    raise UnusableAnswer(f"The model does not keep to the interface of the plan: {problem}.", hint="Try another model.")


# The writer

_REFINED = """\
There is a module already, in which everything is granted but the last line under <wishes>:

<present_code>
{code}
</present_code>

Bring it in line with the interface above. What the wish does not touch stays as it is, line by line."""


class StagedWriters:
    """A `WriterFactory` of staged writers."""

    async def prepare(self) -> None:
        """Do nothing: no import takes long."""

    def create(self, state: GenerationState, packages: GenerationPackages) -> StagedWriter:
        """The writer of one generation."""
        return StagedWriter(state, packages)


class StagedWriter:
    """A `Writer` whose parts are stages."""

    trace = None

    def __init__(self, state: GenerationState, packages: GenerationPackages) -> None:
        self._state = state
        self._fixer = Fixer(state, packages)

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped after a re-derivation."""
        return self._fixer.tests_changed

    @property
    def snapshot(self) -> object:
        """Everything that the next attempt depends on."""
        return self._fixer.snapshot

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The unusable answers."""
        return self._fixer.unusable

    async def write(self) -> None:
        """Write code and tests concurrently.

        The code is asked for first: many local models answer one question after the other, and its rows are shown.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_code())
            if not self._state.setup.config.skip_tests:
                group.create_task(self._write_tests())

    async def _write_code(self) -> None:
        """Write the code. It is there before the tests if it is written faster."""
        self._state.set_code(await self._state.setup.stages.run("code", self._code))

    async def _write_tests(self) -> None:
        state = self._state
        await state.setup.conversation.sent["code"].wait()
        state.set_suite(await state.setup.stages.run("tests", partial(write_first_tests, state)))

    async def _code(self) -> str:
        """The module: a new one, or that of an earlier version, changed for the newest wish."""
        setup, earlier = self._state.setup, self._state.setup.request.earlier
        also = _REFINED.format(code=earlier.code.strip()) if earlier is not None else ""
        return await write_code(setup.conversation, self._state.brief, setup.config.system_prompt, also)

    async def fix(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Decide whether environment, tests or code are at fault, and fix only that."""
        return await self._fixer.fix(verdict)

    async def close(self) -> None:
        """Do nothing: nothing runs between two questions."""
