from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from autocoder_jupyter.display.actions import ACTIONS, buttons, limit_flag, possible, raised_limit
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.function_run import FunctionRun
from tests.cases import each

FUNCTION, TOOLS = FunctionRun("growth"), CodeRun("rates")


@each(
    ("state", "offered"),
    [
        (FunctionRun("growth"), ("cancel",)),
        (FunctionRun("growth", phase="ready"), ("call", "insert-call", "inspect")),
        (FunctionRun("growth", phase="failed"), ("retry", "edit-request")),
        (FunctionRun("growth", phase="failed", solution="x"), ("retry", "edit-request", "edit-code")),
        (FunctionRun("growth", phase="cancelled"), ("retry", "edit-request")),
        (
            FunctionRun("growth", phase="over_budget", limit="max_cost", solution="x"),
            ("raise-limit", "retry", "edit-request", "edit-code"),
        ),
        (FunctionRun("growth", phase="failed", option="--rename a=b", asks_for="name"), ("edit-request",)),
        (FunctionRun("growth", phase="failed", asks_for="price"), ("free", "set-price", "edit-request")),
        (CodeRun("rates", phase="ready"), ("inspect",)),
        (CodeRun("rates", phase="failed"), ("retry", "edit-request")),
    ],
    ids=[
        "running",
        "ready",
        "failed",
        "failed with code",
        "cancelled",
        "over budget",
        "renamed",
        "without a price",
        "ready answer",
        "failed answer",
    ],
)
def test_a_card_has_the_buttons_that_help(state: Any, offered: tuple[str, ...]) -> None:
    assert tuple(buttons(state)) == offered
    assert set(offered) <= set(possible(state))


@each("phase", ["running", "waiting", "ready", "failed", "cancelled", "over_budget"])
def test_an_answer_of_tools_is_never_called_inserted_or_exported(phase: Any) -> None:
    of_functions = {"call", "insert-call", "insert-code", "edit-code", "export"}
    assert not of_functions & set(possible(CodeRun("rates", phase=phase)))


def test_what_waits_for_answers_cannot_be_approved() -> None:
    assert "approve" not in possible(FunctionRun("growth", phase="waiting"))
    assert {"approve", "decline"} <= set(possible(FunctionRun("growth", phase="waiting", approval=("fiscalmonths",))))


def test_a_limit_can_be_raised_where_a_cell_has_an_option_for_it() -> None:
    assert limit_flag(FunctionRun("growth", limit="max_iterations")) == "--max-iterations"
    assert limit_flag(CodeRun("rates", limit="max_seconds")) == ""
    assert "raise-limit" not in possible(CodeRun("rates", phase="over_budget", limit="max_seconds"))


SOURCES = Path(__file__).parents[2] / "labextension" / "src"


def test_each_action_is_a_command_of_the_page() -> None:
    commands = set(re.findall(r"action: '([a-z-]+)'", (SOURCES / "commands/acts.ts").read_text("utf-8")))
    names = [action.name for action in ACTIONS if action.name != "versions"]  # a part of the panel
    assert len(names) == len(set(names))
    assert commands - set(names) == {"run", "reveal-cell"}  # the page's own, which need no kernel
    assert set(names) <= commands
    used = {
        name
        for path in SOURCES.rglob("*.ts*")
        for name in re.findall(r"(?:commandOf\(|execute\(|allows\(job, )'([a-z-]+)'", path.read_text("utf-8"))
    }
    assert "approve" in used and used <= commands | {"new-cell", "open-panel", "first-steps"}


@each(
    ("limit", "needs", "raised"),
    [(4, 0, 8), (0.5, 0.1, 1.0), (0.001, 0.0312, 0.063), (2500, 61_234, 130_000)],
    ids=["twice", "enough", "dollars", "tokens"],
)
def test_a_raised_limit_has_room_for_the_next_question(limit: float, needs: float, raised: float) -> None:
    assert raised_limit(FunctionRun("growth", phase="over_budget", needs=needs), limit) == raised
