"""Shell commands: finds the simple commands in a text, judges paths, and knows which commands are safe.

This reads the part of bash's grammar that is needed to find each command of a line: lists, pipes, loops, functions,
substitutions, here-documents, quotes. It expands nothing; a word that the shell would expand is marked. The grammar of
tree-sitter-bash is not used, because it does not report commands in backquotes inside of a here-document or `${x:-…}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from autocoder_jupyter.types import ToolClass
from autocoder_jupyter.untrusted.visible import visible

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
        hides: whether quotes contain a substitution, which some commands run nevertheless.
    """

    text: str
    computed: bool = False
    hides: bool = False


@dataclass
class Command:
    """A simple command.

    Args:
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
    """All simple commands of a text, those in substitutions first."""
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
        start, pieces, computed, hides = self._place, [], False, False
        while self._place < len(self._text):
            sign, place = self._text[self._place], self._place
            if substitution := self._substitution():
                pieces.append(substitution)
                computed = True
            elif self._text.startswith("$'", place):
                pieces.append(self._escaped())
                computed = hides = True
            elif sign in _BLANK or sign in "\n;&|()<>":
                break
            elif sign == "'":
                pieces.append(self._until("'"))
                hides |= bool(_HIDDEN.search(pieces[-1]))
            elif sign == '"':
                text, made = self._double_quoted()
                pieces.append(text)
                computed |= made
                hides |= bool(_ESCAPED.search(self._text, place, self._place))
            elif sign == "\\":
                pieces.append(self._text[self._place + 1 : self._place + 2])
                self._place += 2
            else:
                computed |= sign == "$" or bool(_NAMES_FILES.match(sign))
                pieces.append(sign)
                self._place += 1
        if self._place == start:
            raise UnreadableCommand(f"{self._text[start : start + 20]!r} where a word should stand")
        text = "".join(pieces)
        return Word(text, computed and text not in ("[", "[[", "{"), hides)

    def _escaped(self) -> str:
        """Read `$'…'`. Its escapes are not decoded."""
        found = _ANSI_QUOTES.match(self._text, self._place)
        if found is None:
            raise UnreadableCommand("a ' that is not closed")
        self._place = found.end()
        return found[1]

    def _double_quoted(self) -> tuple[str, bool]:
        pieces, computed = [], False
        self._place += 1
        while self._place < len(self._text) and self._text[self._place] != '"':
            sign = self._text[self._place]
            if substitution := self._substitution(quoted=True):
                pieces.append(substitution)
                computed = True
            elif sign == "\\":
                pieces.append(self._text[self._place + 1 : self._place + 2])
                self._place += 2
            else:
                computed |= sign == "$"
                pieces.append(sign)
                self._place += 1
        self._close('"')
        return "".join(pieces), computed

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


# Judgements of names and paths

_RANK: dict[ToolClass, int] = {"safe": 0, "intercepted": 1, "denied": 2}

_RUNNERS = frozenset(
    (
        *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml"),
        *("pytest.py", "_pytest", "pluggy.py", "sitecustomize.py", "usercustomize.py", ".coveragerc"),
    )
)
"""Files that configure pytest and could change how tests run."""

_SECRET = re.compile(r"\$\{?!?\w*(?:KEY|TOKEN|SECRET|PASSW|CREDENTIAL)", re.IGNORECASE)
_HOME = re.compile(r"\$\{?(?:HOME|OLDPWD|TMPDIR)\b")
_HARMLESS_DEVICES = frozenset(("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero"))


@dataclass(frozen=True)
class Judgement:
    """The class of a call with its reason, as text for the user and the agent."""

    kind: ToolClass
    reason: str


SAFE = Judgement("safe", "runs in the sandbox")
TESTS = Judgement("intercepted", "tests are run by the runner whose report counts")
OTHERS_NOT_RUN = "the other commands of the line are not run"
NETWORK = Judgement("denied", "there is no network in the workspace")
PACKAGES = Judgement("denied", "packages are not installed by hand; name them in packages.txt, one a line")
RIGHTS = Judgement("denied", "nothing in the workspace needs the rights of another user")
VARIABLES = Judgement("denied", "environment variables are not shown")
TOO_LONG = Judgement("denied", "the program that it runs is too long to be read; split it")
UNREAD = Judgement("denied", "what it runs cannot be read from the command; write it into a file first")


def unknown(name: str) -> Judgement:
    """The judgement of a command that is not known: denied, because it may start any other."""
    return Judgement("denied", f"{visible(name[:100])} is not known here, and could start other programs; use Python")


def outside(path: str) -> Judgement:
    """The judgement of a path that is not in the workspace: denied."""
    return Judgement("denied", f"{visible(path[:100])} is outside of the workspace; paths are relative to it")


def worst(judgements: Iterable[Judgement]) -> Judgement:
    """The worst of several; the first of equally bad ones."""
    return max(judgements, key=lambda one: _RANK[one.kind], default=SAFE)


def runners_file(path: str) -> Judgement:
    """Judge a file by its name: denied if it would change how tests are run."""
    name = next((part for part in PurePosixPath(path).parts if part in _RUNNERS), "")
    name = name or (PurePosixPath(path).name if path.endswith(".pth") else "")
    return Judgement("denied", f"{visible(name)} would change how tests are run") if name else SAFE


def path_in_a_command(word: str) -> Judgement:
    """Judge a word that may be a path."""
    path = word.partition("=")[2] or word if word.startswith("-") or re.match(r"\w+=", word) else word
    if "/dev/tcp/" in path or "/dev/udp/" in path or "://" in path:
        return NETWORK
    if _SECRET.search(path):
        return VARIABLES
    leads_out = path.startswith(("/", "~")) or ".." in PurePosixPath(path).parts or _HOME.search(path)
    if leads_out and path not in _HARMLESS_DEVICES:
        return outside(path)
    return runners_file(path)


# Commands by name

KEYWORDS = frozenset(
    ("if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "time", "coproc", "esac")
)
NAMES_WORDS = frozenset(("for", "select", "case", "[", "[[", "test"))
"""Shell keywords that are followed only by words, not by a command."""

WRAPPERS: dict[str, tuple[str, ...]] = {
    "env": ("-u", "--unset", "-C", "--chdir"),
    "timeout": ("-k", "--kill-after", "-s", "--signal"),
    "nice": ("-n",),
    "ionice": ("-c", "-n"),
    "stdbuf": ("-i", "-o", "-e"),
    "exec": ("-a",),
    "watch": ("-n",),
    "xargs": ("-n", "-I", "-P", "-L", "-d", "-E", "-s", "-a", "--max-args", "--max-procs", "--delimiter"),
    "parallel": ("-j", "--jobs"),
    **dict.fromkeys(("nohup", "setsid", "command", "builtin", "busybox", "unbuffer", "strace", "ltrace"), ()),
}
"""Commands that run the command in their arguments, with their options that take a value."""

SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash"))
PYTHON = re.compile(r"(?:python|pypy|ipython)[\d.]*")
RUN_MODULES = frozenset(("cProfile", "profile", "pdb", "trace", "coverage", "runpy", "bdb"))
"""Modules that run the module or script in their arguments."""

_REACH_OUT = (
    *("curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "ssh", "scp", "sftp", "rsync", "ftp", "tftp"),
    *("ping", "ping6", "dig", "nslookup", "host", "traceroute", "nmap", "aria2c", "lynx", "w3m", "http", "https"),
    *("gh", "aws", "gcloud", "gsutil", "az", "docker", "podman", "kubectl"),
)
_INSTALL = (
    *("pip", "pip2", "pip3", "pipx", "uv", "uvx", "poetry", "pdm", "hatch", "rye", "easy_install"),
    *("conda", "mamba", "micromamba", "apt", "apt-get", "aptitude", "dpkg", "yum", "dnf", "rpm", "apk", "pacman"),
    *("zypper", "brew", "snap", "npm", "npx", "yarn", "pnpm", "cargo", "gem", "go"),
)
_NEED_RIGHTS = (
    *("sudo", "su", "doas", "pkexec", "runuser", "chroot", "unshare", "nsenter", "mount", "umount", "setcap"),
    *("insmod", "modprobe", "systemctl", "service", "crontab", "at", "reboot", "shutdown", "passwd", "useradd"),
    *("usermod", "gdb"),
)

KNOWN: dict[str, Judgement] = {
    **dict.fromkeys(_REACH_OUT, NETWORK),
    **dict.fromkeys(_INSTALL, PACKAGES),
    **dict.fromkeys(_NEED_RIGHTS, RIGHTS),
    **dict.fromkeys(("pytest", "py.test", "pytest-3", "tox", "nox"), TESTS),
    **dict.fromkeys(("vi", "vim", "nano", "ex", "ed", "emacs"), UNREAD),
    "printenv": VARIABLES,
}
"""The class of a command by its name."""

LOOKS_AT_PACKAGES = frozenset(("list", "show", "freeze", "check", "help", "--version", "-V", "--help", "-h"))
GIT_REACHES_OUT = frozenset(("clone", "fetch", "pull", "push", "ls-remote", "submodule"))
SAYS_WORDS = frozenset(("echo", "printf", "tr", "expr", "true", "false", ":", "which", "type", "seq", "basename"))
"""Commands whose arguments are not files."""

HAS_A_PATTERN = frozenset(("grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk", "mawk", "perl", "ruby", "node"))
"""Commands with a pattern or a program as an argument, which may begin with a slash."""

LISTS_VARIABLES = frozenset(("set", "export", "declare", "typeset", "readonly"))
"""Commands that show variables if they have no arguments."""

FILTERS = frozenset(("cd", "echo", "tail", "head", "grep", "cat", "tee", "true", ":", "set"))
"""Shell keywords around other commands."""

EVALUATES_ITS_WORDS = frozenset(
    ("let", "declare", "typeset", "local", "readonly", "export", "test", "[", "[[", "printf", "read", "unset")
)
"""Commands of the shell that may run a substitution although it is quoted, as in `let 'x[$(…)]'`."""

INERT = frozenset(
    (
        *("cd", "pwd", "pushd", "popd", "dirs", "exit", "return", "break", "continue", "shift", "wait", "sleep"),
        *("umask", "ulimit", "shopt", "hash", "times", "getopts", "kill", "pkill", "jobs", "bg", "fg", "clear"),
        *("ls", "dir", "tree", "stat", "file", "du", "df", "wc", "cat", "tac", "nl", "head", "tail", "cut", "paste"),
        *("join", "comm", "sort", "uniq", "tee", "split", "csplit", "fold", "fmt", "column", "expand", "unexpand"),
        *("rev", "shuf", "od", "xxd", "hexdump", "strings", "base64", "base32", "md5sum", "sha1sum", "sha256sum"),
        *("sha512sum", "cksum", "sum", "diff", "cmp", "patch", "mkdir", "rmdir", "rm", "mv", "cp", "ln", "touch"),
        *("chmod", "dd", "install", "truncate", "mktemp", "dirname", "realpath", "readlink", "date", "cal", "bc", "dc"),
        *("nproc", "uname", "arch", "hostname", "whoami", "id", "groups", "uptime", "free", "ps", "top", "lscpu"),
        *("locale", "iconv", "jq", "yes", "factor", "numfmt", "gzip", "gunzip", "zcat", "bzip2", "xz", "zip", "unzip"),
        *("ruff", "mypy", "black", "isort", "flake8", "pylint", "pyflakes", "pycodestyle", "sqlite3", "openssl"),
        *("git", "tar", "find", *SAYS_WORDS, *HAS_A_PATTERN, *LISTS_VARIABLES, *EVALUATES_ITS_WORDS),
    )
)
"""Commands that start no other program, except as `STARTS_COMMANDS` says."""

INERT_MODULES = frozenset(
    (
        *("ast", "base64", "calendar", "compileall", "csv", "dis", "gzip", "json", "platform", "py_compile", "pydoc"),
        *("site", "sysconfig", "tabnanny", "tarfile", "this", "tokenize", "zipfile"),
        *("black", "flake8", "isort", "mypy", "pycodestyle", "pyflakes", "pylint", "ruff"),
    )
)
"""Modules that run no program when they are started with `-m`."""

NAMES_A_PROGRAM = re.compile(
    r"(?:BASH_ENV|ENV|PS[0-4]|PROMPT_COMMAND|SHELLOPTS|PATH|IFS|\w*PAGER|\w*EDITOR|BROWSER|LESS(?:OPEN|CLOSE)|GIT_\w+"
    r"|PERL\w*OPT|PERL5DB|RUBYOPT|NODE_OPTIONS|PYTHON(?:STARTUP|INSPECT|HOME|BREAKPOINT)|LD_\w+|MAKEFLAGS|RIPGREP\w+)\+?="
)
"""Variables whose value is a program, or decides which one runs."""

GIT_IS_INERT = re.compile(
    r"--version|version|help|diff|status|log|show|init|add|commit|rev-parse|ls-files|blame|stash|checkout|branch|reset"
    r"|rm|mv|clean|restore|switch|apply|grep|describe|tag|merge|shortlog"
)
"""Subcommands of git that start no program that is named in the command."""

STARTS_COMMANDS = {
    **dict.fromkeys(
        ("awk", "gawk", "mawk"),
        re.compile(r"\bsystem\b|\|&?\s*getline|(?<!\|)\|&?\s*[\"a-z]|ENVIRON\b|@\w+\s*\("),
    ),
    "sed": re.compile(
        r"(?:^|[;{\n]|^-e|=)\s*(?:[\d$,~+!]|/[^/]*/I?M?)*\s*(?:e(?![a-z]*=)|s(\W)(?:(?!\1).)*\1(?:(?!\1).)*\1[gpiImM\d]*e)"
    ),
    **dict.fromkeys(
        ("perl", "ruby", "node", "php", "lua"),
        re.compile(
            r"system|exec|spawn|popen|`|\bqx\b|socket|child_process|ENV\b|process\.env|\bopen|\beval\b|\|\s*$",
            re.IGNORECASE,
        ),
    ),
    "tar": re.compile(
        r"--(?:to-command|checkpoint-action|use-compress-program|rsh-command|info-script|new-volume)|^-?[a-z]*[IF]"
    ),
    "git": re.compile(r"^-c|^--(?:ext-diff|textconv|exec|upload-pack|receive-pack|open-files|config|edit)|^-O"),
    "sort": re.compile(r"^--compress-"),
    "split": re.compile(r"^--f"),
    "rg": re.compile(r"^--(?:pre|hostname-bin|search-zip)|^-z"),
    "shopt": re.compile(r"expand_aliases"),
    **dict.fromkeys(("hash", "jobs"), re.compile(r"^-")),
    "sqlite3": re.compile(r"\.(?:shell|system|load|once|output|import|read)\b|load_extension"),
    "dc": re.compile(r"!"),
}
"""Tools with their own language, or an option for a program, and the pattern of what starts one or shows variables."""
