"""Runs the function on the real sample and checks its outputs: types, determinism, the user's checks and contracts."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.contracts.applying import Breach, apply_contract
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.repair import program_failure
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.equality import equal
from autocoder_jupyter.equality.scalars import is_missing, is_single
from autocoder_jupyter.errors import (
    OutOfMemory,
    OutputRefused,
    SandboxCrash,
    SandboxError,
    SandboxTimeout,
    SolutionError,
    WrongType,
    was_killed,
)
from autocoder_jupyter.redaction.messages import Redaction, without_secrets
from autocoder_jupyter.request import Contract, Request
from autocoder_jupyter.sandbox.protocol import PLAIN_CALL, CallOutcome, CallSpec, Program, Worker
from autocoder_jupyter.types import (
    INPUT_TYPE_NAMES,
    CheckOutcome,
    CodePlan,
    InputSpec,
    OutputSpec,
    TestFailure,
    TypeName,
)
from autocoder_jupyter.untrusted.parsing import parse_expression

PROGRAM_FAILURES = (SolutionError, WrongType, SandboxTimeout, OutOfMemory, SandboxCrash, OutputRefused)
"""Errors that count as failures of the program, not of the sandbox."""

ON_SAMPLE = "runs on the sample"
UNTOUCHED = "leaves its inputs untouched"
AGREES = "two runs agree, the last one a plain run()"


@dataclass(frozen=True)
class SampleRun:
    """A run of the function on the real sample.

    Args:
        values: the outputs, if it ran.
        worker: id of the worker where it ran.
        error: the error, if it did not run.
    """

    checks: tuple[CheckOutcome, ...]
    values: Mapping[str, Any] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    worker: str = ""
    error: SandboxError | None = None

    def failures(self, redaction: Redaction) -> tuple[TestFailure, ...]:
        """Failed checks as failures of the function, with redacted messages."""
        if self.error is not None:
            return (program_failure(ON_SAMPLE, self.error, redaction),)
        return failures_of(self.checks)


async def run_on_sample(
    session: SandboxSession, program: Program, samples: Mapping[str, Any], redaction: Redaction
) -> SampleRun | None:
    """Run the function on the real sample."""
    if any(spec.required and spec.name not in samples for spec in program.inputs):
        return None
    try:
        outcome, worker = await session.work(
            lambda worker: (worker.call(program, _arguments(program, samples), CallSpec(watch_inputs=True)), worker.id)
        )
    except PROGRAM_FAILURES as error:
        return SampleRun((CheckOutcome(name=ON_SAMPLE, passed=False, message=redaction.error(error)),), error=error)
    changed = ", ".join(outcome.mutated)
    message = f"The function changes its input {changed} in place; it must work on a copy." if changed else ""
    checks = (
        CheckOutcome(name=ON_SAMPLE, passed=True),
        CheckOutcome(name=UNTOUCHED, passed=not changed, message=message),
    )
    return SampleRun(checks, outcome.values, outcome.digests, worker)


async def run_again(
    session: SandboxSession,
    program: Program,
    samples: Mapping[str, Any],
    first: SampleRun | None,
    redaction: Redaction,
    *,
    other_than: Collection[str],
) -> SampleRun | None:
    """Run the function once more as the user will, in a worker that has not run it, and compare the outputs.

    The call has the same options as `result.handle()`, and comes after the tests. Two interpreters have different hash
    seeds and random numbers, so an output that depends on them, or on the order of a set, differs. Numbers may differ
    by the tolerance of `equality`, because sums on several cores do.
    """
    if first is None or first.error is not None:
        return first
    try:
        second = await session.work(
            lambda worker: worker.call(program, _arguments(program, samples)),
            other_than=other_than,
            unlike=[first.worker],
        )
    except PROGRAM_FAILURES as error:
        message = f"The second run on the same input failed: {redaction.error(error)}"
    else:
        differing = ", ".join(await call_blocking(lambda: _differing(first, second)))
        message = (
            f"The output {differing} differs between two runs on the same input; nothing may hang on chance, "
            "on the clock or on the order of a set."
            if differing
            else ""
        )
    agrees = CheckOutcome(name=AGREES, passed=not message, message=message)
    return replace(first, checks=(*first.checks, agrees))


def _differing(first: SampleRun, second: CallOutcome) -> list[str]:
    """The outputs that differ. Equal digests save the comparison."""
    other = [name for name, digest in first.digests.items() if second.digests.get(name) != digest]
    return [name for name in other if not equal(first.values[name], second.values.get(name))]


def _arguments(program: Program, samples: Mapping[str, Any]) -> dict[str, Any]:
    return {spec.name: samples[spec.name] for spec in program.inputs if spec.name in samples}


def failures_of(checks: Sequence[CheckOutcome]) -> tuple[TestFailure, ...]:
    """Failed checks as failures of the function."""
    return tuple(
        TestFailure(
            test_name=check.name,
            error_message=check.message,
            expected_behavior=f"This holds: {check.name}",
            error_type="logic",
        )
        for check in checks
        if not check.passed
    )


# The user's checks
#
# Expressions over inputs and outputs that must be true on the sample.

_LONGEST_RAW, _LONGEST_SHOWN = 2_000, 500
"""Characters of a check's message: before it leaves the sandbox to be masked, and as it is shown."""


