"""`make record`: journals of older prompts are recorded anew from their own answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.engine.first_answer import first_messages
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.request import Request
from tests.magics.forked_kernels import run_all
from tests.scripted_model import ScriptedModel
from tools.record import (
    Answers,
    Recorded,
    environment_of,
    move_earlier,
    record,
    recorded_answers,
    take_from_elsewhere,
)

EXAMPLES = Path(__file__).parents[1] / "notebooks" / "examples"
FUNCTION = Path(".autocode/log_health")
NOTEBOOK = "prompt_only.ipynb"
EARLIER_KEY = "0123456789abcdef"


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """A folder with one notebook, its data, and the record of its function."""
    shutil.copy(EXAMPLES / NOTEBOOK, tmp_path)
    shutil.copytree(EXAMPLES / "data", tmp_path / "data")
    shutil.copytree(EXAMPLES / FUNCTION, tmp_path / FUNCTION)
    return tmp_path


@pytest.fixture
def forked_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebooks are executed from here, in forked kernels; a new program and its kernel import for five seconds."""

    def executed(notebook: Path, model: ScriptedModel, temporary: Path) -> subprocess.CompletedProcess[str]:
        import nbformat  # takes a second, and every worker collects this

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "environ", environment_of(model))
            run_all(nbformat.read(notebook, as_version=4), notebook.parent)
        return subprocess.CompletedProcess([], 0, "")

    monkeypatch.setattr("tools.record._executed", executed)


def run_of(folder: Path) -> Path:
    """The folder of the only version."""
    (found,) = folder.glob(f"{FUNCTION}/**/journal.jsonl")
    return found.parent


def entries(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run_of(folder) / "journal.jsonl").read_text("utf-8").splitlines()]


