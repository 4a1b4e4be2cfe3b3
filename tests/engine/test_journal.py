import json

import pytest

from autocoder_jupyter.engine.journal import Journal, content_key, runs
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.types import Exchange, Report


def exchange(key, answer="text"):
    return Exchange(stage="plan", key=key, model="m", messages=({"role": "user", "content": "é"},), answer=answer)


def journal(root, run_id="r1"):
    opened = Journal(root, "growth")
    opened.begin(run_id)
    return opened


def report(**fields):
    return Report(**({"name": "growth", "run_id": "r1", "prompt": "p", "success": True} | fields))


def test_an_exchange_is_found_again_by_a_later_kernel(tmp_path):
    journal(tmp_path).add(exchange("k"))
    assert journal(tmp_path).find("k") == exchange("k")


def test_an_exchange_of_an_earlier_run_of_the_same_name_is_found(tmp_path):
    journal(tmp_path, "r1").add(exchange("k"))
    assert journal(tmp_path, "r2").find("k") is not None


def test_the_newest_answer_to_a_question_wins(tmp_path):
    first = journal(tmp_path)
    first.add(exchange("k", "old"))
    first.add(exchange("k", "new"))
    assert journal(tmp_path).find("k").answer == "new"


def test_another_name_has_another_memory(tmp_path):
    journal(tmp_path).add(exchange("k"))
    other = Journal(tmp_path, "other")
    other.begin("r1")
    assert other.find("k") is None


def test_a_line_cut_short_by_a_crash_loses_nothing_else(tmp_path):
    first = journal(tmp_path)
    first.add(exchange("k"))
    with (first.folder / "journal.jsonl").open("a") as file:
        file.write('{"kind": "exchange", "exchange": {"ke')
    journal(tmp_path).add(exchange("after"))
    again = journal(tmp_path)
    assert again.find("k") is not None and again.find("after") is not None


def test_a_line_that_somebody_else_wrote_is_passed_over(tmp_path):
    first = journal(tmp_path)
    first.add(exchange("k"))
    with (first.folder / "journal.jsonl").open("a") as file:
        file.write('[]\n{"kind": "step", "outcome": 5}\n{"kind": "exchange"}\n')
    assert journal(tmp_path).find("k") is not None


def test_a_step_is_recorded_once(tmp_path):
    first = journal(tmp_path)
    for _ in range(2):
        first.add_step("environment", "k", {"lock": ["a==1"]})
    assert len((first.folder / "journal.jsonl").read_text().splitlines()) == 1
    assert journal(tmp_path).find_step("environment", "k") == {"lock": ["a==1"]}


def test_a_run_that_only_replays_leaves_its_folder_as_it_was(tmp_path):
    first = journal(tmp_path)
    first.add(exchange("k"))
    first.write_report(report(seconds=1.0))
    again = journal(tmp_path)
    again.write_report(report(seconds=2.0))
    assert json.loads((first.folder / "report.json").read_text())["seconds"] == 1.0


def test_nothing_is_written_before_something_happens(tmp_path):
    journal(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_runs_of_a_name_are_listed_and_broken_ones_passed_over(tmp_path):
    first = journal(tmp_path)
    first.write_report(report())
    (tmp_path / "growth" / "broken").mkdir()
    (tmp_path / "growth" / "broken" / "report.json").write_text("{")
    assert [run_id for run_id, _ in runs(tmp_path, "growth")] == ["r1"]


def test_keys_hang_on_content_alone():
    assert content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1}) != content_key({"a": 1, "b": 3})


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "root").write_text("a file in the place of the folder")
    with pytest.raises(AutocodeError, match=r"cannot be written in .*root\.\nNot a directory.*\n.*journal_root"):
        journal(tmp_path / "root").write_report(report())
