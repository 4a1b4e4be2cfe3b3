"""`%%autocode NAME --refine`: the earlier request with one more change."""

from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import CodePlan, OutputSpec

PLAN = CodePlan(description="Total.", approach="Add.", outputs=(OutputSpec(name="total", type="float"),))


@pytest.fixture
def growth(shell: Any, jobs: Any) -> Any:
    """A finished function."""
    shell.run("import pandas as pd; sales = pd.DataFrame({'a': [1, 2]}); targets = sales * 2")
    shell.run('%%autocode growth -o "total: float" -c "never negative"\nTotal of @sales.')
    jobs.last.end(plan=PLAN, tests="def test_it(): ...", answers=("Which? All.",))
    return jobs.last


def test_a_wish_is_added_to_all_that_was_asked(shell: Any, jobs: Any, growth: Any) -> None:
    shell.run('%%autocode growth --refine -o "mean: float"\nAlso the mean, against @targets.')
    request = jobs.last.request
    assert request.prompt == "Total of @sales." and request.wishes == ("Also the mean, against @targets.",)
    assert list(request.samples) == ["sales", "targets"]
    assert [output.name for output in request.outputs] == ["total", "mean"]
    assert request.constraints == ("never negative",) and request.answers == ("Which? All.",)
    assert request.earlier.code.startswith("def run") and request.earlier.tests == "def test_it(): ..."
    assert "Also the mean" in shell.shown


def test_a_table_that_a_change_names_and_does_not_pass_is_asked_about(
    shell: Any, jobs: Any, growth: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "yes")
    shell.run("%%autocode growth --refine\nAlso the mean of the sales table.")  # it has that table
    assert asked == []
    jobs.last.end(plan=PLAN)
    shell.run("%%autocode growth --refine\nCompare it with the targets table.")
    assert asked[0].startswith("Use targets (2 rows) too?") and len(asked) == 1
    assert jobs.last.request.wishes[-1] == "Compare it with the @targets table."
    assert list(jobs.last.request.samples) == ["sales", "targets"]


def test_what_the_person_demands_is_demanded_of_the_refined_function_too(shell: Any, jobs: Any, growth: Any) -> None:
    shell.run("small = sales.head(1)")
    shell.run('%%autocode growth --refine --example "sales=@small -> 1.0"\nAlso the mean.')
    jobs.last.end(plan=PLAN)
    shell.run("%%autocode growth --refine\nAnd the median.")
    assert [example.text for example in jobs.last.request.examples] == ["sales=@small -> 1.0"]
    assert jobs.last.request.wishes == ("Also the mean.", "And the median.")


def test_the_samples_are_those_that_the_function_was_made_on(shell: Any, jobs: Any, growth: Any) -> None:
    shell.run("sales = None")
    shell.run("%%autocode growth --refine\nAlso the mean.")
    assert jobs.last.request.samples is not growth.request.samples
    assert jobs.last.request.samples["sales"].equals(growth.request.samples["sales"])


def test_a_wish_that_is_granted_is_not_granted_twice(shell: Any, jobs: Any, growth: Any) -> None:
    shell.run("%%autocode growth --refine\nAlso the mean.")
    first = jobs.last
    first.end(plan=PLAN)
    shell.run("%%autocode growth --refine\nAlso the mean.\n")
    assert jobs.last is not first and jobs.last.request.wishes == ("Also the mean.",)
    assert jobs.last.request.earlier == first.request.earlier


def test_there_must_be_something_to_refine(shell: Any, jobs: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"no function named .growth.[\s\S]*without --refine"):
        shell.run("%%autocode growth --refine\nAlso the mean.")
    shell.run("%%autocode growth\nTotal.")
    jobs.last.end("failed", error="No.")
    with pytest.raises(InvalidRequest, match="is not ready"):
        shell.run("%%autocode growth --refine\nAlso the mean.")
