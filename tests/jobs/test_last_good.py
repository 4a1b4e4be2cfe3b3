"""The last successful function of a name, while a newer run is in progress, and after that was cancelled or failed."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import autocoder_jupyter
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.errors import Cancelled, DataDrift, EarlierVersionWarning, GenerationFailed, InvalidRequest
from autocoder_jupyter.jobs import registry
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.types import CodePlan, CodeSolution, InputSpec, Report
from autocoder_jupyter.versions import Versions
from tests.calls import conftest as calls

pool = calls.pool
FIRST = Request(name="growth", prompt="Growth.")
OTHER = dataclasses.replace(FIRST, prompt="Growth, also by region.")

pytestmark = pytest.mark.usefixtures("pool")


def gives(number: float, **fields: Any) -> Report:
    code = f"def run(): return {number}"
    return calls.make_report(code, run_id=f"v{number:g}", plan=CodePlan(description="d", approach="a"), **fields)


@pytest.fixture
def submit(engine: Any, tmp_path: Path) -> Any:
    def submitted(request: Request = FIRST, **settings: Any) -> Any:
        return registry.submit(request, AgentConfig(**settings), journal_root=tmp_path / ".autocode")

    return submitted


@pytest.fixture
def first(engine: Any, submit: Any) -> Any:
    engine.outcome = gives(1.0)
    return submit().result.wait(30)


def record(root: Path, report: Report) -> None:
    journal = Journal(root, "growth")
    journal.begin(report.run_id)
    journal.write_report(report)


def test_a_call_waits_for_the_changed_request_and_the_last_good_one_answers_at_once(
    engine: Any, submit: Any, first: Any
) -> None:
    engine.outcome, engine.stop_at = gives(2.0), "run"
    growth = submit(OTHER).result
    assert growth.last_good is first and growth.last_good.run() == 1.0
    answers: list[float] = []
    call = threading.Thread(target=lambda: answers.append(growth.run()))
    call.start()
    assert engine.stage_reached["run"].wait(30) and not answers
    engine.go_on.set()
    call.join(30)
    assert answers == [2.0] and growth.last_good is growth


def test_the_function_from_before_answers_when_the_newer_run_was_cancelled(
    engine: Any, submit: Any, first: Any
) -> None:
    engine.stop_at = "plan"
    growth = submit(OTHER).result
    growth.cancel()
    with pytest.raises(Cancelled):
        growth.wait(30)
    with pytest.warns(EarlierVersionWarning, match=r"growth was cancelled; .* \(version v1\)") as warned:
        assert growth.run() == 1.0
    assert warned[0].filename == __file__
    assert growth.last_good is first


async def test_it_answers_after_a_failure_too_and_its_signature_is_shown(engine: Any, submit: Any, first: Any) -> None:
    engine.outcome = gives(2.0, success=False, error="2 of 9 tests fail")
    growth = submit(OTHER).result.wait(30)
    assert not growth.success and growth.code == "def run(): return 2.0"
    with pytest.warns(EarlierVersionWarning, match="growth has failed"):
        assert await growth.run.aio() == 1.0
    assert str(growth.interface.signature()) == "() -> float"


def test_who_had_begun_to_wait_for_the_newer_one_is_not_given_the_older(engine: Any, submit: Any, first: Any) -> None:
    engine.outcome, engine.stop_at = gives(2.0, success=False, error="2 of 9 tests fail"), "run"
    call = submit(OTHER).result.run
    engine.go_on.set()
    with pytest.raises(GenerationFailed, match="2 of 9 tests fail"):
        call()


@pytest.mark.parametrize(
    "use",
    [
        lambda growth: growth.export("growth.py"),
        lambda growth: growth.rows_used(pd.DataFrame()),
        lambda growth: growth.stability(pd.DataFrame()),
        lambda growth: growth.map([1]),
        lambda growth: growth.as_task("growth"),
        lambda growth: growth.split,
        lambda growth: growth.misfit("sales", 1),
    ],
    ids=["export", "rows_used", "stability", "map", "as_task", "split", "misfit"],
)
def test_what_needs_the_new_function_names_the_last_good_one(use: Any, engine: Any, submit: Any, first: Any) -> None:
    engine.outcome = gives(2.0, success=False, error="2 of 9 tests fail")
    failed = submit(OTHER).result.wait(30)
    with pytest.raises(GenerationFailed, match="2 of 9 tests fail") as raised:
        use(failed)
    assert "growth has failed; growth.last_good is the last good version, which still works." in str(raised.value)


def test_an_exception_of_the_generation_names_the_last_good_one_once(engine: Any, submit: Any, first: Any) -> None:
    engine.outcome = DataDrift("sales lacks 'price'.", hint="Rename it.")
    failed = submit(OTHER).result
    for _ in range(2):
        with pytest.raises(DataDrift, match="lacks 'price'") as raised:
            failed.as_task("growth")
        assert raised.value.hint.count("last_good") == 1 and raised.value.hint.startswith("Rename it.\ngrowth has")


def test_the_same_request_asked_anew_is_answered_meanwhile(engine: Any, submit: Any, first: Any) -> None:
    engine.outcome, engine.stop_at = gives(2.0), "run"
    growth = submit(FIRST, cache="override").result
    with pytest.warns(EarlierVersionWarning, match="growth is being generated again"):
        assert growth.run() == 1.0
    engine.go_on.set()
    assert growth.wait(30).run() == 2.0


def test_its_defaults_are_the_samples_of_today(engine: Any, submit: Any) -> None:
    inputs = (InputSpec(name="price", type="float"),)
    engine.outcome = calls.make_report("def run(price): return price", inputs)
    submit(dataclasses.replace(FIRST, samples={"price": 10.0})).result.wait(30)
    engine.outcome = gives(2.0, success=False, error="no")
    growth = submit(dataclasses.replace(OTHER, samples={"price": 20.0})).result.wait(30)
    with pytest.warns(EarlierVersionWarning):
        assert growth.run() == 20.0


def test_samples_with_renamed_columns_are_refused_with_the_way_out(engine: Any, submit: Any) -> None:
    """After the cell failed with `DataDrift`, its samples are the defaults of the earlier function."""
    inputs = (InputSpec(name="sales", type="DataFrame"),)
    table = pd.DataFrame({"price": [1.0, 2.0]})
    engine.outcome = calls.make_report(
        "def run(sales): return sales['price'].sum()", inputs, sample_shapes={"sales": shape_of(table)}
    )
    submit(dataclasses.replace(FIRST, samples={"sales": table})).result.wait(30)
    engine.outcome = DataDrift("sales lacks 'price'.")
    other = table.rename(columns={"price": "unit_price"})
    growth = submit(dataclasses.replace(OTHER, samples={"sales": other})).result
    with pytest.raises(DataDrift):
        growth.wait(30)
    for _ in range(2):
        with pytest.raises(DataDrift, match="lacks 'price'") as refused:
            growth.run()
        assert "growth.run(sales.rename(columns={'unit_price': 'price'}))" in refused.value.hint
    with pytest.warns(EarlierVersionWarning):
        assert growth.run(table) == 3.0
    assert str(growth.interface.signature()) == "(sales: pandas.DataFrame = <sample>) -> float"


def test_several_failures_do_not_lose_it(engine: Any, submit: Any, first: Any) -> None:
    engine.outcome = gives(2.0, success=False, error="no")
    for prompt in ("a", "b", "c"):
        growth = submit(dataclasses.replace(FIRST, prompt=prompt)).result.wait(30)
    assert growth.last_good is first


def test_after_a_restart_it_comes_from_disk(engine: Any, submit: Any, tmp_path: Path) -> None:
    record(tmp_path / ".autocode", gives(1.0))
    engine.outcome = gives(2.0, success=False, error="no")
    growth = submit(OTHER).result.wait(30)
    with pytest.warns(EarlierVersionWarning):
        assert growth.run() == 1.0


def test_without_a_good_one_the_failure_is_raised(engine: Any, submit: Any) -> None:
    engine.outcome = gives(2.0, success=False, error="2 of 9 tests fail")
    growth = submit().result.wait(30)
    assert growth.last_good is None
    with pytest.raises(GenerationFailed, match="2 of 9 tests fail"):
        growth.run()


def test_a_recorded_function_is_loaded_and_called_without_its_cell(tmp_path: Path) -> None:
    root = tmp_path / ".autocode"
    record(root, gives(1.0, started="2026-01-01T12:00:00Z"))
    record(root, gives(2.0, started="2026-01-02T12:00:00Z"))
    record(root, gives(3.0, started="2026-01-03T12:00:00Z", success=False))
    load = autocoder_jupyter.load
    assert load("growth", journal_root=root).run() == 2.0
    assert load("growth", 1, journal_root=root).run() == 1.0
    assert load("growth", "v1", journal_root=root)() == 1.0
    Versions(root, "growth").pin("v1")
    assert load("growth", journal_root=root).run() == 1.0


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("grwth", None, "no recorded grwth .*Did you mean growth"),
        ("growth", 4, "no recorded version 4 of growth"),
        ("../growth", None, "no recorded"),
    ],
)
def test_what_is_not_recorded_cannot_be_loaded(tmp_path: Path, name: str, version: int | None, message: str) -> None:
    record(tmp_path / ".autocode", gives(1.0))
    with pytest.raises(InvalidRequest, match=f"(?s){message}"):
        autocoder_jupyter.load(name, version, journal_root=tmp_path / ".autocode")


def test_strange_packages_of_a_recorded_function_wait_for_a_yes(tmp_path: Path) -> None:
    root = tmp_path / ".autocode"
    record(root, gives(1.0, detected_packages=("no-such-thing",), solution=CodeSolution(code="def run(): return 1.0")))
    with pytest.raises(InvalidRequest, match="needs packages that were not approved: no-such-thing"):
        autocoder_jupyter.load("growth", journal_root=root).run()
    assert autocoder_jupyter.load("growth", journal_root=root, trusted=True).run() == 1.0
