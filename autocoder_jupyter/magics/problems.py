"""All problems of a cell, with their places, which an editor underlines while the cell is written.

The rules are those that refuse a cell when it is run. Nothing is evaluated here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.cell import refuse_to_shadow
from autocoder_jupyter.magics.codemode.reading import (
    mode_of,
    read_continued,
    read_tools,
    refuse_options_of_the_other_mode,
)
from autocoder_jupyter.magics.command import (
    Written,
    doubled_names,
    parse_cell,
    parse_input,
    parse_output,
    read_check,
    read_contract,
    read_flags,
    read_name,
    read_sample,
    require_prompt,
    split_cell,
    split_words,
)
from autocoder_jupyter.magics.examples import parse_example
from autocoder_jupyter.magics.options import FLAGS
from autocoder_jupyter.magics.references import (
    describe_unmarked,
    is_code,
    mentions,
    referred,
    require_variable,
    unmarked,
)
from autocoder_jupyter.untrusted.visible import visible

MAGIC = "%%autocode"

Severity = Literal["error", "warning", "info"]
"""An error cannot work. A warning cannot work with the variables as they are now. An info is missing, or a hint."""

Area = Literal["command", "quote", "word", "request"]
"""Where in a cell: the magic's name, a quote that stays open, a word of the options, or the request."""

READERS: Mapping[str, Callable[[str], Any]] = {
    "output": parse_output,
    "input": parse_input,
    "sample": read_sample,
    "check": read_check,
    "example": parse_example,
    "contract": read_contract,
}
"""What reads the value of an option, by the option's name."""

_OFFER = re.compile(r"Did you mean (.*?)\?|Call it (\S+_) or ")


@dataclass(frozen=True)
class CellPlace:
    """A part of a cell.

    Args:
        word: index of the word, among all words of the options.
        start, end: characters (code points) within the word, without its quotes, or within the request; all of it if
            `end` is None.
    """

    area: Area
    word: int = -1
    start: int = 0
    end: int | None = None


@dataclass(frozen=True)
class Problem:
    """Something that is wrong, or probably not meant.

    Args:
        instead: a text that can take the place of the part that is underlined; empty if there is none.
    """

    severity: Severity
    what: str
    hint: str
    instead: str
    at: CellPlace


def find_problems(
    cell: str, namespace: Mapping[str, Any], may_replace: Callable[[], bool] = lambda: False
) -> list[Problem]:
    """All problems of a cell, those first that the kernel would name first."""
    line, _, body = cell.partition(MAGIC)[2].partition("\n")
    options, prompt = split_cell(line, body)
    try:
        words = split_words(options)
    except InvalidRequest as error:
        return [_problem(error, CellPlace("quote"))]
    positional, written = read_flags(words, FLAGS)
    if any(word in FLAGS and FLAGS[word].name == "help" for word in words):
        return []
    found = [
        *_of_flags(written),
        *_of_modes(written),
        *_of_name(words, positional, written),
        *_caught(CellPlace("command"), require_prompt, prompt, severity="info"),
    ]
    values, unread = _read(written)
    found += [*unread, *_of_tools(written, words, positional), *_of_names(values)]
    if not any(problem.severity == "error" for problem in found):
        found += _of_the_rest(line, body, found)
    return [*found, *_of_variables(words, positional, written, values, prompt, namespace, may_replace)]


_Values = dict[str, list[tuple[Written, Any]]]
"""The values of options that could be read, by the option's name, with where they are written."""


def _of_flags(written: list[Written]) -> Iterator[Problem]:
    for one in written:
        if one.error is not None:
            yield _problem(one.error, _value_of(one) if one.error_in_value else _flag_of(one))


def _of_modes(written: list[Written]) -> Iterator[Problem]:
    mode = mode_of(_given(written))
    for one in written:
        if one.option is not None:
            yield from _caught(_flag_of(one), refuse_options_of_the_other_mode, {one.option.name}, mode)


def _of_name(words: list[str], positional: list[int], written: list[Written]) -> Iterator[Problem]:
    try:
        read_name([words[index] for index in positional])
    except InvalidRequest as error:
        if not positional:
            yield _problem(error, CellPlace("command"), "info")
        elif not error.about:
            yield _problem(error, CellPlace("word", positional[0]))
        elif all(one.option is not None for one in written):  # else the word is probably the unknown option's value
            yield _problem(error, CellPlace("word", positional[1]))


def _read(written: list[Written]) -> tuple[_Values, list[Problem]]:
    values: _Values = {name: [] for name in READERS}
    problems = []
    for one in written:
        if one.option is not None and one.text is not None and one.option.name in READERS:
            try:
                values[one.option.name].append((one, READERS[one.option.name](one.text)))
            except InvalidRequest as error:
                problems.append(_problem(error, _value_of(one, error.about)))
    return values, problems


