"""The part of the card about an agent."""

from __future__ import annotations

import re
from typing import Any

import pytest

from autocoder_jupyter.display import strip
from autocoder_jupyter.display.live import card_html, card_text, status_line, step
from autocoder_jupyter.run.events import (
    AgentText,
    EnvironmentReady,
    Event,
    EvidenceGathered,
    Finished,
    Retrying,
    StageStarted,
    SuiteChanged,
    ToolCalled,
    ToolEnded,
    TurnBegun,
)
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import Evidence, TestOutcome

LOOKS = (ToolCalled("1", 1, "Bash", "ls", "safe"), ToolEnded("1", "ok", "solution.py", 0.21))
WRITES = (ToolCalled("2", 2, "Write", "solution.py", "safe"), ToolEnded("2", "ok", seconds=0.01))
TESTS = (
    ToolCalled("3", 3, "Bash", "pytest -q", "intercepted", "runs in our own test runner"),
    ToolEnded("3", "failed", "1 failed", 1.5),
)
FETCHES = (ToolCalled("4", 4, "Bash", "curl https://x.example", "denied", "no network"), ToolEnded("4", "denied"))
GOOD = EvidenceGathered(1, Evidence(tests=(TestOutcome(id="test_a", outcome="passed"),)))


def fold(*events: Event) -> FunctionRun:
    state = FunctionRun("growth", backend="claude").apply(StageStarted("code", 1, 3)).apply(TurnBegun(4, 50))
    for event in events:
        state = state.apply(event)
    return state


def calls(page: Any) -> str:
    return " ".join(page.text.split())


def test_calls_are_shown_as_they_happen_with_class_reason_outcome_and_time(read: Any) -> None:
    state = fold(*LOOKS, *TESTS, *FETCHES, ToolCalled("5", 4, "Bash", "python try.py", "safe"))
    text = calls(read(card_html(state)))
    assert "✓ ok Bash ls · safe · 0.2 s" in text
    assert "✗ failed Bash pytest -q · intercepted: runs in our own test runner · 1.5 s" in text
    assert "⊘ denied Bash curl https://x.example · no network" in text
    assert "◐ runs Bash python try.py · safe" in text
    assert "backend: claude · turn 4 of 50" in text


def test_a_denied_call_is_told_by_a_sign_a_word_and_an_edge(read: Any) -> None:
    page = card_html(fold(*LOOKS, *FETCHES))
    edges = re.findall(r'role="listitem" style="[^"]*?gap:12px(?:;[^"]*border-left-color:([^;"]+))?"', page)
    assert edges == ["", "var(--a-bad,#e22)"]
    assert "⊘ denied" in read(page).text


def test_a_long_trace_shows_the_newest_and_folds_the_others(read: Any) -> None:
    many = [
        event
        for number in range(30)
        for event in (ToolCalled(str(number), 4, "Bash", f"echo {number}", "safe"), ToolEnded(str(number), "ok"))
    ]
    view, _, folded = card_html(fold(*many)).partition("<details")
    assert re.findall(r"echo (\d+)", view) == ["25", "26", "27", "28", "29"]
    assert "25 earlier calls, see History below" in view
    assert re.findall(r"echo (\d+)", folded.partition("<pre")[0]) == [str(number) for number in range(25)]


@pytest.mark.parametrize("finished", [False, True])
def test_a_card_stays_small_whatever_an_agent_calls(finished: bool) -> None:
    long = "x" * 5_000 + "\nline" * 500
    many = [
        event
        for number in range(400)
        for event in (
            ToolCalled(str(number), 4, f"Tool{number}", long, "denied", long),
            ToolEnded(str(number), "denied", long),
        )
    ]
    state = fold(*many, AgentText(4, long), *((Finished("failed", "no"),) if finished else ()))
    assert len(card_html(state)) < 20_000


def test_replayed_calls_are_marked(read: Any) -> None:
    state = fold(LOOKS[0], ToolEnded("1", "ok", replayed=True))
    assert "✓ ok Bash ls · safe · ↺ replayed" in calls(read(card_html(state)))
    assert "1 call: Bash 1; 1 safe; 1 replayed" in read(card_html(state.apply(Finished("ready")))).text


def test_a_summary_closes_it(read: Any) -> None:
    ready = EnvironmentReady("local:abc", ("pandas==3.1", "scipy==1.16"), 1.0, ("scipy",))
    state = fold(ready, *LOOKS, *WRITES, *TESTS, *FETCHES, GOOD, Finished("ready"))
    first, _, history = read(card_html(state)).text.partition("History")
    assert "4 of 50 turns" in first and "curl" not in first
    assert "4 calls: Bash 3, Write 1; 2 safe, 1 intercepted, 1 denied; 1 failed" in history
    assert "packages: scipy; image: local:abc" in history and "curl https://x.example" in history


def test_a_suite_that_was_changed_after_a_failure_is_a_warning_beside_the_evidence(read: Any) -> None:
    state = fold(*TESTS, SuiteChanged(("test_sum", "test_ties")), GOOD, Finished("ready"))
    warning = "Tests changed by the agent since it first wrote them: test_sum, test_ties"
    first, _, evidence = read(card_html(state)).text.partition("Evidence")
    assert "no second opinion · tests were changed" in first and f"Warnings ⚠ {warning}" in evidence
    assert "tests were changed" in card_text(state)
    assert "Ready, not fully checked" in status_line(state)


def test_turns_that_were_used_up_say_how_to_raise_the_limit() -> None:
    state = fold(*LOOKS, Finished("over_budget", "The agent has used its 50 turns.", "agent_max_turns"))
    assert "--agent-max-turns 100 in its cell raises the limit" in card_text(state)


def test_a_kept_function_still_says_that_its_tests_were_changed(read: Any) -> None:
    state = FunctionRun("growth").apply(SuiteChanged(("test_sum",))).apply(GOOD).apply(Finished("ready"))
    text = read(card_html(state)).text
    assert "Tests changed by the agent since it first wrote them: test_sum" in text
    assert "Agent" not in text


def test_what_runs_when_it_is_cancelled_counts_as_cancelled() -> None:
    state = fold(ToolCalled("9", 4, "Bash", "sleep 60", "safe"), Finished("cancelled"))
    assert "1 call: Bash 1; 1 safe; 1 cancelled" in card_html(state)
    assert "%%autocode growth … run again, continues where it stopped" in card_text(state)


def test_the_end_of_a_call_that_nobody_heard_begin_is_not_counted() -> None:
    assert fold(ToolEnded("unknown", "ok")).agent == fold().agent


def test_the_strip_shows_what_it_says_and_what_runs(read: Any) -> None:
    shown = strip.render(fold(AgentText(4, "Let me "), AgentText(4, "look."), LOOKS[0]))
    assert shown.labels == ("Code",) and read(shown.pane).text.endswith("Let me look.◐ runs Bash ls")


def test_the_strip_says_why_an_agent_is_silent_until_it_speaks_again(read: Any) -> None:
    silent = fold(Retrying("code", "overloaded", 4.0))
    assert "Overloaded; next try after 4 s" in read(strip.render(silent).now).text
    assert "verloaded" not in read(strip.render(silent.apply(AgentText(4, "So"))).now).text


def test_each_call_changes_what_its_card_is_known_by() -> None:
    states = [fold(), fold(LOOKS[0]), fold(*LOOKS), fold(*LOOKS, TurnBegun(5, 50))]
    assert len({step(state) for state in states}) == len(states)
