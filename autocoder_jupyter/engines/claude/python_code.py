"""Classifies a call that runs a Python program by the program's source."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from autocoder_jupyter.engines.claude.judgement import (
    NETWORK,
    SAFE,
    TESTS,
    TOO_LONG,
    UNREAD,
    VARIABLES,
    Judgement,
    outside,
    runners_file,
    worst,
)
from autocoder_jupyter.untrusted.parsing import TooLong, parse

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
