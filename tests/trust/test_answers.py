"""The questions that a user answered with "keep it as it is"."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.trust import answers
from autocoder_jupyter.trust.own_files import own_folder

CODE = "def run(a):\n    return a"


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: tmp_path / "own" / name)


def record() -> Path:
    return own_folder() / "answers.json"


def test_an_answer_holds_for_this_code_and_these_numbers_only() -> None:
    answers.keep(CODE, ["71 of 71 rows differ"])
    assert answers.kept(CODE, ["71 of 71 rows differ", "total is empty"]) == ("71 of 71 rows differ",)
    assert answers.kept(CODE, ["71 of 72 rows differ"]) == ()
    assert answers.kept(f"{CODE} + 1", ["71 of 71 rows differ"]) == ()
    assert answers.kept(f"{CODE}71", [" of 71 rows differ"]) == (), "code and question are not run together"


def test_the_record_has_no_words_of_code_or_data_and_belongs_to_the_user() -> None:
    answers.keep(CODE, ["names would be Smith instead of Miller"])
    text = record().read_text()
    assert "Smith" not in text and "run" not in text and record().stat().st_mode & 0o077 == 0


def test_a_damaged_record_asks_again_and_one_of_a_later_version_is_left_alone() -> None:
    answers.keep(CODE, ["a"])
    for content in ("[]", "{", '{"format": 1, "kept": {"a": 1}}', '{"format": 1, "kept": [1, null]}'):
        record().write_text(content)
        assert answers.kept(CODE, ["a"]) == ()
    later = json.dumps({"format": 2, "kept": ["x"]})
    record().write_text(later)
    with pytest.raises(InvalidRequest, match="The record of your answers"):
        answers.keep(CODE, ["a"])
    assert record().read_text() == later and answers.kept(CODE, ["a"]) == ()


def test_answers_of_many_threads_are_all_there_and_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [str(number) for number in range(12)]
    threads = [threading.Thread(target=answers.keep, args=(CODE, [question])) for question in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.kept(CODE, asked) == tuple(asked)
    monkeypatch.setattr(answers, "MOST", 3)
    answers.keep(CODE, ["new"])
    assert len(answers.kept(CODE, [*asked, "new"])) == 3 and answers.kept(CODE, ["new"])
