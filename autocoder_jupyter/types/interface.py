"""The inputs and outputs of a function, the plan that fixes them, and how its largest table may be split."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import Field

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.table import KINDS, WHOLE, written
from autocoder_jupyter.kinds.values import TypeName
from autocoder_jupyter.types.records import Count, Elements, Record
from autocoder_jupyter.untrusted.visible import visible

# Splits

SplitKind = Literal["rows", "groups", "merge", "whole"]
"""`rows`: any batch of rows may be computed alone; `groups`: pieces must hold all rows of the same keys; `merge`: the
function of the answers of two pieces, one below the other, is the answer for both; `whole`: none of these."""

_WORDS = {
    "rows": "any batch of rows",
    "groups": "whole groups",
    "merge": "pieces, whose answers are merged by the function itself",
    "whole": "not at all",
}


def demand(text: str) -> tuple[SplitKind, tuple[str, ...]]:
    """The kind and the keys of a demanded split, such as `rows`, `merge` or `groups:customer,region`.

    Raises:
        InvalidRequest: it is none.
    """
    kind, _, named = (part.strip() for part in text.partition(":"))
    keys = tuple(filter(None, (key.strip() for key in named.split(","))))
    if kind == "groups" and keys and len(set(keys)) == len(keys):
        return "groups", keys
    if kind in ("rows", "merge") and ":" not in text:
        return ("rows" if kind == "rows" else "merge"), ()
    raise InvalidRequest(
        f"{visible(text)!r} is not a way to split a table.",
        hint="Write rows, merge, or groups: and the columns whose equal values must stay together: groups:customer.",
    )


def demand_text(text: str) -> str:
    """A demanded split as it is kept.

    Raises:
        InvalidRequest: it is none.
    """
    kind, keys = demand(text)
    return f"{kind}:{','.join(keys)}" if keys else kind


class DeclaredSplit(Record):
    """A way to split the largest table of a function. The other inputs go whole to every piece.

    Args:
        input: the table that is split.
        kind: see `SplitKind`.
        keys: for `groups` the columns whose equal values must be in one piece.
    """

    input: str
    kind: SplitKind
    keys: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """How it may be split, in a few words."""
        keys = f" of {', '.join(self.keys)}" if self.keys else ""
        return visible(f"{_WORDS[self.kind]}{keys}")


class Split(DeclaredSplit):
    """How a function may be split into pieces of its largest table, as it was found by comparing.

    If a split was demanded (`--split`), it is that one, or `whole` if that one does not hold.

    Args:
        input, kind, keys: as in `DeclaredSplit`.
        ordered: whether the answer depends on the order of the rows.
        comparisons: how often the answer for a whole table was compared with those for its pieces.
        complete: whether the check came to its end; if not, nothing is accepted, and it is made again.
        against: for each kind that does not hold, the first example that shows it, as a sentence.
    """

    ordered: bool = True
    comparisons: Count = 0
    complete: bool = True
    against: dict[str, str] = Field(default_factory=dict)

    @property
    def counterexample(self) -> str:
        """What speaks against splitting it more freely, as a sentence; "" if nothing does, or no other was tried."""
        return next(iter(self.against.values()), "")

    def __repr__(self) -> str:
        order = "the order of rows counts" if self.ordered else "the order of rows does not count"
        parts = [f"{self.input} may be split: {self.words}", f"{self.comparisons} comparisons"]
        if self.kind != "whole":
            parts.insert(1, order)
        if self.counterexample:
            parts.append(f"not more freely, because {self.counterexample}")
        return visible("; ".join(parts))

    def __str__(self) -> str:
        return repr(self)


@dataclass(frozen=True)
class FoundSplit:
    """What was found for one output.

    Args:
        output: the output that is put together from pieces.
        split: how the function may be split.
        fixed: inputs that had the values of a call; the others were the samples.
    """

    output: str
    split: Split
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True)
class KnownSplits:
    """What is known of how a function may be split.

    Args:
        found: what was found, one for each output.
        doing: what a check that runs tries now; "" if none runs.
        failed: why the last check failed, as a sentence; "" if it did not.
    """

    found: tuple[FoundSplit, ...] = ()
    doing: str = ""
    failed: str = ""


# Inputs, outputs and the plan


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


# Conclusions

ConclusionKind = Literal["verdict", "ranking", "effect", "number"]
"""`verdict`: a truth value or a label; `ranking`: entries, the first of which counts; `effect`: a number whose sign
counts; `number`: another number that was estimated."""

MOST_GROUPED = 4
"""Columns of groups in a conclusion."""

_Name = Annotated[str, Field(max_length=300)]

_CONCLUSION = re.compile(
    rf"(?:(?P<kind>(?i:{'|'.join(get_args(ConclusionKind))}))\b\s*+:?\s*+(?:of\s+)?)?[`'\"]?(?P<output>\w+)[`'\"]?"
    r"(?:\s*[,;]\s*outcome\b\s*+[:=]?\s*+(?P<outcome>[^;]+?))?"
    r"(?:\s*[,;]\s*groups?\b\s*+[:=]?\s*+(?P<groups>[^;]+?))?[\s.;]*"
)


class Conclusion(Record):
    """What a function concludes, if its data are a sample of more.

    Args:
        kind: see `ConclusionKind`.
        output: the name of the output.
        outcome: the column that is said to depend on others; "" if there is none.
        groups: columns whose equal values were drawn together, such as the customer of an order.
    """

    kind: ConclusionKind
    output: _Name
    outcome: _Name = ""
    groups: tuple[_Name, ...] = Field(default=(), max_length=MOST_GROUPED)

    @classmethod
    def read(cls, text: str, outputs: Iterable[OutputSpec]) -> Conclusion:
        """A conclusion as a plan or a user writes it, such as `effect lift, outcome revenue, groups customer`.

        Without a kind it is the one that is usual for the type of the output.

        Raises:
            InvalidRequest: it is none, or no output has that name.
        """
        found = _CONCLUSION.fullmatch(text.strip()[:1_000])
        types = {spec.name: spec.type for spec in outputs}
        if found is None or found["output"] not in types:
            raise InvalidRequest(
                f"{visible(text[:200])!r} is no conclusion of this function, whose outputs are {', '.join(types)}.",
                hint="Write the kind (verdict, ranking, effect or number) and the output, then what there is of the "
                "outcome and the groups: effect lift, outcome revenue, groups customer.",
            )
        kind = (found["kind"] or "").lower() or _USUAL_KIND.get(types[found["output"]], "ranking")
        outcome, *groups = (_columns(found[part]) for part in ("outcome", "groups"))
        return cls(
            kind=cast(ConclusionKind, kind),
            output=found["output"],
            outcome=", ".join(outcome)[:300],
            groups=tuple(name[:300] for name in groups[0][:MOST_GROUPED]),
        )

    @property
    def text(self) -> str:
        """The conclusion as it is read."""
        outcome = f", outcome {self.outcome}" if self.outcome else ""
        groups = f", groups {', '.join(self.groups)}" if self.groups else ""
        return f"{self.kind} {self.output}{outcome}{groups}"


_USUAL_KIND: dict[TypeName, ConclusionKind] = {"bool": "verdict", "str": "verdict", "int": "number", "float": "number"}


def _columns(text: str | None) -> list[str]:
    names = (name.strip(" `'\"") for name in (text or "").split(","))
    return [name for name in names if name.casefold() not in ("", "none", "-")]


class CodePlan(Record):
    """The interface, fixed before code and tests are written, and how the request was read.

    `assumptions` name how the plan reads what the request leaves open; a person who disagrees says so in the next run.
    `packages` are distributions (as on the package index) beyond the standard library, `system_packages` are apt's.
    `split` is how the largest table must be able to be split; None if nothing was demanded. `holds` are properties that
    the answer must have: `order` (no value depends on the order of rows), `twice` (it is the same if each row of the
    largest table comes twice), or a split as `--split` has it. `conclusion` is what the function concludes; None if it
    concludes nothing beyond its data.
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
    conclusion: Conclusion | None = None


class PlanQuestion(Record):
    """What a plan asks the person before any code: at most four options, and the one that it took meanwhile."""

    text: str
    options: tuple[str, ...] = ()
    assumed: str = ""
