"""The class of a tool call of an agent: safe, intercepted because it would run tests, or denied; and why.

Each command of a line counts, wherever it stands, and the line gets the worst class. This informs the user, and tells
the agent early what cannot work. It is not a security boundary: calls that are classed as safe run in a sandbox, where
nothing that is denied here would succeed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from autocoder_jupyter.engines.claude.shell import (
    DEEPEST,
    EVALUATES_ITS_WORDS,
    FILTERS,
    GIT_IS_INERT,
    GIT_REACHES_OUT,
    HAS_A_PATTERN,
    INERT,
    INERT_MODULES,
    KEYWORDS,
    KNOWN,
    LISTS_VARIABLES,
    LOOKS_AT_PACKAGES,
    NAMES_A_PROGRAM,
    NAMES_WORDS,
    NETWORK,
    OTHERS_NOT_RUN,
    PYTHON,
    RUN_MODULES,
    SAFE,
    SAYS_WORDS,
    SHELLS,
    STARTS_COMMANDS,
    TESTS,
    TOO_LONG,
    UNREAD,
    VARIABLES,
    WRAPPERS,
    Command,
    Judgement,
    UnreadableCommand,
    Word,
    commands,
    outside,
    path_in_a_command,
    runners_file,
    unknown,
    worst,
)
from autocoder_jupyter.sandbox.workspace.workspace import LONGEST_COMMAND, NotConfined, confined
from autocoder_jupyter.untrusted.parsing import TooLong, parse

# Python programs

_STARTS_A_SHELL = re.compile(r"os\.(?:system|popen)|subprocess\.get(?:status)?output")
_STARTS_A_COMMAND = re.compile(
    r"subprocess\.(?:run|call|check_call|check_output|Popen)|os\.(?:exec|spawn|posix_spawn)\w*|pty\.spawn"
    r"|asyncio\.(?:subprocess\.)?create_subprocess_\w+"
)
_STARTS_PROGRAMS = frozenset(("os", "subprocess", "pty"))
_RUNS_TESTS = re.compile(r"_?pytest\.(?:main|console_main|config\.main)|unittest\.main|(?:\w+\.)*test_\w*")
_RUNS_WHAT_IT_NAMES = re.compile(r"exec|runpy\.run_(?:module|path)|importlib\.import_module|__import__")
_NAMES_OF_TESTS = frozenset(("pytest", "tests", "tests.py"))
_REACHES_OUT = re.compile(
    r"urllib\.request\.\w+|(?:requests|httpx)\.(?:get|post|put|patch|delete|head|request|Session|Client)"
    r"|socket\.(?:socket|create_connection|getaddrinfo|gethostbyname)|http\.client\.HTTPS?Connection"
    r"|(?:ftplib|smtplib|telnetlib|imaplib|poplib)\.\w+|aiohttp\.\w+|asyncio\.open_connection"
)
_ELSEWHERE = re.compile(r"~/\S+|/(?:etc|proc|sys|home|root|dev|var|usr|opt|mnt|srv|run|Users)/\S*")

Shell = Callable[[str], Judgement]
"""Classifies a shell command."""


def judge(source: str, shell: Shell) -> Judgement:
    """Judge a module by its calls and names. One that does not parse is safe: it does nothing."""
    try:
        tree = parse(source)
    except TooLong:
        return TOO_LONG
    except SyntaxError:
        return SAFE
    names = _imported(tree)
    return worst(_of_node(node, names, shell) for node in ast.walk(tree))


def _of_node(node: ast.AST, names: dict[str, str], shell: Shell) -> Judgement:
    if isinstance(node, ast.Call):
        return _of_call(node, _name_of(node.func, names), shell)
    if isinstance(node, ast.Import | ast.ImportFrom):
        if isinstance(node, ast.ImportFrom) and node.module in _STARTS_PROGRAMS and node.names[0].name == "*":
            return UNREAD
        return TESTS if any(whole.partition(".")[0] == "tests" for _, whole in _of_import(node)) else SAFE
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return outside(node.value) if _ELSEWHERE.fullmatch(node.value) else runners_file(node.value)
    return VARIABLES if _is_all_variables(node, names) else SAFE


def _of_call(call: ast.Call, name: str, shell: Shell) -> Judgement:
    if _RUNS_TESTS.fullmatch(name) or (_RUNS_WHAT_IT_NAMES.fullmatch(name) and _names_tests(call)):
        return TESTS
    if _REACHES_OUT.fullmatch(name):
        return NETWORK
    if name in ("dict", "print", "repr", "str", "list", "json.dumps") and call.args:
        return worst(VARIABLES for value in call.args if _name_of(value, {}) == "os.environ")
    if _STARTS_A_SHELL.fullmatch(name) or _STARTS_A_COMMAND.fullmatch(name):
        text = _first_text(call)
        return shell(text) if text else UNREAD
    if name == "getattr" and call.args and _name_of(call.args[0], {}) in _STARTS_PROGRAMS:
        return UNREAD
    if name in ("exec", "eval") and (text := _first_text(call)):
        return judge(text, shell)
    return SAFE


def _is_all_variables(node: ast.AST, names: dict[str, str]) -> bool:
    """Whether code reads all environment variables at once, by iteration or by a method of the mapping."""
    if isinstance(node, ast.For | ast.comprehension):
        return _name_of(node.iter, names) == "os.environ"
    if isinstance(node, ast.Attribute) and node.attr in ("items", "values", "keys", "copy"):
        return _name_of(node.value, names) == "os.environ"
    if isinstance(node, ast.FormattedValue | ast.Dict):
        values = [node.value] if isinstance(node, ast.FormattedValue) else node.values
        return any(_name_of(value, names) == "os.environ" for value in values)
    return False


def _first_text(call: ast.Call) -> str:
    """The first argument as a command: a string, or a list of words. "" if it is not known; "'?'" for such a word."""
    first = next(iter([*call.args, *(keyword.value for keyword in call.keywords)]), None)
    if isinstance(first, ast.List | ast.Tuple):
        return " ".join(_quoted(word) for word in first.elts)
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _names_tests(call: ast.Call) -> bool:
    return any(isinstance(node, ast.Constant) and node.value in _NAMES_OF_TESTS for node in ast.walk(call))


def _quoted(word: ast.expr) -> str:
    if isinstance(word, ast.Constant):
        return "'" + str(word.value).replace("'", "'\\''") + "'"
    return "python" if _name_of(word, {}) == "sys.executable" else "'?'"


def _imported(tree: ast.Module) -> dict[str, str]:
    """The imported objects by the names that a module gives them."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return {name: whole for node in imports for name, whole in _of_import(node) if name != whole}


