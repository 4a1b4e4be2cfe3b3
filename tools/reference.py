"""Pages of the documentation that are generated from records: options, settings, line commands.

`docs/conf.py` writes them into `docs/generated/` each time the site is built, so they are always current.
"""

from __future__ import annotations

import ast
import inspect
import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from typing import Any

from autocoder_jupyter.magics.line import SUBCOMMANDS, Subcommand
from autocoder_jupyter.magics.options import OPTIONS
from autocoder_jupyter.settings.choices import SandboxMinimum
from autocoder_jupyter.settings.config import RECORDS
from autocoder_jupyter.settings.setting import Option, SettingRecord

_ABOUT_CELLS = """\
*For you if you write a cell: which options are there, and what do they do?*

These options describe one function, or what its cell does. Write them in a `%%autocode` cell, in the first line or in
the lines of options below it. [Settings](settings.md) that have an option can be written there too."""

_ABOUT_SETTINGS = """\
*For you if a default does not suit you: what can be set, where, and to what?*

Settings define how functions are generated. The first place with a value is used: the cell, `%config`,
`[tool.autocode]` in `pyproject.toml`, JupyterLab's settings page, the environment variable, the default.
`%autocode setup settings` shows every effective value and where it comes from. The last line of each setting says what
the `pyproject.toml` of a folder can do with it before you agree to it with `%autocode trust`."""

_ABOUT_COMMANDS = """\
*For you if you work with functions that are there: which command does what?*

`%autocode COMMAND …`, in a cell or a terminal. `%autocode -h all` lists them too."""

_FOLDERS = {
    "free": "it can set this.",
    "stricter": "it can make this stricter, but not looser. Reason: {risk}.",
    "asks": "it can only ask you for permission. Reason: {risk}.",
    None: "it cannot set this.",
}


def pages() -> dict[str, str]:
    """MyST text by file name."""
    return {"cell-options.md": _cell_options(), "settings.md": _settings(), "commands.md": _commands()}


def value_of(option: Option) -> Any:
    """The value of an option's example.

    Raises:
        ValueError: the example is not a valid value of the option.
    """
    if option.kind == "flag":
        return True
    if not option.flags:
        return option.checked(ast.literal_eval(option.example))
    (word,) = shlex.split(option.example)
    return option.from_text(word)


def _cell_options() -> str:
    parts = ["# Options of a cell", _ABOUT_CELLS]
    for option in OPTIONS:
        if not option.is_setting:
            parts += [
                f"## `{option.flags[-1]}`",
                _sentence(option.help),
                *_facts(option),
                _code("", _cell_line(option)),
            ]
    return "\n\n".join(parts) + "\n"


def _settings() -> str:
    parts = ["# Settings", _ABOUT_SETTINGS]
    fields = {option.name: record for record in RECORDS.values() for option in record.options}
    for option in OPTIONS:
        if option.is_setting:
            parts += _setting(option, fields.get(option.name))
    parts += [
        "## Only in a program",
        "Parameters of [`AutoCoderAgent`](../api.md) that cannot be set in a cell:",
        *(f"`{each.name}`\n: {_sentence(each.help)}" for each in RECORDS.values() if not each.options),
    ]
    return "\n\n".join(parts) + "\n"


def _setting(option: Option, record: SettingRecord | None) -> Iterator[str]:
    yield f"## `{option.name}`"
    yield _sentence(option.help)
    yield from _facts(option, record)
    value = value_of(option)
    if option.is_current:
        yield _code("", _cell_line(option))
    yield _code("python", f"%config Autocode.{option.name} = {value!r}")
    toml = f"[tool.autocode]\n{option.name} = {_toml(value)}"
    yield _code("toml", toml)
    if option.kind != "mapping":
        yield _code("bash", f"export {option.variable}={shlex.quote(_word(value))}")
    yield f"*A folder without your permission:* {_FOLDERS[option.rule].format(risk=option.risk)}"


def _facts(option: Option, record: SettingRecord | None = None) -> Iterator[str]:
    said = []
    if len(option.flags) > 1:
        said.append(f"also `{option.flags[0]}`")
    if option.takes_value:
        said.append(f"takes {option.accepted}")
    said += [f"in a cell also `{value}`: {_stands_for(given)}" for value, given in (option.in_cell or {}).items()]
    if option.repeatable:
        said.append("can be given more than once")
    if record is not None and record.default not in (MISSING, None, (), "") and record.name == option.name:
        said.append(f"default `{_word(record.default)}`")
    if said:
        yield _sentence("; ".join(said))


def _stands_for(given: Mapping[str, Any]) -> str:
    return " and ".join(f"`{name} = {_toml(value)}`" for name, value in given.items())


def _cell_line(option: Option) -> str:
    name = "growth" if "function" in option.modes else "rates"
    base = "" if "function" in option.modes or option.name == "mode" else "--mode tools "
    flag = option.flags[-1] if option.kind == "flag" else f"{option.flags[-1]} {option.example}"
    asked = "Monthly revenue growth from @sales." if "function" in option.modes else "What is @orders worth in euros?"
    return f"%%autocode {name} {base}{flag}\n{asked}"


def _commands() -> str:
    parts = ["# Line commands", _ABOUT_COMMANDS]
    for command in SUBCOMMANDS.values():
        parts += [f"## `%autocode {command.name}`", _sentence(command.help), _code("", _usage(command))]
        parts += [f"`{option.flags[0]}`\n: {_sentence(option.help)}" for option in command.options]
    return "\n\n".join(parts) + "\n"


def _usage(command: Subcommand) -> str:
    return f"%autocode {command.name} {command.usage}".rstrip()


def _sentence(text: str) -> str:
    text = inspect.cleandoc(text)
    return f"{text[0].upper()}{text[1:]}."


def _code(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _word(value: Any) -> str:
    """A value as an environment variable has it."""
    if isinstance(value, SandboxMinimum):
        return value.tier
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
