"""Recorded functions whose evidence was not gathered here are shown as not verified, until the user verifies them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import load
from autocoder_jupyter.display.inspector.document import render_html, render_text
from autocoder_jupyter.errors import InvalidRequest, NotVerifiedWarning
from autocoder_jupyter.magics.result_display import subject_of, subject_of_report
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.run.events import KeptVerified, Noticed
from autocoder_jupyter.trust import seals
from autocoder_jupyter.types import Evidence, SecondOpinion, TestOutcome
from autocoder_jupyter.versions import Versions, verification
from autocoder_jupyter.versions.verification import rename
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced, sales

pytestmark = pytest.mark.local_sandbox

SCRIPT = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
WRONG = CODE.replace(".sum())", ".sum()) + 1.0")
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, Generated]]:
    """A finished generation, with its `.autocode` folder and the configuration of its user."""
    config, root = tmp_path_factory.mktemp("config"), tmp_path_factory.mktemp("recorded") / ".autocode"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("platformdirs.user_config_path", lambda name: config / name)
        produced = asyncio.run(Runner(root, "local").generate(SCRIPT))
    assert produced.report.success, produced.error
    yield root, config, produced


@pytest.fixture
def mine(recorded: tuple[Path, Path, Generated], monkeypatch: pytest.MonkeyPatch) -> None:
    """The user is the one whose run made the folder, after a restart of the kernel."""
    restart()
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: recorded[1] / name)


@pytest.fixture
def theirs(mine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user is another one than the one who made the folder."""
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: tmp_path / "config" / name)


@pytest.fixture
def root(recorded: tuple[Path, Path, Generated], tmp_path: Path) -> Path:
    """A copy of the `.autocode` folder."""
    return Path(shutil.copytree(recorded[0], tmp_path / "work" / ".autocode"))


@pytest.fixture
def folder(root: Path, recorded: tuple[Path, Path, Generated]) -> Path:
    """The folder of the version in it."""
    return root / "growth" / "versions" / recorded[2].report.run_id


def restart() -> None:
    """Forget what a kernel has in memory."""
    seals._key_of_this_process.cache_clear()
    verification._shown_problems.clear()
    verification._unwritten.clear()


def edit(file: Path, change: Change) -> None:
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def loaded(root: Path) -> CodeGenEvalResult:
    return load("growth", journal_root=root)


def require_not_verified(result: CodeGenEvalResult, root: Path) -> None:
    """Nothing that shows the result says that it passed."""
    assert (result.success, result.state) == (False, "not_verified")
    assert result.error is not None and ("growth.verify()" in result.error or "retest growth" in result.error)
    assert result.evidence == Evidence() and result.output == "" and result.last_good is None
    texts = [repr(result), render_html(subject_of(result)), render_text(subject_of(result))]
    on_disk = Versions(root, "growth").all()
    if result.journal_root == root:
        subject = subject_of_report(on_disk[-1].report, root)
        texts += [render_html(subject), render_text(subject)]
    for text in map(str, texts):
        assert "not verified here" in text.lower()
        for word in ("Ready", "tests passed", "✓", "tests ·"):
            assert word not in text, (word, text[:300])


@pytest.mark.usefixtures("mine")
def test_what_ones_own_run_recorded_is_ready_after_a_restart(
    root: Path, recorded: tuple[Path, Path, Generated]
) -> None:
    result = loaded(root)
    assert (result.success, result.state, result.error) == (True, "ready", None)
    assert result.evidence == recorded[2].report.evidence
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotVerifiedWarning)
        assert result.run(sales()) == 140.0


def other_code(data: dict[str, Any]) -> None:
    data["solution"]["code"] = WRONG


def other_tests(data: dict[str, Any]) -> None:
    data["tests"] += "\n"


def other_evidence(data: dict[str, Any]) -> None:
    data["evidence"]["tests"].append(TestOutcome(id="test_more", outcome="passed").model_dump())


def other_request(data: dict[str, Any]) -> None:
    data["prompt"] += "?"


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("change", [other_code, other_tests, other_evidence, other_request])
def test_a_record_that_was_edited_is_not_verified(root: Path, folder: Path, change: Change) -> None:
    edit(folder / "report.json", change)
    require_not_verified(loaded(root), root)


