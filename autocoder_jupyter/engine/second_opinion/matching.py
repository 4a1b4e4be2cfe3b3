"""Asks which columns of two results belong together, where neither their names nor their values tell.

Only names that a model wrote are sent: those of the plan, and texts in the code of the second solution. Other names may
be values of the data.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import pandas as pd
from pydantic import BaseModel, Field

from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.prompt import block
from autocoder_jupyter.equality.leniency import INDEPENDENT
from autocoder_jupyter.equality.tables import flat, matched_columns
from autocoder_jupyter.untrusted.parsing import parse

_INSTRUCTIONS = """\
Two tables answer one request, and the columns of their results have different names. Under <first> stand the columns
of the first that have no counterpart yet, under <second> those of the second. Answer with `pairs`: the columns that
hold the same quantity, each with the name of its `table`, and the names `first` and `second`. Leave out what has no
counterpart, and what you are not sure of. You see no values, and you do not judge who is right."""

MOST = 30
"""The maximum number of columns of each side that are asked about."""

Unmatched = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""Columns of the function and of the second solution without a counterpart, by output."""

Names = Mapping[str, Mapping[str, str]]
"""By output: columns of the second solution with the names of their counterparts."""


class _Pair(BaseModel):
    table: str
    first: str
    second: str


class _Pairs(BaseModel):
    """Which columns belong together."""

    pairs: list[_Pair] = Field(default_factory=list)


def unmatched(ours: Mapping[str, object], theirs: Mapping[str, object], pairs: Sequence[tuple[str, str]]) -> Unmatched:
    """The columns without a counterpart, of the outputs in which both sides have one.

    Args:
        ours: outputs of the function by name.
        theirs: outputs of the second solution by name.
        pairs: (name in the first, name in the second) of outputs that belong together.
    """
    found = {}
    for one, other in pairs:
        if isinstance(ours[one], pd.DataFrame) and isinstance(theirs[other], pd.DataFrame):
            left, right = flat(ours[one], one), flat(theirs[other], one)
            matched = matched_columns(left, right, INDEPENDENT)
            alone = [name for name in left.columns if name not in matched]
            others = [name for name in right.columns if name not in matched.values()]
            if alone and others:
                found[one] = alone, others
    return found


def matched(
    ours: Mapping[str, object], theirs: Mapping[str, object], pairs: Sequence[tuple[str, str]], names: Names
) -> Names:
    """The columns that belong together, of the outputs that are tables on both sides.

    Args:
        ours: outputs of the function by name.
        theirs: outputs of the second solution by name.
        pairs: (name in the first, name in the second) of outputs that belong together.
        names: those that are known already.
    """
    found = {}
    for one, other in pairs:
        if isinstance(ours[one], pd.DataFrame) and isinstance(theirs[other], pd.DataFrame):
            known = names.get(one, {})
            right = flat(theirs[other], one)
            renamed = right.rename(columns=dict(known))
            counterparts = matched_columns(flat(ours[one], one), renamed, INDEPENDENT)
            own = dict(zip(renamed.columns, right.columns, strict=True))
            found[one] = {own[name]: counterpart for counterpart, name in counterparts.items()}
    return found


def askable(open_: Unmatched, brief: Brief, code: str) -> Unmatched:
    """The part whose names may be sent.

    Args:
        open_: all columns without a counterpart.
        brief: its plan has the names of the function's columns.
        code: the second solution.
    """
    declared = {spec.name: {column.name for column in spec.columns} for spec in brief.plan.outputs}
    texts = {node.value for node in ast.walk(parse(code)) if isinstance(node, ast.Constant)}
    found = {}
    for output, (ours, theirs) in open_.items():
        left = [name for name in ours if name in declared.get(output, ())][:MOST]
        right = [name for name in theirs if name in texts][:MOST]
        if left and right:
            found[output] = left, right
    return found


def matching_messages(brief: Brief, open_: Unmatched) -> Messages:
    """The question: names only."""
    first, second = (
        "\n".join(f"- {output}: {', '.join(names[side])}" for output, names in open_.items()) for side in (0, 1)
    )
    return brief.question(block("first", first), block("second", second), _INSTRUCTIONS)


async def ask_names(talk: Conversation, brief: Brief, open_: Unmatched) -> Names:
    """Ask which columns belong together. Names that were not asked about, or come twice, are left out."""
    answer = await talk.structured("second", matching_messages(brief, open_), _Pairs)
    found: dict[str, dict[str, str]] = {}
    for pair in answer.pairs:
        ours, theirs = open_.get(pair.table, ((), ()))
        names = found.setdefault(pair.table, {})
        is_new = pair.second not in names and pair.first not in names.values()
        if pair.first in ours and pair.second in theirs and is_new:
            names[pair.second] = pair.first
    return {output: names for output, names in found.items() if names}
