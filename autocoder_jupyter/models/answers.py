"""Asks until an answer can be used, and finds code or a record in it, whatever text surrounds them."""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError

from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.faults import FOR_SMALL_MODELS
from autocoder_jupyter.models.loops import REPEATED
from autocoder_jupyter.models.protocol import SILENT, LanguageModel, Listener, Question, answer_form, schema_in_words
from autocoder_jupyter.models.thoughts import without_thoughts
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.types import Exchange
from autocoder_jupyter.untrusted.parsing import parse, parse_expression
from autocoder_jupyter.untrusted.plain_json import valid_record

# Fenced blocks

_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<tag>[^`\n]*)$")
_OPENING_BEHIND_WORDS = re.compile(r"^[A-Za-z][^`\"#]{0,200}(?P<mark>`{3,})(?P<tag>py(?:thon3?)?)[ \t]*$")

LONGEST_CODE = 100_000
"""The maximum number of characters of source that are parsed, because Python's parser blocks other threads."""

_MOST_TRIES = 40
"""The maximum number of block ends that are tried in a text. Docstrings with fences in them are rare."""


@dataclass(frozen=True)
class FencedBlock:
    """A fenced block: the first word after the opening fence, in lower case, and the content."""

    tag: str
    body: str


def fenced_blocks(text: str, complete: Callable[[str], bool] = lambda body: True) -> list[FencedBlock]:
    """The fenced blocks of a text, in order. An unclosed block reaches to the end of the text.

    A fence inside a docstring looks like the end of the block. So the end is the first closing fence for which
    `complete` returns True for the body; if there is none, the first closing fence. The number of tries for all blocks
    of a text is limited, so that the time grows linearly with its length.
    """
    lines = text.splitlines()
    blocks = []
    tries = _MOST_TRIES
    start = 0
    while start < len(lines):
        opening = _FENCE.match(lines[start]) or _OPENING_BEHIND_WORDS.match(lines[start])
        if opening is None:
            start += 1
            continue
        ends = list(islice(_closing_lines(lines, start, opening["mark"]), max(tries, 1)))
        chosen = ends[0]
        for end in ends[:tries]:
            tries -= 1
            if complete("\n".join(lines[start + 1 : end])):
                chosen = end
                break
        blocks.append(FencedBlock(_tag(opening["tag"]), "\n".join(lines[start + 1 : chosen])))
        start = chosen + 1
    return blocks


def _closing_lines(lines: list[str], start: int, mark: str) -> Iterator[int]:
    for number in range(start + 1, len(lines)):
        fence = _FENCE.match(lines[number])
        if fence and not fence["tag"].strip() and fence["mark"].startswith(mark):
            yield number
    yield len(lines)


def _tag(words: str) -> str:
    first = words.strip().split(maxsplit=1)
    return first[0].lower().strip("{}.") if first else ""


# JSON objects

_LONGEST_RECORD = 500_000
_MOST_READINGS = 20
"""How often a text may be read, in total, for all failed starts of objects."""

_OPENING, _CLOSING = "“„”", "”“"
_ORDINARY_OUTSIDE = re.compile(rf'[^"{_OPENING}/#,}}\]\s]+')
_ORDINARY_INSIDE = re.compile(rf'[^"{_CLOSING}\\]+')
_COMMENT = re.compile(r"(?<![:\w])//[^\n]*|(?<!\S)#[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")


def objects_in(text: str) -> list[dict[str, Any]]:
    """The objects in a text, the longest first.

    Text and fences around them are ignored. Comments, trailing commas, curly quotes as delimiters, raw line breaks in
    strings, and Python dicts are accepted. All candidates are returned, because a malformed text can contain
    well-formed parts that are not the answer. Of a very long answer, only the beginning is read.
    """
    text = text[:_LONGEST_RECORD]
    readings = [*_decoded(text), *_decoded(_normalized(text)), *_python_dict(text)]
    return [value for _, value in sorted(readings, key=lambda reading: -reading[0])]


