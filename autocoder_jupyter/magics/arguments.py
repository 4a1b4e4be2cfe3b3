"""Split a magic line into words, flags and values. The meaning of an option is not known here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.suggestions import did_you_mean
from autocoder_jupyter.settings.setting import Option

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
    """A flag as it stands on the line, with its value.

    Args:
        flag: as written: `-o`, `--share`.
        word: index of its word.
        option: what the flag stands for; None if there is no such option.
        text: the value without the quotes around it; None if there is none.
        text_word: index of the word that holds the value; `word` itself for `--share=rows`.
        text_start: where the value begins in that word.
        value: what the text stands for; None if there is an error, and True for a flag.
        error: what is wrong with it.
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

    Raises:
        InvalidRequest: a quote is not closed, or the line is too long.
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
    """Separate positional words from flags, and convert the values of the flags.

    Raises:
        InvalidRequest: a flag is unknown or repeated, or its value is missing, unexpected or of the wrong kind.
    """
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
    """Tell positional words from flags and their values, and find everything that is wrong with the flags.

    Returns:
        The indices of the positional words, and the flags in order. Nothing is raised: errors are in the flags.
    """
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
            error = InvalidRequest(f"There is no option {flag}.", hint=did_you_mean(flag, flags))
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
        return replace(one, value=option.from_text(text, one.flag))
    except InvalidRequest as error:
        return replace(one, error=error, error_in_value=True)