def checks_of(request: Request, plan: CodePlan) -> tuple[str, ...]:
    """The user's checks, then those of house rules whose values and columns the function has."""
    given = {name: getattr(value, "columns", None) for name, value in request.samples.items()}
    returned = {spec.name: [column.name for column in spec.columns] or None for spec in plan.outputs}
    known = {**{spec.name: None for spec in plan.inputs}, **given, **returned}
    of_rules = (check for rule in request.rules for check in rule.checks if _is_about(parse_expression(check), known))
    return tuple(dict.fromkeys((*request.checks, *of_rules)))


def _is_about(expression: ast.expr, known: Mapping[str, Collection[Any] | None]) -> bool:
    """Whether an expression only names known values, and of a table only known columns."""
    names = [node for node in ast.walk(expression) if isinstance(node, ast.Name)]
    own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in ast.walk(expression) if isinstance(node, ast.arg)}
    if not {node.id for node in names} - own <= {*known, *_IN_CHECKS, *dir(builtins)}:
        return False
    return all(_has(known, node) for node in ast.walk(expression))


def _has(known: Mapping[str, Collection[Any] | None], node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute | ast.Subscript) or not isinstance(node.value, ast.Name):
        return True
    columns = known.get(node.value.id)
    if columns is None:
        return True
    if isinstance(node, ast.Attribute):
        return node.attr in columns or node.attr in _OF_TABLES
    return not isinstance(node.slice, ast.Constant) or node.slice.value in columns


_OF_TABLES = frozenset(dir(pd.DataFrame))
_IN_CHECKS = ("pd", "np")
"""What an expression can name besides inputs and outputs."""


async def run_checks(
    session: SandboxSession,
    checks: Sequence[str],
    program: Program,
    samples: Mapping[str, Any],
    values: Mapping[str, Any],
    redaction: Redaction,
) -> tuple[CheckOutcome, ...]:
    """Evaluate the user's expressions over inputs and outputs, in the sandbox, because outputs are not trusted.

    A name that is both an input and an output means the output. The model will see the messages; `redaction` decides
    what they may contain.
    """
    if not checks:
        return ()
    return await session.work(lambda worker: run_checks_in(worker, checks, program, samples, values, redaction))


