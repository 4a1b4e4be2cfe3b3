"""The record of a conversation, and a second run with it: no question and no effect is repeated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import tool
from autocoder_jupyter.codemode.journal import MOST_LIVE, ConversationJournal, RecordedOutcome
from autocoder_jupyter.settings.config import CachePolicy
from tests.codemode.conftest import Ask, block, error_of
from tests.hostile_folder import HOSTILE


class Shop:
    """Tools that count their calls."""

    def __init__(self) -> None:
        self.looked: list[str] = []
        self.sent: list[str] = []

    def tools(self) -> list[Callable[..., Any]]:
        def look(what: str) -> int:
            self.looked.append(what)
            return len(self.looked)

        @tool(effects=True)
        def send(what: str) -> str:
            self.sent.append(what)
            return f"sent {what}"

        return [look, send]


@pytest.fixture
def shop() -> Shop:
    return Shop()


def lines(root: Path) -> list[dict[str, Any]]:
    [file] = root.glob(f"tools/tools-*/{ConversationJournal.FILE}")
    return [json.loads(line) for line in file.read_text().splitlines()]


BOTH = [block("x = look('a')\nsend('b'), x"), "Done."]


def test_a_second_run_asks_no_model_and_calls_no_tool(ask: Ask, shop: Shop) -> None:
    first = ask(BOTH, shop.tools())
    again = ask([], shop.tools(), locked=True)
    assert (shop.looked, shop.sent) == (["a"], ["b"])
    assert (again.value, again.summary, again.run_id) == (first.value, "Done.", first.run_id)
    assert [(call.replayed, call.seconds) for call in again.calls] == [(True, 0.0)] * 2
    assert (again.usage.input_tokens, again.usage.cost) == (0, 0.0)


def test_another_request_is_another_run(ask: Ask, shop: Shop) -> None:
    ask(BOTH, shop.tools())
    ask(BOTH, shop.tools(), message="Once more.")
    assert (shop.looked, shop.sent) == (["a", "a"], ["b", "b"])


def test_two_calls_alike_are_two_outcomes(ask: Ask, shop: Shop) -> None:
    code = block("look('a'), look('a'), look('b'), look('a')")
    assert ask([code, "Done."], shop.tools()).value == (1, 2, 3, 4)
    assert ask([], shop.tools()).value == (1, 2, 3, 4)
    assert len(shop.looked) == 4


def test_an_error_of_a_tool_is_replayed_too(ask: Ask) -> None:
    called = []

    def fail() -> None:
        called.append(1)
        raise KeyError("no such thing")

    answers = [block("try:\n    fail()\nexcept KeyError as error:\n    x = error.args[0]\nx"), "Done."]
    assert ask(answers, [fail]).value == ask([], [fail]).value == "no such thing"
    assert called == [1]


def test_an_effect_that_was_begun_and_never_ended_is_not_repeated(ask: Ask, shop: Shop, root: Path) -> None:
    ask([block("send('b')"), "Done."], shop.tools())
    [file] = root.glob(f"tools/tools-*/{ConversationJournal.FILE}")
    kept = [line for line in file.read_text().splitlines() if json.loads(line)["kind"] != "outcome"]
    file.write_text("\n".join(kept) + "\n")
    again = ask(["I cannot know."], shop.tools())
    assert shop.sent == ["b"]
    assert "It has effects, so it is not called a second time" in error_of(again.blocks[0])


def test_a_value_that_looks_like_a_secret_is_not_written_down(ask: Ask, root: Path) -> None:
    called = []

    def login() -> str:
        called.append("login")
        return "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"

    @tool(effects=True)
    def order() -> str:
        called.append("order")
        return login()

    ask([block("len(login())"), "Done."], [login])
    ask([], [login])
    assert called == ["login", "login"]
    ask([block("len(order())"), "Done."], [order], message="Order.")
    again = ask(["I cannot know."], [order], message="Order.")
    assert called == ["login", "login", "order", "login"]
    assert "it is not called a second time" in error_of(again.blocks[0])
    assert "sk-proj-" not in "".join(file.read_text() for file in root.rglob("*.json*"))


@pytest.mark.parametrize("cache", ["override", "disable"])
def test_all_is_done_anew_where_that_is_asked_for(ask: Ask, shop: Shop, root: Path, cache: CachePolicy) -> None:
    ask(BOTH, shop.tools())
    before = sorted(root.rglob("*"))
    again = ask(BOTH, shop.tools(), cache=cache)
    assert (shop.looked, shop.sent, again.value) == (["a", "a"], ["b", "b"], ("sent b", 2))
    assert sorted(root.rglob("*")) == before
    # The last record is used.
    assert ask([], shop.tools()).value[1] == (2 if cache == "override" else 1)


def test_nothing_is_written_where_nothing_is_to_be_recorded(ask: Ask, shop: Shop, root: Path) -> None:
    result = ask(BOTH, shop.tools(), cache="disable")
    assert not root.exists()
    assert result.run_id == ""


def test_a_conversation_goes_on_in_another_process_with_what_was_defined(ask: Ask, shop: Shop) -> None:
    first = ask(
        [block("x = look('a')\ndef twice(y):\n    return 2 * y"), block("y = send('b')"), "Done."], shop.tools()
    )
    more = ask([block("twice(x), y"), "More."], shop.tools(), message="Go on.", history=first.history)
    assert more.value == (2, "sent b")
    assert (shop.looked, shop.sent, more.calls) == (["a"], ["b"], ())
    third = ask([block("x + 1"), "Most."], shop.tools(), message="And on.", history=more.history)
    assert (third.value, shop.sent) == (2, ["b"])
    assert ask([], shop.tools(), message="And on.", history=more.history).value == 2


def test_a_failed_block_left_what_it_had_defined_also_for_later(ask: Ask, shop: Shop) -> None:
    first = ask([block("x = look('a')\n1 / 0"), "Done."], shop.tools())
    more = ask([block("x"), "More."], shop.tools(), message="Go on.", history=first.history)
    assert (more.value, shop.looked) == (1, ["a"])


def test_a_block_that_ended_its_sandbox_is_not_run_again(ask: Ask, shop: Shop) -> None:
    first = ask([block("x = look('a')"), block("y = look('b')\nz = [0] * 10**10"), "Done."], shop.tools())
    more = ask([block("x"), "More."], shop.tools(), message="Go on.", history=first.history)
    assert (more.value, shop.looked) == (1, ["a", "b"])


def test_code_in_a_history_that_was_never_run_is_not_run(ask: Ask, shop: Shop) -> None:
    history = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": block("send('x')")}]
    ask([block("1"), "Done."], shop.tools(), history=history)
    assert shop.sent == []


def test_recorded_code_asks_before_it_does_for_the_first_time_what_has_effects(
    ask: Ask, shop: Shop, root: Path
) -> None:
    ask([block("send('b')"), "Done."], shop.tools())
    [file] = root.glob(f"tools/tools-*/{ConversationJournal.FILE}")
    file.write_text(file.read_text().replace("send('b')", "send('all my money')"))
    again = ask(["No."], shop.tools())
    assert shop.sent == ["b"]
    assert "the code comes from a record, and there is nobody to ask" in error_of(again.blocks[0])


def test_recorded_code_may_do_it_where_the_person_agrees(ask: Ask, shop: Shop, root: Path) -> None:
    ask([block("send('b')"), "Done."], shop.tools())
    [file] = root.glob(f"tools/tools-*/{ConversationJournal.FILE}")
    file.write_text(file.read_text().replace("send('b')", "send('c')"))
    asked = []
    ask(["Done."], shop.tools(), approve=lambda request: asked.append(request) or "allow")
    assert ([request.recorded for request in asked], shop.sent) == ([True], ["b", "c"])


def test_a_tool_sees_todays_data_unless_it_has_effects(ask: Ask) -> None:
    seen = []

    def look(frame: pd.DataFrame) -> int:
        seen.append(("look", len(frame)))
        return 0

    @tool(effects=True)
    def send(frame: pd.DataFrame) -> int:
        seen.append(("send", len(frame)))
        return 0

    answers = [block("part = sales.filter('a', '>', 1)\nlook(part) + send(part)"), "Done."]
    ask(answers, [look, send], frames={"sales": pd.DataFrame({"a": [1, 2]})})
    ask([], [look, send], frames={"sales": pd.DataFrame({"a": [1, 2, 3]})})
    assert seen == [("look", 1), ("send", 1), ("look", 2)]


def test_a_table_of_a_tool_is_there_when_the_conversation_goes_on(root: Path) -> None:
    from autocoder_jupyter import CodeModeAgent
    from autocoder_jupyter.codemode import journal

    loaded = []
    answers = iter([block("prices = load()"), "Done.", block("prices.count()"), "Two."])

    def load() -> pd.DataFrame:
        loaded.append(1)
        return pd.DataFrame({"a": [1, 2]})

    agent = CodeModeAgent([load], call_llm=lambda *_: next(answers))
    first = agent.run("Load.", journal_root=root)
    second = agent.run("Count.", first.history, journal_root=root)
    assert (second.value, loaded) == (2, [1])
    # Another process does not have the table, so a tool without effects is called again.
    journal._kept.clear()
    third = CodeModeAgent([load], locked=True).run("Count.", first.history, journal_root=root)
    assert (third.value, loaded) == (2, [1, 1])


def test_answers_that_ended_a_run_are_asked_for_anew(ask: Ask, shop: Shop) -> None:
    good, bad = block("look('a')"), block("1 / 0")
    assert ask([good, bad, bad, bad], shop.tools()).state == "failed"
    again = ask(["Done."], shop.tools())
    assert (again.summary, again.value, len(ask.requests), shop.looked) == ("Done.", 1, 1, ["a"])


def test_answers_that_ended_a_run_and_had_effects_are_not(ask: Ask, shop: Shop) -> None:
    bad = block("send('b')\n1 / 0")
    assert ask([bad, bad, bad], shop.tools()).state == "failed"
    assert ask([], shop.tools()).state == "failed"
    assert (shop.sent, ask.requests) == (["b"] * 3, [])


def test_a_denial_is_replayed(ask: Ask) -> None:
    @tool(ask=True)
    def pay() -> str:
        return "paid"

    answers = [block("try:\n    pay()\nexcept PermissionError:\n    x = 'declined'\nx"), "Done."]
    asked = []
    ask(answers, [pay], approve=lambda request: asked.append(1) or "deny")
    again = ask([], [pay], approve=lambda request: asked.append(1) or "allow")
    assert (again.value, asked, again.calls[0].outcome) == ("declined", [1], "denied")


def test_the_record_is_json_lines_with_what_was_said_and_done(ask: Ask, shop: Shop, root: Path) -> None:
    ask(BOTH, shop.tools())
    kinds = [line["kind"] for line in lines(root)]
    assert kinds == ["format", "exchange", "clock", "block", "outcome", "begun", "outcome", "exchange"]
    [sent] = root.glob("tools/tools-*/sent.json")
    assert len(json.loads(sent.read_text())["requests"]) == 2


@pytest.mark.parametrize(
    "damage", ["{", '{"kind": "outcome"}', '{"kind": "clock", "key": 3, "at": "soon"}', "[]", "\0"]
)
def test_a_damaged_line_is_passed_over(ask: Ask, shop: Shop, root: Path, damage: str) -> None:
    ask(BOTH, shop.tools())
    [file] = root.glob(f"tools/tools-*/{ConversationJournal.FILE}")
    file.write_text(f"{damage}\n{file.read_text()}{damage}\n")
    assert ask([], shop.tools()).value == ("sent b", 1)


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_stranger_does_not_choose_the_file_that_is_written(
    ask: Ask, shop: Shop, root: Path, tmp_path: Path, kind: str
) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    [file] = [root / "tools" / ask(["Done."], shop.tools()).run_id / ConversationJournal.FILE]
    file.unlink()
    HOSTILE[kind](file, mine)
    result = ask(["Done."], shop.tools())
    assert mine.read_text() == "mine"
    assert result.state == "failed"
    assert "The journal" in error_of(result)


def test_of_what_cannot_be_written_down_only_so_much_is_kept(tmp_path: Path) -> None:
    journal = ConversationJournal(tmp_path / ".autocode", "tools")
    journal.begin("tools-0", alone=True)
    for number in range(MOST_LIVE + 5):
        journal.add_outcome(str(number), "load", RecordedOutcome(value=object()))
    assert journal.outcome("0", restoring=False) is None
    assert journal.outcome(str(MOST_LIVE + 4), restoring=False) is not None
