"""The writer by stages: the code is from the first answer, and the tests are asked for while it is written.

After a failed attempt it decides whether environment, tests or code are at fault, and fixes only that.
"""

from __future__ import annotations

import ast
import asyncio
import re
import textwrap
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from autocoder_jupyter.data.rendering import neutral
from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.environment import GenerationPackages
from autocoder_jupyter.engine.fault_attribution import FaultAttribution
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.packages import requirement_name
from autocoder_jupyter.engine.probes import REPLY, SECONDS, DescribedValue, listed, reply_of, short, shown
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.prompt import FUNCTION, Brief, block, code_rules, interface_problem, without_entry
from autocoder_jupyter.engine.repair import PatchError, excerpt, failures_text
from autocoder_jupyter.engine.tests import VACUOUS, TestSuite, read_suite, write_tests
from autocoder_jupyter.engine.verdict import Verdict
from autocoder_jupyter.engine.writer import write_first_tests
from autocoder_jupyter.errors import AutocodeError, UnusableAnswer
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.sandbox.protocol import Callee, CallSpec, Program, TestSpec, Worker
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import CodePlan, Edit, ErrorDiagnosis, TestFailure, TestOutcome
from autocoder_jupyter.untrusted.parsing import complaint, parse, same_code
from autocoder_jupyter.versions.request_fields import content_key

if TYPE_CHECKING:
    from autocoder_jupyter.sandbox.host.replies import CallAnswer
    from autocoder_jupyter.sandbox.worker.entries import Packed

# Edits of a module's text


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """Apply edits in order."""
    if not edits:
        raise PatchError("there is no edit")
    text = source
    for number, edit in enumerate(edits, start=1):
        lines = [line.rstrip() for line in edit.find.strip("\n").split("\n")]
        if not any(lines):
            raise PatchError(f"edit {number} has nothing to find")
        places = list(re.finditer(r"[ \t]*\n".join(map(re.escape, lines)), text))
        if len(places) != 1:
            find = "\n".join(lines)
            raise PatchError(
                f"the text of edit {number} stands {len(places)} times in the module, it must stand once: {find!r}"
            )
        first, last = places[0].span()
        text = text[:first] + edit.replace.strip("\n") + text[last:]
    try:
        parse(text)
    except SyntaxError as error:
        raise PatchError(f"after the edits the module does not parse: {complaint(error)}") from None
    return text


def add_imports(source: str, imports: Sequence[str]) -> str:
    """Add imports above the first import of a module, or below its docstring. Existing ones are not added again."""
    body = parse(source).body
    present = {ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom)}
    new: dict[str, None] = {}
    for text in imports:
        try:
            nodes = parse(textwrap.dedent(text).strip()).body
        except SyntaxError as error:
            raise PatchError(f"the import {text!r} does not parse: {complaint(error)}") from None
        if not all(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes):
            raise PatchError(f"{text!r} among the imports is no import")
        new |= dict.fromkeys(ast.unparse(node) for node in nodes)
    added = [line for line in new if line not in present]
    lines = source.split("\n")
    at = _first_line_for_imports(body)
    return "\n".join([*lines[:at], *added, *lines[at:]])


def _first_line_for_imports(body: Sequence[ast.stmt]) -> int:
    """The number of lines above: a docstring and `from __future__`, which must be first."""
    above = 0
    for node in body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and above == 0
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        above = node.end_lineno or above
    return above


def changed_in_substance(old: str, new: str) -> bool:
    """Whether two modules differ in more than comments, layout of docstrings and formatting."""
    return not same_code(old, new)


# Fixes of the code
#
# The model cannot change tests, and gets the failures only as text.


class _MendingEdit(BaseModel):
    find: str
    replace: str
    mends: list[str] = Field(default_factory=list)


class CodeFix(BaseModel):
    """The edits that mend the module, and the imports that it needs besides."""

    edits: list[_MendingEdit]
    imports: list[str] = Field(default_factory=list)


@dataclass(frozen=True)
class FixVerification:
    """Whether the fixes that a diagnosis asked for are in the new code."""

    applied: tuple[str, ...]
    missing: tuple[str, ...]
    problem: str = ""

    @property
    def all_applied(self) -> bool:
        """Whether nothing is missing and nothing else is wrong."""
        return not self.missing and not self.problem