@pytest.mark.usefixtures("mine")
def test_edited_code_beside_its_files_is_not_verified(root: Path, folder: Path) -> None:
    edit(folder / "report.json", other_code)
    (folder / "solution.py").write_text(WRONG + "\n")
    result = loaded(root)
    require_not_verified(result, root)
    assert not result.verify(sales=sales()).success and result.state == "failed"
    assert [outcome.outcome for outcome in result.evidence.tests] == ["failed", "failed"]
    require_not_verified(loaded(root), root)


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("name", ["solution.py", "test_solution.py", "test_blind.py", "test_own.py"])
def test_a_record_beside_other_files_is_not_verified(root: Path, folder: Path, name: str) -> None:
    (folder / name).write_text("def run(sales):\n    return 0.0\n")
    result = loaded(root)
    require_not_verified(result, root)
    assert f"{name} is not as it was tested" in str(result.error) and "%autocode retest growth" in str(result.error)
    (folder / name).unlink()
    assert loaded(root).success  # a missing file is written again by the cell


@pytest.mark.usefixtures("mine")
def test_a_file_that_cannot_be_read_as_recorded_is_another_file(root: Path, folder: Path, tmp_path: Path) -> None:
    source = (folder / "solution.py").read_bytes()
    (folder / "solution.py").write_bytes(source.replace(b"\n", b"\r\n") + b"\r\n")
    assert loaded(root).success  # as git and editors change it
    for content in (source + b"\0", b"<<<<<<< one\n" + source + b">>>>>>> two\n", b""):
        (folder / "solution.py").write_bytes(content)
        require_not_verified(loaded(root), root)
    (tmp_path / "elsewhere.py").write_bytes(source)
    (folder / "solution.py").unlink()
    (folder / "solution.py").symlink_to(tmp_path / "elsewhere.py")
    require_not_verified(loaded(root), root)


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("seal", [None, "", "0" * 64, 1, ["0" * 64]])
def test_a_record_without_a_valid_seal_is_not_verified(root: Path, folder: Path, seal: Any) -> None:
    edit(folder / "report.json", lambda data: data.pop("seal") if seal is None else data.update(seal=seal))
    require_not_verified(loaded(root), root)


@pytest.mark.usefixtures("theirs")
def test_evidence_that_is_kept_for_another_record_or_was_edited_does_not_count(
    root: Path, folder: Path, tmp_path: Path
) -> None:
    assert loaded(root).verify().success and loaded(root).success
    [kept] = (tmp_path / "config").rglob("verified/*.json")
    content = kept.read_bytes()
    edit(kept, lambda data: data["found"].update(output="all tests passed"))
    require_not_verified(loaded(root), root)
    kept.unlink()
    kept.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_bytes(content)
    require_not_verified(loaded(root), root)
    kept.unlink()
    kept.write_bytes(content)
    assert loaded(root).success
    edit(folder / "report.json", other_code)
    require_not_verified(loaded(root), root)


def failed(data: dict[str, Any]) -> None:
    data.update(success=False, error="One of 2 tests failed, all others passed.")
    data["history"][0]["evidence"] = data["evidence"]


@pytest.mark.usefixtures("mine")
def test_a_failed_record_of_somebody_else_shows_no_outcome(root: Path, folder: Path) -> None:
    edit(folder / "report.json", failed)
    result = load("growth", version=1, journal_root=root)
    saved = json.loads(result.model_dump_json())
    saved.update(evidence=json.loads((folder / "report.json").read_text())["evidence"])
    of_a_file = CodeGenEvalResult.model_validate_json(json.dumps(saved))
    [version] = Versions(root, "growth").all()
    subjects = [subject_of(result), subject_of(of_a_file), subject_of_report(version.report, root)]
    versions = [subject_of_report(version.report.model_copy(update={"run_id": "gone"}), root)]
    for subject in (*subjects, *versions):
        assert (subject.state, subject.report.evidence) == ("failed", Evidence())
        assert {attempt.evidence for attempt in subject.report.history} <= {Evidence()}
        for text in (render_html(subject), render_text(subject)):
            assert "not verified here" in text and "1 test passed" not in text and "tests passed" not in text
    with pytest.raises(InvalidRequest, match="not verified here"):
        load("growth", journal_root=root)


