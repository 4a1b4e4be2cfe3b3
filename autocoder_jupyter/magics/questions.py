"""Answer the questions of a plan: with `%autocode answer`, or one after the other at a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from autocoder_jupyter.display.actions import question_lines
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.notebook import NotebookJob
from autocoder_jupyter.untrusted.parsing import visible

if TYPE_CHECKING:
    from autocoder_jupyter.types import PlanQuestion


def read_answers(questions: Sequence[PlanQuestion], words: Sequence[str]) -> tuple[str, ...]:
    """One answer for each question: the option with a number, or the text itself; "" and "-" leave it to the plan.

    Raises:
        InvalidRequest: there are more answers than questions, or there is no option with a number.
    """
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
