"""The class of a tool call of an agent: safe, intercepted because it would run tests, or denied; and why.

This informs the user, and tells the agent early what cannot work. It is not a security boundary: safe calls run in a
sandbox, where nothing that is denied here would succeed. So commands are found by where they stand in the text, each is
looked up in a table, and what a program starts in other ways is not looked for.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from autocoder_jupyter.sandbox.workspace.workspace import LONGEST_COMMAND, NotConfined, confined
from autocoder_jupyter.types import ToolClass
from autocoder_jupyter.untrusted.visible import visible


@dataclass(frozen=True)
class Judgement:
    """The class of a call with its reason, as text for the user and the agent."""

    kind: ToolClass
    reason: str


OTHERS_NOT_RUN = "the other commands of the line are not run"
_SAFE = Judgement("safe", "runs in the sandbox")
_TESTS = Judgement("intercepted", "tests are run by the runner whose report counts")
_NETWORK = Judgement("denied", "there is no network in the workspace")
_PACKAGES = Judgement("denied", "packages are not installed by hand; name them in packages.txt, one a line")
_RIGHTS = Judgement("denied", "nothing in the workspace needs the rights of another user")
_VARIABLES = Judgement("denied", "environment variables are not shown")
_UNREAD = Judgement("denied", "what it runs cannot be read from the command; write it into a file first")
_TOO_LONG = Judgement("denied", "the program that it runs is too long to be read; split it")
_LONGEST_SCRIPT = 50_000
"""The number of characters of a script that are read."""

_DEEPEST = 8
"""The maximum depth of commands within commands."""

_RANK: dict[ToolClass, int] = {"safe": 0, "intercepted": 1, "denied": 2}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _table(*rows: tuple[Judgement, str]) -> dict[str, Judgement]:
    return {name: judgement for judgement, names in rows for name in _names(names)}


_KNOWN = _table(
    (_TESTS, "pytest py.test tox nox unittest _pytest"),
    (
        _NETWORK,
        "curl wget nc ncat socat telnet ssh scp sftp rsync ftp ping dig nslookup gh aws gcloud gsutil az docker",
    ),
    (_NETWORK, "podman kubectl http.server"),
    (
        _PACKAGES,
        "pip pip3 pipx uv uvx poetry pdm conda mamba apt apt-get dpkg yum dnf apk brew npm npx yarn pnpm cargo",
    ),
    (_PACKAGES, "gem go ensurepip"),
    (_RIGHTS, "sudo su doas pkexec runuser chroot unshare nsenter mount umount systemctl service crontab"),
    (_VARIABLES, "printenv"),
    (_UNREAD, "vi vim nano emacs source . alias trap"),
    (
        _SAFE,
        ": [ [[ awk base64 basename bc break cat cd chmod cksum clear cmp column comm continue cp cut date declare",
    ),
    (
        _SAFE,
        "df diff dir dirname du echo egrep exit export expr false fgrep file find fmt fold free gawk git grep gzip",
    ),
    (
        _SAFE,
        "gunzip head hexdump hostname id install join jobs jq kill let ln local ls md5sum mkdir mktemp mv nl nproc",
    ),
    (
        _SAFE,
        "od paste patch perl popd printf ps pushd pwd read readlink readonly realpath return rev rg rm rmdir sed seq",
    ),
    (_SAFE, "set sha256sum shift shuf sleep sort split sqlite3 stat strings tac tail tar tee test touch tr tree true"),
    (_SAFE, "truncate type typeset uname unexpand uniq unset unzip wait wc which whoami xxd yes zcat zip"),
    (_SAFE, "black flake8 isort mypy pyflakes pylint ruff"),
)
"""The class of a command by its name; of `python -m`, by the module's. Any other command is denied."""

