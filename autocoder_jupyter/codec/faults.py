"""The three ways in which a value fails to cross. Plain `ValueError`s: the package also lives in the sandbox."""

from __future__ import annotations


class Unencodable(ValueError):
    """A value cannot cross without being changed. Raised before anything is sent.

    Args:
        path: what is at fault, as a person would say it: `"column 'price'"`, `"key 'a'"`.
        reason: why it cannot cross.
        hint: what to do instead.
    """

    def __init__(self, path: str, reason: str, hint: str = "") -> None:
        super().__init__(f"{path}: {reason}" + (f"; {hint}" if hint else ""))
        self.path = path
        self.reason = reason
        self.hint = hint


class TypeMismatch(ValueError):
    """A value is not of its declared type. Nothing is cast in silence, except int to float.

    Args:
        wanted: the declared type.
        got: what the value is.
    """

    def __init__(self, wanted: str, got: str) -> None:
        super().__init__(f"declared {wanted}, got {got}")
        self.wanted = wanted
        self.got = got


class Corrupt(ValueError):
    """What was received is not something that `encode` wrote."""
