"""The host's end: turns a `Process` into a `Worker`."""

from __future__ import annotations

import contextlib
import math
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autocoder_jupyter.errors import (
    EngineGone,
    OutOfMemory,
    OutputRefused,
    SandboxCrash,
    SandboxError,
    SandboxTimeout,
)
from autocoder_jupyter.sandbox.host import replies
from autocoder_jupyter.sandbox.host.bundle import bundle
from autocoder_jupyter.sandbox.host.changes import changed
from autocoder_jupyter.sandbox.host.exchange import Ended, Expired, Malformed, NotTaken, OnFrame, Streams
from autocoder_jupyter.sandbox.host.packing import describe, digest, enclosed, pack_arguments
from autocoder_jupyter.sandbox.host.process import Process
from autocoder_jupyter.sandbox.host.replies import Answer
from autocoder_jupyter.sandbox.host.testing import Testing
from autocoder_jupyter.sandbox.host.text import clean, stable
from autocoder_jupyter.sandbox.host.verdicts import Verdicts
from autocoder_jupyter.sandbox.protocol import CallOutcome, CommandOutcome, Limits, OnCall, Program, TestRun, Worker
from autocoder_jupyter.sandbox.worker.entries import Packed
from autocoder_jupyter.sandbox.worker.envelope import DISMISS, PING
from autocoder_jupyter.sandbox.worker.frames import pack
from autocoder_jupyter.sandbox.workspace import commands
from autocoder_jupyter.types import TestOutcome

START_SECONDS = 120.0
TAKE_SECONDS = 60.0
"""Seconds in which a worker must be ready for its next program: it forks, perhaps on a busy machine."""
ANSWER_SECONDS = 15.0
"""Seconds in which a worker must say that it is in order. It may still clean up after the previous program."""
_SEED_BITS = 64
_SIGKILL = 9


def connect(
    process: Process,
    limits: Limits,
    *,
    network: bool = False,
    preload: Sequence[str] = (),
    scratch: Sequence[str] = (),
    hide_memory: bool = True,
    address_space: int | None = None,
    name: str = "",
    seconds: float = START_SECONDS,
) -> ChannelWorker:
    """Bring up the worker in `process`, which runs `bundle.worker_command`, and wait until it is ready.

    Args:
        process: the sandbox's process; the worker owns it from now on, and it is killed if this fails.
        limits: what the worker may use; the sandbox enforces memory and processes, the worker the rest.
        network: allow internet sockets inside.
        preload: further modules to import before anything runs; missing ones are passed over.
        scratch: folders inside the sandbox that belong to this worker alone, emptied after each program.
        hide_memory: close the zygote's /proc entries to its children. False under a supervisor that reads its memory.
        address_space: bytes of address space of one process, where the sandbox has no better limit of memory.
        name: the worker's id; a new one by default.
        seconds: how long starting may take.

    Raises:
        OutOfMemory: the memory does not suffice for the interpreter and its libraries.
        EngineGone: the worker did not come up for another reason, which is in it.
    """
    worker = ChannelWorker(process, limits, name)
    worker._start(
        {
            "kind": "setup",
            "threads": max(1, math.ceil(limits.cpu)),
            "network": network,
            "preload": list(preload),
            "scratch": list(scratch),
            "file_bytes": limits.disk,
            "text_bytes": limits.text_bytes,
            "hide_memory": hide_memory,
            "address_space": address_space,
            "payload": 0,
        },
        seconds,
    )
    return worker


