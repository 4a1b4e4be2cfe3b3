"""Parse the text of a cell into a frozen `CellCommand`. No variable is looked up, and nothing is started."""

from __future__ import annotations

import builtins
import json
import keyword
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.table import KINDS, WHOLE, elements_of, misfit, plain_type
from autocoder_jupyter.magics.codemode.reading import (
    ToolOption,
    mode_of,
    read_continued,
    read_tools,
    refuse_options_of_the_other_mode,
)
from autocoder_jupyter.magics.examples import ExampleOption, parse_example
from autocoder_jupyter.magics.options import FLAGS, SETTINGS
from autocoder_jupyter.magics.settings import suggestion
from autocoder_jupyter.settings.parameters import choice, require_short, require_unicode
from autocoder_jupyter.settings.setting import Mode, Option
from autocoder_jupyter.types import INPUT_TYPE_NAMES, TYPE_NAMES, InputSpec, OutputSpec, TypeName
from autocoder_jupyter.types.interface import demand_text
from autocoder_jupyter.untrusted.parsing import literal, parse, require_expression
from autocoder_jupyter.untrusted.visible import hides, visible

# Words, flags and values of a line; the meaning of an option is not known here

_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*')"""
_WORD = re.compile(rf"""\s*((?:[^\s"']|{_QUOTED})+)""", re.DOTALL)
_WHOLLY_QUOTED = re.compile(_QUOTED, re.DOTALL)

LONGEST_LINE = 100_000
"""Characters of the options of a cell, or of a magic line."""


@dataclass(frozen=True)
class Arguments:
    """The words of a line, as positional words and options.

    Args:
        positional: the words without a flag, in order.
        given: the value by option name; for a repeatable option a tuple of all its values.
    """

    positional: tuple[str, ...]
    given: Mapping[str, Any]


@dataclass(frozen=True)
class Written:
    """A flag as it is written on the line, with its value.

    Args:
        flag: as written: `-o`, `--share`.
        option: the option of the flag; None if there is no such option.
        text: the value without the quotes around it; None if there is none.
        text_word: index of the word that holds the value; `word` itself for `--share=rows`.
        text_start: where the value begins in that word.
        value: the parsed text; None if there is an error, and True for a flag.
        error_in_value: whether the error is about the value, not about the flag.
    """

    flag: str
    word: int
    option: Option | None
    text: str | None = None
    text_word: int = -1
    text_start: int = 0
    value: Any = None
    error: InvalidRequest | None = None
    error_in_value: bool = False


def split_words(text: str) -> list[str]:
    """The words of a line. Quotes around a word are removed; quotes inside a word stay and protect blanks.

    So `-c "a b"` gives `a b`, and `-s logs=File("my logs.txt")` is one word and still an expression. `shlex` would
    remove the quotes of that expression.
    """
    if len(text) > LONGEST_LINE:
        raise InvalidRequest(
            f"The options have {len(text):,} characters, at most {LONGEST_LINE:,} can be read.",
            hint="Put long texts into variables, or into the text of the cell.",
        )
    words = []
    text = text.rstrip()
    position = 0
    while position < len(text):
        match = _WORD.match(text, position)
        behind = match.end() if match else position
        if match is None or text[behind : behind + 1] in ('"', "'"):
            raise InvalidRequest(
                f"The quote that opens at {text[behind : behind + 60].lstrip()[:30]!r} is not closed.",
                hint='Write values with blanks or apostrophes in double quotes: -c "isn\'t empty".',
            )
        words.append(_unquote(match.group(1)))
        position = behind
    return words


def read_arguments(words: list[str], flags: Mapping[str, Option]) -> Arguments:
    """Separate positional words from flags, and convert the values of the flags."""
    positional, written = read_flags(words, flags)
    given: dict[str, Any] = {}
    for one in written:
        if one.error is not None:
            raise one.error
        assert one.option is not None
        if one.option.repeatable:
            values = one.value if isinstance(one.value, tuple) else (one.value,)
            given[one.option.name] = (*given.get(one.option.name, ()), *values)
        else:
            given[one.option.name] = one.value
    return Arguments(tuple(words[index] for index in positional), given)


