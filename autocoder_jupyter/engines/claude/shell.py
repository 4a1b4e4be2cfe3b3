"""Finds the simple commands in a shell command, wherever they stand.

This reads the part of bash's grammar that is needed to find each command of a line: lists, pipes, loops, functions,
substitutions, here-documents, quotes. It expands nothing; a word that the shell would expand is marked. The grammar of
tree-sitter-bash is not used, because it does not report commands in backquotes inside of a here-document or `${x:-…}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

DEEPEST = 8
"""The maximum depth of nested commands."""

_OPERATORS = ("&&", "||", ";;", "|&", "&", ";", "|", "(", ")", "\n")
_REDIRECTS = re.compile(r"(?:\d*|&)(?:<<<|<<-?|<>|<&|<|>>|>&|>\||>)")
_HERE_DOCUMENTS = ("<<", "<<-")
_SUBSTITUTIONS = ("$(", "<(", ">(")
_ANSI_QUOTES = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_HIDDEN = re.compile(r"\$\(|`")
_ESCAPED = re.compile(r"\\[$`]")
_CASE = re.compile(r"\bcase\b[^)]*\bin\b")
_DEFINES = re.compile(r"\([ \t]*\)")
_BLANK = " \t\r"
_NAMES_FILES = re.compile(r"[*?\[{]")


class UnreadableCommand(Exception):
    """A text is not a shell command, or is nested too deeply."""


@dataclass(frozen=True)
class Word:
    """A word without its quotes.

    Args:
        text: the word.
        computed: whether the shell would expand it.
        hides: whether quotes contain a substitution, which some commands run nevertheless.
    """

    text: str
    computed: bool = False
    hides: bool = False


@dataclass
class Command:
    """A simple command.

    Args:
        words: its name and arguments.
        files: the files of its redirections.
        document: the text of its here-document or here-string, or None.
        piped: whether its input is the output of another command.
        defines: whether it is the name of a function that is defined here.
    """

    words: list[Word] = field(default_factory=list)
    files: list[Word] = field(default_factory=list)
    document: str | None = None
    piped: bool = False
    defines: bool = False


def commands(text: str, depth: int = 0) -> list[Command]:
    """All simple commands of a text, those in substitutions first.

    Raises:
        UnreadableCommand: it is not a shell command, or is nested too deeply.
    """
    if depth > DEEPEST:
        raise UnreadableCommand("commands within commands within commands")
    return list(_Reader(text.replace("\r\n", "\n").replace("\\\n", ""), depth).read())


class _Reader:
    def __init__(self, text: str, depth: int) -> None:
        self._text = text
        self._depth = depth
        self._place = 0
        self._inner: list[Command] = []
        self._awaited: list[tuple[Command, str, bool]] = []  # commands whose here-documents begin on the next line

    def read(self) -> Iterator[Command]:
        current = Command()
        while self._place < len(self._text):
            if self._text[self._place] in _BLANK:
                self._place += 1
            elif self._text[self._place] == "#":
                self._skip_to_line_end()
            elif redirect := self._redirect():
                self._take_target(current, redirect)
            elif operator := next((one for one in _OPERATORS if self._text.startswith(one, self._place)), ""):
                current.defines = bool(_DEFINES.match(self._text, self._place)) and len(current.words) == 1
                self._place += len(operator)
                yield from self._ended(current)
                current = Command(piped=operator in ("|", "|&"))
                if operator == "\n":
                    self._take_documents()
            else:
                current.words.append(self._word())
        yield from self._ended(current)
        if self._awaited:
            raise UnreadableCommand("a here-document without an end")

    def substitutions(self) -> list[Command]:
        """The commands in a text that is read as if it were in double quotes."""
        while self._place < len(self._text):
            if not self._substitution(quoted=True):
                self._place += 2 if self._text[self._place] == "\\" else 1
        return self._inner

    def _ended(self, command: Command) -> Iterator[Command]:
        inner, self._inner = self._inner, []
        yield from inner
        if command.words or command.files:
            yield command

    def _redirect(self) -> str:
        found = _REDIRECTS.match(self._text, self._place)
        if found is None or self._text.startswith(("<(", ">("), self._place):
            return ""
        self._place = found.end()
        return found[0].lstrip("0123456789&")

    def _take_target(self, command: Command, redirect: str) -> None:
        while self._place < len(self._text) and self._text[self._place] in _BLANK:
            self._place += 1
        quoted = self._text[self._place : self._place + 1] in ("'", '"', "\\")
        target = self._word()
        if redirect in _HERE_DOCUMENTS:
            self._awaited.append((command, target.text, quoted))
        elif redirect == "<<<":
            command.document = target.text
        elif not (redirect.endswith("&") and (target.text.isdigit() or target.text == "-")):
            command.files.append(target)

    def _take_documents(self) -> None:
        """Read the here-documents that begin on this line. Unquoted ones may contain substitutions."""
        awaited, self._awaited = self._awaited, []
        for command, end, quoted in awaited:
            lines: list[str] = []
            while True:
                if self._place >= len(self._text):
                    raise UnreadableCommand("a here-document without an end")
                end_of_line = self._text.find("\n", self._place)
                line = self._text[self._place : end_of_line if end_of_line >= 0 else None]
                self._place += len(line) + 1
                if line.strip("\t") == end:
                    break
                lines.append(line)
            command.document = "\n".join(lines)
            if not quoted:
                self._inner += _Reader(command.document, self._depth).substitutions()

    def _word(self) -> Word:
        start, said, computed, hides = self._place, [], False, False
        while self._place < len(self._text):
            sign, place = self._text[self._place], self._place
            if substitution := self._substitution():
                said.append(substitution)
                computed = True
            elif self._text.startswith("$'", place):
                said.append(self._escaped())
                computed = hides = True
            elif sign in _BLANK or sign in "\n;&|()<>":
                break
            elif sign == "'":
                said.append(self._until("'"))
                hides |= bool(_HIDDEN.search(said[-1]))
            elif sign == '"':
                text, made = self._double_quoted()
                said.append(text)
                computed |= made
                hides |= bool(_ESCAPED.search(self._text, place, self._place))
            elif sign == "\\":
                said.append(self._text[self._place + 1 : self._place + 2])
                self._place += 2
            else:
                computed |= sign == "$" or bool(_NAMES_FILES.match(sign))
                said.append(sign)
                self._place += 1
        if self._place == start:
            raise UnreadableCommand(f"{self._text[start : start + 20]!r} where a word should stand")
        text = "".join(said)
        return Word(text, computed and text not in ("[", "[[", "{"), hides)

    def _escaped(self) -> str:
        """Read `$'…'`. Its escapes are not decoded."""
        found = _ANSI_QUOTES.match(self._text, self._place)
        if found is None:
            raise UnreadableCommand("a ' that is not closed")
        self._place = found.end()
        return found[1]

    def _double_quoted(self) -> tuple[str, bool]:
        said, computed = [], False
        self._place += 1
        while self._place < len(self._text) and self._text[self._place] != '"':
            sign = self._text[self._place]
            if substitution := self._substitution(quoted=True):
                said.append(substitution)
                computed = True
            elif sign == "\\":
                said.append(self._text[self._place + 1 : self._place + 2])
                self._place += 2
            else:
                computed |= sign == "$"
                said.append(sign)
                self._place += 1
        self._close('"')
        return "".join(said), computed

    def _substitution(self, *, quoted: bool = False) -> str:
        """Read a substitution in a word. Returns its text, or "" if none begins here."""
        start = self._place
        if self._text[start] == "`":
            inner = self._until("`")
        elif self._text.startswith("$(" if quoted else _SUBSTITUTIONS, start):
            self._place += 2
            inner = self._until_closed()
        else:
            return ""
        self._inner += commands(inner, self._depth + 1)
        return self._text[start : self._place]

    def _until_closed(self) -> str:
        """The text up to the closing parenthesis. Quoted parentheses are skipped."""
        start, open_ones = self._place, 1
        while self._place < len(self._text):
            sign = self._text[self._place]
            if self._text.startswith("$'", self._place):
                self._escaped()
                continue
            if sign == "'":
                self._until("'")
                continue
            if sign == "\\":
                self._place += 1
            open_ones += (sign == "(") - (sign == ")")
            self._place += 1
            if not open_ones:
                inner = self._text[start : self._place - 1]
                if _CASE.search(inner):
                    raise UnreadableCommand("a case in a substitution, whose end cannot be found")
                return inner
        raise UnreadableCommand("a parenthesis that is not closed")

    def _until(self, mark: str) -> str:
        """The text up to the next `mark`."""
        start = self._place + 1
        self._place = self._text.find(mark, start)
        if self._place < 0:
            raise UnreadableCommand(f"a {mark} that is not closed")
        self._place += 1
        return self._text[start : self._place - 1]

    def _close(self, mark: str) -> None:
        if self._place >= len(self._text):
            raise UnreadableCommand(f"a {mark} that is not closed")
        self._place += 1

    def _skip_to_line_end(self) -> None:
        end = self._text.find("\n", self._place)
        self._place = len(self._text) if end < 0 else end