def verify_logic_fixes_applied(
    old: str, new: str, failures: Sequence[TestFailure], fixed: Sequence[str], plan: CodePlan
) -> FixVerification:
    """Check a fix in the text, without a model: each failure has an edit, and the interface is kept."""
    names = [failure.test_name for failure in failures]
    short = {name.rpartition("::")[2] for name in fixed}
    applied = tuple(name for name in names if name in fixed or name.rpartition("::")[2] in short)
    missing = tuple(name for name in names if name not in applied)
    if not changed_in_substance(old, new):
        return FixVerification((), tuple(names), "nothing but comments or layout changed")
    return FixVerification(applied, missing, interface_problem(new, plan))


def fix_messages(brief: Brief, code: str, failures: Sequence[TestFailure], notes: str) -> Messages:
    """The question for edits. It has the failures as text, but not the source of the tests."""
    return brief.question(
        block("solution", code),
        block("failures", failures_text(failures)),
        notes,
        code_rules(brief.plan),
        prompt("fix.edit"),
    )


def _fixed(code: str, answer: CodeFix) -> str:
    """The module with the edits and imports of an answer, which may have only imports."""
    edits = [Edit(find=edit.find, replace=edit.replace) for edit in answer.edits]
    edited = apply_edits(code, edits) if edits or not answer.imports else code
    return add_imports(edited, answer.imports)


async def fix_code(
    conversation: Conversation,
    brief: Brief,
    code: str,
    failures: Sequence[TestFailure],
    *,
    notes: str = "",
    variant: int = 0,
) -> str:
    """Ask for a fixed module, more forcefully each time. The last answer is used if it has the planned interface."""
    messages = fix_messages(brief, code, failures, notes)
    problem, missing, best = "", [failure.test_name for failure in failures], code
    for is_first in (True, False):
        if not is_first:
            content = prompt("fix.edit again", problem=problem, missing=", ".join(missing) or "nothing more")
            messages = (*messages, {"role": "user", "content": content})
        try:
            answer = await conversation.structured("fix", messages, CodeFix, variant=variant)
        except UnusableAnswer:
            problem = "they are not in the form that was asked for"
            messages = (*messages, {"role": "assistant", "content": "(no edits that could be read)"})
            break
        messages = (*messages, {"role": "assistant", "content": answer.model_dump_json()})
        try:
            new = _fixed(code, answer)
        except PatchError as error:
            problem = str(error)
            continue
        fixed = [name for edit in answer.edits for name in edit.mends] if answer.edits else missing
        verdict = verify_logic_fixes_applied(code, new, failures, fixed, brief.plan)
        if verdict.all_applied:
            return new
        problem, missing = verdict.problem or "not every failure is mended", list(verdict.missing)
        if not verdict.problem:
            best = new
    content = prompt("fix.whole module", problem=problem, missing=", ".join(missing) or "nothing more")
    asking = (*messages, {"role": "user", "content": content})
    try:
        whole = without_entry(await conversation.code("fix", asking, must_define=FUNCTION, variant=variant))
    except UnusableAnswer:
        if best == code:
            raise
        return best
    return whole if not interface_problem(whole, brief.plan) else best


# Tables in failing tests, for a fix
#
# A failing test is run again alone. Its last call is then repeated with a copy of the module that notes its tables. The
# workers were never given data, secrets or network, so what they tell comes from the code and the tests, which a model
# wrote. Code may quote values of the data that its model was shown: they are masked, and rows are shown at `rows` only.

MOST_TESTS = 2
_MOST_NOTES = 20
_LONGEST_TABLES = 6_000
_FEW_ROWS = 5
_TRACE_STEP = "tables"


async def tables_in_tests(state: GenerationState, failing: Sequence[str]) -> str:
    """What the tables in `run` were in the first failing tests, for the question for a fix; "" if that is not known."""
    setup, suite = state.setup, state.suite
    if suite is None or not EFFORTS[setup.config.effort].is_examined:
        return ""
    tests = [(name, excerpt(suite.source, [name])) for name in failing if name in suite.ids][:MOST_TESTS]
    shows_rows = setup.share_of_runs == "rows"
    key = content_key(state.code, tests, shows_rows)
    recorded = setup.services.journal.find_step(_TRACE_STEP, key) if setup.config.cache == "auto" else None
    told = (recorded or {}).get("told")
    if not isinstance(told, str):
        masker = Masker()
        told = "\n\n".join([text async for text in _traced(state, tests, masker, _FEW_ROWS if shows_rows else 0)])
        if setup.config.cache != "disable":
            setup.services.journal.add_step(_TRACE_STEP, key, {"told": told})
    text = short("\n".join(map(neutral, told.splitlines())), _LONGEST_TABLES)
    return block("tables", f"{prompt('fix.tables')}\n\n{text}") if text else ""