def _of_import(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import binds, with the full names of the objects."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        else:
            yield (alias.asname, alias.name) if alias.asname else (alias.name, alias.name)


def _name_of(node: ast.expr | None, names: dict[str, str]) -> str:
    """The full dotted name of an expression, with imports resolved; "" for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Call) and _name_of(node.func, {}) == "__import__":
        return ".".join([_first_text(node), *parts])
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([names.get(node.id, node.id), *parts])


# Tool calls

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_RUN_LATER = re.compile(r"\$\{[^}]*@[PA]")
"""An expansion that is read as a command."""

_DURATION = re.compile(r"[\d.]+[smhd]?")
_SURELY_A_PATH = re.compile(r"~/|/(?:etc|proc|sys|home|root|dev|var|usr|tmp)\b|\.\./|-|\w+=")
_LONGEST_SCRIPT = 50_000
"""The number of characters of a script that are read."""


def classify(tool: str, arguments: Mapping[str, object], files: Mapping[str, bytes]) -> Judgement:
    """Classify one call."""
    if tool == "Bash":
        return classify_command(str(arguments.get("command") or ""), files)
    if tool not in ("Read", "Write", "Edit"):
        return Judgement("denied", "there is no such tool")
    try:
        path = confined(arguments.get("file_path"))
    except NotConfined as error:
        return Judgement("denied", str(error))
    does = "reads in the workspace" if tool == "Read" else "writes in the workspace"
    return worst([Judgement("safe", does), runners_file(path)])


def classify_command(text: str, files: Mapping[str, bytes] | None = None) -> Judgement:
    """Classify a shell command; see `classify`."""
    if len(text) > LONGEST_COMMAND:
        return Judgement("denied", f"a command has {LONGEST_COMMAND:,} characters at most")
    judge = _Judge(files or {})
    judgement = judge.text(text)
    if judgement == TESTS and judge.others:
        return Judgement("intercepted", f"{TESTS.reason}; {OTHERS_NOT_RUN}")
    return judgement


class _Judge:
    """Classifies the commands of one line, which may write a script and run it."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.others = False
        self._files = files
        self._written: dict[str, str] = {}
        self._functions: set[str] = set()
        self._depth = 0

    def text(self, text: str) -> Judgement:
        """Classify a text as a shell reads it."""
        if self._depth > DEEPEST:
            return UNREAD
        self._depth += 1
        try:
            return worst([self._command(command) for command in commands(text)])
        except UnreadableCommand as error:
            return Judgement("denied", f"it cannot be read as a command: {error}")
        finally:
            self._depth -= 1

    def _command(self, command: Command) -> Judgement:
        if command.document is not None:
            self._written |= {file.text.removeprefix("./"): command.document for file in command.files}
        targets = [path_in_a_command(file.text) for file in command.files]
        self.others |= any(not file.text.startswith("/dev/") for file in command.files)
        return worst([*targets, self._words(command.words, command)])

    def _words(self, words: Sequence[Word], command: Command) -> Judgement:
        if any(_RUN_LATER.search(word.text) for word in words):
            return UNREAD
        while words and words[0].text in KEYWORDS and not words[0].computed:
            words = words[1:]
        if words and words[0].text in EVALUATES_ITS_WORDS and any(word.hides for word in words):
            return UNREAD
        if not words or words[0].text in NAMES_WORDS:
            return SAFE
        while words and _ASSIGNMENT.match(words[0].text):
            if words[0].hides or NAMES_A_PROGRAM.match(words[0].text):
                return UNREAD
            words = words[1:]
        if not words:
            return SAFE
        if words[0].computed:
            return UNREAD
        if command.defines:
            self._functions.add(words[0].text)
            return SAFE
        path, arguments = words[0].text, words[1:]
        name = PurePosixPath(path).name or path
        if "/" in path and not re.fullmatch(r"/(?:usr/)?(?:local/)?s?bin/[^/]+", path):
            return worst([path_in_a_command(path), self._script(path)])
        if path == "function" and arguments:
            self._functions.add(arguments[0].text)
            return self._words(arguments[1:], command)
        judgement = self._named(name, arguments, command)
        self.others |= name not in FILTERS and judgement == SAFE
        return judgement

    def _named(self, name: str, arguments: Sequence[Word], command: Command) -> Judgement:
        texts = [word.text for word in arguments]
        if any(NAMES_A_PROGRAM.match(word) for word in texts) and name in ("env", *LISTS_VARIABLES):
            return UNREAD
        if name in WRAPPERS:
            return self._wrapped(name, arguments, command)
        if name.startswith("pip") and {*texts[:1]} & LOOKS_AT_PACKAGES:
            return SAFE
        if name in KNOWN:
            return worst([KNOWN[name], *_paths(name, arguments)])
        if (name == "git" and GIT_REACHES_OUT & {*texts}) or (name, *texts[:1]) == ("openssl", "s_client"):
            return NETWORK
        if (name in LISTS_VARIABLES and {*texts} <= {"-p", "-x"}) or (name, *texts) == ("compgen", "-v"):
            return VARIABLES
        return worst([*_paths(name, arguments), self._started(name, texts, command)])

    def _started(self, name: str, texts: list[str], command: Command) -> Judgement:
        """Classify the program that a command starts because of its arguments or its input."""
        if name in SHELLS:
            return self._shell(texts, command)
        if PYTHON.fullmatch(name):
            return self._python(texts, command)
        if name == "coverage":
            return self._python(_after_options(texts), command)
        if name == "eval":
            return self.text(" ".join(texts))
        if name in ("source", ".") and texts:
            return self._script(texts[0], shell=True)
        if name == "trap" and texts:
            return self.text(texts[0])
        if name == "alias":
            return worst([self.text(word.partition("=")[2]) for word in texts])
        if name == "find":
            return worst([self._words([*map(Word, part)], command) for part in _executed(texts)])
        if name not in INERT:
            return SAFE if name in self._functions else unknown(name)
        if name == "git" and not GIT_IS_INERT.fullmatch(next(iter(texts), "help")):
            return unknown(" ".join([name, *texts[:1]]))
        pattern = STARTS_COMMANDS.get(name)
        if pattern and any(pattern.search(text) for word in texts for text in (word, self._content(word) or "")):
            return Judgement("denied", f"{name} starts other programs here; run them by themselves")
        return SAFE

    def _wrapped(self, name: str, arguments: Sequence[Word], command: Command) -> Judgement:
        rest = list(arguments)
        while rest and rest[0].text.startswith("-"):
            option = rest.pop(0).text
            if name == "command" and option in ("-v", "-V"):
                return SAFE
            if name == "env" and option in ("-S", "--split-string") and rest:
                return self.text(" ".join(word.text for word in rest))
            if option in WRAPPERS[name] and rest:
                rest.pop(0)
        while rest and name == "env" and _ASSIGNMENT.match(rest[0].text):
            rest.pop(0)
        if rest and name == "timeout" and _DURATION.fullmatch(rest[0].text):
            rest.pop(0)
        if not rest:
            return VARIABLES if name == "env" else SAFE
        piped = Command(document=command.document, piped=command.piped or name in ("xargs", "parallel"))
        return self._words(rest, piped)

    def _shell(self, texts: list[str], command: Command) -> Judgement:
        for place, word in enumerate(texts):
            if not word.startswith(("-", "+")):
                return self._script(word, shell=True)
            if word.startswith(("--rcfile", "--init-file")):
                return UNREAD
            if re.fullmatch(r"-\w*c", word):
                return self.text(texts[place + 1]) if place + 1 < len(texts) else UNREAD
            if word == "--version":
                return SAFE
        return UNREAD if command.document is None else self.text(command.document)

    def _python(self, texts: list[str], command: Command) -> Judgement:
        rest = list(texts)
        while rest:
            word = rest.pop(0)
            if found := re.fullmatch(r"-[a-zA-Z]*?([cm])(.*)", word, re.DOTALL):
                what = found[2] or (rest.pop(0) if rest else "")
                return self._source(what) if found[1] == "c" else self._module(what, rest, command)
            if word in ("-W", "-X") and rest:
                rest.pop(0)
            elif word in ("-V", "--version", "-h", "--help"):
                return SAFE
            elif word == "-" or not word.startswith("-"):
                return self._from_input(command) if word == "-" else self._script(word)
        return self._from_input(command)

    def _module(self, name: str, rest: list[str], command: Command) -> Judgement:
        top = name.partition(".")[0]
        if top in ("pytest", "_pytest", "unittest", "tox", "nox"):
            return TESTS
        if top in ("pip", "ensurepip", "uv", "pipx", "conda"):
            return self._named("pip" if top == "pip" else "uv", [*map(Word, rest)], command)
        if name in ("http.server", "webbrowser", "smtpd", "ftplib", "telnetlib"):
            return NETWORK
        if top in RUN_MODULES:
            return self._python(_after_options(rest), command)
        if top in INERT_MODULES:
            return SAFE
        path = name.replace(".", "/")
        return self._script(next((one for one in (f"{path}/__main__.py",) if one in self._files), f"{path}.py"))

    def _from_input(self, command: Command) -> Judgement:
        return UNREAD if command.document is None else self._source(command.document)

    def _source(self, source: str) -> Judgement:
        return judge(source, self.text)

    def _script(self, path: str, *, shell: bool = False) -> Judgement:
        """Classify a file of the workspace that is run."""
        path = path.removeprefix("./")
        if path not in self._written and len(self._files.get(path, b"")) > _LONGEST_SCRIPT:
            return TOO_LONG
        content = self._content(path)
        if content is None:
            return UNREAD  # missing, or made on this line
        if shell or re.match(r"#!.*\b(?:ba|da|z)?sh\b", content):
            return self.text(content)
        return self._source(content)

    def _content(self, path: str) -> str | None:
        if path in self._written or path not in self._files:
            return self._written.get(path)
        return self._files[path].decode("utf-8", "replace")


def _after_options(texts: list[str]) -> list[str]:
    """The module or the first script that a profiler or debugger runs."""
    return texts[texts.index("-m") :] if "-m" in texts else [word for word in texts if word.endswith(".py")]


def _executed(texts: list[str]) -> Iterator[list[str]]:
    """The commands that `find` runs."""
    for place, word in enumerate(texts):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = texts[place + 1 :]
            yield rest[: next((end for end, one in enumerate(rest) if one in (";", "+")), len(rest))]


def _paths(name: str, arguments: Sequence[Word]) -> Iterator[Judgement]:
    """The class of each argument that may be a path."""
    for word in arguments:
        found = path_in_a_command(word.text)
        is_a_path = name not in SAYS_WORDS and (name not in HAS_A_PATTERN or _SURELY_A_PATH.match(word.text))
        if is_a_path or found == VARIABLES:
            yield found
