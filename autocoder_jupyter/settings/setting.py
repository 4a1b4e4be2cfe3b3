"""What `AgentConfig` says of each of its fields, beside type and default; checks and options are derived from it."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, Literal, Union, get_args, get_origin

from autocoder_jupyter.settings import parameters
from autocoder_jupyter.settings.option import Kind, Option

Check = Callable[[str, Any], Any]
"""Takes the name of a setting and a value as a person gives it; returns the frozen value, or raises InvalidRequest."""


@dataclass(frozen=True)
class Setting:
    """What a setting is. It stands in the `Annotated` type of its field, with its options and its place on the page.

    Args:
        help: what it does, a sentence without its full stop; `{default}` in it is the default.
        check: checks and freezes a value; by default what follows from the type of the field. A setting whose default
            is None takes None too, and the check does not see it.
        minimum: the smallest whole number allowed.
        takes: type of the constructor's parameter, where a person may write more forms than the field holds. None
            among them means the default.
        only: the backend without which it has no effect; "" for all.
    """

    help: str
    check: Check | None = None
    minimum: int | None = None
    takes: str = ""
    only: Literal["", "claude"] = ""


@dataclass(frozen=True)
class Page:
    """How JupyterLab's page of settings shows a setting. What is not on the page has none.

    Args:
        title: its name there.
        description: what it does; `{default}` in it is the default.
        choices: of a choice, what each value is called.
    """

    title: str
    description: str
    choices: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """One setting with all that is known of it.

    Args:
        name: the field of `AgentConfig`, and the parameter of `AutoCoderAgent`.
        type: what the field holds.
        default: what holds when nobody says anything; `MISSING` for one that is made anew each time.
        setting: what it is.
        options: how cells, `%config`, pyproject.toml and the environment write it; a record such as `Resources` has
            one for each of its parts.
        page: its place on JupyterLab's page; None when it has none.
    """

    name: str
    type: Any
    default: Any
    setting: Setting
    options: tuple[Option, ...]
    page: Page | None

    @property
    def help(self) -> str:
        """What it does."""
        return self.setting.help.format(default=self._shown_default)

    @property
    def description(self) -> str:
        """What it does, for the page of settings."""
        return self.page.description.format(default=self._shown_default) if self.page else ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The values of a choice; none for all else."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    def checked(self, value: Any) -> Any:
        """A frozen copy of a value that a person gives.

        Raises:
            InvalidRequest: the setting cannot have it.
        """
        if value is None and self.default is None:
            return None
        if value is None and "None" in self.setting.takes and self.default is not MISSING:
            return self.default
        if self.setting.minimum is not None:
            return parameters.count(self.name, value, least=self.setting.minimum)
        if self.choices:
            return parameters.choice(self.name, value, self.type)
        return (self.setting.check or _BY_TYPE[self.plain_type])(self.name, value)

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


def records(config: type) -> dict[str, Record]:
    """The settings of a dataclass whose fields are annotated with them, by name, in order."""
    return {each.name: _record(each) for each in fields(config)}


def _record(each: Field[Any]) -> Record:
    found = each.type.__metadata__  # type: ignore[union-attr]
    setting = next(part for part in found if isinstance(part, Setting))
    bare = Record(each.name, get_args(each.type)[0], each.default, setting, (), None)
    options = tuple(_option(bare, part) for part in found if isinstance(part, Option))
    return replace(bare, options=options, page=next((part for part in found if isinstance(part, Page)), None))


def _option(record: Record, option: Option) -> Option:
    """An option with what it has of its setting, unless it says otherwise: name, field, help, kind, choices, bound."""
    if option.name:
        return replace(option, help=option.help or record.help)
    return replace(
        option,
        name=record.name,
        field=record.name,
        help=option.help or record.help,
        kind=_kind(record) if option.kind == "text" else option.kind,
        choices=record.choices,
        minimum=record.setting.minimum if option.minimum is None else option.minimum,
    )


def _kind(record: Record) -> Kind:
    return "choice" if record.choices else _KINDS.get(record.plain_type, "text")
