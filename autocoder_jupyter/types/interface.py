"""The inputs and outputs of a function, and the plan that fixes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from autocoder_jupyter.kinds.table import KINDS, WHOLE, written
from autocoder_jupyter.kinds.values import TypeName
from autocoder_jupyter.types.record import Elements, Record
from autocoder_jupyter.types.split import DeclaredSplit


class ColumnSpec(Record):
    """One column of a DataFrame output: its name, its pandas dtype and what it means."""

    name: str
    dtype: str
    meaning: str = ""


class InputSpec(Record):
    """One argument of the function. `default` is a JSON value and counts only when `required` is false.

    Times are ISO text; a duration is ISO text too, or a number of seconds. `elements` is as in `OutputSpec`.
    """

    name: str
    type: TypeName
    required: bool = True
    default: Any = None
    meaning: str = ""
    elements: Elements = ""

    @property
    def written_type(self) -> str:
        """The type with that of its elements, as Python writes it: `list[str]`."""
        return written(self.type, self.elements)

    def default_value(self) -> Any:
        """The default as a value of the input's type.

        Raises:
            ValueError, TypeError: it is not valid.
        """
        return KINDS[self.type].from_json(self.default)


class OutputSpec(Record):
    """One value that the function returns. `columns` is for a DataFrame, when the plan fixed them.

    `elements` is the type of what a list or dict holds: `str` of `list[str]`, `float` of `dict[str, float]`.
    """

    name: str
    type: TypeName
    meaning: str = ""
    columns: tuple[ColumnSpec, ...] = ()
    elements: Elements = ""

    @property
    def written_type(self) -> str:
        """The type with that of its elements, as Python writes it: `list[str]`."""
        return written(self.type, self.elements)

    @property
    def whole(self) -> TypeName:
        """The type of the value, or of the tables or figures in a list or dict."""
        return cast(TypeName, self.elements) if self.elements in WHOLE else self.type


ORDERLESS = "order"
"""A property: no value of the answer depends on the order of the rows."""

TWICE = "twice"
"""A property: the answer is the same if each row of the largest table comes twice, as a mean or a share is."""


def table_names(specs: Iterable[InputSpec | OutputSpec]) -> list[str]:
    """The names of the inputs or outputs that are tables."""
    return [spec.name for spec in specs if KINDS[spec.type].form == "table"]


class CodePlan(Record):
    """The interface, fixed before code and tests are written, and how the request was read.

    `assumptions` name how the plan reads what the request leaves open; a person who disagrees says so in the next run.
    `packages` are distributions (as on the package index) beyond the standard library, `system_packages` are apt's.
    `split` is how the largest table must be able to be split; None if nothing was demanded. `holds` are properties that
    the answer must have: `order` (no value depends on the order of rows), `twice` (it is the same if each row of the
    largest table comes twice), or a split as `--split` has it.
    """

    description: str
    approach: str
    inputs: tuple[InputSpec, ...] = ()
    outputs: tuple[OutputSpec, ...] = ()
    assumptions: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    system_packages: tuple[str, ...] = ()
    split: DeclaredSplit | None = None
    holds: tuple[str, ...] = ()


class PlanQuestion(Record):
    """What a plan asks the person before any code: at most four options, and the one that it took meanwhile."""

    text: str
    options: tuple[str, ...] = ()
    assumed: str = ""
