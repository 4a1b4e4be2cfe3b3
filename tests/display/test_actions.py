from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from autocoder_jupyter.display.actions import ACTIONS, ActionName, limit_flag, on_card, possible
from autocoder_jupyter.display.codemode.state import CodeState
from autocoder_jupyter.display.state import CardState

FUNCTION, TOOLS = CardState("growth"), CodeState("rates")


@pytest.mark.parametrize(
    ("state", "offered"),
    [
        (CardState("growth"), ("cancel",)),
        (CardState("growth", phase="ready"), ("call", "insert-call", "inspect")),
        (CardState("growth", phase="failed"), ("retry", "edit-request", "edit-code")),
        (CardState("growth", phase="cancelled"), ("retry", "edit-request")),
        (
            CardState("growth", phase="over_budget", limit="max_cost"),
            ("retry", "edit-request", "edit-code", "raise-limit"),
        ),
        (CodeState("rates", phase="ready"), ("inspect",)),
        (CodeState("rates", phase="failed"), ("retry", "edit-request")),
    ],
    ids=["running", "ready", "failed", "cancelled", "over budget", "ready answer", "failed answer"],
)
def test_a_card_has_the_buttons_that_help(state: Any, offered: tuple[ActionName, ...]) -> None:
    assert on_card(state) == offered
    assert set(offered) <= set(possible(state))


@pytest.mark.parametrize("phase", ["running", "waiting", "ready", "failed", "cancelled", "over_budget"])
def test_an_answer_of_tools_is_never_called_inserted_or_exported(phase: Any) -> None:
    of_functions = {"call", "insert-call", "insert-code", "edit-code", "export"}
    assert not of_functions & set(possible(CodeState("rates", phase=phase)))


def test_what_waits_for_answers_cannot_be_approved() -> None:
    assert "approve" not in possible(CardState("growth", phase="waiting"))
    assert {"approve", "decline"} <= set(possible(CardState("growth", phase="waiting", approval=("fiscalmonths",))))


def test_a_limit_can_be_raised_where_a_cell_has_an_option_for_it() -> None:
    assert limit_flag(CardState("growth", limit="max_iterations")) == "--max-iterations"
    assert limit_flag(CodeState("rates", limit="max_seconds")) == ""
    assert "raise-limit" not in possible(CodeState("rates", phase="over_budget", limit="max_seconds"))


def test_each_action_is_a_command_of_the_page() -> None:
    assert [action.name for action in ACTIONS] == list(get_args(ActionName))
    ids = Path(__file__, "../../../labextension/src/commands/ids.ts").resolve().read_text("utf-8")
    commands = [name for name in get_args(ActionName) if name != "versions"]  # a part of the panel
    assert all(json.dumps(f"autocoder-jupyter:{name}").replace('"', "'") in ids for name in commands)
