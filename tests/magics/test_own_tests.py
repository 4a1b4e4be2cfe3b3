"""Cells with tests that the user writes."""

from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest

TEST = "def test_one():\n    assert growth(pd.DataFrame()) == 1\n"


def test_own_tests_before_the_cell_are_part_of_its_request(shell: Any, jobs: Any, capsys: Any) -> None:
    shell.run(f"%%autocode_test growth\n{TEST}")
    assert "growth will be tested with 1 test of yours" in capsys.readouterr().out
    assert jobs.submitted == []
    shell.run("%%autocode growth\nWords")
    shell.run("%%autocode other\nWords")
    assert jobs.submitted[0].request.own_tests == TEST.strip("\n")
    assert jobs.submitted[1].request.own_tests == ""


def test_own_tests_after_the_cell_verify_what_it_asked_for(shell: Any, jobs: Any, capsys: Any) -> None:
    shell.run("%%autocode growth --max-cost 0.5\nWords")
    shell.run(f"%%autocode_test growth\n{TEST}")
    first, second = jobs.submitted
    assert second.request.own_tests and second.request.prompt == first.request.prompt and second.config == first.config
    assert shell.user_ns["growth"] is second.result
    shell.run(f"%%autocode_test growth\n{TEST}")
    assert "was already tested with 1 test of yours" in capsys.readouterr().out and len(jobs.submitted) == 2


def test_a_retried_function_is_not_asked_anew_for_a_new_test(shell: Any, jobs: Any) -> None:
    shell.run("%%autocode growth --cache override\nWords")
    shell.run(f"%%autocode_test growth\n{TEST}")
    assert jobs.last.config.cache == "auto"


def test_a_cell_takes_the_place_of_what_it_said_before(shell: Any, jobs: Any) -> None:
    shell.run(f"%%autocode_test growth\n{TEST}")
    shell.run("%%autocode_test growth\ndef test_two():\n    assert growth() == 2\n")
    shell.run("%%autocode_test growth\ndef test_one():\n    assert growth() == 3\n")
    shell.run("%%autocode growth\nWords")
    source = jobs.last.request.own_tests
    assert source.count("def test_one") == 1 and "== 3" in source and "def test_two" in source


def test_cells_that_a_front_end_tells_apart_may_not_define_the_same(
    shell: Any, jobs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = {"id": "a"}
    monkeypatch.setattr(shell, "get_parent", lambda: {"metadata": {"cellId": cell["id"]}}, raising=False)
    shell.run(f"%%autocode_test growth\n{TEST}")
    shell.run(f"%%autocode_test growth\n{TEST.replace('one', 'renamed')}")
    cell["id"] = "b"
    with pytest.raises(InvalidRequest, match="test_renamed is defined by another %%autocode_test growth cell too"):
        shell.run(f"%%autocode_test growth\n{TEST.replace('one', 'renamed')}")
    shell.run(f"%%autocode_test growth --clear\n{TEST}")
    shell.run("%%autocode growth\nWords")
    assert jobs.last.request.own_tests == TEST.strip("\n")


def test_own_tests_can_be_forgotten(shell: Any, jobs: Any) -> None:
    shell.run(f"%%autocode_test growth\n{TEST}")
    shell.run("%%autocode growth\nWords")
    shell.run("%%autocode_test growth --clear")
    assert jobs.last.request.own_tests == "" and len(jobs.submitted) == 2


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (f"%%autocode_test\n{TEST}", "does not name the function that it tests"),
        (f"%%autocode_test growth other\n{TEST}", "does not name the function that it tests"),
        (f"%%autocode_test growth --claer\n{TEST}", "Did you mean --clear"),
        ("%%autocode_test growth", "no test of growth in the cell"),
        (f"%%autocode_test class\n{TEST}", "does not name the function that it tests"),
        (f"%%autocode_test pd\n{TEST}", "In a module of tests, pd has another meaning"),
        ("%%autocode_test growth\nx = 1", "The tests of growth contain no test function"),
        ("%%autocode_test growth\ndef test_x():\n    assert growth(orders)", "use orders, which they do not define"),
    ],
)
def test_what_cannot_be_kept_is_said_and_changes_nothing(shell: Any, jobs: Any, cell: str, words: str) -> None:
    shell.run(f"%%autocode_test growth\n{TEST}")
    with pytest.raises(InvalidRequest, match=words):
        shell.run(cell)
    shell.run("%%autocode growth\nWords")
    assert jobs.last.request.own_tests == TEST.strip("\n")


def test_an_example_of_a_cell_is_part_of_its_request(shell: Any, jobs: Any) -> None:
    shell.run("import pandas as pd; sales = pd.DataFrame({'price': [1.0]})")
    shell.run('%%autocode growth --example "sales=@sales, limit=3 -> 4.5"\nTotal of @sales.')
    (example,) = jobs.last.request.examples
    assert [name for name, _ in example.given] == ["sales", "limit"] and example.expected == (("", 4.5),)
    with pytest.raises(InvalidRequest, match="there is no output 'totl'; the outputs are total"):
        shell.run('%%autocode growth -o total:float --example "-> totl=4.5"\nTotal of @sales.')
    assert len(jobs.submitted) == 1
