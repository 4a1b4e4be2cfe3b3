"""A change of the data that matters although it must not, as a test that the function fails.

The function is changed for it only if the second solution passes that test, and no other test speaks against the second
solution: what is right for the request, such as the first of tied rows, then holds for both.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from autocoder_jupyter.engine.generation_state import GenerationState
from autocoder_jupyter.engine.second_opinion.counterexample import free_number, is_complete
from autocoder_jupyter.engine.second_opinion.matching import Names
from autocoder_jupyter.engine.second_opinion.rehearsal import objections
from autocoder_jupyter.engine.second_opinion.telling import may_be_told
from autocoder_jupyter.engine.second_opinion.trial import OpinionTrial, Smallest, SmallInput
from autocoder_jupyter.engine.splitting.pieces import by_groups, by_rows
from autocoder_jupyter.engine.strength.relations import (
    APART,
    COLUMN,
    INDEX,
    NEW,
    ORDER,
    REPEATED,
    Broken,
    repeated_positions,
    shuffled_positions,
)
from autocoder_jupyter.engine.tests import with_tests
from autocoder_jupyter.equality.tables import is_numbered
from autocoder_jupyter.types import OutputSpec, TestFailure

PREFIX = "test_relation_"

_TEST = '''\
def {name}():
    """The result must be the same with {relation}."""
    import pandas as pd
    from solution import run

    def told(outputs):
        value = outputs[{place}] if isinstance(outputs, tuple) else outputs
        if isinstance(value, (pd.DataFrame, pd.Series)):
            numbered = value.index.dtype.kind == "i" and value.index.name is None
            table = value.to_frame() if isinstance(value, pd.Series) else value
            table = table if numbered else table.reset_index()
            value = list(table.drop(columns={new!r}, errors="ignore").itertuples(index=False))
        elif isinstance(value, dict):
            value = list(value.items())
        entries = value if isinstance(value, list) else [value]
        texts = [text(entry) for entry in entries]
        return {returned}

    def text(value):
        if isinstance(value, (list, tuple)):
            return [text(entry) for entry in value]
        return f"{{value:.9g}}" if isinstance(value, float) else str(value)

{given}
    before = told(run({arguments}))
{changed}
'''

_OF_PARTS = """\
whole = {table}
for parts in {divisions}:
    together = []
    for rows in parts:
        {table} = whole.iloc[rows].reset_index(drop=True)
        together += told(run({arguments}))
    assert sorted(together, key=str) == before
"""


async def doubt(
    state: GenerationState, broken: Sequence[Broken], trial: OpinionTrial, matched: Names
) -> TestFailure | None:
    """The failure of the function, if the second solution shows that a relation must hold. Its test is added then.

    Args:
        state: has the verified function and its tests.
        broken: the relations that were tried.
        trial: has the second solution.
        matched: for its columns those of the function, by output.
    """
    suite, plan = state.suite, state.brief.plan
    for one in broken:
        small = SmallInput.of(Smallest("", one.tables), trial.given) if one.where and one.tables else None
        if suite is None or small is None or one.name not in (ORDER, COLUMN, INDEX, REPEATED, APART):
            continue
        if not is_complete(small, plan) or not may_be_told(state.setup, small):
            continue
        name = f"{PREFIX}{free_number(suite, PREFIX)}"
        wider = with_tests(suite, as_test(name, one, small, plan.outputs))
        if await objections(state.setup.session, trial, matched, wider, name):
            continue
        state.set_suite(wider)
        said = f"The result must be the same with {one.words}, and {one.where} is another one"
        return TestFailure(
            test_name=name,
            error_message=f"{said} ({name}).",
            expected_behavior=f"For\n{small.source}\nthe same result with {one.words}.",
            actual_behavior=f"{one.where} differs.",
            root_cause=f"The function depends on what is no part of the question: {one.words}.",
            suggested_fix="Find what reads it, and let it depend on the values of the rows alone.",
            error_type="logic",
        )
    return None


def as_test(name: str, broken: Broken, small: SmallInput, outputs: Sequence[OutputSpec]) -> str:
    """The test as text. It can stand in any module."""
    entries = f"[entry for entry in texts if {NEW!r} not in entry]"
    return _TEST.format(
        name=name,
        relation=broken.words,
        place=[spec.name for spec in outputs].index(broken.where),
        new=NEW,
        returned=f"sorted({entries}, key=str)" if broken.name in (ORDER, APART) else entries,
        given=textwrap.indent(small.source, "    "),
        arguments=(arguments := ", ".join(f"{name}={name}" for name in small.tables)),
        changed=textwrap.indent(_changed(broken, small.tables, arguments), "    "),
    )


def _changed(broken: Broken, tables: Mapping[str, Any], arguments: str) -> str:
    """What is compared with the result before."""
    if broken.split is None:
        return "\n".join([*_changes(broken, tables), f"assert told(run({arguments})) == before"])
    table, keys = tables[broken.split.input], broken.split.keys
    ways = by_groups(table, keys) if keys else by_rows(len(table))
    divisions = [[[int(row) for row in part] for part in way.pieces] for way in ways]
    return _OF_PARTS.format(table=broken.split.input, divisions=divisions, arguments=arguments).rstrip()


def _changes(broken: Broken, tables: Mapping[str, Any]) -> list[str]:
    """The change of each table, as source."""
    if broken.name == ORDER:
        return [_rows_of(name, table, shuffled_positions(table)) for name, table in tables.items()]
    if broken.name == REPEATED:
        return [_rows_of(broken.only, tables[broken.only], repeated_positions(tables[broken.only]))]
    if broken.name == COLUMN:
        frames = [name for name, table in tables.items() if getattr(table, "ndim", 1) > 1 and NEW not in table]
        return [f"{name} = {name}.assign({NEW}='x')" for name in frames]
    return [f"{name} = {name}.set_axis(range(1000, 1000 + len({name})), axis=0)" for name in tables]


def _rows_of(name: str, table: Any, positions: Sequence[int]) -> str:
    numbered = ".reset_index(drop=True)" if is_numbered(table) else ""
    return f"{name} = {name}.iloc[{positions}]{numbered}"
