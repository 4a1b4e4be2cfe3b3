"""The user's examples and own tests: they are checked before a model is asked, and run before all other tests."""

from __future__ import annotations

import builtins
import re
import symtable
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.engine.difference_words import expectation
from autocoder_jupyter.engine.prompt import FUNCTION
from autocoder_jupyter.engine.repair import excerpt, last_line, shortened
from autocoder_jupyter.engine.sample_run import PROGRAM_FAILURES, failures_of
from autocoder_jupyter.engine.tests import TestSuite, read_suite
from autocoder_jupyter.equality import EXAMPLE, compare
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.redaction.messages import WITHHELD, Redaction
from autocoder_jupyter.request import Example, Request, Share
from autocoder_jupyter.sandbox.protocol import OnCall, Program, TestRun, TestSpec, Worker
from autocoder_jupyter.types import CheckOutcome, CodePlan, InputSpec, OutputSpec, TestFailure, TestOutcome
from autocoder_jupyter.types.evidence import OWN_EXAMPLE, OWN_TEST
from autocoder_jupyter.untrusted.parsing import complaint, parse

# Examples


@dataclass(frozen=True)
class BoundExample:
    """An example whose values are assigned to the names of inputs and outputs.

    Args:
        text: the example as the user wrote it.
        expected: outputs by name. Outputs that are not in it may have any value.
    """

    text: str
    arguments: Mapping[str, Any]
    expected: Mapping[str, Any]


def bind(
    example: Example, inputs: Sequence[InputSpec], outputs: Sequence[OutputSpec], samples: Mapping[str, Any]
) -> BoundExample:
    """Assign the values of an example to the function's inputs and outputs."""
    arguments = {spec.name: samples[spec.name] for spec in inputs if spec.name in samples}
    arguments |= _by_name(example, example.given, [spec.name for spec in inputs], "input")
    _require_arguments(example, inputs, arguments)
    expected = _by_name(example, example.expected, [spec.name for spec in outputs], "output")
    return BoundExample(example.text, arguments, expected)


def check_examples(
    examples: Sequence[Example],
    inputs: Sequence[InputSpec],
    outputs: Sequence[OutputSpec],
    samples: Mapping[str, Any],
) -> None:
    """Check examples against the known part of the interface, before a model is paid. The plan adds the rest.

    Raises:
        InvalidRequest: an example does not fit.
    """
    known = [spec.name for spec in inputs]
    for example in examples:
        unnamed = sum(not name for name, _ in example.given)
        if unnamed > len(known):
            raise _misfit(example, f"it has {unnamed} values without a name, and the inputs are {_listed(known)}.")
        _require_arguments(example, inputs, {*samples, *known[:unnamed], *(name for name, _ in example.given)})
        if outputs:
            _by_name(example, example.expected, [spec.name for spec in outputs], "output")


def _require_arguments(example: Example, inputs: Sequence[InputSpec], given: Container[str]) -> None:
    lacking = [spec.name for spec in inputs if spec.required and spec.name not in given]
    if lacking:
        raise _misfit(example, f"it has no value for {', '.join(lacking)}, and there is no sample of that name.")


def _by_name(example: Example, values: Sequence[tuple[str, Any]], names: Sequence[str], what: str) -> dict[str, Any]:
    bound: dict[str, Any] = {}
    unnamed = iter(names)
    for given, value in values:
        name = given or next(unnamed, "")
        if name not in names:
            raise _misfit(example, f"there is no {what} {given!r}; the {what}s are {_listed(names)}.")
        if name in bound:
            raise _misfit(example, f"it has two values for {name}.")
        bound[name] = value
    if what == "output" and len(names) > 1 and len(values) == 1 and not values[0][0]:
        raise _misfit(example, f"there are {len(names)} outputs: {_listed(names)}. Write which one it is: {names[0]}=…")
    return bound


