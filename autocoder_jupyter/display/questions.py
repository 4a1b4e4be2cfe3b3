"""The questions of a plan, asked before code is written: as numbered lines and as a form below the card."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display.widgets import html_widget
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.view.markup import element, escape

if TYPE_CHECKING:
    from autocoder_jupyter.types import PlanQuestion

ASKED = "autocode-asked"
"""The class of the questions on a card. The form hides them where it is shown."""

_LEFT_OPEN = "Let the plan decide"


def question_lines(questions: Sequence[PlanQuestion], name: str) -> Iterator[str]:
    """Each question with its numbered options, and how to answer."""
    for number, question in enumerate(questions, 1):
        yield f"{number}. {question.text}"
        for place, option in enumerate(question.options, 1):
            yield f"      {place}  {option}{'  (as planned)' if option == question.assumed else ''}"
    if questions:
        yield f"Answer by number or in your own words: %autocode answer {name} {' '.join('1' for _ in questions)}"


class QuestionForm:
    """The questions as radio buttons, each with a text field for another answer. `widget` is the form.

    Args:
        questions: the questions of the plan.
        answer: called with one answer for each question, "" to keep the plan's choice. It must not block.

    Raises:
        ImportError: ipywidgets is not installed.
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
        hides = html_widget(element("style", escape(f".{ASKED} {{ display: none !important; }}")), {"display": "none"})
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
