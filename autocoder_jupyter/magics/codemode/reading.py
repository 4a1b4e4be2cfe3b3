"""Parse `--mode`, `--tool` and `--continue`. No variable is looked up here."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.options import OPTIONS
from autocoder_jupyter.settings.setting import Mode


@dataclass(frozen=True)
class ToolOption:
    """`--tool alias=name`; without an alias, the code uses the last part of the name.

    Args:
        name: a variable of the notebook, or an attribute of one: `client.latest`.
    """

    alias: str
    name: str


def mode_of(given: Mapping[str, Any]) -> Mode:
    """The mode of a cell: that of `--mode`, or `tools` if the cell has `--continue`."""
    mode: Mode = given.get("mode", "tools" if "continue" in given else "function")
    return mode


def refuse_options_of_the_other_mode(given: Collection[str], mode: Mode) -> None:
    """Refuse options that have no effect in this mode."""
    for option in (option for option in OPTIONS if option.name in given and mode not in option.modes):
        flag = option.flags[0]
        if mode == "tools":
            raise InvalidRequest(f"{flag} is for functions, and --mode tools builds none.", hint="Leave it out.")
        raise InvalidRequest(f"{flag} needs --mode tools.", hint="Add --mode tools, or leave it out.")


def read_tools(texts: Sequence[str]) -> tuple[ToolOption, ...]:
    """The tools of a cell, in order."""
    tools = tuple(map(_tool, texts))
    aliases = [tool.alias for tool in tools]
    for alias in aliases:
        if aliases.count(alias) > 1:
            raise InvalidRequest(f"--tool names {alias!r} twice.", hint="Keep one, or rename one: --tool ALIAS=NAME.")
    return tools


def read_continued(text: str | None, name: str) -> str | None:
    """The name of the conversation to continue."""
    if text is None:
        return None
    if not text.isidentifier():
        raise InvalidRequest(f"{text!r} cannot be the name of a conversation.", hint="Write --continue NAME.")
    if text == name:
        raise InvalidRequest(
            f"{name} cannot continue itself.",
            why="Each run of this cell would start where the last one ended.",
            hint="Give the cell another name.",
        )
    return text


def _tool(text: str) -> ToolOption:
    before, equals, after = (part.strip() for part in text.partition("="))
    name = after if equals else before
    parts = name.split(".")
    alias = before if equals else parts[-1]
    if not all(map(_is_name, (*parts, alias))):
        raise InvalidRequest(
            f"--tool {text!r} is not the name of a function.", hint="Write --tool NAME or --tool ALIAS=NAME."
        )
    return ToolOption(alias, name)


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)
