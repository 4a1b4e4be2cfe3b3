"""Parse the text of a cell into a frozen `CellCommand`. No variable is looked up, and nothing is started."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.arguments import read_arguments, split_words
from autocoder_jupyter.magics.codemode.reading import (
    ToolOption,
    mode_of,
    read_continued,
    read_tools,
    refuse_options_of_the_other_mode,
)
from autocoder_jupyter.magics.declarations import parse_input, parse_output
from autocoder_jupyter.magics.examples import ExampleOption, parse_example
from autocoder_jupyter.magics.options import FLAGS, SETTINGS
from autocoder_jupyter.settings.parameters import require_short, require_unicode
from autocoder_jupyter.settings.setting import Mode
from autocoder_jupyter.types import InputSpec, OutputSpec
from autocoder_jupyter.types.interface import demand_text
from autocoder_jupyter.untrusted.parsing import hides, require_expression, visible

_VARIABLE = re.compile(r"@[^\W\d]\w*(\.[^\W\d]\w*)*")
_OPTION_LINE = re.compile(r"\s*--?[A-Za-z]")


@dataclass(frozen=True)
class SampleOption:
    """`-s name=expression`; without an expression, the variable of that name."""

    name: str
    expression: str


@dataclass(frozen=True)
class CellCommand:
    """One parsed `%%autocode` cell.

    Args:
        name: the variable to bind.
        prompt: the text of the request, as it was written.
        outputs, inputs: the declared outputs and inputs.
        samples: the data of `-s`.
        constraints, checks: as written.
        refine: whether the prompt is a change of the function that has the name.
        examples: the expressions of `--example`, not evaluated.
        schema: free text, or `@name` of a variable that holds text or a pandera schema.
        contracts: (input or output, name of the variable that holds its schema).
        renames: the name of a column in the data, by the name that the function reads.
        split: how it must be able to be called for pieces of its largest table; "" if that is not demanded.
        mode: `function`, or `tools` for code that calls functions of the notebook.
        tools: those functions.
        continues: the conversation to continue.
        settings: the options of the cell that are settings, by name.
        help: whether the cell asks for the help text; then the rest is empty.
    """

    name: str = ""
    prompt: str = ""
    outputs: tuple[OutputSpec, ...] = ()
    inputs: tuple[InputSpec, ...] = ()
    samples: tuple[SampleOption, ...] = ()
    constraints: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    examples: tuple[ExampleOption, ...] = ()
    schema: str | None = None
    contracts: tuple[tuple[str, str], ...] = ()
    renames: Mapping[str, str] = field(default_factory=dict)
    split: str = ""
    refine: bool = False
    mode: Mode = "function"
    tools: tuple[ToolOption, ...] = ()
    continues: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    help: bool = False


def parse_cell(line: str, body: str) -> CellCommand:
    """Parse a cell: its first line, the option lines directly below it, and the text.

    Raises:
        InvalidRequest: the cell is not valid; the message describes the first error.
    """
    option_text, written = split_cell(line, body)
    prompt = without_quotes(written)
    words = split_words(option_text)
    if any(word in FLAGS and FLAGS[word].name == "help" for word in words):
        return CellCommand(help=True)
    arguments = read_arguments(words, FLAGS)
    given = arguments.given
    mode = mode_of(given)
    refuse_options_of_the_other_mode(given, mode)
    name = read_name(arguments.positional)
    require_prompt(prompt)
    command = CellCommand(
        name=name,
        prompt=prompt,
        outputs=tuple(parse_output(text) for text in given.get("output", ())),
        inputs=tuple(parse_input(text) for text in given.get("input", ())),
        samples=tuple(read_sample(text) for text in given.get("sample", ())),
        constraints=given.get("constraint", ()),
        checks=tuple(read_check(text) for text in given.get("check", ())),
        examples=tuple(parse_example(text) for text in given.get("example", ())),
        schema=given.get("schema"),
        contracts=tuple(read_contract(text) for text in given.get("contract", ())),
        renames=dict(read_rename(text) for text in given.get("rename", ())),
        split=demand_text(given["split"]) if "split" in given else "",
        refine=bool(given.get("refine")),
        mode=mode,
        tools=read_tools(given.get("tool", ())),
        continues=read_continued(given.get("continue"), name),
        settings=_settings(given),
    )
    for _, _, error in doubled_names(
        outputs=[output.name for output in command.outputs],
        inputs=[spec.name for spec in command.inputs],
        samples=[sample.name for sample in command.samples],
        contracts=[name for name, _ in command.contracts],
    ):
        raise error
    return command


def require_prompt(prompt: str) -> None:
    """Require a request.

    Raises:
        InvalidRequest: it does not.
    """
    require_unicode("The request", prompt)
    if not prompt.strip():
        raise InvalidRequest(
            "The cell has no request.", hint="Describe below the first line what the function should do."
        )
    require_short("The request", prompt)


def without_quotes(text: str) -> str:
    """The request without triple quotes around all of it. With them, a cell is Python below its first line.

    So a notebook that is stored as a script (jupytext, percent format) stays valid Python.
    """
    plain = text.strip()
    for mark in ('"""', "'''"):
        inner = plain[len(mark) : -len(mark)]
        if plain == f"{mark}{inner}{mark}" and mark not in inner:
            return inner.strip("\n")
    return text


