"""Why an attempt failed: failures that need no model, and the question to the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel

from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.patches import excerpt
from autocoder_jupyter.engine.prompt import block
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.types import ErrorDiagnosis, TestFailure, TestOutcome

_INSTRUCTIONS = """\
You find out why tests of a function fail. The function and its tests were written by two people from the same request
and the same plan, without seeing each other's work; either may be wrong.

For each failing test, decide from the request, the plan and the rules above alone what the function should give for
that test's input: work it out. A test ends at its first failed assertion: judge all of them. Then say who departs from
that, by the first that holds:
- error_type "environment": a package, a system library or a resource is missing. Then fill needs_language_packages
  (names on the package index) or needs_system_packages (apt).
- error_type "test_error": what the test expects is contradicted by the request, the plan or the rules, or none of them
  decides it, or it is faulty in itself. Name the sentence, or say that there is none. That the function passes
  otherwise is no argument.
- error_type "logic": the function departs from a sentence. Also when a sentence decides and you are not sure which of
  the two departs from it.
Of several tests with one cause, tell one, and name the others in its `same_cause`. suggested_fix says what to change,
in one or two sentences, for that failure alone. Never suggest making a test agree with what the function happens to
return. `departures`: where else the function departs from a sentence of the plan, which no failing test shows; one
line each, mostly none."""

DEPARTURE = "departs from the plan"
"""The start of the name of a failure that no test shows."""

_MOST_DEPARTURES = 5
_LONGEST_DEPARTURE = 500

LONGEST_MESSAGE = 3000
"""Characters of one test's message that are shown; a longer one is cut in the middle."""


def told_by_program(name: str, error: Exception, redaction: Redaction) -> TestFailure:
    """A failure outside of any test (on the sample, in a check). It is the function's."""
    said = redaction.error(error)
    return TestFailure(
        test_name=name,
        error_message=said,
        expected_behavior="The function runs and keeps to the interface.",
        actual_behavior=said,
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
        _INSTRUCTIONS,
    )


async def diagnose(
    talk: Conversation, brief: Brief, code: str, tests: str, failing: Sequence[TestOutcome]
) -> ErrorDiagnosis:
    """Ask why tests fail. The result has every failing test, even if the model's answer lacks it or is unusable.

    An unusable answer must not stall the loop, so it counts as "the code is at fault", with pytest's own messages.
    """
    messages = diagnosis_messages(brief, code, tests, failing)
    try:
        answer = await talk.structured("diagnose", messages, DiagnosisAnswer)
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
        told: dict[str, Any] = {"error_type": "logic"}
        if (found := by_name.get(outcome.id.rpartition("::")[2])) is not None:
            told = found.model_dump(exclude={"same_cause"})
        failures.append(TestFailure(**{**told, "test_name": outcome.id, "error_message": message}))
    return ErrorDiagnosis(
        failures=(*failures, *_departures(answer.departures)),
        needs_system_packages=answer.needs_system_packages,
        needs_language_packages=answer.needs_language_packages,
    )


def _short_name(test: str) -> str:
    return test.rpartition("::")[2].partition("[")[0]


def _departures(sentences: Iterable[str]) -> list[TestFailure]:
    told = list(dict.fromkeys(" ".join(sentence.split())[:_LONGEST_DEPARTURE] for sentence in sentences))
    return [
        TestFailure(test_name=f"{DEPARTURE} ({number})", error_message=sentence, error_type="logic")
        for number, sentence in enumerate(filter(None, told[:_MOST_DEPARTURES]), start=1)
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
