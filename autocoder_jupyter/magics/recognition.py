"""Names of variables in prose without an at sign: as words (`sales`), or nearly (`the sales table`, `daily visits`).

A name that is an ordinary word, such as `date`, is recognised only beside a word for a table. A mention is certain if
its words are hardly ambiguous: `join it with the sales table`, `from orders_2024`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"(?<![\w@.])[A-Za-z_]\w+(?![\w@])")
"""A word that can be a variable: not a single letter, not part of an e-mail address, not after a dot."""

_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_JOINED = re.compile(r"[\s\-]+")

_OF_TABLES = frozenset({"data", "dataframe", "dataset", "frame", "table", "tbl", "df"})
"""Parts of names, and words of prose, that stand for a table."""

_BESIDE = _OF_TABLES | {"file", "records", "rows", "tables", "frames"}
_LEADS = frozenset({"from", "in", "of", "on", "over", "the", "this", "using", "with"})

_NEW = frozenset({"a", "an", "new", "one"})
_MAKES = _NEW | {
    "another",
    "as",
    "call",
    "called",
    "create",
    "give",
    "it",
    "make",
    "name",
    "named",
    "return",
    "returns",
}
"""Words before something that is made or named."""

_OTHERWISE = frozenset({"column", "columns", "don't", "except", "field", "fields", "never", "no", "not", "without"})
"""Words of a sentence after which a name may be that of a column, or of what is not wanted."""

_GIVES = frozenset({"into", "output", "outputs", "produce", "return", "returns"})
"""Words shortly before what is given back."""

_NEAR = 5
"""Words."""

_KNOWN = re.compile(r".*\b(?:the|this|these|our|my)\b", re.DOTALL)
_SENTENCE = re.compile(r"[.;!?]\s|\n\s*(?:\n|[-*\d])")
_SENTENCE_SHOWN = 400
"""Characters before a mention that are looked at."""

_THE_TABLES = re.compile(
    r"\s(?:table|frame|dataframe|dataset|df)\b(?!s)"
    r"|(?:(?:,|,?\s+and)\s+(?:the\s+)?\w+){0,3}\s(?:table|frame|dataframe|dataset)s\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"\w_\w|\d|[a-z][A-Z]")
_READS = re.compile(
    r"(?:\b(?:from|of|over|using|join|merge|use|against)|@\w+(?:,|,? and| with| to))(?: the)?\s+`?$", re.IGNORECASE
)
"""Words before data that are read. `in`, `to` and `with` may precede a result or a column too."""

_STOPS = re.compile(r"`?(?=[\s,.;:)?!]|$)(?!\.\w|\s+(?:as|=))")

_TEXT = """
all amount amounts answer average base best case cases category change check code column columns count country
counts data dataset date dates day days end entry field file files first frame group groups hour id index
input item items key keys label last length line lines list max mean median min minute month months name names
new number numbers old order output percent place price rank rate ratio records result results row rows sample
score series share size start state status step sum table tables test text time times total totals type types
unit value values version week weeks word words year years
"""

_ORDINARY = frozenset(_TEXT.split())
"""Words of requests that are often names of variables too."""

MOST_NAMES = 2000
"""Names that are compared. A notebook has fewer."""


@dataclass(frozen=True)
class NameInProse:
    """A variable's name in prose: the name, and the characters from `start` to `end` that mean it.

    `is_certain` says whether one of its mentions is hardly ambiguous.
    """

    name: str
    start: int
    end: int
    is_certain: bool = False


def recognised(prose: str, names: Iterable[str], is_data: Callable[[str], bool]) -> list[NameInProse]:
    """The variables that the prose names, each at its first mention, in order."""
    words = list(_WORD.finditer(prose))
    folded = [_singular(word[0]) for word in words]
    places: dict[str, list[int]] = {}
    for number, word in enumerate(folded):
        places.setdefault(word, []).append(number)
    found: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for name, _ in zip(names, range(MOST_NAMES), strict=False):
        for start, end, distance in _mentions(name, prose, words, folded, places):
            if is_data(name):
                found.setdefault((start, end), []).append((distance, name))
    return list(_first_mentions(prose, words, found))


def is_like(name: str, other: str) -> bool:
    """Whether prose may mean either of two names by the same words: `orders` and `df_orders`."""
    core = [_singular(part) for part in _core(name)]
    return bool(core) and core == [_singular(part) for part in _core(other)]


def _mentions(
    name: str, prose: str, words: Sequence[re.Match[str]], folded: Sequence[str], places: dict[str, list[int]]
) -> Iterator[tuple[int, int, int]]:
    """Numbers of the first word and of the word after the last one, and how far they are from the name.

    0: the name itself. 1: its words, without those for a table. 2: singular for plural, or the other way round.
    """
    for number in places.get(_singular(name), ()):
        if words[number][0] == name and (name.casefold() not in _ORDINARY or _is_marked_as_table(number, words)):
            yield number, number + 1, 0
    core = _core(name)
    singular = [_singular(part) for part in core]
    for number in places.get(singular[0], ()) if core else ():
        end = number + len(core)
        if folded[number:end] != singular or not all(
            _JOINED.fullmatch(prose, before.end(), after.start())
            for before, after in zip(words[number : end - 1], words[number + 1 : end], strict=True)
        ):
            continue
        if len(core) > 1 or _is_beside_a_table(number, end, words, is_ordinary=core[0] in _ORDINARY):
            yield number, end, 1 if [word[0].casefold() for word in words[number:end]] == core else 2


def _first_mentions(
    prose: str, words: Sequence[re.Match[str]], found: dict[tuple[int, int], list[tuple[int, str]]]
) -> Iterator[NameInProse]:
    """The nearest name of each place, if there is only one; the longest places come first."""
    taken: set[int] = set()
    certain: set[str] = set()
    chosen: dict[str, tuple[int, int]] = {}
    for span in sorted(found, key=lambda span: (span[0] - span[1], span)):
        least = min(distance for distance, _ in found[span])
        nearest = {name for distance, name in found[span] if distance == least}
        if len(nearest) == 1 and not taken & set(range(*span)):
            taken |= set(range(*span))
            (name,) = nearest
            chosen[name] = min(chosen.get(name, span), span)
            if name not in certain and _is_certain(name, prose, words[span[0]].start(), words[span[1] - 1].end()):
                certain.add(name)
    for name, (start, end) in sorted(chosen.items(), key=lambda pair: pair[1]):
        yield NameInProse(name, words[start].start(), words[end - 1].end(), name in certain)


def _is_certain(name: str, prose: str, start: int, end: int) -> bool:
    """Whether the characters from `start` to `end` can hardly mean anything but the variable.

    That is so beside a word for a table, and for a name that looks like code (`orders_2024`) where data are read.
    """
    before = _SENTENCE.split(prose[max(start - _SENTENCE_SHOWN, 0) : start].casefold())[-1]
    words = re.findall(r"[\w']+", before)
    near = re.findall(r"[\w']+", before.rpartition("@")[2])[-_NEAR:]
    if not _OTHERWISE.isdisjoint(words) or not _MAKES.isdisjoint(words[-1:]) or not _GIVES.isdisjoint(near):
        return False
    if _THE_TABLES.match(prose, end):
        last = re.findall(r"[\w']+", _KNOWN.sub("", before))[-3:]
        return prose[start:end].casefold() not in _ORDINARY | _OF_TABLES and _NEW.isdisjoint(last)
    looks_like_code = _CODE.search(name) or prose[start - 1 : start] == prose[end : end + 1] == "`"
    if prose[start:end] != name or not looks_like_code or not _STOPS.match(prose, end):
        return False
    return bool(_READS.search(prose, max(start - _SENTENCE_SHOWN, 0), start))


def _is_marked_as_table(number: int, words: Sequence[re.Match[str]]) -> bool:
    """Whether the words beside it mark an ordinary word as a table: `the date table`, or `in the data`."""
    if _is_beside_a_table(number, number + 1, words, is_ordinary=True):
        return True
    lead = words[number - 1][0].casefold() if number else ""
    return words[number][0].casefold() in _OF_TABLES and lead in _LEADS


def _is_beside_a_table(start: int, end: int, words: Sequence[re.Match[str]], *, is_ordinary: bool) -> bool:
    """Whether a word for a table follows, or, unless the words are ordinary, precedes them with `of`."""
    after = words[end][0].casefold() if end < len(words) else ""
    if after in _BESIDE and words[end].start() - words[end - 1].end() == 1:
        return True
    if is_ordinary or start < 2:
        return False
    return words[start - 1][0].casefold() == "of" and words[start - 2][0].casefold() in _BESIDE


def _core(name: str) -> list[str]:
    """The words of a name in small letters, without those for a table; empty if one is a single letter."""
    parts = [part.casefold() for part in _PART.findall(name)]
    while parts and parts[-1] in _OF_TABLES:
        parts.pop()
    while parts and parts[0] in _OF_TABLES:
        parts.pop(0)
    return [] if any(len(part) == 1 for part in parts) else parts


def _singular(word: str) -> str:
    word = word.casefold()
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
