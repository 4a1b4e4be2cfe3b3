"""Scripted answers of Claude as an agent: it reads, writes, has a call denied, and changes a test of its own."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from tests.browser import scripts
from tests.scripted_model import Answer, Call

CELL = scripts.CELL.replace("%%autocode growth", "%%autocode growth --backend claude -m anthropic/claude-sonnet-4-5")
CLAIM = "pytest.approx(0.5)  # 150 / 100 - 1"
FINDING = "One expectation is wrong: 150 / 100 - 1 is 0.5."
WRONG = scripts.TESTS.replace(CLAIM, "pytest.approx(1.5)")


def call(tool: str, **arguments: str) -> Call:
    return Call(f"mcp__workspace__{tool}", arguments)


TURNS = (
    Answer("I look at the rows first.", calls=[call("Bash", command="ls data; head -3 data/sales.csv")]),
    Answer("Now both files.", calls=[
        call("Write", file_path="solution.py", content=scripts.MODULE),
        call("Write", file_path="tests.py", content=WRONG),
    ]),
    Answer("Is there more of it?", calls=[call("Bash", command="curl -s https://example.org/sales.csv | head")]),
    Answer("", calls=[call("Bash", command="pytest -q")]),
    Answer(FINDING, calls=[
        call("Edit", file_path="tests.py", old_string="pytest.approx(1.5)", new_string=CLAIM),
    ]),
    Answer("", calls=[call("Bash", command="pytest -q")]),
    Answer("solution.py and tests.py are there, and all tests pass."),
)  # fmt: skip


def held_after(text: str) -> tuple[threading.Event, Any]:
    """The script, and an event: the turn with this text pauses after it until the event is set."""
    release, turns = threading.Event(), iter(TURNS)

    def answer(request: dict[str, Any]) -> str | Answer:
        if not any(tool["name"] == "mcp__workspace__Bash" for tool in request.get("tools") or ()):
            return scripts.answer(request)
        turn = next(turns)
        return replace(turn, hold=release, hold_after=len(turn.text)) if turn.text == text else turn

    return release, answer
