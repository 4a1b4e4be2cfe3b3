"""A loop over cases in one test protects as much as a test for each case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases import each


def failures_of(loop: Callable[..., None], **fixtures: object) -> BaseExceptionGroup:
    with pytest.raises(BaseExceptionGroup) as caught:
        loop(**fixtures)
    return caught.value


def test_each_case_that_fails_is_named_and_the_others_are_tried() -> None:
    tried = []

    @each("number, text", [(1, "a"), pytest.param(2, "b", id="two"), (3, "c"), (4, "d"), (10**5000, "long" * 99)])
    def loop(number: int, text: str) -> None:
        tried.append(number)
        if number == 3:
            pytest.fail("it failed")
        if number == 4:
            pytest.skip("it was skipped")
        assert number == 1, "not one"

    error = failures_of(loop)
    assert tried == [1, 2, 3, 4, 10**5000] and len(error.exceptions) == 4
    assert error.message.startswith("4 of 5 cases failed: case 1 (two): not one\n")
    assert "\ncase 2 ((3, 'c')): it failed\ncase 3 ((4, 'd')): it was skipped\ncase 4 (" in error.message
    assert "case 0" not in error.message


def test_what_pytest_says_about_an_assertion_is_kept() -> None:
    @each("number", range(4), ids=[f"number {number}" for number in range(4)])
    def loop(number: int) -> None:
        assert [number, 0] != [2, 0]

    error = failures_of(loop)
    assert "1 of 4 cases failed: case 2 (number 2): assert [2, 0] != [2, 0]" in error.message
    assert error.exceptions[0].__traceback__ is not None


def test_no_cases_are_an_error() -> None:
    @each("number", [])
    def loop(number: int) -> None: ...

    with pytest.raises(AssertionError, match="there are no cases of number"):
        loop()


def test_cases_of_cases_are_named_with_both() -> None:
    @each("outer", ["a", "b"])
    @each("inner", ["x", "y"], ids=["an x", "a y"])
    def loop(outer: str, inner: str) -> None:
        assert outer + inner != "by"

    (line,) = [line for line in failures_of(loop).message.splitlines() if "assert" in line]
    assert "1 of 2 cases failed: case 1 (('b',)): 1 of 2 cases failed: case 1 (a y): " in line


def test_a_limit_of_time_ends_the_loop() -> None:
    tried = []

    @each("number", range(3))
    def loop(number: int) -> None:
        tried.append(number)
        pytest.fail("Timeout (>300.0s) from pytest-timeout.")

    with pytest.raises(pytest.fail.Exception, match="Timeout"):
        loop()
    assert tried == [0]


PLACES: list[Path] = []


@each("name", ["PATH", "HOME"])
@each("number", range(2))
def test_each_case_has_a_new_folder_and_new_patches(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(tmp_path.iterdir()) == [] and tmp_path not in PLACES
    (tmp_path / "file").touch()
    PLACES.append(tmp_path)
    assert not hasattr(pytest, "patched")
    monkeypatch.setattr(pytest, "patched", True, raising=False)
