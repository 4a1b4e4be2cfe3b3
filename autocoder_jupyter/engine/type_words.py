"""Reads a type from a model's answer: `list[str]`, `number`, `Optional[float]`, `np.ndarray`, `a table`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autocoder_jupyter.kinds.table import KINDS, WHOLE, elements_of
from autocoder_jupyter.types import TYPE_NAMES, TypeName

LONGEST = 200
"""The maximum number of characters of a type."""

_MEANT: dict[str, TypeName] = {word: name for name, kind in KINDS.items() for word in kind.words.split()}

_WRAPPERS = ("annotated", "final", "required", "nullable")
_NONES = ("none", "null", "nonetype")


@dataclass(frozen=True)
class MeantType:
    """A type, whether it may also be None, and the element type of a list or dict, if given."""

    name: TypeName
    optional: bool = False
    elements: str = ""


def meant_type(words: str) -> MeantType:
    """The type that a text names.

    Raises:
        ValueError: it names no known type; the message is text for the model.
    """
    text = " ".join(words[: LONGEST + 1].strip().strip("`'\"").split())
    if len(text) > LONGEST:
        raise ValueError(f"the type is longer than {LONGEST} characters")
    found = _united(_split(re.sub(r"(?<=\S) or (?=\S)", " | ", text), "|"))
    if found is None:
        raise ValueError(f"{text!r} is not one of the types {', '.join(TYPE_NAMES)}")
    return found


def _united(texts: Iterable[str]) -> MeantType | None:
    """The type of `A | B`: None makes it optional, int and float make float, equal types make one."""
    given = list(texts)
    present = [text for text in given if text.casefold() not in _NONES]
    found = [_single(text) for text in present]
    names = {meant.name for meant in found if meant is not None}
    held = {meant.elements for meant in found if meant is not None}
    if names == {"int", "float"}:
        names = {"float"}
    if None in found or len(names) != 1:
        return None
    optional = len(present) < len(given) or any(meant is not None and meant.optional for meant in found)
    return MeantType(names.pop(), optional, held.pop() if len(held) == 1 else "")


def _single(text: str) -> MeantType | None:
    """One type without alternatives; None if it is not known."""
    name, arguments = _taken_apart(text)
    word = re.sub(r"[\s_\-]+", "", name.rpartition(".")[2]).casefold()
    if word in ("optional", "union", "literal", *_WRAPPERS) and arguments:
        return _generic(word, arguments)
    found = _MEANT.get(word)
    if found in ("list", "dict"):
        _require_parts_that_cross(text, arguments)
    return None if found is None else MeantType(found, elements=elements_of(text) if arguments else "")


def _generic(word: str, arguments: str) -> MeantType | None:
    match word:
        case "optional":
            return _united((*_split(arguments, "|"), "None"))
        case "union":
            return _united(_split(arguments, ","))
        case "literal":
            return _type_of_values(arguments)
        case _:
            return _united(_split(next(_split(arguments, ",")), "|"))


def _taken_apart(text: str) -> tuple[str, str]:
    """`list[str]` as `list` and `str`; also for `datetime64[ns]`, `array of numbers` and `number (euros)`."""
    for pattern in (r"([^\[]*)\[(.*)\]", r"([^(]*)\((.*)\)", r"(?:an? )?(.+?) (?:of|with) (.+)"):
        match = re.fullmatch(pattern, text)
        if match:
            return match[1].strip(), match[2].strip()
    return re.sub(r"^an? ", "", text), ""


def _split(text: str, sign: str) -> Iterator[str]:
    """The parts of the text between separators that are outside of brackets."""
    depth, start = 0, 0
    for place, character in enumerate(text):
        depth += (character in "[(") - (character in "])")
        if character == sign and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def _type_of_values(arguments: str) -> MeantType | None:
    """The type of the values of `Literal["up", "down"]`."""
    return _united([_type_of_value(value) for value in _split(arguments, ",")])


def _type_of_value(text: str) -> str:
    if text[:1] in "'\"":
        return "str"
    if text in ("True", "False"):
        return "bool"
    return "int" if re.fullmatch(r"-?\d+", text) else text


def _require_parts_that_cross(text: str, arguments: str) -> None:
    if elements_of(text) in WHOLE:
        return
    held = {_MEANT.get(word.casefold()) for word in re.findall(r"\w+", arguments)}
    whole = [name for name, kind in KINDS.items() if kind.stands_alone and name in held]
    if whole:
        raise ValueError(f"{text!r} holds a {whole[0]}, which must be an output of its own")
