"""Diagnosis and repair: why tests fail, failures as text for the model, and fixes of wrong tests."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.prompt import Brief, block
from autocoder_jupyter.engine.tests import test_spans
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.types import ErrorDiagnosis, TestFailure, TestOutcome
from autocoder_jupyter.untrusted.parsing import complaint, parse

# Single tests in the text of a module


class PatchError(ValueError):
    """A change does not fit the text. The message says which and why; it is text for the model."""


def replace_tests(source: str, replacements: Mapping[str, str | None]) -> str:
    """Replace test functions by new ones.

    Comments, imports and everything between the functions stay. Decorators are replaced with their function.
    """
    spans = dict(test_spans(parse(source)))
    lines = source.split("\n")
    for name in sorted(replacements, key=lambda name: spans.get(name, (0, 0, 0)), reverse=True):
        if name not in spans:
            raise PatchError(f"there is no test {name!r}")
        first, last, indent = spans[name]
        new = replacements[name]
        body = [] if new is None else _function_lines(new, name.rpartition("::")[2], indent)
        lines[first - 1 : last] = body
    text = "\n".join(lines)
    try:
        parse(text)
    except SyntaxError as error:
        raise PatchError(f"after the change the tests do not parse: {complaint(error)}") from None
    return text


def _function_lines(code: str, name: str, indent: int) -> list[str]:
    text = textwrap.dedent(code).strip("\n")
    try:
        body = parse(text).body
    except SyntaxError as error:
        raise PatchError(f"the new {name} does not parse: {complaint(error)}") from None
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef) or body[0].name != name:
        raise PatchError(f"the replacement of {name} must be that one function, without imports or other code")
    return [" " * indent + line if line.strip() else "" for line in text.split("\n")]


def excerpt(source: str, names: Iterable[str]) -> str:
    """A test module with only the named tests. Imports and helpers stay, so that the tests can be understood."""
    wanted = set(names)
    others = [
        span
        for name, span in test_spans(parse(source))
        if name not in wanted and name.rpartition("::")[2].startswith("test")
    ]
    left_out = {number for first, last, _ in others for number in range(first, last + 1)}
    lines = [line for number, line in enumerate(source.split("\n"), start=1) if number not in left_out]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


# Diagnosis

DEPARTURE = "departs from the plan"
"""The start of the name of a failure that no test shows."""

_MOST_DEPARTURES = 5
_LONGEST_DEPARTURE = 500

LONGEST_MESSAGE = 3000
"""Characters of one test's message that are shown; a longer one is cut in the middle."""


def program_failure(name: str, error: Exception, redaction: Redaction) -> TestFailure:
    """A failure outside of any test (on the sample, in a check). It is the function's."""
    message = redaction.error(error)
    return TestFailure(
        test_name=name,
        error_message=message,
        expected_behavior="The function runs and keeps to the interface.",
        actual_behavior=message,
        root_cause=redaction.traceback(error),
        error_type="logic",
    )


def diagnosis_messages(brief: Brief, code: str, tests: str, failing: Sequence[TestOutcome]) -> Messages:
    """The question: the code, only the failing tests, and pytest's message for each."""
    reports = "\n\n".join(f"## {outcome.id}: {outcome.outcome}\n{shortened(outcome.message)}" for outcome in failing)
    return brief.question(
        block("solution", code),
        block("failing_tests", excerpt(tests, [outcome.id for outcome in failing])),
        block("reports", reports),
        prompt("fix.diagnose"),
    )


async def diagnose(
    conversation: Conversation, brief: Brief, code: str, tests: str, failing: Sequence[TestOutcome]
) -> ErrorDiagnosis:
    """Ask why tests fail. The result has every failing test, even if the model's answer lacks it or is unusable.

    An unusable answer must not stall the loop, so it counts as "the code is at fault", with pytest's own messages.
    """
    messages = diagnosis_messages(brief, code, tests, failing)
    try:
        answer = await conversation.structured("diagnose", messages, DiagnosisAnswer)
    except UnusableAnswer:
        answer = DiagnosisAnswer()
    return complete(answer, failing)


class _Failure(TestFailure):
    error_message: str = ""
    same_cause: tuple[str, ...] = ()


class DiagnosisAnswer(BaseModel):
    """Why tests fail, a cause at a time, and what else is not as planned."""

    failures: tuple[_Failure, ...] = ()
    departures: tuple[str, ...] = ()
    needs_system_packages: tuple[str, ...] = ()
    needs_language_packages: tuple[str, ...] = ()


