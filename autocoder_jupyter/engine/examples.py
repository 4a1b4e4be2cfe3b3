"""The user's examples: an input, and what the function must return for it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.engine.difference_words import expectation
from autocoder_jupyter.engine.sample_run import PROGRAM_FAILURES
from autocoder_jupyter.equality import EXAMPLE, compare
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.request import Example
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.types import CheckOutcome, InputSpec, OutputSpec
from autocoder_jupyter.types.evidence import OWN_EXAMPLE


@dataclass(frozen=True)
class BoundExample:
    """An example whose values are assigned to the names of inputs and outputs.

    Args:
        text: the example as the user wrote it.
        arguments: the arguments of the call.
        expected: outputs by name. Outputs that are not in it may have any value.
    """

    text: str
    arguments: Mapping[str, Any]
    expected: Mapping[str, Any]


def bind(
    example: Example, inputs: Sequence[InputSpec], outputs: Sequence[OutputSpec], samples: Mapping[str, Any]
) -> BoundExample:
    """Assign the values of an example to the function's inputs and outputs.

    Raises:
        InvalidRequest: the example does not fit the interface.
    """
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


def _require_arguments(example: Example, inputs: Sequence[InputSpec], said: Container[str]) -> None:
    lacking = [spec.name for spec in inputs if spec.required and spec.name not in said]
    if lacking:
        raise _misfit(example, f"it does not say {', '.join(lacking)}, and there is no sample of that name.")


def _by_name(example: Example, values: Sequence[tuple[str, Any]], names: Sequence[str], what: str) -> dict[str, Any]:
    bound: dict[str, Any] = {}
    unnamed = iter(names)
    for given, value in values:
        name = given or next(unnamed, "")
        if name not in names:
            raise _misfit(example, f"there is no {what} {given!r}; the {what}s are {_listed(names)}.")
        if name in bound:
            raise _misfit(example, f"it says {name} twice.")
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
    # The text of an example may contain values. Where these are not shown, its number is its name.
    name = f"{OWN_EXAMPLE} {redaction.words(example.text, 200) if redaction.shows_values else number}"
    try:
        outcome = worker.call(program, example.arguments)
    except PROGRAM_FAILURES as error:
        return CheckOutcome(name=name, passed=False, message=redaction.error(error))
    told = []
    for output, expected in example.expected.items():
        found = compare(outcome.values[output], expected, EXAMPLE)
        words = expectation(found, show_values=redaction.shows_values)
        if words:
            told.append(f"{output}: {redaction.masked(words)}")
    return CheckOutcome(name=name, passed=not told, message="; ".join(told))
