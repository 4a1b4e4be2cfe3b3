"""Runs each test as soon as it is written, while the model writes the next ones.

The outcome of such a test is not used. Only its calls of the function are kept, for the run of all tests, and whether
it passes on stubs. Nothing here can fail a generation.

pytest takes longer to start than to run most tests. So a process in which it has started waits for the next tests, and
the run of all tests takes the process that waits then.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.sandbox_session import DeferredWork
from autocoder_jupyter.engine.tests import TestSuite, read_suite, without_tests
from autocoder_jupyter.sandbox.host.packing import program_digest, program_json
from autocoder_jupyter.sandbox.host.replies import CallAnswer
from autocoder_jupyter.sandbox.protocol import Callee, CallSpec, Program, TestRun, TestSpec, Worker
from autocoder_jupyter.sandbox.worker.entries import Packed
from autocoder_jupyter.untrusted.parsing import parse

# Calls that were made early
#
# The run that verifies has all tests, in a new process. Each of its calls is made in a new process of the function, as
# always; but this may have happened some seconds before. An answer is taken once, so that as many calls are made as
# without this.

MOST_BYTES = 32 << 20
"""The maximum size of all answers that are kept."""

PATIENCE = 0.5
"""The maximum seconds that the run waits for a call that has begun. Then it makes the call itself."""


class EarlyCalls:
    """The answers that were not taken yet, by program and arguments."""

    def __init__(self) -> None:
        self._answers: dict[bytes, deque[Future[CallAnswer]]] = defaultdict(deque)
        self._lock = threading.Lock()
        self._bytes = 0

    def making(self, callee: Callee) -> Callee:
        """A worker of the function for tests that run ahead. Its answers are kept."""
        return _Making(callee, self)

    def taking(self, callee: Callee) -> Callee:
        """A worker of the function for the run that counts. It makes the calls whose answers are not kept."""
        return _Taking(callee, self)

    def begin(self, call: bytes) -> Future[CallAnswer]:
        """The future of a call that begins now; whoever makes the call sets it."""
        future = Future[CallAnswer]()
        with self._lock:
            self._answers[call].append(future)
        return future

    def take(self, call: bytes) -> Future[CallAnswer] | None:
        """The first of these calls that was not taken yet; None if there is none."""
        with self._lock:
            begun = self._answers[call]
            return begun.popleft() if begun else None

    def has_room(self, answer: CallAnswer) -> bool:
        """Whether the answer may be kept. It counts from then on."""
        with self._lock:
            self._bytes += answer.payload.nbytes
            return self._bytes <= MOST_BYTES


@dataclass(frozen=True)
class _WithCalls:
    callee: Callee
    calls: EarlyCalls

    @property
    def alive(self) -> bool:
        return self.callee.alive


class _Making(_WithCalls):
    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        future = self.calls.begin(_name(program, packed, spec))
        try:
            answer = self.callee.answer(program, packed, spec)
        except Exception as error:  # the run that counts makes this call itself
            future.set_exception(error)
            raise
        if self.calls.has_room(answer):
            future.set_result(answer)
        else:
            future.set_exception(MemoryError())
        return answer


class _Taking(_WithCalls):
    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        future = self.calls.take(_name(program, packed, spec))
        if future is not None:
            with suppress(Exception):
                return future.result(PATIENCE)
        return self.callee.answer(program, packed, spec)


def _name(program: Program, packed: Packed, spec: CallSpec) -> bytes:
    """A hash of everything on which the answer depends, apart from chance."""
    named = hashlib.sha256(program_digest(program_json(program)))
    named.update(json.dumps([packed.entries, spec.watch_inputs, spec.reuse, spec.seed]).encode())
    for piece in packed.pieces:
        named.update(piece)
    return named.digest()


# Tests that run early

LONGEST = 30_000
"""Characters of an answer; of a longer one, the rest does not run ahead."""

MOST = 100
"""The maximum number of times that an answer is searched for new tests."""

_BEGINS = re.compile(r"^(?:def|async|class|@)", re.MULTILINE)
_FENCE = re.compile(r"^```.*$", re.MULTILINE)
_CONTINUES = (" ", "\t", "#", ")", "]", "}")
"""How a line at the left margin begins that may belong to the statement before it."""

_TRIES = 3
"""The last line at the margin may be inside a string, or below a decorator, so the lines before it are tried, too."""


@dataclass(frozen=True)
class Wanted:
    """Tests for a process that waits.

    Args:
        counts: whether this is the run that counts. It takes the calls that were made ahead; others keep theirs.
    """

    tests: TestSpec
    counts: bool = False


WaitingTests = DeferredWork[Wanted, TestRun]
"""A process in which pytest has started, and waits for tests."""


class EarlyTests:
    """The tests that run ahead in one generation.

    Attributes:
        calls: the calls that they made.
        workers: the ids of the workers in which the function was called.
        idle: whether none of them runs.
    """

    __test__ = False

    def __init__(self, state: GenerationState) -> None:
        self.calls = EarlyCalls()
        self.workers: set[str] = set()
        self._state = state
        self._text = ""
        self._grew = asyncio.Event()
        self._begun: set[str] = set()
        self.idle = threading.Event()
        self.idle.set()
        self._work: asyncio.Task[None] | None = None
        self._process: WaitingTests | None = None
        state.setup.conversation.hear("tests", self._hear)

    def begin(self, program: Program) -> None:
        """Begin with the tests that are written."""
        self._work = asyncio.create_task(self._run(program))

    def cancel(self) -> None:
        """End the test that runs, and begin no other."""
        if self._work is not None:
            self._work.cancel()
        self._cancel_waiting()

    def take(self) -> WaitingTests | None:
        """The process that waits for tests in the current environment, if there is one. The caller must use it."""
        process, self._process = self._process, None
        if process is None or process.is_in(self._state.setup.session.environment):
            return process
        process.cancel()
        return None

    def _hear(self, piece: str) -> None:
        if len(self._text) > LONGEST:
            return
        seen = self._text.rfind("\n") + 1
        self._text += piece
        if _BEGINS.search(self._text, seen):
            self._grew.set()

    async def _run(self, program: Program) -> None:
        with suppress(Exception):  # whoever needs a call makes it
            for _ in range(MOST):
                self._prepare(program)
                await self._grew.wait()
                self._grew.clear()
                suite = await call_blocking(lambda: self._next(self._text))
                process, self._process = (self._process, None) if suite is not None else (None, self._process)
                if suite is not None and process is not None:
                    self.idle.clear()
                    try:
                        await process.start(Wanted(TestSpec(suite.source, suite.ids)))
                        self._prepare(program)
                        if self._state.suite is None:
                            await self._state.stub_runs.passing(program, suite)
                            self._prepare(program)
                    finally:
                        self.idle.set()

    def _prepare(self, program: Program) -> None:
        """Start the next processes, unless they wait, or no more tests will come."""
        state, session = self._state, self._state.setup.session
        if state.suite is not None or state.setup.config.skip_tests:
            return
        state.stub_runs.prepare(program)
        if self._process is None:
            self._process = WaitingTests(
                session.environment,
                lambda wait: session.work_with_two(
                    lambda worker, callee: self._job(program, worker, callee, wait), without_data=True
                ),
            )

    def _job(self, program: Program, worker: Worker, callee: Worker, wait: Callable[[], Wanted]) -> TestRun:
        self.workers.add(callee.id)
        where = _Later(self.calls.making(callee))

        def load() -> TestSpec:
            wanted = wait()
            if wanted.counts:
                where.callee = self.calls.taking(callee)
            return wanted.tests

        return worker.test(program, TestSpec("", (), load=load), callee=where)

    def _cancel_waiting(self) -> None:
        if self._process is not None:
            self._process.cancel()
            self._process = None
        self._state.stub_runs.cancel()

    def _next(self, text: str) -> TestSuite | None:
        """A module with the tests of an answer that are whole and did not begin yet."""
        with suppress(SyntaxError):
            left = read_suite(without_tests(whole_statements(text), self._begun))
            self._begun.update(left.ids)
            return left if left.ids else None
        return None


@dataclass
class _Later:
    """Where the function is called; it may be changed when the tests come."""

    callee: Callee

    @property
    def alive(self) -> bool:
        return self.callee.alive

    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        return self.callee.answer(program, packed, spec)


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
