from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.engine.tests import read_suite, suite_problem

SOURCE = '''
from solution import run

def helper(): ...

def test_first():
    """Skip months with fewer than 5 orders.

    More words.
    """
    assert run(x=1) == 1

class TestMore:
    def test_inside(self):
        assert run(x=1)
    def helper(self): ...

class Helper:
    def test_not_collected(self): ...
'''


def test_ids_and_sentences_are_read_as_pytest_collects_them() -> None:
    assert read_suite(SOURCE).sentences == {
        "test_first": "Skip months with fewer than 5 orders.",
        "TestMore::test_inside": "",
    }


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("from solution import run\n", "no test function"),
        ("def test_a():\n    assert 1 == 1\n", "No test calls `run`"),
        (SOURCE, ""),
    ],
    ids=["no tests", "no calls", "fine"],
)
def test_a_suite_that_proves_nothing_is_refused(source: Any, problem: str) -> None:
    assert problem in suite_problem(read_suite(source))
