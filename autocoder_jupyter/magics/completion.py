"""Completion in the kernel, for every front end: options, their values, `@frames`, subcommands and names.

A front end shows the type beside each word. IPython's protocol has no other field, so the type also contains the size
and the columns of a table, and in a terminal, which has room for it, the help of an option or subcommand.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.line import SUBCOMMANDS
from autocoder_jupyter.magics.notebook import Notebook, is_ours, is_result
from autocoder_jupyter.magics.options import FLAGS
from autocoder_jupyter.settings.setting import Option

_DECLARED_TYPE = re.compile(r"""(?P<flag>-o|--output|-i|--input)[\s=]+["'][^"':]*:\s*(?P<fragment>\w*)$""")
_VALUE = re.compile(r"(?:^|\s)(?P<flag>--?[A-Za-z][\w-]*)(?:\s+|=)(?:\w+=)?(?P<fragment>[^\s\"'=]*)$")
_FLAG = re.compile(r"(?:^|\s)(?P<fragment>--?[\w-]*)$")
_REFERENCE = re.compile(r"(?<![\w@])@(?P<fragment>\w*)$")
_USAGE_WORD = re.compile(r"(?<![-\w])[a-z]+")
_OPTION_LINE = re.compile(r"\s*--?[A-Za-z]*")

Offer = tuple[str, str]
"""A completion, and its type."""

MOST_OFFERS = 200


class Completion:
    """The completer of one notebook; `matcher` goes into `Completer.custom_matchers`."""

    def __init__(self, notebook: Notebook) -> None:
        def autocode_matcher(context: CompletionContext) -> SimpleMatcherResult:
            return _result(*complete(context.full_text, context.cursor_line, context.text_until_cursor, notebook))

        mark: Any = context_matcher()
        self.matcher: Any = mark(autocode_matcher)


def complete(text: str, row: int, before: str, notebook: Notebook) -> tuple[str, list[Offer]]:
    """The completions at the cursor."""
    if text.startswith("%%autocode"):
        return _in_cell(text, row, before, notebook)
    if before.startswith("%autocode "):
        return _in_line(before.removeprefix("%autocode "), notebook)
    return "", []


def _in_cell(text: str, row: int, before: str, notebook: Notebook) -> tuple[str, list[Offer]]:
    notebook.prepare()
    lines = text.split("\n")
    if not all(_OPTION_LINE.match(line) and line.strip() for line in lines[1 : row + 1]):
        return _reference(before, notebook)
    typed = _DECLARED_TYPE.search(before)
    if typed:
        return _among(typed["fragment"], _all(_types(typed["flag"]), "type"))
    value = _VALUE.search(before)
    if value and value["flag"] in FLAGS and FLAGS[value["flag"]].takes_value:
        return _among(value["fragment"], _values(value["flag"], value["fragment"], notebook))
    flag = _FLAG.search(before)
    if flag and (row > 0 or " " in before):
        written = set(re.findall(r"(?<!\S)--?[A-Za-z][\w-]*", "\n".join(lines[: row + 1])))
        return _among(flag["fragment"], _options(_flags(written - {flag["fragment"]}), notebook))
    return _reference(before, notebook)


def _in_line(before: str, notebook: Notebook) -> tuple[str, list[Offer]]:
    command_name, blank, rest = before.partition(" ")
    if not blank:
        terminal = notebook.is_terminal
        offers = ((name, each.help if terminal else "subcommand") for name, each in SUBCOMMANDS.items())
        return _among(command_name, offers)
    command = SUBCOMMANDS.get(command_name)
    if command is None:
        return "", []
    fragment = re.split(r"\s", rest)[-1]
    if fragment.startswith("-"):
        flags = {flag: option for option in command.options for flag in option.flags}
        return _among(fragment, _options(flags, notebook))
    before_it = rest.split()[: -1 if fragment else None]
    if command.takes_name and not before_it:
        return _among(fragment, _names(notebook))
    if len(before_it) == command.takes_name:
        return _among(fragment, _all(dict.fromkeys(_USAGE_WORD.findall(command.usage)), "word"))
    return "", []


def _reference(before: str, notebook: Notebook) -> tuple[str, list[Offer]]:
    found = _REFERENCE.search(before)
    return _among(found["fragment"], [*_data(notebook), *_helpers(notebook)]) if found else ("", [])


def _among(fragment: str, offers: Iterable[Offer]) -> tuple[str, list[Offer]]:
    return fragment, [offer for offer in offers if offer[0].startswith(fragment)][:MOST_OFFERS]


def _all(words: Iterable[str], kind: str) -> list[Offer]:
    return [(word, kind) for word in words]


def _options(flags: Mapping[str, Option], notebook: Notebook) -> list[Offer]:
    return [(flag, option.help if notebook.is_terminal else "option") for flag, option in flags.items()]


def _types(flag: str) -> tuple[str, ...]:
    from autocoder_jupyter.types import INPUT_TYPE_NAMES, TYPE_NAMES

    return TYPE_NAMES if flag in ("-o", "--output") else INPUT_TYPE_NAMES


def _values(flag: str, fragment: str, notebook: Notebook) -> Iterable[Offer]:
    option = FLAGS[flag]
    if option.name == "sample":
        return _data(notebook)
    if option.name in ("schema", "contract"):
        from autocoder_jupyter.magics.contracts import schema_names

        return _all((f"@{name}" for name in schema_names(notebook.namespace)), "schema")
    if option.name == "model":
        return _models(fragment, notebook)
    if option.name == "tool":
        from autocoder_jupyter.magics.codemode.cell import tool_names

        return _all(tool_names(notebook.namespace), "function")
    if option.name == "continue":
        from autocoder_jupyter.magics.codemode.cell import conversations

        return _all(conversations(notebook), "conversation")
    return _all(option.written_choices, "value")


def _models(fragment: str, notebook: Notebook) -> Iterator[Offer]:
    """The configured model and all providers; after `PROVIDER/` the models of the provider."""
    from autocoder_jupyter.models.catalogue import known_models, known_providers

    with contextlib.suppress(InvalidRequest):  # the cell reports a broken pyproject.toml
        yield notebook.settings()["model"], "model"
    provider, slash, _ = fragment.partition("/")
    if slash:
        yield from _all(known_models(provider), "model")
    else:
        yield from _all((f"{provider}/" for provider in known_providers()), "provider")


def _flags(written: set[str]) -> dict[str, Option]:
    spent = {FLAGS[flag].name for flag in written if flag in FLAGS and not FLAGS[flag].repeatable}
    return {flag: option for flag, option in FLAGS.items() if option.is_current and option.name not in spent}


def _data(notebook: Notebook) -> list[Offer]:
    from autocoder_jupyter.magics.references import describe, hint

    return [(variable["name"], hint(variable)) for variable in describe(notebook.namespace)]


def _helpers(notebook: Notebook) -> Iterator[Offer]:
    """The functions, classes and modules of the user, and the verified functions."""
    for name, value in list(notebook.namespace.items()):
        if not name.startswith("_"):
            kind = ""
            with contextlib.suppress(Exception):  # an object that raises when it is looked at
                kind = _kind_of(value)
            if kind:
                yield name, kind


def _kind_of(value: object) -> str:
    """What a helper is; "" if it is none."""
    from autocoder_jupyter.data.definitions import is_library, is_of_library
    from autocoder_jupyter.magics.references import is_code

    if not is_code(value):
        return ""
    if is_result(value):
        return "verified function" if getattr(value, "state", "") == "ready" else ""
    if isinstance(value, ModuleType):
        return "" if is_library(ModuleType.__getattribute__(value, "__name__")) else "module"
    if is_of_library(value):
        return ""
    return "class" if isinstance(value, type) else "function"


def _names(notebook: Notebook) -> list[Offer]:
    bound = [name for name, value in notebook.namespace.items() if not name.startswith("_") and is_ours(value)]
    states = {name: launch.job.state for name, launch in notebook.launched.items()}
    states |= {name: notebook.namespace[name].state for name in bound}
    return [(name, f"result, {state.replace('_', ' ')}") for name, state in states.items()]


def _result(fragment: str, offers: list[Offer]) -> SimpleMatcherResult:
    return SimpleMatcherResult(
        completions=[SimpleCompletion(text=word, type=kind) for word, kind in offers],
        matched_fragment=fragment,
        suppress=bool(offers),
        ordered=True,
    )
