"""The agent of one generation: its session, its workspace, and the engine's part of its tools."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.data.withheld import WithheldColumns, sample_files
from autocoder_jupyter.engine.environment import Packages
from autocoder_jupyter.engine.generation import GenerationSetup, GenerationState
from autocoder_jupyter.engine.packages import refuse_lookalikes
from autocoder_jupyter.engine.prompt import interface_problem, without_entry
from autocoder_jupyter.engine.repair import shortened
from autocoder_jupyter.engine.tests import TestSuite, read_suite, suite_problem
from autocoder_jupyter.engines.claude import prompts
from autocoder_jupyter.engines.claude.gateway import Gateway, SessionListener
from autocoder_jupyter.engines.claude.prompts import PACKAGES, SOLUTION, TESTS, stray_import
from autocoder_jupyter.engines.claude.service import Service, plain_name
from autocoder_jupyter.engines.claude.session import Session
from autocoder_jupyter.engines.claude.toolbox import Hands, Toolbox
from autocoder_jupyter.errors import InvalidRequest, UnusableAnswer
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.run.events import AgentSaid, Retrying, TurnBegun
from autocoder_jupyter.sandbox.protocol import TestRun, TestSpec
from autocoder_jupyter.sandbox.workspace.workspace import Observation, Workspace
from autocoder_jupyter.settings import parameters
from autocoder_jupyter.types import TestFailure, Trace
from autocoder_jupyter.untrusted.parsing import complaint, parse
from autocoder_jupyter.versions.request_fields import content_key

# The text about a run of its tests that the agent gets. Our runner replaces pytest's command.


MOST_TOLD = 8
"""The number of failing tests whose messages are included; of the others, only the names."""

WAS_RUN = (
    "(tests.py was run as it is when it counts: by a runner of its own, tests and function in separate processes, "
    "without conftest.py, plugins and options.)"
)


def told_of(run: TestRun, suite: TestSuite) -> str:
    """The outcomes of the tests as text.

    The tests make their own values, so the text has none of the user's data. What looks private is masked anyway.
    """
    if run.collection_error:
        return f"tests.py cannot be run:\n{_masked(run.collection_error)}\n{WAS_RUN}"
    failing = [outcome for outcome in run.outcomes if outcome.outcome != "passed"]
    lines = [f"{len(run.outcomes) - len(failing)} of {len(suite.ids)} tests passed. {WAS_RUN}"]
    for outcome in failing[:MOST_TOLD]:
        lines.append(f"\n{outcome.outcome.upper()} {outcome.id}\n{_masked(outcome.message)}".rstrip())
    if more := failing[MOST_TOLD:]:
        lines.append(f"\nFailing too: {', '.join(outcome.id for outcome in more)}")
    return "\n".join(lines)


def _masked(text: str) -> str:
    return shortened(Masker().mask(text))


# Whether new source in a test module leaves the tests that were there as they are.
#
# The usual ways to change them are found: a name that is bound again, a hook of pytest, an attribute or item of
# something shared that is set, a method that changes a shared object, a way to reach the module's names. A program that
# hides what it does is not found.


_RUN_BY_PYTEST = re.compile(r"pytest|(?i:(?:setup|teardown)_?(?:module|function|class|method)?)$")
"""Names that pytest calls around the tests of a module, and its hooks."""

_REACHES_OTHERS = re.compile(
    r"__\w+|globals|locals|vars|[sgd]e[tl]attr|exec|eval|f_(?:globals|locals|back|builtins)|_getframe|currentframe"
    r"|attrgetter|methodcaller|import_module|(?:monkey_?)?patch|mocker|MonkeyPatch"
)
"""Names, also of attributes and imports, with which code reaches names that are bound elsewhere."""

_REACHING_MODULES = frozenset(
    ("builtins", "sys", "gc", "inspect", "ctypes", "importlib", "operator", "runpy", "code", "tests", "unittest")
)
_ENDS_A_MODULE = frozenset(("skip", "importorskip", "exit", "xfail", "fail", "_exit"))
_CHANGES_ITS_OBJECT = frozenset(
    (
        *("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"),
        *("add", "appendleft", "discard", "difference_update", "intersection_update", "symmetric_difference_update"),
    )
)


@dataclass(frozen=True)
class Surroundings:
    """The names of a test module.

    Args:
        known: the names that the first versions of its parts bind.
    """

    known: Collection[str]
    imported: Collection[str]


def is_harmless(nodes: Sequence[ast.AST], bound: Sequence[str] | None, around: Surroundings) -> bool:
    """Whether new source does not change what the other tests test."""
    inner = [one for node in nodes for one in ast.walk(node)]
    own = set(_own_names(inner))
    if any(_reaches_others(node, own, around) for node in inner):
        return False
    if bound is None:
        return True
    if any(isinstance(node, ast.Attribute) and node.attr in _ENDS_A_MODULE for node in inner):
        return False
    return bool(bound) and all(_is_a_new_name(name, around) for name in bound)


def _is_a_new_name(name: str, around: Surroundings) -> bool:
    return (
        name.isidentifier()
        and name not in around.known
        and not hasattr(builtins, name)
        and not name.startswith("__")
        and not _RUN_BY_PYTEST.match(name)
    )


def _reaches_others(node: ast.AST, own: set[str], around: Surroundings) -> bool:
    match node:
        case ast.Global() | ast.NamedExpr():
            return True
        case ast.Name(id=name) | ast.alias(name=name) if _REACHES_OTHERS.fullmatch(name):
            return True
        case ast.Import(names=names):
            return any(alias.name.partition(".")[0] in _REACHING_MODULES for alias in names)
        case ast.ImportFrom(module=module):
            return (module or "").partition(".")[0] in _REACHING_MODULES
        case ast.Attribute(attr=name) if _REACHES_OTHERS.fullmatch(name):
            return True
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return _root(node) not in own
        case ast.Attribute(attr=name) if name in _CHANGES_ITS_OBJECT:
            root = _root(node)
            return bool(root) and root not in own and root not in around.imported
    return False


def _root(node: ast.AST) -> str:
    """The name at the beginning of `name.a[b].c`; "" if it begins with something else."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _own_names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The names that functions in the source bind for themselves."""
    for function in nodes:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg))
            inner = [one for statement in function.body for one in ast.walk(statement)]
            yield from (one.id for one in inner if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))


