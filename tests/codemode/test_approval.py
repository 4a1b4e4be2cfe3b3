"""The user is asked before a tool marked with `ask` is called, and the code gets the decision."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import CodeModeAgent, tool
from autocoder_jupyter.codemode.calls import ApprovalRequest, Decision, shown_arguments
from autocoder_jupyter.run.events import CallAllowed, CallWaits, Event, ToolEnded
from autocoder_jupyter.untrusted.visible import visible_block
from tests.codemode.conftest import Ask, block, error_of

THRICE = """\
said = []
for amount in (1, 2, 3):
    try:
        said.append(pay(amount))
    except PermissionError as error:
        said.append(str(error))
said"""
DENIED = "pay was not called: the person did not allow it."


@tool(ask=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@pytest.mark.parametrize(
    ("decisions", "said"),
    [
        (["allow", "deny", "allow"], ["paid 1", DENIED, "paid 3"]),
        (["always"], ["paid 1", "paid 2", "paid 3"]),
        (["deny", "always"], [DENIED, "paid 2", "paid 3"]),
        (["never"], [DENIED] * 3),
        (["allow", "never"], ["paid 1", DENIED, DENIED]),
    ],
    ids=" ".join,
)
def test_the_person_decides(ask: Ask, decisions: list[str], said: list[str]) -> None:
    left = iter(decisions)
    result = ask([block(THRICE), "Done."], [pay], approve=lambda request: next(left))
    assert result.value == said
    assert list(left) == []
    assert [call.outcome for call in result.calls] == ["denied" if one == DENIED else "ok" for one in said]


def test_what_holds_for_the_session_holds_for_the_next_run_of_the_agent(root: Path) -> None:
    answers = iter([block("pay(1)"), "Done.", block("pay(2)"), "Done."])
    asked = []
    agent = CodeModeAgent([pay], call_llm=lambda *_: next(answers), approve=lambda one: asked.append(one) or "always")
    assert [agent.run(words, journal_root=root).value for words in ("One.", "Two.")] == ["paid 1", "paid 2"]
    assert len(asked) == 1


def test_the_question_says_what_would_be_called(ask: Ask) -> None:
    asked: list[ApprovalRequest] = []
    events: list[Event] = []

    async def approve(request: ApprovalRequest) -> Decision:
        asked.append(request)
        return "allow"

    ask([block("x = 1\npay(5)"), "Done."], [pay], approve=approve, on_event=events.append)
    [request] = asked
    assert (request.tool, request.arguments, request.argument) == ("pay", {"amount": 5}, "amount=5")
    assert (request.line, request.recorded) == (2, False)
    [needed] = [event for event in events if isinstance(event, CallWaits)]
    [given] = [event for event in events if isinstance(event, CallAllowed)]
    [ended] = [event for event in events if isinstance(event, ToolEnded)]
    assert needed.call == given.call == ended.call == request.call
    assert given.approved


def test_one_question_is_put_at_a_time(ask: Ask) -> None:
    at_once, most, lock = [], [], threading.Lock()

    def approve(request: ApprovalRequest) -> Decision:
        with lock:
            at_once.append(request)
            most.append(len(at_once))
        threading.Event().wait(0.05)
        with lock:
            at_once.remove(request)
        return "allow"

    code = "import asyncio\nawait asyncio.gather(*[asyncio.to_thread(pay, i) for i in range(3)])"
    assert ask([block(code), "Done."], [pay], approve=approve).value == ["paid 0", "paid 1", "paid 2"]
    assert max(most) == 1


@pytest.mark.parametrize("answer", ["yes", True, None])
def test_an_answer_that_is_no_decision_allows_nothing(ask: Ask, answer: Any) -> None:
    result = ask([block("pay(1)"), "Done."], [pay], approve=lambda request: answer)
    assert "approve must answer one of" in error_of(result.blocks[0])
    assert result.value is None


def test_an_approve_that_fails_allows_nothing(ask: Ask) -> None:
    result = ask([block("pay(1)"), "Done."], [pay], approve=lambda request: 1 / 0)
    assert "ZeroDivisionError" in result.calls[0].observed
    assert result.calls[0].outcome == "failed"


def test_a_table_that_is_decided_about_hides_nothing() -> None:
    """`repr` escapes what a text hides; the text of a table does not."""
    table = pd.DataFrame({"to\u202e": ["\u202efriend", "\x1b[2J", "a\u200bb"]})
    (shown,) = shown_arguments({"orders": table})
    assert visible_block(shown.text) == shown.text and r"\u202efriend" in shown.text