class ChannelWorker:
    """A `Worker` over three streams.

    One program at a time: calls from several threads wait for each other. `kill` does not wait: a call that is under
    way in another thread then raises `EngineGone` at once; who killed knows why.

    `facts` is what the worker said when it was ready: `python`, `machine`, and under `lockdown` which of its own locks
    hold ("no_new_privileges", "system_calls", "hidden_memory", "adopts_orphans").
    """

    def __init__(self, process: Process, limits: Limits, name: str = "") -> None:
        self.id = name or uuid.uuid4().hex[:12]
        self.facts: Mapping[str, Any] = {}
        self._process = process
        self._limits = limits
        self._streams = Streams(process, payload_limit=limits.output_bytes)
        self._lock = threading.Lock()
        self._dead = False
        self._killed = False

    @property
    def alive(self) -> bool:
        """Whether it can take another program."""
        if not self._dead and self._lock.acquire(blocking=False):  # the thread that uses a busy worker notices it
            try:
                self._dead = self._dead or self._streams.ended
            finally:
                self._lock.release()
        return not self._dead

    def in_order(self) -> bool:
        """Ask the worker itself whether it can take another program; see `protocol.Worker.in_order`."""
        try:
            with self._lock:
                self._ask(PING)
        except SandboxError:
            return False
        return True

    def call(
        self,
        program: Program,
        arguments: Mapping[str, Any],
        *,
        seed: int | None = None,
        seconds: float | None = None,
        reuse: bool = False,
        watch_inputs: bool = False,
    ) -> CallOutcome:
        """Run the function once; see `protocol.Worker.call`.

        Raises:
            InvalidRequest: an argument that is not declared, or one that is missing.
        """
        packed = pack_arguments(program, arguments)
        with self._lock:
            answer = self._answer(program, packed, seed=seed, seconds=seconds, reuse=reuse, watch_inputs=watch_inputs)
            return self._outcome(program, answer)

    def answer(self, program: Program, packed: Packed, *, seconds: float, watch_inputs: bool) -> Answer:
        """Run the function on encoded arguments, as `call` does, and return its answer undecoded.

        Raises:
            SandboxError: there is no answer.
        """
        with self._lock:
            return self._answer(program, packed, seed=None, seconds=seconds, reuse=False, watch_inputs=watch_inputs)

    def test(
        self,
        program: Program,
        tests: str,
        expected: Sequence[str],
        *,
        callee: Worker | None,
        seconds: float | None = None,
        on_report: Callable[[TestOutcome], None] | None = None,
        on_call: OnCall | None = None,
    ) -> TestRun:
        """Run pytest on `tests` here, and the function in `callee`; see `protocol.Worker.test`.

        What the program or the tests do to themselves (a timeout, a crash, too much memory) is an outcome: what was
        reported before counts, the rest is missing, and `output` says why. Of a run that sent what no test run sends
        nothing counts: every test is missing, and its message says why. After that, and a timeout, the worker that was
        at work is dead.

        Raises:
            EngineGone: a sandbox failed, or `kill` was called.
        """
        verdicts = Verdicts(tests, self._folder, on_report)
        started = time.monotonic()
        allowed = self._seconds(seconds)
        talk = Testing(program, tests, callee, verdicts, started + allowed, on_call)
        ending, report = "", {}
        with self._lock:
            try:
                report = self._converse(talk)
                if verdicts.exit_code is None or report["out_of_memory"]:
                    ending = self._early_end(report)
            except SandboxTimeout:
                ending = str(_too_long(allowed))
            except (SandboxCrash, OutOfMemory) as error:
                ending = str(error)
            except OutputRefused as error:
                why = f"Nothing of the test run counts: it sent what no test run sends: {error.why or error.what}"
                return _disbelieved(tests, expected, why, time.monotonic() - started)
        if ending:
            output = f"{ending}\nTests without a report are missing.\n{verdicts.failures()}"
            exit_code = int(report.get("exit_code") or -(report.get("signal") or 1))
        else:
            exit_code = verdicts.exit_code or 0
            output = verdicts.output.strip() or verdicts.collection_error
        return TestRun(
            outcomes=verdicts.outcomes(expected),
            exit_code=exit_code,
            output=output,
            collection_error=verdicts.collection_error,
            missing_module=verdicts.missing_module,
            seconds=time.monotonic() - started,
        )

    def command(self, command: str, files: Mapping[str, bytes], *, seconds: float) -> CommandOutcome:
        """Run a command of a shell on these files; see `protocol.Worker.command`."""
        pieces = commands.request(command, files, seconds)
        allowed = seconds + commands.GRACE_SECONDS
        with self._lock:
            answer = self._request(pieces, secrets.token_bytes(32), again=False, keep=False, seconds=allowed)
            try:
                return commands.outcome(answer)
            except OutputRefused:
                self._end()
                raise

    def kill(self) -> None:
        """End every process of the worker at once. Idempotent, from any thread."""
        self._killed = True
        self._die()
        self._streams.wake()
        if self._lock.acquire(blocking=False):
            try:
                self._streams.close()
            finally:
                self._lock.release()

    @property
    def _folder(self) -> str:
        return str(self.facts.get("folder", ""))

    def _seconds(self, seconds: float | None) -> float:
        return self._limits.seconds if seconds is None else seconds

    def _answer(
        self,
        program: Program,
        packed: Packed,
        *,
        seed: int | None,
        seconds: float | None,
        reuse: bool,
        watch_inputs: bool,
    ) -> Answer:
        described = describe(program)
        name = digest(described)
        request = {
            **described,
            "kind": "call",
            "arguments": packed.entries,
            "seed": secrets.randbits(_SEED_BITS) if seed is None else seed,
            "payload": packed.size,
        }
        watched = watch_inputs and bool(packed.entries)
        deadline = time.monotonic() + self._seconds(seconds)
        pieces = [pack(request), *packed.pieces]
        answer = self._request(pieces, name, again=reuse, keep=reuse or watched, seconds=self._seconds(seconds))
        if not watched:
            return answer
        if answer.header["kind"] != "result":
            if not reuse:  # its process is not used any more, and the sandbox would go on watching it
                with contextlib.suppress(SandboxError):  # the next caller notices it
                    self._ask(DISMISS)
            return answer
        question = [pack({"kind": "arguments", "payload": 0})]
        now = self._request(question, name, again=True, keep=reuse, seconds=deadline - time.monotonic())
        try:
            return replace(answer, changed=changed(packed, now.header, now.payload))
        except OutputRefused:
            self._end()
            raise

    def _request(self, pieces: Sequence[Any], name: bytes, *, again: bool, keep: bool, seconds: float) -> Answer:
        """One request that has one answer."""
        answers: list[tuple[dict[str, Any], memoryview]] = []

        def on_frame(header: dict[str, Any], payload: memoryview) -> None:
            if answers:
                raise Malformed("a second answer")
            answers.append((header, payload))

        report = self._exchange(enclosed(pieces, program=name, again=again, keep=keep), on_frame, seconds)
        if not report["finished"] or report["out_of_memory"] or not answers:
            raise self._failed(report)
        return Answer(*answers[0], clean(report["stdout"]), stable(report["stderr"], self._folder), self._folder)

    def _converse(self, talk: Testing) -> dict[str, Any]:
        """Have tests run to their end. The report of the last exchange."""
        name = secrets.token_bytes(32)
        begun = False
        while True:
            request = enclosed(talk.request, program=name, again=begun, keep=True)
            report = self._exchange(request, talk.take, talk.seconds_left)
            if not report["finished"] or not talk.goes_on():
                return report
            begun = True

    def _ask(self, envelope: bytes) -> None:
        """Send an envelope with nothing in it, and wait until the worker is in order."""
        self._exchange([envelope], _no_frame, ANSWER_SECONDS, until="ready", patience=ANSWER_SECONDS)

    def _start(self, setup: dict[str, Any], seconds: float) -> None:
        try:
            with self._lock:
                self.facts = self._exchange(
                    [bundle(), pack(setup)], _no_frame, seconds, until="ready", patience=seconds
                )
        except OutOfMemory:
            raise
        except SandboxError as error:
            raise EngineGone("The worker did not start.", why=error.why or error.what) from None

    def _exchange(
        self,
        pieces: Iterable[Any],
        on_frame: OnFrame,
        seconds: float,
        *,
        until: str = "done",
        patience: float = TAKE_SECONDS,
    ) -> dict[str, Any]:
        """One request and its report, or a typed error; whatever breaks off in the middle ends the worker."""
        if self._dead:
            raise EngineGone("The worker has ended.", hint="Start a new one.")
        self._process.watch(at_work=True)
        try:
            report = self._streams.exchange(pieces, on_frame, until=until, seconds=seconds, patience=patience)
        except Expired:
            self._end()
            raise _too_long(seconds) from None
        except Malformed as error:
            self._end()
            raise replies.refused(str(error)) from None
        except NotTaken as error:
            self._end()
            why = str(error) or str(self._ended())
            raise EngineGone("The worker gave way before it took the program.", why=why) from None
        except Ended:
            self._end()
            raise self._ended() from None
        except BaseException:
            self._end()
            raise
        self._process.watch(at_work=bool(report.get("kept")))  # a process that stays may work at any time
        return report

    def _end(self) -> None:
        self._die()
        self._streams.close()

    def _die(self) -> None:
        self._dead = True
        self._process.kill()

    def _ended(self) -> SandboxError:
        """The error for a worker that ended unexpectedly."""
        if self._killed:
            return EngineGone("The worker was ended from outside.")
        reason = self._process.exit_reason()
        text = clean(reason.text)
        if reason.engine_gone:
            return EngineGone("The sandbox stopped answering.", why=text)
        if reason.out_of_memory:
            return OutOfMemory("The program needed more memory than allowed.", why=text, hint=replies.MEMORY_HINT)
        if reason.limit:
            return SandboxCrash(f"The program went over its limit of {reason.limit}.", why=text)
        how = "ended" if reason.signal is None else f"died of {replies.signal_words(reason.signal)}"
        return SandboxCrash(f"The worker {how} in the middle of the call.", why=text, signal=reason.signal)

    def _failed(self, report: Mapping[str, Any]) -> SandboxError:
        """The error for a program that gave no answer. The worker ends with it, so that its sandbox can say why."""
        stderr = stable(report["stderr"], self._folder)
        if report["flooded"]:
            return OutputRefused(f"The program wrote more than 16 MiB to {report['flooded']} and was stopped.")
        self._end()
        if report["finished"]:
            return replies.refused("no answer")
        if report["signal"] == _SIGKILL and not report["out_of_memory"]:
            report = {**report, "out_of_memory": self._process.exit_reason().out_of_memory}
        return replies.crash(report, stderr=stderr)

    def _early_end(self, report: Mapping[str, Any]) -> str:
        """The reason why a test run ended early, as a sentence."""
        if report["flooded"]:
            return f"The tests wrote more than 16 MiB to {report['flooded']} and were stopped."
        return str(replies.crash(report, stderr=stable(report["stderr"], self._folder)))

    def _outcome(self, program: Program, answer: Answer) -> CallOutcome:
        header = answer.header
        if header["kind"] == "error":
            error = replies.program_error(header, stderr=answer.stderr, folder=self._folder)
            if isinstance(error, SandboxCrash | OutputRefused):
                self._end()
            raise error
        taken = replies.seconds_of(header.get("seconds"))
        try:
            if header["kind"] != "result" or taken is None:
                raise replies.refused("an answer that is not a result")
            values, digests = replies.read_outputs(header, answer.payload, program.outputs)
        except OutputRefused:
            self._end()
            raise
        return CallOutcome(
            values=values,
            digests=digests,
            mutated=answer.changed,
            stdout=answer.stdout,
            stderr=answer.stderr,
            seconds=taken,
        )


def _too_long(seconds: float) -> SandboxTimeout:
    return SandboxTimeout(
        f"The program ran longer than {seconds:g} s and was stopped.",
        hint="Allow more time, or let the function work on less.",
    )


def _disbelieved(tests: str, expected: Sequence[str], why: str, seconds: float) -> TestRun:
    """A run of which no report counts, because somebody else than pytest may have written some of them."""
    missing = Verdicts(tests, "", None).outcomes(expected)
    return TestRun(
        outcomes=tuple(outcome.model_copy(update={"message": why}) for outcome in missing),
        exit_code=-1,
        output=why,
        collection_error="",
        missing_module="",
        seconds=seconds,
    )


def _no_frame(_header: dict[str, Any], _payload: memoryview) -> None:
    raise Malformed("a frame before any program ran")