# Compares an agent's tests with their first versions, so that a test that was weakened is noticed.
#
# It does not matter what the agent ran or saw in between: it may hide a failure from us, as with `pytest || true`. The
# source is compared. What a new test changes only when it runs, for example through another module, is not found.


OUTSIDE = "what the tests share"
"""The name for the imports, helper functions and constants of a test module."""

_Part = tuple[str, str]
"""The id of a test and "", or `OUTSIDE` and the names that a statement binds."""

_Parts = dict[_Part, list[ast.AST]]


class SuiteWatch:
    """Notes each version of the tests."""

    def __init__(self) -> None:
        self._first: dict[_Part, str] = {}
        self._now: dict[_Part, str] = {}
        self._added: set[str] = set()

    @property
    def changed(self) -> tuple[str, ...]:
        """The tests that are not as they were first written, in order. A new test is no change."""
        differing = [name for (name, of), text in self._first.items() if self._now.get((name, of)) != text]
        return tuple(dict.fromkeys([*differing, *self._added]))

    def see(self, source: str) -> None:
        """Note the current tests. A module that does not parse is ignored."""
        try:
            parts = _parts(source)
        except SyntaxError:
            return
        if self._first and not all(
            is_harmless(nodes, part[1].split() if part[0] == OUTSIDE else None, self._surroundings(parts))
            for part, nodes in parts.items()
            if part not in self._first
        ):
            self._added.add(OUTSIDE)
        self._now = _dumped(parts)
        self._first = {**self._now, **self._first}

    def take(self, source: str) -> None:
        """Note tests that the agent did not write. They are the first versions from now on."""
        self._now = _dumped(_parts(source))
        self._first = dict(self._now)

    def _surroundings(self, parts: _Parts) -> Surroundings:
        imports = (node for nodes in parts.values() for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
        bound = (bound.split() if bound else [test.partition("::")[0]] for test, bound in self._first)
        return Surroundings(frozenset(chain(*bound)), frozenset(chain(*map(_bound, imports))))


def _parts(source: str) -> _Parts:
    """The tests of a module and the statements that they share. If these bind a name twice, their order counts too."""
    parts: _Parts = {}
    ids = set(read_suite(source).ids)
    shared: list[tuple[str, list[ast.AST]]] = []
    for node in parse(source).body:
        if isinstance(node, ast.ClassDef):
            tests = {f"{node.name}::{member.name}": member for member in node.body if hasattr(member, "name")}
            parts |= {(name, ""): [member] for name, member in tests.items() if name in ids}
            rest = [one for one in node.body if f"{node.name}::{getattr(one, 'name', '')}" not in ids]
            shared.append((node.name, [*node.decorator_list, *node.bases, *node.keywords, *rest]))
        elif getattr(node, "name", None) in ids:
            parts[str(getattr(node, "name", "")), ""] = [node]
        else:
            shared.append((" ".join(_bound(node)), [node]))
    bound = [name for names, _ in shared for name in names.split()]
    is_ordered = len(set(bound)) < len(bound)
    for names, nodes in shared:
        parts.setdefault((OUTSIDE, "" if is_ordered else names), []).extend(nodes)
    return parts


def _dumped(parts: _Parts) -> dict[_Part, str]:
    """The source of the parts without comments and layout."""
    return {part: "\n".join(map(ast.dump, nodes)) for part, nodes in parts.items()}


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, if it does nothing else; none for any other statement."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list:
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if all(isinstance(target, ast.Name) for target in targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))