def _decoded(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each outermost object with its length in characters. The number of repeated tries is limited."""
    decoder = json.JSONDecoder(strict=False)
    left = _MOST_READINGS * len(text)
    start = text.find("{")
    while start >= 0 and left >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            left -= error.pos - start + len(text) // 100  # creating the error reads all text before it
            end = start + 1
        except (ValueError, RecursionError):
            left -= len(text) - start
            end = start + 1
        else:
            yield end - start, value
        start = text.find("{", end)


def _normalized(text: str) -> str:
    """The text with straight quotes as delimiters, without comments and trailing commas. Strings do not change."""
    out: list[str] = []
    closing = ""
    position = 0
    while position < len(text):
        if ordinary := (_ORDINARY_INSIDE if closing else _ORDINARY_OUTSIDE).match(text, position):
            out.append(ordinary.group())
            position = ordinary.end()
            continue
        character = text[position]
        if closing:
            if character == "\\":
                out.append(text[position : position + 2])
                position += 2
                continue
            if character in closing:
                out.append('"')
                closing = ""
            else:
                out.append('\\"' if character == '"' else character)
        elif character == '"' or character in _OPENING:
            out.append('"')
            closing = '"' if character == '"' else _CLOSING
        elif character in "/#" and (comment := _COMMENT.match(text, position)):
            position = comment.end()
            continue
        else:
            if character in "}]":
                _drop_trailing_comma(out)
            out.append(character)
        position += 1
    return "".join(out)


def _drop_trailing_comma(out: list[str]) -> None:
    place = len(out) - 1
    while place >= 0 and out[place].isspace():
        place -= 1
    if place >= 0 and out[place] == ",":
        del out[place]


def _python_dict(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    start, end = text.find("{"), text.rfind("}")
    if end - start > LONGEST_CODE:
        return
    try:
        value = ast.literal_eval(parse_expression(text[start : end + 1]))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return
    if isinstance(value, dict):
        yield end + 1 - start, value


# Repairs: the model sees its answer, and what is wrong with it

REPAIRS = 2
"""The maximum number of repairs after the first answer."""

_SHOWN_CHARACTERS = 160

_MOST_CHARACTERS_PER_TOKEN = 9
"""English has four to six."""

_SMALLEST_WINDOW = 500
HELP_FOR_SMALL_MODELS = f"Try again (%autocode retry), or choose a stronger model with -m. {FOR_SMALL_MODELS}"

_REPEATS = "It repeats itself, and was stopped."
_ONLY_THOUGHTS = "It holds only thoughts, and no answer after them."

Content = TypeVar("Content")


class Unreadable(ValueError):
    """An answer cannot be used; the message is text for the model."""


async def ask_until_readable(
    model: LanguageModel,
    question: Question,
    read: Callable[[str], Content],
    *,
    listener: Listener = SILENT,
) -> tuple[Content, tuple[Exchange, ...]]:
    """Ask until `read` accepts an answer."""
    exchanges: list[Exchange] = []
    asked = question
    while True:
        exchange = await model.ask(asked, listener)
        exchanges.append(exchange)
        answer = without_thoughts(exchange.answer)
        try:
            return read(answer), tuple(exchanges)
        except Unreadable as error:
            complaint = str(error) if answer.strip() or not exchange.answer.strip() else _ONLY_THOUGHTS
            if exchange.finish_reason == REPEATED:
                complaint = f"{_REPEATS} {complaint}"
            if len(exchanges) > REPAIRS:
                begins = _beginning(exchange.answer)
                why = f"{complaint}\nIt begins: {begins}" if begins else "It is empty."
                cut = cut_question(exchange)
                raise UnusableAnswer(
                    f"The answer of {exchange.model} ({question.stage}) is unusable, also after {REPAIRS} repairs.",
                    why=f"{why}\n{cut}" if cut else why,
                    hint=HELP_FOR_SMALL_MODELS,
                ) from None
            # Only the last failure is appended to the first question, so that the prompt does not grow.
            asked = _with_complaint(question, answer, complaint, len(exchanges))


def cut_question(exchange: Exchange) -> str:
    """A sentence if the server counted far fewer tokens than were sent, as servers do that cut a question silently."""
    sent = sum(len(str(message.get("content") or "")) for message in exchange.messages)
    counted = exchange.usage.input_tokens
    if exchange.replayed or not counted or sent < _MOST_CHARACTERS_PER_TOKEN * max(counted, _SMALLEST_WINDOW):
        return ""
    return f"The server counted {counted:,} tokens of a question of {sent:,} characters: it has cut the question off."


def _beginning(answer: str) -> str:
    """The beginning of an answer. It shows the reason if the model refused."""
    words = " ".join(answer[:1000].split())
    return words[:_SHOWN_CHARACTERS] + "…" if len(words) > _SHOWN_CHARACTERS else words


def _with_complaint(question: Question, answer: str, complaint: str, repair: int) -> Question:
    refused = {"role": "assistant", "content": answer if answer.strip() else "(nothing)"}
    reply = {"role": "user", "content": prompt("shared.repair", problem=complaint)}
    # Two equal bad answers make equal messages; the variant makes the second repair a different question.
    variant = question.variant * (REPAIRS + 1) + repair
    return dataclasses.replace(question, messages=(*question.messages, refused, reply), variant=variant)


# Code

_PYTHON_TAGS = frozenset({"python", "py", "python3", "py3", "ipython", "ipython3"})
_OTHER_TAGS = frozenset(
    {"bash", "sh", "shell", "zsh", "console", "text", "txt", "plaintext", "output", "markdown", "md", "diff"}
    | {"json", "yaml", "yml", "toml", "ini", "csv", "sql", "html"}
)
_LONGEST_ANSWER = 500_000
"""The maximum number of characters of an answer that are searched, including text."""

_LONGEST_SEARCH = 40
"""The maximum number of possible ends of unfenced code that are tried; fewer in a very long answer."""


class NotCode(Unreadable):
    """An answer has no valid Python; the message is text for the model."""


async def ask_code(
    model: LanguageModel,
    question: Question,
    *,
    must_define: str | None = None,
    listener: Listener = SILENT,
) -> tuple[str, tuple[Exchange, ...]]:
    """Ask for Python source that parses.

    Raises:
        UnusableAnswer: no answer has such source, also after the repairs.
        ModelError: see `LanguageModel.ask`.
    """

    def read(answer: str) -> str:
        code = extract_code(answer, must_define=must_define)
        if must_define is not None and not defines(code, must_define):
            raise NotCode(f"The module must define `{must_define}` at its top level.")
        return code

    return await ask_until_readable(model, question, read, listener=listener)


def extract_code(text: str, *, must_define: str | None = None) -> str:
    """The Python source in an answer, with one line break at its end.

    It may be in fences of any kind, in a text of a JSON object, between text, or alone. Blocks tagged as Python are
    preferred to untagged ones. Of several, the last that defines `must_define` is used, because models correct
    themselves; without a name, the last that has tests; if there is none, the largest.
    """
    text = text[:_LONGEST_ANSWER].replace("\r\n", "\n").lstrip("\ufeff")
    records, first = _in_json(text), text.lstrip(" \n`~jsonJSON").removeprefix("<tool_call>").lstrip()[:1]
    of_record: tuple[Iterable[str], ...] = (records,) if first == "{" else ()
    for found in (_whole(text), *of_record, _in_fences(text), _between_prose(text), records):
        if codes := list(found):
            best = max(reversed(codes), key=lambda code: _rank(code, must_define))
            return best.strip("\n") + "\n"
    raise NotCode(_code_complaint(text))


def _rank(code: str, name: str | None) -> tuple[int, int]:
    """The higher, the more likely this is the answer; of equal ones the last is."""
    body = parse(code).body
    if name is not None and defines(code, name):
        return (1 if all(map(_is_stub, body)) else 2), 0
    tests = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    if name is None and any(isinstance(node, tests) and node.name.lower().startswith("test") for node in body):
        return 2, 0
    return 0, len(code)


def _is_stub(node: ast.stmt) -> bool:
    """Whether it is a signature without a body, as is shown to name it."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    values = [part.value for part in node.body if isinstance(part, ast.Expr)]
    return len(values) == len(node.body) and all(isinstance(value, ast.Constant) for value in values)


# The four places of code. Each function yields only code that parses.


def _in_json(text: str) -> Iterator[str]:
    """Code in the texts of an object, such as the arguments of a call of a tool."""
    texts: dict[str, None] = {}
    for record in objects_in(text):
        inner = [value for value in record.values() if isinstance(value, dict)]
        texts |= dict.fromkeys(value for each in (record, *inner) for value in each.values() if isinstance(value, str))
    for code in texts:
        if "\n" not in code.strip() and "\\n" in code:  # escaped twice
            code = code.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t")
        with contextlib.suppress(NotCode):
            yield extract_code(code)


def _in_fences(text: str) -> list[str]:
    blocks = fenced_blocks(text, complete=lambda body: _parses(textwrap.dedent(body)))
    for wanted in (_is_python, _is_untagged, _is_unknown):
        codes = [code for block in blocks if wanted(block) and _parses(code := textwrap.dedent(block.body))]
        if codes:
            return codes
    return []


def _is_python(block: FencedBlock) -> bool:
    return block.tag in _PYTHON_TAGS or block.tag.endswith(".py")


def _is_untagged(block: FencedBlock) -> bool:
    return not block.tag


def _is_unknown(block: FencedBlock) -> bool:
    return block.tag not in _OTHER_TAGS


def _whole(text: str) -> Iterator[str]:
    code = textwrap.dedent(text).strip()
    if _parses(code):
        yield code


def _between_prose(text: str) -> Iterator[str]:
    """Unfenced code: from the first line that looks like code to the last blank line up to which it parses."""
    tries = max(_LONGEST_SEARCH * 5_000 // (len(text) + 1), 2)
    lines = textwrap.dedent(text).splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith(_CODE_STARTS)][:3]
    gaps = [number for number, line in enumerate(lines) if not line.strip()]
    for start in starts:
        for end in [len(lines), *reversed([gap for gap in gaps if gap > start])][: min(tries, _LONGEST_SEARCH)]:
            code = "\n".join(lines[start:end])
            if _parses(code):
                yield code
                return


_CODE_STARTS = ("import ", "from ", "def ", "class ", "async def ", "@", "#", '"""', "'''")


def _parses(code: str) -> bool:
    """Whether it is Python code. A single word parses too, but is text."""
    if len(code) > LONGEST_CODE:
        return False
    try:
        body = parse(code).body
    except SyntaxError:
        return False
    return any(not isinstance(node, ast.Expr) or isinstance(node.value, (ast.Call, ast.Await)) for node in body)


def defines(code: str, name: str | None) -> bool:
    """Whether a module defines a name at its top level."""
    if name is None:
        return False
    for node in parse(code).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            return True
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return True
    return False


def _code_complaint(text: str) -> str:
    blocks = fenced_blocks(text)
    code = textwrap.dedent(max((block.body for block in blocks), key=len, default=text)).strip("\n")
    if not code.strip():
        return "There is no Python code in it."
    if len(code) > LONGEST_CODE:
        return f"It has {len(code):,} characters, at most {LONGEST_CODE:,} can be used."
    try:
        parse(code)
    except SyntaxError as error:
        line = (error.text or "").rstrip()
        where = f", line {error.lineno}: {line}" if error.lineno else ""  # an error because of a null byte has no line
        return f"It is not valid Python: {error.msg}{where}"
    return "There is no Python code in it."


# Records: requested with a schema, parsed tolerantly, checked with pydantic

RecordType = TypeVar("RecordType", bound=BaseModel)

_SHOWN_ERRORS = 6
_MOST_FITTINGS = 3
"""What was wrong with a record in a list shows only when the list is right."""


async def ask_structured(
    model: LanguageModel,
    question: Question,
    answer_type: type[RecordType],
    *,
    require: Callable[[RecordType], object] | None = None,
    listener: Listener = SILENT,
) -> tuple[RecordType, tuple[Exchange, ...]]:
    """Ask for a record of `answer_type`.

    The prompt always contains the schema as text, so that the question and its key are the same for every model. If the
    model supports it, the client also sends the schema as `response_format`.

    Raises:
        UnusableAnswer: no answer fits, also after the repairs.
        ModelError: see `LanguageModel.ask`.
    """
    messages = with_schema(question.messages, answer_type)
    asked = dataclasses.replace(question, messages=messages, form=answer_form(answer_type))

    def read(answer: str) -> RecordType:
        record = read_record(answer, answer_type)
        if require is not None:
            require(record)
        return record

    return await ask_until_readable(model, asked, read, listener=listener)


def read_record(answer: str, answer_type: type[RecordType]) -> RecordType:
    """The record in an answer: the largest JSON object that fits."""
    complaints = []
    for candidate in objects_in(answer):
        given = valid_record(_without_nulls(_unwrapped(candidate, answer_type), answer_type))
        if not given:  # else a part of a broken answer would pass as a record with only defaults
            complaints.append(f"It has none of the fields {', '.join(answer_type.model_fields)}.")
            continue
        try:
            return _validated(given, answer_type)
        except ValidationError as error:
            complaints.append(_schema_complaint(error))
    raise Unreadable(complaints[0] if complaints else "There is no JSON object in it.")


def _validated(given: dict[str, Any], answer_type: type[RecordType]) -> RecordType:
    """The record. Small models write `{}` or a word for an empty list: an optional text or list that is none is empty.

    A list of records may also be a single record, or records by their names.

    Raises:
        ValidationError: something else is wrong.
    """
    fitted = copy.deepcopy(given)
    for _ in range(_MOST_FITTINGS):
        try:
            return answer_type.model_validate(fitted)
        except ValidationError as error:
            for problem in error.errors(include_url=False, include_context=False):
                if not _fit(fitted, answer_type, problem["loc"]):
                    raise
    return answer_type.model_validate(fitted)


def _fit(given: Any, answer_type: type[BaseModel], place: Sequence[int | str]) -> bool:
    """Replace what is wrong at a place by what it means. Returns whether it means something."""
    record = given
    model: type[BaseModel] | None = answer_type
    for index, part in enumerate(place):
        if isinstance(part, int):
            if not isinstance(record, list) or part >= len(record):
                return False
            record = record[part]
            continue
        if model is None or not isinstance(record, dict) or (field := model.model_fields.get(part)) is None:
            return False
        item = next((one for one in get_args(field.annotation) if isinstance(one, type)), None)
        inner = item if item is not None and issubclass(item, BaseModel) else None
        if index < len(place) - 1:
            record, model = record.get(part), inner
            continue
        if part not in record:
            return False
        if get_origin(field.annotation) in (list, tuple) and (records := _records(record[part], inner)):
            record[part] = records
            return True
        if field.get_default(call_default_factory=True) not in ("", [], ()) or field.is_required():
            return False
        del record[part]
        return True
    return False


def _records(value: object, model: type[BaseModel] | None) -> list[dict[str, Any]]:
    """The records in an object that stands for a list of them: itself, or its values by name; [] if it is neither."""
    if model is None or not isinstance(value, dict) or not value:
        return []
    needed = {name for name, field in model.model_fields.items() if field.is_required()}
    if needed <= value.keys():
        return [value]
    named = [{"name": name, **each} for name, each in value.items() if isinstance(each, dict)]
    return named if len(named) == len(value) and all(needed <= each.keys() for each in named) else []


def _unwrapped(candidate: Mapping[str, Any], answer_type: type[BaseModel]) -> Mapping[str, Any]:
    """The record without a wrapper such as `{"plan": {…}}`."""
    if any(name in candidate for name in answer_type.model_fields):
        return candidate
    inner = [value for value in candidate.values() if isinstance(value, dict)]
    return inner[0] if len(inner) == 1 else candidate


def _without_nulls(candidate: Mapping[str, Any], answer_type: type[BaseModel]) -> dict[str, Any]:
    """The known fields without nulls, because models write null for a default."""
    fields = answer_type.model_fields
    return {
        name: value
        for name, value in candidate.items()
        if name in fields and (value is not None or fields[name].is_required())
    }


def with_schema(messages: Sequence[Mapping[str, Any]], answer_type: type[BaseModel]) -> tuple[Mapping[str, Any], ...]:
    """The messages of a request for a record: the last one ends with the schema as text."""
    *before, message = messages
    words, content = schema_in_words(answer_type), message["content"]
    if isinstance(content, str):
        return (*before, {**message, "content": f"{content}\n\n{words}"})
    return (*before, {**message, "content": [*content, {"type": "text", "text": words}]})


def _schema_complaint(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"- {'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg']}" for problem in problems]
    more = [f"- and {len(lines) - _SHOWN_ERRORS} more"] if len(lines) > _SHOWN_ERRORS else []
    return "\n".join(["It does not fit the schema:", *lines[:_SHOWN_ERRORS], *more])