_KEYWORDS = _names("if then else elif fi do done while until ! { } time esac coproc function")
_NAMES_WORDS = _names("for select case in")
_WRAPPERS = _names("env timeout nice ionice stdbuf exec nohup setsid command builtin xargs")
_SHELLS = _names("sh bash dash zsh ksh")
_FILTERS = _names("cd echo tail head grep cat tee true : set")
_LISTS_VARIABLES = _names("env set export declare typeset readonly")
_SAYS_WORDS = _names("echo printf tr expr")
_HAS_A_PROGRAM = _names("grep egrep fgrep rg sed awk gawk perl")
_RUNNERS = _names(
    "conftest.py pytest.ini .pytest.ini pytest.toml tox.ini setup.cfg pyproject.toml pytest.py _pytest pluggy.py "
    "sitecustomize.py usercustomize.py .coveragerc"
)
"""Files that configure pytest and could change how tests run."""

_PYTHON = re.compile(r"(?:python|pypy|ipython)[\d.]*")
_IN_PYTHON = {
    re.compile(
        r"\bpytest\b.{0,80}\bmain\b|\bunittest\.main\b|(?:import|from) tests\b|\btest_\w+\(\)$", re.MULTILINE
    ): _TESTS,
    re.compile(r"""(?:system|run\w{0,20}|exec|open|import_module)\(.{0,80}["'](?:pytest|tests(?:\.py)?)["']"""): _TESTS,
    re.compile(r"\b(?:urllib\.request|requests\.\w+\(|httpx|aiohttp|import socket|from socket)\b"): _NETWORK,
    re.compile(r"\benviron\b(?!\[|\.get|\.setdefault)"): _VARIABLES,
}
_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_LITERAL = re.compile(r"""["']([^"'\n]+)["']""")
_ELSEWHERE = re.compile(r"~/|/(?:etc|proc|sys|home|root|dev|var|usr|opt|mnt)/")
_SUBSTITUTION = re.compile(r"[$<>]\(([^()]*)\)|`([^`]*)`")
_FUNCTION = re.compile(r"\b(\w+)[ \t]*\([ \t]*\)|\bfunction[ \t]+(\w+)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_SECRET = re.compile(r"\$\{?!?\w*(?:KEY|TOKEN|SECRET|PASSW|CREDENTIAL)", re.IGNORECASE)
_HOME = re.compile(r"\$\{?(?:HOME|OLDPWD|TMPDIR)\b")
_SURELY_A_PATH = re.compile(r"~/|/(?:etc|proc|sys|home|root|dev|var|usr|tmp)\b|\.\./|-|\w+=")
_HARMLESS_DEVICES = frozenset(("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero"))


def classify(tool: str, arguments: Mapping[str, object], files: Mapping[str, bytes]) -> Judgement:
    """Classify one call. `files` is the workspace before it."""
    if tool == "Bash":
        return classify_command(str(arguments.get("command") or ""), files)
    if tool not in ("Read", "Write", "Edit"):
        return Judgement("denied", "there is no such tool")
    try:
        path = confined(arguments.get("file_path"))
    except NotConfined as error:
        return Judgement("denied", str(error))
    does = "reads in the workspace" if tool == "Read" else "writes in the workspace"
    return _worst([Judgement("safe", does), _runners_file(path)])


def classify_command(text: str, files: Mapping[str, bytes] | None = None) -> Judgement:
    """Classify a shell command; the worst class of its commands counts."""
    if len(text) > LONGEST_COMMAND:
        return Judgement("denied", f"a command has {LONGEST_COMMAND:,} characters at most")
    line = _CommandLine(files or {})
    try:
        judgement = line.judge(text)
    except ValueError as error:  # of shlex
        return Judgement("denied", f"it cannot be read as a command: {error}")
    if judgement == _TESTS and line.others:
        return Judgement("intercepted", f"{_TESTS.reason}; {OTHERS_NOT_RUN}")
    return judgement


class _CommandLine:
    """The commands of one line. `others` tells whether one of them does more than filter what the tests print."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.others = False
        self._files = files
        self._room = 4 * _LONGEST_SCRIPT
        self._functions = set[str]()
        self._written = set[str]()
        self._document: str | None = None

    def judge(self, text: str, depth: int = 0) -> Judgement:
        self._room -= len(text)
        if depth > _DEEPEST or self._room < 0:
            return _UNREAD
        text = self._without_documents(text.replace("\r\n", "\n").replace("\\\n", ""))
        self._functions |= {one or other for one, other in _FUNCTION.findall(text)}
        judgements = [self._command(*command, depth) for command in _commands(text)]
        unquoted = re.sub(r"'[^']*'", "''", text)
        inner = [one or other for one, other in _SUBSTITUTION.findall(unquoted)]
        return _worst([*judgements, *(self.judge(one, depth + 1) for one in inner)])

    def _without_documents(self, text: str) -> str:
        """Take the here-documents out of a text; the last one is kept as what a command of the line may run."""
        kept, document, ends = list[str](), list[str](), list[str]()
        for line in text.split("\n"):
            if ends and line.lstrip("\t") != ends[0]:
                document.append(line)
            elif ends:
                self._document, document = "\n".join(document), []
                ends.pop(0)
            else:
                ends = [found[2] for found in _DOCUMENT.finditer(line)]
                kept.append(_DOCUMENT.sub("", line))
        if ends:
            raise ValueError("a here-document without an end")
        return "\n".join(kept)

    def _command(self, words: list[str], targets: list[str], depth: int) -> Judgement:
        paths = _worst(_path(target) for target in targets)
        self._written |= {target.removeprefix("./") for target in targets}
        self.others |= any(not target.startswith("/dev/") for target in targets)
        start = 0
        while start < len(words) and (words[start] in _KEYWORDS or _ASSIGNMENT.match(words[start])):
            start += 2 if words[start] == "function" else 1
        words = words[start:]
        if not words or words[0] in _NAMES_WORDS:
            return paths
        name = PurePosixPath(words[0]).name
        judgement = self._named(name, words[0], words[1:], depth)
        self.others |= name not in _FILTERS and judgement == _SAFE
        return _worst([judgement, paths, *_paths(name, words[1:])])

    def _named(self, name: str, path: str, arguments: list[str], depth: int) -> Judgement:
        """Classify a command by its name, or by the command or program that it runs."""
        if depth > _DEEPEST or path.startswith(("$", "`")) or any(sign in path for sign in "*?{"):
            return _UNREAD
        if name in _WRAPPERS and (rest := _wrapped(arguments)):
            return _SAFE if arguments[0] in ("-v", "-V") else self._command(rest, [], depth + 1)
        if name in _LISTS_VARIABLES and {*arguments} <= {"-p", "-x"}:
            return _VARIABLES
        if name == "eval":
            return self.judge(" ".join(arguments), depth + 1)
        if name in _SHELLS:
            program = _after(arguments, "c")
            return self.judge(program, depth + 1) if program else self._script(arguments, depth)
        if _PYTHON.fullmatch(name) or name == "coverage":
            return self._python(arguments, depth)
        if name == "git" and {*arguments} & {"clone", "fetch", "pull", "push", "submodule"}:
            return _NETWORK
        if name.startswith("pip") and {*arguments[:1]} & {"list", "show", "freeze", "check", "--version"}:
            return _SAFE
        if name == "find" and "-exec" in arguments:
            return self._command(arguments[arguments.index("-exec") + 1 :], [], depth + 1)
        if "/" in path and name not in _KNOWN:
            return _worst([_path(path), self._script([path], depth)])
        return _SAFE if name in self._functions else _KNOWN.get(name) or _unknown(name)

    def _python(self, arguments: list[str], depth: int) -> Judgement:
        if module := _after(arguments, "m"):
            rest = arguments[arguments.index(module) + 1 :] if module in arguments else []
            if module in ("cProfile", "pdb", "trace", "coverage"):
                return self._named("python", "python", rest, depth + 1)
            known = module if module in _KNOWN else module.partition(".")[0]
            script = module.replace(".", "/") + ".py"
            if known in _KNOWN or script not in self._files:
                return self._named(known, known, rest, depth + 1) if known in _KNOWN else _SAFE
            return self._script([script], depth, python=True)
        program = _after(arguments, "c")
        return self._source(program) if program else self._script(arguments, depth, python=True)

    def _script(self, arguments: list[str], depth: int, *, python: bool = False) -> Judgement:
        """Classify a file of the workspace, or a here-document, that is run."""
        name = next((one.removeprefix("./") for one in arguments if not one.startswith("-") and "." in one), "")
        source = self._files[name].decode("utf-8", "replace") if name in self._files else None
        if name in self._written or (source is None and not name):
            source = self._document
        if source is None:
            return _SAFE if {*arguments} & {"-V", "--version", "-h", "--help"} else _UNREAD
        if len(source) > _LONGEST_SCRIPT:
            return _TOO_LONG
        is_shell = re.match(r"#!.*sh\b", source) or not (python or name.endswith(".py"))
        return self.judge(source, depth + 1) if is_shell else self._source(source)

    def _source(self, source: str) -> Judgement:
        """Classify a Python program by what stands in it."""
        literals = [one for one in _LITERAL.findall(source) if _ELSEWHERE.match(one) or one in _RUNNERS]
        named = [judgement for pattern, judgement in _IN_PYTHON.items() if pattern.search(source)]
        return _worst([*named, *map(_path, literals)])


def _commands(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """The simple commands of a text: the words of each, and the files that it is redirected from or to."""
    reader = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>\n`")
    reader.whitespace, reader.whitespace_split = " \t", True
    words, targets, redirect = list[str](), list[str](), ""
    for word in reader:
        if not word or set(word) - set(";&|()<>\n`"):
            if not redirect:
                words.append(word)
            elif not ("&" in redirect and word.isdigit()):
                targets.append(word)
            redirect = ""
        elif "(" not in word and ("<" in word or ">" in word):
            redirect = word
        else:
            yield words, targets
            words, targets, redirect = [], [], ""
    yield words, targets


def _wrapped(arguments: list[str]) -> list[str]:
    """The command that a wrapper such as `timeout -k 5 60` runs: from the first known name, or after the options."""
    found = [place for place, word in enumerate(arguments) if word in _KNOWN or _PYTHON.fullmatch(word)]
    found += [
        place
        for place, word in enumerate(arguments)
        if not (word.startswith("-") or _ASSIGNMENT.match(word) or re.fullmatch(r"[\d.]+[smhd]?", word))
    ]
    return arguments[found[0] :] if found else []


def _after(arguments: list[str], letter: str) -> str:
    """The value of an option such as `-c`, which may stand behind others (`-lc`) or before its value (`-mpytest`)."""
    for place, word in enumerate(arguments):
        if found := re.fullmatch(rf"-[A-Za-z]*?{letter}(.*)", word, re.DOTALL):
            return found[1] or "".join(arguments[place + 1 : place + 2])
        if not word.startswith("-") and word.endswith(".py"):
            break
    return ""


def _paths(name: str, arguments: list[str]) -> Iterator[Judgement]:
    for word in arguments:
        found = _path(word)
        is_a_path = name not in _SAYS_WORDS and (name not in _HAS_A_PROGRAM or _SURELY_A_PATH.match(word))
        if (is_a_path and " " not in word) or found == _VARIABLES:
            yield found


def _path(word: str) -> Judgement:
    """Judge a word that may be a path."""
    path = word.partition("=")[2] or word if word.startswith("-") or _ASSIGNMENT.match(word) else word
    if "/dev/tcp/" in path or "/dev/udp/" in path or "://" in path:
        return _NETWORK
    if _SECRET.search(path):
        return _VARIABLES
    leads_out = path.startswith(("/", "~")) or ".." in PurePosixPath(path).parts or _HOME.search(path)
    if leads_out and path not in _HARMLESS_DEVICES:
        return Judgement("denied", f"{visible(path[:100])} is outside of the workspace; paths are relative to it")
    return _runners_file(path)


def _runners_file(path: str) -> Judgement:
    """Judge a file by its name: denied if it would change how tests are run."""
    name = next((part for part in PurePosixPath(path).parts if part in _RUNNERS), "")
    name = name or (PurePosixPath(path).name if path.endswith(".pth") else "")
    return Judgement("denied", f"{visible(name)} would change how tests are run") if name else _SAFE


def _unknown(name: str) -> Judgement:
    return Judgement("denied", f"{visible(name[:100])} is not known here, and could start other programs; use Python")


def _worst(judgements: Iterable[Judgement]) -> Judgement:
    """The worst of several; the first of equally bad ones."""
    return max(judgements, key=lambda one: _RANK[one.kind], default=_SAFE)
