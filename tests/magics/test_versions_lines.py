"""`%autocode history`, `diff`, `restore`, `pin`, `rename`, `remove`; and after a restart `status`, `retry`."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.display.inspector.inspector import VersionsPage
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.engine.prepare import request_record, settle_inputs
from autocoder_jupyter.errors import InvalidRequest, WrittenLater
from autocoder_jupyter.lab.messages import listed
from autocoder_jupyter.lab.requests import VERSION_KEYS, answer
from autocoder_jupyter.magics.settings import suggestion
from autocoder_jupyter.magics.versions import HEADINGS, VersionManager
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.types import (
    CodePlan,
    CodeSolution,
    Evidence,
    InputSpec,
    Report,
    TestOutcome,
    ToolUse,
    Trace,
    Usage,
)
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.lost_edits import words_of_lost
from autocoder_jupyter.versions.request_fields import RequestKey
from autocoder_jupyter.versions.request_lock import hold_lock, lock_of


def begin(here: Path, prompt: str, version: str = "", **fields: Any) -> tuple[Journal, RequestKey]:
    request = Request(name="growth", prompt=prompt, **fields)
    key = RequestKey.of(request, settle_inputs(request))
    journal = Journal(here / ".autocode", "growth")
    journal.begin(version or key.id)
    journal.write_request(request_record(request, AgentConfig(), key), {"text": f"sent of {prompt}"})
    return journal, key


def record(here: Path, prompt: str, code: str, day: int, **fields: Any) -> str:
    """Record a version. Returns its id."""
    asked = fields.pop("request_fields", {})
    journal, key = begin(here, prompt, fields.pop("version", ""), samples=fields.pop("samples", {}), **asked)
    values: dict[str, Any] = {
        "success": True,
        "request_key": key.id,
        "solution": CodeSolution(code=code),
        "plan": CodePlan(description="d", approach="a", assumptions=(f"Days are those of {prompt}.",)),
        "started": dt.datetime(2026, 1, day, 12),
        **fields,
    }
    journal.write_report(Report(name="growth", run_id=journal.run_id, prompt=prompt, **values))
    return journal.run_id


@pytest.fixture
def three(here: Path) -> list[str]:
    """Two successful versions of two requests, and a failed one."""
    return [
        record(here, "By month.", "x = 1\n", 1, usage=Usage(input_tokens=1200, output_tokens=30, cost=0.25)),
        record(here, "By week.", "x = 2\n", 2, author="you", change="edited by you"),
        record(here, "By day.", "x = 3\n", 3, success=False, error="2 of 9 tests fail"),
    ]


def said(shell: Any) -> str:
    return shell.shown.replace("\\n", "\n")


def test_history_tells_who_made_each_version_why_and_which_counts(shell: Any, three: list[str]) -> None:
    shell.run("%autocode history growth")
    shown = shell.display_pub.outputs[-1]["data"]["text/plain"]
    first, second, third = shown.splitlines()
    assert three[0] in first and "$0.25" in first and "By month." in first and "the model" in first
    assert "ready, not fully checked · current" in second and "you" in second and "edited by you" in second
    assert "failed" in third and "2 of 9 tests fail" in third


def test_history_says_the_same_evidence_once(shell: Any, here: Path) -> None:
    passed = TestOutcome(id="test_solution.py::test_one", outcome="passed")
    for number, (request, tests) in enumerate([("By month.", 1), ("By week.", 1), ("By day.", 2)], 1):
        record(here, request, f"x = {number}\n", number, evidence=Evidence(tests=(passed,) * tests))
    shell.run("%autocode history growth")
    first, second, third = shell.display_pub.outputs[-1]["data"]["text/plain"].splitlines()
    assert "1 test " in first and "1 test " not in second and "as 1 " in second and "as 1 " not in third


def test_what_an_agent_made_is_told_apart(shell: Any, here: Path) -> None:
    call = ToolUse(turn=1, tool="Bash", argument="ls", kind="safe")
    record(here, "By month.", "x = 1\n", 1, trace=Trace(calls=(call,), turns=1, max_turns=50), attempts=2)
    shell.run("%autocode history growth")
    assert "an agent (claude), 1 tool call, 2 attempts" in said(shell)
    shell.run("%autocode status")
    assert "version 1, by backend claude; autocoder_jupyter.load" in said(shell)


def test_every_line_says_that_an_edited_record_is_not_verified_here(shell: Any, here: Path, three: list[str]) -> None:
    file = here / ".autocode" / "growth" / "versions" / three[1] / "report.json"
    file.write_text(file.read_text().replace("x = 2", "x = 20"))
    for line in ("history growth", "status", "show growth"):
        shell.run(f"%autocode {line}")
        text = shell.display_pub.outputs[-1]["data"]["text/plain"]
        assert "not verified here" in text.lower(), line
        assert ".verify()" in text or line == "history growth", line
    first, second, _ = _history(shell)
    assert "ready" in first and "not verified here · current" in second and "No run of yours" in second
    shell.run("%autocode versions growth restore 2")
    growth = shell.user_ns["growth"]
    assert (growth.success, growth.state, growth.code) == (False, "not_verified", "x = 20\n")
    (job,) = listed(shell.magics_manager.registry["AutocodeMagics"].notebook)
    assert (job["phase"], job["title"]) == ("not_verified", "Not verified here")
    assert "Verified" not in job["rows"] and not any("tests passed" in fact for fact in job["facts"])
    assert job["rows"]["Reason"] == str(growth.error).splitlines() and {"call", "export", "insert-code"} <= {
        *job["actions"]
    }
    shell.run("%autocode versions growth restore 1")
    assert shell.user_ns["growth"].success


def _history(shell: Any) -> list[str]:
    shell.run("%autocode history growth")
    return list(shell.display_pub.outputs[-1]["data"]["text/plain"].splitlines())


def test_a_function_of_a_later_version_is_told_beside_the_others(shell: Any, here: Path, three: list[str]) -> None:
    shutil.copytree(here / ".autocode" / "growth", here / ".autocode" / "other")
    path = here / ".autocode" / "growth" / "versions" / three[1] / "report.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"format": 2, "autocoder_jupyter": "1.3"}))
    shell.run("%autocode status")
    rows = shell.display_pub.outputs[-1]["data"]["text/plain"]
    assert "was written by a later version of autocoder-jupyter (1.3, format 2)" in rows and "other" in rows
    for line in ("history growth", "show growth", "versions growth restore 1", "versions growth rename another"):
        with pytest.raises(WrittenLater):
            shell.run(f"%autocode {line}")
    assert path.exists()


def test_diff_tells_what_was_asked_otherwise_and_assumed(shell: Any, three: list[str]) -> None:
    shell.run("%autocode diff growth 1 2")
    shown = said(shell)
    assert "Changes in the request: new wording." in shown and "-x = 1\n+x = 2" in shown
    assert "No longer assumed: Days are those of By month." in shown
    assert "Newly assumed: Days are those of By week." in shown


def test_restore_binds_the_name_and_counts_where_the_newest_did(
    shell: Any, here: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run("%autocode versions growth restore 1")
    assert "growth is version 1 again" in capsys.readouterr().out
    assert shell.user_ns["growth"].code == "x = 1\n"
    versions = Versions(here / ".autocode", "growth")
    for key in three[:2]:
        assert versions.chosen(key).id == three[0]  # type: ignore[union-attr]
    assert versions.last_good().id == three[0]  # type: ignore[union-attr]


def test_a_pinned_version_is_held_until_it_is_let_go(shell: Any, here: Path, three: list[str]) -> None:
    versions = Versions(here / ".autocode", "growth")
    shell.run("%autocode versions growth pin 1")
    assert versions.choice.pinned == three[0] and shell.user_ns["growth"].code == "x = 1\n"
    shell.run("%autocode history growth")
    assert "ready, not fully checked · pinned" in said(shell)
    shell.run("%autocode versions growth pin --off")
    assert versions.choice.pinned is None
    shell.run("%autocode versions growth pin")
    assert versions.choice.pinned == three[1]


def test_rename_takes_all_versions_and_the_variable_along(shell: Any, here: Path, three: list[str]) -> None:
    shell.run("%autocode versions growth restore 1")
    shell.run("%autocode versions growth rename rise")
    assert "growth" not in shell.user_ns and shell.user_ns["rise"].code == "x = 1\n"
    assert shell.user_ns["rise"].report.name == "rise"
    assert [version.id for version in Versions(here / ".autocode", "rise").all()] == three
    assert not (here / ".autocode" / "growth").exists()


def test_rename_keeps_samples_own_tests_and_the_states_of_all_versions(
    shell: Any, jobs: Any, here: Path, three: list[str]
) -> None:
    sales = pd.DataFrame({"a": [1, 2]})
    shell.user_ns["sales"] = sales
    shell.run("%%autocode growth\nBy month of @sales.")
    plan = CodePlan(description="d", approach="a", inputs=(InputSpec(name="sales", type="DataFrame"),))
    jobs.last.end(plan=plan)
    record(here, "By month of @sales.", "x = 4\n", 4, plan=plan, declared_inputs=plan.inputs, samples={"sales": sales})
    shell.user_ns["growth"] = jobs.last.result
    before = [line.replace("growth", "rise") for line in _history(shell)]
    shell.run("%autocode versions growth rename rise")
    assert shell.user_ns["rise"].original_samples["sales"].equals(sales)
    shell.run("%autocode history rise")
    after = shell.display_pub.outputs[-1]["data"]["text/plain"].splitlines()
    assert after == before and "2 of 9 tests fail" in "".join(after) and "not verified" not in "".join(after)


def test_rename_keeps_a_function_that_failed(shell: Any, here: Path) -> None:
    record(here, "By day.", "x = 3\n", 3, success=False, error="2 of 9 tests fail")
    shell.run("%autocode versions growth rename rise")
    assert shell.user_ns["rise"].state == "failed" and shell.user_ns["rise"].error == "2 of 9 tests fail"


def test_diff_shows_the_refinements_of_a_request(shell: Any, here: Path) -> None:
    record(here, "By month.", "x = 1\n", 1)
    wishes = ("Also the median.",)
    record(here, "By month.", "x = 2\n", 2, request_fields={"wishes": wishes}, wishes=wishes)
    shell.run("%autocode diff growth 1 2")
    assert "Changes in the request: a new refinement: Also the median.\n" in said(shell)
    shell.run("%autocode diff growth 2 1")
    assert "Changes in the request: without the refinement: Also the median." in said(shell)


def test_the_same_name_is_never_suggested(shell: Any, here: Path) -> None:
    folder = here / ".autocode" / "growth" / "0a1b"
    folder.mkdir(parents=True)
    (folder / "report.json").write_text("{}")
    with pytest.raises(InvalidRequest) as caught:
        shell.run("%autocode show growth")
    assert "There is no result named 'growth'" in str(caught.value) and "Did you mean" not in str(caught.value)


def test_help_of_one_subcommand_says_how_it_is_written(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run("%autocode help versions")
    shown = capsys.readouterr().out
    assert shown.startswith("%autocode versions NAME [pin [VERSION|--off]|") and "stop pinning the version" in shown
    shell.run("%autocode help pin")
    assert capsys.readouterr().out == shown
    assert "%%autocode NAME" not in shown
    shell.run("%autocode help DataDrift")
    assert capsys.readouterr().out.startswith("DataDrift: A frame passed to `run()`, or a sample of a cell, differs")
    for word, begin in (
        (
            "--max-cost",
            "--max-cost DOLLARS\n  maximum cost in US dollars\n  As a setting: %config Autocode.max_cost = …",
        ),
        ("-c", '-c, --constraint "SENTENCE"\n  a sentence that must be true\n'),
        ("effort", "--effort none|quick|normal|high\n  how much is checked"),
        ("second_opinion", "second_opinion\n  have a second solution written"),
        ("--skip-tests", "skip_tests\n  write no tests and run none"),
    ):
        shell.run(f"%autocode help {word}")
        assert capsys.readouterr().out.startswith(begin)
    with pytest.raises(InvalidRequest, match=r"no help about '--max-cots'[\s\S]*Did you mean --max-cost"):
        shell.run("%autocode help --max-cots")
    with pytest.raises(InvalidRequest, match=r"no help about 'shwo'[\s\S]*Did you mean show"):
        shell.run("%autocode help shwo")


def test_former_spellings_do_what_they_did_and_hint_once(
    shell: Any, here: Path, three: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    versions = Versions(here / ".autocode", "growth")
    for line, chosen in (("pin growth 1", three[0]), ("pin --off growth", None), ("pin growth 2", three[1])):
        shell.run(f"%autocode {line}")
        assert versions.choice.pinned == chosen
    shell.run("%autocode restore growth 1")
    shell.run("%autocode remove growth 3")
    assert [version.id for version in versions.all()] == three[:2]
    shell.run("%autocode rename growth rise")
    shell.run("%autocode remove rise --all")
    assert not (here / ".autocode" / "rise").exists() and not (here / ".autocode" / "growth").exists()
    printed = capsys.readouterr().out
    for former in ("pin", "restore", "remove", "rename"):
        assert printed.count(f"%autocode {former} is now %autocode versions NAME {former} ….") == 1


def test_the_versions_are_listed(shell: Any, three: list[str]) -> None:
    shell.run("%autocode versions growth")
    assert all(version in shell.shown for version in three)


def test_a_pinned_function_is_not_refined_in_silence(shell: Any, jobs: Any, here: Path, three: list[str]) -> None:
    shell.run("%autocode versions growth pin 1")
    with pytest.raises(InvalidRequest, match=r"growth is pinned to version 1, so it cannot be refined[\s\S]*--off"):
        shell.run("%%autocode growth --refine\nAlso the median.")
    assert jobs.submitted == []
    record(here, "By month.", "x = 5\n", 5, version="refined", wishes=("Also the median.",))
    shell.run("%%autocode growth --refine\nAlso the median.")  # a notebook runs from top to bottom; its card says it
    assert len(jobs.submitted) == 1


def test_remove_takes_a_version_away_and_what_was_chosen_of_it(shell: Any, here: Path, three: list[str]) -> None:
    versions = Versions(here / ".autocode", "growth")
    shell.run("%autocode versions growth pin 1")
    shell.run("%autocode versions growth remove 1")
    assert [version.id for version in versions.all()] == three[1:] and versions.choice.pinned is None
    shell.run("%autocode versions growth remove --all")
    assert not (here / ".autocode" / "growth").exists()
    with pytest.raises(InvalidRequest, match="There is no result named 'growth2'"):
        shell.run("%autocode versions growth2 remove --all")


@pytest.mark.usefixtures("three")
def test_a_folder_with_a_hostile_name_writes_no_line_of_a_list_or_an_error(shell: Any, here: Path) -> None:
    for name in ("a\n● profit  Ready", "gro\u202ewth", "growth\u3164", "x\x1b[2J"):
        shutil.copytree(here / ".autocode" / "growth", here / ".autocode" / name)
    with pytest.raises(InvalidRequest) as caught:
        shell.run("%autocode show nothing-of-the-kind")
    assert caught.value.hint == "Available: growth."
    shell.run("%autocode status")
    assert not re.search("profit|202e|3164|1b", shell.shown)
    assert suggestion("a b", ["a\nb"]) == "Did you mean a\\nb?" and "\n" not in suggestion("zzz", ["a\nb"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("versions growth restore 7", "There is no version '7' of growth.*Versions 1 to 3 recorded"),
        ("versions growth restore 3", "Version 3 of growth never passed its tests"),
        ("versions growth pin 3", "Version 3 of growth never passed its tests"),
        ("versions growth pin 1 --off", "Write %autocode versions growth pin VERSION, or .* pin --off"),
        ("versions growth pin --all", "Write %autocode versions growth pin VERSION, or .* pin --off"),
        ("versions growth pni", "versions growth has no 'pni'.*Did you mean pin"),
        (
            "versions growth --off",
            "versions growth has no '--off'.*pin, restore, remove, rename",
        ),
        ("versions growth restore", "Write %autocode versions growth restore VERSION."),
        ("versions growth rename 2x", "'2x' cannot be the name of a variable"),
        ("versions growth rename sales", "'sales' is already a variable"),
        ("versions growth rename taken", "under its new name cannot be written"),
        ("versions nothing rename rise", "There is no result named 'nothing'"),
        ("versions growth remove", "remove VERSION, or %autocode versions growth remove --all"),
        ("versions growth remove 1 --all", "remove VERSION, or %autocode versions growth remove --all"),
        ("versions growth remove 9", "There is no version '9' of growth"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    shell: Any, here: Path, three: list[str], line: str, message: str
) -> None:
    shell.user_ns["sales"] = 1
    (here / ".autocode" / "taken").mkdir()
    with pytest.raises(InvalidRequest, match=f"(?s){message}"):
        shell.run(f"%autocode {line}")
    assert [version.id for version in Versions(here / ".autocode", "growth").all()] == three
    assert Versions(here / ".autocode", "growth").choice.pinned is None


def test_what_is_in_work_is_left_alone(shell: Any, three: list[str]) -> None:
    shell.run("%%autocode growth\nBy year.")
    for change in ("restore 1", "pin 1", "rename rise", "remove --all"):
        with pytest.raises(InvalidRequest, match="growth is running"):
            shell.run(f"%autocode versions growth {change}")


def test_a_folder_that_is_a_link_is_neither_renamed_into_nor_followed(here: Path, three: list[str]) -> None:
    kept = here / "kept.txt"
    kept.write_text("mine")
    (here / ".autocode" / "growth" / "versions" / three[0] / "link").symlink_to(here)
    Versions(here / ".autocode", "growth").remove(three[0])
    assert kept.read_text() == "mine" and not (here / ".autocode" / "growth" / "versions" / three[0]).exists()


def test_after_a_restart_status_lists_what_is_ready_and_what_was_interrupted(
    shell: Any, here: Path, three: list[str]
) -> None:
    begin(here, "By hour.")
    shell.run("%autocode status")
    shown = said(shell)
    assert "interrupted" in shown and "%autocode retry growth continues it" in shown
    assert 'version 2; autocoder_jupyter.load("growth") calls it' in shown


async def test_what_another_kernel_works_on_is_not_called_interrupted(shell: Any, here: Path) -> None:
    _, key = begin(here, "By hour.")
    async with hold_lock(lock_of(cache_folder(), here / ".autocode", "growth", key.id), lambda _: None):
        shell.run("%autocode status")
    assert "in another kernel" in said(shell) and "retry" not in said(shell)


def test_what_was_interrupted_is_named_and_goes_on_with_the_data_that_the_person_names(
    shell: Any, jobs: Any, here: Path
) -> None:
    sales = pd.DataFrame({"price": [1.0]})
    _, key = begin(here, "By hour of @sales.\n", samples={"sales": sales}, constraints=("total is positive",))
    for line in ("show growth", "history growth"):
        with pytest.raises(InvalidRequest, match="growth was interrupted before it was finished"):
            shell.run(f"%autocode {line}")
    shell.run("%autocode show growth --sent")
    assert "sent of By hour" in said(shell)
    shell.user_ns["sales"] = sales
    with pytest.raises(InvalidRequest, match="growth was built with the data sales, which were not passed"):
        shell.run("%autocode retry growth")
    with pytest.raises(InvalidRequest, match="There is no 'sale' in the notebook"):
        shell.run("%autocode retry growth sale")
    shell.run("%autocode retry growth sales")
    request, config = jobs.last.request, jobs.last.config
    assert RequestKey.of(request, settle_inputs(request)).id == key.id
    assert config.cache == "auto" and shell.user_ns["growth"] is jobs.last.result


def test_going_on_with_another_backend_is_said_and_decided_by_the_person(shell: Any, jobs: Any, here: Path) -> None:
    journal, _ = begin(here, "By hour.")
    file = journal.folder / "request.json"
    record = json.loads(file.read_text())
    for before, is_said in (("claude", True), ("litellm", False), ("evil\u202e", False), ([], False)):
        file.write_text(json.dumps({**record, "settings": {"backend": before}}))
        shell.display_pub.outputs.clear()
        shell.run("%autocode retry growth")
        assert ("started with backend claude and continues with litellm" in said(shell)) is is_said
        assert jobs.last.config.backend == "litellm"
        jobs.last.end("cancelled")
        notebook = shell.magics_manager.registry["AutocodeMagics"].notebook
        assert notebook.launched["growth"].card.wait(60)  # what it still shows does not belong to the next one
        shell.user_ns.pop("growth")
        notebook.jobs.forget("growth")


def test_what_was_finished_is_asked_anew(shell: Any, jobs: Any, three: list[str]) -> None:
    shell.run("%autocode retry growth")
    assert jobs.last.config.cache == "override" and jobs.last.request.prompt == "By day."


@pytest.mark.parametrize(
    ("way", "passed"),
    [
        ("%autocode retry growth", "%autocode retry growth salaries"),
        ("%autocode retest growth", "%autocode retest growth @salaries"),
        ("%%autocode growth --refine\nAlso the mean.", "%%autocode growth --refine\nAlso the mean of @salaries."),
        ("%%autocode growth --refine\nAlso the mean.", "%%autocode growth --refine -s salaries\nAlso the mean."),
    ],
)
def test_no_data_are_used_because_a_file_names_them(
    shell: Any, jobs: Any, here: Path, three: list[str], way: str, passed: str
) -> None:
    shell.user_ns["salaries"] = pd.DataFrame({"salary": [1.0]})
    for file in (here / ".autocode" / "growth").glob("versions/*/request.json"):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"samples": {"salaries": {}}}))
    for file in (here / ".autocode" / "growth").glob("versions/*/solution.py"):
        file.write_text("def run():\n    return 2\n")
    with pytest.raises(InvalidRequest, match="growth was built with the data salaries, which were not passed"):
        shell.run(way)
    assert jobs.submitted == []
    shell.run(passed)
    assert list(jobs.last.request.samples) == ["salaries"]


@pytest.mark.parametrize(
    "damage",
    [
        {"prompt": None},
        {"wishes": 3},
        {"examples": ["f(1) == 2"]},
        {"inputs": [{"name": 5}]},
        {"outputs": [{"type": "x"}]},
        {"inputs": ["a"]},
        {"inputs": [{"name": "n=__import__('os')", "type": "int"}]},
        {"outputs": [{"name": "../../x", "type": "int"}]},
        {"own_tests": "def test_of_somebody_else(): ..."},
    ],
)
def test_a_record_that_cannot_be_used_asks_for_the_cell(shell: Any, here: Path, damage: dict[str, Any]) -> None:
    journal, _ = begin(here, "By hour.")
    file = journal.folder / "request.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | damage))
    with pytest.raises(InvalidRequest):
        shell.run("%autocode retry growth")


def test_the_inspector_lists_compares_restores_and_pins(shell: Any, three: list[str]) -> None:
    notebook = shell.magics_manager.registry["AutocodeMagics"].notebook
    page = VersionsPage(VersionManager(notebook, "growth"))
    table, act, compare, told = page.widget.children
    assert all(version in table.value for version in three) and "ready, not fully checked · current" in table.value
    version, restore, pin, let_go, remove = act.children
    version.value, compare.children[0].value = "2", "1"
    compare.children[1].click()
    assert "Changes in the request: new wording." in told.value and "version 2" in told.value
    version.value = "1"
    restore.click()
    assert "growth is version 1 again" in told.value and shell.user_ns["growth"].code == "x = 1\n"
    pin.click()
    assert "ready, not fully checked · pinned" in table.value
    let_go.click()
    assert "no longer pinned" in told.value and "ready, not fully checked · pinned" not in table.value
    version.value = "3"
    restore.click()
    assert "never passed its tests" in told.value
    remove.click()
    assert "Version 3 of growth is removed" in told.value and three[2] not in table.value


def test_a_page_is_told_of_the_versions_in_words(shell: Any, three: list[str]) -> None:
    notebook = shell.magics_manager.registry["AutocodeMagics"].notebook
    replied = answer(notebook, {"action": "versions", "name": "growth"})
    told = json.loads(str(replied["value"]))
    assert [version["number"] for version in told] == ["1", "2", "3"]
    assert [version["state"] for version in told] == [
        "ready, not fully checked",
        "ready, not fully checked · current",
        "failed",
    ]
    assert (told[1]["by"], told[1]["why"], told[0]["request"]) == ("you", "edited by you", "By month.")
    assert len(VERSION_KEYS) == len(HEADINGS)


def test_a_number_of_a_version_that_there_is_not_is_said(shell: Any, three: list[str]) -> None:
    for word in ("9" * 5000, "\u00b2", "0"):
        with pytest.raises(InvalidRequest, match="no version"):
            shell.run(f"%autocode versions growth restore {word}")


def test_a_report_whose_plan_is_larger_than_any_plan_is_passed_over(here: Path) -> None:
    run = record(here, "By month.", "x = 1\n", 1)
    file = here / ".autocode" / "growth" / "versions" / run / "report.json"
    report = json.loads(file.read_text())
    file.write_text(json.dumps(report | {"plan": report["plan"] | {"assumptions": ["x" * 300_000]}}))
    assert Versions(here / ".autocode", "growth").all() == []


BASE = "def run():\n    a = 1\n    b = 2\n    c = 3\n    return a + b + c\n"


def merged_by_git(here: Path, refined: str) -> list[str]:
    """Version 1, its edit by one person, and its refinement by another."""
    first = record(here, "By month.", BASE, 1)
    edited = record(
        here, "By month.", BASE.replace("a = 1", "a = 10"), 2, version=f"{first}-0a1b2c", author="you", parent=first
    )
    third = record(here, "By month.", refined, 3, request_fields={"wishes": ("Faster.",)}, parent=first)
    return [first, edited, third]


def test_an_edit_that_a_merge_has_lost_is_told_and_can_be_taken_over(
    here: Path, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autocoder_jupyter.magics import own_tests

    merged_by_git(here, BASE.replace("return a + b", "return b + a"))
    words = "version 2 (edited) is not in version 3: %autocode take growth 2 takes it over"
    for line in ("status", "history growth"):
        shell.run_line_magic("autocode", line)
        assert words in said(shell), line
    given: list[Any] = []
    monkeypatch.setattr(own_tests, "retest", lambda notebook, name, code, tests, passed: given.append((name, code)))
    shell.run_line_magic("autocode", "take growth 2")
    taken = BASE.replace("return a + b", "return b + a").replace("a = 1", "a = 10")
    assert given == [("growth", taken)]
    record(here, "By month.", taken, 4, request_fields={"wishes": ("Faster.",)}, version="taken", author="you")
    assert words_of_lost(Versions(here / ".autocode", "growth")) == {}


def test_an_edit_of_the_same_lines_is_left_to_a_person(here: Path, shell: Any) -> None:
    _, _, third = merged_by_git(here, BASE.replace("a = 1", "a = 7"))
    assert len(words_of_lost(Versions(here / ".autocode", "growth"))) == 1
    with pytest.raises(InvalidRequest, match="change the same lines"):
        shell.run_line_magic("autocode", "take growth 2")
    fields: dict[str, Any] = {"author": "you", "parent": third, "request_fields": {"wishes": ("Faster.",)}}
    record(here, "By month.", BASE.replace("a = 1", "a = 17"), 4, version="decided", **fields)
    assert words_of_lost(Versions(here / ".autocode", "growth")) == {}


def test_an_edit_that_is_in_what_runs_or_was_undone_is_not_told(here: Path) -> None:
    first = record(here, "By month.", BASE, 1)
    edited = record(here, "By month.", BASE + "# e\n", 2, version=f"{first}-0a1b2c", author="you", parent=first)
    versions = Versions(here / ".autocode", "growth")
    assert words_of_lost(versions) == {}
    refined = {"request_fields": {"wishes": ("Faster.",)}}
    record(here, "By month.", BASE + "# f\n", 3, parent=edited, **refined)
    assert words_of_lost(versions) == {}
    restored = versions.get(first)
    assert restored is not None
    versions.restore(restored)
    assert words_of_lost(versions) == {}
