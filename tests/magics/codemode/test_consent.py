"""A tool marked with `ask=True` is called after the user agreed: with a button, a command, or at a prompt."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.lab.requests import answer
from tests.magics.codemode.test_conversations import wait_for_question

CELL = "%%autocode mail --mode tools --tool send_mail\nWrite to both."
MAILS = "```python\n[send_mail('a@b.org'), send_mail('c@d.org')]\n```"


def room(notebook: Any) -> Any:
    return notebook.shell.magics_manager.registry["AutocodeMagics"].notebook


def begin(notebook: Any, play: Any) -> Any:
    model = play(MAILS, "Done.")
    notebook.run(CELL)
    wait_for_question(notebook, "mail", "a@b.org")
    return model


def test_the_card_asks_with_the_arguments_and_says_how_to_answer(notebook: Any, play: Any) -> None:
    begin(notebook, play)
    assert notebook.value("calls") == []
    notebook.run("%autocode status")
    assert "Waiting for approval" in notebook.shell.shown
    launch = room(notebook).launched["mail"]
    from autocoder_jupyter.display.codemode.card import render_html

    card = render_html(launch.card.state)
    assert "May it call send_mail(to=&#x27;a@b.org&#x27;)?" in card
    assert "%autocode approve mail" in card


def test_approve_allows_one_call_and_decline_refuses_one(notebook: Any, play: Any) -> None:
    model = begin(notebook, play)
    notebook.run("%autocode approve mail")
    wait_for_question(notebook, "mail", "c@d.org")
    assert notebook.value("calls") == ["sent to a@b.org"]
    notebook.run("%autocode decline mail")
    assert [call.outcome for call in notebook.value("mail.calls")] == ["ok", "denied"]
    assert notebook.value("calls") == ["sent to a@b.org"]
    assert "PermissionError" in model.requests[1]["messages"][-1]["content"]


def test_who_decides_sees_the_address_and_the_record_does_not_keep_it(notebook: Any, play: Any) -> None:
    begin(notebook, play)
    notebook.run("%autocode approve mail --always")
    assert "a@b.org" not in repr(notebook.value("mail.calls"))
    launch = room(notebook).launched["mail"]
    assert launch.card.wait(5)
    assert "a@b.org" not in str(launch.card.state.calls)


def test_always_allows_all_calls_of_the_tool(notebook: Any, play: Any) -> None:
    begin(notebook, play)
    notebook.run("%autocode approve mail --always")
    assert notebook.value("mail.value") == ["sent", "sent"]


def test_the_page_can_answer(notebook: Any, play: Any) -> None:
    begin(notebook, play)
    assert answer(room(notebook), {"action": "approve", "name": "mail"})["ok"]
    wait_for_question(notebook, "mail", "c@d.org")
    assert answer(room(notebook), {"action": "decline", "name": "mail"})["ok"]
    assert len(notebook.value("mail.calls")) == 2
    assert "not a function" in answer(room(notebook), {"action": "code", "name": "mail"})["error"]


def test_without_a_person_the_call_is_refused_with_the_reason(notebook: Any, play: Any) -> None:
    model = play(MAILS, "It is not allowed.")
    notebook.is_headless()
    notebook.run(CELL)
    assert notebook.value("calls") == []
    told = model.requests[1]["messages"][-1]["content"]
    assert "send_mail was not called: it needs a person's consent, and there is nobody to ask." in told


@pytest.mark.parametrize(("word", "called"), [("y", 2), ("n", 0)])
def test_a_terminal_asks_at_the_prompt(
    word: str, called: int, notebook: Any, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(MAILS, "Done.")
    asked: list[str] = []
    monkeypatch.setattr(builtins, "input", lambda prompt: asked.append(prompt) or word)
    notebook.is_terminal()
    notebook.run(CELL)
    assert asked[0] == "mail: may it call send_mail(to='a@b.org')? y or n: "
    assert len(notebook.value("calls")) == called


def test_what_waits_for_nothing_cannot_be_approved(notebook: Any, play: Any) -> None:
    play("Nothing to do.")
    notebook.run(CELL.replace("\n", " --wait\n", 1))
    with pytest.raises(InvalidRequest, match="mail waits for no approval; it is ready"):
        notebook.run("%autocode approve mail")