async def _traced(
    state: GenerationState, tests: Sequence[tuple[str, str]], masker: Masker, rows: int
) -> AsyncIterator[str]:
    helpers = state.brief.request.helpers
    program = Program(state.code, state.brief.plan.inputs, state.brief.plan.outputs, helpers=helpers)
    code = program_text("look", CODE=state.code, ROWS=rows)
    tracing = replace(program, code=code, outputs=(REPLY,))
    for name, source in tests:

        def job(worker: Worker, callee: Worker, name: str = name, source: str = source) -> Any:
            calls = _RecordingCallee(callee)
            spec = TestSpec(source, (name,), seconds=SECONDS, until_failure=True, traceback=False)
            worker.test(program, spec, callee=calls)
            if calls.last is None:
                return None
            (outcome, *_) = callee.batch(tracing, [calls.last], 2 * SECONDS, seed=0)
            return None if isinstance(outcome, Exception) else outcome.values[REPLY.name]

        with suppress(AutocodeError, ValueError, TypeError):  # a fix does without
            reply = await state.setup.session.work_with_two(job, without_data=True, is_offline=True)
            if reply is not None and (lines := list(_lines(reply_of(reply), state.code, masker, rows))):
                yield "\n".join([f"In {name}:", *(state.redaction.masked(line) for line in lines)])


def _lines(reply: Mapping[str, Any], code: str, masker: Masker, rows: int) -> Iterator[str]:
    source, last = code.splitlines(), 0
    for note in listed(reply.get("notes", []), _MOST_NOTES):
        line, name, found = note
        if type(line) is not int or not 0 < line <= len(source) or not isinstance(name, str):
            raise ValueError("a note of no line")
        if line != last:
            yield f"After line {line}, `{source[line - 1].strip()}`"
        last = line
        yield f"{shown(name, masker)}: {DescribedValue.read(found).written(masker, rows=rows)}"


class _RecordingCallee:
    """A callee that keeps the arguments of its last call."""

    def __init__(self, callee: Callee) -> None:
        self._callee = callee
        self.last: Packed | None = None

    @property
    def alive(self) -> bool:
        return self._callee.alive

    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        self.last = type(packed)(packed.entries, [bytes(piece) for piece in packed.pieces], packed.size)
        return self._callee.answer(program, packed, spec)


# The fixer


