"""`--continue`, a second run of the same cells, and the limits for a record from somebody else."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import jobs
from autocoder_jupyter.codemode.journal import block_key
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.jobs.code_job import load_record

FIRST = "%%autocode first --mode tools --tool fetch_price --tool order --wait\nOrder the cheapest of @orders."
SECOND = "%%autocode second --mode tools --continue first --wait\nWhat did it cost?"
ORDERED = "```python\nprice = fetch_price('AAPL')\norder('AAPL')\n```"


def run_both(notebook: Any, run_script: Any) -> None:
    run_script(ORDERED, "Ordered.", "```python\nprice * 2\n```", "4 dollars.")
    notebook.run(FIRST)
    notebook.run(SECOND)


def test_the_conversation_goes_on_with_what_the_code_defined(notebook: Any, run_script: Any) -> None:
    run_both(notebook, run_script)
    assert notebook.value("second.value") == 4.0
    assert [message["content"] for message in notebook.value("second.history") if message["role"] == "assistant"] == [
        ORDERED,
        "Ordered.",
        "```python\nprice * 2\n```",
        "4 dollars.",
    ]
    assert notebook.value("calls") == ["AAPL", "ordered AAPL"]


def test_run_all_again_asks_no_model_and_repeats_no_call(notebook: Any, run_script: Any) -> None:
    run_both(notebook, run_script)
    notebook.restarted()
    model = run_script()
    notebook.run(FIRST)
    notebook.run(SECOND)
    assert notebook.value("(first.summary, second.summary, second.value)") == ("Ordered.", "4 dollars.", 4.0)
    assert model.requests == []
    assert notebook.value("calls") == []
    assert "replayed from the journal" in notebook.card


AGAIN = SECOND.replace("--wait", "--tool fetch_price --tool order --wait").replace("it cost", "it cost in @orders")


def test_after_a_restart_it_goes_on_without_the_first_cell_if_its_tools_are_passed(
    notebook: Any, run_script: Any
) -> None:
    run_script(ORDERED, "Ordered.")
    notebook.run(FIRST)
    notebook.restarted()
    model = run_script("```python\nprice * 2\n```", "4 dollars.")
    notebook.run(AGAIN)
    assert notebook.value("second.value") == 4.0
    assert notebook.value("calls") == []
    assert [message["role"] for message in model.requests[0]["messages"]][:3] == ["system", "user", "assistant"]


def test_after_a_restart_what_the_cell_does_not_pass_is_named(notebook: Any, run_script: Any) -> None:
    run_script(ORDERED, "Ordered.")
    notebook.run(FIRST)
    notebook.restarted()
    with pytest.raises(InvalidRequest) as refused:
        notebook.run(SECOND)
    assert "without the tools fetch_price, order and the data orders" in str(refused.value)
    assert "pass them in this cell: --tool fetch_price --tool order @orders" in str(refused.value)
    with pytest.raises(InvalidRequest, match=r"without the tools order and the data orders\."):
        notebook.run(SECOND.replace("--wait", "--tool fetch_price --wait"))


@pytest.mark.parametrize(
    "named",
    [
        {"tools": {"price": "pd.io.common.os.system"}, "frames": []},
        {"tools": ["fetch_price"], "frames": []},
        {"tools": {"price": "calls.append"}, "frames": []},
        {"tools": [], "frames": ["orders"]},
    ],
    ids=["an attribute", "a function", "a method", "a table"],
)
def test_a_record_passes_nothing_of_the_notebook(
    notebook: Any, run_script: Any, here: Path, named: dict[str, Any]
) -> None:
    code = "```python\nprice('touch ran')\n```"
    history = [{"role": "user", "content": "Do it."}, {"role": "assistant", "content": code}]
    record = {"conversation": "first", "message": "Do it.", "history": history, "state": "ready", "summary": "Done."}
    folder = here / ".autocode" / "first"
    (folder / "tools-0").mkdir(parents=True)
    (folder / "conversation.json").write_text(json.dumps(record | named))
    ran = {"kind": "block", "key": block_key(history)}
    (folder / "tools-0" / "conversation.jsonl").write_text(json.dumps(ran) + "\n")
    model = run_script("```python\n1\n```", "Done.")
    with pytest.raises(InvalidRequest, match="first cannot be continued without the"):
        notebook.run(SECOND)
    assert (model.requests, notebook.value("calls"), (here / "ran").exists()) == ([], [], False)


def test_another_tool_may_join(notebook: Any, run_script: Any) -> None:
    run_script(ORDERED, "Ordered.", "```python\nawait latest_fx('EUR') * price\n```", "One.")
    notebook.run(FIRST)
    notebook.run(SECOND.replace("--wait", "--tool latest_fx --wait"))
    assert notebook.value("second.value") == 1.0
    assert notebook.value("calls") == ["AAPL", "ordered AAPL"]


def test_a_cell_that_continues_a_run_waits_for_it(notebook: Any, run_script: Any) -> None:
    run_script(ORDERED, "Ordered.", "```python\nprice * 2\n```", "4 dollars.")
    notebook.run(FIRST.replace(" --wait", ""))
    notebook.run(SECOND)
    assert notebook.value("second.value") == 4.0


def test_recorded_answers_of_a_stranger_reach_no_tool_with_effects(notebook: Any, run_script: Any) -> None:
    run_script("```python\norder('AAPL')\n```", "Ordered.")
    notebook.run(FIRST)
    strip_outcomes(Path.cwd())
    notebook.restarted()
    notebook.is_headless()
    model = run_script("It was not allowed.")
    notebook.run(FIRST)
    assert notebook.value("calls") == []
    assert [call.outcome for call in notebook.value("first.calls")] == ["denied"]
    assert "the code comes from a record" in model.requests[0]["messages"][-1]["content"]


def test_a_person_is_asked_for_what_recorded_answers_want_to_do(notebook: Any, run_script: Any) -> None:
    run_script("```python\norder('AAPL')\n```", "Ordered.")
    notebook.run(FIRST)
    strip_outcomes(Path.cwd())
    notebook.restarted()
    run_script("It was declined.")
    notebook.run(FIRST.replace(" --wait", ""))
    wait_for_question(notebook, "first")
    assert notebook.value("calls") == []
    notebook.run("%autocode reply first no")
    assert notebook.value("first.summary") == "It was declined."
    assert notebook.value("calls") == []


def test_a_record_that_is_none_begins_nothing(notebook: Any, here: Path) -> None:
    (here / ".autocode" / "first").mkdir(parents=True)
    whole = {
        "conversation": "first",
        "message": "",
        "history": [],
        "tools": [],
        "frames": [],
        "state": "",
        "summary": "",
    }
    message = {"role": "user", "content": "x"}
    wrong: list[dict[str, Any]] = [
        {"conversation": "../x"},
        {"tools": ["pd.io"]},
        {"frames": ["a b"]},
        {"message": 5},
        {"history": [{"role": "system", "content": "x"}]},
        {"history": [{"role": "user", "content": ["x"]}]},
        {"history": [message] * 2_001},
    ]
    (here / ".autocode" / "first" / "conversation.json").write_text(json.dumps({**whole, "history": [message] * 2_000}))
    assert load_record(here / ".autocode", "first") is not None
    for content in ("{", "[]", *(json.dumps({**whole, **part}) for part in wrong)):
        (here / ".autocode" / "first" / "conversation.json").write_text(content)
        with pytest.raises(InvalidRequest, match="There is no conversation named 'first'"):
            notebook.run(SECOND)


def strip_outcomes(folder: Path) -> None:
    """A record as an attacker would write it: answers, but no recorded calls."""
    for file in folder.rglob("conversation.jsonl"):
        entries = [line for line in file.read_text().splitlines() if json.loads(line)["kind"] in ("exchange", "block")]
        file.write_text("\n".join(entries) + "\n")


def question_of(name: str) -> object:
    job = jobs.current(name)
    return job and job.pending_approval


def wait_for_question(notebook: Any, name: str, words: str = "") -> None:
    """Wait until a run asks for a call whose description contains this text."""
    deadline = time.monotonic() + 90
    while words not in str(question_of(name) or ()) or not question_of(name):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_table_that_a_tool_gave_is_there_in_the_next_cell_without_a_second_call(
    notebook: Any, run_script: Any
) -> None:
    notebook.run("def load(name: str) -> pd.DataFrame:\n    'A table.'\n    calls.append(name)\n    return orders")
    run_script("```python\ntable = load('all')\n```", "Loaded.", "```python\ntable.count()\n```", "Two.")
    notebook.run("%%autocode first --mode tools --tool load --wait\nLoad all.")
    notebook.run(SECOND)
    assert notebook.value("second.value") == 2
    assert notebook.value("calls") == ["all"]
