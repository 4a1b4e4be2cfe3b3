"""The profile of an equal table is taken again; any change of the table makes a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.data import profile as module
from autocoder_jupyter.data.context import build_context
from autocoder_jupyter.data.profile import known_profile, profile_frame


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The tables that were profiled."""
    tables = list[Any]()

    def counted(value: Any, *args: Any, **more: Any) -> Any:
        tables.append(value)
        return profile_frame(value, *args, **more)

    monkeypatch.setattr(module, "profile_frame", counted)
    monkeypatch.setattr(module, "_cache", type(module._cache)())
    yield tables


def table() -> pd.DataFrame:
    return pd.DataFrame({"day": ["2024-01-02", "2024-01-03", None], "paid": [1.5, np.nan, -0.0], "n": [1, 2, 3]})


def test_an_equal_table_is_profiled_once(made: list[Any]) -> None:
    first = build_context({"sales": table()}, request="Sum of paid.")
    second = build_context({"sales": table()}, request="Mean of paid.")
    assert len(made) == 1
    assert first.text == second.text
    assert known_profile(table(), named=[1]) == profile_frame(table(), named=[1])


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.__setitem__("n", [1, 2, 4]),
        lambda frame: frame.__setitem__("n", frame["n"].astype("int32")),
        lambda frame: frame.__setitem__("paid", [1.5, 0.0, -0.0]),
        lambda frame: frame.__setattr__("columns", ["day", "paid", "m"]),
        lambda frame: frame.__setattr__("index", pd.Index([5, 6, 7])),
        lambda frame: frame.loc.__setitem__((0, "day"), "02.01.2024"),
        lambda frame: frame.__setitem__("day", frame["day"].astype("category")),
    ],
)
def test_a_table_that_was_changed_in_place_is_profiled_anew(
    made: list[Any], change: Callable[[pd.DataFrame], object]
) -> None:
    frame = table()
    known_profile(frame)
    change(frame)
    assert known_profile(frame) == profile_frame(frame)
    assert len(made) == 2


def test_a_table_and_the_column_of_it_have_profiles_of_their_own(made: list[Any]) -> None:
    frame = table()[["n"]]
    assert (known_profile(frame).kind, known_profile(frame["n"]).kind) == ("DataFrame", "Series")
    assert known_profile(frame, named=[0]).named == {0} and len(made) == 3


def test_only_the_last_few_are_kept_and_no_large_one(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHED_TABLES", 2)
    monkeypatch.setattr(module, "_CACHED_CELLS", 10)
    for rows in (1, 2, 3, 1, 3):
        known_profile(pd.DataFrame({"n": range(rows)}))
    assert [len(each) for each in made] == [1, 2, 3, 1]
    for _ in range(2):
        known_profile(pd.DataFrame({"n": range(11)}))
    assert [len(each) for each in made[4:]] == [11, 11] and len(module._cache) == 2


def test_a_table_that_cannot_cross_is_profiled_each_time(made: list[Any]) -> None:
    frame = pd.DataFrame({"what": [object(), object()]})
    for _ in range(2):
        assert known_profile(frame).rows == 2
    assert len(made) == 2 and not module._cache
