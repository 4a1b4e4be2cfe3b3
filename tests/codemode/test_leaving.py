"""What a program builds of colliding keys stops its own process, never the notebook's other threads."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import time
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.codemode import Limits, values
from tests.codemode.conftest import Ask, block, error_of
from tests.readers.watch import Watch, require_short

SHAPES = {
    "dict": "{i * (2**61 - 1): 1 for i in range(5_000)}",
    "set": "{i * (2**61 - 1) for i in range(5_000)}",
    "nested": "[{'a': ({i * (2**61 - 1): 1 for i in range(5_000)},)}]",
    "tuples": "{(i * (2**61 - 1), 'a'): 1 for i in range(5_000)}",
    "frozenset": "frozenset([i * (2**61 - 1) for i in range(5_000)])",
}

LEAVES = {
    "value": "{value}",
    "argument": "take({value})",
    "named argument": "take(given={value})",
    "awaited": "await taken({value})",
    "thread": "await to_thread(take, {value})",
    "operation": "table.filter('a', 'in', {value})",
}


def take(given: Any) -> int:
    return 1


async def taken(given: Any) -> int:
    return 1


def watched(ask: Ask, code: str, message: str = "Do it.", **limits: Any) -> tuple[Watch, Any]:
    with Watch(time.CLOCK_PROCESS_CPUTIME_ID) as watch:
        result = ask(
            [block(code), "Done."],
            [take, taken],
            frames={"table": pd.DataFrame({"a": [1]})},
            message=message,
            limits=Limits(**limits),
        )
    return watch, result


@pytest.fixture(autouse=True)
def imported(ask: Ask) -> None:
    """Nothing is imported while a test measures."""
    watched(ask, "len({(i, 1): 1 for i in range(10)})", "Count.")
    from autocoder_jupyter.codec import bounded_json, plain  # noqa: F401


@pytest.mark.parametrize(
    ("shape", "leave"), [*((shape, "value") for shape in SHAPES), *(("dict", leave) for leave in list(LEAVES)[1:])]
)
def test_keys_of_the_same_hash_do_not_stop_the_notebook(ask: Ask, shape: str, leave: str) -> None:
    def leaving() -> float:
        watch, result = watched(ask, LEAVES[leave].format(value=SHAPES[shape]), seconds=60)
        assert "too many keys with the same hash" in error_of(result.blocks[0])
        return watch.longest

    require_short(leaving)


@pytest.mark.parametrize("leave", ["value", "argument", "operation"])
def test_a_value_that_takes_longer_than_the_block_may_ends_the_block(ask: Ask, leave: str) -> None:
    code = LEAVES[leave].format(value=SHAPES["dict"].replace("5_000", "50_000"))

    def leaving() -> float:
        watch, result = watched(ask, code, seconds=1)
        assert "TimeoutError: a value takes more than 1 seconds to leave the sandbox" in error_of(result.blocks[0])
        return watch.longest

    require_short(leaving)


def test_ordinary_values_cross_unchanged(ask: Ask) -> None:
    code = (
        "import datetime, decimal\n"
        "{'$type': {(1, 'a'): {1, 2}, frozenset([3]): float('inf')}, 'n': [10**40, -0.5, True, None, 1j, b'x', 'ü'],"
        " 't': (datetime.timedelta(days=-1, microseconds=3), decimal.Decimal('1.50'), datetime.date(2020, 1, 2))}"
    )
    assert ask([block(code), "Done."]).value == {
        "$type": {(1, "a"): {1, 2}, frozenset([3]): float("inf")},
        "n": [10**40, -0.5, True, None, 1j, b"x", "ü"],
        "t": (dt.timedelta(days=-1, microseconds=3), decimal.Decimal("1.50"), dt.date(2020, 1, 2)),
    }


@pytest.mark.parametrize("number", [10**5000, -(10**5000), 2**61], ids=["positive", "negative", "short"])
def test_a_number_of_more_digits_than_python_writes_is_recorded(number: int) -> None:
    assert values.decode(json.loads(json.dumps(values.encode([number])))) == [number]