def split_cell(line: str, body: str) -> tuple[str, str]:
    """(options, text). Lines directly below the first line that begin with `-x` or `--word` are options.

    A list item `- a point`, with a blank after the dash, is text.
    """
    lines = body.splitlines(keepends=True)
    count = 0
    while count < len(lines) and _OPTION_LINE.match(lines[count]):
        count += 1
    return "\n".join([line, *(text.strip() for text in lines[:count])]), "".join(lines[count:]).strip("\n")


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    settings = {option: value for option, value in given.items() if option in SETTINGS}
    if given.get("refresh") and settings.setdefault("cache", "override") != "override":
        policy = settings["cache"]
        raise InvalidRequest(f"--refresh and --cache {policy} cannot be used together.", hint="Keep one of them.")
    return settings


def read_name(positional: Sequence[str]) -> str:
    """The name of a cell: its only word that belongs to no option.

    Raises:
        InvalidRequest: there is none, it cannot be the name of a variable, or there are more words.
    """
    if not positional:
        raise InvalidRequest("The cell has no name.", hint="Write %%autocode NAME, and the request below it.")
    name, *rest = positional
    if not name.isidentifier():
        raise InvalidRequest(f"{name!r} cannot be the name of a variable.", hint="Write %%autocode NAME [options].")
    if (read := unicodedata.normalize("NFKC", name)) != name or hides(name):
        raise InvalidRequest(
            f"{visible(name)!r} is not the name that Python reads in code.",
            why="It has characters that Python replaces, or that are not seen.",
            hint="Write %%autocode NAME with other characters" + ("." if hides(read) else f", for example {read}."),
        )
    if keyword.iskeyword(name) or hasattr(builtins, name):
        kind = "a keyword" if keyword.iskeyword(name) else "a builtin"
        raise InvalidRequest(f"{name!r} is {kind} of Python.", hint=f"Call it {name}_ or choose another name.")
    if rest:
        raise InvalidRequest(
            f"{rest[0]!r} on the first line belongs to no option.",
            hint="Put values with blanks in quotes, and the request below the first line.",
            about=rest[0],
        )
    return name


def read_sample(text: str) -> SampleOption:
    """The name and the expression of `-s name=expression`.

    Raises:
        InvalidRequest: there is no name, or no expression of Python.
    """
    name, equals, expression = (part.strip() for part in text.partition("="))
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InvalidRequest(f"-s {text!r} does not begin with a name.", hint="Write -s NAME or -s NAME=EXPRESSION.")
    if equals and not expression:
        raise InvalidRequest(f"-s {text!r} has no expression after the equals sign.")
    expression = expression or name
    _compiled("-s", expression)
    return SampleOption(name, expression)


def read_rename(text: str) -> tuple[str, str]:
    """The name that the function reads and the one that the data have, of `--rename price=unit_price`.

    Raises:
        InvalidRequest: one of them is missing.
    """
    reads, equals, has = (part.strip() for part in text.partition("="))
    if not equals or not reads or not has:
        raise InvalidRequest(
            f"--rename {text!r} does not name a column and its name in the data.",
            hint="Write --rename READS=HAS: the name that the function reads, then the one that the data have.",
        )
    return reads, has


def read_contract(text: str) -> tuple[str, str]:
    """The input or output and the variable of `--contract name=@variable`.

    Raises:
        InvalidRequest: one of them is missing.
    """
    name, equals, variable = (part.strip() for part in text.partition("="))
    if not equals or not name or not _VARIABLE.fullmatch(variable):
        raise InvalidRequest(
            f"--contract {text!r} does not name a table and its schema.",
            hint="Write --contract NAME=@MODEL: an input or output, and the variable that holds the schema.",
        )
    return name, variable.removeprefix("@")


def read_check(text: str) -> str:
    """The expression of `--check`.

    Raises:
        InvalidRequest: it is no expression of Python.
    """
    _compiled("--check", text)
    return text.strip()


def _compiled(flag: str, expression: str) -> None:
    try:
        require_expression(expression)
    except SyntaxError as error:
        raise InvalidRequest(
            f"{flag} {expression!r} is not a Python expression.",
            why=error.msg,
            hint='Put it in quotes if it has blanks: --check "(monthly.revenue >= 0).all()".',
        ) from None


def doubled_names(
    *, outputs: Sequence[str], inputs: Sequence[str], samples: Sequence[str], contracts: Sequence[str]
) -> Iterator[tuple[str, int, InvalidRequest]]:
    """Every name that is declared twice.

    Returns:
        (`-o`, `-i`, `-s` or `--contract`, index among the names of that flag, the error).
    """
    groups = {"-o": outputs, "-i": inputs, "-s": samples, "--contract": contracts}
    for flag, names in groups.items():
        for index, name in enumerate(names):
            if name in names[:index]:
                yield flag, index, InvalidRequest(f"{flag} names {name!r} twice.", hint="Keep one of them.")
    for index, name in enumerate(outputs):
        if name in (*inputs, *samples):
            error = InvalidRequest(f"{name!r} is both an input and an output.", hint="Call the output differently.")
            yield "-o", index, error
