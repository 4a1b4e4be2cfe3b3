"""House rules: what an organization means by its terms, in the `autocode.md` files of a project.

    # Net revenue
    Revenue is `amount` minus `refund`, by the month of `paid_at`.
    check: (monthly.revenue >= 0).all()

The text above the first heading applies to every request. A section applies to a request that uses a word of its
heading, or a name that the section has in backticks: in its text, or as the name of a table or a column. A `check:` is
tested like one of the user's, if the function has the values that it names.

The files are part of a folder that somebody else may have written, and their text is sent to a model. So none is used
before the user has agreed to it, and again after each change.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autocoder_jupyter.agent.place import up_to_root
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.request import HouseRule, Request
from autocoder_jupyter.trust import Permission, trust_in
from autocoder_jupyter.trust.own_files import OwnRecord, own_folder
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import require_expression
from autocoder_jupyter.untrusted.visible import visible

NAME = "autocode.md"

TASKS = "autocode_tasks"
"""The folder beside it with questions whose answers are known."""

PART = "house rules"
"""The name of the part (`Permission.part`)."""

MOST_BYTES = 2**18
MOST_CHARACTERS = 12_000
"""Characters of all rules that apply to one request, because they are sent with each of its questions."""

_HEADING = re.compile(r"#{1,6}[ \t]")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_WORD = re.compile(r"[^\W_]+")
_NAMED = re.compile(r"`([^`\n]{1,200})`")
_COMMON = frozenset(
    """
    a all an and any are as at be by count counted data each every for from how if in into is it its no not of on or our
    per rule that the their this to use used we what when which with without
    """.split()  # noqa: SIM905
)
"""Words of headings that say nothing about a subject."""


@dataclass(frozen=True)
class RuleFile:
    """An `autocode.md`.

    Args:
        text: its content; "" if it cannot be read.
        problem: why it cannot be read; "" if it can.
    """

    path: Path
    text: str
    problem: str = ""

    @property
    def permission(self) -> Permission:
        """What the user must agree to."""
        effect = "what applies to a request is sent to the model with it, and a check in it is run in the sandbox"
        return Permission(PART, self.path.name, self.text, effect)

    @property
    def is_agreed(self) -> bool:
        """Whether the user has agreed to exactly this text."""
        return not self.problem and trust_in(self.path.parent).covers((self.permission,))

    def may_be_used(self, *, locked: bool) -> bool:
        """Whether the user has agreed, or nothing is sent because no model is asked (`locked`), as in CI."""
        return self.is_agreed or (locked and not self.problem)

    @property
    def state(self) -> str:
        """Whether it is used; if not, why, and what to do."""
        if self.is_agreed:
            return "used"
        return f"not used: {self.problem or 'you have not agreed to this text. %autocode trust asks you.'}"

    @property
    def rules(self) -> tuple[HouseRule, ...]:
        """Its sections, in order, without empty ones."""
        return tuple(_sections(self.text))


def rule_files(folder: Path) -> tuple[RuleFile, ...]:
    """The `autocode.md` of a folder and of those above it, up to the root of the repository; the outermost first."""
    found = (_read(place / NAME) for place in reversed(up_to_root(folder.absolute(), (".git",))))
    return tuple(file for file in found if file is not None)


def usable_rules(folder: Path, *, locked: bool) -> tuple[RuleFile, ...]:
    """Those of `rule_files` that may be used."""
    return tuple(file for file in rule_files(folder) if file.may_be_used(locked=locked))


Named = str | os.PathLike[str] | Iterable[str | os.PathLike[str] | RuleFile]


def rules_for_script(folder: Path, named: Named | None, *, locked: bool) -> tuple[RuleFile, ...]:
    """The files that the caller names, and so agrees to; or those of a folder that may be used, with a warning about
    the others.

    Raises:
        InvalidRequest: a named file cannot be read.
    """
    if named is not None:
        return tuple(map(_required, [named] if isinstance(named, str | os.PathLike) else named))
    files, used = rule_files(folder), usable_rules(folder, locked=locked)
    for file in files:
        if file not in used:
            warnings.warn(f"{visible(file.path)} is {file.state}", stacklevel=2)
    return used


def _required(named: str | os.PathLike[str] | RuleFile) -> RuleFile:
    if isinstance(named, RuleFile):  # as it was read when the user agreed
        return named
    path = local_path(named)
    file = _read(path)
    if file is None or file.problem:
        why = file.problem if file else "There is no such file."
        raise InvalidRequest(f"The house rules in {visible(path)} cannot be read.", why=why)
    return file


def with_rules(request: Request, files: Iterable[RuleFile]) -> Request:
    """The request with the rules of these files that apply to it.

    Raises:
        InvalidRequest: they are too long, or a check is no expression.
    """
    texts = (request.prompt, *request.wishes, *request.answers, *request.constraints, request.schema or "")
    names = (*(given.name for given in request.inputs), *(made.name for made in request.outputs))
    return replace(request, rules=rules_about((*texts, *names), request.samples, files))


def rules_about(texts: Iterable[str], values: Mapping[str, object], files: Iterable[RuleFile]) -> tuple[HouseRule, ...]:
    """The rules of these files that apply to texts and to values with their names and columns.

    Raises:
        InvalidRequest: they are too long, or a check is no expression.
    """
    words = _words_of(texts, values)
    every = ((file, rule, subjects(rule)) for file in files for rule in file.rules)
    found = [(file, rule) for file, rule, about in every if not about or not about.isdisjoint(words)]
    for file, rule in found:
        for check in rule.checks:
            try:
                require_expression(check)
            except SyntaxError as error:
                raise InvalidRequest(
                    f"A check in {visible(file.path)} is not a Python expression.",
                    why=f"{visible(check[:200])}: {error.msg}.",
                    hint=f"Correct it below {visible(rule.title)!r}." if rule.title else "",
                ) from None
    if (size := sum(len(rule.title) + len(rule.text) for _, rule in found)) > MOST_CHARACTERS:
        titles = ", ".join(visible(rule.title) or "the text above the first heading" for _, rule in found[:10])
        raise InvalidRequest(
            f"The house rules for this request have {size:,} characters, at most {MOST_CHARACTERS:,} are sent.",
            why=f"These apply: {titles}{' …' if len(found) > 10 else ''}.",
            hint=f"Shorten them, or give the sections of {NAME} headings with fewer common words.",
        )
    return tuple(rule for _, rule in found)


def subjects(rule: HouseRule) -> frozenset[str]:
    """The words and names to which a rule applies, as `_stems` gives them; none if it always applies."""
    heading = _stems(rule.title) - _COMMON
    names = (stem for name in _NAMED.findall(rule.text) for stem in (*_stems(name) - _COMMON, name.casefold()))
    return frozenset((*heading, *names)) if heading else frozenset()


_CORRECTION = re.compile(r'Instead of "(.+)": (.+)', re.DOTALL)
"""The wish that *Change* beside an assumption writes."""

MOST_CORRECTIONS = 500
_ALIKE = 0.5
"""The share of common words from which two assumptions are the same one in other words."""


def offered_rule(function: str, wish: str) -> str:
    """Record that an assumption was changed. Returns a sentence that offers a house rule, if the user has changed it in
    another function too.

    Only digests of the words of changed assumptions are recorded, the newest ones, in the user's configuration.
    """
    found = _CORRECTION.fullmatch(wish.strip())
    if found is None:
        return ""
    words = sorted(_digest(word) for word in _stems(found[1]) - _COMMON)
    record = OwnRecord(own_folder() / "corrections.json", 1, "The record of changed assumptions")
    known = record.read().get("changed")
    known = known if isinstance(known, dict) else {}
    alike = [name for name, others in known.items() if _are_alike(words, others)]
    with contextlib.suppress(InvalidRequest), record.changed() as fields:
        newest = [*known.items(), (f"{_digest(function)} {_digest(found[1])}", words)]
        fields["changed"] = dict(newest[-MOST_CORRECTIONS:])
    if all(name.partition(" ")[0] == _digest(function) for name in alike):
        return ""
    return (
        "You have changed this assumption in another function too. As a rule in "
        f"{NAME}, below a heading with its subject, it holds for every request: {visible(found[2])}"
    )


def _are_alike(words: Sequence[str], others: object) -> bool:
    known = {word for word in others if isinstance(word, str)} if isinstance(others, list) else set()
    return bool(known) and len(known.intersection(words)) >= _ALIKE * len(known.union(words))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _words_of(texts: Iterable[str], values: Mapping[str, object]) -> frozenset[str]:
    """The words of texts, and of the names of values and their columns."""
    names = list(values)
    for value in values.values():
        names += map(str, getattr(value, "columns", ()))
        names += [str(name)] if (name := getattr(value, "name", None)) is not None else []
    return frozenset(stem for text in (*texts, *names) for stem in (*_stems(text), text.casefold()))


def _stems(text: str) -> set[str]:
    """The words of a text in lower case, without the ending of a plural."""
    words = (word.casefold() for word in _WORD.findall(text))
    return {word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words}


def _read(path: Path) -> RuleFile | None:
    """An `autocode.md`; None if there is none."""
    try:
        return RuleFile(path, Folder(path.parent).read_text(path.name, MOST_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        return RuleFile(path, "", f"{visible(why or error)}.")


def _sections(text: str) -> Iterator[HouseRule]:
    title, lines, in_code = "", [], False
    for line in text.splitlines():
        in_code ^= _FENCE.match(line) is not None
        if in_code or not _HEADING.match(line):
            lines.append(line)
            continue
        yield from _section(title, lines)
        title, lines = line.strip("# \t"), []
    yield from _section(title, lines)


def _section(title: str, lines: Sequence[str]) -> Iterator[HouseRule]:
    text = "\n".join(lines).strip()
    if text:
        yield HouseRule(title, text)