def read_flags(words: list[str], flags: Mapping[str, Option]) -> tuple[list[int], list[Written]]:
    """Separate positional words from flags and their values, and find all errors of the flags."""
    positional: list[int] = []
    written: list[Written] = []
    seen: set[str] = set()
    remaining = iter(range(len(words)))
    for index in remaining:
        word = words[index]
        if not _looks_like_flag(word):
            positional.append(index)
            continue
        flag, equals, attached = word.partition("=")
        option = flags.get(flag)
        if option is None:
            error = InvalidRequest(f"There is no option {flag}.", hint=suggestion(flag, flags))
            written.append(Written(flag, index, None, error=error))
            continue
        one = Written(flag, index, option)
        if equals and option.takes_value:
            text = _unquote(attached)
            one = _valued(one, option, text, index, word.find(text, len(flag) + 1))
        elif equals:
            one = replace(one, error=InvalidRequest(f"{flag} takes no value."))
        elif not option.takes_value:
            one = replace(one, value=True)
        elif index + 1 < len(words) and words[index + 1] not in flags:
            following = next(remaining)
            one = _valued(one, option, words[following], following, 0)
        else:
            hint = f"Write {flag} {option.placeholder or option.accepted}."
            one = replace(one, error=InvalidRequest(f"{flag} needs a value.", hint=hint))
        if option.name in seen and not option.repeatable:
            twice = InvalidRequest(f"{flag} is given twice.", hint="Keep one of them.")
            one = replace(one, error=twice, error_in_value=False)
        seen.add(option.name)
        written.append(one)
    return positional, written


def _unquote(word: str) -> str:
    if not _WHOLLY_QUOTED.fullmatch(word):
        return word
    inner = word[1:-1]
    return re.sub(r'\\(["\\])', r"\1", inner) if word[0] == '"' else inner


def _looks_like_flag(word: str) -> bool:
    return bool(re.match(r"--?[A-Za-z]", word)) and " " not in word.partition("=")[0]


def _valued(one: Written, option: Option, text: str, word: int, start: int) -> Written:
    one = replace(one, text=text, text_word=word, text_start=start)
    try:
        if option.in_cell:
            return replace(one, value=choice(one.flag, text, option.written_choices))
        return replace(one, value=option.from_text(text, one.flag))
    except InvalidRequest as error:
        return replace(one, error=error, error_in_value=True)


# Declarations: `-o "monthly: DataFrame"` and `-i "min_orders: int = 5"`

_SUFFIX = re.compile(r"(?:\.[A-Za-z0-9_]+)+$")
"""The suffix of an output that is named like its file."""


def parse_output(text: str) -> OutputSpec:
    """An output from `name: type`. A file may have its suffix in the name: `summary.csv: File`."""
    name, type_text, default = _parts("-o", text)
    if default is not None:
        raise InvalidRequest(f"-o {text!r} has a default, and an output cannot have one.")
    type_name, elements = _type("-o", name, type_text, TYPE_NAMES)
    return OutputSpec(name=name, type=type_name, elements=elements)


def parse_input(text: str) -> InputSpec:
    """An input from `name: type` or `name: type = default`. The default is a Python literal; times are ISO text."""
    name, type_text, default = _parts("-i", text)
    type_name, elements = _type("-i", name, type_text, INPUT_TYPE_NAMES)
    if default is None:
        return InputSpec(name=name, type=type_name, elements=elements)
    value = _default(name, type_name, default)
    if problem := misfit(value, elements):
        raise InvalidRequest(f"The default of {name!r} is not of type {type_text}: {problem}.")
    return InputSpec(name=name, type=type_name, required=False, default=value, elements=elements)


def _parts(flag: str, text: str) -> tuple[str, str, str | None]:
    declared, has_default, default = text.partition("=")
    name, _, type_text = (part.strip() for part in declared.partition(":"))
    bare = _SUFFIX.sub("", name) if flag == "-o" else name
    if not bare.isidentifier() or keyword.iskeyword(bare):
        raise InvalidRequest(
            f"{name or text!r} in {flag} {text!r} cannot be a name.", hint=f'Write {flag} "name: type".'
        )
    if not type_text:
        raise InvalidRequest(f"{flag} {text!r} has no type.", hint=f'Write {flag} "{name}: DataFrame", for example.')
    return name, type_text, default.strip() if has_default else None


