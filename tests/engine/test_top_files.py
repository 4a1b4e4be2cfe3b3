"""The files at the top of a function's folder say what runs, after each run; earlier layouts are read and moved."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from autocoder_jupyter import load
from autocoder_jupyter.request import Earlier
from autocoder_jupyter.run.events import Noticed
from autocoder_jupyter.types import Report
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.edits import edit_of, file_of
from autocoder_jupyter.versions.verification import shown
from tests.runner import CODE, PLAN, TESTS, Runner, fenced
from tests.scripted_model import Script

pytestmark = pytest.mark.local_sandbox

SCRIPT = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
EDITED = CODE.replace("return float(", "total = float(") + "\n    return total"
OTHER = CODE.replace("return float(", "return 1.0 * float(")


async def run_script(
    runner: Runner, script: Mapping[str, Script] | None = None, prompt: str = "Total of @sales."
) -> Report:
    run = runner.begin if script and not runner.root.exists() else runner.generate
    produced = await run(script or {}, prompt=prompt, settings={"second_opinion": "off"})
    assert produced.report.success, produced.error
    return produced.report


def require_truth(root: Path) -> None:
    """The files at the top are what a call runs."""
    growth = load("growth", journal_root=root)
    home = root / "growth"
    assert (home / "solution.py").read_text().strip("\n") == (growth.code or "").strip("\n")
    assert (home / "test_solution.py").read_text().strip("\n") == growth.tests.strip("\n")
    told = tomllib.loads((home / "function.toml").read_text())
    assert told["version"] == growth.report.run_id and told["request"] == " ".join(growth.report.prompt.split())


def flattened(root: Path) -> None:
    """Bring a folder into the layout of earlier versions of this package."""
    home = root / "growth"
    for name in ("solution.py", "test_solution.py", "function.toml"):
        (home / name).unlink()
    for version in (home / "versions").iterdir():
        version.rename(home / version.name)
    (home / "versions").rmdir()
    (root / ".gitattributes").unlink()


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


async def test_the_top_says_what_runs_after_each_run(runner: Runner) -> None:
    root = runner.root
    first = await run_script(runner, SCRIPT)
    require_truth(root)
    told = tomllib.loads((root / "growth" / "function.toml").read_text())
    assert told["interface"] == "growth(sales: DataFrame) -> total: float"
    assert told["evidence"].startswith("2 of 2 tests passed") and "as recorded" in told["evidence"]
    assert len((root / "growth" / "function.toml").read_text().splitlines()) <= 10
    assert {path.name for path in (root / "growth" / "versions").iterdir()} == {first.run_id}
    assert "linguist-generated" in (root / ".gitattributes").read_text()
    (root / ".gitattributes").write_text("")
    before = contents(root)
    await run_script(runner)
    assert contents(root) == before  # a run that only verifies writes nothing
    await run_script(runner, {**SCRIPT, "code": [fenced(OTHER)]}, prompt="Sum of @sales.")
    require_truth(root)
    assert "1.0 * float" in (root / "growth" / "solution.py").read_text()
    assert (root / ".gitattributes").read_text() == ""


async def test_an_edit_at_the_top_is_tested_and_stays_if_it_holds(runner: Runner) -> None:
    first = await run_script(runner, SCRIPT)
    versions, file = Versions(runner.root, "growth"), runner.root / "growth" / "solution.py"
    (version,) = versions.all()
    assert file_of(versions, version) == file
    file.write_text(EDITED)
    edit = edit_of(versions, version)
    assert edit is not None and edit.code == EDITED
    state, report = shown(versions, version)
    assert state == "not_verified" and "solution.py is not as it was tested" in (report.error or "")
    assert load("growth", journal_root=runner.root).code == first.solution.code  # type: ignore[union-attr]
    edited = await run_script(runner)
    assert (edited.author, edited.parent) == ("you", first.run_id)
    assert file.read_text().strip("\n") == EDITED
    require_truth(runner.root)


async def test_an_edit_that_fails_is_kept_with_its_version_and_the_top_says_what_runs(runner: Runner) -> None:
    await run_script(runner, SCRIPT)
    top = runner.root / "growth" / "solution.py"
    wrong = CODE.replace("return float(", "return 1 + float(")
    top.write_text(wrong)
    produced = await runner.generate({}, prompt="Total of @sales.")
    assert not produced.report.success and produced.report.author == "you"
    kept = runner.root / "growth" / "versions" / produced.report.run_id / "solution.py"
    assert kept.read_text().strip("\n") == wrong
    assert any(str(kept.parent) in str(event) for event in produced.events)
    require_truth(runner.root)


async def test_an_edit_that_was_not_tested_is_never_lost(runner: Runner) -> None:
    first = await run_script(runner, SCRIPT)
    second = await run_script(runner, {**SCRIPT, "code": [fenced(OTHER)]}, prompt="Sum of @sales.")
    versions, file = Versions(runner.root, "growth"), runner.root / "growth" / "solution.py"
    file.write_text(EDITED)
    assert versions.show_current() == [] and file.read_text() == EDITED  # it is of the version that runs
    restored = versions.get(first.run_id)
    assert restored is not None and second.run_id != first.run_id
    versions.restore(restored)
    (note,) = versions.show_current()
    assert "had an edit that was not tested" in note
    (aside,) = (runner.root / "growth").glob("solution.py.set-aside-*")
    assert aside.read_text() == EDITED and aside.name in note
    require_truth(runner.root)


async def test_a_refined_version_is_what_the_top_says(runner: Runner) -> None:
    first = await run_script(runner, SCRIPT)
    further = (
        "import pandas as pd\nfrom solution import run\n\n\ndef test_more():\n"
        "    assert run(sales=pd.DataFrame({'price': [3.0], 'quantity': [2]})) == 6.0"
    )
    script = {**SCRIPT, "code": [fenced(OTHER)] * 2, "tests": [fenced(further)] * 2, "sort_tests": ['{"verdicts": []}']}
    produced = await runner.generate(
        script, wishes=("Another way.",), earlier=Earlier.of(first), settings={"second_opinion": "off"}
    )
    assert produced.report.success and produced.report.parent == first.run_id, produced.error
    assert "Another way." in (runner.root / "growth" / "function.toml").read_text()
    require_truth(runner.root)


async def test_a_folder_of_today_is_read_as_it_is_and_moved_by_the_next_write(runner: Runner) -> None:
    first = await run_script(runner, SCRIPT)
    flattened(runner.root)
    before = contents(runner.root)
    again = await run_script(runner)
    assert again.run_id == first.run_id and again.kept and contents(runner.root) == before
    assert load("growth", journal_root=runner.root).state == "ready"
    second = await run_script(runner, {**SCRIPT, "code": [fenced(OTHER)]}, prompt="Sum of @sales.")
    versions = Versions(runner.root, "growth")
    assert [version.id for version in versions.all()] == [first.run_id, second.run_id]
    assert all(version.is_sealed for version in versions.all())
    assert {path.name for path in (runner.root / "growth").iterdir()} == {
        "versions", "solution.py", "test_solution.py", "function.toml"
    }  # fmt: skip
    require_truth(runner.root)
    assert (await run_script(runner)).kept  # the first request still needs no model


async def test_an_edit_in_a_folder_of_today_is_taken_up(runner: Runner) -> None:
    first = await run_script(runner, SCRIPT)
    flattened(runner.root)
    (runner.root / "growth" / first.run_id / "solution.py").write_text(EDITED)
    edited = await run_script(runner)
    assert edited.author == "you"
    require_truth(runner.root)


async def test_both_layouts_after_a_merge_are_one_function(runner: Runner) -> None:
    first = await run_script(runner, SCRIPT)
    second = await run_script(runner, {**SCRIPT, "code": [fenced(OTHER)]}, prompt="Sum of @sales.")
    home = runner.root / "growth"
    (home / "versions" / first.run_id).rename(home / first.run_id)
    versions = Versions(runner.root, "growth")
    assert {version.id for version in versions.all()} == {first.run_id, second.run_id}
    assert (await run_script(runner)).run_id == first.run_id


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout


async def test_two_branches_with_a_new_version_each_merge_and_the_top_is_written_again(runner: Runner) -> None:
    project = runner.root.parent
    await run_script(runner, SCRIPT)
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "one")
    git(project, "checkout", "-qb", "side")
    side = await run_script(runner, {**SCRIPT, "code": [fenced(OTHER)]}, prompt="Sum of @sales.")
    shown_diff = git(project, "diff", "HEAD", "--", ".autocode/growth/solution.py")
    assert "+    return 1.0 * float(" in shown_diff and len(shown_diff.splitlines()) < 20
    git(project, "add", "-A")
    assert "Binary" in git(project, "diff", "--cached", "--", ".autocode/growth/versions")
    assert "linguist-generated: set" in git(project, "check-attr", "-a", ".autocode/growth/versions/a/report.json")
    git(project, "commit", "-qm", "side")
    git(project, "checkout", "-q", "main")
    third = CODE.replace("return float(", "return 2.0 * 0.5 * float(")
    main = await run_script(runner, {**SCRIPT, "code": [fenced(third)]}, prompt="All of @sales.")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "main")
    git(project, "merge", "-q", "-m", "merged", "side")
    assert git(project, "status", "--porcelain") == ""
    versions = Versions(runner.root, "growth")
    assert {side.run_id, main.run_id} < {version.id for version in versions.all()}
    assert load("growth", journal_root=runner.root).state == "ready"  # the merged files are nobody's edit
    await run_script(runner, prompt="All of @sales.")
    require_truth(runner.root)
    assert not list((runner.root / "growth").glob("*set-aside*"))


async def test_equal_files_of_two_versions_are_stored_once(runner: Runner) -> None:
    first = await run_script(runner, SCRIPT)
    (runner.root / "growth" / "solution.py").write_text(EDITED)
    edited = await run_script(runner)
    below = [path for path in (runner.root / "growth" / "versions").rglob("*") if path.is_file()]
    texts = [path.read_bytes() for path in below]
    assert len(texts) == len(set(texts)), sorted(path.name for path in below if texts.count(path.read_bytes()) > 1)
    versions = Versions(runner.root, "growth")
    assert versions.request(edited.run_id) == versions.request(first.run_id) != {}
    before = contents(runner.root)
    assert (await run_script(runner)).run_id == edited.run_id and contents(runner.root) == before
    versions.remove(first.run_id)
    assert versions.request(edited.run_id) != {} and [version.id for version in versions.all()] == [edited.run_id]
    assert (await run_script(runner)).run_id == edited.run_id


async def test_a_folder_that_names_files_outside_gets_none(runner: Runner) -> None:
    first = await run_script(runner, SCRIPT)
    secret = runner.root.parent / "request.json"
    secret.write_text('{"prompt": "secret"}')
    folder = runner.root / "growth" / "versions" / first.run_id
    (folder / "request.json").unlink()
    for named in ("../../..", "..", "../..", "/", first.run_id, 7, None):
        (folder / "same.json").write_text(f'{{"request.json": {named!r}}}'.replace("'", '"').replace("None", "null"))
        assert Versions(runner.root, "growth").request(first.run_id) == {}


@pytest.mark.parametrize(
    "content",
    [EDITED.encode() + "\n# für später".encode("latin-1"), EDITED.encode() + b"\n#" + b"x" * 2**20, None],
    ids=["another encoding", "too long", "a folder"],
)
async def test_what_cannot_be_read_as_an_edit_is_not_lost(runner: Runner, content: bytes | None) -> None:
    await run_script(runner, SCRIPT)
    top = runner.root / "growth" / "solution.py"
    top.unlink()
    if content is None:
        top.mkdir()
    else:
        top.write_bytes(content)
    told = await runner.generate({}, prompt="Total of @sales.", settings={"second_opinion": "off"})
    assert told.report.success and told.asked == []
    (aside,) = top.parent.glob("solution.py.set-aside-*")
    assert aside.is_dir() if content is None else aside.read_bytes() == content
    assert any(aside.name in event.text for event in told.of(Noticed))
    require_truth(runner.root)


def test_which_version_has_a_file_is_found_without_the_names_of_all_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("v1", "v2"):
        (tmp_path / ".autocode/growth/versions" / version).mkdir(parents=True)
    (tmp_path / ".autocode/growth/versions/v1/request.json").write_text('{"asked": 1}')
    (tmp_path / ".autocode/growth/versions/v2/same.json").write_text('{"request.json": "v1"}')
    listed: list[str] = []

    def names(_: Folder, path: str) -> list[str]:
        listed.append(path)
        return []

    monkeypatch.setattr(Folder, "names", names)
    assert Versions(tmp_path / ".autocode", "growth").request("v2") == {"asked": 1}
    assert listed == []  # with as many versions as a folder may have, each look-up would read all their names
