"""The row *Second opinion* on cards and in the inspector: the differences in numbers, and other readings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from autocoder_jupyter.display.inspector.source import action
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import spending
from autocoder_jupyter.view.html import EMPTY, Html, element, escape, join

if TYPE_CHECKING:
    from autocoder_jupyter.types import Difference, Reading, SecondOpinion

LONGEST = 400
"""Characters of a sentence."""

MOST = 3
"""Differences that are shown without a reading that explains them."""


def opinion_html(name: str, opinion: SecondOpinion | None) -> Html:
    """The content of the row; empty without a second opinion.

    Args:
        name: the name of the result if it is ready, so that a reading can be applied; otherwise "".
        opinion: the second opinion.
    """
    if opinion is None:
        return EMPTY
    lines = (element("div", line) for line in _html_lines(name, opinion))
    return join(*lines, markup.muted(" ".join(filter(None, (_not_compared(opinion), _cost(opinion))))))


def _html_lines(name: str, opinion: SecondOpinion) -> Iterator[Html]:
    if opinion.state == "none":
        yield markup.muted(markup.clipped(opinion.note, LONGEST))
        return
    yield from map(escape, _found_wrong(opinion))
    if opinion.state in ("agree", "not compared"):
        sign = ("✓", markup.GOOD) if opinion.state == "agree" else ("–", markup.QUIET)
        yield markup.marked(*sign, _agrees(opinion))
        return
    for number, reading in enumerate(opinion.readings, 1):
        yield markup.marked("≠", markup.WARN, _read(opinion, number))
        if reading.assumption:
            yield markup.muted(f"It depends on: {markup.clipped(reading.assumption, LONGEST)}")
        if name:
            yield _use(name, number, reading)
    rest = opinion.differences[1 if opinion.readings else 0 :][:MOST]
    yield from (markup.marked("≠", markup.WARN, _sentence(entry)) for entry in rest)
    yield from map(markup.muted, _judged(opinion))


def _use(name: str, number: int, reading: Reading) -> Html:
    """The button of our lab extension, which adds a cell that applies a reading; elsewhere the command for it."""
    cell = f"%%autocode {name} --refine\n{reading.line}"
    source = element("span", escape(cell), data_autocode_source="", style="display:none")
    typed = element("span", markup.inline_code(f"%autocode reading {name} {number}"), class_="autocode-words")
    button = join(action("grant", "Use this reading"), source)
    adds = markup.muted(f"adds to the request: {reading.line}")
    return element("span", join(button, typed, adds, between=" "), data_autocode_block="")


def opinion_lines(name: str, opinion: SecondOpinion | None) -> list[str]:
    """The same as text, with the command that applies a reading.

    Args:
        name: the name of the result if it is ready, so that a reading can be applied; otherwise "".
        opinion: the second opinion.
    """
    if opinion is None:
        return []
    if opinion.state == "none":
        return [f"second opinion: none. {opinion.note}"]
    lines = [*_found_wrong(opinion)]
    end = [line for line in (_not_compared(opinion), _cost(opinion)) if line]
    if opinion.state in ("agree", "not compared"):
        return [f"second opinion: {line}" for line in (*lines, _agrees(opinion), *end)]
    for number, reading in enumerate(opinion.readings, 1):
        lines.append(_read(opinion, number))
        lines.extend([f"it depends on: {reading.assumption}"] if reading.assumption else [])
        if name:
            lines.append(f"%autocode reading {name} {number} adds to the request: {reading.line}")
    lines.extend(_sentence(entry) for entry in opinion.differences[1 if opinion.readings else 0 :][:MOST])
    lines.extend((*_judged(opinion), *end))
    return [f"second opinion: {line}" for line in lines]


def _agrees(opinion: SecondOpinion) -> str:
    count = len(opinion.tried)
    inputs = f"on the sample{f' and {count} variations of it' if count else ''}"
    if opinion.state == "agree" and not opinion.not_compared:
        return f"A second solution gives the same result {inputs}."
    if opinion.state == "agree":
        return f"In what was compared, a second solution gives the same result {inputs}."
    if not opinion.compared:
        return "There is a second solution, but none of its outputs could be compared."
    same = markup.clipped(" and ".join(opinion.compared), LONGEST)
    return f"Not all outputs were compared. A second solution gives the same {same} {inputs}."


def _read(opinion: SecondOpinion, number: int) -> str:
    """`With the reading “year on year”, best_month would be 2024-03 instead of 2024-11.`"""
    words = opinion.readings[number - 1].words.removeprefix("read ")
    if number > 1 or not opinion.differences:
        return f"With the reading “{words}”, the result differs too."
    return f"With the reading “{words}”, {_described(opinion.differences[0])}."


def _sentence(difference: Difference) -> str:
    text = _described(difference)
    return f"{text[0].upper() if difference.on else text[0]}{text[1:]}."


def _described(difference: Difference) -> str:
    """`best_month would be 2024-03 instead of 2024-11`."""
    where, first, second = difference.where, difference.first, difference.second
    if not first and not second:  # values are withheld
        rows = f" in {difference.count} of {difference.of} rows" if difference.of > 1 else ""
        text = f"{where} would differ{rows}"
    elif second.endswith((" rows", " entries")):
        at = f" ({difference.at})" if difference.at else ""
        text = f"{where} would have {second} instead of {first}{at}"
    elif difference.of > 1:
        at = f" at {difference.at}" if difference.at else ""
        text = f"{where} would differ in {difference.count} of {difference.of} rows: {second} instead of {first}{at}"
    else:
        text = f"{where} would be {second} instead of {first}"
    text = f"{difference.on}, {text}" if difference.on else text
    return markup.clipped(text, LONGEST)


def _judged(opinion: SecondOpinion) -> Iterator[str]:
    if opinion.confirms == "first":
        yield "A third derivation on a small input confirms the function."
    elif opinion.confirms == "second":
        yield "A third derivation on a small input confirms the second solution, so the function may be wrong."


def _found_wrong(opinion: SecondOpinion) -> Iterator[str]:
    if opinion.tests:
        yield f"It found an input on which the code was wrong. It is a test now: {', '.join(opinion.tests)}."


def _cost(opinion: SecondOpinion) -> str:
    spent = spending(opinion.usage, None)
    return f"It cost {spent}, included in the total above." if spent else opinion.note


def _not_compared(opinion: SecondOpinion) -> str:
    if not opinion.not_compared:
        return ""
    more = f" and {len(opinion.not_compared) - MOST} more" if len(opinion.not_compared) > MOST else ""
    shown = "; ".join(markup.clipped(note, LONGEST) for note in opinion.not_compared[:MOST])
    return f"Not compared: {shown}{more}."
