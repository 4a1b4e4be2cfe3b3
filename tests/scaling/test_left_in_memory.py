"""A table is free when its call has ended: a kernel collects cycles late, and tables are large."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.result import CodeGenEvalResult
from tests.scaling.conftest import BY_SHOP, Build
from tests.scaling.test_over import BY_GROUPS, SAMPLE, sales

pytestmark = pytest.mark.local_sandbox

WAYS: dict[str, Callable[[CodeGenEvalResult, pd.DataFrame], Any]] = {
    "run": lambda growth, frame: growth.run(frame),
    "reused": lambda growth, frame: growth.run(frame, reuse=True),
    "cached": lambda growth, frame: growth.run(frame, cache="auto"),
}


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def tables() -> int:
    """How many tables with as many rows as those of the test there are."""
    return sum(isinstance(each, pd.DataFrame) and len(each) > 2 * len(SAMPLE) for each in gc.get_objects())


def soon(condition: Callable[[], bool]) -> bool:
    """Whether it holds when the threads of the call have ended their work."""
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


@pytest.mark.parametrize("way", WAYS)
def test_a_call_keeps_neither_its_table_nor_its_answer(built: Build, way: str, no_collection: None) -> None:
    growth = built("return sales", {"sales": SAMPLE})
    before = tables()
    frame = sales(1_000)
    answer = WAYS[way](growth, frame)
    assert tables() > before
    given = weakref.ref(frame)
    del frame, answer
    assert soon(lambda: given() is None and tables() == before)


def test_pieces_are_free_when_they_are_computed(built: Build, tmp_path: Path, no_collection: None) -> None:
    file = tmp_path / "sales.parquet"
    sales(40_000).to_parquet(file, index=False)
    growth = built(BY_GROUPS, {"sales": SAMPLE}, known=BY_SHOP)
    before, most = tables(), 0

    def look(done: int, count: int) -> None:
        nonlocal most
        most = max(most, tables() - before)

    growth.over(file, memory=400_000, workers=2, progress=look)
    assert 0 < most <= 4  # one more than the workers, and the one that has just ended
    assert soon(lambda: tables() == before)
