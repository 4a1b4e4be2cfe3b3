"""The format of a task: a request with its data, its right answer, and what is wrong or read otherwise.

It knows nothing of the loop. A real model can be asked the same: it gets the request and the sample, and what its
function returns on the sample and on new rows is compared with what `right` returns.
"""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autocoder_jupyter.evaluate.trial import KnownCase, KnownTask, Tables, TaskWords

Change = str | tuple[str, str]
"""The body of a function, or a text of the right body with its replacement."""

SAMPLE, NEW_ROWS = 1, 2
"""Seeds of the two sets of tables."""

HEAD = "import numpy as np\nimport pandas as pd\n\n\n"


@dataclass(frozen=True)
class Task(TaskWords):
    """A request and its solutions. A solution is the body of `run`, whose parameters are the names of the tables.

    Args:
        name, request, returns: what is asked.
        tables: makes the tables from random numbers; the same seed makes the same tables.
        assumptions: how the right function reads what the request leaves open.
        right: the right function.
        same: a right function in another style, as another person would write it.
        small: makes small tables for the tests, as source.
        weak: tests that a careless tester writes, by the sentence that they check. They use the tables of `small`.
        strong: the tests that a careful tester would add.
        wrong: natural mistakes, by a short description.
        later: functions that are right on the sample, and wrong on the edge.
        other: other readings of the request, by a line that could stand in it.
        cheats: functions that try to look right where they are tested, by where they are wrong.
        shared: the mistakes that the second solution and the tests may share.
        edge: small tables on which a mistake shows, if it does not on the sample or the new rows, as source.
    """

    tables: Callable[[np.random.Generator], Tables]
    assumptions: tuple[str, ...]
    right: str
    same: str
    small: str
    weak: Mapping[str, str]
    strong: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, Change] = field(default_factory=dict)
    later: Mapping[str, Change] = field(default_factory=dict)
    other: Mapping[str, Change] = field(default_factory=dict)
    cheats: Mapping[str, Change] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    edge: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(self.sample())

    def sample(self) -> Tables:
        """The tables that the user has."""
        return self.tables(np.random.default_rng(SAMPLE))

    def new_rows(self) -> Tables:
        """Tables of another day."""
        return self.tables(np.random.default_rng(NEW_ROWS))

    def body(self, change: Change) -> str:
        """The body of a solution.

        Raises:
            ValueError: the text to replace does not stand in the right body exactly once.
        """
        if isinstance(change, str):
            return _plain(change)
        found, put = change
        if _plain(self.right).count(found) != 1:
            raise ValueError(f"{self.name}: {found!r} stands {_plain(self.right).count(found)} times in the right body")
        return _plain(self.right).replace(found, put)

    def module(self, change: Change, declared: str = "") -> str:
        """A solution as a module; `declared` stands at its beginning."""
        body = textwrap.indent(self.body(change), "    ")
        return f"{declared}{HEAD}def run({', '.join(self.inputs)}):\n{body}\n"

    def test_module(self, tests: Mapping[str, str]) -> str:
        """Tests as a module."""
        head = "import numpy as np\nimport pandas as pd\nimport pytest\nfrom solution import run\n\n\n"
        return head + "\n\n".join(
            f'def test_{number}():\n    """{sentence}"""\n{self._indented(body)}\n'
            for number, (sentence, body) in enumerate(tests.items())
        )

    def _indented(self, body: str) -> str:
        return textwrap.indent(f"{_plain(self.small)}\n{_plain(body)}", "    ")

    @property
    def tests_of_types(self) -> dict[str, str]:
        """A test that checks no value, only that there is one of the right type."""
        call = f"answer = run({', '.join(f'{name}={name}' for name in self.inputs)})"
        if isinstance(self.returns, str):
            there = "answer is not None" if self.returns == "bool" else "answer"
            return {"It returns the right type.": f"{call}\nassert isinstance(answer, {self.returns}) and {there}"}
        columns = f"list(answer.columns) == {list(self.returns)}"
        return {"It returns the right type.": f"{call}\nassert {columns} and len(answer) > 0"}

    def known(self) -> KnownTask:
        """The task as data, with all that the request leaves open said in it. Only for solutions of this project."""
        columns = "" if isinstance(self.returns, str) else f" The columns of the answer: {', '.join(self.returns)}."
        request = " ".join((self.request, *self.assumptions)) + columns
        run = self.function(self.right)
        cases = [KnownCase(tables, run(**copy.deepcopy(tables))) for tables in (self.sample(), self.new_rows())]
        return KnownTask(self.name, request, self.returns, *cases)

    def function(self, change: Change) -> Callable[..., Any]:
        """A solution that can be called here. Only for solutions of this project."""
        names: dict[str, Any] = {}
        exec(self.module(change), names)
        return names["run"]


def _plain(source: str) -> str:
    return textwrap.dedent(source).strip()
