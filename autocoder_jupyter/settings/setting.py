"""The metadata of the fields of `AgentConfig`: a setting, its options and its page, from which all else is derived."""

from __future__ import annotations

import contextlib
import dataclasses
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, Literal, Union, get_args, get_origin

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.settings import parameters
from autocoder_jupyter.settings.choices import Backend

# Options
#
# How an option of `%%autocode` is written, which values it accepts, and whether a folder may set it.

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

Check = Callable[[str, Any], Any]
"""Takes a name for the error and a value. Returns the value in canonical form, or raises InvalidRequest."""

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


@dataclass(frozen=True)
class Option:
    """One option.

    Args:
        name: its name as a trait, as a key in pyproject.toml and, in upper case after `AUTOCODE_`, in the environment.
            In the record of a setting, "" means the setting's name.
        help: a description in one line. In the record of a setting, "" means the setting's help.
        flags: how it is written in a cell; empty if it can only be a setting.
        kind: what its value is; `names` is a tuple of words, `columns` of names with blanks, `mapping` a dictionary,
            `variable` an environment variable's name, `variables` a tuple of them, `size` an amount of memory,
            `version` a Python as `3.12`.
        choices: the values of a `choice`.
        repeatable: whether a cell may give it more than once.
        is_setting: whether it can be set outside of a cell.
        field: the field of `AgentConfig` with its value and default, dotted for a part of a record; empty if there is
            none.
        check: checks a value; that of the setting by default, or else that of its kind.
        expects: a description of the accepted values; by default that of its kind.
        rule: what a folder without permission may do with it; None if a folder can never set it.
        order: the values of a `stricter` choice or flag, beginning with the one that allows most. A smaller number or
            size is stricter, and no value allows most.
        allowed: for a `stricter` choice without a total order, the values that each value allows.
        risk: the effect of letting a folder set it, for the user; empty if it is free.
        in_cell: further values of a choice that only a cell has, and the settings that each stands for.
        instead: for flags that are a former spelling, what to write now, by value; `%config` for other values. They
            are read, but not offered, and a cell that has them gets a hint. None for current flags.
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
    check: Check | None = dataclasses.field(default=None, repr=False, compare=False)
    expects: str = ""
    rule: Rule | None = None
    order: tuple[str | bool, ...] = ()
    allowed: Mapping[str, frozenset[str]] | None = None
    risk: str = ""
    in_cell: Mapping[str, Mapping[str, Any]] | None = None
    instead: Mapping[Any, str] | None = None
    modes: tuple[Mode, ...] = FUNCTION
    example: str = ""

    @property
    def takes_value(self) -> bool:
        """Whether a value must follow the flag."""
        return self.kind != "flag"

    @property
    def is_current(self) -> bool:
        """Whether it has flags that are offered."""
        return bool(self.flags) and self.instead is None

    @property
    def written_choices(self) -> tuple[str, ...]:
        """The values of a choice in a cell."""
        return (*(self.in_cell or ()), *self.choices)

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"AUTOCODE_{self.name.upper()}"

    @property
    def accepted(self) -> str:
        """A description of the accepted values."""
        if self.kind == "choice":
            return " or ".join(self.choices)
        return (
            self.expects
            or {
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
                "version": "a Python version such as 3.12, as a string",
            }[self.kind]
        )

    def from_text(self, text: str, called: str = "") -> Any:
        """Parse and check a word of a cell or an environment variable; see `checked`.

        Raises:
            InvalidRequest: it is not a valid value.
        """
        called = called or self.name
        if self.kind == "mapping":
            raise InvalidRequest(
                f"{called} is a dictionary, which cannot be written as text.", hint="Use %config or pyproject.toml."
            )
        return self.checked(_parsed(self.kind, text), called)

    def checked(self, value: Any, called: str = "") -> Any:
        """Check a value, and return it in canonical form.

        Raises:
            InvalidRequest: it is not a valid value.
        """
        if self.kind == "choice" and self.choices:
            return parameters.choice(called or self.name, value, self.choices)
        return (self.check or _BY_KIND[self.kind])(called or self.name, value)

    def allows_more(self, value: Any, other: Any) -> bool:
        """Whether one value of a `stricter` option, or of one with columns to withhold, allows more than another."""
        if self.kind == "columns":
            return not set(other) <= set(value)
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


def _parsed(kind: Kind, text: str) -> Any:
    """The value that a text stands for; the text itself if it stands for none, so that the check names it."""
    if kind in ("integer", "number"):
        with contextlib.suppress(ValueError):
            return int(text) if kind == "integer" else float(text)
    if kind == "flag":
        folded = text.strip().casefold()
        return folded in TRUE_WORDS if folded in TRUE_WORDS + FALSE_WORDS else text
    if kind in ("names", "variables"):
        return tuple(text.replace(",", " ").split())
    if kind == "columns":
        return tuple(name.strip() for name in text.split(",") if name.strip())
    return text


_BY_KIND: dict[Kind, Check] = {
    "text": parameters.text,
    "number": parameters.positive,
    "flag": parameters.flag,
    "names": parameters.texts,
    "columns": parameters.texts,
    "variable": parameters.variable_name,
    "variables": parameters.variable_names,
    "size": parameters.memory,
    "version": parameters.python_version,
}


# Settings


@dataclass(frozen=True)
class Setting:
    """The description of a setting. It is in the `Annotated` type of its field, with its options and its `Page`.

    Args:
        help: a sentence without its full stop; `{default}` is replaced by the default.
        check: checks and freezes a value; by default a check of the field's type. If the default is None, None is
            accepted without a check.
        takes: type of the constructor's parameter, if it accepts more forms than the field. None means the default.
        shapes: for a setting that shapes how a function is written, what changes with it, in words. It is not part
            of the key of a request: with another value, a function is kept, and its card says how it was written.
        only: the only backend for which it has an effect; None for all.
    """

    help: str
    check: Check | None = None
    minimum: int | None = None
    takes: str = ""
    shapes: str = ""
    only: Backend | None = None


@dataclass(frozen=True)
class Page:
    """How JupyterLab's settings page shows a setting. A setting that is not on the page has none.

    Args:
        description: the description; `{default}` is replaced by the default.
        choices: the title of each value of a choice.
        pattern: a regular expression for the whole value; "" if there is none.
        parts: of a dictionary, the title of each key that the page shows, and its only value; None for a number of at
            least 0. The page accepts no other key, so no secret ends up in a file there.
    """

    title: str
    description: str
    choices: Mapping[str, str] = field(default_factory=dict)
    pattern: str = ""
    parts: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class SettingRecord:
    """The complete definition of one setting.

    Args:
        name: the field of `AgentConfig`, and the parameter of `AutoCoderAgent`.
        default: the default; `MISSING` if it has a default factory.
        options: its options in cells, `%config`, pyproject.toml and the environment; a record such as `Resources` has
            one for each of its parts.
        page: its entry on JupyterLab's settings page; None if it is not there.
    """

    name: str
    type: Any
    default: Any
    setting: Setting
    options: tuple[Option, ...]
    page: Page | None

    @property
    def help(self) -> str:
        """The help text."""
        return self.setting.help.format(default=self._shown_default)

    @property
    def description(self) -> str:
        """The description for the settings page."""
        return self.page.description.format(default=self._shown_default) if self.page else ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a choice; empty for other types."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    def checked(self, value: Any, called: str = "") -> Any:
        """Check a value, and return a frozen copy.

        Raises:
            InvalidRequest: the value is not allowed.
        """
        called = called or self.name
        if value is None and self.default is None:
            return None
        if value is None and "None" in self.setting.takes and self.default is not MISSING:
            return self.default
        if self.setting.minimum is not None:
            return parameters.count(called, value, least=self.setting.minimum)
        if self.choices:
            return parameters.choice(called, value, self.choices)
        return (self.setting.check or _BY_TYPE[self.plain_type])(called, value)

    @property
    def plain_type(self) -> Any:
        """The type of a value that is not None."""
        if get_origin(self.type) in (Union, types.UnionType):
            return next(part for part in get_args(self.type) if part is not type(None))
        return self.type

    @property
    def _shown_default(self) -> str:
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)


_BY_TYPE: dict[Any, Check] = {
    str: parameters.text,
    bool: parameters.flag,
    tuple[str, ...]: parameters.texts,
    Mapping[str, Any]: parameters.mapping,
}

_KINDS: dict[Any, Kind] = {bool: "flag", int: "integer", float: "number", str: "text", Mapping[str, Any]: "mapping"}


def records(config: type) -> dict[str, SettingRecord]:
    """The settings of a dataclass with annotated fields, by name, in order."""
    return {each.name: _record(each) for each in fields(config)}


def _record(each: Field[Any]) -> SettingRecord:
    found = each.type.__metadata__  # type: ignore[union-attr]
    setting = next(part for part in found if isinstance(part, Setting))
    bare = SettingRecord(each.name, get_args(each.type)[0], each.default, setting, (), None)
    options = tuple(_option(bare, part) for part in found if isinstance(part, Option))
    return replace(bare, options=options, page=next((part for part in found if isinstance(part, Page)), None))


def _option(record: SettingRecord, option: Option) -> Option:
    """An option, completed from its setting: name, field, help, kind, choices and check that it does not set itself."""
    if option.name:
        return replace(option, help=option.help or record.help)

    def check(called: str, value: Any) -> Any:
        return record.checked(value, called)

    return replace(
        option,
        name=record.name,
        field=record.name,
        help=option.help or record.help,
        kind=_kind(record) if option.kind == "text" else option.kind,
        choices=record.choices,
        check=option.check or check,
        expects=option.expects or _EXPECTS.get(record.setting.check) or _at_least(record.setting.minimum),
    )


_EXPECTS: dict[Check | None, str] = {
    parameters.positive: "a number above 0",
    parameters.seconds: "a number of seconds above 0",
    parameters.address: "an address that begins with http:// or https://",
    parameters.model: "the name of a model",
}


def _at_least(minimum: int | None) -> str:
    return "" if minimum is None else f"a whole number of at least {minimum}"


def _kind(record: SettingRecord) -> Kind:
    return "choice" if record.choices else _KINDS.get(record.plain_type, "text")
