"""From the request to the brief: the plan, and for a refinement which tests of the earlier version stay."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from autocoder_jupyter.engine.ask import briefed
from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.generation_setup import GenerationSetup
from autocoder_jupyter.engine.sort_tests import sort_tests, unreachable
from autocoder_jupyter.engine.tests import read_suite
from autocoder_jupyter.request import Earlier
from autocoder_jupyter.types import TestChoice


@dataclass(frozen=True)
class Planned:
    """The outcome of planning.

    Args:
        brief: the request, the plan and the data context.
        choices: for each test of the earlier version whether it is kept or dropped; empty if there is no such version.
    """

    brief: Brief
    choices: tuple[TestChoice, ...] = ()


async def make_brief(setup: GenerationSetup, context: str) -> Planned:
    """Ask for the plan and, at the same time, which earlier tests stay. So the second answer cannot see the new plan.

    Args:
        setup: the setup of the generation.
        context: the text about the data and the environment.

    Raises:
        UnusableAnswer: no plan could be read.
    """
    earlier = setup.request.earlier
    if earlier is None:
        return Planned(await briefed(setup, context))
    async with asyncio.TaskGroup() as group:
        sorting = group.create_task(_sorted(setup, context, earlier))
        brief = await briefed(setup, context)
    return Planned(brief, unreachable(sorting.result(), earlier.plan.inputs, brief.plan.inputs))


async def _sorted(setup: GenerationSetup, context: str, earlier: Earlier) -> tuple[TestChoice, ...]:
    if setup.config.skip_tests or not earlier.tests:
        return ()
    return await sort_tests(setup.talk, Brief(setup.request, earlier.plan, context), read_suite(earlier.tests))
