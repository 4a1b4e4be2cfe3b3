"""Other readings of the request: which ones the second solution names, as text that the user can choose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, Field

from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.evidence.comparison import OpenPlace
from autocoder_jupyter.engine.prompt import Brief, block, question
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.types import Reading

# The reading that makes a difference, as the model names it

MOST_READINGS = 3
"""The maximum number of readings that are shown."""


class _NamedReading(BaseModel):
    assumption: int = 0
    words: str
    line: str


class Named(BaseModel):
    """The readings that make the difference."""

    readings: list[_NamedReading] = Field(default_factory=list)
    explanation: str = ""


def naming_messages(
    brief: Brief,
    second: Sequence[str],
    source: str,
    differs: Sequence[str],
) -> Messages:
    """The question. It has no values if `source` is empty, because the input then contains values of the data."""
    return question(
        brief.request,
        brief.context,
        block("first", _numbered(brief.plan.assumptions)),
        block("second", _numbered(second)),
        block("input", source) if source else "",
        block("differs", "\n".join(f"- {line}" for line in differs)),
        prompt("second_opinion.name readings"),
    )


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)) or "nothing noted"


def differing(place: OpenPlace) -> str:
    """A place with both values there, as one line of the question."""
    at = f" at {place.at}" if place.at else ""
    return f"{place.where}{at}: first {_values(place.first, place.ones)}, second {_values(place.second, place.others)}"


def _values(shown: str, values: Sequence[Any]) -> str:
    return f"{shown} (all: {list(values)})" if len(values) > 1 else shown


async def name_readings(
    conversation: Conversation,
    brief: Brief,
    second: Sequence[str],
    source: str,
    differs: Sequence[str],
) -> tuple[Reading, ...]:
    """Ask which readings make the difference."""
    assumptions = brief.plan.assumptions
    messages = naming_messages(brief, second, source, differs)
    answer = await conversation.structured("second", messages, Named)
    readings = (
        Reading(
            words=named.words,
            line=named.line,
            assumption=assumptions[named.assumption - 1] if 0 < named.assumption <= len(assumptions) else "",
        )
        for named in answer.readings[:MOST_READINGS]
    )
    return tuple(reading for reading in readings if reading.words and reading.line)


# Named choices, such as Student's and Welch's test
#
# Two solutions can name different choices although their results agree: on this data the numbers are the same, on other
# data they need not be. Only choices with a name are found, without a model. Which reading makes the difference is then
# asked.

_CHOICES: tuple[tuple[str, ...], ...] = tuple(
    tuple(line.split(" / "))
    for line in (
        r"student / welch / mann.whitney / wilcoxon",
        r"pearson / spearman / kendall",
        r"population (?:standard|variance|sd) / sample (?:standard|variance|sd)",
        r"ddof ?= ?0 / ddof ?= ?1",
        r"\bmean\b / \bmedian\b",
        r"\binclusive / \bexclusive",
        r"\bone.sided / \btwo.sided",
        r"\butc\b / local time",
        r"calendar (?:week|month|quarter|year) / rolling / trailing",
        r"fiscal / calendar year",
        r"month.(?:on|over).month / year.(?:on|over).year",
        r"\bgross\b / \bnet\b",
        r"\bkeep(?:s|ing)? (?:the )?first / \bkeep(?:s|ing)? (?:the )?last",
        r"left join / inner join / outer join",
        r"(?:counts?|counted|treated) as zero / (?:is|are) (?:dropped|left out|ignored|skipped)",
        r"ties? share / dense rank / ties? (?:are )?broken",
    )
)
"""Choices that exclude each other, as they are written."""


def name_other_choices(first: Iterable[str], second: Iterable[str]) -> bool:
    """Whether two lists of assumptions name different choices of one kind."""
    one, other = ("\n".join(lines).casefold() for lines in (first, second))
    for choices in _CHOICES:
        here, there = ({choice for choice in choices if re.search(choice, text)} for text in (one, other))
        if here and there and not here & there:
            return True
    return False
