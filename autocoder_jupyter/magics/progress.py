"""Print the progress of a run in a terminal while its cell waits."""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autocoder_jupyter.codec.pictures import size_of
from autocoder_jupyter.data.overview import PICTURE_PIXELS
from autocoder_jupyter.display.actions import question_lines
from autocoder_jupyter.display.live import LiveCard, Shown, card_text, current_step, ended_calls, status_line
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.notebook import NotebookJob
from autocoder_jupyter.magics.terminal import columns, drawn
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.view import markup

if TYPE_CHECKING:
    from autocoder_jupyter.types import PlanQuestion


class TerminalProgress:
    """Prints a line when a step begins or a tool call has ended, and the card at the end.

    Pictures of outputs follow the card if the terminal can draw them.

    Call it only on the thread that waits.

    Args:
        has_prompt: whether a prompt asks for consent. If not, the card is printed, which says how to give it.
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
            is_whole = (state.finished and not _error_says_all(state)) or asks
            print(card_text(state, columns()) if is_whole else status_line(state))
            if state.finished and isinstance(state, FunctionRun):
                print(drawn(_pictures(state), os.environ, sys.stdout), end="")


def _error_says_all(state: Shown) -> bool:
    """Whether the error that the cell raises next has all that a card would show: there is no code to tell of."""
    return isinstance(state, FunctionRun) and state.phase in ("failed", "over_budget") and not state.solution


def _pictures(run: FunctionRun) -> list[bytes]:
    """The pictures of the outputs, those that a card shows."""
    glimpses = run.outputs.glimpses if run.outputs is not None else ()
    return [glimpse.picture for glimpse in glimpses if glimpse.picture]


# Answer the questions of a plan: with `%autocode answer`, or one after the other at a prompt.


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


# A picture as sixels: six pixels below each other are one character, for each colour that is in them.
#
# The format is in chapter 14 of DEC's "VT330/VT340 Programmer Reference Manual, Volume 2" (EK-VT3XX-GP-002), which is
# at https://vt100.net/docs/vt3xx-gp/chapter14.html. That terminal has 16 colours; those of today have at least 256.


SIDES = 1_000, 2_000
"""The largest width and height in pixels. A larger picture is scaled down."""

COLOURS = 256
_GROUND = "white"
"""What is behind a transparent picture, as on a card: the ink of a chart is dark."""

_ROWS = 6
_RUN = re.compile(rb"(.)\1{3,}")
"""Characters that are shorter as a number and one character."""


def sixels(png: bytes) -> str:
    """The escape codes that draw a PNG at the cursor; empty without Pillow, or if it cannot be decoded.

    Pillow comes with matplotlib, but a picture may come from a sandbox where matplotlib is installed apart. The picture
    is not trusted: its chunks and its size are checked before it is decoded, and no other format is.
    """
    with contextlib.suppress(Exception):
        if math.prod(size_of(png)) <= PICTURE_PIXELS:
            return _encoded(*_reduced(png))
    return ""


def _reduced(png: bytes) -> tuple[Any, Any]:
    """The number of the colour of each pixel, by row and column, and the red, green and blue (0 to 255) of each."""
    pillow: Any = importlib.import_module("PIL.Image")
    with pillow.open(io.BytesIO(png), formats=["PNG"]) as opened:
        picture = opened.convert("RGBA")
    picture.thumbnail(SIDES)
    ground = pillow.new("RGBA", picture.size, _GROUND)
    ground.alpha_composite(picture)
    few = ground.convert("RGB").quantize(COLOURS, method=pillow.Quantize.MEDIANCUT, dither=pillow.Dither.NONE)
    return np.asarray(few), np.reshape(few.getpalette("RGB"), (-1, 3))


def _encoded(pixels: Any, palette: Any) -> str:
    height, width = pixels.shape
    # 1: what is not drawn, as the rest of the last six rows, stays as it is. Then the shape of a pixel, and the size.
    parts = [b'\x1bP0;1;0q"1;1;%d;%d' % (width, height)]
    for colour in np.unique(pixels):
        parts.append(b"#%d;2;%d;%d;%d" % (colour, *np.rint(palette[colour] / 2.55).astype(int)))
    for top in range(0, height, _ROWS):
        # `$` goes back to the left, for the next colour, and `-` to the next six rows.
        parts += [b"$".join(_band(pixels[top : top + _ROWS])), b"-"]
    return b"".join([*parts[:-1], b"\x1b\\"]).decode("ascii")


def _band(rows: Any) -> list[bytes]:
    """The sixels of each colour of at most six rows."""
    colours, numbers = np.unique(rows, return_inverse=True)
    bits = np.zeros((len(colours), rows.shape[1]), np.uint8)
    for place, row in enumerate(numbers.reshape(rows.shape)):
        bits[row, np.arange(len(row))] |= 1 << place
    # The character of 0 is "?". It draws nothing, and is not needed at the end.
    lines = (line.tobytes().rstrip(b"?") for line in bits + 63)
    return [b"#%d%b" % (colour, _RUN.sub(_repeated, line)) for colour, line in zip(colours, lines, strict=True)]


def _repeated(run: re.Match[bytes]) -> bytes:
    return b"!%d%b" % (len(run[0]), run[1])
