"""What a trial showed, as the differences that a person is shown."""

from __future__ import annotations

from collections.abc import Iterator

from autocoder_jupyter.engine.second_opinion.trial import Place, TrialOutcome
from autocoder_jupyter.types import Difference

MOST = 8
"""Differences that are shown."""


def differences_of(outcome: TrialOutcome) -> tuple[Difference, ...]:
    """The differences on the sample; then those that only a variation shows, each place once."""
    return tuple(_all(outcome))[:MOST]


def _all(outcome: TrialOutcome) -> Iterator[Difference]:
    seen = {place.where for place in outcome.sample}
    yield from (_difference(place, "") for place in outcome.sample)
    for variation in outcome.variations:
        new = [place for place in variation.differences if place.where not in seen]
        yield from (_difference(place, variation.name) for place in new)
        seen.update(place.where for place in new)


def _difference(place: Place, on: str) -> Difference:
    return Difference(**place.model_dump(include={"where", "first", "second", "at", "count", "of"}), on=on)
