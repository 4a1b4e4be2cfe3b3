"""The tests: reading a suite, the question for one, and the tests that a refined version keeps.

They are written from the request, the data and the signature, without the solution.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeGuard

from pydantic import BaseModel, Field

from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.prompt import FUNCTION, Brief, block, extended, how_it_comes_back
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.answers import HELP_FOR_SMALL_MODELS
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.sandbox.protocol import Environment, Program, TestSpec, Worker
from autocoder_jupyter.types import BLIND, CodePlan, InputSpec, OutputSpec, TestChoice
from autocoder_jupyter.untrusted.parsing import TESTS, TooLong, parse

# Suites

PROPERTY = "property_"
"""The beginning of the names of properties; see `engine.evidence.properties`."""


@dataclass(frozen=True)
class TestSuite:
    """The source of the tests, and by id the sentence that each test checks.

    `blind` contains further tests, by a model that saw neither the code nor the first tests. It is a separate module
    that runs in separate processes, so that the first module cannot influence it.
    """

    __test__ = False

    source: str
    sentences: dict[str, str]
    blind: TestSuite | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the test functions, in order: `test_x`, `TestC::test_x`."""
        return tuple(self.sentences)

    @property
    def modules(self) -> tuple[TestSuite, ...]:
        """The first module, and the module of the blind tests if there is one."""
        return (self, self.blind) if self.blind else (self,)

    @property
    def all_ids(self) -> tuple[str, ...]:
        """The ids of both modules. Those of blind tests are marked."""
        return (*self.ids, *map(blind_id, self.blind.ids if self.blind else ()))


def blind_id(test: str) -> str:
    """The marked id of a blind test."""
    return f"{BLIND}{test}"


def read_suites(source: str, blind: str = "") -> TestSuite:
    """Read a module of tests, and one of blind tests if given."""
    return replace(read_suite(source), blind=read_suite(blind)) if blind else read_suite(source)


def with_tests(suite: TestSuite, written: str) -> TestSuite:
    """A suite with further tests at its end; if it has blind tests, at the end of these."""
    if suite.blind is not None:
        return replace(suite, blind=with_tests(suite.blind, written))
    return read_suite(f"{suite.source.rstrip()}\n\n\n{written}")


def read_suite(source: str) -> TestSuite:
    """Find the tests in a module by pytest's default rules, without running it.

    Raises:
        SyntaxError: it does not parse, or has more than `TESTS` tests.
    """
    sentences: dict[str, str] = {}
    for node in parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            for member in node.body:
                if _is_test(member):
                    sentences[f"{node.name}::{member.name}"] = _sentence(member)
        elif _is_test(node):
            sentences[node.name] = _sentence(node)
    if len(sentences) > TESTS:
        raise TooLong(f"it has {len(sentences):,} tests, at most {TESTS:,} can be run")
    return TestSuite(source, sentences)


def _is_test(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")


def _sentence(node: ast.AST) -> str:
    text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    return (text or "").strip().partition("\n")[0].strip()


def suite_problem(suite: TestSuite) -> str:
    """Why a suite proves nothing, as text for the model; "" if there is no problem."""
    if not suite.ids:
        return "The module holds no test function."
    called = {node.func for node in ast.walk(parse(suite.source)) if isinstance(node, ast.Call)}
    if not any(isinstance(node, ast.Name) and node.id == FUNCTION for node in called):
        return f"No test calls `{FUNCTION}`."
    return ""


def test_spans(module: ast.Module) -> Iterable[tuple[str, tuple[int, int, int]]]:
    """Pairs of test id and (first line, last line, indentation), including decorators. Lines count from 1."""
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}::{member.name}", _span(member)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, _span(node)


def _span(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int, int]:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first, node.end_lineno or node.lineno, node.col_offset


# The question


def tests_messages(brief: Brief) -> Messages:
    """The question for the tests. It must never contain the solution."""
    plan = brief.plan
    by_type = {
        "Figure": how_it_comes_back(plan),
        "File": prompt("tests.file"),
        "Dir": prompt("tests.folder"),
    }
    notes = [by_type[kind] for kind in by_type if any(output.whole == kind for output in plan.outputs)]
    return brief.question(*notes, prompt("tests.write"))


