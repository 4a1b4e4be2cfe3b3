"""A function is pinned to what it is: not to the model, its parameters, what is shared, or the machine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.display.card import evidence_rows, rows
from autocoder_jupyter.display.folds import history_rows
from autocoder_jupyter.engine.prepare import settle_inputs
from autocoder_jupyter.magics.command import parse_cell
from autocoder_jupyter.request import Request
from autocoder_jupyter.run.events import Noticed, VersionBegun
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.request_fields import FIELDS, RequestKey, changes, written_otherwise
from autocoder_jupyter.view.as_text import blocks_text
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced, sales

pytestmark = pytest.mark.local_sandbox

SCRIPT = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
RECORDED = Path(__file__).with_name("recorded_with_settings_in_the_key")
"""A folder of version 0.1.0, with a key that contains the model, its parameters and other settings."""

OTHERS: dict[str, dict[str, Any]] = {
    "model": {"model": "openai/another"},
    "parameters": {"litellm_params": {"input_cost_per_token": 1e-6}},
    "share": {"share": "stats"},
    "mask": {"mask": ("price",)},
    "rows": {"max_sample_rows": 5},
    "instructions": {"system_prompt": "Write NumPy docstrings."},
    "packages": {"base_packages": ("python-dateutil",)},
    "no tests": {"skip_tests": True},
}


def text_of(produced: Generated) -> str:
    """The rows of the card and its folds, as text."""
    state = FunctionRun("growth")
    for event in produced.events:
        state = state.after(event)
    return "\n".join(blocks_text((*rows(state), *evidence_rows(state), *history_rows(state))))


def noticed(produced: Generated) -> str:
    return "\n".join(event.text for event in produced.of(Noticed))


@pytest.mark.parametrize("settings", OTHERS.values(), ids=OTHERS)
async def test_a_setting_of_another_person_or_day_writes_nothing_anew(runner: Runner, settings: dict[str, Any]) -> None:
    first = await runner.begin(SCRIPT)
    again = await runner.generate({}, settings=settings)
    assert again.report.success, again.error
    assert again.asked == [] and again.report.run_id == first.report.run_id and again.report.kept == "3 rows"


async def test_a_folder_whose_key_has_settings_is_kept_without_a_question(runner: Runner) -> None:
    shutil.copytree(RECORDED, runner.root)
    (recorded,) = Versions(runner.root, "growth").all()
    settings = {"model": "openai/another", "litellm_params": {"input_cost_per_token": 1e-6}}
    kept = await runner.generate({}, checks=("total > 0",), settings=settings)
    assert kept.asked == [] and kept.report.kept == "3 rows" and kept.report.run_id == recorded.id
    assert kept.report.request_key != recorded.report.request_key
    assert "written by: openai/scripted; --refresh asks openai/another" in text_of(kept)


async def test_a_choice_between_versions_of_such_a_folder_still_counts(runner: Runner) -> None:
    """Each setting had a key of its own, so a request can have several versions; the person restored the first."""
    shutil.copytree(RECORDED, runner.root)
    versions = Versions(runner.root, "growth")
    (first,) = versions.all()
    second = "c" * 16
    shutil.copytree(runner.root / "growth" / first.id, runner.root / "growth" / second)
    report = first.report.model_copy(update={"request_key": second, "run_id": second, "started": None})
    (runner.root / "growth" / second / "report.json").write_text(report.model_dump_json())
    assert [version.id for version in versions.all()] == [second, first.id]
    versions.restore(versions.all()[0])
    kept = await runner.generate({}, checks=("total > 0",))
    assert kept.asked == [] and kept.report.run_id == second


async def test_the_card_says_who_wrote_it_and_whom_refresh_would_ask(runner: Runner) -> None:
    first = await runner.begin(SCRIPT)
    assert "written by: openai/scripted" in text_of(first) and "--refresh asks" not in text_of(first)
    settings = {"model": "openai/another", "system_prompt": "Write NumPy docstrings."}
    again = await runner.generate({}, settings=settings)
    (begun,) = again.of(VersionBegun)
    assert begun.writer.startswith("openai/scripted; --refresh asks openai/another; only --refresh uses the system ")
    assert again.report.written_by == "openai/scripted"
    refreshed = await runner.generate(SCRIPT, settings={**settings, "cache": "override"})
    assert refreshed.report.written_by == "openai/another" and "code" in refreshed.asked


async def test_a_function_without_tests_is_not_enough_where_tests_are_wanted(runner: Runner) -> None:
    first = await runner.generate(SCRIPT, settings={"skip_tests": True})
    assert first.report.success and not first.report.tests
    tested = await runner.generate(SCRIPT)
    assert "tests" in tested.asked and tested.report.tests and tested.report.run_id != first.report.run_id
    assert tested.report.change == "there are no tests yet"
    versions = Versions(runner.root, "growth").all()
    assert [bool(version.report.tests) for version in versions] == [False, True]  # the first one was not overwritten
    again = await runner.generate({}, settings={"skip_tests": True})
    assert again.asked == [] and again.report.tests


@pytest.mark.parametrize(("first", "then"), [("--skip-tests", "--effort none"), ("--effort none", "--skip-tests")])
async def test_no_effort_opens_what_was_made_without_tests_and_the_other_way_round(
    runner: Runner, first: str, then: str
) -> None:
    usual = {"effort": "normal"}
    made = await runner.generate(SCRIPT, settings={**usual, **parse_cell(f"growth {first}", "x").settings})
    assert made.report.success and not made.report.tests and "tests" not in made.asked
    opened = await runner.generate({}, settings={**usual, **parse_cell(f"growth {then}", "x").settings})
    assert opened.asked == [] and opened.report.run_id == made.report.run_id and opened.report.success


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"share": "stats"}, "it was made with --share rows, and now stats is shared"),
        ({"hide": ("region",)}, "region is to be hidden"),
        ({"mask": ("price",)}, "price is to be masked"),
    ],
)
async def test_where_less_is_shared_nothing_is_sent_and_what_was_sent_is_said(
    runner: Runner, settings: dict[str, Any], why: str
) -> None:
    samples = {"sales": sales().assign(region="north")}
    fragile = CODE.replace("return float(", 'assert len(sales) < 4, "too long"\n    return float(')
    await runner.generate({**SCRIPT, "code": [fenced(fragile)]}, samples=samples)
    again = await runner.generate({}, samples=samples, settings=settings)
    assert again.report.success and again.asked == [] and why in noticed(again)
    assert "What was sent then stays sent; nothing is sent now." in noticed(again)
    failed = await runner.generate({}, samples={"sales": samples["sales"].iloc[[0, 1, 2, 0]]}, settings=settings)
    assert failed.asked == [] and not failed.report.success
    assert "--refresh writes it with what is shared now" in failed.error


async def test_where_as_much_is_shared_nothing_is_said(runner: Runner) -> None:
    await runner.generate(SCRIPT, settings={"share": "stats"})
    for share in ("stats", "rows"):
        again = await runner.generate({}, settings={"share": share})
        assert again.report.success and again.asked == [] and "stays sent" not in noticed(again)


async def test_a_run_that_failed_is_not_continued_with_other_settings_in_its_folder(runner: Runner) -> None:
    """The folder says which model was asked and what was shared, so it belongs to one of them."""
    wrong = CODE.replace('sales["quantity"]).sum()', 'sales["quantity"]).max()')
    failing = {**SCRIPT, "code": [fenced(wrong)], "diagnose": ["{}"]}
    first = await runner.generate(failing, settings={"max_iterations": 1})
    assert not first.report.success
    second = await runner.generate(SCRIPT, settings={"model": "openai/another", "share": "stats"})
    versions = Versions(runner.root, "growth")
    settings = [versions.request(run.report.run_id)["settings"] for run in (first, second)]
    told = [(one["model"], one["share"]) for one in settings]
    assert told == [("openai/scripted", "rows"), ("openai/another", "stats")]


def test_the_key_has_no_setting_and_the_same_on_every_machine() -> None:
    request = Request("growth", "Total revenue of @sales.", {"sales": sales()})
    assert RequestKey.of(request, settle_inputs(request)).asked == "390d348a73ae1d6a"


def test_settings_are_no_part_of_what_a_function_is_and_are_still_told() -> None:
    before = {"settings": {"model": "a", "base_packages": [], "hide": []}}
    now = {"settings": {"model": "b", "base_packages": ("scikit-learn",), "hide": ()}}
    assert changes(before, now) == "the model: a → b; the packages: [] → ['scikit-learn']"
    assert written_otherwise(before, now) == "the packages: [] → ['scikit-learn']"


@pytest.mark.parametrize("locked", [True, False])
async def test_a_run_of_a_colleague_needs_neither_settings_nor_a_key(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, locked: bool
) -> None:
    from autocoder_jupyter import AutoCoderAgent

    shutil.copytree(RECORDED, runner.root)
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    agent = AutoCoderAgent(model="anthropic/claude-sonnet-4-5", sandbox="local", locked=locked)
    result = await agent.generate.aio(
        "Total revenue of @sales.",
        name="growth",
        samples={"sales": sales()},
        outputs={"total": float},
        checks=["total > 0"],
        journal_root=runner.root,
    )
    assert result.success and result.report.kept == "3 rows"


def test_each_field_of_a_request_says_what_a_record_a_key_and_a_refinement_do_with_it() -> None:
    fields = set(Request.__dataclass_fields__)
    assert fields - FIELDS.keys() == {"answers"}  # they are in the report, and no part of the key
    assert fields >= FIELDS.keys()