# What the docstring of this file says.


REMINDERS = 2
"""How many times in a row the agent is asked for a missing file."""


class Agent:
    """An agent with its own files. `begin` starts a session; `go_on` sends another message in it.

    Args:
        model: the model, its key and its address.
        changed: called when files may have changed.
    """

    def __init__(
        self, state: GenerationState, packages: Packages, model: ModelConfig, changed: Callable[[], None]
    ) -> None:
        self._state = state
        self._setup = state.setup
        self._packages = packages
        self._model = model
        self._changed = changed
        self._workspace = Workspace(state.setup.session.command)  # replaced by `begin`
        self._provided: object = None
        self._running: tuple[Gateway, Toolbox, Session] | None = None
        self.watch = SuiteWatch()

    @property
    def has_begun(self) -> bool:
        """Whether a session has begun."""
        return self._running is not None

    @property
    def trace(self) -> Trace | None:
        """What the agent did; None if it was not asked."""
        if self._running is None:
            return None
        gateway, toolbox, session = self._running
        return Trace(
            calls=tuple(toolbox.calls),
            turns=gateway.turn,
            max_turns=self._setup.config.agent_max_turns,
            session=session.id,
            suite_changed=self.watch.changed,
        )

    @property
    def code(self) -> str:
        """Its current module; "" if there is none."""
        return without_entry(self._workspace.text(SOLUTION) or "")

    @property
    def tests(self) -> str:
        """Its current tests; "" if there are none."""
        return self._workspace.text(TESTS) or ""

    async def begin(self, code: str = "", tests: str = "", failures: Sequence[TestFailure] = ()) -> None:
        """Start a session with a new workspace, and wait until the agent stops."""
        setup = self._setup
        given = await call_blocking(lambda: given_files(setup))
        self._workspace = Workspace(setup.session.command, given=given, most_seconds=setup.config.timeout)
        if code:
            await self._workspace.write(SOLUTION, code)
        if tests:
            await self.put_tests(tests)
        system, question = prompts.first_question(self._state, sorted(given), earlier=bool(code), failures=failures)
        await self._start(system, question)
        await self._ask(question)

    async def go_on(self, failures: Sequence[TestFailure], *, again: bool) -> None:
        """Send the failures; see `begin`."""
        assert self._running is not None
        self._running[0].stage = "fix"
        await self._ask(prompts.failure_question(failures, again=again))

    async def put_tests(self, source: str) -> None:
        """Replace its tests by tests that it did not write."""
        await self._workspace.write(TESTS, source)
        self.watch.take(source)

    async def close(self) -> None:
        """End the session and its program."""
        if self._running is not None:
            await self._running[2].close()

    async def _start(self, system: str, question: str) -> None:
        setup, turns = self._setup, self._setup.config.agent_max_turns
        gateway = Gateway(
            Service(self._model),
            journal=setup.services.journal,
            policy=setup.config.cache,
            locked=setup.config.locked,
            meter=setup.budget,
            most_turns=turns,
            on_send=setup.services.add_sent,
            listener=SessionListener(
                begun=lambda turn: setup.emit(TurnBegun(turn, turns)),
                said=lambda turn, text: setup.emit(AgentSaid(turn, text)),
                exchanged=setup.talk.note,
                retrying=lambda reason, seconds: setup.emit(Retrying(gateway.stage, reason, seconds)),
                charged=lambda usage: setup.talk.charged(gateway.stage, usage),
            ),
        )
        hands = Hands(
            ready=self._ready,
            test=self._tested,
            changed=self._changed,
            failed=gateway.stop,
        )
        name = content_key(self._model.model, system, question)
        toolbox = Toolbox(setup, self._workspace, hands, name, lambda: gateway.turn)
        session = Session(gateway, toolbox.tools, system, plain_name(self._model.model))
        self._running = gateway, toolbox, session
        await session.start()

    async def _ask(self, text: str) -> None:
        assert self._running is not None
        for _ in range(REMINDERS + 1):
            await self._running[2].ask(text)
            problem = self._missing()
            if not problem:
                return
            text = prompts.missing_question(problem)
        raise UnusableAnswer(f"The agent stopped although {problem}.", hint="Try another model.")

    def _missing(self) -> str:
        """The required file that is missing or wrong, as text for the agent; "" if there is none."""
        if self._workspace.text(SOLUTION) is None:
            return f"there is no {SOLUTION}"
        if problem := interface_problem(self.code, self._state.brief.plan):
            return f"{SOLUTION} does not keep to the interface: {problem}"
        return self._declare() or ("" if self._setup.config.skip_tests else self._tests_problem())

    def _tests_problem(self) -> str:
        if self._workspace.text(TESTS) is None:
            return f"there is no {TESTS}"
        try:
            problem = suite_problem(read_suite(self.tests))
        except SyntaxError as error:
            return f"{TESTS} does not parse: {complaint(error)}"
        return f"{TESTS} proves nothing: {problem}".rstrip(".") if problem else ""

    def _declare(self) -> str:
        """Note the packages that it names. Returns what is wrong with them or with its imports, or ""."""
        sources = {path: text for path in (SOLUTION, TESTS) if (text := self._workspace.text(path))}
        if problem := stray_import(sources, self._workspace.files):
            return problem
        lines = map(str.strip, (self._workspace.text(PACKAGES) or "").splitlines())
        try:
            wanted = parameters.requirements(PACKAGES, [line for line in lines if line and not line.startswith("#")])
            refuse_lookalikes(wanted)
        except InvalidRequest as error:
            return str(error)
        self._packages.declare(wanted)
        return ""

    async def _ready(self) -> str:
        """Build the environment for the imports and packages.txt. Returns why that failed, or ""."""
        await self._packages.base_is_there()
        wanted = (self._state.sources, self._workspace.text(PACKAGES))
        if wanted == self._provided:
            return ""
        if problem := self._declare():
            return problem
        lacking = await self._packages.provide(self._state.brief.plan, self._state.sources)
        if lacking is not None:
            return f"{lacking.error_message} {lacking.suggested_fix}".strip()
        self._provided = wanted
        return ""

    async def _tested(self) -> Observation:
        """Run its tests with the same runner as an attempt."""
        if self._setup.config.skip_tests:
            return Observation("No tests are wanted for this function, so none are run.", ok=False)
        if problem := self._missing():
            return Observation(f"The tests were not run: {problem}.", ok=False)
        suite, program = read_suite(self.tests), self._state.program()
        run = await self._setup.session.work_with_two(
            lambda worker, callee: worker.test(program, TestSpec(suite.source, suite.ids), callee=callee)
        )
        return Observation(told_of(run, suite), ok=run.passed)


def given_files(setup: GenerationSetup) -> Mapping[str, bytes]:
    """The sample rows that the model may see, as files."""
    config = setup.config
    withheld = WithheldColumns.of(config.hide, config.mask)
    return sample_files(
        setup.request.samples, share=config.share, max_sample_rows=config.max_sample_rows, withheld=withheld
    )