class Fixer:
    """Fixes the environment, the tests or the code, and remembers fixes that did not help."""

    def __init__(self, state: GenerationState, packages: GenerationPackages) -> None:
        self._state = state
        self._packages = packages
        self._attribution = FaultAttribution(state, packages)

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped."""
        return self._attribution.tests_changed

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The answers that could not be used."""
        return self._attribution.unusable

    @property
    def snapshot(self) -> tuple[object, ...]:
        """Everything that the next attempt depends on, to see whether a fix changed anything.

        An unusable answer counts as a change: the next attempt asks the question again.
        """
        return self._state.sources, self._packages.snapshot, frozenset(self._attribution.rederived), len(self.unusable)

    async def fix(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Fix environment, tests or code after a failed verdict."""
        if self._packages.learn(self._state.brief.plan, self._state.code, verdict):  # a missing package needs no model
            return None
        if verdict.error:
            await self._do_without(verdict)
        elif verdict.is_vacuous:
            await self._rewrite_tests(VACUOUS)
        elif broken := _why_tests_are_broken(verdict):
            await self._rewrite_tests(f"pytest cannot collect this module:\n{broken}\n")
        elif verdict.sample is not None and verdict.sample.error is not None:
            await self._fix_code(verdict.failures)
        else:
            return await self._fix_by_diagnosis(verdict)
        return None

    async def _do_without(self, verdict: Verdict) -> None:
        """A package cannot be installed: ask for the module that imports it without this package."""
        state = self._state
        wanted = {
            f"package {requirement_name(name)}" for name in self._packages.of_the_code(state.brief.plan, state.code)
        }
        if any(failure.test_name in wanted for failure in verdict.failures):
            await self._fix_code(verdict.failures)
        else:
            await self._rewrite_tests(f"{verdict.error} Take only pytest, pandas, numpy and the standard library.")

    async def _rewrite_tests(self, refused: str) -> None:
        state, setup = self._state, self._state.setup
        previous = state.suite.source if state.suite else ""
        writing = partial(
            write_tests,
            *(setup.conversation, state.brief),
            refused=refused,
            previous=previous,
            variant=len(self.unusable),
        )
        with self._attribution.tolerating_unusable():
            state.set_suite(await setup.stages.run("tests", writing))

    async def _fix_by_diagnosis(self, verdict: Verdict) -> ErrorDiagnosis | None:
        faults, suite = list(verdict.failures), self._state.suite
        if not verdict.failing or suite is None:
            if faults:
                await self._fix_code(faults, [failure.test_name for failure in faults])
            return None
        diagnosis = await self._attribution.diagnosed(verdict.failing, suite)
        faults += diagnosis.of_type("logic")
        blamed = {failure.test_name for failure in diagnosis.of_type("test_error")}
        suspects = [outcome for outcome in verdict.failing if outcome.id in blamed]
        async with asyncio.TaskGroup() as group:
            if faults:
                group.create_task(self._fix_code(faults, [failure.test_name for failure in faults]))
            if suspects:
                group.create_task(self._fix_tests(suite, suspects))
        return diagnosis

    async def _fix_code(self, faults: Sequence[TestFailure], tests: Sequence[str] = ()) -> None:
        state, setup = self._state, self._state.setup
        tables = await tables_in_tests(state, tests)
        notes = "\n\n".join(filter(None, (tables, self._escalation(faults))))
        fixing = partial(
            fix_code,
            *(setup.conversation, state.brief, state.code, faults),
            notes=notes,
            variant=len(self.unusable),
        )
        with self._attribution.tolerating_unusable():
            state.set_code(await setup.stages.run("fix", fixing))
            self._attribution.note_fix(faults)

    def _escalation(self, faults: Sequence[TestFailure]) -> str:
        return prompt("fix.again") if self._attribution.tries(faults) else ""

    async def _fix_tests(self, suite: TestSuite, failing: Sequence[TestOutcome]) -> None:
        source = await self._attribution.rederive(suite.source, failing)
        if source != suite.source:
            self._state.set_suite(read_suite(source))


def _why_tests_are_broken(verdict: Verdict) -> str:
    """Why the tests cannot be collected; "" if they can, or if the function itself does not run."""
    if verdict.run is None or (verdict.sample is not None and verdict.sample.error is not None):
        return ""
    return verdict.run.collection_error


# The writer


class StagedWriters:
    """A `WriterFactory` of staged writers."""

    async def prepare(self) -> None:
        """Do nothing: no import takes long."""

    def create(self, state: GenerationState, packages: GenerationPackages) -> StagedWriter:
        """The writer of one generation."""
        return StagedWriter(state, packages)


class StagedWriter:
    """A `Writer` whose parts are stages."""

    trace = None

    def __init__(self, state: GenerationState, packages: GenerationPackages) -> None:
        self._state = state
        self._fixer = Fixer(state, packages)

    @property
    def tests_changed(self) -> tuple[str, ...]:
        """Ids of tests that were replaced or dropped after a re-derivation."""
        return self._fixer.tests_changed

    @property
    def snapshot(self) -> object:
        """Everything that the next attempt depends on."""
        return self._fixer.snapshot

    @property
    def unusable(self) -> Sequence[UnusableAnswer]:
        """The unusable answers."""
        return self._fixer.unusable

    async def write(self) -> None:
        """Take the code from the first answer, and ask for the tests meanwhile."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._take_code())
            if not self._state.setup.config.skip_tests:
                group.create_task(self._write_tests())

    async def _take_code(self) -> None:
        """Take the code when it is complete, mostly before the tests are."""
        answer = self._state.answer
        assert answer is not None, "a function that is written has a first answer"
        self._state.set_code(await self._state.setup.stages.run("code", answer.code, since=0))

    async def _write_tests(self) -> None:
        state = self._state
        state.set_suite(await state.setup.stages.run("tests", partial(write_first_tests, state)))

    async def fix(self, verdict: Verdict) -> ErrorDiagnosis | None:
        """Decide whether environment, tests or code are at fault, and fix only that."""
        return await self._fixer.fix(verdict)

    async def close(self) -> None:
        """Do nothing: nothing runs between two questions."""
