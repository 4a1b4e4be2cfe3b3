"""The efforts: how much is done, after a function has passed its tests, to find out what that is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

EffortName = Literal["quick", "normal", "high"]


@dataclass(frozen=True)
class Effort:
    """One effort.

    Args:
        title: what it is, on JupyterLab's settings page.
        questions: the number of questions to the model for a function that passes at once. If the effort examines it
            and its tests let too many changes pass, there is one more, for further tests.
        has_second_opinion: whether a second solution is written, if `second_opinion` is `auto`.
        changes: the maximum number of changes of the function on which its tests are run.
        parts: the number of small parts of the sample.
        seconds: the most that all this may take, without the answers of the model.
    """

    title: str
    questions: int
    has_second_opinion: bool
    changes: int
    parts: int
    seconds: float

    @property
    def is_examined(self) -> bool:
        """Whether the verified function is examined at all."""
        return self.seconds > 0


EFFORTS: Mapping[EffortName, Effort] = {
    "quick": Effort(
        "Tests only",
        questions=3,
        has_second_opinion=False,
        changes=0,
        parts=0,
        seconds=0,
    ),
    "normal": Effort(
        "A second solution, small changes of the code, and more tests if needed",
        questions=4,
        has_second_opinion=True,
        changes=12,
        parts=60,
        seconds=10,
    ),
    "high": Effort(
        "The same with more changes and more parts of the sample",
        questions=4,
        has_second_opinion=True,
        changes=40,
        parts=200,
        seconds=30,
    ),
}
