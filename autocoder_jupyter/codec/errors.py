"""The three errors of the codec. They are plain `ValueError`s, because the package is also used in the sandbox."""

from __future__ import annotations


class Unencodable(ValueError):
    """A value cannot cross the border without being changed. Raised before anything is sent.

    Args:
        path: the part of the value that is refused, in words: `"column 'price'"`, `"key 'a'"`.
        reason: why it cannot cross.
        hint: what to do instead.
    """

    def __init__(self, path: str, reason: str, hint: str = "") -> None:
        super().__init__(f"{path}: {reason}" + (f"; {hint}" if hint else ""))
        self.path = path
        self.reason = reason
        self.hint = hint


class TypeMismatch(ValueError):
    """A value is not of its declared type. Only int is converted to float; nothing else is converted.

    Args:
        wanted: the declared type.
        got: the type of the value, with a detail where that helps.
    """

    def __init__(self, wanted: str, got: str) -> None:
        super().__init__(f"declared {wanted}, got {got}")
        self.wanted = wanted
        self.got = got


class Corrupt(ValueError):
    """The received bytes were not written by `encode`, or they were damaged."""
