"""Changes since the earlier version: interface, assumptions, outputs on the sample and tests.

They are lines with the signs of a diff. The code has a separate diff.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from autocoder_jupyter.view.amounts import counted
from autocoder_jupyter.view.document import Block, Group, Span, Tone, line, muted
from autocoder_jupyter.view.markup import clipped

if TYPE_CHECKING:
    from autocoder_jupyter.types import Changes, CodePlan, InputSpec, OutputSpec, TestOutcome

MOST = 12
"""Lines of one kind that are shown; the others are counted."""

TONES: dict[str, Tone] = {"+": "good", "−": "bad", "→": "busy", "=": "quiet"}
"""The signs: added, removed, changed, unchanged."""

Change = tuple[str, str]
"""A sign and its text."""


def change_blocks(changes: Changes, plan: CodePlan, tests: Iterable[TestOutcome]) -> tuple[Block, ...]:
    """The changes, grouped by kind.

    Args:
        changes: the changes since the earlier version.
        plan: the plan of this version.
        tests: the outcomes of this version's tests.
    """
    return tuple(Group(kind, _lines(found)) for kind, found in change_lines(changes, plan, tests).items())


def _lines(found: Sequence[Change]) -> tuple[Block, ...]:
    shown = [line(Span(sign, TONES[sign]), clipped(words), look="hanging") for sign, words in found[:MOST]]
    more = len(found) - MOST
    return (*shown, *([muted(f"and {more} more")] if more > 0 else []))


def change_lines(changes: Changes, plan: CodePlan, tests: Iterable[TestOutcome]) -> Mapping[str, Sequence[Change]]:
    """The lines by kind, in the order in which they are shown; kinds without lines are left out."""
    found = {
        "Interface": [*_inputs(changes.plan.inputs, plan.inputs), *_outputs(changes.plan.outputs, plan.outputs)],
        "Assumptions": _texts(changes.plan.assumptions, plan.assumptions),
        "On the sample": _on_the_sample(changes, plan),
        "Tests": _tests(changes, [test.id for test in tests]),
    }
    return {kind: lines for kind, lines in found.items() if lines}


def _inputs(before: Sequence[InputSpec], now: Sequence[InputSpec]) -> list[Change]:
    old, new = ({spec.name: _input(spec) for spec in specs} for specs in (before, now))
    return _compared("input", old, new)


def _input(spec: InputSpec) -> str:
    return f"{spec.name}: {spec.written_type}" + ("" if spec.required else f" = {spec.default!r}")


def _outputs(before: Sequence[OutputSpec], now: Sequence[OutputSpec]) -> list[Change]:
    old, new = ({spec.name: f"{spec.name}: {spec.written_type}" for spec in specs} for specs in (before, now))
    lines = _compared("output", old, new)
    columns = {spec.name: {column.name: column.dtype for column in spec.columns} for spec in before}
    for spec in now:
        if columns.get(spec.name) and spec.columns:
            were, are = columns[spec.name], {column.name: column.dtype for column in spec.columns}
            names = ({name: f"{spec.name}.{name}: {dtype}" for name, dtype in some.items()} for some in (were, are))
            lines += _compared("column", *names)
    return lines


def _compared(what: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[Change]:
    return [
        *(("−", f"{what} {old[name]}") for name in old if name not in new),
        *(("→", f"{what} {new[name]}, was {old[name]}") for name in new if name in old and new[name] != old[name]),
        *(("+", f"{what} {new[name]}") for name in new if name not in old),
    ]


def _texts(before: Sequence[str], now: Sequence[str]) -> list[Change]:
    return [*(("−", text) for text in before if text not in now), *(("+", text) for text in now if text not in before)]


def _on_the_sample(changes: Changes, plan: CodePlan) -> list[Change]:
    if changes.outputs is None:
        return []
    lines = [("→", f"{output.name}: {words}") for output in changes.outputs for words in output.lines]
    changed = {output.name for output in changes.outputs}
    before = {output.name for output in changes.plan.outputs}
    same = [output.name for output in plan.outputs if output.name in before and output.name not in changed]
    return [*lines, *([("=", f"{', '.join(same)}: as before")] if same else [])]


def _tests(changes: Changes, now: Sequence[str]) -> list[Change]:
    by_choice = {
        choice: [test for test in changes.tests if test.fate == choice] for choice in ("kept", "changed", "dropped")
    }
    kept = by_choice["kept"]
    known = {test.id for test in changes.tests}
    names = dict.fromkeys(test.partition("[")[0] for test in now)
    new = [name for name in names if name not in known] if changes.tests else []
    return [
        *([("=", f"{counted(len(kept), 'earlier test')} kept")] if kept else []),
        *(("→", f"{test.id}: {test.reason}") for test in by_choice["changed"]),
        *(("−", f"{test.id}: {test.reason or test.sentence}") for test in by_choice["dropped"]),
        *([("+", f"{counted(len(new), 'new test')}: {', '.join(new)}")] if new else []),
    ]
