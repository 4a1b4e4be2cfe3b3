"""Checks the arguments of `generate()` and freezes them into a `Request`. The caller's objects are never changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal

from autocoder_jupyter.agent.helpers import captured_helpers
from autocoder_jupyter.calls.binding import checked_value
from autocoder_jupyter.calls.outputs import field_names
from autocoder_jupyter.contracts.describing import backend_of, contract_of, kind_of
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.table import KINDS, WHOLE, elements_of, plain_type
from autocoder_jupyter.request import Contract, Example, Request
from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.types import INPUT_TYPE_NAMES, TYPE_NAMES, Helpers, InputSpec, OutputSpec, type_name
from autocoder_jupyter.types.interface import demand_text
from autocoder_jupyter.types.of_flyte import all_fetched, declared_of_flyte
from autocoder_jupyter.untrusted.parsing import require_expression


def build_request(prompt: str, name: str | None = None, **given: Any) -> Request:
    """A request from the arguments of a call."""
    named = folder_name(prompt if name is None else name)
    contracts = {
        **_contracts("inputs", given.get("inputs"), is_output=False),
        **_contracts("outputs", given.get("outputs"), is_output=True),
    }
    frozen = {argument: ARGUMENTS[argument](value) for argument, value in given.items() if value is not None}
    if "own_tests" in frozen:
        from autocoder_jupyter.engine.acceptance import check_own_tests

        check_own_tests(frozen["own_tests"], named)
    if "renames" in frozen:
        from autocoder_jupyter.data.renames import renamed_samples

        frozen["samples"] = renamed_samples(frozen.get("samples", {}), frozen["renames"])
    request = Request(name=named, prompt=check.request("prompt", prompt), contracts=contracts, **frozen)
    if not contracts:
        return request
    from autocoder_jupyter.contracts.applying import with_checked_samples

    return with_checked_samples(request)


def _contracts(parameter: str, declared: Mapping[str, Any] | None, *, is_output: bool) -> dict[str, Contract]:
    """The contracts among the declared types."""
    found = {name: value for name, value in _named(parameter, declared) if backend_of(value)}
    return {
        name: contract_of(f"{parameter}: {name}", name, value, is_output=is_output) for name, value in found.items()
    }


def folder_name(words: str) -> str:
    """A name for the result and its folder: the given one, or the first words of the prompt."""
    found = re.findall(r"[^\W_]+", check.text("prompt or name", words))[:5]
    name = "_".join(found).lower()[:40].strip("_")
    if words.isidentifier():
        return words
    return name if name and not name[0].isdigit() else f"request_{name}".strip("_")


async def fetched_examples(examples: Iterable[Any]) -> list[Any]:
    """The examples, with data of Flyte fetched to this machine. Invalid examples are refused later."""
    return [
        tuple([await _fetched_side(side) for side in example]) if isinstance(example, tuple) else example
        for example in examples
    ]


async def _fetched_side(side: Any) -> Any:
    return await all_fetched(side) if isinstance(side, Mapping) else (await all_fetched({"": side}))[""]


def _examples(examples: Iterable[tuple[Mapping[str, Any], Any]]) -> tuple[Example, ...]:
    from autocoder_jupyter.data.capture import captured_value
    from autocoder_jupyter.equality import is_comparable

    found = []
    for number, example in enumerate(examples, start=1):
        if not isinstance(example, tuple) or len(example) != 2 or not isinstance(example[0], Mapping):
            raise InvalidRequest(
                "examples must be pairs of the inputs by name and the expected output.",
                hint='Write examples=[({"sales": few}, 14.0)], or a dict of outputs by name instead of the value.',
            )
        given, expected = example
        outputs = expected.items() if isinstance(expected, Mapping) else [("", expected)]
        if not all(is_comparable(value) for _, value in outputs):
            raise InvalidRequest(f"examples: the output of example {number} cannot be compared by value.")
        kept = tuple((str(name), captured_value(value)) for name, value in given.items())
        found.append(Example(f"{number}", kept, tuple((str(name), captured_value(value)) for name, value in outputs)))
    return tuple(found)


def _samples(samples: Mapping[str, Any]) -> dict[str, Any]:
    from autocoder_jupyter.data.capture import capture, require_plain

    if not isinstance(samples, Mapping):
        raise InvalidRequest("samples must be a dict of values by name.", hint='Write samples={"sales": sales}.')
    captured = {}
    for key, value in samples.items():
        check.identifier("samples", key)
        require_plain(key, value)
        try:
            captured[key] = capture(value)
        except InvalidRequest as error:
            raise InvalidRequest(f"samples: {key}: {error.what}", why=error.why, hint=error.hint) from None
    return captured


def _inputs(inputs: Mapping[str, Any]) -> tuple[InputSpec, ...]:
    specs = []
    for name, declared in _named("inputs", inputs):
        check.identifier("inputs", name)
        if isinstance(declared, InputSpec):
            spec = _with_fitting_default(declared.model_copy(update={"name": name}))
        elif backend_of(declared):
            spec = InputSpec(name=name, type=_table_of(declared))
        else:
            spec = InputSpec(
                name=name, type=_type("inputs", name, declared, INPUT_TYPE_NAMES), elements=_elements(declared)
            )
        specs.append(spec)
    return tuple(specs)


def _with_fitting_default(spec: InputSpec) -> InputSpec:
    if spec.required or spec.default is None or KINDS[spec.type].form == "path":  # a path may be created later
        return spec
    try:
        checked_value(spec, spec.default_value())
    except (InvalidRequest, TypeError, ValueError):
        raise InvalidRequest(
            f"inputs: the default of {spec.name}, {spec.default!r}, cannot be a {spec.type}.",
            hint="A date or datetime is written in ISO format, a timedelta too, or as seconds.",
        ) from None
    return spec


def _outputs(outputs: Mapping[str, Any]) -> tuple[OutputSpec, ...]:
    specs = []
    for name, declared in _named("outputs", outputs):
        if not check.is_output_name(name):
            raise InvalidRequest(
                f"outputs: {name!r} cannot be the name of an output.", hint="Use letters, digits, _ and a suffix."
            )
        if isinstance(declared, OutputSpec):
            spec = declared.model_copy(update={"name": name})
        elif backend_of(declared):
            spec = OutputSpec(name=name, type=_table_of(declared))
        else:
            spec = OutputSpec(
                name=name, type=_type("outputs", name, declared, TYPE_NAMES), elements=_elements(declared)
            )
        specs.append(spec)
    _require_distinct_fields([spec.name for spec in specs])
    return tuple(specs)


def _table_of(schema: Any) -> Literal["DataFrame", "Series"]:
    return "Series" if kind_of(schema) == "Series" else "DataFrame"


def _named(parameter: str, declared: Mapping[str, Any] | None) -> Iterable[tuple[str, Any]]:
    if declared is None:
        return ()
    if not isinstance(declared, Mapping) or not all(isinstance(name, str) for name in declared):
        raise InvalidRequest(
            f"{parameter} must be a dict of types by name.", hint=f'Write {parameter}={{"total": float}}.'
        )
    return tuple(declared.items())


def _elements(declared: Any) -> str:
    """The element type of a list or dict: of `list[str]` as a type or as text."""
    return elements_of(declared if isinstance(declared, str) else str(declared))


def _type(parameter: str, name: str, declared: Any, allowed: tuple[str, ...]) -> Any:
    declared = declared_of_flyte(declared) or declared
    declared = plain_type(declared) if isinstance(declared, str) else declared
    try:
        bare = declared.partition("[")[0] if isinstance(declared, str) and elements_of(declared) else declared
        found = type_name(bare)
    except ValueError:
        found = None
    if found is None and isinstance(declared, type) and declared.__name__ in allowed:
        raise InvalidRequest(
            f"{parameter}: {name} cannot be a {declared.__module__}.{declared.__qualname__}.",
            why="It is a class of another library, which only has the name of a type.",
            hint=f'Write "{declared.__name__}".',
        )
    is_of_tables = parameter == "inputs" and _elements(declared) in WHOLE
    if found not in allowed or is_of_tables:
        shown = declared if isinstance(declared, str) else getattr(declared, "__name__", repr(declared))
        raise InvalidRequest(
            f"{parameter}: {name} cannot be a {shown}.",
            hint=check.suggestion(str(shown), allowed) or f"Types: {', '.join(allowed)}.",
        )
    return found


_SHOWN = 200
"""Characters of a check that an error message quotes."""


def _require_distinct_fields(names: list[str]) -> None:
    alone = [field_names([name])[0] for name in names]
    for number, field in enumerate(alone):
        if field in alone[:number]:
            twin = names[alone.index(field)]
            raise InvalidRequest(
                f"outputs: {twin!r} and {names[number]!r} are both the field {field} of the result.",
                hint="Rename one of them.",
            )


def _renames(renames: Mapping[str, str]) -> dict[str, str]:
    named = renames.items() if isinstance(renames, Mapping) else ((renames, None),)
    if not all(isinstance(name, str) and name for pair in named for name in pair):
        raise InvalidRequest(
            "renames must be a dict of names of columns in the data, by the names that the function reads.",
            hint='Write renames={"price": "unit_price"}.',
        )
    return dict(renames)


def _helpers(helpers: Mapping[str, Any]) -> Helpers:
    if not isinstance(helpers, Mapping):
        raise InvalidRequest("helpers must be a dict of values by name.", hint='Write helpers={"net": net}.')
    for name in helpers:
        check.identifier("helpers", name)
    return captured_helpers(helpers)


def _split(split: str) -> str:
    return demand_text(check.text("split", split))


def _expressions(checks: Iterable[str]) -> tuple[str, ...]:
    expressions = check.texts("checks", checks)
    for expression in expressions:
        try:
            require_expression(expression)
        except SyntaxError as error:
            shown = repr(expression[:_SHOWN]) + ("…" if len(expression) > _SHOWN else "")
            raise InvalidRequest(f"checks: {shown} is not a Python expression: {error.msg}.") from None
    return expressions


ARGUMENTS: Mapping[str, Callable[[Any], Any]] = {
    "schema": partial(check.text, "schema"),
    "constraints": partial(check.texts, "constraints"),
    "samples": _samples,
    "inputs": _inputs,
    "outputs": _outputs,
    "checks": _expressions,
    "own_tests": partial(check.text, "own_tests"),
    "examples": _examples,
    "renames": _renames,
    "split": _split,
    "helpers": _helpers,
}
"""The arguments of a call that are fields of the request, with the function that checks and freezes each."""
