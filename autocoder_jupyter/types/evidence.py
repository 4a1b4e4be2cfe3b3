"""The evidence for a function: outcomes of tests and checks, changes, differences from a second solution."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from autocoder_jupyter.types.interface import CodePlan
from autocoder_jupyter.types.record import Count, Record
from autocoder_jupyter.types.solution import Usage

Outcome = Literal["passed", "failed", "error", "missing"]


BLIND = "blind::"
"""The prefix of the ids of blind tests in a list with other tests."""


class TestOutcome(Record):
    """One test: its id (`test_x`, `TestC::test_x`, `test_x[1-a]`), the sentence it checks, and how it went."""

    __test__ = False

    id: str
    outcome: Outcome
    seconds: float = 0.0
    sentence: str = ""
    message: str = ""

    @property
    def is_blind(self) -> bool:
        """Whether it is a blind test, which the writer of code and tests has not seen."""
        return self.id.startswith(BLIND)


class CheckOutcome(Record):
    """One condition that is not a test: a user's `--check`, a constraint, types, determinism, untouched inputs.

    `message` is what a model may be told too. `in_full` is for the person's eyes and is never written down.
    """

    name: str
    passed: bool
    message: str = ""
    in_full: str = Field(default="", exclude=True, repr=False)


class Evidence(Record):
    """What `success` rests on. `success` needs every part of it; a part that was not reached is empty.

    `acceptance` is what the person demands: examples, own tests and checks, in this order. Nobody else changes them.
    """

    acceptance: tuple[CheckOutcome, ...] = ()
    tests: tuple[TestOutcome, ...] = ()
    checks: tuple[CheckOutcome, ...] = ()
    vacuous_tests: tuple[str, ...] = ()
    tests_changed: tuple[str, ...] = ()

    @property
    def conditions(self) -> tuple[CheckOutcome, ...]:
        """All conditions except the model's tests; the user's come first."""
        return (*self.acceptance, *self.checks)


class TestChoice(Record):
    """What became of a test of the earlier version: it stayed as it was, went, or was derived anew, and why."""

    __test__ = False

    id: str
    sentence: str = ""
    fate: Literal["kept", "dropped", "changed"] = "kept"
    reason: str = ""


class OutputChange(Record):
    """In what an output on the sample differs from the earlier version's, a sentence a line."""

    name: str
    lines: tuple[str, ...] = ()


class Changes(Record):
    """What a version has that the one that it was made from had not, as far as that is not in its own record.

    `plan` and `code` are those of the earlier version. `outputs` are compared on the sample of this one; `None` when
    the earlier version could not be run on it.
    """

    plan: CodePlan
    code: str
    tests: tuple[TestChoice, ...] = ()
    outputs: tuple[OutputChange, ...] | None = None


class Difference(Record):
    """One place where the function and the second solution differ.

    `where` is an output, a column of one (`monthly.growth`) or the rows of one; `first` is what the function gives
    there, `second` the other, `at` the row of the example; `count` of `of` rows differ. `on` names the variation of
    the sample on which that is so; it is "" for the sample itself.
    """

    where: str
    first: str
    second: str
    at: str = ""
    count: Count = 1
    of: Count = 1
    on: str = ""


class Reading(Record):
    """Another way to read the request: in some `words` ("year on year"), and as a `line` for the request.

    `assumption` is the one of the plan that says the opposite, or "".
    """

    words: str
    line: str
    assumption: str = ""


class SecondOpinion(Record):
    """What an independent second solution of the request showed.

    `state`: both `agree`; they `differ`; or there is `none`, and `note` says why. `tried` names the variations of the
    sample on which both ran, `not_compared` what has no counterpart. `smallest` is a small input on which they differ,
    as Python source, and `derivation` what must come out there by an independent sum; `confirms` says which of the two
    that is. `tests` are the tests that came of it. `usage` is part of the report's.
    """

    state: Literal["agree", "differ", "none"] = "none"
    note: str = ""
    code: str = ""
    model: str = ""
    differences: tuple[Difference, ...] = ()
    readings: tuple[Reading, ...] = ()
    tried: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    smallest: str = ""
    derivation: str = ""
    confirms: Literal["first", "second", ""] = ""
    tests: tuple[str, ...] = ()
    usage: Usage = Usage()
