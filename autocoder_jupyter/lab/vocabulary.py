"""The words of our cells, as data: what the page's editor colours, completes and checks without asking the kernel."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.magics.line import SUBCOMMANDS, Subcommand
from autocoder_jupyter.magics.options import OPTIONS, SETTINGS
from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.settings.option import Option


def vocabulary() -> dict[str, Any]:
    """Options, types, subcommands and settings, as JSON.

    Names of models are not among them: they come from the installed litellm, by completion from the kernel.
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


def _option(option: Option) -> dict[str, Any]:
    return {
        "name": option.name,
        "flags": list(option.flags),
        "takes_value": option.takes_value,
        "kind": option.kind,
        "choices": list(option.choices),
        "minimum": option.minimum,
        "expects": option.expects,
        "placeholder": option.placeholder,
        "help": option.help,
        "repeatable": option.repeatable,
        "modes": list(option.modes),
    }


def _subcommand(command: Subcommand) -> dict[str, Any]:
    return {
        "name": command.name,
        "usage": command.usage,
        "help": command.help,
        "takes_name": command.takes_name,
        "flags": [flag for option in command.options for flag in option.flags],
    }
