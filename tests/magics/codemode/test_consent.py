"""A tool marked with `ask=True` is called after the user agreed: with a button, a command, or at a prompt."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from autocoder_jupyter.display.live import card_html
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.lab.requests import answer
from tests.magics.codemode.test_conversations import wait_for_question

CELL = "%%autocode mail --mode tools --tool send_mail\nWrite to both."
MAILS = "```python\n[send_mail('a@b.org'), send_mail('c@d.org')]\n```"


def room(notebook: Any) -> Any:
    return notebook.shell.magics_manager.registry["AutocodeMagics"].notebook


def begin(notebook: Any, run_script: Any) -> Any:
    model = run_script(MAILS, "Done.")
    notebook.run(CELL)
    wait_for_question(notebook, "mail", "a@b.org")
    return model


def test_the_card_asks_with_the_arguments_and_says_how_to_answer(notebook: Any, run_script: Any) -> None:
    begin(notebook, run_script)
    assert notebook.value("calls") == []
    notebook.run("%autocode status")
    assert "Waiting for approval" in notebook.shell.shown
    launch = room(notebook).launched["mail"]
    card = card_html(launch.card.state)
    assert "May it call send_mail(to=&#x27;a@b.org&#x27;)?" in card
    assert "%autocode reply mail yes send_mail call-1, refuse it with %autocode reply mail no" in card


def test_approve_allows_one_call_and_decline_refuses_one(notebook: Any, run_script: Any) -> None:
    model = begin(notebook, run_script)
    notebook.run("%autocode reply mail yes send_mail call-1")
    wait_for_question(notebook, "mail", "c@d.org")
    assert notebook.value("calls") == ["sent to a@b.org"]
    notebook.run("%autocode reply mail no")
    assert [call.outcome for call in notebook.value("mail.calls")] == ["ok", "denied"]
    assert notebook.value("calls") == ["sent to a@b.org"]
    assert "PermissionError" in model.requests[1]["messages"][-1]["content"]


def test_a_yes_is_for_the_call_that_was_shown_and_no_other(notebook: Any, run_script: Any) -> None:
    begin(notebook, run_script)
    for words in ("yes", "yes send_mail", "yes call-1 other"):
        with pytest.raises(InvalidRequest, match=r"waits for send_mail[\s\S]*reply mail yes send_mail call-1"):
            notebook.run(f"%autocode reply mail {words}")
    notebook.run("%autocode reply mail yes send_mail call-1")
    wait_for_question(notebook, "mail", "c@d.org")
    with pytest.raises(InvalidRequest, match=r"waits for send_mail\(to='c@d.org'\), not for call-1"):
        notebook.run("%autocode reply mail yes send_mail call-1")
    assert notebook.value("calls") == ["sent to a@b.org"]


@pytest.mark.parametrize("more", ["", " --always"])
def test_the_former_spelling_allows_what_waits_and_hints_once(
    more: str, notebook: Any, run_script: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(notebook, run_script)
    notebook.run(f"%autocode approve mail{more}")
    if not more:
        wait_for_question(notebook, "mail", "c@d.org")
        notebook.run("%autocode approve mail")
    assert notebook.value("mail.value") == ["sent", "sent"]
    assert capsys.readouterr().out.count("%autocode approve is now %autocode reply NAME yes …") == 1


def test_who_decides_sees_the_address_and_the_record_does_not_keep_it(notebook: Any, run_script: Any) -> None:
    begin(notebook, run_script)
    notebook.run("%autocode reply mail yes send_mail call-1 --always")
    assert "a@b.org" not in repr(notebook.value("mail.calls"))
    launch = room(notebook).launched["mail"]
    assert launch.card.wait(60)
    assert "a@b.org" not in str(launch.card.state.calls)


def test_always_allows_all_calls_of_the_tool(notebook: Any, run_script: Any) -> None:
    begin(notebook, run_script)
    notebook.run("%autocode reply mail yes send_mail call-1 --always")
    assert notebook.value("mail.value") == ["sent", "sent"]


def test_the_page_can_answer(notebook: Any, run_script: Any) -> None:
    begin(notebook, run_script)
    assert answer(room(notebook), {"action": "approve", "name": "mail"})["ok"]
    wait_for_question(notebook, "mail", "c@d.org")
    assert answer(room(notebook), {"action": "decline", "name": "mail"})["ok"]
    assert len(notebook.value("mail.calls")) == 2
    assert "not a function" in answer(room(notebook), {"action": "code", "name": "mail"})["error"]


def test_without_a_person_the_call_is_refused_with_the_reason(notebook: Any, run_script: Any) -> None:
    model = run_script(MAILS, "It is not allowed.")
    notebook.is_headless()
    notebook.run(CELL)
    assert notebook.value("calls") == []
    told = model.requests[1]["messages"][-1]["content"]
    assert "send_mail was not called: it needs a person's consent, and there is nobody to ask." in told


@pytest.mark.parametrize(("word", "called"), [("y", 2), ("n", 0)])
def test_a_terminal_asks_at_the_prompt(
    word: str, called: int, notebook: Any, run_script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_script(MAILS, "Done.")
    asked: list[str] = []
    monkeypatch.setattr(builtins, "input", lambda prompt: asked.append(prompt) or word)
    notebook.is_terminal()
    notebook.run(CELL)
    assert asked[0] == "mail: may it call send_mail(to='a@b.org')? y or n: "
    assert len(notebook.value("calls")) == called


LONG = "x" * 500 + " and a thief"
LONG_MAIL = f"```python\nsend_mail({LONG!r})\n```"


def test_the_complete_argument_is_on_the_card_and_in_the_result(notebook: Any, run_script: Any) -> None:
    run_script(LONG_MAIL, "Done.")
    notebook.run(CELL)
    wait_for_question(notebook, "mail", "SHA-256")
    assert notebook.value("mail.asked") == {"to": LONG}
    assert "and a thief" in card_html(room(notebook).launched["mail"].card.state)
    assert answer(room(notebook), {"action": "approve", "name": "mail"})["ok"]
    notebook.run("mail.wait()")
    assert notebook.value("calls") == [f"sent to {LONG}"]
    assert notebook.value("mail.asked") == {}


def test_a_terminal_shows_the_complete_argument_if_asked(
    notebook: Any, run_script: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_script(LONG_MAIL, "Done.")
    words, asked = iter(["s", "y"]), []
    monkeypatch.setattr(builtins, "input", lambda prompt: asked.append(prompt) or next(words))
    notebook.is_terminal()
    notebook.run(CELL)
    assert "(514 characters, SHA-256 " in asked[0] and asked[0].endswith("y, n, or s to show the arguments: ")
    assert "thief" not in asked[0] and "and a thief" in capsys.readouterr().out
    assert len(notebook.value("calls")) == 1


def test_the_end_of_input_is_no_decision(notebook: Any, run_script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run_script(MAILS, "It was not allowed.")
    notebook.is_terminal()

    def ended(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(builtins, "input", ended)
    notebook.run(CELL)
    assert [call.outcome for call in notebook.value("mail.calls")] == ["denied"]
    notebook.restarted()
    run_script("Written.")
    monkeypatch.setattr(builtins, "input", lambda prompt: "y")
    notebook.run(CELL)
    assert notebook.value("calls") == ["sent to a@b.org", "sent to c@d.org"]


def test_what_waits_for_nothing_cannot_be_approved(notebook: Any, run_script: Any) -> None:
    run_script("Nothing to do.")
    notebook.run(CELL.replace("\n", " --wait\n", 1))
    with pytest.raises(InvalidRequest, match="mail is not waiting for approval; it is ready"):
        notebook.run("%autocode reply mail yes send_mail call-1")
