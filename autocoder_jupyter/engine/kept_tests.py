"""The suite of a refined version: the kept tests of the earlier version, unchanged, and the new tests below them.

The expectations of a kept test never change. If the function now returns other outputs, the kept tests call it through
a small wrapper that returns the earlier outputs, so that no model has to rewrite their calls.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from autocoder_jupyter.engine.interface import FUNCTION
from autocoder_jupyter.engine.patches import test_spans
from autocoder_jupyter.engine.tests import TestSuite, read_suite
from autocoder_jupyter.types import InputSpec, OutputSpec
from autocoder_jupyter.untrusted.parsing import parse

_EARLIER = "earlier_run"

_TESTS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def without_tests(source: str, names: Iterable[str]) -> str:
    """A test module without some of its tests. A class that would be empty is removed too.

    Args:
        source: the module.
        names: test ids (`test_x`, `TestC::test_x`).
    """
    module, dropped = parse(source), set(names)
    spans = [span[:2] for name, span in test_spans(module) if name in dropped]
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            ids = {f"{node.name}::{member.name}" for member in node.body if isinstance(member, ast.FunctionDef)}
            if ids & dropped and len(node.body) == len(ids & dropped):
                spans.append((node.lineno, node.end_lineno or node.lineno))
    gone = {number for first, last in spans for number in range(first, last + 1)}
    return "\n".join(line for number, line in enumerate(source.split("\n"), start=1) if number not in gone)


def with_earlier_outputs(source: str, before: Sequence[OutputSpec], now: Sequence[OutputSpec]) -> str:
    """A test module whose calls get the outputs that the function returned before; unchanged if the outputs are.

    Args:
        source: the module; it has `from solution import run`.
        before: the outputs for which it was written.
        now: the current outputs. An output that is no longer there is None.
    """
    names = [output.name for output in now]
    if [output.name for output in before] == names:
        return source
    returned = f"{FUNCTION}(*args, **inputs)" if len(now) > 1 else f"({FUNCTION}(*args, **inputs),)"
    chosen = [f"outputs[{names.index(o.name)}]" if o.name in names else "None" for o in before]
    what = f"the outputs that it had before: {', '.join(o.name for o in before)}"
    return _through(source, what, [f"outputs = {returned}", f"return {', '.join(chosen)}"])


def with_earlier_defaults(source: str, before: Sequence[InputSpec], changed: Collection[str]) -> str:
    """A test module whose calls get the defaults of the inputs for which it was written.

    Args:
        source: the module; it has `from solution import run`.
        before: the inputs for which it was written.
        changed: the names of those whose default is another one now; their types are plain (`str`, `int` …).

    Raises:
        SyntaxError: the module does not parse.
    """
    lines, told = [], []
    for place, spec in enumerate(before):
        if spec.name in changed:
            told.append(f"{spec.name}={spec.default!r}")
            lines += [f"if len(args) <= {place}:", f"    inputs.setdefault({spec.name!r}, {spec.default!r})"]
    if not told:
        return source
    what = f"the defaults that it had before: {', '.join(told)}"
    return _through(source, what, [*lines, f"return {FUNCTION}(*args, **inputs)"])


def _through(source: str, what: str, body: Sequence[str]) -> str:
    """A test module whose calls go through a wrapper of the function.

    Args:
        source: the module.
        what: with what the wrapper calls or returns, for its docstring.
        body: its lines; `args` and `inputs` are its arguments.
    """
    module = parse(source)
    alias = _free_name({node.id for node in ast.walk(module) if isinstance(node, ast.Name)} | defined(module).keys())
    lines = _renamed(source, module, alias).split("\n")
    last_import = max(
        (node.end_lineno or 0 for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)), default=0
    )
    adapter = [
        "",
        "",
        f"def {alias}(*args, **inputs):",
        f"    {_docstring(f'`{FUNCTION}`, with {what}.')}",
        *(f"    {line}" for line in body),
    ]
    return "\n".join([*lines[:last_import], *adapter, *lines[last_import:]])


def _docstring(text: str) -> str:
    """A docstring of plain text. A default may contain any characters."""
    plain = text.isprintable() and not {'"', "\\"} & set(text)
    return f'"""{text}"""' if plain else repr(text)


def _free_name(taken: Iterable[str]) -> str:
    names, number = set(taken), 1
    while (name := _EARLIER if number == 1 else f"{_EARLIER}_{number}") in names:
        number += 1
    return name


def _renamed(source: str, module: ast.Module, alias: str) -> str:
    """The text with the function renamed at every use. Columns of a syntax tree count bytes."""
    lines = [line.encode() for line in source.split("\n")]
    uses = [node for node in ast.walk(module) if isinstance(node, ast.Name) and node.id == FUNCTION]
    for use in sorted(uses, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        line, begin = lines[use.lineno - 1], use.col_offset
        if line[begin:].startswith(FUNCTION.encode()):  # inside of an f-string, Python 3.11 tells another place
            lines[use.lineno - 1] = line[:begin] + alias.encode() + line[begin + len(FUNCTION) :]
    return b"\n".join(lines).decode()


def joined(kept: str, added: str) -> TestSuite:
    """One suite of kept and new tests. A new test with the name of a kept one is renamed.

    Raises:
        ValueError: another name has two meanings; the message is text for the model.
    """
    taken = defined(parse(kept))
    added = _with_free_names(added, taken)
    new = defined(parse(added))
    clashes = sorted(name for name, what in new.items() if name in taken and (what != taken[name] or not what))
    if clashes:
        raise ValueError(f"The tests that stay use these names already: {', '.join(clashes)}. Choose others.")
    return read_suite(f"{kept.rstrip()}\n\n\n{_without_future(added).strip()}\n")


def _with_free_names(source: str, taken: Mapping[str, str]) -> str:
    """A module whose tests have no name that is taken. Nothing else refers to the name of a test."""
    module, lines = parse(source), source.split("\n")
    names = {*taken, *defined(module)}
    numbers: Counter[str] = Counter()
    for node in module.body:
        at = node.lineno - 1
        if not isinstance(node, _TESTS) or not node.name.lower().startswith("test") or node.name not in taken:
            continue
        while (name := f"{node.name}_{numbers[node.name] + 2}") in names:
            numbers[node.name] += 1
        names.add(name)
        begin = lines[at].find(node.name, len("def")) if at < len(lines) else -1
        if begin >= 0:
            lines[at] = lines[at][:begin] + name + lines[at][begin + len(node.name) :]
    return "\n".join(lines)


def defined(module: ast.Module) -> Mapping[str, str]:
    """The names that a module binds at its top level: for an import the imported name, else ""."""
    found: dict[str, str] = {}
    for node in module.body:
        if isinstance(node, ast.Import):
            found.update({_bound(alias): f"import {alias.name}" for alias in node.names})
        elif isinstance(node, ast.ImportFrom):
            found.update({_bound(alias): f"from {node.module} import {alias.name}" for alias in node.names})
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = ""
        else:
            names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
            found.update({name.id: "" for name in names if isinstance(name.ctx, ast.Store)})
    return found


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _without_future(source: str) -> str:
    """A module without its `from __future__` imports, so that it can stand below another module."""
    future = [n for n in parse(source).body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    gone = {number for node in future for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return "\n".join(line for number, line in enumerate(source.split("\n"), start=1) if number not in gone)


def same_test(before: str, now: str, name: str) -> bool:
    """Whether a test is the same in both modules, except for the name of the function that it calls."""
    one, other = _body_of(before, name), _body_of(now, name)
    return one is not None and one == other


def _body_of(source: str, name: str) -> str | None:
    group, _, function = name.rpartition("::")
    scopes: list[ast.Module | ast.ClassDef] = [parse(source)]
    if group:
        scopes = [node for node in scopes[0].body if isinstance(node, ast.ClassDef) and node.name == group]
    found = [
        node
        for scope in scopes
        for node in scope.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function
    ]
    if not found:
        return None
    test = copy.deepcopy(found[-1])
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and (node.id == FUNCTION or node.id.startswith(_EARLIER)):
            node.id = FUNCTION
    return ast.dump(test)