def run_checks_in(
    worker: Worker,
    checks: Sequence[str],
    program: Program,
    samples: Mapping[str, Any],
    values: Mapping[str, Any],
    redaction: Redaction,
    call: CallSpec = PLAIN_CALL,
) -> tuple[CheckOutcome, ...]:
    """The same in a worker. Blocks."""
    known: dict[str, tuple[TypeName, Any]] = {}
    specs: tuple[InputSpec | OutputSpec, ...] = (*program.inputs, *program.outputs)
    for spec in specs:
        value = {**samples, **values}.get(spec.name)
        if value is None and isinstance(spec, InputSpec) and spec.default is not None:
            value = spec.default_value()
        if spec.type in INPUT_TYPE_NAMES and spec.name.isidentifier() and value is not None:
            known[spec.name] = (spec.type, value)
    checker = Program(
        code=program_text(
            "checker", EXPRESSIONS=list(checks), SHOW_VALUES=redaction.shows_values, LONGEST=_LONGEST_RAW
        ),
        inputs=tuple(InputSpec(name=name, type=kind) for name, (kind, _) in known.items()),
        outputs=(OutputSpec(name="outcomes", type="list"),),
    )
    arguments = {name: value for name, (_, value) in known.items()}
    try:
        outcome = worker.call(checker, arguments, call)
    except PROGRAM_FAILURES as error:
        if was_killed(error):
            raise
        return tuple(CheckOutcome(name=check, passed=False, message=redaction.error(error)) for check in checks)
    return tuple(
        CheckOutcome(name=check, passed=bool(outcome_of_check["passed"]), message=_message(outcome_of_check, redaction))
        for check, outcome_of_check in zip(checks, outcome.values["outcomes"], strict=True)
    )


def _message(outcome: Mapping[str, Any], redaction: Redaction) -> str:
    if outcome["passed"]:
        return ""
    if not redaction.shows_values:
        return "it is not true, or cannot be evaluated"
    return redaction.words(str(outcome["message"]), _LONGEST_SHOWN)


# Contracts
#
# Outputs must satisfy the user's schemas: on the sample, and in each call that a test makes.


