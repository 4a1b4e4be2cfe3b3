"""What can be done with a run, by its state. The page's buttons and commands and the words on a card come from here.

Two facts only a page knows, and adds: whether the cell of a run is in its notebook, and which cells were not run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from autocoder_jupyter.display.split import OFFER, can_be_checked
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.settings.config import RECORDS

_State = FunctionRun | CodeRun

_UNSOLVED = ("failed", "over_budget")


@dataclass(frozen=True)
class Action:
    """One action.

    Args:
        name: the command of the page, without `autocoder-jupyter:`, or `versions`, the list in its panel.
        fits: whether it is possible.
        button: the label of its button on the card; "" for none.
        on_card: whether the card has this button, if the action is possible.
    """

    name: str
    fits: Callable[[_State], bool]
    button: str = ""
    on_card: Callable[[_State], bool] = lambda state: True


def _always(state: _State) -> bool:
    return True


def _finished(state: _State) -> bool:
    return state.finished


def _ready(state: _State) -> bool:
    return state.is_ready


def _not_ready(state: _State) -> bool:
    return state.finished and state.phase != "ready"


def _can_be_called(state: _State) -> bool:
    return (state.is_ready or state.phase == "not_verified") and _is_function(state)


def _has_code(state: _State) -> bool:
    return _is_function(state) and (state.is_ready or state.phase in ("not_verified", "failed"))


def _has_an_attempt(state: _State) -> bool:
    return isinstance(state, FunctionRun) and state.phase in _UNSOLVED and bool(state.solution)


def _ended_function(state: _State) -> bool:
    return state.finished and _is_function(state)


def _is_function(state: _State) -> bool:
    return not isinstance(state, CodeRun)


ACTIONS = (
    Action("cancel", lambda state: not state.finished, "Cancel"),
    Action("approve", lambda state: bool(state.approval)),
    Action("decline", lambda state: bool(state.approval)),
    Action("call", _can_be_called, "Run"),
    Action("insert-call", _can_be_called, "Insert call"),
    Action("retry", _finished, "Retry", _not_ready),
    Action("edit-request", _always, "Edit the request", _not_ready),
    Action("edit-code", _ended_function, "Edit the code", _has_an_attempt),
    Action("raise-limit", lambda state: bool(limit_flag(state)), "Raise the limit"),
    Action("inspect", _always, "Inspect", _ready),
    Action("check-split", can_be_checked, OFFER),
    Action("insert-code", _has_code),
    Action("export", _can_be_called),
    Action("versions", _ended_function),
)
"""All actions, in the order of the buttons on a card."""


def possible(state: _State) -> tuple[str, ...]:
    """The names of the actions that are possible in a state."""
    return tuple(action.name for action in ACTIONS if action.fits(state))


def buttons(state: _State) -> dict[str, str]:
    """The labels of the card's buttons in a state, in order, by the names of their actions."""
    offered = (action for action in ACTIONS if action.button and action.fits(state) and action.on_card(state))
    return {action.name: action.button for action in offered}


def limit_flag(state: _State) -> str:
    """The option of a cell that raises the limit by which the run was ended, as `--max-cost`; "" if there is none."""
    record = RECORDS.get(state.limit)
    flags = [flag for option in record.options for flag in option.flags] if record else []
    return flags[-1] if flags else ""


def raised_limit(state: _State, limit: float) -> float:
    """A limit that is worth a further run: twice as much, and at least twice what its next question may take.

    The answers so far are replayed at no cost, so only what is still asked counts.
    """
    needed = 2 * state.needs
    if needed <= 2 * limit:
        return 2 * limit
    unit = 10.0 ** (math.floor(math.log10(needed)) - 1)  # two digits
    return float(f"{math.ceil(needed / unit) * unit:.2g}")