def _type(flag: str, name: str, text: str, allowed: tuple[TypeName, ...]) -> tuple[TypeName, str]:
    """The type, and the type of the elements of a list or dict."""
    bare = plain_type(text)
    elements = elements_of(bare)
    if elements in WHOLE and flag == "-i":
        raise InvalidRequest(
            f"{name!r} cannot be a {text}: a list or dict of tables or figures is for outputs only.",
            hint=f"Pass one table: {name}: DataFrame, with a column for what tells them apart.",
            about=text,
        )
    bare = bare.partition("[")[0] if elements else bare
    for known in allowed:
        if known == bare:
            return known, elements
    if bare in TYPE_NAMES:
        raise InvalidRequest(f"{name!r} cannot be a {bare}: that type is for outputs only.", about=text)
    raise InvalidRequest(
        f"{text!r} is not a type for {flag}.", hint=_hint_for_type(flag, name, bare, allowed), about=text
    )


def _hint_for_type(flag: str, name: str, text: str, allowed: tuple[TypeName, ...]) -> str:
    """What to write instead of a type of Python that is not known here."""
    outer, _, inner = text.rstrip("]").partition("[")
    first = inner.split(",")[0].strip() or "str"
    if outer in ("Optional", "Union") or "|" in text:
        first = text.split("|")[0].strip() if "|" in text else first
        missing = (
            f'Write {flag} "{name}: {first} = …" with a default' if flag == "-i" else f'Write {flag} "{name}: {first}"'
        )
        return f"{missing}; a number that is missing is NaN."
    if outer.lower() in ("tuple", "set", "sequence", "iterable", "array", "ndarray", "frozenset"):
        several = f", or one {flag} for each part" if flag == "-o" else ""
        return f'Write {flag} "{name}: list[{first}]"{several}.'
    if (listed := re.fullmatch(r"list (?:of|with) (\w+?)s?|list<(\w+)>", text)) is not None:
        return f'Write {flag} "{name}: list[{plain_type(listed[1] or listed[2])}]".'
    return suggestion(outer, allowed)


def _default(name: str, type_name: TypeName, text: str) -> Any:
    kind = KINDS[type_name]
    if kind.is_data:
        raise InvalidRequest(
            f"{name!r} is a {type_name} and cannot have a default here.",
            hint=f"Pass it as a sample: -s {name}=EXPRESSION.",
        )
    value = _literal(text) if kind.from_iso is None else _time(text, kind.from_iso)
    if not (kind.takes_json(value) and _is_json(value)):
        hint = f"Write it in quotes: {name}: str = {text!r}" if type_name == "str" else kind.iso_example
        raise InvalidRequest(f"The default of {name!r}, {text}, is not of type {type_name}.", hint=hint, about=text)
    return float(value) if type_name == "float" else value


def _literal(text: str) -> Any:
    try:
        return literal(text)
    except ValueError:
        return _NOTHING


_NOTHING = object()


def _time(text: str, from_iso: Callable[[str], str]) -> Any:
    literal = _literal(text)
    try:
        return from_iso(literal if isinstance(literal, str) else text)
    except ValueError:
        return _NOTHING


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


# Cells

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
        settings: the options of the cell that are settings, by name.
        hints: a sentence for each former spelling in the cell, with the current one.
        help: which help the cell asks for, `most` or `all`; "" if it asks for none. With one, the rest is empty.
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
    hints: tuple[str, ...] = ()
    help: Literal["", "most", "all"] = ""


def parse_cell(line: str, body: str) -> CellCommand:
    """Parse a cell: its first line, the option lines directly below it, and the text."""
    option_text, written = split_cell(line, body)
    prompt = without_quotes(written)
    words = split_words(straight(option_text))
    if any(word in FLAGS and FLAGS[word].name == "help" for word in words):
        return CellCommand(help="all" if {"all", "more"} & {*words} else "most")
    arguments = read_arguments(words, FLAGS)
    given = arguments.given
    mode = mode_of(given)
    refuse_options_of_the_other_mode(given, mode)
    name = read_name(arguments.positional)
    require_prompt(prompt)
    refuse_call_below(name, prompt)
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
        hints=tuple(_hints(given)),
    )
    for _, _, error in doubled_names(
        outputs=[output.name for output in command.outputs],
        inputs=[spec.name for spec in command.inputs],
        samples=[sample.name for sample in command.samples],
        contracts=[name for name, _ in command.contracts],
    ):
        raise error
    return command


