"""Fixes a test, only after an independent re-derivation.

The model that re-derives a test sees neither the code nor its results, so it cannot adapt a test to wrong code.
(In Flyte's loop, a test that fails twice is rewritten to expect what the code returns.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.patches import PatchError, excerpt, replace_tests
from autocoder_jupyter.engine.prompt import block

_DERIVER = """\
You check the expectations of tests. You see a request, the plan that fixes how it is read, and some pytest functions
for the function `run` of that plan. You see no implementation, and you must not imagine one.

For each test, work out by hand, step by step, from the request, the plan and the rules above, what `run` must give for
its input; look at all of its assertions. Then answer:
- verdict "stands": the test expects just that.
- verdict "wrong": the request and the plan demand something else. Then `replacement` is the corrected test function,
  whole, with the same name and docstring, and no weaker than before.
- verdict "undecided": neither the request nor the plan nor a rule decides what the test expects. It will be dropped.
`derivation` has your steps, in a few lines."""


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


def rederivation_messages(brief: Brief, tests: str, names: Sequence[str]) -> Messages:
    """The question. It has neither the code, nor its results, nor the diagnosis."""
    return brief.question(block("tests", excerpt(tests, names)), _DERIVER)


async def fix_tests(talk: Conversation, brief: Brief, tests: str, names: Sequence[str], *, variant: int = 0) -> TestFix:
    """Have tests re-derived, and replace or drop the wrong ones.

    A test without a clear verdict, or with an unusable replacement, stays.

    Raises:
        UnusableAnswer: no answer could be read; another `variant` asks again.
    """
    messages = rederivation_messages(brief, tests, names)
    answer = await talk.structured("fix", messages, Rederivation, variant=variant)
    verdicts = {verdict.test_name.rpartition("::")[2]: verdict for verdict in answer.verdicts}
    source, changed = tests, []
    for name in names:
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