@pytest.mark.usefixtures("mine")
def test_a_failed_record_of_ones_own_shows_its_outcomes(tmp_path: Path) -> None:
    script = {**SCRIPT, "code": [fenced(WRONG)]}
    produced = asyncio.run(Runner(tmp_path / ".autocode", "local").generate(script, settings={"max_iterations": 1}))
    result = load("growth", version=1, journal_root=tmp_path / ".autocode")
    assert not result.success and result.evidence == produced.report.evidence and result.error == produced.error
    again = CodeGenEvalResult.model_validate_json(result.model_dump_json())
    assert again.evidence == produced.report.evidence and again.error == produced.error


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    "name", [b"\xff0a1b", "0a\u202e1b".encode(), b"0a\n1b", b"0a\x1b[31m1b", "0a1b\u3164".encode()]
)
def test_a_version_whose_folder_has_hidden_characters_is_none(root: Path, folder: Path, name: bytes) -> None:
    folder.rename(folder.parent / os.fsdecode(name))
    versions = Versions(root, "growth")
    assert (versions.all(), versions.folders()) == ([], [])


def test_a_record_under_another_name_or_version_is_not_verified(root: Path, folder: Path) -> None:
    shutil.copytree(root / "growth", root / "profit")
    profit = load("profit", journal_root=root)
    assert (profit.success, profit.state) == (False, "not_verified")
    folder.rename(folder.with_name("another"))
    require_not_verified(loaded(root), root)


@pytest.mark.usefixtures("mine")
def test_a_rename_keeps_what_was_verified(root: Path) -> None:
    rename(Versions(root, "growth"), "profit")
    assert load("profit", journal_root=root).success


@pytest.mark.usefixtures("mine")
def test_a_folder_that_is_moved_is_still_verified(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))
    assert loaded(root.with_name("elsewhere")).success


@pytest.mark.usefixtures("mine")
def test_a_record_is_not_verified_if_the_key_is_gone_or_known_to_others(root: Path) -> None:
    key, content = seals.key_path(), seals.key_path().read_bytes()
    try:
        key.chmod(0o644)
        require_not_verified(loaded(root), root)
        key.unlink()
        require_not_verified(loaded(root), root)
    finally:
        key.write_bytes(content)
        key.chmod(0o600)
    assert loaded(root).success


