"""Whether two solutions name different choices, such as Student's and Welch's test, although their results agree.

On this data the numbers are the same; on other data they need not be. Only choices with a name are found here, without
a model. Which reading makes the difference is then asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
