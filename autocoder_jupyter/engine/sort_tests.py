"""Which tests of an earlier version a wish contradicts. It is a separate question from those for plan and code.

The model that decides sees the tests, the plan that they were written for, and the wish, but neither code nor the new
plan, so no test is dropped because it is inconvenient. To drop a test it must quote the words of the wish that
contradict it. A test that the answer does not name stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, Field

from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.prompt import block
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import InputSpec, TestChoice

_INSTRUCTIONS = """\
You decide which tests of a function still hold when a new wish is granted. You see the request, the plan of the
function as it is, its tests and the wish. You see no code, neither the present nor the next one.

For each test, work out what the wish changes for that test's input:
- verdict "keep": what the test expects is right whether the wish is granted or not. Also when you are not sure, and
  when the wish only adds an output or an optional parameter: calls are brought in line by themselves.
- verdict "drop": with the wish granted as it is worded, what the test expects is wrong. `contradicted_by` quotes the
  words of the wish that say so, letter for letter. Without such words a test cannot be dropped.
`reason` says in one short sentence why it goes or stays."""


class _Verdict(BaseModel):
    test_name: str
    verdict: Literal["keep", "drop"]
    reason: str = ""
    contradicted_by: str = ""


class SortedTests(BaseModel):
    """A verdict for each test."""

    verdicts: list[_Verdict] = Field(default_factory=list)


def sorting_messages(brief: Brief, tests: str) -> Messages:
    """The question. The newest wish is separate from the request. The question must never contain code.

    Args:
        brief: the request, with the newest wish last, and the plan of the earlier version.
        tests: the tests of the earlier version.
    """
    *granted, wish = brief.request.wishes
    before = replace(brief, request=replace(brief.request, wishes=tuple(granted)))
    return before.question(block("tests", tests.strip()), block("wish", wish.strip()), _INSTRUCTIONS)


async def sort_tests(talk: Conversation, brief: Brief, suite: TestSuite) -> tuple[TestChoice, ...]:
    """For each test of the earlier version, in order, whether it is kept. An unusable answer keeps all."""
    messages = sorting_messages(brief, suite.source)
    try:
        answer = await talk.structured("tests", messages, SortedTests)
    except UnusableAnswer:
        answer = SortedTests()
    verdicts = {verdict.test_name.rpartition("::")[2]: verdict for verdict in answer.verdicts}
    return tuple(
        _choice(test, sentence, verdicts.get(test.rpartition("::")[2]), brief.request.wishes[-1])
        for test, sentence in suite.sentences.items()
    )


def _choice(test: str, sentence: str, verdict: _Verdict | None, wish: str) -> TestChoice:
    if verdict is None or verdict.verdict == "keep" or not _quoted(verdict.contradicted_by, wish):
        return TestChoice(id=test, sentence=sentence, fate="kept")
    return TestChoice(id=test, sentence=sentence, fate="dropped", reason=verdict.reason.strip())


def _quoted(words: str, wish: str) -> bool:
    """Whether the wish contains these words, ignoring white space; punctuation alone does not count."""
    said, wished = " ".join(words.split()).strip(" \"'.…").casefold(), " ".join(wish.split()).casefold()
    return any(letter.isalnum() for letter in said) and said in wished


def unreachable(
    choices: tuple[TestChoice, ...], before: Sequence[InputSpec], now: Sequence[InputSpec]
) -> tuple[TestChoice, ...]:
    """The choices; all tests are dropped if the function has a new required input, which their calls lack."""
    known = {spec.name for spec in before}
    demanded = ", ".join(spec.name for spec in now if spec.required and spec.name not in known)
    if not demanded:
        return choices
    reason = f"It calls the function without {demanded}, which it now needs."
    return tuple(choice.model_copy(update={"fate": "dropped", "reason": reason}) for choice in choices)
