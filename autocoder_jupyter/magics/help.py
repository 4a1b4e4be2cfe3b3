"""The help texts, generated from the tables of options and subcommands."""

from __future__ import annotations

from collections.abc import Iterable

from autocoder_jupyter.magics.line import SUBCOMMANDS, Subcommand
from autocoder_jupyter.magics.options import MORE, MOST_USED, SETTINGS
from autocoder_jupyter.settings.setting import Option

_HEAD = """\
%%autocode NAME [options]
[more options, on lines that begin with - or --]
What the function should do. @name refers to a DataFrame, Series, File or Dir of the notebook.
"""

_CALL = "Then NAME.run(data) calls the function, and NAME shows the result."

_MORE = "%autocode -h all lists the other options, the settings, and what each subcommand does."

_SETTINGS = """\
Settings. Options about how a function is made are settings too: %config Autocode.share = 'stats',
[tool.autocode] share = 'stats' in pyproject.toml, AUTOCODE_SHARE=stats in the environment. The first of
flag, %config, pyproject.toml, JupyterLab's settings, environment, default is used. What a folder's
pyproject.toml needs your permission for is used after %autocode trust. These have no option:"""


def help_text() -> str:
    """The short help: the syntax of a cell, the options that are used most, and the names of the subcommands."""
    commands = f"%autocode SUBCOMMAND: {', '.join(SUBCOMMANDS)}."
    return "\n".join((_HEAD, *_options(MOST_USED), "", _CALL, commands, _MORE))


def full_help() -> str:
    """The complete help: all options, by what they are about, the settings and the subcommands."""
    settings = [(option.name, option.help) for option in SETTINGS.values() if not option.is_current]
    commands = [(f"{command.name} {command.usage}".strip(), command.help) for command in SUBCOMMANDS.values()]
    return "\n".join(
        (
            _HEAD,
            *_options(MOST_USED),
            *(line for title, group in MORE.items() for line in ("", title, *_options(group))),
            "",
            _CALL,
            "%%autocode_test NAME, then your own pytest functions that call NAME(…), in a cell before or after it.",
            "",
            "%autocode SUBCOMMAND",
            *_columns(commands),
            "",
            _SETTINGS,
            *_columns(settings),
        )
    )


def subcommand_help(command: Subcommand) -> str:
    """The help text of one subcommand: how it is written, what it does, and its flags."""
    lines = (f"%autocode {command.name} {command.usage}".rstrip(), f"  {command.help}", *_options(command.options))
    return "\n".join(lines)


def option_help(option: Option) -> str:
    """The help text of one option or setting: how it is written, and what it does."""
    setting = [f"  As a setting: %config Autocode.{option.name} = …"] if option.name in SETTINGS else []
    return "\n".join((_flags(option) if option.is_current else option.name, f"  {option.help}", *setting))


def _options(options: Iterable[Option]) -> list[str]:
    return _columns([(_flags(option), option.help) for option in options])


def _flags(option: Option) -> str:
    return f"{', '.join(option.flags)} {option.placeholder or '|'.join(option.written_choices)}".strip()


def _columns(rows: list[tuple[str, str]]) -> list[str]:
    return [f"  {left:<36} {right}" if len(left) <= 36 else f"  {left}\n{'':39}{right}" for left, right in rows]
