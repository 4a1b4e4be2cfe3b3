"""The first run on the sample, as soon as the code is written: something to see while the tests are still written.

The first attempt needs the same run, and its repetition, and takes both from here.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.data.overview import glimpses
from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.evidence.comparison import SECONDS, second_program
from autocoder_jupyter.engine.evidence.examiner import Examiner
from autocoder_jupyter.engine.evidence.second_opinion import SecondOpinionStage
from autocoder_jupyter.engine.evidence.solution_worker import AT_ONCE, SolutionWorker
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.sample_run import SampleRun, run_again, run_on_sample
from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.sandbox.protocol import Environment, Program, Worker
from autocoder_jupyter.settings.choices import EFFORTS

# Evidence that is gathered early
#
# While the model still writes the tests, the function and the second solution run on other inputs, and mutations of the
# code are searched that change an answer. If the code is changed before the tests pass, this was of no use. Nothing
# here can fail a generation.

SLOWEST = 1.0
"""Seconds of a call, after which no further one may begin: the tests would wait for it, or it for them."""

PATIENCE = 0.3
"""The maximum seconds for which a call goes on beside the tests. Then it is ended."""


class EarlyEvidence:
    """Gathers evidence ahead in one generation.

    Args:
        state: the state of the generation. It keeps the answers.
        second_opinion: gets the second solution.
    """

    def __init__(
        self,
        state: GenerationState,
        packages: GenerationPackages,
        second_opinion: SecondOpinionStage,
        examiner: Examiner,
    ) -> None:
        self._state = state
        self._packages = packages
        self._second_opinion = second_opinion
        self._examiner = examiner
        self._is_over = threading.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self, program: Program) -> None:
        """Begin, if anybody will need it."""
        is_examined = EFFORTS[self._state.setup.config.effort].is_examined
        if not self._is_over.is_set() and (is_examined or self._second_opinion.is_wanted):
            self._tasks = list(map(asyncio.create_task, (self._of_function(program), self._of_second(program))))

    def stop(self) -> None:
        """Begin no further call. Those that have begun may go on for a moment."""
        self._is_over.set()
        if self._tasks:
            asyncio.get_running_loop().call_later(PATIENCE, self.cancel)

    def cancel(self) -> None:
        """End all calls. Their workers are killed."""
        self._is_over.set()
        for task in self._tasks:
            task.cancel()

    async def _of_function(self, program: Program) -> None:
        with suppress(Exception):  # odd data and values of untrusted code; whoever needs an answer asks again
            await self._run(program, with_sample=False)
            await self._examiner.search_early(self._state, program, self._may_continue)

    async def _of_second(self, program: Program) -> None:
        with suppress(Exception):  # as above
            second = await self._second_opinion.written()
            if second is not None and self._packages.has_all_for(self._state.brief.plan, second.code):
                await self._run(second_program(program, second), with_sample=True)

    def _may_continue(self) -> bool:
        return not self._is_over.is_set()

    async def _run(self, program: Program, *, with_sample: bool) -> None:
        """Run a program on other inputs."""
        known = self._state.known_answers(program)

        def job(worker: Worker) -> None:
            side, inputs = SolutionWorker("", worker, program, known), self._inputs()
            if with_sample and self._may_continue():
                side.on({**self._others, **self._state.varied.tables}, TimeLimit(SECONDS), kept=True)
            while self._may_continue() and (some := list(islice(inputs, AT_ONCE))):
                limit = TimeLimit(2 * SLOWEST, clock=2 * SLOWEST)
                side.get_ready(some, limit)
                if limit.is_over:
                    self._is_over.set()

        await self._state.setup.session.work(job)

    @property
    def _others(self) -> dict[str, Any]:
        """The sample, as far as it is an input of the function."""
        samples = self._state.brief.request.samples
        return {spec.name: samples[spec.name] for spec in self._state.brief.plan.inputs if spec.name in samples}

    def _inputs(self) -> Iterator[Mapping[str, Any]]:
        """The other inputs on which somebody will run it."""
        varied = self._state.varied
        for tables in (varied.trimmed, *(one.tables for one in varied.variations), *varied.parts):
            yield {**self._others, **tables}


# The first run

T = TypeVar("T")


async def show_outputs(state: GenerationState, sample: SampleRun | None, *, is_verified: bool) -> None:
    """Emit the first rows of the outputs on the sample, if the function ran on it."""
    if sample is None or sample.error is not None:
        return
    setup, config = state.setup, state.setup.config
    if not state.redaction.shows_values or config.hide or config.mask:  # an output may hold those columns
        setup.emit(SampleOutputs(withheld=True, is_verified=is_verified))
        return
    if state.seen is None or state.seen[0] is not sample.values:
        state.seen = sample.values, await call_blocking(lambda: glimpses(sample.values, setup.hidden_values))
    setup.emit(SampleOutputs(state.seen[1], is_verified=is_verified))


class FirstRun:
    """The run of the first code, if its packages need no consent.

    Args:
        state: the state of the generation. The run begins when it has code.
        ready: called when the code can run, before it does.

    Attributes:
        ahead: the evidence that is gathered ahead.
    """

    def __init__(
        self,
        state: GenerationState,
        packages: GenerationPackages,
        ready: Callable[[], Awaitable[None]],
        ahead: EarlyEvidence,
    ) -> None:
        self.ahead = ahead
        self._state = state
        self._packages = packages
        self._ready = ready
        self._begun: tuple[Program, Environment] | None = None
        self._work: asyncio.Task[SampleRun | None] | None = asyncio.create_task(self._run())
        self._again: asyncio.Task[SampleRun | None] | None = None

    def stop(self) -> None:
        """End it, if it still runs, and what is done ahead."""
        self.ahead.cancel()
        _cancel(self._work, self._again)

    async def take(self, program: Program) -> SampleRun | None:
        """The run of this program in the current environment; None if there is none. It is taken once."""
        work, self._work = self._work, None
        if work is None or (program, self._state.setup.session.environment) != self._begun:
            _cancel(work, self._again)
            self._again = None
            return None
        return await _result_of(work)

    async def take_repetition(self) -> SampleRun | None:
        """The run that was taken, with its repetition; None if that must still be made."""
        again, self._again = self._again, None
        return await _result_of(again) if again is not None else None

    async def _run(self) -> SampleRun | None:
        state, session = self._state, self._state.setup.session
        await state.has_code.wait()
        await self._packages.base_is_there()
        program = state.program()
        if not await self._has_packages() or session.environment is None:
            return None
        self._begun = program, session.environment
        await self._ready()
        sample = await run_on_sample(session, program, state.brief.request.samples, state.redaction)
        await show_outputs(state, sample, is_verified=False)
        if sample is not None and sample.error is None:
            self._again = asyncio.create_task(self._repeat(program, sample))
        return sample

    async def _repeat(self, program: Program, sample: SampleRun) -> SampleRun | None:
        state = self._state
        others = {sample.worker}
        samples = state.brief.request.samples
        again = await run_again(state.setup.session, program, samples, sample, state.redaction, other_than=others)
        self.ahead.begin(program)
        return again

    async def _has_packages(self) -> bool:
        """Whether all that the code needs is there. It is installed for that while the model still writes."""
        state, plan = self._state, self._state.brief.plan
        if self._packages.has_all_for(plan, state.code):
            return True
        answers = (one for one in state.setup.exchanges if one.stage == "code")
        is_recorded = all(one.replayed for one in answers)  # then the tests are there at once, with all packages
        return not is_recorded and await self._packages.provide_early(plan, state.sources)


def _cancel(*works: asyncio.Task[T] | None) -> None:
    for work in works:
        if work is not None:
            work.cancel()


async def _result_of(work: asyncio.Task[T]) -> T | None:
    """The result of work that was done ahead; None if it failed, as whoever needs it does it again."""
    try:
        await asyncio.wait({work})
    finally:
        work.cancel()  # whoever waits for it may be cancelled
    return None if work.cancelled() or work.exception() is not None else work.result()
