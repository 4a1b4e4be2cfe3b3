"""The correct output for a small input, derived by a model that sees neither the solutions nor their results.

If it shows that the code is wrong there, it becomes a test.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.evidence.comparison import OpenPlace
from autocoder_jupyter.engine.evidence.small_inputs import SmallInput
from autocoder_jupyter.engine.prompt import Brief, block
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.types import CodePlan, OutputSpec
from autocoder_jupyter.untrusted.visible import visible

MOST_ASKED = 4
"""The maximum number of places in one question."""

_RELATIVE, _ABSOLUTE = 0.01, 0.005
"""The relative error that a number from a derivation by hand may have."""


class DerivedPlace(BaseModel):
    """What must stand at one place."""

    place: str
    values: list[Any] = Field(default_factory=list)


class Derivation(BaseModel):
    """What must come out for the input, and why."""

    derivation: str
    sentence: str = ""
    decided: bool = True
    values: list[DerivedPlace]


def derivation_messages(brief: Brief, source: str, places: Sequence[OpenPlace], *, again: bool = False) -> Messages:
    """The question: the input, and the places whose values are wanted. It has no result of the two solutions.

    Asked again, it has other words, and nothing of the first answer.
    """
    asked = "\n".join(map(_asked, places))
    task = prompt("second_opinion.derive again" if again else "second_opinion.derive")
    task += f"\n{prompt('second_opinion.derivation')}"
    return brief.question(block("input", source), block("asked", asked), task)


def _asked(place: OpenPlace) -> str:
    if place.keys:
        return f"- {place.where}: its rows, each by its {', '.join(place.keys)} (joined by a comma and a blank)"
    return f"- {place.where}"


async def derive(
    conversation: Conversation, brief: Brief, source: str, places: Sequence[OpenPlace], *, again: bool = False
) -> Derivation:
    """Ask for a derivation."""
    messages = derivation_messages(brief, source, places, again=again)
    return await conversation.structured("second", messages, Derivation)


def confirmed(derivation: Derivation, places: Sequence[OpenPlace]) -> Literal["first", "second", ""]:
    """Which of the two solutions agrees with the derivation at all places; "" if neither or both do."""
    if not derivation.decided or not places:
        return ""
    derived = {entry.place: entry.values for entry in derivation.values}
    if any(place.where not in derived for place in places):
        return ""
    first = all(_agree(derived[place.where], place.ones, place) for place in places)
    second = all(_agree(derived[place.where], place.others, place) for place in places)
    return "" if first == second else "first" if first else "second"


def tolerance(place: OpenPlace) -> float:
    """The tolerance for a derived number at a place: always small enough to distinguish the two solutions."""
    numbers = [value for value in (*place.ones, *place.others) if _is_number(value)]
    gaps = [abs(one - other) for one, other in zip(place.ones, place.others, strict=False) if _differ(one, other)]
    by_hand = max([_ABSOLUTE, *(_RELATIVE * abs(number) for number in numbers)])
    return float(min([by_hand, *(gap / 3 for gap in gaps)]))


def _differ(one: Any, other: Any) -> bool:
    return _is_number(one) and _is_number(other) and one != other


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _agree(derived: Sequence[Any], given: Sequence[Any], place: OpenPlace) -> bool:
    if place.keys:
        derived, given = sorted(map(_text, derived)), sorted(map(_text, given))
    within = tolerance(place)
    pairs = zip(derived, given, strict=False)
    return len(derived) == len(given) and all(_same(one, other, within) for one, other in pairs)


def _same(derived: Any, given: Any, within: float) -> bool:
    if derived is None or given is None:
        return derived is None and given is None
    if isinstance(derived, bool) or isinstance(given, bool):
        return derived is given
    if _is_number(derived) and _is_number(given):
        return bool(abs(derived - given) <= within)
    return _text(derived) == _text(given)


def _text(value: Any) -> str:
    return str(value).strip().replace("T00:00:00", "").removesuffix(" 00:00:00")


# A derivation as a test

_NAN = 'float("nan")'

PREFIX = "test_second_opinion_"


def reachable(places: Sequence[OpenPlace], outputs: Sequence[OutputSpec]) -> list[OpenPlace]:
    """The places whose values a test can reach: an output, or its column, key or rows.

    If rows of a table differ, its columns are left out, because they add nothing.
    """
    rows = tuple(f"{place.where}." for place in places if place.keys)
    return [p for p in places if p.others and not p.where.startswith(rows) and _expression(p, outputs)]


def as_test(number: int, small: SmallInput, plan: CodePlan, places: Sequence[OpenPlace], derivation: Derivation) -> str:
    """The test as text. It can stand in any module."""
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
