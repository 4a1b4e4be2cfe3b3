"""The built-in functions in code mode do the same as Python's, and can call a tool."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from autocoder_jupyter.codemode.programs import prelude
from tests.cases import each

WORDS = ["bb", "a", "ccc", "dd"]


def test_they_are_not_pythons_own() -> None:
    assert prelude.sorted is not builtins.sorted and prelude.max is not builtins.max


@each("reverse", [False, True])
@each("key", [None, len])
def test_sorting_is_stable_as_ever(key: Any, reverse: bool) -> None:
    assert prelude.sorted(WORDS, key=key, reverse=reverse) == sorted(WORDS, key=key, reverse=reverse)


@pytest.mark.parametrize("name", ["min", "max"])
def test_the_first_of_several_extremes_is_taken(name: str) -> None:
    own, real = getattr(prelude, name), getattr(builtins, name)
    assert own(WORDS, key=len) == real(WORDS, key=len)
    assert own("bb", "a", "dd", key=len) == real("bb", "a", "dd", key=len)
    assert own(WORDS) == real(WORDS)
    assert own([], key=len, default="none") == "none"
    with pytest.raises(ValueError):
        own([], key=len)


def test_filter_and_map_take_the_same_arguments() -> None:
    assert [*prelude.filter(None, [0, 1, "", "a"])] == [1, "a"]
    assert [*prelude.map(pow, [2, 3], [3, 2, 1])] == [8, 9]