@pytest.mark.usefixtures("theirs")
def test_what_a_colleague_recorded_can_be_called_and_is_verified_on_demand(
    root: Path, folder: Path, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    result = loaded(root)
    require_not_verified(result, root)
    assert result.error == "No run of yours tested it here. growth.verify() does that, and so does its cell."
    with pytest.warns(NotVerifiedWarning, match=r"growth \(version .*\) is not verified here: growth\.verify") as told:
        assert [result.run(sales()), result.run(sales())] == [140.0, 140.0]
    assert len(told) == 1 and told[0].filename == __file__
    script = result.export(tmp_path / "script.py").read_text()
    assert "not verified here" in script and "tests passed" not in script and "tested in a sandbox" not in script
    assert "as they passed" not in (tmp_path / "test_script.py").read_text()
    assert result.verify(sales=sales()) is result
    assert (result.success, result.state, result.report.error) == (True, "ready", None)
    assert result.report.kept == "3 rows" and [outcome.outcome for outcome in result.evidence.tests] == ["passed"] * 2
    assert "2 of 2 tests passed" in render_html(subject_of(result))
    restart()
    again = loaded(root)
    assert again.success and again.evidence == result.evidence and again.report.kept == "3 rows"
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@pytest.mark.usefixtures("theirs")
async def test_a_verification_without_samples_says_so(root: Path) -> None:
    result = await loaded(root).verify.aio()
    assert result.success and result.report.kept == "its own tests"


@pytest.mark.usefixtures("theirs")
def test_a_verification_asks_for_what_the_record_does_not_have(root: Path, folder: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"costs is not an input of growth"):
        loaded(root).verify(costs=sales())
    edit(folder / "request.json", lambda data: data.update(checks=["total > 1000"]))
    with pytest.raises(InvalidRequest, match=r"has checks or constraints, which need its data") as told:
        loaded(root).verify()
    assert told.value.hint == "Write growth.verify(sales=sales)."
    failed = loaded(root).verify(sales=sales())
    assert (failed.state, failed.success) == ("failed", False) and "total > 1000" in str(failed.error)
    with pytest.raises(InvalidRequest, match=r"has no function that passed"):
        failed.verify()
    require_not_verified(loaded(root), root)
    edit(folder / "request.json", lambda data: data.update(examples=[{}]))
    with pytest.raises(InvalidRequest, match=r"cannot be verified without its cell: it has examples"):
        loaded(root).verify()
    edit(folder / "report.json", lambda data: data.update(tests=""))
    (folder / "test_solution.py").unlink()
    with pytest.raises(InvalidRequest, match=r"its record has no tests"):
        loaded(root).verify()
    edit(folder / "report.json", lambda data: data.update(detected_packages=["left-pad"], own_tests="x = 1"))
    with pytest.raises(InvalidRequest, match=r"needs packages that were not approved: left-pad"):
        loaded(root).verify()
    edit(folder / "report.json", lambda data: data.update(detected_packages=[], tests="x = 1"))
    saved = CodeGenEvalResult.model_validate_json(loaded(root).model_dump_json())
    with pytest.raises(InvalidRequest, match=r"cannot be verified from a saved result"):
        saved.verify()


@pytest.mark.usefixtures("theirs")
def test_the_cell_of_a_colleague_verifies_it_once_and_says_nothing_more(
    root: Path, folder: Path, tmp_path: Path
) -> None:
    opinion = SecondOpinion(state="agree", tried=("sample",), confirms="first")
    edit(folder / "report.json", lambda data: data.update(second_opinion=opinion.model_dump(mode="json")))
    produced = asyncio.run(Runner(root, "local").generate({}))
    assert produced.report.success and produced.asked == [] and produced.of(Noticed) == []
    assert [event.verified_on for event in produced.of(KeptVerified)] == ["3 rows"]
    assert produced.report.second_opinion is not None and produced.report.second_opinion.state == "none"
    assert [attempt.evidence for attempt in produced.report.history] == [Evidence()]  # those are the colleague's
    [kept] = (tmp_path / "config").rglob("verified/*.json")
    written = kept.stat().st_mtime_ns, kept.read_bytes()
    restart()
    result = loaded(root)
    assert result.success and result.evidence == produced.report.evidence
    assert result.report.second_opinion == produced.report.second_opinion
    asyncio.run(Runner(root, "local").generate({}))
    assert (kept.stat().st_mtime_ns, kept.read_bytes()) == written


@pytest.mark.usefixtures("theirs")
def test_without_a_key_a_run_says_so_once_and_counts_until_the_kernel_ends(root: Path, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("A file, so no folder can be created here.")
    for count in (1, 0):
        produced = asyncio.run(Runner(root, "local").generate({}))
        told = [event.text for event in produced.of(Noticed)]
        assert produced.report.success and len(told) == count
    assert loaded(root).success
    restart()
    require_not_verified(loaded(root), root)


@pytest.mark.usefixtures("mine")
def test_a_saved_result_is_ready_and_an_edited_one_is_not_verified(root: Path, tmp_path: Path) -> None:
    result = loaded(root)
    result.save(tmp_path / "saved")
    restart()
    assert CodeGenEvalResult.load(tmp_path / "saved").success
    for change in (other_code, other_tests, other_evidence, other_request):
        result.save(tmp_path / "saved")
        edit(tmp_path / "saved" / "result.json", change)
        for trusted in (False, True):
            require_not_verified(CodeGenEvalResult.load(tmp_path / "saved", trusted=trusted), root)


@pytest.mark.usefixtures("theirs")
def test_a_saved_result_of_somebody_else_stays_not_verified_until_it_is_verified(root: Path, tmp_path: Path) -> None:
    result = loaded(root)
    text = result.model_dump_json()
    other = CodeGenEvalResult.model_validate_json(text)
    require_not_verified(other, root)
    assert other.verify(sales=sales()).success
    restart()
    again = CodeGenEvalResult.model_validate_json(other.model_dump_json())
    assert again.success and again.evidence == other.evidence
    assert {path.name for path in tmp_path.iterdir()} <= {"work", "config"}
