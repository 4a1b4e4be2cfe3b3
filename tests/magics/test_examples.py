from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.examples import collect_example, parse_example
from autocoder_jupyter.types import File
from tests.cases import each


@each(
    ("text", "given", "expected"),
    [
        pytest.param("@few -> @out", (("", "few"),), (("", "out"),), id="one and one"),
        pytest.param(
            "min_orders=3, orders=@few -> @out",
            (("min_orders", "3"), ("orders", "few")),
            (("", "out"),),
            id="inputs by name",
        ),
        pytest.param("few.head(2) -> 3.5", (("", "few.head(2)"),), (("", "3.5"),), id="expressions, without the sign"),
        pytest.param("-> total=14", (), (("total", "14"),), id="the sample"),
        pytest.param("'a -> @b' -> \"x\", n=-1", (("", "'a -> @b'"),), (("", "'x'"), ("n", "-1")), id="in quotes"),
        pytest.param("@a, (1, 2) -> [1, None]", (("", "a"), ("", "(1, 2)")), (("", "[1, None]"),), id="containers"),
    ],
)
def test_both_sides_of_an_example_are_told_apart(text: str, given: Any, expected: Any) -> None:
    option = parse_example(text)
    assert (option.text, option.given, option.expected) == (text, given, expected)


@each(
    ("text", "words"),
    [
        ("@few", "0 arrows instead of one"),
        ("1 -> 2 -> 3", "2 arrows instead of one"),
        ("@few ->", "has no expected output"),
        ("@few -> (", "is not valid"),
        ("*x -> 1", "is not valid"),
        ("**x -> 1", "is not valid"),
        (") + f( -> 1", "is not valid"),
        ("x=1, x=2 -> 1", "is not valid"),
    ],
)
def test_what_is_no_example_is_said_with_the_way_to_write_one(text: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words) as caught:
        parse_example(text)
    assert "--example" in caught.value.hint


def test_an_example_holds_its_values_as_they_are_now() -> None:
    namespace: dict[str, Any] = {"few": pd.DataFrame({"a": [1]}), "out": [1, [2]]}
    example = collect_example(parse_example("@few, 3 -> out"), namespace)
    namespace["few"].loc[0, "a"] = 9
    namespace["out"][1].append(3)
    (_, few), (_, three) = example.given
    assert few["a"].tolist() == [1] and three == 3 and example.expected == (("", [1, [2]]),)


@each(
    ("text", "words"),
    [
        ("@feww -> 1", "there is no 'feww' in the notebook.*\n?.*Did you mean @few"),
        ("few.nope -> 1", "few.nope fails.*\n?.*AttributeError"),
        ("@few -> print", "holds a builtin_function"),
        ("@few -> {1}", "cannot be compared with a set"),
        ("@few -> 0x1" + "0" * 5000, "has a value that is too long"),
    ],
)
def test_values_that_are_not_there_or_cannot_be_compared_are_said(text: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        collect_example(parse_example(text), {"few": pd.DataFrame({"a": [1]}), "print": print})


class Hostile:
    """An object whose methods must not be called: what it is like is known from its type."""

    def _called(self, *_: object) -> str:
        raise AssertionError("a method of it was called")

    __repr__ = __str__ = __deepcopy__ = __eq__ = __iter__ = __len__ = _called  # type: ignore[assignment]
    __hash__ = object.__hash__


def test_what_cannot_cross_is_refused_before_it_is_copied_or_shown() -> None:
    loop: list[Any] = []
    loop.append(loop)
    values = {"a": Hostile(), "b": [Hostile()], "c": {Hostile(): 1}, "d": pd.DataFrame({"x": [Hostile()]}), "e": loop}
    for name in values:
        for text in (f"@{name} -> 1", f"1 -> @{name}"):
            with pytest.raises(InvalidRequest, match="cannot be sent to the sandbox"):
                collect_example(parse_example(text), values)


def test_data_of_flyte_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    from flyte import io

    (tmp_path / "few.csv").write_text("v\n1\n")
    frame = pd.DataFrame({"v": [1]})
    namespace = {"few": io.File(path=str(tmp_path / "few.csv")), "out": io.DataFrame.from_df(frame)}
    example = collect_example(parse_example("@few -> @out"), namespace)
    assert example.given == (("", File(tmp_path / "few.csv")),)
    pd.testing.assert_frame_equal(example.expected[0][1], frame)
