"""What can be done with a run, by its state. The page's buttons and commands and the words on a card come from here.

Two facts only a page knows, and adds: whether the cell of a run is in its notebook, and which cells were not run.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display.calls import call_line
from autocoder_jupyter.display.parts import no_answer
from autocoder_jupyter.display.verified import OFFER, can_be_checked
from autocoder_jupyter.run.code_run import CodeRun
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import open_questions
from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.view.document import Beside, Button, Row, Span, line
from autocoder_jupyter.view.markup import element, escape, html_widget

if TYPE_CHECKING:
    from autocoder_jupyter.types import PlanQuestion


# Actions

_State = FunctionRun | CodeRun

_UNSOLVED = ("failed", "over_budget")


@dataclass(frozen=True)
class Action:
    """One action.

    Args:
        name: the command of the page, without `autocoder-jupyter:`, or `versions`, the list in its panel.
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
    return state.finished and state.phase != "ready" and not state.asks_model


def _asks_model(state: _State) -> bool:
    return state.asks_model


def _asks_price(state: _State) -> bool:
    return state.asked_at_end == "price"


def _has_another_question(state: _State) -> bool:
    """Whether the same request would end in the same way, because something else is asked first."""
    return state.asked_at_end in ("price", "name")


def _is_silent(state: _State) -> bool:
    return bool(state.silent)


def _asks(state: _State) -> bool:
    return isinstance(state, FunctionRun) and state.phase == "ready" and bool(open_questions(state))


def _can_be_called(state: _State) -> bool:
    return (state.is_ready or state.phase == "not_verified") and _is_function(state)


def _calls_an_earlier_one(state: _State) -> bool:
    """Whether a call uses the last good function, because this run has ended without one."""
    return isinstance(state, FunctionRun) and state.finished and not state.is_ready and state.has_before


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
    Action("keep", _asks),
    Action("silent-wait", _is_silent),
    Action("silent-again", _is_silent),
    Action("silent-model", _is_silent),
    Action("call", lambda state: _can_be_called(state) or _calls_an_earlier_one(state), "Run", _can_be_called),
    Action("insert-call", _can_be_called, "Insert call"),
    Action("free", _asks_price, "It is free"),
    Action("set-price", _asks_price, "Set a price"),
    Action("raise-limit", lambda state: bool(limit_flag(state)), "Raise the limit"),
    Action("retry", _finished, "Retry", lambda state: _not_ready(state) and not _has_another_question(state)),
    Action("edit-request", _always, "Edit the request", _not_ready),
    Action("edit-code", _ended_function, "Edit the code", _has_an_attempt),
    Action("choose-model", _asks_model),
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


# Commands to type
#
# For front ends without our buttons, exports and terminals.

WORDS = "autocode-words"
"""Our lab extension hides it in notebooks, where it has buttons."""


def approval_row(state: _State) -> Row:
    """How to approve without our buttons; empty if nothing is asked."""
    how = f"Allow it with {typed_consent(state)}, refuse it with %autocode reply {state.name} no."
    return Row("Answer", (line(how),) if state.consent else (), prefix="", kind=WORDS)


def typed_consent(state: _State) -> str:
    """The line that allows what a run waits for. It names that, so that it allows nothing else."""
    return f"%autocode reply {state.name} yes {' '.join(state.consent)}"


def model_row(state: _State) -> Row:
    """The models that can be asked instead, and how to choose one without our form; empty if none is asked for."""
    if not state.asks_model:
        return Row("Which model", ())
    named = [
        line(*([Span(f"-m {offer.models[0]}", "code")] if offer.models and not offer.api_base else []), offer.text)
        for offer in state.offers or ()
    ]
    setup = line(Span("%autocode setup", "code"), Span("asks for model and key, and tries them", "muted"))
    return Row("Which model", (*named, setup), prefix="", kind=WORDS)


SILENT_ANSWERS = {"wait": "Wait", "again": "Try again", "model": "Another model"}
"""The answers to a silent model, as they are typed and on their buttons."""


def silent_row(state: _State) -> Row:
    """That the model says nothing, and what can be done about it; empty if it does not."""
    if not state.silent:
        return Row("Model", ())
    words = no_answer(state)
    buttons = (Button(label, "autocode-do", f"silent-{word}") for word, label in SILENT_ANSWERS.items())
    typed = line(f"Write {_typed_silent_answers(state)}.")
    return Row(
        "Model",
        (line(Span(f"{words[:1].upper()}{words[1:]}", "warn"), *buttons), Row("", (typed,), kind=WORDS)),
        prefix="",
        refines=state.name,
    )


def silent_status(state: _State) -> tuple[str, ...]:
    """The same for the line of a terminal, whose prompt the run holds."""
    words = f"{no_answer(state)} (interrupt, then type {_typed_silent_answers(state)})"
    return (words,) if state.silent else ()


def _typed_silent_answers(state: _State) -> str:
    *others, last = SILENT_ANSWERS
    return f"%autocode reply {state.name} {', '.join(others)} or {last}"


def next_steps(state: FunctionRun) -> Row:
    """The row with the commands; empty while the run is active."""
    steps = tuple(line(Span(typed, "code"), Span(does, "muted")) for typed, does in _steps(state))
    return Row("Next", (Beside(steps),) if steps else (), kind=WORDS)


