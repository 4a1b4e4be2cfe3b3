"""Options, types and subcommands as data, for highlighting and completion in the editor of a page."""

from __future__ import annotations

from typing import TypedDict

from autocoder_jupyter.magics.line import SUBCOMMANDS, Subcommand
from autocoder_jupyter.magics.options import OPTIONS, SETTINGS
from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.settings.setting import Option


class OptionWords(TypedDict):
    """An option of `%%autocode`; in TypeScript `IOption`, and the next two are `ISubcommand` and `IVocabulary`."""

    name: str
    flags: list[str]
    takes_value: bool
    choices: list[str]
    placeholder: str
    help: str
    repeatable: bool


class SubcommandWords(TypedDict):
    """A subcommand of `%autocode`."""

    name: str
    usage: str
    help: str
    takes_name: bool
    flags: list[str]


class Vocabulary(TypedDict):
    """All options, types, subcommands and settings."""

    options: list[OptionWords]
    types: list[str]
    input_types: list[str]
    subcommands: list[SubcommandWords]
    settings: list[str]
    page: list[str]


def vocabulary() -> Vocabulary:
    """Options, types, subcommands and settings, as JSON.

    Names of models are not included: the kernel completes them from the installed litellm.
    """
    from autocoder_jupyter.types import INPUT_TYPE_NAMES, TYPE_NAMES

    return {
        "options": [_option(option) for option in OPTIONS if option.flags],
        "types": list(TYPE_NAMES),
        "input_types": list(INPUT_TYPE_NAMES),
        "subcommands": [_subcommand(command) for command in SUBCOMMANDS.values()],
        "settings": list(SETTINGS),
        "page": [record.name for record in RECORDS.values() if record.page],
    }


def _option(option: Option) -> OptionWords:
    return {
        "name": option.name,
        "flags": list(option.flags),
        "takes_value": option.takes_value,
        "choices": list(option.choices),
        "placeholder": option.placeholder,
        "help": option.help,
        "repeatable": option.repeatable,
    }


def _subcommand(command: Subcommand) -> SubcommandWords:
    return {
        "name": command.name,
        "usage": command.usage,
        "help": command.help,
        "takes_name": command.takes_name,
        "flags": [flag for option in command.options for flag in option.flags],
    }