def _misfit(example: Example, why: str) -> InvalidRequest:
    return InvalidRequest(f"The example {example.text} does not fit: {why}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "not known"


def run_examples(
    worker: Worker, program: Program, examples: Sequence[BoundExample], redaction: Redaction
) -> tuple[CheckOutcome, ...]:
    """Call the function for each example, and compare the outputs by value. Blocks."""
    return tuple(
        _outcome(worker, program, number, example, redaction) for number, example in enumerate(examples, start=1)
    )


def _outcome(
    worker: Worker, program: Program, number: int, example: BoundExample, redaction: Redaction
) -> CheckOutcome:
    # The text of an example may contain values of the data. Where these are not shown, its number is its name.
    name = f"{OWN_EXAMPLE} {redaction.words(example.text, 200) if redaction.shows_values else number}"
    try:
        outcome = worker.call(program, example.arguments)
    except PROGRAM_FAILURES as error:
        return CheckOutcome(name=name, passed=False, message=redaction.error(error))
    messages = []
    for output, expected in example.expected.items():
        found = compare(outcome.values[output], expected, EXAMPLE)
        words = expectation(found, show_values=redaction.shows_values)
        if words:
            messages.append(f"{output}: {redaction.masked(words)}")
    return CheckOutcome(name=name, passed=not messages, message="; ".join(messages))


# Own tests

_OWN_MODULE = """\
# Own tests of {name}. `run` is the function; `{name}` calls it as in the notebook.
from collections import namedtuple

import numpy as np
import pandas as pd
import pytest
{function}

{outputs}

def {name}(*args, **kwargs):
    return {returned}


{name}.run = {name}

"""

_MODULES = ("np", "pd", "pytest", "namedtuple", "Outputs")
_AVAILABLE = (*_MODULES, FUNCTION)

_ERROR_TYPE = re.compile(r"^E\s+(\w+)(?::|$| )", re.MULTILINE)
_LINE_IN_TEST = re.compile(r"^test_solution\.py:(\d{1,6}): in test", re.MULTILINE)


def check_own_tests(source: str, name: str) -> None:
    """Check that a module can be run as own tests of the function `name`.

    Raises:
        InvalidRequest: it does not parse, has no test, or uses a name that does not exist in the sandbox.
    """
    if name in _MODULES:
        raise InvalidRequest(
            f"A function with the name {name} cannot have own tests.",
            why=f"In a module of tests, {name} has another meaning.",
            hint="Give the function another name: %autocode versions NAME rename NEW.",
        )
    try:
        suite = read_suite(source)
    except SyntaxError as error:
        raise InvalidRequest(f"The tests of {name} are not valid Python.", why=f"{complaint(error)}.") from None
    if not suite.ids:
        raise InvalidRequest(
            f"The tests of {name} contain no test function.",
            hint="Write functions that pytest finds: def test_…():",
        )
    unknown = sorted({*_free_names(source)} - {name, *_AVAILABLE})
    if unknown:
        raise InvalidRequest(
            f"The tests of {name} use {', '.join(unknown[:3])}, which they do not define.",
            why="They run in the sandbox, which does not have the variables of the notebook.",
            hint=f'Define it inside the test, or give it as an example in the cell of {name}: --example "@in -> @out".',
        )


def _free_names(source: str) -> Iterator[str]:
    """Names that the module reads, and that neither it nor Python defines."""
    parse(source)  # raises the same error for all input that does not parse
    top = symtable.symtable(source, "<tests>", "exec")
    tables = [*_all_tables(top)]
    shared = [symbol for table in tables for symbol in table.get_symbols() if table is top or symbol.is_global()]
    defined = {symbol.get_name() for symbol in shared if symbol.is_assigned() or symbol.is_imported()}
    for symbol in shared:
        name = symbol.get_name()
        if symbol.is_referenced() and name not in defined and not hasattr(builtins, name):
            yield name


def _all_tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _all_tables(child)


def own_module(source: str, name: str, plan: CodePlan) -> TestSuite:
    """The test module that runs: the names that tests may use are defined above them."""
    inner = FUNCTION if name != FUNCTION else f"_{FUNCTION}"
    outputs, returned = "", f"{inner}(*args, **kwargs)"
    if len(plan.outputs) > 1:
        fields = [re.sub(r"\W", "_", output.name) for output in plan.outputs]
        outputs = f'Outputs = namedtuple("Outputs", {fields!r}, rename=True)\n'
        returned = f"Outputs(*{returned})"
    function = f"from solution import {FUNCTION}" + (f" as {inner}" if inner != FUNCTION else "")
    whole = (
        _OWN_MODULE.format(name=name, function=function, outputs=outputs, returned=returned) + source.strip("\n") + "\n"
    )
    return TestSuite(whole, read_suite(source).sentences)


def outcomes_of(suite: TestSuite, run: TestRun, redaction: Redaction) -> tuple[CheckOutcome, ...]:
    """The outcome of each test, with redacted messages."""
    return tuple(
        CheckOutcome(
            name=f"{OWN_TEST} {outcome.id}" + _sentence_of(suite, outcome, redaction),
            passed=outcome.outcome == "passed",
            message="" if outcome.outcome == "passed" else _message(outcome, redaction),
        )
        for outcome in run.outcomes
    )


def _sentence_of(suite: TestSuite, outcome: TestOutcome, redaction: Redaction) -> str:
    sentence = suite.sentences.get(outcome.id.partition("[")[0], "")
    return f": {redaction.words(sentence)}" if sentence and redaction.shows_values else ""


def _message(outcome: TestOutcome, redaction: Redaction) -> str:
    """The message of a failed test in one line; if values are withheld, only the error's type and the line number."""
    if outcome.outcome == "missing":
        return "it never ended (the time was up, or something stopped the test run)"
    if redaction.shows_values:
        return redaction.words(last_line(outcome.message), 500)
    found = _ERROR_TYPE.search(outcome.message)
    kind = found.group(1).replace("assert", "AssertionError") if found else ""
    kind = kind if isinstance(getattr(builtins, kind, None), type) else "an error"
    line = _LINE_IN_TEST.findall(outcome.message)
    return f"{kind}{f' in line {line[-1]} of test_own.py' if line else ''}. {WITHHELD}"


def failures_in(suite: TestSuite, run: TestRun, redaction: Redaction) -> tuple[TestFailure, ...]:
    """The failed tests as failures of the code; with source and messages only if values may be shown."""
    failures = []
    for outcome in run.outcomes:
        if outcome.outcome == "passed":
            continue
        source = excerpt(suite.source, [outcome.id.partition("[")[0]]) if redaction.shows_values else ""
        test = f"This test of the person's own passes as it is:\n{redaction.words(source, 4000)}"
        failures.append(
            TestFailure(
                test_name=f"{OWN_TEST} {outcome.id}",
                error_message=_message(outcome, redaction),
                expected_behavior=test if source else "A test of the person's own, which is not shown, passes.",
                actual_behavior=redaction.words(shortened(outcome.message)) if source else "",
                error_type="logic",
            )
        )
    return tuple(failures)


def why_broken(run: TestRun, redaction: Redaction) -> str:
    """Why the tests cannot be loaded; "" if they can, or if the function is the cause."""
    if "test_solution.py" not in run.collection_error:
        return ""
    reason = last_line(run.collection_error) if redaction.shows_values else WITHHELD
    return f"Your own tests cannot be loaded, whatever the function does: {redaction.words(reason, 500)}"


def own_tests_for_diagnosis(source: str, share: Share) -> str:
    """The user's tests for a stage that blames code or tests; "" if they may not be shown."""
    if not source or share != "rows":
        return ""
    return f"{prompt('fix.own tests')}\n<own_tests>\n{Redaction(share).words(source.strip(), 8000)}\n</own_tests>"


def names_in(source: str) -> frozenset[str]:
    """The functions and classes that a module defines."""
    defined = (getattr(node, "name", "") for node in parse(source).body)
    return frozenset(name for name in defined if isinstance(name, str) and name)


# Results


@dataclass(frozen=True)
class Acceptance:
    """The results of the examples and the user's tests.

    Args:
        outcomes: the outcomes of each example and test.
        failures: the failed ones, as failures of the function.
        broken: why the user's tests cannot run with any function; "" if they can.
    """

    outcomes: tuple[CheckOutcome, ...] = ()
    failures: tuple[TestFailure, ...] = ()
    broken: str = ""


def run_acceptance(
    worker: Worker,
    callee: Worker,
    program: Program,
    request: Request,
    plan: CodePlan,
    redaction: Redaction,
    on_call: OnCall | None = None,
) -> Acceptance:
    """Run the examples and the user's tests. Each call runs in the function's own worker. Blocks."""
    bound = [bind(example, plan.inputs, plan.outputs, request.samples) for example in request.examples]
    examples = run_examples(callee, program, bound, redaction)
    outcomes, failures = examples, failures_of(examples)
    if not request.own_tests:
        return Acceptance(outcomes, failures)
    suite = own_module(request.own_tests, request.name, plan)
    run = worker.test(program, TestSpec(suite.source, suite.ids, on_call=on_call), callee=callee)
    if broken := why_broken(run, redaction):
        return Acceptance(outcomes, failures, broken)
    tested, wrong = outcomes_of(suite, run, redaction), failures_in(suite, run, redaction)
    return Acceptance((*outcomes, *tested), (*failures, *wrong))
