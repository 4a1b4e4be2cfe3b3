"""What an inspector shows: the report, and what only the notebook knows of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from autocoder_jupyter.calls.options import CallOptions
    from autocoder_jupyter.display.html import Html
    from autocoder_jupyter.display.state import CardState
    from autocoder_jupyter.engine.events import EndState
    from autocoder_jupyter.request import Share
    from autocoder_jupyter.types import InputSpec, Report
    from autocoder_jupyter.types.overview import Excerpt, Overview


def _no_samples(share: Share | None) -> Mapping[str, Overview]:
    return {}


@dataclass(frozen=True)
class Subject:
    """A finished result.

    Args:
        report: all that the generation produced.
        state: how it ended.
        sent: the record of what the model was told about the data (`sent.json`); empty when it is not at hand.
        options: how the function is called; None when only the report is known.
        overviews: of the samples by name, as far as a `share` allows; None asks for the person's own eyes. May take
            a second.
    """

    report: Report
    state: EndState
    sent: Mapping[str, Any] = field(default_factory=dict)
    options: CallOptions | None = None
    overviews: Callable[[Share | None], Mapping[str, Overview]] = _no_samples

    @property
    def share(self) -> Share:
        """How much of the data the model was allowed to see; "schema" where it was not recorded."""
        share = self.sent.get("share")
        return "rows" if share == "rows" else "stats" if share == "stats" else "schema"


@dataclass(frozen=True)
class Variable:
    """A variable of the notebook that could be an input.

    Args:
        name: of the variable.
        about: its size, in words.
        misfit: why it cannot be that input; "" when it can.
    """

    name: str
    about: str = ""
    misfit: str = ""


class Editor(Protocol):
    """Tests what a person writes."""

    def sources(self) -> tuple[str, str]:
        """Code and tests, as they are on disk now."""
        ...

    def retest(self, code: str, tests: str, view: Callable[[CardState], None]) -> None:
        """Begin to test them, and show the card to `view`; returns at once.

        Raises:
            AutocodeError: they cannot be tested at all.
        """
        ...


class VersionManager(Protocol):
    """The versions of a name, as a person manages them. Each method but `rows` may raise an AutocodeError."""

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


class Caller(Protocol):
    """Connects the form to the function. Only `call` may take long."""

    def variables(self, spec: InputSpec) -> Sequence[Variable]:
        """The variables of the notebook that have the type of an input."""
        ...

    def sample(self, name: str) -> str:
        """The size of the sample of an input, in words; "" when there is none."""
        ...

    def captured(self, variable: str) -> Any:
        """The value of a variable as it is now; later edits do not reach it.

        Raises:
            AutocodeError: the variable is gone, or can be no input.
        """
        ...

    async def call(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run the function on the background loop; its outputs by name. Cancelling kills the call.

        Raises:
            AutocodeError: the arguments do not fit, or the function or its sandbox failed.
        """
        ...

    def excerpt(self, table: Any) -> Excerpt:
        """The first rows of a table that came out."""
        ...
