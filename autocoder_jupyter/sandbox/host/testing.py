"""The exchange of a test run: the tests run in one worker, and the function that they call runs in another.

The worker of the tests sends reports, and then either a call or the end of the run. The host runs the call in the
function's worker like any other call, and sends the answer as the next request to the worker of the tests. So the tests
and the values that they expect are never in a process of the function, or in a process from which it is forked.
"""

from __future__ import annotations

import ast
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autocoder_jupyter.codec import Corrupt
from autocoder_jupyter.errors import EngineGone, OutputRefused, SandboxError, SandboxTimeout, WrongType
from autocoder_jupyter.sandbox.host import replies
from autocoder_jupyter.sandbox.host.exchange import Malformed
from autocoder_jupyter.sandbox.host.messages import stable, without_paths
from autocoder_jupyter.sandbox.host.packing import program_digest, program_json
from autocoder_jupyter.sandbox.host.replies import CallAnswer, receive, refused, seconds_of
from autocoder_jupyter.sandbox.protocol import Callee, CallSpec, OnCall, Program, TestSpec
from autocoder_jupyter.sandbox.worker.entries import OutOfBounds, Packed, unpacked
from autocoder_jupyter.sandbox.worker.frames import pack
from autocoder_jupyter.types import Outcome, TestOutcome
from autocoder_jupyter.untrusted.parsing import parse
from autocoder_jupyter.untrusted.visible import visible

# Outcomes

_OUTCOMES: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed", "error": "error"}
_MOST_TESTS = 10_000
_LONGEST_MESSAGE = 20_000
_LONGEST_MESSAGES = 4_000_000
"""Most characters of all messages of a run. `_LONGEST_MESSAGE` is the limit of one; the worker sends no longer ones."""


class Verdicts:
    """Collects the reports of a test run. A test has passed if each of its cases was reported as passed.

    Args:
        folder: the worker's folder inside the sandbox; its path is removed from texts.

    Attributes:
        collection_error: the error that prevented the collection of the tests, or "".
        missing_module: top-level name of a module that could not be imported, or "".
        exit_code: of pytest; None before its end.
        output: the report of pytest.
    """

    def __init__(self, tests: str, folder: str, on_report: Callable[[TestOutcome], None] | None) -> None:
        self._sentences = sentences(tests)
        self._folder = folder
        self._on_report = on_report
        self._collected: list[str] = []
        self._reported: dict[str, TestOutcome] = {}
        self._room = _LONGEST_MESSAGES
        self.collection_error = ""
        self.missing_module = ""
        self.exit_code: int | None = None
        self.output = ""
        self._again: set[str] = set()

    def take(self, header: dict[str, Any], _payload: memoryview) -> None:
        """Handle one frame."""
        kind = header["kind"]
        if kind == "collected" and not self._collected and isinstance(header.get("ids"), list):
            self._collected = [visible(str(one)[:500]) for one in header["ids"][:_MOST_TESTS]]
        elif kind == "reported" and len(self._reported) < _MOST_TESTS:
            self._report(header)
        elif kind == "passed_again" and len(self._again) < len(self._reported):
            self._again.add(visible(str(header.get("id"))[:500]))
        elif kind == "not_collected":
            text = stable(str(header.get("text")), self._folder, _LONGEST_MESSAGE)
            self.collection_error = self.collection_error or text
            self._note_missing(header)
        elif kind == "finished" and type(header.get("exit_code")) is int:
            self.exit_code = header["exit_code"]
            self.output = stable(str(header.get("output") or ""), self._folder)
        else:
            raise refused(f"a frame of the kind {kind[:30]!r} in a test run")

    def outcomes(self, expected: Sequence[str]) -> tuple[TestOutcome, ...]:
        """One outcome for each expected test."""
        return tuple(self._outcome(name) for name in expected)

    def on_other_stub(self, expected: Sequence[str]) -> tuple[str, ...]:
        """The expected tests that passed on another stub too, with all their cases."""
        return tuple(name for name in expected if (cases := self._cases(name)) and self._again.issuperset(cases))

    def failures(self) -> str:
        """The messages of the failed tests. They replace the report of pytest if that is missing."""
        return "\n".join(
            f"{one.outcome.upper()} {one.id}\n{one.message}\n"
            for one in self._reported.values()
            if one.outcome != "passed"
        )

    def _report(self, header: dict[str, Any]) -> None:
        name, outcome = header.get("id"), _OUTCOMES.get(str(header.get("outcome")))
        if not isinstance(name, str) or outcome is None or name in self._reported:
            raise refused("a report of a test that makes no sense, or comes twice")
        reported = TestOutcome(
            id=visible(name[:500]),
            outcome=outcome,
            seconds=seconds_of(header.get("seconds")) or 0.0,
            sentence=self._sentences.get(_without_case(name), ""),
            message=stable(str(header.get("message") or ""), self._folder, min(self._room, _LONGEST_MESSAGE)),
            calls=header.get("calls") is not False,
        )
        self._room = max(self._room - len(reported.message), 0)
        self._reported[reported.id] = reported
        self._note_missing(header)
        if self._on_report is not None:
            self._on_report(reported)

    def _note_missing(self, header: Mapping[str, Any]) -> None:
        name = header.get("missing_module")
        if isinstance(name, str) and name and not self.missing_module:
            self.missing_module = name.split(".", 1)[0][:100]

    def _cases(self, name: str) -> list[str]:
        return [case for case in self._collected if case == name or _without_case(case) == name]

    def _outcome(self, name: str) -> TestOutcome:
        cases = self._cases(name)
        reported = [self._reported[case] for case in cases if case in self._reported]
        bad = [case for case in reported if case.outcome != "passed"]
        outcome: Outcome = "missing"
        if bad:
            outcome = "error" if all(case.outcome == "error" for case in bad) else "failed"
        elif cases and len(reported) == len(cases):
            outcome = "passed"
        return TestOutcome(
            id=name,
            outcome=outcome,
            seconds=sum(case.seconds for case in reported),
            sentence=self._sentences.get(_without_case(name), ""),
            message="\n".join(case.message if case.id == name else f"{case.id}: {case.message}" for case in bad),
            calls=not bad or any(case.calls for case in bad),
        )