def _of_tools(written: list[Written], words: list[str], positional: list[int]) -> Iterator[Problem]:
    tools: list[str] = []
    for one in (one for one in written if one.option is not None and one.text is not None):
        assert one.option is not None and one.text is not None
        if one.option.name == "continue":
            yield from _caught(_value_of(one), read_continued, one.text, words[positional[0]] if positional else "")
        elif one.option.name == "tool":
            wrong = list(_caught(_value_of(one), read_tools, [*tools, one.text]))
            yield from wrong
            tools += [] if wrong else [one.text]


def _of_names(values: _Values) -> Iterator[Problem]:
    by_flag = {"-o": values["output"], "-i": values["input"], "-s": values["sample"], "--contract": values["contract"]}
    doubled = doubled_names(
        outputs=[spec.name for _, spec in values["output"]],
        inputs=[spec.name for _, spec in values["input"]],
        samples=[sample.name for _, sample in values["sample"]],
        contracts=[name for _, (name, _) in values["contract"]],
    )
    for flag, index, error in doubled:
        yield _problem(error, _value_of(by_flag[flag][index][0]))


def _of_the_rest(line: str, body: str, found: list[Problem]) -> Iterator[Problem]:
    """What only the reading of the whole cell finds, such as two options that exclude each other."""
    try:
        parse_cell(line, body)
    except InvalidRequest as error:
        if visible(error.what) not in [problem.what for problem in found]:
            yield _problem(error, CellPlace("command"))


def _of_variables(
    words: list[str],
    positional: list[int],
    written: list[Written],
    values: _Values,
    prompt: str,
    namespace: Mapping[str, Any],
    may_replace: Callable[[], bool],
) -> Iterator[Problem]:
    name = words[positional[0]] if positional else ""
    if name in namespace and "replace" not in _given(written):
        for problem in _caught(
            CellPlace("word", positional[0]), refuse_to_shadow, namespace, name, replace=False, severity="warning"
        ):
            if not may_replace():
                yield problem
    samples = {sample.name: sample.expression for _, sample in values["sample"]}
    declared = {spec.name: spec.type for _, spec in values["input"]}
    known: dict[str, InvalidRequest | None] = {}
    for mentioned, start, end in mentions(prompt):
        if mentioned in samples or (mentioned in declared and mentioned not in namespace):
            continue
        if mentioned not in declared and is_code(namespace.get(mentioned)):
            continue
        if mentioned not in known:
            known[mentioned] = _error(referred, mentioned, namespace, declared)
        error = known[mentioned]
        if error is not None:
            yield _problem(error, CellPlace("request", start=start, end=end), "warning")
    for one, sample in values["sample"]:
        yield from _caught(
            _value_of(one), require_variable, sample.name, sample.expression, namespace, severity="warning"
        )
    given_names = {*samples, *(mentioned for mentioned, _, _ in mentions(prompt))}
    own = {*declared, *(spec.name for _, spec in values["output"]), name}
    for found in unmarked(prompt, given_names, own, namespace):
        what, hint = describe_unmarked(found, namespace)
        place = CellPlace("request", start=found.start, end=found.end)
        yield Problem("info", what, hint, f"@{found.name}", place)


def _given(written: list[Written]) -> dict[str, Any]:
    return {one.option.name: one.value for one in written if one.option is not None and one.error is None}


def _flag_of(one: Written) -> CellPlace:
    return CellPlace("word", one.word, 0, len(one.flag))


def _value_of(one: Written, about: str = "") -> CellPlace:
    """A value, or the part of it that an error is about."""
    text = one.text or ""
    start = text.find(about) if about else 0
    if one.text_start < 0 or start < 0:
        return CellPlace("word", one.text_word)
    return CellPlace("word", one.text_word, one.text_start + start, one.text_start + start + len(about or text))


def _error(rule: Callable[..., object], *arguments: Any, **more: Any) -> InvalidRequest | None:
    try:
        rule(*arguments, **more)
    except InvalidRequest as error:
        return error
    return None


def _caught(
    at: CellPlace, rule: Callable[..., object], *arguments: Any, severity: Severity = "error", **more: Any
) -> Iterator[Problem]:
    error = _error(rule, *arguments, **more)
    if error is not None:
        yield _problem(error, at, severity)


def _problem(error: InvalidRequest, at: CellPlace, severity: Severity = "error") -> Problem:
    offer = _OFFER.match(error.hint)
    instead = (offer[1] or offer[2]) if offer else ""
    return Problem(severity, visible(error.what), visible(error.hint), instead, at)
