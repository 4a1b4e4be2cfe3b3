from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.engine import journal as recorded_lines
from autocoder_jupyter.engine.journal import Journal, sent_record
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.models.questions import SentRequest
from autocoder_jupyter.trust.formats import stamp
from autocoder_jupyter.types import Exchange, Report
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.versions.request_fields import content_key
from tests.cases import each
from tests.hostile_folder import HOSTILE
from tests.runner import Runner, fenced
from tests.scripted_model import prompt_of


def exchange(key: str, answer: str = "text") -> Exchange:
    return Exchange(stage="plan", key=key, model="m", messages=({"role": "user", "content": "é"},), answer=answer)


def journal(root: Path, run_id: str = "r1") -> Journal:
    opened = Journal(root, "growth")
    opened.begin(run_id)
    return opened


def report(**fields: object) -> Report:
    return Report.model_validate({"name": "growth", "run_id": "r1", "prompt": "p", "success": True} | fields)


def test_an_exchange_is_found_again_by_a_later_kernel(tmp_path: Path) -> None:
    journal(tmp_path).add(exchange("k"))
    assert journal(tmp_path).find("k") == exchange("k")


def test_an_exchange_of_an_earlier_run_of_the_same_name_is_found(tmp_path: Path) -> None:
    journal(tmp_path, "r1").add(exchange("k"))
    assert journal(tmp_path, "r2").find("k") is not None


def test_the_newest_answer_to_a_question_wins(tmp_path: Path) -> None:
    first = journal(tmp_path)
    first.add(exchange("k", "old"))
    first.add(exchange("k", "new"))
    assert journal(tmp_path).find("k") == exchange("k", "new")


def test_another_name_has_another_memory(tmp_path: Path) -> None:
    journal(tmp_path).add(exchange("k"))
    other = Journal(tmp_path, "other")
    other.begin("r1")
    assert other.find("k") is None


def test_a_line_cut_short_by_a_crash_loses_nothing_else(tmp_path: Path) -> None:
    first = journal(tmp_path)
    first.add(exchange("k"))
    with (first.folder / "journal.jsonl").open("a") as file:
        file.write('{"kind": "exchange", "exchange": {"ke')
    journal(tmp_path).add(exchange("after"))
    again = journal(tmp_path)
    assert again.find("k") is not None and again.find("after") is not None


def test_a_line_that_somebody_else_wrote_is_passed_over(tmp_path: Path) -> None:
    first = journal(tmp_path)
    first.add(exchange("k"))
    with (first.folder / "journal.jsonl").open("a") as file:
        file.write('[]\n{"kind": "step", "outcome": 5}\n{"kind": "exchange"}\n')
    assert journal(tmp_path).find("k") is not None


def test_a_step_is_recorded_once(tmp_path: Path) -> None:
    first = journal(tmp_path)
    for _ in range(2):
        first.add_step("environment", "k", {"lock": ["a==1"]})
    kinds = [json.loads(line)["kind"] for line in (first.folder / "journal.jsonl").read_text().splitlines()]
    assert kinds == ["format", "step"]
    assert journal(tmp_path).find_step("environment", "k") == {"lock": ["a==1"]}


def test_a_run_that_only_replays_leaves_its_folder_as_it_was(tmp_path: Path) -> None:
    first = journal(tmp_path)
    first.add(exchange("k"))
    first.write_report(report(seconds=1.0))
    again = journal(tmp_path)
    again.write_report(report(seconds=2.0))
    assert json.loads((first.folder / "report.json").read_text())["seconds"] == 1.0


