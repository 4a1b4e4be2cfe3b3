"""`%autocode SUBCOMMAND` for an answer of `--mode tools`: it works, or says why it does not apply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.lab.messages import listed
from autocoder_jupyter.magics.line import SUBCOMMANDS

CELL = "%%autocode dearest --mode tools --tool fetch_price --wait\nThe dearest."
CODE = "```python\nfetch_price('MSFT')\n```"


@pytest.fixture
def answered(notebook: Any, run_script: Any) -> Any:
    notebook.model = run_script(CODE, "MSFT.", CODE.replace("MSFT", "AAPL"), "AAPL.")
    notebook.run(CELL)
    return notebook


OF_FUNCTIONS = [
    f"{command.name} dearest" + " x" * (command.least - 1)
    for command in SUBCOMMANDS.values()
    if command.takes_name and "tools" not in command.modes
]


@pytest.mark.parametrize("line", OF_FUNCTIONS)
def test_what_is_for_functions_says_so(line: str, answered: Any) -> None:
    with pytest.raises(InvalidRequest, match="does not apply to dearest, which is an answer of --mode tools"):
        answered.run(f"%autocode {line}")


def test_status_lists_it_here_and_from_the_record(answered: Any) -> None:
    answered.run("%autocode status")
    assert "1 call" in answered.shell.shown
    answered.restarted()
    answered.shell.display_pub.outputs.clear()
    answered.run("%autocode status")
    assert "an answer; run its cell, or --continue it" in answered.shell.shown


def test_show_gives_the_card_or_the_code(answered: Any) -> None:
    answered.run("%autocode show dearest")
    assert "MSFT." in answered.card
    answered.run("%autocode show dearest --code")
    assert "fetch_price" in str(answered.shell.display_pub.outputs[-1])
    with pytest.raises(InvalidRequest, match="--tests does not apply to dearest"):
        answered.run("%autocode show dearest --tests")


def test_history_is_what_was_said_here_and_from_the_record(answered: Any) -> None:
    for _ in range(2):
        answered.run("%autocode history dearest")
        told = str(answered.shell.display_pub.outputs.pop())
        assert "The dearest." in told
        assert "MSFT." in told
        answered.restarted()


def test_preview_is_what_was_sent(answered: Any) -> None:
    answered.run("%autocode show dearest --sent")
    assert "Price of a share in dollars." in str(answered.shell.display_pub.outputs[-1])


def test_retry_asks_anew_and_calls_anew(answered: Any) -> None:
    answered.run("%autocode retry dearest")
    assert answered.value("dearest.wait().summary") == "AAPL."
    assert answered.value("calls") == ["MSFT", "AAPL"]


def test_remove_removes_the_record(answered: Any, here: Path) -> None:
    with pytest.raises(InvalidRequest, match="dearest has no versions"):
        answered.run("%autocode versions dearest remove 1")
    answered.run("%autocode versions dearest remove --all")
    assert not (here / ".autocode" / "dearest").exists()


def test_former_spellings_apply_to_answers_too(answered: Any, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answered.run("%autocode preview dearest")
    assert "Price of a share in dollars." in str(answered.shell.display_pub.outputs[-1])
    answered.run("%autocode remove dearest --all")
    assert not (here / ".autocode" / "dearest").exists()
    assert capsys.readouterr().out.count("The old spelling works") == 2


def test_a_name_that_is_a_function_now_is_one_again(answered: Any) -> None:
    from autocoder_jupyter.magics.notebook import is_answer

    room = answered.shell.magics_manager.registry["AutocodeMagics"].notebook
    assert is_answer(room, "dearest")
    assert not is_answer(room, "nothing")


def test_the_panel_is_told_of_it(answered: Any) -> None:
    room = answered.shell.magics_manager.registry["AutocodeMagics"].notebook
    [job] = listed(room)
    assert (job["name"], job["phase"], job["facts"][:2]) == ("dearest", "ready", ["2 turns", "1 call"])
    room.launched.clear()
    [held] = listed(room)
    assert {**held, "seconds": 0, "step": ""} == {
        **job, "cell_id": None, "started": 0.0, "seconds": 0, "step": "",
        "limit": "", "limit_value": None, "limit_next": None,
    }  # fmt: skip


def test_completion_offers_functions_and_conversations(answered: Any) -> None:
    from autocoder_jupyter.magics.completion import complete

    room = answered.shell.magics_manager.registry["AutocodeMagics"].notebook

    def offered(line: str) -> list[str]:
        return [word for word, _ in complete(line, 0, line, room)[1]]

    assert offered("%%autocode x --mode tools --tool fe") == ["fetch_price"]
    assert offered("%%autocode x --mode tools --tool fx=la") == ["latest_fx"]
    assert offered("%%autocode x --mode tools --continue ") == ["dearest"]
    assert "orders" not in offered("%%autocode x --mode tools --tool ")
    assert "get_ipython" not in offered("%%autocode x --mode tools --tool ")


def test_charts_never_become_markup_of_the_page(notebook: Any, run_script: Any) -> None:
    svg = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    spec = '{"data": [{"type": "bar", "x": [1], "y": [2], "hovertemplate": "<img src=x>"}]}'
    html = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    run_script("```python\n{'summary': 'See <b>', 'charts': " + repr([svg, spec, html]) + "}\n```")
    notebook.run(CELL)
    assert "<script" not in notebook.card
    assert "<img src=x" not in notebook.card
    assert "data:image/svg+xml;base64," in notebook.card
    assert "&lt;script&gt;alert(2)" in notebook.card
    assert "See &lt;b&gt;" in notebook.card
    assert ">value<" not in notebook.card  # there is nothing in it that is not shown already
    assert "background:#fff" in notebook.card  # dark text of an SVG in a dark theme
    notebook.shell.display_pub.outputs.clear()
    notebook.run("dearest")
    card, figure = (output["data"] for output in notebook.shell.display_pub.outputs)
    assert "autocode-card" in card["text/html"]
    assert "<img" not in str(figure["application/vnd.plotly.v1+json"])


def test_what_a_tool_returns_is_text_on_the_card(notebook: Any, run_script: Any) -> None:
    notebook.run("def fetch_price(symbol: str) -> str:\n    'Price.'\n    return '<script>alert(1)</script>\\u202e'")
    run_script("```python\nprint(fetch_price('<b>'))\nfetch_price('<b>')\n```", "Done.")
    notebook.run(CELL)
    assert "<script" not in notebook.card
    assert "\u202e" not in notebook.card


def test_the_card_keeps_what_was_sent(answered: Any) -> None:
    room = answered.shell.magics_manager.registry["AutocodeMagics"].notebook
    assert room.launched["dearest"].card.wait(60)
    assert "Price of a share in dollars." in room.launched["dearest"].card.state.sent


def test_the_steps_of_an_answer_are_shown_with_their_times(answered: Any) -> None:
    answered.shell.display_pub.outputs.clear()
    answered.run("%autocode show dearest --timeline")
    (output,) = answered.shell.display_pub.outputs
    shown = output["data"]["text/plain"]
    assert "questions to the model" in shown and "block 1" in shown and "fetch_price" in shown


def test_the_event_log_has_the_calls_without_their_arguments(notebook: Any, run_script: Any, here: Path) -> None:
    run_script(CODE.replace("MSFT", "AAPL"), "Done.")
    notebook.run("%config Autocode.log = 'events.jsonl'")
    notebook.run(CELL)
    events = [json.loads(line) for line in (here / "events.jsonl").read_text().splitlines()]
    kinds = [event["event"] for event in events]
    assert {"TurnBegun", "TokensUsed", "FunctionCalled", "ToolEnded", "CodeEnded"} <= {*kinds}
    assert kinds[-1] == "Finished"
    assert "AAPL" not in (here / "events.jsonl").read_text()