_CURLY = {
    "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{DOUBLE LOW-9 QUOTATION MARK}": '"',
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
}
_CLOSING = {
    '"': "\N{RIGHT DOUBLE QUOTATION MARK}\N{LEFT DOUBLE QUOTATION MARK}",
    "'": "\N{RIGHT SINGLE QUOTATION MARK}",
}
_DASHES = "\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}\N{NON-BREAKING HYPHEN}\N{HYPHEN}"
_DASHED = re.compile(rf"(?<!\S)[-{_DASHES}]{{1,2}}(?=[A-Za-z])([\w-]*)")


def straight(text: str) -> str:
    """Options with the quotes and dashes of a keyboard, where a chat or an editor has put others.

    What is inside straight quotes stays as it is.

    Raises:
        InvalidRequest: a curly quote is not closed, or has straight ones inside.
    """
    made, place = [], 0
    while place < len(text):
        mark = text[place]
        if mark in "\"'":
            end = text.find(mark, place + 1)
            end = len(text) if end < 0 else end + 1
            made.append(text[place:end])
        elif mark in _CURLY and (place == 0 or text[place - 1] in " \t\n=(,["):
            plain = _CURLY[mark]
            end = next((at for at in range(place + 1, len(text)) if text[at] in _CLOSING[plain]), -1) + 1
            inner = text[place + 1 : end - 1]
            if not end or plain in inner:
                raise InvalidRequest(
                    f"The options have the curly quote {mark}, and it is not clear where its text ends.",
                    hint=f"Write straight quotes: {plain}{plain}.",
                )
            made.append(f"{plain}{inner}{plain}")
        else:
            end = place + 1
            if mark in _DASHES and (found := _DASHED.match(text, place)) is not None:
                made.append("-" if len(found[1]) == 1 else "--")
                end = found.start(1)
            else:
                made.append(mark)
        place = end
    return "".join(made)


def refuse_call_below(name: str, prompt: str) -> None:
    """Refuse Python at the end of a request that calls its function. It would be sent as text, and not run."""
    lines = prompt.rstrip().splitlines()
    called = re.compile(rf"(?<![\w.]){re.escape(name)}(?:\.\w+)*\(")
    for place in range(max(1, len(lines) - _CALLED_WITHIN), len(lines)):
        if called.search(lines[place]) and not lines[place][0].isspace() and _is_python("\n".join(lines[place:])):
            raise InvalidRequest(
                f"{shorten_line(lines[place])!r} in the cell is Python, and all below the first line is the request.",
                hint=f"Put it into a cell of its own, below this one: it runs when {name} is ready.",
            )


def _is_python(text: str) -> bool:
    try:
        parse(text)
    except SyntaxError:
        return False
    return True


def shorten_line(text: str) -> str:
    """The beginning of a line."""
    return text if len(text) <= _SHOWN_OF_LINE else f"{text[:_SHOWN_OF_LINE]}…"


_SHOWN_OF_LINE = 80
_CALLED_WITHIN = 20
"""Lines at the end of a request that are looked at."""


def require_prompt(prompt: str) -> None:
    """Require a request."""
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
    while count < len(lines) and (_OPTION_LINE.match(lines[count]) or _is_dashed_option(lines[count])):
        count += 1
    return "\n".join([line, *(text.strip() for text in lines[:count])]), "".join(lines[count:]).strip("\n")


def _is_dashed_option(line: str) -> bool:
    """Whether a line begins with an option whose dash a chat or an editor has changed."""
    text = line.lstrip()
    found = _DASHED.match(text) if text[:1] and text[0] in _DASHES else None
    return found is not None and f"{'-' if len(found[1]) == 1 else '--'}{found[1]}" in FLAGS


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    settings = {option: value for option, value in given.items() if option in SETTINGS}
    if "effort" in settings:  # a cell that says how much is checked says whether there are tests
        stands_for = (SETTINGS["effort"].in_cell or {}).get(settings["effort"], {"skip_tests": False})
        settings = {**settings, **stands_for, **({"skip_tests": True} if given.get("skip_tests") else {})}
    if given.get("refresh") and settings.setdefault("cache", "override") != "override":
        policy = settings["cache"]
        raise InvalidRequest(f"--refresh and --cache {policy} cannot be used together.", hint="Keep one of them.")
    return settings


