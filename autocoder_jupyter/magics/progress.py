"""What a waiting cell prints in a terminal: the progress of the run, and the questions of its plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.display.actions import question_lines
from autocoder_jupyter.display.live import LiveCard, Shown, card_text, current_step, ended_calls, status_line
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.notebook import NotebookJob
from autocoder_jupyter.magics.terminal import columns, saved
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.view import markup

if TYPE_CHECKING:
    from autocoder_jupyter.types import PlanQuestion


class TerminalProgress:
    """Prints a line when a step begins or a tool call has ended, and the card at the end.

    The paths of files with the pictures of outputs follow the card.

    Call it only on the thread that waits.

    Args:
        has_prompt: whether a prompt asks for consent. If not, the card is printed, which explains how to give it.
    """

    def __init__(self, card: LiveCard[Any], *, has_prompt: bool = False) -> None:
        self._card = card
        self._has_prompt = has_prompt
        self._step: object = None
        self._printed: set[str] = set()

    def __call__(self) -> None:
        """Print what is new."""
        state: Shown = self._card.state
        for call, words in ended_calls(state).items():
            if call not in self._printed:
                self._printed.add(call)
                print(markup.lines([f"  {words}"]))
        step = current_step(state)
        if step != self._step:
            self._step = step
            asks = bool(state.question) and not self._has_prompt
            is_whole = (state.finished and not error_says_all(state)) or asks
            print(card_text(state, columns()) if is_whole else status_line(state))
            if state.finished and isinstance(state, FunctionRun):
                print(saved(_pictures(state)), end="")


def error_says_all(state: Shown) -> bool:
    """Whether the error that the cell raises next has all that a card would show, because there is no code."""
    return isinstance(state, FunctionRun) and state.phase in ("failed", "over_budget") and not state.solution


def _pictures(run: FunctionRun) -> dict[str, bytes]:
    """The pictures of the outputs that a card shows, by the name of the output."""
    glimpses = run.outputs.glimpses if run.outputs is not None else ()
    return {visible(glimpse.name): glimpse.picture for glimpse in glimpses if glimpse.picture}


# Questions of a plan: answered with `%autocode reply`, or one after the other at a prompt


def read_answers(questions: Sequence[PlanQuestion], words: Sequence[str]) -> tuple[str, ...]:
    """One answer for each question: the option with a number, or the text itself; "" and "-" leave it to the plan."""
    if len(words) > len(questions):
        raise InvalidRequest(
            f"There are {len(questions)} questions and {len(words)} answers.",
            hint="Put an answer of several words in quotes.",
        )
    answers = [_answer(question, word) for question, word in zip(questions, words, strict=False)]
    return (*answers, *("" for _ in questions[len(words) :]))


def _answer(question: PlanQuestion, word: str) -> str:
    text = word.strip()
    if text in ("", "-"):
        return ""
    if not text.isdecimal():
        return text
    place = int(text) if len(text) < 4 else 0
    if not 1 <= place <= len(question.options):
        raise InvalidRequest(
            f"{visible(question.text)!r} has no option {text}.",
            hint=f"Choose 1 to {len(question.options)}, or write your own text.",
        )
    return question.options[place - 1]


def ask_at_prompt(job: NotebookJob) -> None:
    """Ask the questions of a job's plan with `input`. The end of input leaves the rest to the plan."""
    questions = job.pending_questions
    if questions is None:
        return
    *shown, _ = question_lines(questions, job.name)
    print(f"{job.name}: the plan has questions before code is written.")
    print("\n".join(visible(line) for line in shown))
    answers: list[str] = []
    while len(answers) < len(questions):
        try:
            word = input(f"{len(answers) + 1}. A number, your own text, or nothing to let the plan decide: ")
            answers += read_answers(questions[len(answers) : len(answers) + 1], [word])
        except EOFError:
            answers.append("")
        except InvalidRequest as error:
            print(error)
    job.answer(answers)
