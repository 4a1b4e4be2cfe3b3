"""The metadata of the fields of `AgentConfig`, from which checks and options are derived."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, Literal, Union, get_args, get_origin

from autocoder_jupyter.settings import parameters
from autocoder_jupyter.settings.engines import Backend
from autocoder_jupyter.settings.option import Check, Kind, Option


@dataclass(frozen=True)
class Setting:
    """The description of a setting. It is in the `Annotated` type of its field, with its options and its `Page`.

    Args:
        help: a sentence without its full stop; `{default}` is replaced by the default.
        check: checks and freezes a value; by default a check of the field's type. If the default is None, None is
            accepted without a check.
        minimum: the smallest whole number allowed.
        takes: type of the constructor's parameter, if it accepts more forms than the field. None means the default.
        shapes: for a setting that shapes how a function is written, what changes with it, in words. It is no part of
            the key of a request: with another value, a function is kept, and its card says how it was written.
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
        title: the title on the page.
        description: the description; `{default}` is replaced by the default.
        choices: the title of each value of a choice.
        pattern: a regular expression for the whole value; "" if there is none.
        parts: of a dictionary, the title of each key that the page shows, and its only value; None for a number of at
            least 0. The page accepts no other key, so nobody writes a secret into a file there.
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
        type: the type of the field.
        default: the default; `MISSING` if it has a default factory.
        setting: its description and check.
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

        Args:
            value: the value.
            called: how the setting is written where the value stands, for the error; its name by default.

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