def test_nothing_is_written_before_something_happens(tmp_path: Path) -> None:
    journal(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_runs_of_a_name_are_listed_and_broken_ones_passed_over(tmp_path: Path) -> None:
    first = journal(tmp_path)
    first.write_report(report())
    (tmp_path / "growth" / "broken").mkdir()
    (tmp_path / "growth" / "broken" / "report.json").write_text("{")
    (tmp_path / "growth" / "deep").mkdir()
    (tmp_path / "growth" / "deep" / "report.json").write_text("[" * 100_000)
    (tmp_path / "growth" / "early").mkdir()
    early = report(started="0001-01-01T00:00:00").model_dump_json()
    (tmp_path / "growth" / "early" / "report.json").write_text(early)
    assert [version.id for version in Versions(tmp_path, "growth").all()] == ["r1"]


def test_keys_hang_on_content_alone() -> None:
    assert content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1}) != content_key({"a": 1, "b": 3})


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("a file in the place of the folder")
    with pytest.raises(AutocodeError, match=r"cannot be written in .*root\.\nNot a directory.*\n.*journal_root"):
        journal(tmp_path / "root").write_report(report())


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file of the user with the content of a journal, so that a test notices if it is read."""
    file = tmp_path / "home" / "start file"
    file.parent.mkdir()
    first = Journal(tmp_path / "home", "growth")
    first.begin("r1")
    first.add(exchange("stolen"))
    (first.folder / "journal.jsonl").rename(file)
    return file


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_journal_that_is_no_plain_file_ends_the_run_before_anything_is_written_to_it(
    tmp_path: Path, mine: Path, kind: Any
) -> None:
    before = mine.read_bytes()
    (tmp_path / "root" / "growth" / "r1").mkdir(parents=True)
    HOSTILE[kind](tmp_path / "root" / "growth" / "r1" / "journal.jsonl", mine)
    opened = journal(tmp_path / "root")
    assert opened.is_empty
    with pytest.raises(
        AutocodeError, match=r"not written: .*journal.jsonl, it is (a link|not a regular file).*\n.*\nLook at"
    ):
        opened.add(exchange("k"))
    assert mine.read_bytes() == before


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_journal_of_another_run_that_is_no_plain_file_is_passed_over(tmp_path: Path, mine: Path, kind: Any) -> None:
    journal(tmp_path / "root", "r1").add(exchange("k"))
    (tmp_path / "root" / "growth" / "r0").mkdir()
    for name in ("journal.jsonl", "report.json", "sent.json"):
        HOSTILE[kind](tmp_path / "root" / "growth" / "r0" / name, mine)
    opened = journal(tmp_path / "root", "r2")
    opened.add(exchange("new"))
    assert opened.find("k") is not None and opened.find("stolen") is None
    assert Versions(tmp_path / "root", "growth").all() == []
    assert sent_record(tmp_path / "root", "growth", "r0") == {}


@pytest.mark.parametrize("link", ["root", "root/growth", "root/growth/r1"])
def test_a_folder_of_the_journal_that_is_a_link_is_neither_read_nor_written(tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    journal(elsewhere / "deep").add(exchange("stolen"))
    target = {"root": elsewhere / "deep", "root/growth": elsewhere / "deep" / "growth"}.get(link)
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(target or elsewhere / "deep" / "growth" / "r1")
    before = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}
    opened = journal(tmp_path / "root")
    assert opened.is_empty
    for write in (
        lambda: opened.add(exchange("k")),
        lambda: opened.write_request({}, {}),
        lambda: opened.write_report(report()),
    ):
        with pytest.raises(AutocodeError, match="it is a link"):
            write()
    assert {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()} == before


def test_a_report_that_is_a_link_gives_way_to_the_report(tmp_path: Path, mine: Path) -> None:
    before = mine.read_bytes()
    folder = tmp_path / "root" / "growth" / "versions" / "r1"
    folder.mkdir(parents=True)
    for name in ("request.json", "report.json", "solution.py", "test_solution.py"):
        (folder / name).symlink_to(mine)
    opened = journal(tmp_path / "root")
    opened.write_request({"asked": 1}, {})
    opened.add(exchange("k"))
    opened.write_report(report(tests="def test_a(): pass"))
    assert [version.id for version in Versions(tmp_path / "root", "growth").all()] == ["r1"]
    assert json.loads((folder / "request.json").read_text()) == {**stamp(), "asked": 1}
    assert mine.read_bytes() == before


@each(
    "line",
    [
        pytest.param("[" * 1_000_000, id="a bomb of brackets"),
        pytest.param(
            '{"kind": "step", "step": "s", "key": "k", "outcome": {"a":' + "[" * 500 + "]" * 500 + "}}", id="deep"
        ),
        pytest.param('{"kind": "step", "key": ' + "9" * 5_000 + "}", id="a number of 5,000 digits"),
        pytest.param('{"kind": "step", "outcome": [' + "[]," * 110_000 + "[]]}", id="very many values"),
        pytest.param("x" * (recorded_lines.LINE_BYTES + 10), id="a line without an end"),
        pytest.param("\x00\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), id="no text"),
    ],
)
def test_a_line_that_is_made_to_break_its_reader_is_passed_over(tmp_path: Path, line: Any) -> None:
    first = journal(tmp_path)
    first.add(exchange("k"))
    with (first.folder / "journal.jsonl").open("a") as file:
        file.write(line + "\n")
    first.add(exchange("after"))
    again = journal(tmp_path)
    assert again.find("k") is not None and again.find("after") is not None and again.find_step("s", "k") is None


def test_of_too_much_the_oldest_is_left_out_and_the_own_is_read_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age, run_id in enumerate(("own", "old", "new")):
        recorded = journal(tmp_path, run_id)
        recorded.add(exchange(run_id))
        os.utime(recorded.folder / "journal.jsonl", (age, age))
    size = (tmp_path / "growth" / "versions" / "own" / "journal.jsonl").stat().st_size
    monkeypatch.setattr(recorded_lines, "TOTAL_BYTES", 2 * size)
    again = journal(tmp_path, "own")
    assert again.find("own") is not None and again.find("new") is not None and again.find("old") is None


def test_what_a_stranger_says_was_sent_takes_no_place_of_what_is_sent(tmp_path: Path) -> None:
    home = tmp_path / "growth" / "versions" / "r1"
    home.mkdir(parents=True)
    (home / "request.json").write_text("{}\n")
    (home / "sent.json").write_text('{"share": "rows", "text": "nothing of yours", "requests": []}\n')
    opened = journal(tmp_path)
    opened.write_request({}, {"share": "schema", "text": "what is told"})
    assert sent_record(tmp_path, "growth", "r1") == {"share": "schema", "text": "what is told", "requests": []}


@each(
    "said", [{"masked": "abc"}, {"left_out": {"sales": 1}}, {"share": "all"}, {"text": 5}, {"requests": {}}, ["text"]]
)
def test_a_record_of_what_was_sent_that_is_none_says_nothing(tmp_path: Path, said: object) -> None:
    home = tmp_path / "growth" / "versions" / "r1"
    home.mkdir(parents=True)
    (home / "sent.json").write_text(json.dumps(said))
    assert sent_record(tmp_path, "growth", "r1") == {}


@each(
    "numbers",
    [{"seconds": float("inf")}, {"seconds": float("nan")}, {"usage": {"input_tokens": 10**400}}, {"attempts": 10**400}],
)
def test_a_report_with_numbers_that_cannot_be_shown_is_passed_over(
    tmp_path: Path, numbers: dict[str, dict[str, int]] | dict[str, float] | dict[str, int]
) -> None:
    home = tmp_path / "growth" / "versions" / "r1"
    home.mkdir(parents=True)
    (home / "report.json").write_text(json.dumps(report().model_dump(mode="json") | numbers))
    assert Versions(tmp_path, "growth").all() == []


@each(
    "shape",
    [
        {},
        {"columns": 1},
        {"columns": [["'a'", 5]]},
        {"columns": [["'a'"]]},
        {"columns": [[["a"], "int64"]]},
        {"columns": [["'a'", "int64"]], "index": 7},
        {"columns": [["'a'", "int64" * 10_000]]},
        {"columns": [["'a\u202e'", "int64"]]},
        {"columns": [["'a'", "int64"]] * 100_001},
        {"columns": [["'a'", "int64"]], "type": ["DataFrame"]},
        {"columns": [], "type": "Series"},
    ],
    ids=range(11),
)
def test_a_report_with_a_table_that_could_stop_a_call_is_passed_over(tmp_path: Path, shape: dict[str, Any]) -> None:
    home = tmp_path / "growth" / "versions" / "r1"
    home.mkdir(parents=True)
    record = report().model_dump(mode="json")
    (home / "report.json").write_text(json.dumps(record | {"sample_shapes": {"sales": shape}}))
    assert Versions(tmp_path, "growth").all() == []
    good = {"columns": [["'a'", "int64"]], "index": [["None", "int64"]]}
    (home / "report.json").write_text(json.dumps(record | {"sample_shapes": {"sales": good}}))
    assert len(Versions(tmp_path, "growth").all()) == 1


CONFLICT = "<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> theirs\n"


def recorded(root: Path) -> Journal:
    """A complete run, as the next kernel finds it."""
    first = journal(root)
    first.write_request({"asked": 1}, {"share": "rows"})
    first.add(exchange("k"))
    first.write_report(THERE)
    return journal(root)


THERE = report(solution={"code": "a = 1\n"}, tests="def test_a(): pass\n")


@each("name", ["report.json", "solution.py", "test_solution.py", "request.json", "sent.json"])
@each("damage", ["gone", "a folder", "a merge conflict", "cut short", "no text"])
def test_a_damaged_file_of_a_run_is_written_anew_and_what_was_there_is_kept(
    tmp_path: Path, name: str, damage: str
) -> None:
    again = recorded(tmp_path)
    file = again.folder / name
    before = file.read_bytes()
    file.unlink()
    if damage == "a folder":
        file.mkdir()
        (file / "mine.txt").write_text("mine")
    elif damage != "gone":
        file.write_bytes({"a merge conflict": CONFLICT.encode(), "cut short": before[:5], "no text": b"\xff"}[damage])
    again.write_request({"asked": 1}, {"share": "rows"})
    again.write_report(THERE)
    told = again.take_notes()
    if name.endswith(".py") and damage in ("cut short", "no text"):  # as far as can be seen, somebody's edit
        assert file.read_bytes() != before and told == ()
        return
    assert file.read_bytes() == before
    aside = [path for path in again.folder.iterdir() if ".set-aside-" in path.name]
    assert len(aside) == len(told) == (damage != "gone")
    assert all(
        f"{name} of growth was damaged. It is written again; the old file is {name}.set" in line for line in told
    )


def test_a_journal_with_a_merge_conflict_gives_the_answers_of_both_sides(tmp_path: Path) -> None:
    again = recorded(tmp_path)
    file = again.folder / "journal.jsonl"
    ours = file.read_text()
    again.add(exchange("theirs"))
    theirs = file.read_text().removeprefix(ours)
    file.write_text(f"<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> theirs\n")
    both = journal(tmp_path)
    assert both.find("k") is not None and both.find("theirs") is not None


def test_an_edit_of_the_persons_is_no_damage(tmp_path: Path) -> None:
    again = recorded(tmp_path)
    (again.folder / "solution.py").write_text("a = 3\n")
    again.write_report(THERE)
    assert (again.folder / "solution.py").read_text() == "a = 3\n"


def test_a_step_that_cannot_be_written_is_noted_and_used_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = journal(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "append", full)
        opened.add(exchange("k"))
        opened.add(exchange("l"))
        assert opened.find("k") is not None
        (note,) = opened.take_notes()
        assert note.startswith("Nothing of growth is recorded since then: No space left on device.")
        again = journal(tmp_path)  # in the same process, the answers are not asked for again
        assert again.find("k") is not None and again.find("l") is not None
        assert again.take_notes() == ()
    again.add(exchange("m"))
    assert again.take_notes() == ("The journal of growth is complete again.",)
    lines = (again.folder / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["exchange"]["key"] for line in lines[1:]] == ["k", "l", "m"]


def test_a_request_that_cannot_be_noted_is_sent_all_the_same_and_noted_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = journal(tmp_path)
    opened.write_request({"asked": 1}, {"share": "rows"})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write", full)
        opened.add_sent(SentRequest("plan", "k", "http://model", {"messages": []}, 1))
    opened.add(exchange("k"))
    assert [request["key"] for request in sent_record(tmp_path, "growth", "r1")["requests"]] == ["k"]


def test_a_link_that_appears_in_the_place_of_the_journal_ends_the_run_and_keeps_nothing(
    tmp_path: Path, mine: Path
) -> None:
    opened = journal(tmp_path / "other")
    opened.add(exchange("k"))
    file = opened.folder / "journal.jsonl"
    file.unlink()
    file.symlink_to(mine)
    before = mine.read_bytes()
    for _ in range(2):
        with pytest.raises(AutocodeError, match="not written"):
            opened.add(exchange("l"))
    assert mine.read_bytes() == before


async def test_a_request_is_on_disk_when_it_arrives_at_the_service(tmp_path: Path) -> None:
    """The service looks: what it got and nobody wrote down could be lost by a crash."""
    runner, unwritten = Runner(tmp_path / ".autocode", "local"), list[str]()

    def looking(answer: str) -> Callable[[dict[str, Any]], str]:
        def answered(request: dict[str, Any]) -> str:
            written = [json.loads(path.read_text("utf-8")) for path in tmp_path.rglob("sent.json")]
            if json.dumps(request["messages"]) not in json.dumps(written):
                unwritten.append(prompt_of(request)[:200])
            return answer

        return answered

    code = 'def run(sales):\n    return float(sales["price"].sum())'
    tests = "import pandas as pd\nfrom solution import run\n\n\ndef test_sum():\n"
    tests += '    assert run(sales=pd.DataFrame({"price": [1.0, 2.0]})) == 3.0  # 1 + 2'
    plan = {"description": "d", "approach": "a", "outputs": [{"name": "total", "type": "float"}]}
    produced = await runner.generate(
        {"plan": looking(json.dumps(plan)), "code": looking(fenced(code)), "tests": looking(fenced(tests))}
    )
    assert produced.report.success, produced.error
    assert len(produced.model.requests) == 2 and unwritten == []
