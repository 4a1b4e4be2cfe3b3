"""Split a magic line into words, flags and values. The meaning of an option is not known here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.suggestions import did_you_mean
from autocoder_jupyter.settings.option import Option

_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*')"""
_WORD = re.compile(rf"""\s*((?:[^\s"']|{_QUOTED})+)""", re.DOTALL)
_WHOLLY_QUOTED = re.compile(_QUOTED, re.DOTALL)


@dataclass(frozen=True)
class Arguments:
    """The words of a line, as positional words and options.

    Args:
        positional: the words without a flag, in order.
        given: the value by option name; for a repeatable option a tuple of all its values.
    """

    positional: tuple[str, ...]
    given: Mapping[str, Any]


def split_words(text: str) -> list[str]:
    """The words of a line. Quotes around a word are removed; quotes inside a word stay and protect blanks.

    So `-c "a b"` gives `a b`, and `-s logs=File("my logs.txt")` is one word and still an expression. `shlex` would
    remove the quotes of that expression.

    Raises:
        InvalidRequest: a quote is not closed.
    """
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
    positional: list[str] = []
    given: dict[str, Any] = {}
    remaining = iter(words)
    for word in remaining:
        if not _looks_like_flag(word):
            positional.append(word)
            continue
        flag, equals, attached = word.partition("=")
        option = flags.get(flag)
        if option is None:
            raise InvalidRequest(f"There is no option {flag}.", hint=did_you_mean(flag, flags))
        if option.name in given and not option.repeatable:
            raise InvalidRequest(f"{flag} is given twice.", hint="Keep one of them.")
        if not option.takes_value:
            if equals:
                raise InvalidRequest(f"{flag} takes no value.")
            given[option.name] = True
            continue
        text = _unquote(attached) if equals else _value_after(flag, option, remaining, flags)
        value = _converted(flag, option, text)
        if option.repeatable:
            values = value if isinstance(value, tuple) else (value,)
            given[option.name] = (*given.get(option.name, ()), *values)
        else:
            given[option.name] = value
    return Arguments(tuple(positional), given)


def _unquote(word: str) -> str:
    if not _WHOLLY_QUOTED.fullmatch(word):
        return word
    inner = word[1:-1]
    return re.sub(r'\\(["\\])', r"\1", inner) if word[0] == '"' else inner


def _looks_like_flag(word: str) -> bool:
    return bool(re.match(r"--?[A-Za-z]", word)) and " " not in word.partition("=")[0]


def _value_after(flag: str, option: Option, remaining: Iterator[str], flags: Mapping[str, Option]) -> str:
    value = next(remaining, None)
    if value is None or value in flags:
        wanted = option.placeholder or option.expects
        raise InvalidRequest(f"{flag} needs a value.", hint=f"Write {flag} {wanted}.")
    return value


def _converted(flag: str, option: Option, text: str) -> Any:
    try:
        return option.from_text(text)
    except ValueError:
        hint = did_you_mean(text, option.choices) if option.choices else ""
        raise InvalidRequest(f"{flag} takes {option.expects}, not {text!r}.", hint=hint) from None
