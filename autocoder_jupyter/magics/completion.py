"""Completion from the kernel, so that every front end has it: options, their values, `@frames`, subcommands, names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from autocoder_jupyter.magics.line import SUBCOMMANDS
from autocoder_jupyter.magics.notebook import Notebook, is_result
from autocoder_jupyter.magics.options import FLAGS

_DECLARED_TYPE = re.compile(r"""(?P<flag>-o|--output|-i|--input)[\s=]+["'][^"':]*:\s*(?P<fragment>\w*)$""")
_VALUE = re.compile(r"(?:^|\s)(?P<flag>--?[A-Za-z][\w-]*)(?:\s+|=)(?P<fragment>[^\s\"'=]*)$")
_FLAG = re.compile(r"(?:^|\s)(?P<fragment>--?[\w-]*)$")
_REFERENCE = re.compile(r"(?<![\w@])@(?P<fragment>\w*)$")
_OPTION_LINE = re.compile(r"\s*--?[A-Za-z]*")


class Completion:
    """The completer of one notebook; `matcher` goes into `Completer.custom_matchers`."""

    def __init__(self, notebook: Notebook) -> None:
        def autocode_matcher(context: CompletionContext) -> SimpleMatcherResult:
            return _result(*complete(context.full_text, context.cursor_line, context.text_until_cursor, notebook))

        mark: Any = context_matcher()
        self.matcher: Any = mark(autocode_matcher)


def complete(text: str, row: int, before: str, notebook: Notebook) -> tuple[str, list[str]]:
    """What can stand at the cursor.

    Args:
        text: the whole cell.
        row: line of the cursor, from 0.
        before: that line up to the cursor.
        notebook: whose variables and jobs are offered.

    Returns:
        The fragment that is replaced, and what can take its place; nothing outside of our own cells.
    """
    if text.startswith("%%autocode"):
        return _in_cell(text, row, before, notebook)
    if before.startswith("%autocode "):
        return _in_line(before.removeprefix("%autocode "), notebook)
    return "", []


def _in_cell(text: str, row: int, before: str, notebook: Notebook) -> tuple[str, list[str]]:
    lines = text.split("\n")
    if not all(_OPTION_LINE.match(line) and line.strip() for line in lines[1 : row + 1]):
        return _reference(before, notebook)
    typed = _DECLARED_TYPE.search(before)
    if typed:
        return _among(typed["fragment"], _types(typed["flag"]))
    value = _VALUE.search(before)
    if value and value["flag"] in FLAGS and FLAGS[value["flag"]].takes_value:
        return _among(value["fragment"], _values(value["flag"], notebook))
    flag = _FLAG.search(before)
    if flag and (row > 0 or " " in before):
        written = set(re.findall(r"(?<!\S)--?[A-Za-z][\w-]*", "\n".join(lines[: row + 1])))
        return _among(flag["fragment"], _flags(written - {flag["fragment"]}))
    return _reference(before, notebook)


def _in_line(before: str, notebook: Notebook) -> tuple[str, list[str]]:
    command_name, blank, rest = before.partition(" ")
    if not blank:
        return _among(command_name, SUBCOMMANDS)
    command = SUBCOMMANDS.get(command_name)
    if command is None:
        return "", []
    fragment = re.split(r"\s", rest)[-1]
    if fragment.startswith("-"):
        return _among(fragment, [flag for option in command.options for flag in option.flags])
    if command.takes_name and " " not in rest.lstrip():
        return _among(fragment, _names(notebook))
    return "", []


def _reference(before: str, notebook: Notebook) -> tuple[str, list[str]]:
    found = _REFERENCE.search(before)
    return _among(found["fragment"], _data(notebook)) if found else ("", [])


def _among(fragment: str, words: Iterable[str]) -> tuple[str, list[str]]:
    return fragment, [word for word in words if word.startswith(fragment)]


def _types(flag: str) -> tuple[str, ...]:
    from autocoder_jupyter.types import INPUT_TYPE_NAMES, TYPE_NAMES

    return TYPE_NAMES if flag in ("-o", "--output") else INPUT_TYPE_NAMES


def _values(flag: str, notebook: Notebook) -> Iterable[str]:
    option = FLAGS[flag]
    return _data(notebook) if option.name == "sample" else option.choices


def _flags(written: set[str]) -> list[str]:
    spent = {FLAGS[flag].name for flag in written if flag in FLAGS and not FLAGS[flag].repeatable}
    return [flag for flag, option in FLAGS.items() if option.name not in spent]


def _data(notebook: Notebook) -> list[str]:
    from autocoder_jupyter.magics.references import data_names

    return data_names(notebook.namespace)


def _names(notebook: Notebook) -> list[str]:
    bound = [name for name, value in notebook.namespace.items() if not name.startswith("_") and is_result(value)]
    return list(dict.fromkeys([*notebook.launched, *bound]))


def _result(fragment: str, words: list[str]) -> SimpleMatcherResult:
    return SimpleMatcherResult(
        completions=[SimpleCompletion(text=word, type="autocode") for word in words],
        matched_fragment=fragment,
        suppress=bool(words),
        ordered=True,
    )
