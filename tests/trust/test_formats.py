"""What a later version wrote is told as such, and stays as it is; what an earlier one wrote can be read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autocoder_jupyter
from autocoder_jupyter.agent.agent import loadable
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.errors import InvalidRequest, WrittenLater
from autocoder_jupyter.evaluate.trial import SHIPPED, read_tasks
from autocoder_jupyter.jobs.code_job import FILE, CodeRecord, load_record
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.trust import Permission, agree, trust_in, withdraw
from autocoder_jupyter.trust.formats import is_later, require_known, stamp
from autocoder_jupyter.trust.own_files import own_folder
from autocoder_jupyter.trust.permissions import record_path
from autocoder_jupyter.types import Exchange
from autocoder_jupyter.version import VERSION
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.verification import FOLDER, keep_evidence, rename, shown
from tests.cases import each
from tests.in_process import IN_PROCESS
from tests.runner import Runner

RECORDED = Path(__file__).parents[1] / "engine" / "recorded_with_pandas_2"
LATER = {"format": 2, "autocoder_jupyter": "1.3"}
TOLD = rf"was written by a later version of autocoder-jupyter \(1\.3, format 2\); this is {VERSION}"


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's configuration folder, empty."""
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: tmp_path / "own" / name)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An `.autocode` folder that version 0.1.0 wrote, with one function, in the current folder."""
    shutil.copytree(RECORDED, tmp_path / "here" / ".autocode")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here" / ".autocode"


def with_fields(path: Path, fields: dict[str, Any]) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | fields), "utf-8")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def exchange(key: str) -> Exchange:
    return Exchange(stage="plan", key=key, model="m", messages=(), answer="a")


# Versions of a function


def add_choice(folder: Path) -> Path:
    path = folder / "choice.json"
    path.write_text('{"pinned": null, "chosen": {}}', "utf-8")
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "report.json": lambda folder: next(folder.glob("versions/*/report.json")),
    "choice.json": add_choice,
}

USES: dict[str, Callable[[Path], object]] = {
    "load": lambda root: autocoder_jupyter.load("growth"),
    "load a version": lambda root: autocoder_jupyter.load("growth", version=1),
    "restore": lambda root: Versions(root, "growth").restore(Versions(root, "growth").all()[0]),
    "pin": lambda root: Versions(root, "growth").pin("a"),
    "choose": lambda root: Versions(root, "growth").choose("a", "b"),
    "show": lambda root: Versions(root, "growth").show_current(),
    "rename": lambda root: rename(Versions(root, "growth"), "other"),
    "remove a version": lambda root: Versions(root, "growth").remove(
        next((root / "growth" / "versions").iterdir()).name
    ),
}


@pytest.mark.parametrize("file", FILES)
def test_a_function_of_a_later_version_is_neither_used_nor_changed(root: Path, file: str) -> None:
    with_fields(FILES[file](root / "growth"), LATER)
    before = content(root)
    uses = USES if file == "choice.json" else {name: USES[name] for name in ("load", "load a version", "show")}
    for name, use in uses.items():
        if (file, name) == ("choice.json", "load a version"):
            continue  # needs no choice
        with pytest.raises(WrittenLater, match=TOLD) as told:
            use(root)
        assert told.value.hint.startswith("Upgrade: pip install --upgrade autocoder-jupyter")
    assert content(root) == before
    assert loadable() == ["growth"], "`load` says why it cannot be loaded"


@each(
    "content", ["", '{"pinned": "a', '<<<<<<< HEAD\n{"pinned": "a"}\n', '{"pinned": ["a"]}', '{"chosen": null}', "[]"]
)
def test_a_damaged_choice_is_told_because_another_version_would_count(root: Path, content: str) -> None:
    add_choice(root / "growth").write_text(content, "utf-8")
    for name in USES.keys() - {"load a version"}:
        with pytest.raises(InvalidRequest, match=r"choice\.json of growth is damaged"):
            USES[name](root)
    assert loadable() == ["growth"] and (root / "growth" / "choice.json").read_text("utf-8") == content


@pytest.mark.parametrize("cache", ["auto", "override", "disable"])
async def test_a_cell_of_such_a_function_asks_no_model(root: Path, cache: str) -> None:
    with_fields(FILES["report.json"](root / "growth"), LATER)
    before = content(root)
    with pytest.raises(WrittenLater, match=TOLD):
        await Runner(root, IN_PROCESS).generate({}, prompt="Something new.", settings={"cache": cache})
    assert content(root) == before


@each("file", ["request.json", "journal.jsonl"])
def test_an_unfinished_run_of_a_later_version_is_not_continued(root: Path, file: str) -> None:
    (folder,) = (root / "growth" / "versions").iterdir()
    (folder / "report.json").unlink(missing_ok=True)
    if file == "request.json":
        with_fields(folder / file, LATER)
        with pytest.raises(WrittenLater, match=TOLD):
            Versions(root, "growth").request(folder.name)
        return
    lines = (folder / file).read_text("utf-8")
    (folder / file).write_text(json.dumps({"kind": "format", **LATER}) + "\n" + lines, "utf-8")
    before = content(root)
    for run in (folder.name, "another"):
        with pytest.raises(WrittenLater, match=TOLD):
            Journal(root, "growth").begin(run)
    assert content(root) == before


def test_a_new_journal_begins_with_its_format_and_an_old_one_is_continued(root: Path) -> None:
    (folder,) = (root / "growth" / "versions").iterdir()
    for run in (folder.name, "new"):
        journal = Journal(root, "growth")
        journal.begin(run)
        journal.add(exchange("k"))
        journal.add(exchange("l"))
    kinds = [
        [json.loads(line)["kind"] for line in (folder.parent / run / "journal.jsonl").read_text("utf-8").splitlines()]
        for run in (folder.name, "new")
    ]
    assert kinds == [["step", "exchange", "exchange"], ["format", "exchange", "exchange"]]
    again = Journal(root, "growth")
    again.begin("new")
    assert again.find("k") == exchange("k")


def test_what_is_written_says_its_format_and_its_version(root: Path) -> None:
    (version,) = Versions(root, "growth").all()
    journal = Journal(root, "growth")
    journal.begin("new")
    journal.write_request({"prompt": "p"}, {})
    journal.add(exchange("k"))
    journal.write_report(version.report)
    journal.versions.choose("a", "new")
    for file in ("versions/new/request.json", "versions/new/report.json", "choice.json"):
        record = json.loads((root / "growth" / file).read_text("utf-8"))
        assert {name: record[name] for name in stamp()} == {"format": 1, "autocoder_jupyter": VERSION}, file
    assert [known.id for known in Versions(root, "growth").all()] == [version.id, "new"]


def test_evidence_of_a_later_version_counts_for_nothing_and_stays(root: Path) -> None:
    versions = Versions(root, "growth")
    (version,) = versions.all()
    keep_evidence(versions, version, version.report)
    assert shown(versions, version)[0] == "ready"
    (path,) = (own_folder() / FOLDER).glob("*.json")
    with_fields(path, LATER)
    before = path.read_bytes()
    assert shown(versions, version)[0] == "not_verified"
    keep_evidence(versions, version, version.report)
    assert path.read_bytes() == before


# Other records


def test_a_saved_result_of_a_later_version_is_told_and_not_replaced(root: Path, tmp_path: Path) -> None:
    result = autocoder_jupyter.load("growth")
    folder = result.save(tmp_path / "saved")
    assert CodeGenEvalResult.load(folder).report.name == "growth"
    with_fields(folder / "result.json", LATER)
    before = content(folder)
    with pytest.raises(WrittenLater, match=TOLD):
        CodeGenEvalResult.load(folder)
    with pytest.raises(WrittenLater, match=TOLD):
        CodeGenEvalResult.model_validate_json((folder / "result.json").read_text("utf-8"))
    with pytest.raises(WrittenLater, match=TOLD):
        result.save(folder)
    assert content(folder) == before


def test_an_answer_of_a_later_version_is_told_and_not_replaced(tmp_path: Path) -> None:
    root, record = tmp_path / ".autocode", CodeRecord("tools", "How many?", (), (), (), "ready", "Two.")
    record.save(root, "tools")
    assert load_record(root, "tools") == record
    with_fields(root / "tools" / FILE, {"autocoder_jupyter": "0.1.9"})
    earlier = content(root)
    record.save(root, "tools")
    assert content(root) == earlier, "a run that only replays writes nothing"
    with_fields(root / "tools" / FILE, LATER)
    before = content(root)
    with pytest.raises(WrittenLater, match=TOLD):
        load_record(root, "tools")
    with pytest.raises(WrittenLater, match=TOLD):
        record.save(root, "tools")
    assert content(root) == before


def test_permissions_of_a_later_version_allow_nothing_and_stay(tmp_path: Path) -> None:
    permission = Permission("settings", "api_base", "https://one.example/v1", "all goes there")
    agree(tmp_path / "cloned", [permission])
    with_fields(record_path(), LATER)
    before = record_path().read_bytes()
    assert not trust_in(tmp_path / "cloned").covers([permission])
    with pytest.raises(WrittenLater, match=TOLD):
        agree(tmp_path / "cloned", [permission])
    with pytest.raises(WrittenLater, match=TOLD):
        withdraw(tmp_path / "cloned")
    assert record_path().read_bytes() == before


def test_a_task_of_a_later_version_is_told(tmp_path: Path) -> None:
    first = sorted(SHIPPED.iterdir())[0]
    shutil.copytree(first, tmp_path / "tasks" / "one")
    with_fields(tmp_path / "tasks" / "one" / "task.json", LATER)
    with pytest.raises(WrittenLater, match=TOLD):
        read_tasks(tmp_path / "tasks")


# The number


@each(
    "record",
    [
        None,
        [],
        "format",
        {},
        {"format": 1},
        {"format": 0},
        {"format": -5},
        {"format": "2"},
        {"format": True},
        {"format": 2.5},
        {"format": None},
    ],
)
def test_what_has_no_later_number_is_known(record: object) -> None:
    assert not is_later(record)
    require_known(record, "growth")


@each("version", [None, 13, "", "1.3\u202e", "<b>1.3</b>", "1" * 500, "1.3 or so; run rm"])
def test_a_version_that_is_none_is_not_shown(version: object) -> None:
    with pytest.raises(WrittenLater) as told:
        require_known({"format": 10**4000, "autocoder_jupyter": version}, "growth")
    told_words = str(told.value)
    assert "(format 1000" in told_words and len(told_words) < 400
