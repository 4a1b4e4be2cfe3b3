"""The user's edits in the files of a version are tested unchanged, kept, and never overwritten."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import Earlier
from autocoder_jupyter.run.events import VersionBegun
from autocoder_jupyter.types import CodePlan, CodeSolution, Report
from autocoder_jupyter.untrusted.parsing import same_code
from autocoder_jupyter.untrusted.visible import readable_code, visible_block
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.edits import differing_files, edit_of, file_of
from tests.runner import CODE, PLAN, TESTS, Runner, fenced
from tests.scripted_model import Script, prompt_of

SCRIPT = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
EDITED = CODE.replace("return float(", "total = float(") + "\n    return total"


def files(runner: Runner) -> tuple[Versions, Path, Path]:
    versions = Versions(runner.root, "growth")
    version = versions.all()[-1]
    return versions, file_of(versions, version), file_of(versions, version, "test_solution.py")


async def run_script(runner: Runner, script: Mapping[str, Script] | None = None) -> Report:
    run = runner.begin if script and not runner.root.exists() else runner.generate
    produced = await run(script or {})
    return produced.report


@pytest.mark.local_sandbox
async def test_an_edited_file_is_tested_without_a_model_and_counts_from_then_on(runner: Runner) -> None:
    first = await run_script(runner, SCRIPT)
    _, code, _ = files(runner)
    code.write_text(EDITED)
    produced = await runner.generate({})
    report = produced.report
    assert report.success and produced.asked == []
    assert (report.author, report.parent, report.change) == ("you", first.run_id, "edited by you")
    assert report.run_id.startswith(f"{first.run_id}-") and produced.code == EDITED
    assert {test.id for test in report.evidence.tests} == {"test_sum", "test_empty"}
    changes = produced.changes
    assert changes.code.rstrip() == CODE and changes.outputs == () and not changes.tests
    versions, taken, _ = files(runner)
    assert taken == code and code.read_text() == EDITED + "\n"  # at the top is what runs
    own = [runner.root / "growth" / "versions" / run / "solution.py" for run in (first.run_id, report.run_id)]
    assert [path.read_text() for path in own] == [CODE + "\n", EDITED + "\n"]
    assert [differing_files(versions, version) for version in versions.all()] == [[], []]
    again = await runner.generate({})
    assert again.asked == [] and again.report.run_id == report.run_id and again.report.kept == "3 rows"
    assert again.of(VersionBegun)[0].author == "you"


@pytest.mark.local_sandbox
async def test_an_edit_that_fails_is_told_and_nobody_mends_it(runner: Runner) -> None:
    first = await run_script(runner, SCRIPT)
    _, _, tests = files(runner)
    tests.write_text(TESTS.replace("== 8.0", "== 9.0"))
    produced = await runner.generate({})
    assert not produced.report.success and produced.asked == [] and produced.report.author == "you"
    assert "test_sum" in (produced.report.error or "")
    assert tests.read_text() == TESTS + "\n" and "== 9.0" in files(runner)[2].read_text()
    after = await runner.generate({})  # it was found once; then the last version that passed is used
    assert after.report.success and after.report.run_id == first.run_id and after.asked == []


@pytest.mark.local_sandbox
async def test_an_edit_of_an_attempt_that_failed_is_not_written_over(runner: Runner) -> None:
    wrong = CODE.replace(' * sales["quantity"]', "")
    await runner.generate({**SCRIPT, "code": [fenced(wrong)]}, settings={"max_iterations": 1})
    _, code, _ = files(runner)
    code.write_text(CODE)
    produced = await runner.generate({}, settings={"max_iterations": 1})
    assert produced.report.success and produced.report.author == "you" and produced.asked == []
    assert code.read_text() == wrong + "\n" and files(runner)[1].read_text() == CODE + "\n"


@pytest.mark.local_sandbox
async def test_the_same_edit_after_a_restore_counts_again(runner: Runner) -> None:
    first = await run_script(runner, SCRIPT)
    versions, code, _ = files(runner)
    code.write_text(EDITED)
    edited = await run_script(runner)
    restored = versions.get(first.run_id)
    assert restored is not None
    versions.restore(restored)
    assert (await run_script(runner)).run_id == first.run_id
    code.write_text(EDITED)
    again = await runner.generate({})
    assert again.report.success and again.report.run_id == edited.run_id and again.asked == []
    assert code.read_text() == EDITED + "\n" and len(versions.all()) == 2


@pytest.mark.local_sandbox
async def test_tests_that_a_version_did_not_have_stay_only_with_the_version_that_has_them(runner: Runner) -> None:
    await runner.generate(SCRIPT, settings={"skip_tests": True})
    _, _, tests = files(runner)
    assert not tests.exists()
    tests.write_text(TESTS)
    produced = await runner.generate({}, settings={"skip_tests": True})
    assert produced.report.author == "you" and files(runner)[2].read_text() == TESTS + "\n"
    below = runner.root / "growth" / "versions"
    assert [path.parent.name for path in below.rglob("test_solution.py")] == [produced.report.run_id]


@pytest.mark.local_sandbox
async def test_half_an_edit_is_told_and_left_as_it_is(runner: Runner) -> None:
    await run_script(runner, SCRIPT)
    _, code, tests = files(runner)
    code.write_text("def run(sales:\n")
    with pytest.raises(InvalidRequest, match=r"cannot be tested.*does not parse"):
        await runner.generate({})
    assert code.read_text() == "def run(sales:\n"
    code.write_text(CODE)
    tests.write_text("def helper():\n    return 1\n")
    with pytest.raises(InvalidRequest, match="holds no test function"):
        await runner.generate({})


@pytest.mark.local_sandbox
async def test_what_git_or_an_editor_does_to_a_file_is_no_edit(runner: Runner) -> None:
    await run_script(runner, SCRIPT)
    versions, code, tests = files(runner)
    version = versions.all()[-1]
    code.write_bytes(CODE.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    assert edit_of(versions, version) is None
    code.write_text(f"<<<<<<< HEAD\n{CODE}\n=======\n{CODE}\n>>>>>>> other\n")
    assert edit_of(versions, version) is None
    tests.unlink()
    assert edit_of(versions, version) is None
    code.write_bytes(b"\xff\x00")
    assert edit_of(versions, version) is None
    code.write_text(EDITED)
    edit = edit_of(versions, version)
    assert edit is not None and (edit.code.rstrip(), edit.tests.rstrip()) == (EDITED, TESTS)


@pytest.mark.local_sandbox
async def test_a_wish_starts_from_what_the_person_wrote(runner: Runner) -> None:
    await run_script(runner, SCRIPT)
    _, code, _ = files(runner)
    code.write_text(EDITED)
    edited = await run_script(runner)
    sorting = '{"verdicts": []}'
    further = "from solution import run\n\n\ndef test_more():\n    assert run(sales=None) is None"
    produced = await runner.generate(
        {**SCRIPT, "sort_tests": [sorting], "tests": [fenced(further)]},
        wishes=("Also more.",),
        earlier=Earlier.of(edited),
        settings={"max_iterations": 1},
    )
    assert any("total = float(" in prompt_of(request) for request in produced.model.requests)
    assert produced.report.parent == edited.run_id


def test_the_files_of_a_version_hide_no_character_and_are_the_same_code(tmp_path: Path) -> None:
    hidden = 'def run():\n    """Sums\u202e."""\n    return "\u2066a\u200b"  # \u202eno\u2069 comment\n'
    tests = 'from solution import run\n\n\ndef test_a():\n    assert run() == "\u2066a\u200b"\n'
    plan, solution = CodePlan(description="", approach=""), CodeSolution(code=hidden)
    journal = Journal(tmp_path / ".autocode", "growth")
    journal.begin("a" * 16)
    suites: dict[str, Any] = {"tests": tests, "blind_tests": tests, "own_tests": tests}
    journal.write_report(
        Report(name="growth", run_id="a" * 16, prompt="", success=True, plan=plan, solution=solution, **suites)
    )
    written = {path.name: path.read_text("utf-8") for path in journal.folder.glob("*.py")}
    assert set(written) == {"solution.py", "test_solution.py", "test_blind.py", "test_own.py"}
    assert all(visible_block(text) == text and r"\u2066a\u200b" in text for text in written.values())
    assert same_code(written["solution.py"], hidden) and same_code(written["test_solution.py"], tests)
    versions = Versions(tmp_path / ".autocode", "growth")
    (version,) = versions.all()
    assert version.report.solution == solution  # what runs
    assert edit_of(versions, version) is None and differing_files(versions, version) == []
    file_of(versions, version).write_text(hidden)  # as earlier versions of this package wrote it
    assert edit_of(versions, version) is None


@pytest.mark.parametrize("code", ["x = 1\r\u202ey = 2", "def broken(:\u200b", "\u3164 = 1"])
def test_code_that_escapes_would_change_is_written_as_it_is(code: str) -> None:
    assert readable_code(code) == code
