"""What can be done with a run, by its state. The page's buttons and commands and the words on a card come from here.

Two facts only a page knows, and adds: whether the cell of a run is in its notebook, and which cells were not run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.settings.config import RECORDS

ActionName = Literal[
    "cancel", "approve", "decline", "call", "insert-call", "retry", "edit-request", "edit-code", "raise-limit",
    "inspect", "insert-code", "export", "versions",
]  # fmt: skip
"""The names of the page's commands, without `autocoder-jupyter:`, and `versions`, the list in its panel."""


_State = FunctionRun | CodeRun

_UNSOLVED = ("failed", "over_budget")


@dataclass(frozen=True)
class Action:
    """One action.

    Args:
        name: the command of the page.
        fits: whether it is possible.
        on_card: whether the card has a button for it, if it is possible.
    """

    name: ActionName
    fits: Callable[[_State], bool]
    on_card: Callable[[_State], bool]


def _never(state: _State) -> bool:
    return False


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


def _is_function(state: _State) -> bool:
    return not isinstance(state, CodeRun)


ACTIONS = (
    Action("cancel", lambda state: not state.finished, _always),
    Action("approve", lambda state: bool(state.approval), _never),
    Action("decline", lambda state: bool(state.approval), _never),
    Action("call", _can_be_called, _always),
    Action("insert-call", _can_be_called, _always),
    Action("retry", _finished, _not_ready),
    Action("edit-request", _always, _not_ready),
    Action("edit-code", lambda state: state.finished and _is_function(state), lambda state: state.phase in _UNSOLVED),
    Action("raise-limit", lambda state: bool(limit_flag(state)), _always),
    Action("inspect", _always, _ready),
    Action("insert-code", _has_code, _never),
    Action("export", _can_be_called, _never),
    Action("versions", lambda state: state.finished and _is_function(state), _never),
)
"""All actions, in the order of the buttons on a card."""


def possible(state: _State) -> tuple[ActionName, ...]:
    """The actions that are possible in a state."""
    return tuple(action.name for action in ACTIONS if action.fits(state))


def on_card(state: _State) -> tuple[ActionName, ...]:
    """Those of them for which the card has a button, in order."""
    return tuple(action.name for action in ACTIONS if action.fits(state) and action.on_card(state))


def limit_flag(state: _State) -> str:
    """The option of a cell that raises the limit by which the run was ended, as `--max-cost`; "" if there is none."""
    record = RECORDS.get(state.limit)
    flags = [flag for option in record.options for flag in option.flags] if record else []
    return flags[-1] if flags else ""
