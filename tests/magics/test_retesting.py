"""`%autocode retest`, and the editor of a page: the user's code, from the edit to the test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.lab.requests import answer
from autocoder_jupyter.types import CodePlan, CodeSolution, OutputSpec, Report

PLAN = CodePlan(description="Total.", approach="Add.", outputs=(OutputSpec(name="total", type="float"),))
CODE = "def run():\n    return 1.0\n"
TESTS = "from solution import run\n\n\ndef test_it():\n    assert run() == 1.0\n"


@pytest.fixture
def growth(shell: Any, jobs: Any, here: Path) -> Path:
    """The folder of a finished version."""
    shell.run("%%autocode growth --max-cost 1\nTotal.")
    fields = {"plan": PLAN, "tests": TESTS, "solution": CodeSolution(code=CODE)}
    jobs.last.end(**fields)
    folder = here / ".autocode" / "growth" / "run-1"
    folder.mkdir(parents=True)
    report = Report.model_validate({"name": "growth", "run_id": "run-1", "prompt": "Total.", "success": True, **fields})
    (folder / "report.json").write_text(report.model_dump_json())
    (folder / "solution.py").write_text(CODE)
    (folder / "test_solution.py").write_text(TESTS)
    return folder


def test_what_is_on_disk_is_tested_as_it_is_with_the_settings_of_the_run(shell: Any, jobs: Any, growth: Path) -> None:
    (growth / "solution.py").write_text(CODE.replace("1.0", "2.0"))
    shell.run("%autocode retest growth")
    draft = jobs.last.draft
    assert draft.code == CODE.replace("1.0", "2.0") and draft.tests == TESTS
    assert (draft.author, draft.parent, draft.change, draft.as_is) == ("you", "run-1", "edited by you", True)
    assert jobs.last.config.max_cost == 1 and jobs.last.request.prompt == "Total."
    assert shell.user_ns["growth"] is jobs.last.result


def test_where_to_edit_is_said_when_nothing_was_edited(shell: Any, jobs: Any, growth: Path) -> None:
    with pytest.raises(
        InvalidRequest, match=r"The code and the tests of growth were not edited[\s\S]*run-1/solution.py"
    ):
        shell.run("%autocode retest growth")
    with pytest.raises(InvalidRequest, match="no function named 'total'"):
        shell.run("%autocode retest total")
    (growth / "solution.py").write_text("def other():\n    return 1\n")
    with pytest.raises(InvalidRequest, match="defines no function `run`"):
        shell.run("%autocode retest growth")
    assert len(jobs.submitted) == 1


def test_a_version_of_another_day_is_tested_without_its_job(shell: Any, jobs: Any, growth: Path) -> None:
    jobs.submitted.clear()
    del shell.user_ns["growth"]
    (growth / "test_solution.py").write_text(TESTS.replace("1.0", "1"))
    shell.run("%autocode retest growth")
    assert jobs.last.draft.tests == TESTS.replace("1.0", "1") and jobs.last.request.prompt == "Total."


@pytest.mark.parametrize("is_same_request", [True, False])
def test_after_a_restore_the_files_of_that_version_are_tested_and_refined(
    shell: Any, jobs: Any, here: Path, growth: Path, is_same_request: bool
) -> None:
    """The job of the kernel is still that of version 2."""
    fields = {"plan": PLAN, "tests": TESTS, "solution": CodeSolution(code=CODE.replace("1.0", "2.0"))}
    keys = ("k", "k" if is_same_request else "other")
    prompt = "Total." if is_same_request else "Sum."
    for number, (key, asked) in enumerate(zip(reversed(keys), (prompt, "Total."), strict=True), 1):
        code = CODE.replace("1.0", f"{number}.0")
        report = Report.model_validate(
            {
                "name": "growth", "run_id": f"run-{number}", "request_key": key, "prompt": asked, "success": True,
                "started": f"2026-01-0{number}T00:00:00Z", **fields, "solution": CodeSolution(code=code),
            }
        )  # fmt: skip
        folder = here / ".autocode" / "growth" / "versions" / f"run-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.json").write_text(report.model_dump_json())
        (folder / "request.json").write_text('{"samples": {}}')
        (folder / "solution.py").write_text(code)
        (folder / "test_solution.py").write_text(TESTS)
    shell.run("%%autocode growth\nTotal.")
    jobs.last.run_id = "run-2"
    jobs.last.end(request_key="k", **fields)
    shell.run("%autocode versions growth restore 1")
    with pytest.raises(InvalidRequest, match=r"were not edited[\s\S]*growth/solution.py"):
        shell.run("%autocode retest growth")
    top = here / ".autocode" / "growth" / "solution.py"
    top.write_text(CODE.replace("1.0", "7.0"))
    shell.run("%autocode retest growth")
    draft = jobs.last.draft
    assert (draft.parent, draft.code, jobs.last.request.prompt) == ("run-1", top.read_text(), prompt)
    jobs.last.run_id = "run-2"
    jobs.last.end(request_key="k", **fields)
    shell.run("%autocode versions growth restore 1")
    shell.run("%%autocode growth --refine\nRound it.")
    assert jobs.last.request.earlier.version == "run-1" and jobs.last.request.prompt == prompt


def test_examples_that_no_folder_holds_are_not_left_out(shell: Any, jobs: Any, growth: Path) -> None:
    jobs.submitted.clear()
    (growth / "request.json").write_text('{"examples": ["a=@b -> 1"], "own_tests": 7, "inputs": "x", "samples": []}')
    (growth / "solution.py").write_text(CODE.replace("1.0", "2.0"))
    with pytest.raises(InvalidRequest, match="has examples, and this kernel"):
        shell.run("%autocode retest growth")


def asked(shell: Any, action: str, **more: Any) -> Any:
    notebook = shell.magics_manager.registry["AutocodeMagics"].notebook
    return answer(notebook, {"action": action, "name": "growth", **more})


def test_an_editor_of_a_page_begins_with_what_is_on_disk(shell: Any, jobs: Any, growth: Path) -> None:
    assert json.loads(asked(shell, "sources")["value"]) == {"code": CODE, "tests": TESTS}
    (growth / "solution.py").write_text("# half\n")
    assert json.loads(asked(shell, "sources")["value"]) == {"code": "# half\n", "tests": TESTS}


def test_what_an_editor_of_a_page_holds_is_tested_once_by_the_line(shell: Any, jobs: Any, growth: Path) -> None:
    edited = {"code": CODE.replace("1.0", "3.0"), "tests": TESTS}
    assert not asked(shell, "edit", code=1, tests=TESTS)["ok"]
    assert asked(shell, "edit", **edited)["ok"] and len(jobs.submitted) == 1
    shell.run("%autocode retest growth")
    assert (jobs.last.draft.code, jobs.last.draft.author) == (edited["code"], "you")
    assert (growth / "solution.py").read_text() == CODE
    jobs.last.end(plan=PLAN)
    asked(shell, "edit", code="def run(:\n", tests=TESTS)
    with pytest.raises(InvalidRequest, match="does not parse"):
        shell.run("%autocode retest growth")
    with pytest.raises(InvalidRequest, match="were not edited"):
        shell.run("%autocode retest growth")