def _steps(state: FunctionRun) -> Iterator[tuple[str, str]]:
    name, plan, offered = state.name, state.plan, {} if state.replaced else buttons(state)
    if "call" in offered:
        if plan:
            same = {spec.name: spec.name for spec in plan.inputs if spec.name.isidentifier()}
            yield call_line(name, plan.inputs, same), "runs it"
        yield f"%autocode insert {name}", "copies its code into a new cell"
    if "check-split" in offered:
        yield f"{name}.split", "checks how it may be split, for large tables"
    if "inspect" in offered:
        yield name, "shows the whole result"
    if "retry" in offered:
        if state.trace and state.phase in ("cancelled", "over_budget"):
            yield f"%%autocode {name} …", "run again, continues where it stopped"
        yield f"%autocode retry {name}", "asks the model again"
    if "raise-limit" in offered and (limit := _limit(state)):
        raised = f"{raised_limit(state, limit):.12g}"
        yield f"{limit_flag(state)} {raised}", "in its cell raises the limit, or any other amount"
    if state.finished and "call" not in offered and state.solution:
        yield f"%autocode show {name} --code", "shows the best attempt"


def _limit(state: FunctionRun) -> float:
    """The limit that ended the run; 0 if the card does not have it."""
    turns = state.trace.max_turns if state.trace else 0
    return {"max_cost": state.max_cost or 0, "max_iterations": state.of, "agent_max_turns": turns}.get(state.limit, 0)


# Questions of a plan
#
# They are asked before code is written: as numbered lines, and as a form below the card.

ASKED = "autocode-asked"
"""The class of the questions on a card. The form, or the buttons, hide them where they are shown."""

HIDES_ASKED = element("style", escape(f".{ASKED} {{ display: none !important; }}"))

_LEFT_OPEN = "Let the plan decide"


def question_lines(questions: Sequence[PlanQuestion], name: str) -> Iterator[str]:
    """Each question with its numbered options, and how to answer."""
    for number, question in enumerate(questions, 1):
        yield f"{number}. {question.text}"
        for place, option in enumerate(question.options, 1):
            yield f"      {place}  {option}{'  (as planned)' if option == question.assumed else ''}"
    if questions:
        yield f"Answer by number or in your own words: %autocode reply {name} {' '.join('1' for _ in questions)}"


class QuestionForm:
    """The questions as radio buttons, each with a text field for another answer. `widget` is the form.

    Args:
        answer: called with one answer for each question, "" to keep the plan's choice. It must not block.
    """

    def __init__(self, questions: Sequence[PlanQuestion], answer: Callable[[Sequence[str]], object]) -> None:
        ipywidgets: Any = importlib.import_module("ipywidgets")
        self._answer = answer
        self._questions = questions
        self._choices = [_choice(ipywidgets, question) for question in questions]
        self._words = [_own_words(ipywidgets, question) for question in questions]
        titles = [
            html_widget(element("div", escape(f"{number}. {question.text}"), look="text"))
            for number, question in enumerate(questions, 1)
        ]
        self._go = ipywidgets.Button(description="Answer", button_style="primary", layout={"width": "auto"})
        self._leave = ipywidgets.Button(description=_LEFT_OPEN, layout={"width": "auto"})
        self._go.on_click(lambda _: self.send())
        self._leave.on_click(lambda _: answer([""] * len(questions)))
        rows = [row for group in zip(titles, self._choices, self._words, strict=True) for row in group]
        buttons = ipywidgets.HBox((self._go, self._leave))
        hides = html_widget(HIDES_ASKED, {"display": "none"})
        self.widget = ipywidgets.VBox((*rows, buttons, hides), layout={"max_width": "1292px", "margin": "6px 20px 0 0"})
        self.widget.add_class("autocode-questions")

    def send(self) -> None:
        """Send the answers; text that the user typed wins over a selected option."""
        self._answer(
            [
                words.value.strip() or (question.options[choice.index] if choice.index is not None else "")
                for question, choice, words in zip(self._questions, self._choices, self._words, strict=True)
            ]
        )

    def close(self) -> None:
        """Close all widgets."""
        for child in self.widget.children:
            for part in (*getattr(child, "children", ()), child):
                part.close()
        self.widget.close()


def _choice(ipywidgets: Any, question: PlanQuestion) -> Any:
    shown = [visible(option) for option in question.options]
    place = question.options.index(question.assumed) if question.assumed in question.options else None
    return ipywidgets.RadioButtons(
        options=list(zip(shown, range(len(shown)), strict=True)),
        index=place,
        tooltip=visible(question.text),
        layout={"width": "max-content", "max_width": "100%", "margin": "0 0 0 1em"},
    )


def _own_words(ipywidgets: Any, question: PlanQuestion) -> Any:
    return ipywidgets.Text(
        description="Other",
        placeholder="in your own words",
        tooltip=visible(question.text),
        style={"description_width": "initial"},
        layout={"width": "30em", "max_width": "calc(100% - 1em)", "margin": "0 0 6px 1em"},
    )
