"""The findings of a trial, redacted because the card is saved with the notebook."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass

from autocoder_jupyter.engine.second_opinion.sides import TIME_IS_UP
from autocoder_jupyter.engine.second_opinion.trial import SIDE_BY_SIDE, FoundPlace, TrialOutcome, TriedVariation
from autocoder_jupyter.engine.second_opinion.variations import is_outside
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.types import Difference, OutputSpec
from autocoder_jupyter.types.evidence import THE_SAMPLE

_OWN_WORDS = frozenset({SIDE_BY_SIDE, "no output can be compared"})
_RAISES = re.compile(r"the second solution raises (?:an error|" + "|".join(dir(builtins)) + ")")

MOST = 8
"""The maximum number of differences that are shown."""


@dataclass(frozen=True)
class Findings:
    """The findings of a trial.

    Args:
        outcome: the outcome of the trial.
        outputs: the outputs of the plan. Their names and those of their columns may always be shown.
        redaction: whether masked values may be shown, and what is masked.
    """

    outcome: TrialOutcome
    outputs: tuple[OutputSpec, ...]
    redaction: Redaction

    @property
    def failed(self) -> str:
        """Why nothing was compared. If values may not be shown, an error is named only by its type."""
        if self.redaction.shows_values:
            return self.redaction.masked(self.outcome.failed)
        raised = self.outcome.failed.partition(": ")[0]
        return raised if not raised or raised in _OWN_WORDS or _RAISES.fullmatch(raised) else SIDE_BY_SIDE

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The differences on the sample, single values first; then those on variations. Each place appears once.

        Those on variations outside of the data's profile are last.
        """
        found = sorted(self._all(), key=lambda found: (bool(found.on), is_outside(found.on), "." in found.where))
        return tuple(found)[:MOST]

    @property
    def differs_on(self) -> tuple[str, ...]:
        """The inputs on which they differ: the sample, and variations of it."""
        on_sample = (THE_SAMPLE,) if self.outcome.sample else ()
        return (*on_sample, *(self._on(tried) for tried in self.outcome.tried if tried.differences))

    @property
    def tried(self) -> tuple[str, ...]:
        """The variations on which both were compared."""
        return tuple(self._on(tried) for tried in self.outcome.tried if not tried.failed)

    @property
    def not_compared(self) -> tuple[str, ...]:
        """Parts of the outputs that could not be compared, and variations on which a solution failed."""
        notes = [(note.where, note.why) for note in self.outcome.not_compared]
        shows = self.redaction.shows_values
        kept = [f"{where}: {why}" if shows else f"a part of {self.declared(where)}" for where, why in notes]
        failed = [f"the result {self._on(tried)}: {tried.failed}" for tried in self.outcome.tried if tried.failed]
        ended = self.outcome.ended if shows or self.outcome.ended == TIME_IS_UP else "a solution was stopped"
        rest = [f"further variations of the sample: {ended}"] if ended else []
        return tuple(dict.fromkeys(map(self.redaction.masked, [*kept, *failed, *rest])))

    @property
    def compared(self) -> tuple[str, ...]:
        """The outputs of which values were compared on the sample."""
        return tuple(spec.name for spec in self.outputs if spec.name in self.outcome.compared)

    def _all(self) -> Iterator[Difference]:
        seen = {place.where for place in self.outcome.sample}
        yield from (self._told(place, "") for place in self.outcome.sample)
        for tried in self.outcome.tried:
            new = [place for place in tried.differences if place.where not in seen]
            yield from (self._told(place, self._on(tried)) for place in new)
            seen.update(place.where for place in new)

    def _told(self, place: FoundPlace, on: str) -> Difference:
        mask = self.redaction.masked if self.redaction.shows_values else lambda text: ""
        return Difference(
            where=mask(place.where) or self.declared(place.where),
            first=mask(place.first),
            second=mask(place.second),
            at=mask(place.at),
            count=place.count,
            of=place.of,
            on=on,
        )

    def _on(self, tried: TriedVariation) -> str:
        """The text for a variation, without a column's name if that may not be shown."""
        if self.redaction.shows_values:
            return self.redaction.masked(tried.name)
        return tried.general or tried.name

    def declared(self, place: str) -> str:
        """A place without names that are not declared, such as the key of a dictionary."""
        outputs = {spec.name for spec in self.outputs}
        columns = {f"{spec.name}.{column.name}" for spec in self.outputs for column in spec.columns}
        output = place.partition(".")[0].partition("[")[0]
        return place if place in outputs | columns else output if output in outputs else "an output"
