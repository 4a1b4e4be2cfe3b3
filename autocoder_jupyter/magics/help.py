"""The help text, generated from the tables of options and subcommands."""

from __future__ import annotations

from autocoder_jupyter.magics.line import SUBCOMMANDS, Subcommand
from autocoder_jupyter.magics.options import OPTIONS, SETTINGS

_HEAD = """\
%%autocode NAME [options]
[more options, on lines that begin with - or --]
What the function should do. @name refers to a DataFrame, Series, File or Dir of the notebook; @@name is plain text.

%%autocode_test NAME, then your own pytest functions that call NAME(…), in a cell before or after that one.

Then NAME.run(data) calls the function, NAME shows the result, and the subcommands of %autocode are listed below.
"""


def help_text() -> str:
    """The help text: the syntax of a cell, its options, the settings and the subcommands."""
    options = [
        (_flags(option.flags, option.placeholder, option.choices), option.help) for option in OPTIONS if option.flags
    ]
    settings = [(option.name, option.help) for option in SETTINGS.values() if not option.flags]
    commands = [(f"{command.name} {command.usage}".strip(), command.help) for command in SUBCOMMANDS.values()]
    return "\n".join(
        (
            _HEAD,
            "Options",
            *_columns(options),
            "",
            "Options that do not describe the function are settings too: %config Autocode.share = 'stats',",
            "[tool.autocode] share = 'stats' in pyproject.toml, AUTOCODE_SHARE=stats in the environment. The first",
            "of flag, %config, pyproject.toml, JupyterLab's settings, environment, default is used. Settings of a",
            "folder's pyproject.toml that need your permission are used after %autocode trust. Further settings:",
            *_columns(settings),
            "",
            "%autocode …",
            *_columns(commands),
        )
    )


def subcommand_help(command: Subcommand) -> str:
    """The help text of one subcommand: how it is written, what it does, and its flags."""
    flags = [(_flags(option.flags, option.placeholder, option.choices), option.help) for option in command.options]
    lines = (f"%autocode {command.name} {command.usage}".rstrip(), f"  {command.help}", *_columns(flags))
    return "\n".join(lines)


def _flags(flags: tuple[str, ...], placeholder: str, choices: tuple[str, ...]) -> str:
    return f"{', '.join(flags)} {placeholder or '|'.join(choices)}".strip()


def _columns(rows: list[tuple[str, str]]) -> list[str]:
    return [f"  {left:<36} {right}" if len(left) <= 36 else f"  {left}\n{'':39}{right}" for left, right in rows]
