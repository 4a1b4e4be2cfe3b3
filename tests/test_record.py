"""`make record`: journals of older prompts are recorded anew from their own answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tools.record import Answers, Recorded, record

EXAMPLES = Path(__file__).parents[1] / "notebooks" / "examples"
RUN = Path(".autocode/log_health/5ad4f33a0ab6106f")
NOTEBOOK = "prompt_only.ipynb"


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """A folder with one notebook, its data, and the record of its function."""
    shutil.copy(EXAMPLES / NOTEBOOK, tmp_path)
    shutil.copytree(EXAMPLES / "data", tmp_path / "data")
    shutil.copytree(EXAMPLES / RUN.parent, tmp_path / RUN.parent)
    return tmp_path


def entries(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / RUN / "journal.jsonl").read_text("utf-8").splitlines()]


def all_entries(folder: Path) -> list[dict[str, Any]]:
    """Of all folders of the function: a version whose key is of an earlier kind gets a folder of its own."""
    paths = sorted((folder / RUN.parent).glob("*/journal.jsonl"), key=lambda path: path.parent.name != RUN.name)
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def write(folder: Path, found: list[dict[str, Any]]) -> None:
    lines = (json.dumps(entry, ensure_ascii=False) for entry in found)
    (folder / RUN / "journal.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


@pytest.mark.slow
def test_a_changed_prompt_gets_its_recorded_answer_and_the_rest_stays_as_it_is(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = entries(shipped)
    older = json.loads(json.dumps(now).replace("You plan one Python function", "Plan one Python function, please"))
    plan = next(entry["exchange"] for entry in older if entry.get("exchange", {}).get("stage") == "plan")
    plan["key"], plan["seconds"] = "0" * 64, 12.5
    write(shipped, older)
    solution = (shipped / RUN / "solution.py").read_text("utf-8")
    assert record(shipped / NOTEBOOK) == []
    assert "recorded prompt_only: log_health" in capsys.readouterr().out
    exchanges = {entry["exchange"]["stage"]: entry["exchange"] for entry in all_entries(shipped) if "exchange" in entry}
    before = {entry["exchange"]["stage"]: entry["exchange"] for entry in now if "exchange" in entry}
    assert exchanges["plan"] == {**before["plan"], "seconds": 12.5}
    assert exchanges.keys() == before.keys()
    assert (shipped / RUN / "solution.py").read_text("utf-8") == solution
    assert json.loads((shipped / RUN / "report.json").read_text("utf-8"))["success"]


@pytest.mark.slow
def test_without_a_changed_question_no_file_changes_and_a_question_without_an_answer_is_listed(shipped: Path) -> None:
    files = {path: path.read_bytes() for path in shipped.rglob("*") if path.is_file()}
    assert record(shipped / NOTEBOOK) == []
    assert {path: path.read_bytes() for path in shipped.rglob("*") if path.is_file()} == files
    lacking = [entry for entry in entries(shipped) if entry.get("exchange", {}).get("stage") != "tests"]
    write(shipped, lacking)
    assert record(shipped / NOTEBOOK) == ["prompt_only: no answer for log_health, tests"]
    assert entries(shipped) == lacking


def recorded(stage: str, *messages: str, blocks: Any = ()) -> Recorded:
    exchange = {"stage": stage, "key": messages[0], "messages": list(messages), "answer": f"to {messages[0]}"}
    return Recorded(Path(".autocode/f/1"), exchange, list(blocks))


def test_of_several_questions_of_a_stage_the_most_similar_is_taken_and_of_an_agent_the_same_turn(
    tmp_path: Path,
) -> None:
    (tmp_path / RUN).mkdir(parents=True)
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
