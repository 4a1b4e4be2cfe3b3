"""Run the subcommand of a line `%autocode …`."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments, read_arguments, split_words
from autocoder_jupyter.magics.line import SUBCOMMANDS, Subcommand
from autocoder_jupyter.magics.line.lookup import is_answer
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.suggestions import did_you_mean


def run_line(notebook: Notebook, line: str) -> None:
    """Run a line. Without a subcommand it is `status`.

    Raises:
        AutocodeError: the line is not valid, or the subcommand failed.
    """
    words = split_words(line) or ["status"]
    name = "help" if words[0] in ("-h", "--help") else words[0]
    command = SUBCOMMANDS.get(name)
    if command is None:
        hint = did_you_mean(name, SUBCOMMANDS)
        raise InvalidRequest(
            f"There is no %autocode {name}.", hint=f"{hint} A cell magic has two percent signs: %%autocode."
        )
    arguments = read_arguments(words[1:], {flag: option for option in command.options for flag in option.flags})
    if not command.least <= len(arguments.positional) <= command.most:
        raise InvalidRequest(f"Write %autocode {command.name} {command.usage}".rstrip() + ".", why=_why(command))
    if command.takes_name and arguments.positional and is_answer(notebook, arguments.positional[0]):
        function = _for_answer(command, arguments.positional[0])
    else:
        module = importlib.import_module(f"autocoder_jupyter.magics.line.{command.module}")
        function = getattr(module, command.name)
    function(notebook, arguments)


def _why(command: Subcommand) -> str:
    return f"Purpose: {command.help}."


def _for_answer(command: Subcommand, name: str) -> Callable[[Notebook, Arguments], None]:
    """The function that implements a subcommand for an answer of `--mode tools`.

    Raises:
        InvalidRequest: the subcommand is for functions only.
    """
    if "tools" not in command.modes:
        raise InvalidRequest(
            f"%autocode {command.name} does not apply to {name}, which is an answer of --mode tools.",
            why=f"It is only for functions: {command.help}.",
            hint=f"%autocode show {name} shows what it is.",
        )
    from autocoder_jupyter.magics.line.answers import HANDLERS

    return HANDLERS[command.name]
