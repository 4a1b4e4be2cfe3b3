"""How a function may be split: what was compared, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types.record import Count, Record
from autocoder_jupyter.untrusted.visible import visible

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
        f"{visible(text)!r} is no way to split a table.",
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
