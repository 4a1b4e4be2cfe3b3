"""Does what the layers of evidence need, as far as it needs no tests, while the model still writes them.

The function and the second solution run on other inputs, and changes of the code are searched that change an answer. If
the code is changed until the tests pass, this was of no use. Nothing here can fail a generation.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.evidence.comparison import SECONDS, second_program
from autocoder_jupyter.engine.evidence.examiner import Examiner
from autocoder_jupyter.engine.evidence.second_opinion import Adviser
from autocoder_jupyter.engine.evidence.sides import AT_ONCE, Side
from autocoder_jupyter.engine.generation_state import GenerationState
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.settings.choices import EFFORTS

SLOWEST = 1.0
"""Seconds of a call, after which no further one may begin: the tests would wait for it, or it for them."""

PATIENCE = 0.3
"""The maximum seconds for which a call goes on beside the tests. Then it is ended."""


class Ahead:
    """Works ahead in one generation.

    Args:
        state: the state of the generation. It keeps the answers.
        packages: its packages.
        adviser: gets the second solution.
        examiner: tries changes of the code.
    """

    def __init__(self, state: GenerationState, packages: Packages, adviser: Adviser, examiner: Examiner) -> None:
        self._state = state
        self._packages = packages
        self._adviser = adviser
        self._examiner = examiner
        self._is_over = threading.Event()
        self._turn = threading.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self, program: Program, turn: threading.Event) -> None:
        """Begin, if anybody will need it.

        Args:
            program: the function. It has run on the sample.
            turn: set when calls may begin. Tests that are written come first.
        """
        self._turn = turn
        is_examined = EFFORTS[self._state.setup.config.effort].is_examined
        if not self._is_over.is_set() and (is_examined or self._adviser.is_wanted):
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
            await self._examiner.search_ahead(self._state, program, self._goes_on)

    async def _of_second(self, program: Program) -> None:
        with suppress(Exception):  # the same
            second = await self._adviser.written()
            if second is not None and self._packages.has_all_for(self._state.brief.plan, second.code):
                await self._run(second_program(program, second), with_sample=True)

    def _goes_on(self) -> bool:
        """Wait until it is the turn of the next call. False if there is none."""
        self._turn.wait(SLOWEST)
        return not self._is_over.is_set()

    async def _run(self, program: Program, *, with_sample: bool) -> None:
        """Run a program on other inputs."""
        known = self._state.known_answers(program)

        def job(worker: Worker) -> None:
            side, inputs = Side("", worker, program, known), self._inputs()
            if with_sample and self._goes_on():
                side.on({**self._others, **self._state.varied.tables}, time.monotonic() + SECONDS, kept=True)
            while self._goes_on() and (some := list(islice(inputs, AT_ONCE))):
                until = time.monotonic() + 2 * SLOWEST
                side.get_ready(some, until)
                if time.monotonic() > until:
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
