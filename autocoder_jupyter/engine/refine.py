"""From a version that works to one in which a new wish is granted: what is there is shown, and only changed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from autocoder_jupyter.engine.ask import planned
from autocoder_jupyter.engine.code import write_code
from autocoder_jupyter.engine.drafting import Drafter
from autocoder_jupyter.engine.kept_tests import joined, with_earlier_outputs, without_tests
from autocoder_jupyter.engine.sort_tests import sort_tests, unreachable
from autocoder_jupyter.engine.tests import TestSuite, read_suite, write_tests
from autocoder_jupyter.engine.work import Work
from autocoder_jupyter.request import Earlier
from autocoder_jupyter.types import CodePlan, TestChoice

_CODE = """\
There is a module already, in which everything is granted but the last line under <wishes>:

<present_code>
{code}
</present_code>

Bring it in line with the interface above. What the wish does not touch stays as it is, line by line."""

_TESTS = """\
There are tests already, of the function before the last line under <wishes> was said. These stay as they are:

<tests_that_stay>
{kept}
</tests_that_stay>

{dropped}Write only further tests: what the last wish asks for, and what the tests that went had looked at, as the wish
has it. They are put below the tests that stay, in the same module: use their imports and helper functions where they
fit, and no name that is defined there."""

_DROPPED = """\
These contradict the wish, and went:

<tests_that_went>
{dropped}
</tests_that_went>

"""


def tests_gone(source: str, choices: Sequence[TestChoice]) -> str:
    """What the writer of new tests is told of those that the wish contradicts; "" when there are none.

    Args:
        source: the module with these tests.
        choices: what became of each test, and why.
    """
    reasons = "\n".join(f"- {choice.id}: {choice.reason}" for choice in choices if choice.fate == "dropped")
    return _DROPPED.format(dropped=f"{source.strip()}\n\n{reasons}") if reasons else ""


class Refiner(Drafter):
    """Plan, code and tests of the new version, from those of the earlier one.

    Args:
        work: the generation.
        earlier: what it starts from.
    """

    def __init__(self, work: Work, earlier: Earlier) -> None:
        super().__init__(work)
        self._earlier = earlier

    async def plan(self) -> CodePlan:
        """The plan; which tests stay is asked beside it, and so without sight of it.

        What the person declared stays declared; other outputs may come, because the wish may ask for them.
        """
        work, earlier = self._work, self._earlier
        async with asyncio.TaskGroup() as group:
            sorting = group.create_task(self._sorted())
            plan = await planned(work)
        work.choices = unreachable(sorting.result(), earlier.plan.inputs, plan.inputs)
        return plan

    async def _sorted(self) -> tuple[TestChoice, ...]:
        work, earlier = self._work, self._earlier
        if work.config.skip_tests or not earlier.tests:
            return ()
        return await sort_tests(work.talk, work.request, earlier.plan, work.context, read_suite(earlier.tests))

    async def code(self) -> str:
        """The module, from the one that is there."""
        work, also = self._work, _CODE.format(code=self._earlier.code.strip())
        return await write_code(work.talk, work.request, work.plan, work.context, work.config.system_prompt, also)

    async def tests(self) -> TestSuite:
        """The tests that stay, and new ones for the wish."""
        work, earlier = self._work, self._earlier
        writing = partial(write_tests, work.talk, work.request, work.plan, work.context)
        gone = [choice.id for choice in work.choices if choice.fate == "dropped"]
        stay = [choice.id for choice in work.choices if choice.fate == "kept"]
        if not stay:
            return await writing(also=tests_gone(earlier.tests, work.choices))
        kept = with_earlier_outputs(without_tests(earlier.tests, gone), earlier.plan.outputs, work.plan.outputs)
        went = tests_gone(without_tests(earlier.tests, stay), work.choices) if gone else ""
        return await writing(also=_TESTS.format(kept=kept.strip(), dropped=went), suite_of=partial(joined, kept))