def complete(answer: DiagnosisAnswer, failing: Iterable[TestOutcome]) -> ErrorDiagnosis:
    """The diagnosis with one failure per failing test, with pytest's ids and pytest's messages.

    Departures that no test shows follow as failures of their own.
    """
    by_name: dict[str, _Failure] = {}
    for failure in answer.failures:
        by_name |= dict.fromkeys(map(_short_name, failure.same_cause), failure)
    by_name |= {_short_name(failure.test_name): failure for failure in answer.failures}
    failures = []
    for outcome in failing:
        message = last_line(outcome.message) or outcome.outcome
        fields: dict[str, Any] = {"error_type": "logic"}
        if (found := by_name.get(outcome.id.rpartition("::")[2])) is not None:
            fields = found.model_dump(exclude={"same_cause"})
        failures.append(TestFailure(**{**fields, "test_name": outcome.id, "error_message": message}))
    return ErrorDiagnosis(
        failures=(*failures, *_departures(answer.departures)),
        needs_system_packages=answer.needs_system_packages,
        needs_language_packages=answer.needs_language_packages,
    )


def _short_name(test: str) -> str:
    return test.rpartition("::")[2].partition("[")[0]


def _departures(sentences: Iterable[str]) -> list[TestFailure]:
    distinct = list(dict.fromkeys(" ".join(sentence.split())[:_LONGEST_DEPARTURE] for sentence in sentences))
    return [
        TestFailure(test_name=f"{DEPARTURE} ({number})", error_message=sentence, error_type="logic")
        for number, sentence in enumerate(filter(None, distinct[:_MOST_DEPARTURES]), start=1)
    ]


def last_line(message: str) -> str:
    """The error in one line: pytest's first `E` line, else the last line that is not blank."""
    lines = [line for line in message.splitlines() if line.strip()]
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    return errors[0] if errors else (lines[-1].strip() if lines else "")


def shortened(message: str) -> str:
    """A message that fits a prompt: its beginning and its end."""
    if len(message) <= LONGEST_MESSAGE:
        return message
    half = LONGEST_MESSAGE // 2
    return f"{message[:half]}\n[… {len(message) - 2 * half} characters left out …]\n{message[-half:]}"


# Failures as text


def failures_text(failures: Sequence[TestFailure]) -> str:
    """Each failure with its error, what was expected, its cause and the suggested fix, masked and shortened."""
    masker = Masker()  # an error message on the sample may quote values that the data section hides
    blocks = []
    for failure in failures:
        rows = [
            ("what happened", failure.error_message),
            ("expected", failure.expected_behavior),
            ("actual", failure.actual_behavior if failure.actual_behavior != failure.error_message else ""),
            ("cause", failure.root_cause),
            ("to do", failure.suggested_fix),
        ]
        lines = "\n".join(f"  {label}: {shortened(masker.mask(text))}" for label, text in rows if text.strip())
        blocks.append(f"- {failure.test_name}\n{lines}")
    return "\n".join(blocks)


# Fixes of tests
#
# The model that re-derives a test sees neither the code nor its results, so it cannot adapt a test to wrong code. (In
# Flyte's loop, a test that fails twice is rewritten to expect what the code returns.)


class TestVerdict(BaseModel):
    """What an independent reading makes of one test."""

    __test__ = False

    test_name: str
    derivation: str
    verdict: Literal["stands", "wrong", "undecided"]
    replacement: str | None = None


class Rederivation(BaseModel):
    """A verdict for each test."""

    verdicts: list[TestVerdict]


@dataclass(frozen=True)
class TestFix:
    """The tests after a re-derivation, with the replaced and the dropped ones."""

    __test__ = False

    source: str
    changed: tuple[str, ...]


def rederivation_messages(brief: Brief, tests: str, failing: Sequence[TestOutcome]) -> Messages:
    """The question. It has neither the code, nor its results, nor the diagnosis; only the errors of tests that failed
    before they called the function.
    """
    broken = [f"{outcome.id}: {last_line(outcome.message)}" for outcome in failing if not outcome.calls]
    return brief.question(
        block("tests", excerpt(tests, [outcome.id for outcome in failing])),
        *([prompt("fix.broken"), block("errors", shortened(Masker().mask("\n".join(broken))))] if broken else []),
        prompt("fix.rederive"),
    )


async def fix_tests(
    conversation: Conversation, brief: Brief, tests: str, failing: Sequence[TestOutcome], *, variant: int = 0
) -> TestFix:
    """Have tests re-derived, and replace or drop the wrong ones.

    A test without a clear verdict, or with an unusable replacement, stays.
    """
    messages = rederivation_messages(brief, tests, failing)
    answer = await conversation.structured("fix", messages, Rederivation, variant=variant)
    verdicts = {verdict.test_name.rpartition("::")[2]: verdict for verdict in answer.verdicts}
    source, changed = tests, []
    for name in (outcome.id for outcome in failing):
        verdict = verdicts.get(name.rpartition("::")[2])
        if verdict is None or verdict.verdict == "stands":
            continue
        replacement = verdict.replacement if verdict.verdict == "wrong" else None
        if verdict.verdict == "wrong" and replacement is None:
            continue
        try:
            source = replace_tests(source, {name: replacement})
        except PatchError:
            continue
        changed.append(name)
    return TestFix(source, tuple(changed))
