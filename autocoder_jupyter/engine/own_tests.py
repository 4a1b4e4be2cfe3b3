"""The user's own tests: a module that only the user changes, and the messages about those that fail."""

from __future__ import annotations

import builtins
import re
import symtable
from collections.abc import Iterator

from autocoder_jupyter.engine.diagnose import last_line, shortened
from autocoder_jupyter.engine.interface import FUNCTION
from autocoder_jupyter.engine.patches import excerpt
from autocoder_jupyter.engine.tests import TestSuite, read_suite
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.redaction.messages import WITHHELD, Redaction
from autocoder_jupyter.request import Share
from autocoder_jupyter.sandbox.protocol import TestRun
from autocoder_jupyter.types import CheckOutcome, CodePlan, TestFailure, TestOutcome
from autocoder_jupyter.types.evidence import OWN_TEST
from autocoder_jupyter.untrusted.parsing import complaint, parse

_HEAD = """\
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
_GIVEN = (*_MODULES, FUNCTION)

_KIND_OF_ERROR = re.compile(r"^E\s+(\w+)(?::|$| )", re.MULTILINE)
_PLACE = re.compile(r"^test_solution\.py:(\d{1,6}): in test", re.MULTILINE)

_RIGHT = "These tests are the person's own. They are right; a test that contradicts one of them is wrong:"


def check_own_tests(source: str, name: str) -> None:
    """Check that a module can be run as own tests of the function `name`.

    Raises:
        InvalidRequest: it does not parse, has no test, or uses a name that does not exist in the sandbox.
    """
    if name in _MODULES:
        raise InvalidRequest(
            f"A function with the name {name} cannot have own tests.",
            why=f"In them, {name} is something else.",
            hint="Give the function another name: %autocode rename.",
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
    unknown = sorted({*_free_names(source)} - {name, *_GIVEN})
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
    whole = _HEAD.format(name=name, function=function, outputs=outputs, returned=returned) + source.strip("\n") + "\n"
    return TestSuite(whole, read_suite(source).sentences)


def outcomes_of(suite: TestSuite, run: TestRun, redaction: Redaction) -> tuple[CheckOutcome, ...]:
    """The outcome of each test, with redacted messages."""
    return tuple(
        CheckOutcome(
            name=f"{OWN_TEST} {outcome.id}" + _sentence(suite, outcome, redaction),
            passed=outcome.outcome == "passed",
            message="" if outcome.outcome == "passed" else _told(outcome, redaction),
        )
        for outcome in run.outcomes
    )


def _sentence(suite: TestSuite, outcome: TestOutcome, redaction: Redaction) -> str:
    sentence = suite.sentences.get(outcome.id.partition("[")[0], "")
    return f": {redaction.words(sentence)}" if sentence and redaction.shows_values else ""


def _told(outcome: TestOutcome, redaction: Redaction) -> str:
    """One line; if values are withheld, only the type of the error and the line number."""
    if outcome.outcome == "missing":
        return "it never ended (the time was up, or something stopped the test run)"
    if redaction.shows_values:
        return redaction.words(last_line(outcome.message), 500)
    found = _KIND_OF_ERROR.search(outcome.message)
    kind = found.group(1).replace("assert", "AssertionError") if found else ""
    kind = kind if isinstance(getattr(builtins, kind, None), type) else "an error"
    line = _PLACE.findall(outcome.message)
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
                error_message=_told(outcome, redaction),
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
    told = last_line(run.collection_error) if redaction.shows_values else WITHHELD
    return f"Your own tests cannot be loaded, whatever the function does: {redaction.words(told, 500)}"


def for_judges(source: str, share: Share) -> str:
    """The user's tests for a stage that blames code or tests; "" if they may not be shown."""
    if not source or share != "rows":
        return ""
    return f"{_RIGHT}\n<own_tests>\n{Redaction(share).words(source.strip(), 8000)}\n</own_tests>"


def names_in(source: str) -> frozenset[str]:
    """The functions and classes that a module defines."""
    defined = (getattr(node, "name", "") for node in parse(source).body)
    return frozenset(name for name in defined if isinstance(name, str) and name)