async def write_tests(
    conversation: Conversation,
    brief: Brief,
    *,
    refused: str = "",
    previous: str = "",
    variant: int = 0,
    also: str = "",
    suite_of: Callable[[str], TestSuite] | None = None,
) -> TestSuite:
    """Ask for tests until they can fail.

    Raises:
        UnusableAnswer: no answer had such tests.
    """
    messages = extended(tests_messages(brief), also)
    problem, source = refused, previous
    for refusal in ("tests.refused", "tests.refused", "tests.refused again"):
        if problem:
            messages = (
                *messages,
                {"role": "assistant", "content": f"```python\n{source}\n```"},
                {"role": "user", "content": prompt(refusal, problem=problem)},
            )
        source = await conversation.code("tests", messages, variant=variant)
        problem = suite_problem(read_suite(source))
        if problem:
            continue
        try:
            return (suite_of or read_suite)(source)
        except ValueError as error:
            problem = str(error)
    raise UnusableAnswer(f"The model writes no usable tests. {problem}", hint=HELP_FOR_SMALL_MODELS)


# Stubs
#
# Tests that can fail do so on stubs, which compute nothing. One stub returns empty defaults. If all tests pass on it,
# they prove nothing. A single test may rightly pass on it, because it says that no rows give `[]`. So a test is named
# only if it passes on a stub of other values too.

CAN_FAIL = "the tests can fail"

VACUOUS = "Every test also passes on a function that only returns empty defaults, so they prove nothing."
"""The failure, as text for the model."""

_Ids = tuple[str, ...]


def stub_program(plan: CodePlan, program: Program, *, is_empty: bool = True) -> Program:
    """A program with the same interface that only returns values of the right types, empty ones or others."""
    outputs = [(output.type, [(column.name, column.dtype) for column in output.columns]) for output in plan.outputs]
    code = program_text("stub", OUTPUTS=outputs, IS_EMPTY=is_empty)
    return replace(program, code=code)


class StubRuns:
    """The tests of one generation on stubs. The same tests run once in an environment."""

    def __init__(self, session: SandboxSession, plan: CodePlan) -> None:
        self._session = session
        self._plan = plan
        self._known: dict[tuple[Environment | None, str], tuple[_Ids, _Ids]] = {}

    async def passing(self, program: Program, suite: TestSuite) -> tuple[_Ids, _Ids]:
        """The tests of one module that pass on empty defaults; and those of them that pass on other values too."""
        key = self._session.environment, suite.source
        if key not in self._known:
            self._known[key] = await self._run(program, suite)
        return self._known[key]

    async def _run(self, program: Program, suite: TestSuite) -> tuple[_Ids, _Ids]:
        """Run the tests on both stubs, in one process."""
        empty, other = (stub_program(self._plan, program, is_empty=is_empty) for is_empty in (True, False))
        tests = TestSpec(suite.source, suite.ids, traceback=False, other_stub=other.code)

        def job(worker: Worker) -> tuple[_Ids, _Ids]:
            run = worker.test(empty, tests, callee=None)
            passed = tuple(outcome.id for outcome in run.outcomes if outcome.outcome == "passed")
            return passed, tuple(name for name in passed if name in run.on_other_stub)

        return await self._session.work(job, without_data=True)


# The suite of a refined version
#
# It has the kept tests of the earlier version, and the new tests below them. The expectations of a kept test never
# change. If the function now returns other outputs, the kept tests call it through a small wrapper that returns the
# earlier outputs, so that no model has to rewrite their calls.

_WRAPPER = "earlier_run"

_TESTS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def without_tests(source: str, names: Iterable[str]) -> str:
    """A test module without some of its tests. A class that would be empty is removed too."""
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
    """A test module whose calls get the outputs that the function returned before; unchanged if the outputs are."""
    names = [output.name for output in now]
    if [output.name for output in before] == names:
        return source
    returned = f"{FUNCTION}(*args, **inputs)" if len(now) > 1 else f"({FUNCTION}(*args, **inputs),)"
    chosen = [f"outputs[{names.index(o.name)}]" if o.name in names else "None" for o in before]
    what = f"the outputs that it had before: {', '.join(o.name for o in before)}"
    return _with_wrapper(source, what, [f"outputs = {returned}", f"return {', '.join(chosen)}"])


def with_earlier_defaults(source: str, before: Sequence[InputSpec], changed: Collection[str]) -> str:
    """A test module whose calls get the defaults of the inputs for which it was written."""
    lines, defaults = [], []
    for place, spec in enumerate(before):
        if spec.name in changed:
            defaults.append(f"{spec.name}={spec.default!r}")
            lines += [f"if len(args) <= {place}:", f"    inputs.setdefault({spec.name!r}, {spec.default!r})"]
    if not defaults:
        return source
    what = f"the defaults that it had before: {', '.join(defaults)}"
    return _with_wrapper(source, what, [*lines, f"return {FUNCTION}(*args, **inputs)"])


