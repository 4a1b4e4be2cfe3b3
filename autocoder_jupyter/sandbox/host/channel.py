"""The host's end of a worker: makes a `Worker` from the `Process` of a sandbox."""

from __future__ import annotations

import contextlib
import math
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from autocoder_jupyter.errors import (
    RAN_OUT_OF_TIME,
    EngineGone,
    OutOfMemory,
    OutputRefused,
    SandboxCrash,
    SandboxError,
    SandboxTimeout,
    was_killed,
)
from autocoder_jupyter.sandbox.host import replies
from autocoder_jupyter.sandbox.host.bundle import bundle
from autocoder_jupyter.sandbox.host.exchange import (
    Expired,
    Malformed,
    NotTaken,
    OnFrame,
    Process,
    ProcessStreams,
    StreamEnded,
)
from autocoder_jupyter.sandbox.host.messages import clean, stable
from autocoder_jupyter.sandbox.host.packing import (
    changed_arguments,
    envelope_of,
    pack_arguments,
    program_digest,
    program_json,
)
from autocoder_jupyter.sandbox.host.replies import CallAnswer, Digests, EarlyOutputs
from autocoder_jupyter.sandbox.host.testing import Testing, Verdicts
from autocoder_jupyter.sandbox.protocol import (
    PLAIN_CALL,
    Callee,
    CallOutcome,
    CallSpec,
    CommandOutcome,
    Program,
    TestRun,
    TestSpec,
    WorkerLimits,
    WorkerNotReady,
)
from autocoder_jupyter.sandbox.worker.entries import Packed
from autocoder_jupyter.sandbox.worker.frames import DISMISS, PING, pack
from autocoder_jupyter.sandbox.workspace import workspace
from autocoder_jupyter.types import TestOutcome

START_SECONDS = 120.0
TAKE_SECONDS = 60.0
"""Seconds in which a worker must take a request. It must fork before, which is slow on a busy machine."""
ANSWER_SECONDS = 15.0
"""Seconds in which a worker must answer that it is ready. It may still clean up after the previous program."""
_SEED_BITS = 64
_IDLE = "def run(**given):\n    pass\n"
"""A program that leaves its arguments alone."""
_SIGKILL = 9

_Child = Literal["fresh", "kept", "same"]
"""Which child serves a request: one that is forked for it; the one of the last request, if that had the same program
and the child was kept, else a fresh one; or only the one of the last request, because the request continues that."""