class ContractWatch:
    """Watches the calls of tests. A call whose input breaks its own contract is not checked.

    Args:
        contracts: by the name of their input or output.
        secrets: secret values by name. They are redacted from messages, because a program may have returned them.
    """

    def __init__(self, contracts: Mapping[str, Contract], secrets: Mapping[str, str]) -> None:
        self._contracts = contracts
        self._secrets = secrets
        self._calls: dict[str, int] = {}
        self._broken: dict[str, list[Breach]] = {}

    def __call__(self, given: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Note one call: its arguments, and what it returned."""
        agreed = (
            apply_contract(name, self._contracts[name], given[name])[1] for name in given if name in self._contracts
        )
        if any(breach is not None for breach in agreed):
            return
        for name in values:
            if name in self._contracts:
                self._calls[name] = self._calls.get(name, 0) + 1
                _, breach = apply_contract(name, self._contracts[name], values[name])
                if breach is not None:
                    self._broken.setdefault(name, []).append(breach)

    def outcomes(self, redaction: Redaction) -> tuple[CheckOutcome, ...]:
        """The outcome for each output that the calls of tests returned."""
        return tuple(self._outcome(name, calls, redaction) for name, calls in self._calls.items())

    def _outcome(self, name: str, calls: int, redaction: Redaction) -> CheckOutcome:
        broken = self._broken.get(name, [])
        head = f"In {len(broken)} of {calls} call{'s' if calls > 1 else ''}; in the first:\n"
        title = f"{name} satisfies {self._contracts[name].title} in the calls of the tests"
        return _outcome_of(title, broken[0] if broken else None, redaction, self._secrets, head)


async def apply_contracts(
    contracts: Mapping[str, Contract], sample: SampleRun, redaction: Redaction, secrets: Mapping[str, str]
) -> tuple[dict[str, Any], tuple[CheckOutcome, ...]]:
    """The outputs on the sample after their contracts were applied, as the user gets them; and whether these hold.

    The sample run keeps the original outputs: these are compared with other versions.
    """
    values, outcomes = dict(sample.values), []
    for name in (name for name in sample.values if name in contracts):
        accepted, breach = await call_blocking(_apply(name, contracts[name], values[name]))
        values[name] = accepted
        title = f"{name} satisfies {contracts[name].title} on the sample"
        outcomes.append(_outcome_of(title, breach, redaction, secrets))
    return values, tuple(outcomes)


def _apply(name: str, contract: Contract, value: Any) -> Any:
    return lambda: apply_contract(name, contract, value)


def _outcome_of(
    title: str, breach: Breach | None, redaction: Redaction, secrets: Mapping[str, str], head: str = ""
) -> CheckOutcome:
    if breach is None:
        return CheckOutcome(name=title, passed=True)
    message = without_secrets(breach.words(values=redaction.shows_values), secrets)
    shown = redaction.words(message) if redaction.shows_values else message
    return CheckOutcome(name=title, passed=False, message=head + shown, in_full=head + breach.words(values=True))


def watch_of(
    contracts: Mapping[str, Contract], outputs: Sequence[str], secrets: Mapping[str, str]
) -> ContractWatch | None:
    """A watch, if an output has a contract."""
    return ContractWatch(contracts, secrets) if any(name in contracts for name in outputs) else None


# Remarks about blank outputs
#
# An output can be empty, all missing or constant where the sample is not. All tests and both solutions can agree on it
# if the request is wrong about the data, for example about the format of dates. So the user gets a remark.

MOST_REMARKS = 5

_FEWEST_ROWS = 5
"""Rows from which on a column with a single value is remarkable."""


def remarks(values: Mapping[str, Any], samples: Mapping[str, Any], declared: Collection[str] | None) -> tuple[str, ...]:
    """One sentence for each blank output or column."""
    rows = max((len(value) for value in samples.values() if isinstance(value, pd.DataFrame | pd.Series)), default=0)
    if not rows:
        return ()
    beside = f"on {rows:,} row{'' if rows == 1 else 's'} of data"
    found = (remark for name, value in values.items() for remark in _remarks_on(name, value, samples, declared))
    return tuple(f"{remark} {beside}" for remark, _ in zip(found, range(MOST_REMARKS), strict=False))


def _remarks_on(name: str, value: Any, samples: Mapping[str, Any], declared: Collection[str] | None) -> Iterator[str]:
    if isinstance(value, pd.DataFrame | pd.Series):
        yield from _remarks_on_table(name, value, samples, declared)
    elif isinstance(value, Mapping | list):
        parts = list(value.values()) if isinstance(value, Mapping) else value
        if not parts:
            yield f"{name} is empty"
        elif all(is_single(part) and is_missing(part) for part in parts):
            yield f"all values of {name} are missing"
    elif is_single(value) and is_missing(value):
        yield f"{name} is missing"


def _remarks_on_table(
    name: str, table: Any, samples: Mapping[str, Any], declared: Collection[str] | None
) -> Iterator[str]:
    if not len(table):
        yield f"{name} is empty"
        return
    columns = [(None, table)] if isinstance(table, pd.Series) else list(table.items())
    for label, column in columns:
        is_named = declared is None or str(label) in declared
        where = name if label is None else f"{name}.{label}" if is_named else f"a column of {name}"
        if column.isna().all():
            yield f"all values of {where} are missing"
        elif _is_constant(column) and (_is_zero(column) or _varies(label, samples)):
            yield f"all values of {where} are the same"


def _is_constant(column: Any) -> bool:
    if len(column) < _FEWEST_ROWS or column.isna().any():
        return False
    try:
        return bool((column == column.iloc[0]).all())
    except (TypeError, ValueError):
        return False  # nested values


def _is_zero(column: Any) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column.dtype)) and not column.iloc[0]


def _varies(label: Any, samples: Mapping[str, Any]) -> bool:
    """Whether an input has a column of this name with several values."""
    for sample in samples.values():
        if label is not None and isinstance(sample, pd.DataFrame) and label in sample.columns:
            column = sample[label]
            if isinstance(column, pd.Series) and len(column) and not _is_constant(column):
                return True
    return False
