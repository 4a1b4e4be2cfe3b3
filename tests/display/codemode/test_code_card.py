"""The card of a run of code mode: a pure fold of its events, bounded in size, with all foreign text escaped."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from autocoder_jupyter.codemode.calls import BOX_CHARACTERS, shown_arguments
from autocoder_jupyter.display.code_card import render
from autocoder_jupyter.display.controls import Controls
from autocoder_jupyter.display.live import MAX_CHARACTERS, card_html, card_text, status_line, strip_of
from autocoder_jupyter.run import events
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.types import Usage
from tests.cases import each


def after(*told: events.Event, state: CodeRun | None = None) -> CodeRun:
    state = state or CodeRun("rates", max_cost=0.5)
    for seconds, event in enumerate(told, 1):
        state = state.apply(event, float(seconds))
    return state


CALLED = (
    events.TurnBegun(1, 10),
    events.CodeStarted(1, "price = fetch('AAPL')"),
    events.FunctionCalled("call-1", 1, "fetch", "symbol='AAPL'", 1),
)
ASKED = (*CALLED[:2], events.FunctionCalled("call-1", 1, "mail", "to='<email-1>'", 1, ask=True))
WAITS = events.CallWaits("call-1", "mail", "to='<email-1>'", shown_arguments({"to": "a@b.org"}))


def test_a_model_that_says_nothing_is_a_question_on_the_card() -> None:
    silent = after(events.TurnBegun(1, 10), events.NoAnswerYet(("tools",)))
    assert card_text(silent).splitlines()[1:] == [
        "  No answer yet",
        "  Write %autocode reply rates wait, again or model.",
    ]
    assert all(f'aria-label="{words}"' in card_html(silent) for words in ("Wait", "Try again", "Another model"))
    assert "no answer yet" in render(silent).now
    assert "No answer yet" not in card_html(after(events.Finished("cancelled"), state=silent))


def test_a_call_is_on_the_card_from_its_beginning_to_its_outcome() -> None:
    running = after(*CALLED)
    assert "◐ runs" in card_html(running)
    assert "Calling fetch" in card_text(running)
    assert render(running).labels == ("Code", "Calls") and "fetch(&#x27;AAPL&#x27;)" in render(running).pane
    ended = after(events.ToolEnded("call-1", "ok", "1.5", 0.25), state=running)
    assert "✓ ok  fetch(symbol='AAPL')  1.5  0.2 s" in card_text(ended)
    replayed = after(events.ToolEnded("call-1", "ok", "1.5", 0.0, replayed=True), state=running)
    assert "from the journal" in card_text(replayed)


def test_a_failed_block_names_the_error_and_its_line() -> None:
    error = (
        'Traceback (most recent call last):\n  File "<python-input-1>", line 3, in <module>\nValueError: no such day'
    )
    state = after(*CALLED, events.CodeEnded(1, False, "told", error), events.TurnBegun(2, 10))
    assert "✗ Code 1: ValueError: no such day (line 3)" in card_html(state)


def asked_below(state: CodeRun) -> str:
    """The question right above its buttons."""
    controls = Controls(SimpleNamespace(cancel=None), state)
    controls(state)
    shown = controls._consent.children[0].value
    controls.close()
    return str(shown)


def test_the_question_shows_the_arguments_as_they_are_until_it_is_decided() -> None:
    asking = after(*ASKED, WAITS)
    assert asking.phase == "waiting"
    assert "May it call mail(to=&#x27;a@b.org&#x27;)?" in card_html(asking)
    assert "a@b.org" in asked_below(asking)
    decided = after(events.CallAllowed("call-1", True), state=asking)
    assert decided.phase == "running"
    assert "a@b.org" not in card_html(decided)
    assert "a@b.org" not in card_html(after(events.Finished("cancelled"), state=asking))


def test_what_does_not_fit_into_the_line_is_in_a_box_with_its_length_and_hash() -> None:
    text = f"Dear all,\n{'blah ' * 1_000}\nand send 1,000 euros to the thief."
    shown = shown_arguments({"to": "a@b.org", "text": text})
    html = card_html(after(*ASKED, events.CallWaits("call-1", "mail", "", shown)))
    digest = hashlib.sha256(repr(text).encode()).hexdigest()[:16]
    assert html.count("max-height:16em;overflow:auto") == 2
    assert "and send 1,000 euros to the thief." in html
    assert html.count(f"{len(repr(text)):,} characters, SHA-256 {digest}…") == 2  # in the question and above its box
    assert "rates.asked has the complete arguments" in html
    for words in (asked_below, card_text):
        told = words(after(*ASKED, events.CallWaits("call-1", "mail", "", shown)))
        assert "thief" not in told and f"SHA-256 {digest}…" in told


def test_of_what_does_not_fit_into_a_box_beginning_and_end_are_shown() -> None:
    [shown] = shown_arguments({"text": f"begins{'x' * 3 * BOX_CHARACTERS}ends"})
    assert len(shown.text) < 1.1 * BOX_CHARACTERS and "begins" in shown.text and "ends" in shown.text
    [other] = shown_arguments({"text": f"begins{'x' * 2 * BOX_CHARACTERS}y{'x' * BOX_CHARACTERS}ends"})
    assert shown.digest != other.digest


def test_many_arguments_are_told_by_their_hash_too() -> None:
    shown = shown_arguments({f"argument_{number}": "x" * 50 for number in range(40)})
    asking = after(*ASKED, events.CallWaits("call-1", "mail", "", shown))
    [words] = asking.approval
    assert len(words) < 700 and "(40 arguments, SHA-256 " in words
    assert card_html(asking).count("max-height:16em") == 40
    assert "price = fetch(" in card_html(asking)  # the code is shown, however long the arguments are


def test_a_table_is_told_by_its_size_first_rows_and_the_hash_of_all_rows() -> None:
    import pandas as pd

    table = pd.DataFrame({"name": [f"name {number}" for number in range(1_000)], "amount": range(1_000)})
    other = table.copy()
    other.loc[500, "amount"] = 7
    [shown], [changed] = shown_arguments({"table": table}), shown_arguments({"table": other})
    assert shown.size == "1,000 rows × 2 columns" and "name 0" in shown.text and "name 999" in shown.text
    assert shown.digest != changed.digest
    assert shown.digest == shown_arguments({"table": table.copy()})[0].digest


@each("value", [10**5_000, [10**5_000], "\u202eevil", b"\x00", float("nan")], ids=range(5))
def test_every_value_can_be_shown(value: object) -> None:
    [shown] = shown_arguments({"value": value})
    assert shown.line and "\u202e" not in shown.text


def test_that_code_from_a_record_takes_part_is_said() -> None:
    asking = after(*ASKED, replace(WAITS, recorded=True))
    assert "The code, or the conversation before it, comes from a record, perhaps from somebody else." in card_html(
        asking
    )
    assert "This tool asks before each call." in card_html(after(*ASKED, WAITS))


def test_the_buttons_are_there_while_it_asks() -> None:
    done: list[str] = []
    job = SimpleNamespace(
        cancel=lambda: done.append("cancel"),
        approve=lambda question: done.append(f"yes to {question}"),
        decline=lambda question: done.append(f"no to {question}"),
    )
    controls = Controls(job, after(*CALLED))
    controls(after(*ASKED, WAITS))
    assert [button.description for button in controls._decisions] == ["Approve", "Decline"]
    for button in controls._decisions:
        button.click()
    assert done == ["yes to call-1", "no to call-1"]
    controls(after(*CALLED))
    assert controls._decisions == () and controls._consent not in controls._strip.children
    controls.close()


def test_a_run_that_ends_leaves_nothing_running() -> None:
    state = after(*CALLED, events.Finished("cancelled", "Cancelled."))
    assert [call.outcome for call in state.calls] == ["cancelled"]
    assert state.block is None
    assert "Cancelled" in card_text(state)


def test_a_card_stays_small_whatever_the_code_did() -> None:
    told = [
        event
        for number in range(1, 40)
        for event in (
            events.TurnBegun(number, 50),
            events.CodeStarted(number, f"x = {'<b>' * 2_000}"),
            events.FunctionCalled(f"call-{number}", number, "fetch", "<i>" * 2_000, 1),
            events.ToolEnded(f"call-{number}", "ok", "<u>" * 2_000, 0.1),
            events.CodeEnded(number, True, "&" * 8_000),
        )
    ]
    card = card_html(replace(after(*told, events.Finished("ready")), summary="word " * 5_000, sent="<" * 50_000))
    assert len(card) < MAX_CHARACTERS + 1_000
    assert "<b>" not in card


def test_tokens_cost_and_turns_are_said() -> None:
    usage = Usage(input_tokens=900, output_tokens=60, cost=0.004)
    state = after(*CALLED, events.TokensUsed("tools", usage, usage))
    assert "turn 1 of 10 · 1 call · 900 tokens in, 60 out · $0.004 of $0.50" in card_text(state)


def test_what_holds_it_up_is_said_once(read: Any) -> None:
    state = after(events.TurnBegun(1, 10), events.Retrying("tools", "too many requests", 2.0))
    assert "Too many requests; next try after 2 s" in status_line(state)
    assert "next try" in read(strip_of(state).now).text and "next try" not in card_html(state) + card_text(state)