def connect(
    process: Process,
    limits: WorkerLimits,
    *,
    network: bool = False,
    scratch: Sequence[str] = (),
    hide_memory: bool = True,
    address_space: int | None = None,
    name: str = "",
    cores: Collection[int] = (),
    seconds: float = START_SECONDS,
) -> ChannelWorker:
    """Start the worker in `process`, which runs `bundle.worker_command`, and wait until it is ready."""
    worker = ChannelWorker(process, limits, name, cores)
    worker._start(
        {
            "kind": "setup",
            "threads": max(1, math.ceil(limits.cpu)),
            "network": network,
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

    It runs one program at a time: calls from several threads wait for each other. `kill` does not wait; a running call
    in another thread then raises `EngineGone` at once.

    Args:
        name: the worker's id; a new one by default.
        cores: the numbers of the cores that it is bound to, if it is.

    Attributes:
        facts: the worker's report that it is ready: `python`, `machine`, `pid`, `folder`, and `lockdown`, the parts of
            its lockdown that are in effect (see `worker.lockdown.Lockdown`).
        processor_seconds: see `protocol.Worker`.
    """

    def __init__(self, process: Process, limits: WorkerLimits, name: str = "", cores: Collection[int] = ()) -> None:
        self.id = name or uuid.uuid4().hex[:12]
        self.cores = cores
        self.facts: Mapping[str, Any] = {}
        self._process = process
        self._limits = limits
        self._streams = ProcessStreams(process, payload_limit=limits.output_bytes)
        self._lock = threading.Lock()
        self._dead = False
        self._fault = ""
        self._killed = False
        self._kept = b""  # the program of the child that is kept
        self.processor_seconds = 0.0
        self._most_seconds = math.inf  # of processor time, with all that was taken before

    @property
    def alive(self) -> bool:
        """Whether the worker seems able to run another program."""
        if not self._dead and self._lock.acquire(blocking=False):  # if it is busy, the thread that uses it will notice
            try:
                self._dead = self._dead or self._streams.ended
            finally:
                self._lock.release()
        return not self._dead

    def responds(self) -> bool:
        """Ask the worker whether it can run another program; see `protocol.Worker.responds`."""
        try:
            with self._lock:
                self._ask(PING)
        except SandboxError:
            return False
        return True

    def rest(self) -> None:
        """End the kept child; see `protocol.Worker.rest`."""
        with self._lock:
            if self._kept:
                self._dismiss()

    def call(self, program: Program, arguments: Mapping[str, Any], spec: CallSpec = PLAIN_CALL) -> CallOutcome:
        """Run the function once; see `protocol.Worker.call`."""
        packed = pack_arguments(program, arguments)
        early = EarlyOutputs(program.outputs)
        with self._lock, self._within(spec.processor_seconds):
            return self._outcome(program, self._answer(program, packed, spec, early.read), early.outputs)

    def batch(
        self,
        program: Program,
        calls: Sequence[Packed],
        seconds: float,
        *,
        seed: int | None = None,
        partly: bool = False,
        processor_seconds: float | None = None,
    ) -> Sequence[CallOutcome | SandboxError]:
        """Run the function several times in one child; see `protocol.Worker.batch`."""
        described = program_json(program)
        request = {
            **described,
            "kind": "batch",
            "calls": [{"arguments": each.entries, "seed": _seed(seed), "size": each.size} for each in calls],
            "seconds": seconds / 2,
            "processor_seconds": processor_seconds and processor_seconds / 2,
            "payload": sum(each.size for each in calls),
        }
        pieces = [pack(request), *(piece for each in calls for piece in each.pieces)]
        with self._lock, self._within(processor_seconds):
            name = program_digest(described)
            answers = self._answers(pieces, name, len(calls), child="fresh", keep=False, seconds=seconds, partly=partly)
            return [self._outcome_or_error(program, answer) for answer in answers]

    def _outcome_or_error(self, program: Program, answer: CallAnswer) -> CallOutcome | SandboxError:
        try:
            return self._outcome(program, answer)
        except OutputRefused:
            raise
        except SandboxError as error:
            return error

    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        """Like `call`, but with encoded arguments and an answer that is not decoded."""
        with self._lock, self._within(spec.processor_seconds):
            return self._answer(program, packed, spec)

    def test(self, program: Program, tests: TestSpec, *, callee: Callee | None) -> TestRun:
        """Run pytest on `tests` in this worker, and the function in `callee`; see `protocol.Worker.test`.

        After a timeout, a crash or too much memory, the tests that were reported before count, the others are missing,
        and `output` has the reason. If the run sent an invalid frame, all tests are missing, and their message has the
        reason. After an invalid frame or a timeout the running worker is dead.
        """
        testing = Testing(program, tests, callee, self._folder, self._limits.seconds)
        ending, stopped, report = "", "", {}
        with self._lock, self._within(tests.processor_seconds):
            try:
                report = self._run_tests(testing)
                if testing.verdicts.exit_code is None or report["out_of_memory"]:
                    ending = self._early_end(report)
            except SandboxTimeout:
                late = _too_long(testing.allowed)
                ending, stopped = str(late), late.what
            except (SandboxCrash, OutOfMemory) as error:
                ending = str(error)
            except OutputRefused as error:
                sent = error.why or error.what
                why = f"The results of the test run are discarded, because it sent invalid data: {sent}"
                return _refused_run(testing.tests, why, time.monotonic() - testing.started)
        if ending:
            output = f"{ending}\nTests without a report are missing.\n{testing.verdicts.failures()}"
            exit_code = int(report.get("exit_code") or -(report.get("signal") or 1))
        else:
            exit_code = testing.verdicts.exit_code or 0
            output = testing.verdicts.output.strip() or testing.verdicts.collection_error
        return TestRun(
            outcomes=_with_reason(testing.verdicts.outcomes(testing.tests.expected), stopped),
            exit_code=exit_code,
            output=output,
            collection_error=testing.verdicts.collection_error,
            missing_module=testing.verdicts.missing_module,
            seconds=time.monotonic() - testing.started,
            on_other_stub=testing.verdicts.on_other_stub(testing.tests.expected),
        )

    def command(self, command: str, files: Mapping[str, bytes], *, seconds: float) -> CommandOutcome:
        """Run a shell command on these files; see `protocol.Worker.command`."""
        pieces = workspace.command_request(command, files, seconds)
        allowed = seconds + workspace.GRACE_SECONDS
        with self._lock:
            answer = self._request(pieces, secrets.token_bytes(32), child="fresh", keep=False, seconds=allowed)
            try:
                return workspace.command_outcome(answer)
            except OutputRefused:
                self._end()
                raise

    def kill(self) -> None:
        """Kill all processes of the worker. May be called repeatedly and from any thread."""
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

    @contextlib.contextmanager
    def _within(self, processor_seconds: float | None) -> Iterator[None]:
        """Limit the processor time of the requests in this context together."""
        self._most_seconds = math.inf if processor_seconds is None else self.processor_seconds + processor_seconds
        try:
            yield
        finally:
            self._most_seconds = math.inf

    def _seconds(self, seconds: float | None) -> float:
        return self._limits.seconds if seconds is None else seconds

    def _answer(self, program: Program, packed: Packed, spec: CallSpec, early: OnFrame | None = None) -> CallAnswer:
        """Call the function and return the answer. `early` gets its frame before the worker has reported the end."""
        described = program_json(program)
        name = program_digest(described)
        request = {
            **described,
            "kind": "call",
            "arguments": packed.entries,
            "seed": _seed(spec.seed),
            "payload": packed.size,
        }
        watched = spec.watch_inputs and bool(packed.entries)
        seconds = self._seconds(spec.seconds)
        deadline = time.monotonic() + seconds
        pieces = [pack(request), *packed.pieces]
        keep = spec.reuse or watched
        child: _Child = "kept" if spec.reuse else "fresh"
        answer = self._request(pieces, name, child=child, keep=keep, seconds=seconds, early=early)
        if not watched:
            return answer
        if answer.header["kind"] != "result":
            if not spec.reuse:  # its process is no longer needed, and the sandbox would continue to watch it
                self._dismiss()
            return answer
        question = [pack({"kind": "arguments", "payload": 0})]
        left = deadline - time.monotonic()
        after = self._request(question, name, child="same", keep=spec.reuse, seconds=left)
        try:
            changed = changed_arguments(packed, after.header, after.payload)
            if changed:
                changed = changed_arguments(self._as_received(program, packed), after.header, after.payload, changed)
            return replace(answer, changed=changed)
        except OutputRefused as error:
            self._end(str(error))
            raise

    def _as_received(self, program: Program, packed: Packed) -> Packed:
        """The arguments as a function that does not touch them leaves them.

        Another pandas has other dtypes: text of the dtype `str` is text of objects before pandas 3.
        """
        idle = replace(program, code=_IDLE, function="run", outputs=(), env_vars={})
        described = program_json(idle)
        name = program_digest(described)
        request = {**described, "kind": "call", "arguments": packed.entries, "seed": 0, "payload": packed.size}
        pieces, seconds = [pack(request), *packed.pieces], self._limits.seconds
        answer = self._request(pieces, name, child="fresh", keep=True, seconds=seconds)
        if answer.header["kind"] != "result":
            self._dismiss()
            return packed
        question = [pack({"kind": "arguments", "payload": 0})]
        after = self._request(question, name, child="same", keep=False, seconds=seconds)
        entries = after.header.get("arguments")
        return Packed(entries if isinstance(entries, list) else [], [after.payload], after.payload.nbytes)

    def _request(
        self,
        pieces: Sequence[Any],
        name: bytes,
        *,
        child: _Child,
        keep: bool,
        seconds: float,
        early: OnFrame | None = None,
    ) -> CallAnswer:
        """Send a request and return its only answer."""
        return self._answers(pieces, name, 1, child=child, keep=keep, seconds=seconds, early=early)[0]

    def _answers(
        self,
        pieces: Sequence[Any],
        name: bytes,
        most: int,
        *,
        child: _Child,
        keep: bool,
        seconds: float,
        partly: bool = False,
        early: OnFrame | None = None,
    ) -> list[CallAnswer]:
        """Send a request and return its answers, at least one."""
        answers: list[tuple[dict[str, Any], memoryview]] = []
        room = self._limits.output_bytes

        def on_frame(header: dict[str, Any], payload: memoryview) -> None:
            nonlocal room
            if len(answers) == most:
                raise Malformed("a second answer" if most == 1 else "more answers than calls")
            room -= len(payload)
            if room < 0:
                raise Malformed("answers that are larger than allowed")
            answers.append((header, payload))
            if early is not None:
                early(header, payload)

        try:
            report = self._requested(pieces, name, on_frame, child=child, keep=keep, seconds=seconds)
            if not report["finished"] or report["out_of_memory"] or not answers:
                raise self._failed(report)
            stdout, stderr = clean(report["stdout"]), stable(report["stderr"], self._folder)
        except SandboxError as error:
            if not partly or not answers or isinstance(error, OutputRefused):
                raise
            stdout = stderr = ""
        return [CallAnswer(header, payload, stdout, stderr, self._folder) for header, payload in answers]

    def _run_tests(self, testing: Testing) -> dict[str, Any]:
        """Run tests to their end, with all calls that they make. Returns the report of the last exchange."""
        name, take = testing.name, testing.take
        child: _Child = "kept" if testing.may_stay else "fresh"
        while True:
            seconds = testing.seconds_left
            report = self._requested(testing.request, name, take, child=child, keep=True, seconds=seconds)
            if not report["finished"] or not testing.advance():
                return report
            child = "same"

    def _requested(
        self, pieces: Sequence[Any], name: bytes, on_frame: OnFrame, *, child: _Child, keep: bool, seconds: float
    ) -> dict[str, Any]:
        """Send a request of the program `name`. Returns the report of its end.

        If its child had ended before it could take it, and has sent nothing, a fresh one gets it, unless only the same
        child can serve it.
        """
        deadline, came = time.monotonic() + seconds, False

        def noticed(header: dict[str, Any], payload: memoryview) -> None:
            nonlocal came
            came = True
            on_frame(header, payload)

        again = child != "fresh"
        most = self._most_seconds - self.processor_seconds
        allowed = None if math.isinf(most) else most
        envelope = envelope_of(pieces, program=name, again=again, keep=keep, processor_seconds=allowed)
        to_kept, self._kept = again and name == self._kept, b""
        report = self._exchange([envelope], noticed, seconds, body=pieces, to_kept=to_kept)
        if report["ended_before"] and not (report["finished"] or came or child == "same"):
            report = self._exchange([envelope], noticed, deadline - time.monotonic(), body=pieces)
        self._kept = name if report.get("kept") else b""
        self.processor_seconds += replies.seconds_of(report.get("processor_seconds")) or 0.0
        if report.get("late"):
            late = _too_long(most, "of processor time ")
            self._end(str(late))
            raise late
        return report

    def _dismiss(self) -> None:
        """End the kept child. If that fails, the next caller gets the error."""
        self._kept = b""
        with contextlib.suppress(SandboxError):
            self._ask(DISMISS)

    def _ask(self, envelope: bytes) -> None:
        """Send an envelope without a request, and wait until the worker reports that it is ready."""
        self._exchange([envelope], _no_frame, ANSWER_SECONDS, until="ready", take_seconds=ANSWER_SECONDS)

    def _start(self, setup: dict[str, Any], seconds: float) -> None:
        try:
            with self._lock:
                setup = {**setup, "linked": self._streams.linked}
                self.facts = self._exchange(
                    [bundle(), pack(setup)], _no_frame, seconds, until="ready", take_seconds=seconds
                )
                try:
                    self._streams.send_links()
                except BaseException:
                    self._end()
                    raise
        except OutOfMemory:
            raise
        except (SandboxError, StreamEnded) as error:
            why = error.why or error.what if isinstance(error, SandboxError) else "It ended at once."
            raise EngineGone("The worker did not start.", why=why) from None

    def _exchange(
        self,
        pieces: Iterable[Any],
        on_frame: OnFrame,
        seconds: float,
        *,
        body: Sequence[Any] = (),
        to_kept: bool = False,
        until: str = "done",
        take_seconds: float = TAKE_SECONDS,
    ) -> dict[str, Any]:
        """Send one request and return its report. After any error the worker is ended, and a typed error is raised."""
        if self._dead and self._fault:
            raise SandboxCrash("The program ended its worker in an earlier call.", why=self._fault)
        if self._dead:
            raise EngineGone("The worker has ended.", hint="Start a new one.")
        self._process.watch(at_work=True)
        try:
            report = self._streams.exchange(
                pieces,
                on_frame,
                body=body,
                to_kept=to_kept,
                until=until,
                seconds=seconds,
                take_seconds=take_seconds,
            )
        except Expired:
            late = _too_long(seconds)
            self._end(str(late))
            raise late from None
        except Malformed as error:
            self._end(str(error))
            raise replies.refused(str(error)) from None
        except NotTaken as error:
            self._end()
            why = str(error) or str(self._ended())
            raise WorkerNotReady("The worker stopped before the program started.", why=why) from None
        except StreamEnded:
            self._end()
            ended = self._ended()
            self._fault = "" if was_killed(ended) else str(ended)
            raise ended from None
        except BaseException:
            self._end()
            raise
        self._process.watch(at_work=bool(report.get("kept")))  # a kept process may run at any time
        return report

    def _end(self, fault: str = "") -> None:
        """End the worker."""
        self._fault = fault
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
        """The error for a program without an answer. The worker is ended, so that the sandbox can give the reason."""
        stderr = stable(report["stderr"], self._folder)
        if report["flooded"]:
            return OutputRefused(f"The program wrote more than 16 MiB to {report['flooded']} and was stopped.")
        self._end()
        if report["finished"]:
            error: SandboxError = replies.refused("no answer")
        else:
            if report["signal"] == _SIGKILL and not report["out_of_memory"]:
                report = {**report, "out_of_memory": self._process.exit_reason().out_of_memory}
            error = replies.crash(report, stderr=stderr)
        self._fault = "" if was_killed(error) else str(error)
        return error

    def _early_end(self, report: Mapping[str, Any]) -> str:
        """A sentence that says why a test run ended early."""
        if report["flooded"]:
            return f"The tests wrote more than 16 MiB to {report['flooded']} and were stopped."
        return str(replies.crash(report, stderr=stable(report["stderr"], self._folder)))

    def _outcome(
        self, program: Program, answer: CallAnswer, outputs: Callable[[], tuple[dict[str, Any], Digests]] | None = None
    ) -> CallOutcome:
        """The outcome of an answer, or its error. `outputs` returns them if they are read already."""
        header = answer.header
        if header["kind"] == "error":
            error = replies.program_error(header, stderr=answer.stderr, folder=self._folder)
            if isinstance(error, SandboxCrash | OutputRefused):
                self._end(str(error))
            raise error
        taken = replies.seconds_of(header.get("seconds"))
        try:
            if header["kind"] != "result" or taken is None:
                raise replies.refused("an answer that is not a result")
            read = outputs or partial(replies.read_outputs, header, answer.payload, program.outputs)
            values, digests = read()
        except OutputRefused as error:
            self._end(str(error))
            raise
        return CallOutcome(
            values=values,
            digests=digests,
            mutated=answer.changed,
            stdout=answer.stdout,
            stderr=answer.stderr,
            seconds=taken,
        )


def _seed(seed: int | None) -> int:
    return secrets.randbits(_SEED_BITS) if seed is None else seed


def _too_long(seconds: float, of: str = "") -> SandboxTimeout:
    return SandboxTimeout(
        f"{RAN_OUT_OF_TIME} {seconds:g} s {of}and was stopped.",
        hint="Allow more time, or let the function work on less.",
    )


def _with_reason(outcomes: tuple[TestOutcome, ...], why: str) -> tuple[TestOutcome, ...]:
    """The outcomes; tests without a report say why they have none, if that is known."""
    return tuple(
        outcome.model_copy(update={"message": why}) if why and outcome.outcome == "missing" else outcome
        for outcome in outcomes
    )


def _refused_run(tests: TestSpec, why: str, seconds: float) -> TestRun:
    """A run without any report, because the reports may not all be written by pytest."""
    return TestRun(
        outcomes=_with_reason(Verdicts(tests.source, "", None).outcomes(tests.expected), why),
        exit_code=-1,
        output=why,
        collection_error="",
        missing_module="",
        seconds=seconds,
    )


def _no_frame(_header: dict[str, Any], _payload: memoryview) -> None:
    raise Malformed("a frame before any program ran")
