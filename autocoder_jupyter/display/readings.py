"""The row *Second opinion* on cards and in the inspector: the differences in numbers, and other readings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from autocoder_jupyter.view.amounts import counted, spending
from autocoder_jupyter.view.document import Block, Offer, Span, line, lines, muted
from autocoder_jupyter.view.markup import clipped

if TYPE_CHECKING:
    from autocoder_jupyter.types import Difference, Reading, SecondOpinion

LONGEST = 400
"""Characters of a sentence."""

MOST = 3
"""Differences that are shown without a reading that explains them."""


def opinion_blocks(name: str, opinion: SecondOpinion | None) -> tuple[Block, ...]:
    """The content of the row; empty without a second opinion.

    Args:
        name: the name of the result if it is ready, so that a reading can be applied; otherwise "".
        opinion: the second opinion.
    """
    if opinion is None:
        return ()
    if opinion.state == "running":
        return (muted("running …"),)
    if opinion.state == "none":
        none = line(Span("none.", only="text"), Span(clipped(opinion.note, LONGEST), "muted"))
        return (none, *lines([_unanswered(opinion)], "muted"))
    return (*lines(_found_wrong(opinion)), *_compared(name, opinion), *lines(_notes(opinion), "muted"))


def _compared(name: str, opinion: SecondOpinion) -> Iterator[Block]:
    if opinion.state in ("agree", "not compared"):
        yield line(Span("✓", "good") if opinion.state == "agree" else Span("–", "quiet"), _agrees(opinion))
        yield from lines(map(_sentence, opinion.differences[:MOST]), "muted")
        yield from _readings(name, opinion)
        return
    yield from _readings(name, opinion)
    rest = opinion.differences[1 if opinion.readings else 0 :][:MOST]
    yield from (line(Span("≠", "warn"), _sentence(entry)) for entry in rest)
    yield from _judged(opinion)


def _readings(name: str, opinion: SecondOpinion) -> Iterator[Block]:
    for number, reading in enumerate(opinion.readings, 1):
        yield line(Span("≠", "warn"), _read(opinion, number))
        if reading.assumption:
            yield muted(f"It depends on: {clipped(reading.assumption, LONGEST)}")
        if name:
            yield _use(name, number, reading)


def _use(name: str, number: int, reading: Reading) -> Offer:
    """How to apply a reading."""
    cell = f"%%autocode {name} --refine\n{reading.line}"
    command = f"%autocode reading {name} {number}"
    return Offer("Use this reading", cell, command, f"adds to the request: {reading.line}")


def _notes(opinion: SecondOpinion) -> tuple[str, str, str]:
    return _not_compared(opinion), _unanswered(opinion), _cost(opinion)


def _unanswered(opinion: SecondOpinion) -> str:
    asked = " and ".join(opinion.unanswered)
    return f"A question for {clipped(asked, LONGEST)} had no answer. The next run asks it again." if asked else ""


def _agrees(opinion: SecondOpinion) -> str:
    count = len(opinion.tried)
    inputs = f"on the sample and {counted(count, 'variation')} of it" if count else "on the sample"
    if opinion.state == "agree" and not opinion.not_compared:
        return f"A second solution gives the same result {inputs}."
    if opinion.state == "agree":
        return f"In what was compared, a second solution gives the same result {inputs}."
    if not opinion.compared:
        return "There is a second solution, but none of its outputs could be compared."
    same = clipped(" and ".join(opinion.compared), LONGEST)
    return f"Not all outputs were compared. A second solution gives the same {same} {inputs}."


def _read(opinion: SecondOpinion, number: int) -> str:
    """`With the reading “year on year”, best_month would be 2024-03 instead of 2024-11.`"""
    words = opinion.readings[number - 1].words.removeprefix("read ")
    if opinion.state == "agree":
        return f"With the reading “{words}”, the result is the same on this data, and may differ on other data."
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
    return clipped(text, LONGEST)


def _judged(opinion: SecondOpinion) -> Iterator[Block]:
    if opinion.confirms == "first":
        yield muted(
            "A third derivation on a small input, made from the request and the plan's assumptions, confirms that the "
            "function follows the plan. It does not confirm the assumptions."
        )
    elif opinion.confirms == "second":
        words = "A third derivation on a small input confirms the second solution, so the function may be wrong."
        yield line(Span("⚠", "warn"), words)
        if opinion.stays:
            yield muted(f"The function stays as it is. {clipped(opinion.stays, LONGEST)}")


def _found_wrong(opinion: SecondOpinion) -> Iterator[str]:
    if opinion.tests:
        yield f"It found an input on which the code was wrong. It is a test now: {', '.join(opinion.tests)}."


def _cost(opinion: SecondOpinion) -> str:
    spent = spending(opinion.usage, None)
    return " ".join(filter(None, (f"It cost {spent}, included in the total above." if spent else "", opinion.note)))


def _not_compared(opinion: SecondOpinion) -> str:
    if not opinion.not_compared:
        return ""
    more = f" and {len(opinion.not_compared) - MOST} more" if len(opinion.not_compared) > MOST else ""
    shown = "; ".join(clipped(note, LONGEST) for note in opinion.not_compared[:MOST])
    return f"Not compared: {shown}{more}."