def sentences(tests: str) -> dict[str, str]:
    """The first line of the docstring of each test, by the id of the test; {} if the source cannot be parsed."""
    try:
        tree = parse(tests)
    except SyntaxError:
        return {}
    found: dict[str, str] = {}
    _gather(tree.body, "", found)
    return found


def _gather(body: Sequence[ast.stmt], prefix: str, found: dict[str, str]) -> None:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            found[prefix + node.name] = text.splitlines()[0] if text else ""
        elif isinstance(node, ast.ClassDef):
            _gather(node.body, f"{prefix}{node.name}::", found)


def _without_case(name: str) -> str:
    """The id of a test without the parameters of the case."""
    return name.split("[", 1)[0]


# The exchange

_COPIED_KEYS = ("error", "classes", "args", "exception_type", "missing_module", "loaded", "outputs")
_TEXT_KEYS = ("message", "traceback")


class Testing:
    """The state of a test run: the next request to the worker of the tests, and the frames that it sent.

    Args:
        callee: the worker of the function. None calls it in the process of the tests.
        folder: of the worker of the tests, inside the sandbox.
        longest: seconds that the run may take, if the tests do not say that.

    Attributes:
        tests: the tests.
        verdicts: receives the reports.
        allowed: seconds that the run may take.
        started: when it has started, by the monotonic clock.
        name: 32 bytes. Requests with the same name may share a process.
        request: the next request to the worker of the tests.
    """

    def __init__(
        self,
        program: Program,
        tests: TestSpec,
        callee: Callee | None,
        folder: str,
        longest: float,
    ) -> None:
        self._program = program
        self._callee = callee
        self._folder = folder
        self._reuse = tests.reuse
        self._call: Packed | None = None
        self.tests, self.started = tests, time.monotonic()
        self.allowed = longest if tests.seconds is None else tests.seconds
        self.verdicts = Verdicts(tests.source, folder, tests.on_report)
        self._gone = ""
        own = {key: value for key, value in program_json(program).items() if key not in ("code", "env")}
        own["modules"] = program.helpers.modules(for_tests=True)
        stubs = [program.code, *([tests.other_stub] if tests.other_stub else [])] if callee is None else []
        asked = {"until_failure": tests.until_failure, "traceback": tests.traceback, "stays": tests.reuse}
        wanted = {"tests": tests.source, "stubs": stubs, **asked}
        request = {**own, "kind": "test", **wanted, "payload": 0}
        self.name = program_digest(request) if tests.reuse else secrets.token_bytes(32)
        self.request: list[Any] = [pack(request)]

    @property
    def may_stay(self) -> bool:
        """Whether it runs in the process of the last such run of the same tests, and leaves it to the next one."""
        return self._reuse

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline."""
        return self.started + self.allowed - time.monotonic()

    def take(self, header: dict[str, Any], payload: memoryview) -> None:
        """Handle one frame of the worker of the tests."""
        if self._call is not None:
            raise Malformed("a frame behind a call")
        if header["kind"] == "call" and self._callee is not None:
            self._call = _arguments(self._program, header, payload)
        else:
            self.verdicts.take(header, payload)

    def advance(self) -> bool:
        """Put the outcome of a call into `request`. False if the worker waits for none."""
        call, self._call = self._call, None
        if call is None or self._callee is None:
            return False
        self.request = self._outcome(self._callee, call)
        return True

    def _outcome(self, callee: Callee, call: Packed) -> list[Any]:
        if not self._gone:
            try:
                spec = CallSpec(
                    seconds=self.seconds_left,
                    watch_inputs=True,
                    reuse=self._reuse,
                    processor_seconds=self.tests.processor_seconds,
                )
                answer = callee.answer(self._program, call, spec)
            except (SandboxTimeout, EngineGone):
                raise
            except SandboxError as error:
                self._gone = "" if callee.alive else str(error)
                return [pack({"kind": "gone", "message": str(error), "payload": 0})]
            if wrong := _wrong_elements(self._program, answer):
                return [pack({"kind": "error", "error": "WrongType", "message": wrong, "payload": 0})]
            if self.tests.on_call is not None:
                _report_call(self.tests.on_call, self._program, call, answer)
            facts = {key: answer.header[key] for key in _COPIED_KEYS if key in answer.header}
            texts = {key: without_paths(str(answer.header.get(key, "")), answer.folder) for key in _TEXT_KEYS}
            facts["args"] = [_without_path(value, answer.folder) for value in _list(facts.get("args"))]
            printed = without_paths(answer.stdout + answer.stderr, answer.folder)
            reply = {"kind": answer.header["kind"], **facts, **texts, "printed": printed, "changed": answer.changed}
            return [pack({**reply, "payload": answer.payload.nbytes}), answer.payload]
        return [pack({"kind": "gone", "message": self._gone, "payload": 0})]


def _wrong_elements(program: Program, answer: CallAnswer) -> str:
    """A sentence about a list or dict in a result with elements of another type than declared; "" if there is none."""
    if answer.header["kind"] != "result" or not any(spec.elements for spec in program.outputs):
        return ""
    try:
        replies.read_outputs(answer.header, answer.payload, program.outputs)
    except WrongType as error:
        return error.why
    except OutputRefused:
        return ""  # the worker of the tests reports this itself
    return ""


def _report_call(on_call: OnCall, program: Program, call: Packed, answer: CallAnswer) -> None:
    """Call `on_call` if the function returned what it declares. Other calls are not reported."""
    if answer.header["kind"] != "result":
        return
    try:
        values, _ = replies.read_outputs(answer.header, answer.payload, program.outputs)
        given = _decoded(call)
    except (OutputRefused, WrongType, Corrupt, OutOfBounds):
        return
    on_call(given, values)


def _decoded(call: Packed) -> dict[str, Any]:
    """The decoded arguments of a call of a test."""
    found = unpacked(call.entries, memoryview(call.pieces[0]))
    inputs = ((str(entry["name"]), entry.get("header"), part) for entry, part in found)
    return {name: receive(header, part, trusted=False) for name, header, part in inputs if isinstance(header, dict)}


def _arguments(program: Program, header: Mapping[str, Any], payload: memoryview) -> Packed:
    """The arguments of a call of a test. They must be inputs of the function."""
    kinds = {spec.name: spec.type for spec in program.inputs}
    entries = header.get("arguments")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Malformed("a call without arguments")
    for entry in entries:
        if entry.get("type") != kinds.get(str(entry.get("name"))) or type(entry.get("size")) is not int:
            raise Malformed("an argument that the function does not have")
    return Packed(entries, [payload], payload.nbytes)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _without_path(value: Any, folder: str) -> Any:
    return without_paths(value, folder) if isinstance(value, str) else value
