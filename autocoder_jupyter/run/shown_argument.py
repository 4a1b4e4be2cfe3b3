"""An argument of a call as the user sees it who decides about the call."""

from __future__ import annotations

from dataclasses import dataclass

from autocoder_jupyter.untrusted.parsing import visible

LINE_CHARACTERS = 200
"""The maximum number of characters of an argument in a line of text."""


@dataclass(frozen=True)
class ShownArgument:
    """One argument for the user who decides. Private values are not masked; hidden characters are escaped.

    Args:
        name: of the parameter.
        text: the value; of a very long one the beginning and the end.
        size: how long it is: `5,000 characters`, `1,000 rows × 3 columns`.
        digest: the first 16 hexadecimal digits of the SHA-256 of the complete value.
    """

    name: str
    text: str
    size: str
    digest: str

    @property
    def is_short(self) -> bool:
        """Whether it fits into a line."""
        return len(self.text) <= LINE_CHARACTERS and "\n" not in self.text

    @property
    def facts(self) -> str:
        """`5,000 characters, SHA-256 1f2e…`."""
        return f"{self.size}, SHA-256 {self.digest}…"

    @property
    def line(self) -> str:
        """`to='a@b.org'`; of a long one the beginning with the facts."""
        shown = self.text if self.is_short else f"{visible(self.text[:LINE_CHARACTERS])}… ({self.facts})"
        return f"{self.name}={shown}"
