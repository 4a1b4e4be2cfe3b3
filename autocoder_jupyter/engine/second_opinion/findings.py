"""The findings of a trial, redacted because the card is saved with the notebook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autocoder_jupyter.engine.second_opinion.trial import Place, TrialOutcome
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.types import Difference, OutputSpec

MOST = 8
"""The maximum number of differences that are shown."""


@dataclass(frozen=True)
class Findings:
    """The findings of a trial.

    Args:
        outcome: the outcome of the trial.
        outputs: the outputs of the plan. Their names and those of their columns may always be shown.
        shows_values: whether masked values may be shown.
    """

    outcome: TrialOutcome
    outputs: tuple[OutputSpec, ...]
    shows_values: bool

    @property
    def failed(self) -> str:
        """Why nothing was compared. If values may not be shown, an error is named only by its type."""
        raised, colon, message = self.outcome.failed.partition(": ")
        if not colon:
            return raised
        return f"{raised}: {Masker().mask(message)}" if self.shows_values else raised

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The differences on the sample, single values first; then those on variations. Each place appears once."""
        found = sorted(self._all(), key=lambda difference: (bool(difference.on), "." in difference.where))
        return tuple(found)[:MOST]

    @property
    def tried(self) -> tuple[str, ...]:
        """The variations that were tried."""
        return tuple(map(self._on, self.outcome.tried))

    @property
    def not_compared(self) -> tuple[str, ...]:
        """Parts of the outputs that could not be compared."""
        notes = self.outcome.not_compared
        kept = [note if self.shows_values else f"a part of {self._where(note.partition(':')[0])}" for note in notes]
        return tuple(dict.fromkeys(map(Masker().mask, kept)))

    def _all(self) -> Iterator[Difference]:
        seen = {place.where for place in self.outcome.sample}
        yield from (self._told(place, "") for place in self.outcome.sample)
        for variation in self.outcome.variations:
            new = [place for place in variation.differences if place.where not in seen]
            yield from (self._told(place, variation.name) for place in new)
            seen.update(place.where for place in new)

    def _told(self, place: Place, on: str) -> Difference:
        mask = Masker().mask if self.shows_values else lambda text: ""
        return Difference(
            where=mask(place.where) or self._where(place.where),
            first=mask(place.first),
            second=mask(place.second),
            at=mask(place.at),
            count=place.count,
            of=place.of,
            on=self._on(on),
        )

    def _on(self, variation: str) -> str:
        """The text for a variation, without a column's name if that may not be shown."""
        return variation if self.shows_values or not variation.startswith("with one ") else "with one group only"

    def _where(self, place: str) -> str:
        """A place without names that are not declared, such as the key of a dictionary."""
        declared = {spec.name for spec in self.outputs}
        declared |= {f"{spec.name}.{column.name}" for spec in self.outputs for column in spec.columns}
        return place if place in declared else place.partition(".")[0].partition("[")[0]
