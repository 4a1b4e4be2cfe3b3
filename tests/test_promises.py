"""Each promise of SECURITY.md and PRIVACY.md has tests in promises.toml, and these exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import IN_MAKE_TEST
from tools.promises_page import named_tests, promises, promises_page

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("page", "at_least"), [("SECURITY.md", 100), ("PRIVACY.md", 40)])
def test_every_promise_has_tests_that_exist(page: str, at_least: int) -> None:
    numbers = [number for number, _ in promises((ROOT / page).read_text(encoding="utf-8"))]
    named = named_tests(ROOT)[page]
    assert len(numbers) >= at_least
    assert numbers == list(named)
    for number, tests in named.items():
        assert tests, number
        for test in tests:
            path, _, name = test.partition("::")
            source = (ROOT / "tests" / path).read_text(encoding="utf-8")
            assert not name or f"def {name}(" in source, f"{number}: {test}"


def test_make_test_runs_a_case_of_each_promise(request: pytest.FixtureRequest) -> None:
    selected = request.session.stash[IN_MAKE_TEST]
    left_out = []
    for page in named_tests(ROOT).values():
        for number, tests in page.items():
            cases = {name: runs for name, runs in selected.items() if any(_is_in(name, test) for test in tests)}
            if all(any(_is_in(name, test) for name in selected) for test in tests) and not any(cases.values()):
                left_out.append(number)
    assert not left_out, ", ".join(left_out)


def _is_in(name: str, test: str) -> bool:
    return name == test or name.startswith(f"{test}::")


def test_each_number_on_a_page_begins_a_promise() -> None:
    """A promise inside of a paragraph would be overlooked."""
    for page in named_tests(ROOT):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert re.findall(r"\*\*([A-Z]\d+)\*\*", text) == [number for number, _ in promises(text)]


def test_the_page_of_the_site_has_each_promise_with_its_tests() -> None:
    page = promises_page(ROOT)
    for promised in named_tests(ROOT).values():
        for number, tests in promised.items():
            assert f"\n**{number}** " in page
            assert all(f"- `{test}`" in page for test in tests)
