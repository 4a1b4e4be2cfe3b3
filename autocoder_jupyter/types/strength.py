"""How much the evidence for a function is worth: whether its tests notice changes of it, and what else was tried."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from autocoder_jupyter.types.record import Count, Record
from autocoder_jupyter.untrusted.visible import visible

LONGEST = 200
"""Characters of an expression."""

ENOUGH = 0.8
"""The share of changes that tests must notice. If more than a fifth passes, a sentence of the request has no test."""

NO_CHANGE = "no small change of it gives another answer"
"""Why no change counts, if nothing went wrong."""

ZONE = "the same instants in another time zone"
"""The name of a relation. It may matter, because it moves the limits of days."""


def _in_one_line(text: str) -> str:
    return visible(" ".join(text.split()))[:LONGEST]


_Shown = Annotated[str, AfterValidator(_in_one_line)]


class CodeChange(Record):
    """A small change of the function that changes an answer: in this `line`, `now` instead of `was`.

    `noticed_by` is the first test, or the user's example, that failed with it; "" if none did.
    """

    line: Count
    was: _Shown
    now: _Shown
    noticed_by: _Shown = ""

    @property
    def words(self) -> str:
        """The change in one line."""
        return f"line {self.line}: {self.now} instead of {self.was}"


class Dependence(Record):
    """Something that is no input, and that the result may not depend on.

    `on` is what was changed ("the date", "chance", "its process"), `reads` what the code reads of it, in these `lines`;
    `differs` says whether the result on the sample was another one, `tried` whether a run with a change had a result.
    """

    on: _Shown
    reads: tuple[_Shown, ...] = ()
    lines: tuple[Count, ...] = ()
    differs: bool = False
    tried: bool = True

    @property
    def words(self) -> str:
        """The finding in one or two sentences."""
        where = f" (line {', '.join(map(str, self.lines))})" if self.lines else ""
        said = f"The code reads {' and '.join(self.reads)}{where}" if self.reads else ""
        if self.differs:
            return f"{said}, and the result depends on it." if said else f"The result depends on {self.on}."
        if not self.tried:
            return f"{said}. No run could change that, so look whether the result depends on it."
        return f"{said}; the result was the same when it changed."


class Relation(Record):
    """A change of the data after which the result must be the same, such as another order of the rows; or other inputs.

    `holds` says whether it was, `where` names the first output that differs, and `smallest` is a small input on which
    it does, as Python source; "" if there is none that may be shown. `said` is what else was tried, or went wrong: "the
    function raises KeyError", or a check of the user; `name` is then the input. `demanded_by` says who wants it: "" if
    every function must keep it, `plan` if only the plan says so, and `nobody` if the plan does, but a second solution
    that agrees with the function does not keep it either, so that the plan is wrong.
    """

    name: _Shown
    holds: bool
    where: _Shown = ""
    smallest: str = ""
    said: _Shown = ""
    demanded_by: Literal["", "plan", "nobody"] = ""

    @property
    def words(self) -> str:
        """What was found, in a few words."""
        if self.demanded_by:
            return f"{self.name} changes {self.where}, which the plan rules out"
        return f"{self.said} {self.name}" if self.said else f"{self.name} changes {self.where}"


class LayerCost(Record):
    """What one layer of the evidence took: the `tokens` of its questions, in and out, that this run paid for; the
    `recorded` ones, of answers from the journal, which an earlier run paid for; and the `seconds` of its runs, without
    those in which the model answered.
    """

    layer: _Shown
    tokens: Count = 0
    recorded: Count = 0
    seconds: float = Field(default=0.0, ge=0)


class Strength(Record):
    """What the tests notice, and what else was found out about a verified function.

    `changes` are small changes of the function, each of which gives another answer on the sample or on a variation of
    it. `ended` says why not all were tried, or why there are none; "" if there is nothing to say. `dependences` say
    what else than its inputs the code reads, `relations` whether changes of the data that should not matter do. `added`
    are tests that were added because changes were not noticed; `dropped` are the sentences of tests that were not
    added, because they fail on the function. `note` says why no tests were added although some were wanted.
    """

    changes: tuple[CodeChange, ...] = ()
    ended: str = ""
    dependences: tuple[Dependence, ...] = ()
    relations: tuple[Relation, ...] = ()
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    note: str = ""

    @property
    def is_weak(self) -> bool:
        """Whether the tests notice too few of the changes."""
        return self.noticed < ENOUGH * len(self.changes)

    @property
    def noticed(self) -> int:
        """The number of changes that a test notices."""
        return sum(bool(change.noticed_by) for change in self.changes)

    @property
    def survivors(self) -> tuple[CodeChange, ...]:
        """The changes that no test notices."""
        return tuple(change for change in self.changes if not change.noticed_by)

    @property
    def broken(self) -> tuple[Relation, ...]:
        """The changes of the data that matter although they should not, and what went wrong on other inputs."""
        found = (one for one in self.relations if not one.holds and one.name != ZONE)
        return tuple(one for one in found if one.demanded_by != "nobody")

    @property
    def wrong_plan(self) -> tuple[Relation, ...]:
        """What only the plan says of the answer, and two solutions that agree do not keep."""
        return tuple(one for one in self.relations if one.demanded_by == "nobody")