def _with_wrapper(source: str, what: str, body: Sequence[str]) -> str:
    """A test module whose calls go through a wrapper of the function."""
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
    while (name := _WRAPPER if number == 1 else f"{_WRAPPER}_{number}") in names:
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
    """One suite of kept and new tests. A new test with the name of a kept one is renamed."""
    taken = defined(parse(kept))
    added = _with_free_names(added, taken)
    new = defined(parse(added))
    clashes = sorted(name for name, what in new.items() if name in taken and (what != taken[name] or not what))
    if clashes:
        raise ValueError(f"The tests that stay use these names already: {', '.join(clashes)}. Choose others.")
    return read_suite(f"{kept.rstrip()}\n\n\n{_without_future(added).strip()}\n")


def _with_free_names(source: str, taken: Mapping[str, str]) -> str:
    """A module whose tests and properties have no name that is taken. Nothing else refers to one of these names."""
    module, lines = parse(source), source.split("\n")
    names = {*taken, *defined(module)}
    numbers: Counter[str] = Counter()
    for node in module.body:
        at = node.lineno - 1
        is_found = isinstance(node, _TESTS) and node.name.lower().startswith(("test", PROPERTY))
        if not isinstance(node, _TESTS) or not is_found or node.name not in taken:
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
        if isinstance(node, ast.Name) and (node.id == FUNCTION or node.id.startswith(_WRAPPER)):
            node.id = FUNCTION
    return ast.dump(test)


# Tests that a wish contradicts
#
# This is a separate question from those for plan and code. The model that decides sees the tests, the plan for which
# they were written, and the wish, but neither code nor the new plan, so no test is dropped because it is inconvenient.
# To drop a test it must quote the words of the wish that contradict it. A test that the answer does not name stays.


class _Verdict(BaseModel):
    test_name: str
    verdict: Literal["keep", "drop"]
    reason: str = ""
    contradicted_by: str = ""


class SortedTests(BaseModel):
    """A verdict for each test."""

    verdicts: list[_Verdict] = Field(default_factory=list)


def sorting_messages(brief: Brief, tests: str) -> Messages:
    """The question. The newest wish is separate from the request. The question must never contain code."""
    *granted, wish = brief.request.wishes
    before = replace(brief, request=replace(brief.request, wishes=tuple(granted)))
    return before.question(block("tests", tests.strip()), block("wish", wish.strip()), prompt("tests.sort"))


async def sort_tests(conversation: Conversation, brief: Brief, suite: TestSuite) -> tuple[TestChoice, ...]:
    """For each test of the earlier version, in order, whether it is kept. An unusable answer keeps all."""
    messages = sorting_messages(brief, suite.source)
    try:
        answer = await conversation.structured("tests", messages, SortedTests)
    except UnusableAnswer:
        answer = SortedTests()
    verdicts = {verdict.test_name.rpartition("::")[2]: verdict for verdict in answer.verdicts}
    return tuple(
        _choice(test, sentence, verdicts.get(test.rpartition("::")[2]), brief.request.wishes[-1])
        for test, sentence in suite.sentences.items()
    )


def _choice(test: str, sentence: str, verdict: _Verdict | None, wish: str) -> TestChoice:
    if verdict is None or verdict.verdict == "keep" or not _is_quoted_from(verdict.contradicted_by, wish):
        return TestChoice(id=test, sentence=sentence, fate="kept")
    return TestChoice(id=test, sentence=sentence, fate="dropped", reason=verdict.reason.strip())


def _is_quoted_from(words: str, wish: str) -> bool:
    """Whether the wish contains these words, ignoring white space; punctuation alone does not count."""
    quoted, wished = " ".join(words.split()).strip(" \"'.…").casefold(), " ".join(wish.split()).casefold()
    return any(letter.isalnum() for letter in quoted) and quoted in wished


def unreachable(
    choices: tuple[TestChoice, ...], before: Sequence[InputSpec], now: Sequence[InputSpec]
) -> tuple[TestChoice, ...]:
    """The choices; all tests are dropped if the function has a new required input, which their calls lack."""
    known = {spec.name for spec in before}
    demanded = ", ".join(spec.name for spec in now if spec.required and spec.name not in known)
    if not demanded:
        return choices
    reason = f"It calls the function without {demanded}, which it now needs."
    return tuple(choice.model_copy(update={"fate": "dropped", "reason": reason}) for choice in choices)
