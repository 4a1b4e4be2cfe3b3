"""A task: a request, its data, and the answers that are known to be right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autocoder_jupyter.equality import EXAMPLE, equal
from autocoder_jupyter.types import OutputSpec, type_name

Tables = dict[str, pd.DataFrame]

OUTPUT = "answer"
"""The name of the only output of a task."""


@dataclass(frozen=True)
class TaskWords:
    """What is asked.

    Args:
        name: of the task, in a few words.
        request: the text of the cell. It names each table as `@name`.
        returns: the type of the only output, `answer`; for a DataFrame the dtypes of its columns by name.
    """

    name: str
    request: str
    returns: str | Mapping[str, str]

    @property
    def kind(self) -> str:
        """The type of the output."""
        return self.returns if isinstance(self.returns, str) else "DataFrame"

    @property
    def output(self) -> OutputSpec:
        """The output, as a request declares it."""
        return OutputSpec(name=OUTPUT, type=type_name(self.kind))


@dataclass(frozen=True)
class KnownCase:
    """Tables, and the right answer for them."""

    tables: Mapping[str, pd.DataFrame]
    answer: Any


@dataclass(frozen=True)
class KnownTask(TaskWords):
    """A task with its right answers as data.

    Args:
        sample: the tables that the model is told about.
        new_rows: other tables with the same columns, which the model never sees.
    """

    sample: KnownCase
    new_rows: KnownCase


def is_right(known: Any, given: Any) -> bool:
    """Whether an answer equals the known one, compared like a user's example."""
    return equal(known, given, EXAMPLE)
