"""Makes a test from the smallest differing input, if an independent derivation shows that the code is wrong on it."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from typing import Any

from autocoder_jupyter.engine.second_opinion.derivation import Derivation, tolerance
from autocoder_jupyter.engine.second_opinion.trial import OpenPlace, SmallInput
from autocoder_jupyter.engine.tests import TestSuite
from autocoder_jupyter.types import CodePlan, OutputSpec
from autocoder_jupyter.untrusted.parsing import visible

_NAN = 'float("nan")'

PREFIX = "test_second_opinion_"


def is_complete(small: SmallInput, plan: CodePlan) -> bool:
    """Whether every required input is one of its tables."""
    return all(spec.name in small.tables for spec in plan.inputs if spec.required)


def reachable(places: Sequence[OpenPlace], outputs: Sequence[OutputSpec]) -> list[OpenPlace]:
    """The places whose values a test can reach: an output, or its column, key or rows.

    If rows of a table differ, its columns are left out, because they add nothing.
    """
    rows = tuple(f"{place.where}." for place in places if place.keys)
    return [p for p in places if p.others and not p.where.startswith(rows) and _expression(p, outputs)]


def free_number(suite: TestSuite, prefix: str = PREFIX) -> int:
    """A number for a new test that no test of the suite has; a refined function keeps its earlier ones."""
    taken = {test.rpartition("::")[2] for module in suite.modules for test in module.ids}
    return next(number for number in itertools.count(1) if f"{prefix}{number}" not in taken)


def as_test(number: int, small: SmallInput, plan: CodePlan, places: Sequence[OpenPlace], derivation: Derivation) -> str:
    """The test as text. It can stand in any module.

    Args:
        number: a number for its name.
        small: the input.
        plan: the interface.
        places: where the function is wrong.
        derivation: the correct values.
    """
    derived = {entry.place: entry.values for entry in derivation.values}
    sentence = (
        visible(" ".join(derivation.sentence.split())).replace("\\", "/").replace('"', "'") or "A second derivation."
    )
    names = ", ".join(spec.name for spec in plan.outputs)
    given = ", ".join(f"{name}={name}" for name in small.tables)
    lines = [
        "import pandas as pd",
        "import pytest",
        "from solution import run",
        "",
        small.source,
        f"{names} = run({given})",
        *(_assertion(place, derived[place.where], plan.outputs) for place in places),
    ]
    comment = "\n".join(
        f"# {visible(line)}" for line in derivation.derivation.strip().splitlines()[:12] if line.strip()
    )
    body = textwrap.indent("\n".join([f'"""{sentence}"""', *([comment] if comment else []), *lines]), "    ")
    return f"def {PREFIX}{number}():\n{body}\n"


def _assertion(place: OpenPlace, expected: Sequence[Any], outputs: Sequence[OutputSpec]) -> str:
    found = f"[None if pd.isna(value) else value for value in {_expression(place, outputs)}]"
    if place.keys:
        return f"assert len({place.where}) == {len(expected)}"
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in expected):
        numbers = ", ".join(_NAN if value is None else repr(value) for value in expected)
        found = found.replace("None", _NAN, 1)  # pytest refuses to compare None with a number
        nan_ok = ", nan_ok=True" if None in expected else ""
        return f"assert {found} == pytest.approx([{numbers}], rel=1e-9, abs={tolerance(place):.3g}{nan_ok})"
    if any(isinstance(value, str) for value in expected):
        found = found.replace("else value", 'else str(value).removesuffix(" 00:00:00")', 1)
    return f"assert {found} == {list(expected)!r}"


def _expression(place: OpenPlace, outputs: Sequence[OutputSpec]) -> str:
    """An expression for the list of values at a place."""
    for spec in outputs:
        name, _, rest = place.where.partition(".")
        if spec.name != name:
            continue
        if not rest:
            return name if place.keys or spec.type == "list" else f"[{name}]"
        if spec.type == "DataFrame" and any(column.name == rest for column in spec.columns):
            return f"{name}[{rest!r}]"
        if spec.type == "Series":
            return name
        if spec.type == "dict" and "." not in rest and "[" not in rest:
            return f"[{name}[{rest!r}]]"
    return ""
