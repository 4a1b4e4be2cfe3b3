"""An option of `%%autocode`: how it is written, which values it accepts, and whether a folder may set it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from autocoder_jupyter.settings import parameters

Kind = Literal[
    "text",
    "integer",
    "number",
    "choice",
    "flag",
    "names",
    "columns",
    "mapping",
    "variable",
    "variables",
    "size",
    "version",
]

Rule = Literal["free", "stricter", "asks"]
"""What a folder without permission may do with a setting: set it, because it is harmless (`free`); only make it
stricter (`stricter`); or only ask for it (`asks`)."""

Mode = Literal["function", "tools"]
"""The mode of a cell: generate a tested function, or answer once by code that calls the user's functions."""

FUNCTION: tuple[Mode, ...] = ("function",)
TOOLS: tuple[Mode, ...] = ("tools",)
BOTH: tuple[Mode, ...] = ("function", "tools")

TRUE_WORDS = ("1", "true", "yes", "on")
FALSE_WORDS = ("0", "false", "no", "off", "")

_LONGEST_QUOTE = 200

_VARIABLE = re.compile(r"[A-Za-z_]\w{0,63}")
_PYTHON = re.compile(r"3\.\d{1,2}")


@dataclass(frozen=True)
class Option:
    """One option.

    Args:
        name: its name as a trait, as a key in pyproject.toml and, in upper case after `AUTOCODE_`, in the environment.
            In the record of a setting, "" means the setting's name.
        help: a description in one line. In the record of a setting, "" means the setting's help.
        flags: how it is written in a cell; empty if it can only be a setting.
        kind: what its value is; `names` is a tuple of words, `columns` of names with
            blanks, `mapping` a dictionary, `variable` an environment
            variable's name, `variables` a tuple of them, `size` an amount of memory, `version` a Python as `3.12`.
        placeholder: the value in the help text.
        choices: the values of a `choice`.
        repeatable: whether a cell may give it more than once.
        is_setting: whether it can be set outside of a cell.
        field: the field of `AgentConfig` with its value and default, dotted for a part of a record; empty if there is
            none.
        minimum: the smallest number allowed.
        rule: what a folder without permission may do with it; None if a folder can never set it.
        order: the values of a `stricter` choice or flag, beginning with the one that allows most. A smaller number or
            size is stricter, and no value allows most.
        allowed: for a `stricter` choice without a total order, the values that each value allows.
        risk: the effect of letting a folder set it, for the user; empty if it is free.
        modes: the kinds of cells that it can be written in.
        example: a value for the documentation: what follows the flag in a cell, or, where there is no flag, what
            `%config` gets. Empty for a `flag`.
    """

    name: str = ""
    help: str = ""
    flags: tuple[str, ...] = ()
    kind: Kind = "text"
    placeholder: str = ""
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    is_setting: bool = True
    field: str = ""
    minimum: float | None = None
    rule: Rule | None = None
    order: tuple[str | bool, ...] = ()
    allowed: Mapping[str, frozenset[str]] | None = None
    risk: str = ""
    modes: tuple[Mode, ...] = FUNCTION
    example: str = ""

    @property
    def takes_value(self) -> bool:
        """Whether a value must follow the flag."""
        return self.kind != "flag"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"AUTOCODE_{self.name.upper()}"

    @property
    def expects(self) -> str:
        """A description of the accepted values."""
        if self.kind == "choice":
            return " or ".join(self.choices)
        words = {
            "text": "text",
            "integer": "a whole number",
            "number": "a number",
            "flag": "true or false",
            "names": "a list of names",
            "columns": "a list of columns",
            "mapping": "a dictionary",
            "variable": "the name of an environment variable",
            "variables": "a list of names of environment variables",
            "size": "an amount of memory such as 512Mi or 2Gi",
            "version": "a version of Python such as 3.12, as text",
        }[self.kind]
        return words if self.minimum is None else f"{words}, {self.minimum:g} or more"

    def quoted(self, value: object) -> str:
        """A value for an error message. A value that may be a misplaced secret is not repeated."""
        if self.kind in ("variable", "variables", "mapping") or parameters.looks_like_key(value):
            return "what is set"
        try:
            shown = repr(value)
        except ValueError:  # Python refuses to convert an int with thousands of digits
            return "what is set"
        return shown if len(shown) <= _LONGEST_QUOTE else f"{shown[:_LONGEST_QUOTE]} …"

    def from_text(self, text: str) -> Any:
        """Parse a word of a cell or an environment variable.

        Raises:
            ValueError: it is not a valid value.
        """
        if self.kind == "integer":
            return self.check(int(text))
        if self.kind == "number":
            return self.check(float(text))
        if self.kind == "flag":
            folded = text.strip().casefold()
            if folded not in TRUE_WORDS + FALSE_WORDS:
                raise ValueError(self.expects)
            return folded in TRUE_WORDS
        if self.kind in ("names", "variables"):
            return self.check(tuple(text.replace(",", " ").split()))
        if self.kind == "columns":
            return self.check(tuple(name.strip() for name in text.split(",") if name.strip()))
        if self.kind == "mapping":
            raise ValueError("a dictionary cannot be written as text; use %config or pyproject.toml")
        return self.check(text)

    def check(self, value: Any) -> Any:
        """Check a Python value of `%config` or TOML, and return it in canonical form.

        Raises:
            ValueError: it is not a valid value.
        """
        if self.kind == "flag" and isinstance(value, bool):
            return value
        if self.kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
            return self._at_least(value)
        if self.kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
            if not math.isfinite(value):
                raise ValueError(self.expects)
            return self._at_least(float(value))
        if self.kind == "choice" and value in self.choices:
            return value
        if self.kind == "text" and isinstance(value, str) and value.strip():
            return value
        if self.kind == "variable" and isinstance(value, str) and _VARIABLE.fullmatch(value):
            return value
        if self.kind == "variables" and isinstance(value, list | tuple) and all(map(_is_variable, value)):
            return tuple(value)
        if self.kind == "size" and isinstance(value, int | str) and not isinstance(value, bool):
            return self._size(value)
        if self.kind == "version" and isinstance(value, str) and _PYTHON.fullmatch(value):
            return value
        if self.kind in ("names", "columns") and isinstance(value, list | tuple) and all(map(_is_text, value)):
            return tuple(value)
        if self.kind == "mapping" and isinstance(value, Mapping):
            return dict(value)
        raise ValueError(self.expects)

    def allows_more(self, value: Any, other: Any) -> bool:
        """Whether one value of a `stricter` option allows more than another."""
        if self.allowed:
            return not self.allowed[value] <= self.allowed[other]
        if self.order:
            return self.order.index(value) < self.order.index(other)
        if value is None or other is None:
            return other is not None
        return self._amount(value) > self._amount(other)

    def _amount(self, value: Any) -> float:
        from autocoder_jupyter.types import parse_memory

        return parse_memory(value) if self.kind == "size" else value

    def _size(self, value: int | str) -> int | str:
        from autocoder_jupyter.types import parse_memory

        parse_memory(value)
        return value

    def _at_least(self, value: Any) -> Any:
        if self.minimum is not None and value < self.minimum:
            raise ValueError(self.expects)
        return value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_variable(value: object) -> bool:
    return isinstance(value, str) and _VARIABLE.fullmatch(value) is not None
