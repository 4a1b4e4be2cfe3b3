"""The thoughts in an answer: reasoning that a model writes into its text, before the answer itself.

Servers that know the model's format send them in a field of their own. Others send the marks of the format as text.
"""

from __future__ import annotations

import re

_NAMES = "think|thinking|thought|thoughts|reasoning|seed:think"
_FINAL = (
    r"(?:<\|(?:end|call)\|>)?(?:<\|start\|>assistant)?<\|channel\|>(?:final|commentary +to=)[^<\n]*"
    r"(?:<\|constrain\|>[^<\n]*)?<\|message\|>"
)
"""The header before the answer in OpenAI's harmony format. A call in the channel of comments counts as the answer."""

_PAIRS = (
    (rf"<(?:{_NAMES})>", rf"</(?:{_NAMES})>"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"◁think▷", "◁/think▷"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (
        r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)(?! +to=)[^<\n]*<\|message\|>",
        _FINAL,
    ),
)
"""For each format the marks at the beginning and at the end of thoughts."""

_OPENINGS = [(re.compile(begin, re.IGNORECASE), re.compile(end, re.IGNORECASE)) for begin, end in _PAIRS]
_BARE = re.compile(r"analysis(?=[A-Z])"), re.compile("assistantfinal")
"""Harmony without its special tokens, at the beginning of an answer."""

_LONE = re.compile(
    rf"""(?:{"|".join(end for _, end in _PAIRS[:-1])})(?=[ \t]*\Z|\{{|```)|{_FINAL}""",
    re.IGNORECASE,
)
"""The end of thoughts in a line whose beginning was in the prompt. In the middle of a sentence it is a quotation."""

_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*([^`\s]*)")
_ENDS = ("<|return|>", "<|end|>", "<|call|>", "<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|END_RESPONSE|>", "</s>")
"""Marks at the end of an answer."""

_MOST_ENDS = 4

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_LONGEST = 500_000
"""Characters."""

_LONGEST_MARK = 120
_MAY_BEGIN = re.compile(r"[<\[◁][^<\[◁]{0,120}(?:<(?:\|[^<]{0,120})?){0,3}\Z")


class AnswerText:
    """The text of an answer without its thoughts, while it arrives.

    Where only the end of thoughts is marked, the text before it has been given away already. Then the mark is given,
    too, and whoever reads the answer before it is complete uses `without_thoughts`.

    Attributes:
        thoughts: the beginning of the thoughts.
    """

    def __init__(self) -> None:
        self.thoughts = ""
        self._answer: list[str] = []
        self._open = ""
        self._close: re.Pattern[str] | None = None
        self._at_line = self._at_first = True
        self._in_fence = False

    @property
    def answer(self) -> str:
        """The answer without thoughts and without marks of its end; "" if there were only thoughts."""
        text = "".join(self._answer)
        for _ in range(_MOST_ENDS):
            if not (bare := text.rstrip()).endswith(_ENDS):
                break
            text = bare[: bare.rindex("<")]
        return text

    def take(self, piece: str) -> str:
        """Take a piece. Returns the text that is no thought, as far as that is known."""
        return "".join(self._advance(self._open + line, at_end=False) for line in _LINES.findall(piece))

    def end(self) -> str:
        """The rest of the text, when there is no further piece."""
        return self._advance(self._open, at_end=True)

    def _advance(self, text: str, *, at_end: bool) -> str:
        given: list[str] = []
        while text:
            before = text
            text = self._after_thoughts(text, at_end) if self._close else self._after_line(text, given, at_end)
            if text == before:
                break
        self._open = "" if at_end else text
        return "".join(given)

    def _after_thoughts(self, text: str, at_end: bool) -> str:
        assert self._close is not None
        if (end := self._close.search(text)) is None:
            kept = "" if at_end else text[-_LONGEST_MARK:]
            self._note(text[: len(text) - len(kept)])
            return kept
        self._note(text[: end.start()])
        self._close, self._at_line = None, True
        return text[end.end() :]

    def _note(self, thoughts: str) -> None:
        self.thoughts = (self.thoughts + thoughts)[:1000]

    def _after_line(self, text: str, given: list[str], at_end: bool) -> str:
        """Take a line, or what is certain of an incomplete one. Returns the rest."""
        line, ending, rest = text.partition("\n")
        is_whole = bool(ending) or at_end
        if self._at_line:
            begun = line.lstrip()
            if not is_whole and (not begun or self._may_be_mark(begun)):
                return text
            if not self._in_fence and begun and (after := self._after_opening(begun)) is not None:
                return after + ending + rest
            if (fence := _FENCE.match(line)) is not None:
                self._in_fence = not self._in_fence or bool(fence[1])
        shown = line
        if not self._in_fence and (lone := _LONE.search(line)) is not None:
            if not is_whole and not line[lone.end() :].strip():  # more may follow in this line
                shown = line[: lone.start()]
            else:
                self._give(line[: lone.end()], given)
                self._note("".join(self._answer)[:1000])
                self._answer, self._at_line = [], True
                return line[lone.end() :] + ending + rest
        elif not is_whole and (mark := _MAY_BEGIN.search(line)) is not None:
            shown = line[: mark.start()]
        self._give(shown + (ending if shown == line else ""), given)
        self._at_line = bool(ending) and shown == line
        return text[len(shown) + (len(ending) if shown == line else 0) :]

    def _may_be_mark(self, begun: str) -> bool:
        if len(begun) > _LONGEST_MARK:
            return False
        return begun[0] in "<[◁`~" or (self._at_first and "analysis".startswith(begun))

    def _after_opening(self, begun: str) -> str | None:
        """The text after the mark with which a line begins; None if it begins with none."""
        for mark, close in (*_OPENINGS, *([_BARE] if self._at_first else ())):
            if (found := mark.match(begun)) is not None:
                self._close = close
                return begun[found.end() :]
        return None

    def _give(self, text: str, given: list[str]) -> None:
        if text:
            self._at_first = self._at_first and not text.strip()
            given.append(text)
            self._answer.append(text)


def without_thoughts(text: str) -> str:
    """The answer in a text without its thoughts; "" if it has only thoughts. Of a very long text, the beginning."""
    reader = AnswerText()
    reader.take(text[:_LONGEST])
    reader.end()
    return reader.answer
