"""The help text, generated from the tables of options and subcommands."""

from __future__ import annotations

from autocoder_jupyter.magics.line import SUBCOMMANDS
from autocoder_jupyter.magics.options import OPTIONS, SETTINGS

_HEAD = """\
%%autocode NAME [options]
[more options, one line or several that begin with - or --]
What you need, in words. @name refers to a DataFrame, Series, File or Dir of the notebook; @@name is just text.

%%autocode_test NAME, then pytest functions of your own that call NAME(…), in a cell before or after that one.

Then NAME.run(data) calls the function, NAME itself shows it, and %autocode SUBCOMMAND does the rest.
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
            "of flag, %config, pyproject.toml, JupyterLab's settings, environment, default wins; what a folder's",
            "pyproject.toml asks for beyond stricter limits holds once you agreed: %autocode trust. Further settings:",
            *_columns(settings),
            "",
            "%autocode …",
            *_columns(commands),
        )
    )


def _flags(flags: tuple[str, ...], placeholder: str, choices: tuple[str, ...]) -> str:
    return f"{', '.join(flags)} {placeholder or '|'.join(choices)}".strip()


def _columns(rows: list[tuple[str, str]]) -> list[str]:
    return [f"  {left:<36} {right}" if len(left) <= 36 else f"  {left}\n{'':39}{right}" for left, right in rows]