def write(folder: Path, found: list[dict[str, Any]]) -> None:
    lines = (json.dumps(entry, ensure_ascii=False) for entry in found)
    (run_of(folder) / "journal.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("forked_kernels")
def test_a_changed_prompt_gets_its_recorded_answer_and_the_rest_stays_as_it_is(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = entries(shipped)
    older = json.loads(
        json.dumps(now).replace(
            "You write one Python module that answers", "Please write one Python module that answers"
        )
    )
    first = next(entry["exchange"] for entry in older if entry.get("exchange", {}).get("stage") == "code")
    first["key"], first["seconds"] = "0" * 64, 12.5
    write(shipped, older)
    solution = (run_of(shipped) / "solution.py").read_text("utf-8")
    assert record(shipped / NOTEBOOK) == []
    assert "recorded prompt_only: log_health" in capsys.readouterr().out
    exchanges = {entry["exchange"]["stage"]: entry["exchange"] for entry in entries(shipped) if "exchange" in entry}
    before = {entry["exchange"]["stage"]: entry["exchange"] for entry in now if "exchange" in entry}
    assert exchanges["code"] == {**before["code"], "seconds": 12.5}
    assert exchanges.keys() == before.keys()
    assert len(entries(shipped)) == len(now)
    assert (run_of(shipped) / "solution.py").read_text("utf-8") == solution
    assert json.loads((run_of(shipped) / "report.json").read_text("utf-8"))["success"]
    files = contents(shipped)
    assert record(shipped / NOTEBOOK) == []
    assert contents(shipped) == files  # because no question has changed since


@pytest.mark.slow
def test_a_question_without_an_answer_is_listed(shipped: Path) -> None:
    lacking = [entry for entry in entries(shipped) if entry.get("exchange", {}).get("stage") != "tests"]
    write(shipped, lacking)
    assert record(shipped / NOTEBOOK) == ["prompt_only: no answer for log_health, tests"]
    assert entries(shipped) == lacking


def test_what_a_program_wrote_elsewhere_takes_the_place_of_its_record(shipped: Path, tmp_path: Path) -> None:
    """As the programs that are killed do, whose notebook plays a record."""
    elsewhere, now = tmp_path / "t", entries(shipped)
    shutil.copytree(shipped / ".autocode", elsewhere / "x1" / ".autocode")
    older = json.loads(
        json.dumps(now).replace(
            "You write one Python module that answers", "Please write one Python module that answers"
        )
    )
    first = next(entry["exchange"] for entry in older if entry.get("exchange", {}).get("stage") == "code")
    first["key"], first["seconds"] = "0" * 64, 12.5
    write(shipped, older)
    answers = list(recorded_answers(shipped))
    assert take_from_elsewhere(elsewhere, shipped, answers) == [FUNCTION.name]
    written = entries(shipped)
    (told,) = (entry["exchange"] for entry in written if entry.get("exchange", {}).get("stage") == "code")
    first = next(entry["exchange"] for entry in now if entry.get("exchange", {}).get("stage") == "code")
    assert told == {**first, "seconds": 12.5} and len(written) == len(now)
    files = contents(shipped)
    assert take_from_elsewhere(elsewhere, shipped, list(recorded_answers(shipped))) == []
    assert contents(shipped) == files


def test_probes_and_the_answer_after_them_keep_their_turns(tmp_path: Path) -> None:
    first = list(first_messages(Request(name="x", prompt="p"), (), ""))
    further = [{"role": "assistant", "content": "```probe\na.b()\n```"}, {"role": "user", "content": "<data>1</data>"}]
    turns = [(first, "```probe\na.b()\n```"), ([*first, *further], "```python\n```")]
    changed = [[{**one, "content": f"{one['content']}\nNew."} for one in messages] for messages, _ in turns]
    run = tmp_path / ".autocode" / "x" / "versions" / "r"
    run.mkdir(parents=True)
    requests = [{"stage": "code", "key": str(n), "body": {"messages": one}} for n, one in enumerate(changed)]
    (run / "sent.json").write_text(json.dumps({"requests": requests}), "utf-8")
    recorded = [
        Recorded(run.relative_to(tmp_path), {"stage": "code", "messages": messages, "answer": answer})
        for messages, answer in reversed(turns)
    ]
    answers = Answers(tmp_path, recorded)
    assert [answers({"messages": one}).text for one in changed] == [answer for _, answer in turns]
    assert answers.missing == [] and [one.new_key for one in answers.used] == ["0", "1"]


def test_every_shipped_record_has_the_questions_of_today() -> None:
    """`make record` brings them up to date after a change of a prompt."""
    firsts = first_messages(Request(name="x", prompt="p"), (), "")[1]["content"].rpartition("\n\nBegin the")[2]
    firsts = firsts.rpartition("\n\n")[0]
    functions = [*EXAMPLES.glob(".autocode/*"), *EXAMPLES.parent.glob(".autocode/*")]
    journals = [path for folder in functions for path in folder.glob("versions/*/journal.jsonl")]
    assert {"week_totals", "week_by_agent", "growth"} <= {path.parts[-4] for path in journals}
    for path in journals:
        for entry in map(json.loads, path.read_text("utf-8").splitlines()):
            system, *rest = entry["exchange"]["messages"] if entry["kind"] == "exchange" else [{}]
            if system.get("role") == "system" and "You translate sentences" not in system["content"]:
                assert system["content"] == prompt("shared.system", data=prompt("shared.data")), (
                    path,
                    entry["exchange"]["stage"],
                )
                assert "Begin the module" not in rest[0]["content"] or firsts in rest[0]["content"], path


@pytest.mark.slow
@pytest.mark.usefixtures("forked_kernels")
def test_a_version_with_a_key_and_in_the_layout_of_an_earlier_package_takes_its_new_place(shipped: Path) -> None:
    run, function = run_of(shipped), shipped / FUNCTION
    text, report = (run / "journal.jsonl").read_text("utf-8"), json.loads((run / "report.json").read_text("utf-8"))
    (run / "journal.jsonl").write_text(text.replace(f'"{run.name}"', f'"{EARLIER_KEY}"'), "utf-8")
    run.rename(shipped / EARLIER_KEY)
    shutil.rmtree(function)
    function.mkdir()
    (shipped / EARLIER_KEY).rename(function / EARLIER_KEY)
    now = entries(shipped)
    assert record(shipped / NOTEBOOK) == []
    new = run_of(shipped)
    assert new.parent == function / "versions" and new.name != EARLIER_KEY
    assert [path.name for path in new.parent.iterdir()] == [new.name]
    found = entries(shipped)
    assert len([entry for entry in found if entry["kind"] != "format"]) == len(now)
    assert [entry for entry in found if "exchange" in entry] == [entry for entry in now if "exchange" in entry]
    written = json.loads((new / "report.json").read_text("utf-8"))
    assert written["success"] and (written["usage"], written["seconds"]) == (report["usage"], report["seconds"])
    for name in ("solution.py", "test_solution.py"):
        assert (function / name).read_text("utf-8") == (new / name).read_text("utf-8")
    assert f'version = "{new.name}"' in (function / "function.toml").read_text("utf-8")


def test_a_record_that_is_only_copied_is_brought_to_this_layout(shipped: Path) -> None:
    run, function = run_of(shipped), shipped / FUNCTION
    run.rename(shipped / run.name)
    shutil.rmtree(function)
    function.mkdir()
    (shipped / run.name).rename(function / run.name)
    before = {path.name: path.read_bytes() for path in (function / run.name).iterdir()}
    move_earlier(shipped)
    assert {path.name: path.read_bytes() for path in (function / "versions" / run.name).iterdir()} == before
    assert (function / "solution.py").read_bytes() == before["solution.py"]
    files = contents(shipped)
    move_earlier(shipped)
    assert contents(shipped) == files


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def recorded(stage: str, *messages: str, blocks: Any = ()) -> Recorded:
    exchange = {"stage": stage, "key": messages[0], "messages": list(messages), "answer": f"to {messages[0]}"}
    return Recorded(Path(".autocode/f/1"), exchange, list(blocks))


def test_of_several_questions_of_a_stage_the_most_similar_is_taken_and_of_an_agent_the_same_turn(
    tmp_path: Path,
) -> None:
    folder = tmp_path / ".autocode" / "f" / "1"
    folder.mkdir(parents=True)
    block = {"type": "text", "text": "second turn"}
    answers = Answers(
        tmp_path,
        [
            recorded("second", "a\nb\nc"),
            recorded("second", "a\nx\ny"),
            recorded("code", "t1", blocks=[{"type": "text", "text": "first turn"}]),
            recorded("code", "t2", blocks=[block]),
        ],
    )

    def asked(stage: str, *messages: Any, **more: Any) -> Any:
        sent = {"requests": [{"stage": stage, "key": "k", "body": {"messages": list(messages)}}]}
        (folder / "sent.json").write_text(json.dumps(sent), "utf-8")
        return answers({"messages": list(messages), **more})

    assert asked("second", "a\nx\nz").text == "to a\nx\ny"
    assert asked("second", "other").text == "to a\nb\nc"
    assert asked("second", "other").status == 400 and answers.missing == ["f, second"]
    turn = [{"role": "user"}, {"role": "assistant"}, {"role": "user"}]
    assert asked("code", *turn, tools=["Bash"]).text == "second turn"