def _hints(given: Mapping[str, Any]) -> Iterator[str]:
    """What to write instead of each former spelling in a cell."""
    for option in (SETTINGS[name] for name in given if name in SETTINGS):
        if option.instead is not None:
            value = given[option.name]
            plain = f"{value:g}" if isinstance(value, float) else str(value)
            written = option.flags[0] if option.kind == "flag" else f"{option.flags[0]} {plain}"
            setting = plain if isinstance(value, float) else repr(value)
            now = option.instead.get(value) or f"the setting %config Autocode.{option.name} = {setting}"
            yield f"{written} is now {now}. The old spelling works for one more release."


def read_name(positional: Sequence[str]) -> str:
    """The name of a cell: its only word that belongs to no option."""
    if not positional:
        raise InvalidRequest("The cell has no name.", hint="Write %%autocode NAME, and the request below it.")
    name, *rest = positional
    if not name.isidentifier():
        raise InvalidRequest(f"{name!r} cannot be the name of a variable.", hint="Write %%autocode NAME [options].")
    if (read := unicodedata.normalize("NFKC", name)) != name or hides(name):
        raise InvalidRequest(
            f"{visible(name)!r} is not the name that Python reads in code.",
            why="It has characters that Python replaces, or that are invisible.",
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
    """The name and the expression of `-s name=expression`."""
    name, equals, expression = (part.strip() for part in text.partition("="))
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InvalidRequest(f"-s {text!r} does not begin with a name.", hint="Write -s NAME or -s NAME=EXPRESSION.")
    if equals and not expression:
        raise InvalidRequest(f"-s {text!r} has no expression after the equals sign.")
    expression = expression or name
    _compiled("-s", expression)
    return SampleOption(name, expression)


def read_rename(text: str) -> tuple[str, str]:
    """The name that the function reads and the one that the data have, of `--rename price=unit_price`."""
    reads, equals, has = (part.strip() for part in text.partition("="))
    if not equals or not reads or not has:
        raise InvalidRequest(
            f"--rename {text!r} does not name a column and its name in the data.",
            hint="Write --rename READS=HAS: the name that the function reads, then the one that the data have.",
        )
    return reads, has


def read_contract(text: str) -> tuple[str, str]:
    """The input or output and the variable of `--contract name=@variable`."""
    name, equals, variable = (part.strip() for part in text.partition("="))
    if not equals or not name or not _VARIABLE.fullmatch(variable):
        raise InvalidRequest(
            f"--contract {text!r} does not name a table and its schema.",
            hint="Write --contract NAME=@MODEL: an input or output, and the variable that holds the schema.",
        )
    return name, variable.removeprefix("@")


def read_check(text: str) -> str:
    """The expression of `--check`."""
    _compiled("--check", text)
    return text.strip()


_WINDOWS_PATH = re.compile(r"(?:[A-Za-z]:|\\)(?:\\[^\\\"'<>|?*()]+)+")


def _compiled(flag: str, expression: str) -> None:
    try:
        require_expression(expression)
    except SyntaxError as error:
        if (path := _WINDOWS_PATH.search(expression)) is not None:
            raise InvalidRequest(
                f"{flag} {expression!r} has a Windows path; in Python a backslash begins an escape.",
                hint=f'Write it with slashes, as a file: File("{path[0].replace(chr(92), "/")}").',
            ) from None
        if any(mark in expression for marks in _CLOSING.values() for mark in marks) or any(
            dash in expression for dash in _DASHES
        ):
            raise InvalidRequest(
                f"{flag} {expression!r} has curly quotes or a long dash, as chats and editors write them.",
                hint="Write straight quotes (\" and ') and a hyphen (-).",
            ) from None
        raise InvalidRequest(
            f"{flag} {expression!r} is not a Python expression.",
            why=error.msg,
            hint='Put it in quotes if it has blanks: --check "(monthly.revenue >= 0).all()".',
        ) from None


def doubled_names(
    *, outputs: Sequence[str], inputs: Sequence[str], samples: Sequence[str], contracts: Sequence[str]
) -> Iterator[tuple[str, int, InvalidRequest]]:
    """Every name that is declared twice."""
    groups = {"-o": outputs, "-i": inputs, "-s": samples, "--contract": contracts}
    for flag, names in groups.items():
        for index, name in enumerate(names):
            if name in names[:index]:
                yield flag, index, InvalidRequest(f"{flag} names {name!r} twice.", hint="Keep one of them.")
    for index, name in enumerate(outputs):
        if name in (*inputs, *samples):
            error = InvalidRequest(f"{name!r} is both an input and an output.", hint="Call the output differently.")
            yield "-o", index, error
