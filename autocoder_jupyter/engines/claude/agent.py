"""The agent of one generation: its session, its workspace, and what its tools need from the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.data.withheld import WithheldColumns, sample_files
from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.generation import GenerationSetup, GenerationState
from autocoder_jupyter.engine.packages import imported_modules, refuse_lookalikes
from autocoder_jupyter.engine.prompt import interface_problem, without_entry
from autocoder_jupyter.engine.repair import shortened
from autocoder_jupyter.engine.tests import TestSuite, read_suite, suite_problem
from autocoder_jupyter.engines.claude import prompts
from autocoder_jupyter.engines.claude.gateway import Gateway, SessionListener
from autocoder_jupyter.engines.claude.prompts import PACKAGES, SOLUTION, TESTS
from autocoder_jupyter.engines.claude.service import Service, plain_name
from autocoder_jupyter.engines.claude.session import Session
from autocoder_jupyter.engines.claude.suite_watch import SuiteWatch
from autocoder_jupyter.engines.claude.toolbox import Toolbox, ToolCallbacks
from autocoder_jupyter.errors import InvalidRequest, UnusableAnswer
from autocoder_jupyter.models.protocol import ModelConfig
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.run.events import AgentText, Retrying, TurnBegun
from autocoder_jupyter.sandbox.protocol import TestRun, TestSpec
from autocoder_jupyter.sandbox.workspace.workspace import Observation, Workspace
from autocoder_jupyter.settings import parameters
from autocoder_jupyter.types import TestFailure, Trace
from autocoder_jupyter.untrusted.parsing import complaint
from autocoder_jupyter.versions.request_fields import content_key

# Test runs as text
#
# Our runner replaces pytest's command.

MOST_MESSAGES = 8
"""The number of failing tests whose messages are included; of the others, only the names."""

HOW_IT_RAN = (
    "(tests.py was run as it is when it counts: by a runner of its own, tests and function in separate processes, "
    "without conftest.py, plugins and options.)"
)


def test_run_text(run: TestRun, suite: TestSuite) -> str:
    """The outcomes of the tests as text.

    The tests make their own values, so the text has none of the user's data. What looks private is masked anyway.
    """
    if run.collection_error:
        return f"tests.py cannot be run:\n{_masked(run.collection_error)}\n{HOW_IT_RAN}"
    failing = [outcome for outcome in run.outcomes if outcome.outcome != "passed"]
    lines = [f"{len(run.outcomes) - len(failing)} of {len(suite.ids)} tests passed. {HOW_IT_RAN}"]
    for outcome in failing[:MOST_MESSAGES]:
        lines.append(f"\n{outcome.outcome.upper()} {outcome.id}\n{_masked(outcome.message)}".rstrip())
    if more := failing[MOST_MESSAGES:]:
        lines.append(f"\nFailing too: {', '.join(outcome.id for outcome in more)}")
    return "\n".join(lines)


def _masked(text: str) -> str:
    return shortened(Masker().mask(text))


# The agent

REMINDERS = 2
"""How many times in a row the agent is asked for a missing file."""


class Agent:
    """An agent with its own files. `begin` starts a session; `go_on` sends failures to it.

    Args:
        model: the model, its key and its address.
        changed: called when files may have changed.
    """

    def __init__(
        self, state: GenerationState, packages: GenerationPackages, model: ModelConfig, changed: Callable[[], None]
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
        helpers = setup.request.helpers.files() if setup.share_of_runs == "rows" else {}  # else it may not read them
        files = {**given, **{path: source.encode() for path, source in helpers.items()}}
        self._workspace = Workspace(setup.session.command, given=files, most_seconds=setup.config.timeout)
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
                streamed=lambda turn, text: setup.emit(AgentText(turn, text)),
                exchanged=setup.conversation.note,
                retrying=lambda reason, seconds: setup.emit(Retrying(gateway.stage, reason, seconds)),
                charged=lambda usage: setup.conversation.charged(gateway.stage, usage),
            ),
        )
        callbacks = ToolCallbacks(
            ready=self._ready,
            test=self._run_tests,
            changed=self._changed,
            failed=gateway.stop,
        )
        name = content_key(self._model.model, system, question)
        toolbox = Toolbox(setup, self._workspace, callbacks, name, lambda: gateway.turn)
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
        return self._declare_packages() or ("" if self._setup.config.skip_tests else self._tests_problem())

    def _tests_problem(self) -> str:
        if self._workspace.text(TESTS) is None:
            return f"there is no {TESTS}"
        try:
            problem = suite_problem(read_suite(self.tests))
        except SyntaxError as error:
            return f"{TESTS} does not parse: {complaint(error)}"
        return f"{TESTS} proves nothing: {problem}".rstrip(".") if problem else ""

    def _declare_packages(self) -> str:
        """Note the packages that it names. Returns what is wrong with them or with its imports, or ""."""
        sources = {path: text for path in (SOLUTION, TESTS) if (text := self._workspace.text(path))}
        files = set(self._workspace.files) - self._setup.request.helpers.files().keys()
        if problem := stray_import(sources, files):
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
        if problem := self._declare_packages():
            return problem
        lacking = await self._packages.provide(self._state.brief.plan, self._state.sources)
        if lacking is not None:
            return f"{lacking.error_message} {lacking.suggested_fix}".strip()
        self._provided = wanted
        return ""

    async def _run_tests(self) -> Observation:
        """Run its tests with the same runner as an attempt."""
        if self._setup.config.skip_tests:
            return Observation("No tests are wanted for this function, so none are run.", ok=False)
        if problem := self._missing():
            return Observation(f"The tests were not run: {problem}.", ok=False)
        suite, program = read_suite(self.tests), self._state.program()
        run = await self._setup.session.work_with_two(
            lambda worker, callee: worker.test(program, TestSpec(suite.source, suite.ids), callee=callee),
            without_data=True,
        )
        return Observation(test_run_text(run, suite), ok=run.passed)


def stray_import(sources: Mapping[str, str], paths: Iterable[str]) -> str:
    """The import of another file of the workspace, as text for the agent; "" if there is none.

    Such a name would otherwise be looked up on the package index, where an attacker may have registered it.
    """
    there = {path.partition("/")[0].removesuffix(".py") for path in paths if path.endswith(".py")}
    for path, source in sources.items():
        try:
            found = sorted({*imported_modules(source, own=(SOLUTION.removesuffix(".py"),))} & there)
        except SyntaxError:
            continue
        if found:
            return (
                f"{path} imports {found[0]}, another file of the workspace, and no other file goes on: "
                f"write what it needs into {path} itself"
            )
    return ""


def given_files(setup: GenerationSetup) -> Mapping[str, bytes]:
    """The sample rows that the model may see, as files."""
    config = setup.config
    withheld = WithheldColumns.of(config.hide, config.mask)
    return sample_files(
        setup.request.samples, share=config.share, max_sample_rows=config.max_sample_rows, withheld=withheld
    )
