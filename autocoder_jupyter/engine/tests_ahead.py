"""Runs each test as soon as it is written, while the model writes the next ones.

What such a test finds is not looked at. Only the calls that it made are kept, for the run of all tests, and whether it
passes on stubs. Nothing here can fail a generation.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from contextlib import suppress

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.calls_ahead import CallsAhead
from autocoder_jupyter.engine.generation_state import GenerationState
from autocoder_jupyter.engine.kept_tests import without_tests
from autocoder_jupyter.engine.tests import TestSuite, read_suite
from autocoder_jupyter.sandbox.protocol import Program, TestSpec, Worker, origin_of
from autocoder_jupyter.untrusted.parsing import parse

LONGEST = 30_000
"""Characters of an answer; of a longer one, the rest does not run ahead."""

MOST = 100
"""The maximum number of times that an answer is searched for new tests."""

_BEGINS = re.compile(r"^(?:def|async|class|@)", re.MULTILINE)
_FENCE = re.compile(r"^```.*$", re.MULTILINE)
_CONTINUES = (" ", "\t", "#", ")", "]", "}")
"""How a line at the left margin begins that may belong to the statement before it."""

_TRIES = 3
"""The last line at the margin may be in a text, or below a decorator; so the lines before it are tried, too."""


class TestsAhead:
    """The tests that run ahead in one generation.

    Args:
        state: the state of the generation.

    Attributes:
        calls: the calls that they made.
        workers: the ids of the workers in which the function was called.
        idle: whether none of them runs.
    """

    __test__ = False

    def __init__(self, state: GenerationState) -> None:
        self.calls = CallsAhead()
        self.workers: set[str] = set()
        self._state = state
        self._text = ""
        self._grew = asyncio.Event()
        self._begun: set[str] = set()
        self.idle = threading.Event()
        self.idle.set()
        self._work: asyncio.Task[None] | None = None
        state.setup.talk.hear("tests", self._hear)

    def begin(self, program: Program, ran_in: str) -> None:
        """Begin with the tests that are written.

        Args:
            program: the function.
            ran_in: the id of the worker of the first run.
        """
        self._work = asyncio.create_task(self._run(program, ran_in))

    def cancel(self) -> None:
        """End the test that runs, and begin no other."""
        if self._work is not None:
            self._work.cancel()

    def _hear(self, piece: str) -> None:
        if len(self._text) > LONGEST:
            return
        seen = self._text.rfind("\n") + 1
        self._text += piece
        if _BEGINS.search(self._text, seen):
            self._grew.set()

    async def _run(self, program: Program, ran_in: str) -> None:
        with suppress(Exception):  # whoever needs a call makes it
            for _ in range(MOST):
                await self._grew.wait()
                self._grew.clear()
                suite = await call_blocking(lambda: self._next(self._text))
                if suite is not None and self._state.suite is None:
                    self.idle.clear()
                    try:
                        await self._state.setup.session.work_with_two(self._job(program, suite, ran_in))
                        if self._state.suite is None:
                            await self._state.stub_runs.passing(program, suite)
                    finally:
                        self.idle.set()

    def _job(self, program: Program, suite: TestSuite, ran_in: str) -> Callable[[Worker, Worker], None]:
        def job(one: Worker, other: Worker) -> None:
            worker, callee = roles(one, other, ran_in)
            self.workers.add(callee.id)
            spec = TestSpec(suite.source, suite.ids, traceback=False)
            worker.test(program, spec, callee=self.calls.making(callee))

        return job

    def _next(self, text: str) -> TestSuite | None:
        """A module with the tests of an answer that are whole and did not begin yet."""
        with suppress(SyntaxError):
            left = read_suite(without_tests(whole_statements(text), self._begun))
            self._begun.update(left.ids)
            return left if left.ids else None
        return None


def whole_statements(answer: str) -> str:
    """The statements of a module to which nothing can be added any more, from an answer that is being written."""
    answer = answer[:LONGEST]
    fences = list(_FENCE.finditer(answer))
    if len(fences) % 2 == 0:  # it has not begun; or it has ended, and the run of all tests comes at once
        return ""
    lines = answer[fences[-1].end() :].split("\n")
    ends = [number for number, line in enumerate(lines) if line and not line.startswith(_CONTINUES)]
    for end in ends[: -_TRIES - 1 : -1]:
        module = "\n".join(lines[:end])
        with suppress(SyntaxError):
            parse(module)
            return module
    return ""


def roles(one: Worker, other: Worker, ran_in: str) -> tuple[Worker, Worker]:
    """The worker of the tests, and that of the function, of these two.

    The function is verified in a third one whose hash seed differs from that of the first run. So the function does not
    take a worker of another seed here, if it can be avoided.

    Args:
        one: a worker.
        other: another one.
        ran_in: the id of the worker of the first run; "" if there is none.
    """
    seed = origin_of(ran_in)
    return (other, one) if origin_of(one.id) == seed != origin_of(other.id) else (one, other)
