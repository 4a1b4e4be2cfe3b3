"""The data that an inspector shows, and the protocols of the notebook that it calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from autocoder_jupyter.calls.options import CallOptions
    from autocoder_jupyter.request import Share
    from autocoder_jupyter.run.events import EndState, SampleOutputs
    from autocoder_jupyter.run.function_run import FunctionRun
    from autocoder_jupyter.run.record import AsksFor
    from autocoder_jupyter.types import Report
    from autocoder_jupyter.types.interface import KnownSplits
    from autocoder_jupyter.types.records import Overview
    from autocoder_jupyter.view.markup import Html


def _no_samples(share: Share | None) -> Mapping[str, Overview]:
    return {}


def _nothing_known() -> KnownSplits:
    from autocoder_jupyter.types.interface import KnownSplits

    return KnownSplits()


@dataclass(frozen=True)
class Subject:
    """A finished result.

    Args:
        asks_for: what it asks for, if there is no function.
        sent: the content of `sent.json`, the record of the data sent to the model; empty if it is missing.
        options: the options of a call; None if only the report is known.
        overviews: gives the overview of each sample by name, limited to a `share`; None for no limit. May take a
            second.
        card: the state of its card; None if no cell of this kernel made it.
        splits: gives what is known of how it may be split.
    """

    report: Report
    state: EndState
    asks_for: AsksFor = ""
    sent: Mapping[str, Any] = field(default_factory=dict)
    options: CallOptions | None = None
    overviews: Callable[[Share | None], Mapping[str, Overview]] = _no_samples
    card: FunctionRun | None = None
    splits: Callable[[], KnownSplits] = _nothing_known

    @property
    def run(self) -> FunctionRun:
        """The last record of its run, with what only its card knows: the outputs, and what is asked."""
        from autocoder_jupyter.run.of_report import run_of

        run = replace(run_of(self.report, self.state, self.asks_for), splits=self.splits())
        if (card := self.card) is None:
            return run
        asks_for = run.asks_for or card.asks_for
        return replace(run, outputs=card.outputs, option=card.option, offers=card.offers, asks_for=asks_for)

    @property
    def outputs(self) -> SampleOutputs | None:
        """The first rows and the pictures of the outputs on the sample; None if this kernel has not seen them."""
        return self.card.outputs if self.card is not None else None

    @property
    def can_be_called(self) -> bool:
        """Whether there is a function to call; see `CodeGenEvalResult.can_be_called`."""
        return self.state in ("ready", "not_verified")

    @property
    def share(self) -> Share:
        """How much of the data the model was allowed to see; "schema" if it was not recorded."""
        share = self.sent.get("share")
        return "rows" if share == "rows" else "stats" if share == "stats" else "schema"


class VersionActions(Protocol):
    """Manages the versions of a name. Each method except `rows` may raise an AutocodeError."""

    def rows(self) -> Sequence[tuple[str, ...]]:
        """The versions, oldest first; the first cell of each is its number."""
        ...

    def table(self) -> Html:
        """The same as a table."""
        ...

    def restore(self, word: str) -> str:
        """Make a version current again; returns a sentence about it."""
        ...

    def pin(self, word: str = "") -> str:
        """Keep a version current; returns a sentence about it."""
        ...

    def unpin(self) -> str:
        """Unpin it; returns a sentence about it."""
        ...

    def remove(self, word: str) -> str:
        """Remove a version from disk; returns a sentence about it."""
        ...

    def difference(self, before: str, after: str) -> Html:
        """What changed between two versions."""
        ...


class Splitter(Protocol):
    """Finds out how a function may be split."""

    def check_split(self) -> None:
        """Start to find it out, and return at once."""
        ...

    def on_split(self, callback: Callable[[], object]) -> None:
        """Call the callback whenever more is known of that."""
        ...
