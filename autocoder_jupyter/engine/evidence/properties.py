"""Properties: what must hold for any input, as the tester says beside the tests.

A property is a function of the test module, of inputs and outputs by name. It is tried in the sandbox, on the answers
for the sample, its variations and small parts of it, which other layers need too. One that fails is judged by a model
that sees a small input on which it does, and not the code: what it rejects does not count. The function is changed only
if the second solution, as far as it agrees otherwise, has the property.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from autocoder_jupyter.engine.evidence.added_tests import free_number
from autocoder_jupyter.engine.evidence.invariants import searched
from autocoder_jupyter.engine.evidence.small_inputs import SmallInput
from autocoder_jupyter.engine.evidence.solution_worker import KnownAnswers, SolutionStopped, SolutionWorker
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import Tables
from autocoder_jupyter.engine.generation import GenerationState
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.prompt import FUNCTION
from autocoder_jupyter.engine.repair import Rederivation, rederivation_messages
from autocoder_jupyter.engine.tests import PROPERTY, TestSuite, defined, with_tests
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import INPUT_TYPE_NAMES, CodePlan, InputSpec, OutputSpec, TestFailure, TestOutcome
from autocoder_jupyter.types.evidence import Invariant
from autocoder_jupyter.untrusted.parsing import parse
from autocoder_jupyter.untrusted.visible import visible

MOST = 3
"""The maximum number of properties that are tried."""

PREFIX = "test_property_"

LONGEST_SENTENCE = 120

HOLDS, FAILS = "holds", "fails"


@dataclass(frozen=True)
class Property:
    """A property that can be tried.

    Args:
        sentence: what it says.
        parameters: names of inputs and outputs.
        source: the module that defines it, without tests.
    """

    name: str
    sentence: str
    parameters: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class TriedProperty:
    """A property, and what was found.

    Args:
        count: the number of inputs on which it holds or fails.
        on: the first input on which it fails, in words; "" if it holds on all.
        tables: the smallest input that was found on which it fails.
    """

    of: Property
    count: int = 0
    on: str = ""
    tables: Tables | None = None

    @property
    def said(self) -> str:
        """What was found, before the name of the input."""
        return f"“{self.of.sentence}” {'does not hold' if self.on else 'holds'}"


def properties_of(suite: TestSuite | None, program: Program) -> list[Property]:
    """The properties in a suite whose parameters are inputs and outputs that can be passed on."""
    known = {spec.name for spec in _specs(program) if spec.type in INPUT_TYPE_NAMES}
    modules = suite.modules if suite is not None else ()
    return [one for module in modules for one in _properties(module.source, known)][:MOST]


def _specs(program: Program) -> tuple[InputSpec | OutputSpec, ...]:
    return (*program.inputs, *program.outputs)


def _properties(source: str, known: Collection[str]) -> Iterator[Property]:
    module = parse(source)
    candidates = [node for node in module.body if isinstance(node, ast.FunctionDef) and _is_about(node, known)]
    by_name: dict[str, ast.stmt] = {}
    for node in module.body if candidates else ():
        by_name |= dict.fromkeys(defined(ast.Module([node], [])), node)
    for function in candidates[:MOST]:
        needed = _needed(by_name, function)
        if needed is not None:
            text = "\n\n\n".join(ast.unparse(node) for node in module.body if id(node) in needed)
            yield Property(function.name, _sentence(function), _parameters(function), text)


def _is_about(node: ast.FunctionDef, known: Collection[str]) -> bool:
    """Whether a function is a property of known values."""
    given = node.args
    is_plain = not (given.vararg or given.kwarg or given.kwonlyargs or given.defaults or node.decorator_list)
    names = _parameters(node)
    return node.name.startswith(PROPERTY) and is_plain and bool(names) and set(names) <= set(known)


def _parameters(node: ast.FunctionDef) -> tuple[str, ...]:
    return tuple(one.arg for one in (*node.args.posonlyargs, *node.args.args))


def _sentence(node: ast.FunctionDef) -> str:
    told = (ast.get_docstring(node) or "").strip().partition("\n")[0].strip().rstrip(".")
    return visible(told or node.name.removeprefix(PROPERTY).replace("_", " "))[:LONGEST_SENTENCE]


def _needed(by_name: Mapping[str, ast.stmt], function: ast.stmt) -> set[int] | None:
    """The ids of the statements that a function needs, by the names that they bind; None if it calls `run`."""
    wanted, needed = [function], {id(function)}
    while wanted:
        names = {node.id for node in ast.walk(wanted.pop()) if isinstance(node, ast.Name)}
        if FUNCTION in names:
            return None
        new = {id(node): node for name in names if (node := by_name.get(name)) is not None and id(node) not in needed}
        needed |= new.keys()
        wanted += new.values()
    return needed


# Trying them


@dataclass(frozen=True)
class _Checker:
    """Asks for the outcomes of properties, in the worker of the function."""

    side: SolutionWorker
    properties: Sequence[Property]
    others: Mapping[str, Any]

    def outcomes(self, many: Sequence[Mapping[str, Any]], limit: TimeLimit) -> list[Sequence[str]]:
        """The outcomes for each of several pairs of inputs and outputs, as far as there is time."""
        program = self._program()
        checker = replace(self.side, program=program, known=KnownAnswers())
        names = [spec.name for spec in program.inputs]
        given = [{name: values[name] for name in names} for values in many if all(name in values for name in names)]
        checker.get_ready(given, limit)
        found: list[Sequence[str]] = []
        for values in given:
            told = checker.on(values, limit, reuse=True, kept=True).values.get("outcomes", ())
            found.append(told if len(told) == len(self.properties) else [""] * len(self.properties))
        return found

    def values(self, tables: Mapping[str, Any], limit: TimeLimit) -> Mapping[str, Any] | None:
        """The inputs with the answer of the function; None if it raises an error."""
        inputs = {**self.others, **tables}
        answer = self.side.on(inputs, limit, reuse=True, kept=True)
        return None if answer.error else {**self._defaults, **inputs, **answer.values}

    def fails(self, place: int, tables: Tables, limit: TimeLimit) -> bool:
        """Whether a property fails on an input."""
        values = self.values(tables, limit)
        return values is not None and [found[place] for found in self.outcomes([values], limit)] == [FAILS]

    @property
    def _defaults(self) -> dict[str, Any]:
        specs = self.side.program.inputs
        return {spec.name: spec.default_value() for spec in specs if spec.default is not None}

    def _program(self) -> Program:
        types = {spec.name: spec.type for spec in _specs(self.side.program)}
        wanted = dict.fromkeys(name for one in self.properties for name in one.parameters)
        code = "\n\n\n".join(dict.fromkeys(one.source for one in self.properties))
        calls = [(one.name, list(one.parameters)) for one in self.properties]
        return Program(
            code=program_text("properties", CODE=code, PROPERTIES=calls),
            inputs=tuple(InputSpec(name=name, type=types[name]) for name in wanted),
            outputs=(OutputSpec(name="outcomes", type="list", elements="str"),),
        )


def try_properties(
    side: SolutionWorker,
    inputs: Iterable[tuple[str, Tables]],
    others: Mapping[str, Any],
    properties: Sequence[Property],
    limit: TimeLimit,
) -> list[TriedProperty]:
    """Try properties on inputs with their names. Blocks."""
    if not properties:
        return []
    checker = _Checker(side, properties, others)
    named: list[tuple[str, Tables, Mapping[str, Any]]] = []
    try:
        for name, tables in inputs:
            values = checker.values(tables, limit)
            if values is not None:
                named.append((name, tables, values))
        outcomes = checker.outcomes([values for _, _, values in named], limit)
    except SolutionStopped:
        return []
    found = []
    for place, one in enumerate(properties):
        failing = [at for at, told in enumerate(outcomes) if told[place] == FAILS]
        count = sum(bool(told[place]) for told in outcomes)
        if not failing:
            found += [TriedProperty(one, count)] if count else []
            continue
        name, tables, _ = named[failing[0]]
        found.append(TriedProperty(one, count, name, searched(tables, partial(checker.fails, place))))
    return found


# Those that fail


def as_test(number: int, one: Property, small: SmallInput, plan: CodePlan) -> str:
    """A property of the answer for a small input, as a test. It can stand in the module that defines the property."""
    defaults = [f"{spec.name} = {spec.default!r}" for spec in plan.inputs if spec.default is not None]
    lines = [
        f'"""{one.sentence}."""'.replace("\\", "/"),
        "import numpy as np",
        "import pandas as pd",
        f"from solution import {FUNCTION}",
        "",
        *defaults,
        small.source,
        f"{', '.join(spec.name for spec in plan.outputs)} = {FUNCTION}({', '.join(f'{n}={n}' for n in small.tables)})",
        f"held = {one.name}({', '.join(one.parameters)})",
        "assert held is None or np.all(held)",
    ]
    return f"def {PREFIX}{number}():\n{textwrap.indent(chr(10).join(lines), '    ')}\n"


def added_as_test(suite: TestSuite, tried: TriedProperty, small: SmallInput, plan: CodePlan) -> tuple[TestSuite, str]:
    """The suite with a test of a property that fails, and its name. The test stands in the module of the property."""
    name = f"{PREFIX}{(number := free_number(suite, PREFIX))}"
    text = as_test(number, tried.of, small, plan)
    if suite.blind is not None and tried.of.name not in defined(parse(suite.blind.source)):
        return replace(with_tests(replace(suite, blind=None), text), blind=suite.blind), name
    return with_tests(suite, text), name


async def stands(state: GenerationState, suite: TestSuite, name: str) -> bool:
    """Whether a model that sees no code finds, in the request and the plan, what a test of a property asserts."""
    module = next(module for module in suite.modules if name in module.ids)
    failing = TestOutcome(id=name, outcome="failed")
    messages = rederivation_messages(state.diagnosis_brief, module.source, [failing])
    answer = await state.setup.conversation.structured("tests", messages, Rederivation)
    verdicts = {one.test_name.rpartition("::")[2]: one.verdict for one in answer.verdicts}
    return verdicts.get(name) == "stands"


def fault(name: str, tried: TriedProperty, small: SmallInput) -> TestFailure:
    """The error in the code, for the stage that fixes it."""
    return TestFailure(
        test_name=name,
        error_message=f"This property must hold, but does not ({name}): {tried.of.sentence}.",
        expected_behavior=f"For\n{small.source}\nthis holds: {tried.of.sentence}.",
        root_cause="The function does not have a property that the request gives it.",
        suggested_fix="Find where the rows or values are lost, repeated or miscounted, and mend it there.",
        error_type="logic",
    )


def as_invariant(tried: TriedProperty, words: str, source: str) -> Invariant:
    """What is recorded of a property; `words` name all inputs, and `source` is the smallest one on which it fails."""
    return Invariant(
        name=tried.on or f"on {words}", holds=not tried.on, said=tried.said, smallest=source, demanded_by="tests"
    )
