"""Checks the fields of a report from an untrusted file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autocoder_jupyter.errors import PackageRefused
from autocoder_jupyter.sandbox.environments.locking import check_pins
from autocoder_jupyter.settings.parameters import is_input_name, is_output_name
from autocoder_jupyter.types import Report
from autocoder_jupyter.untrusted.parsing import CHARACTERS
from autocoder_jupyter.untrusted.visible import hides, visible

PLAN_CHARACTERS = 200_000
"""Most characters of a plan. It is sent to the model when the function is refined."""

MOST_ATTEMPTS = 1_000
"""Most attempts, and most wishes, of one report."""

MOST_COLUMNS = 100_000
"""Most columns and index levels of one recorded table."""

LONGEST_LABEL = 20_000
"""Most characters of the literal of a column, and of a dtype. They are in messages."""

MOST_DIFFERENCES = 2_000


def check_report(report: Report) -> None:
    """Refuse values that this package never writes, because names become code and paths, and pins are installed.

    Raises:
        ValueError: a field has such a value; the message names the field.
    """
    if max(len(report.history), len(report.wishes)) > MOST_ATTEMPTS:
        raise ValueError(f"it has more than {MOST_ATTEMPTS:,} attempts or wishes")
    if len(report.drift) > MOST_DIFFERENCES:
        raise ValueError(f"it has more than {MOST_DIFFERENCES:,} differences of the data")
    for name, shape in report.sample_shapes.items():
        _check_shape(name, shape)
    for what, source in _sources(report):
        if len(source) > CHARACTERS:
            raise ValueError(f"{what}: it has {len(source):,} characters, at most {CHARACTERS:,} can be read")
    if report.plan is not None and (length := len(report.plan.model_dump_json())) > PLAN_CHARACTERS:
        raise ValueError(f"the plan: it has {length:,} characters, at most {PLAN_CHARACTERS:,} can be read")
    for what, text in _wrong(report):
        raise ValueError(f"{what} cannot be {visible(text)[:80]!r}")
    try:
        check_pins(report.lock)
    except PackageRefused as error:
        raise ValueError(f"lock: {visible(error.what)}") from None


def _check_shape(name: str, shape: dict[str, Any]) -> None:
    """Check columns, index and dtypes of a recorded table (`data.drift.shape_of`)."""
    columns, index = shape.get("columns"), shape.get("index", [])
    is_table = shape.get("type", "DataFrame") == "DataFrame" or (shape["type"] == "Series" and columns)
    if not (is_table and isinstance(columns, list) and isinstance(index, list)):
        raise ValueError(f"the shape of {visible(name)[:80]!r} is not one of a table")
    if max(len(columns), len(index)) > MOST_COLUMNS:
        raise ValueError(f"the shape of {visible(name)[:80]!r} has more than {MOST_COLUMNS:,} columns")
    if not all(map(_is_column, (*columns, *index))):
        raise ValueError(f"a column in the shape of {visible(name)[:80]!r} is not a name and a dtype")
    categories, objects = shape.get("categories", {}), shape.get("objects", {})
    if not (isinstance(categories, dict) and isinstance(objects, dict)):
        raise ValueError(f"the categories in the shape of {visible(name)[:80]!r} are not in a dict")
    is_known = all(isinstance(record, dict) for record in categories.values())
    if not is_known or not all(isinstance(kind, str) for kind in objects.values()):
        raise ValueError(f"the categories in the shape of {visible(name)[:80]!r} are not records")
    if any(hides(text) for record in categories.values() for text in _texts(record.get("values"))):
        raise ValueError(f"a category in the shape of {visible(name)[:80]!r} hides something")


def _texts(values: Any) -> Iterator[str]:
    yield from (value for value in values if isinstance(value, str)) if isinstance(values, list) else ()


def _is_column(column: Any) -> bool:
    return (
        isinstance(column, list)
        and len(column) == 2
        and all(isinstance(text, str) and len(text) <= LONGEST_LABEL and not hides(text) for text in column)
    )


def _wrong(report: Report) -> Iterator[tuple[str, str]]:
    inputs = [*report.declared_inputs, *(report.plan.inputs if report.plan else ())]
    outputs = [*report.declared_outputs, *(report.plan.outputs if report.plan else ())]
    yield from (("an input", spec.name) for spec in inputs if not is_input_name(spec.name))
    yield from (("an output", spec.name) for spec in outputs if not is_output_name(spec.name))
    words = [("the name", report.name), ("the run", report.run_id), ("the sandbox", report.sandbox or "")]
    words += [("the tier of the sandbox", report.sandbox_tier or "")]
    words += [("the request's key", report.request_key), ("the parent", report.parent), ("the change", report.change)]
    words += [("the model", report.written_by), *(("a difference of the data", words) for words in report.drift)]
    words += [("a renamed column", name) for pair in report.renames.items() for name in pair]
    words += [("a helper", helper.name) for helper in report.helpers.given]
    words += [("what it was verified on", report.kept or "")]
    words += [("a version of a package", text) for pair in report.verified_with.items() for text in pair]
    words += [("a model", exchange.model) for exchange in report.conversation_history]
    words += [("a system package", name) for name in report.detected_system_packages]
    if report.trace is not None:
        words += [("the session", report.trace.session)]
        words += [("a tool", call.tool) for call in report.trace.calls]
        words += [("a changed test", test) for test in report.trace.suite_changed]
    yield from ((what, text) for what, text in words if hides(text))


def _sources(report: Report) -> Iterator[tuple[str, str]]:
    """The Python sources of a report. They are parsed, compared and shown."""
    yield from (("the code", report.solution.code),) if report.solution else ()
    yield from (("the tests", tests) for tests in (report.tests, report.blind_tests, report.own_tests))
    yield from (("a helper", source) for source in report.helpers.modules().values())
    yield from (("the code before", report.changes.code),) if report.changes else ()
    yield from (("a second solution", report.second_opinion.code),) if report.second_opinion else ()
    for attempt in report.history:
        yield from ((f"attempt {attempt.number}", source) for source in (attempt.code, attempt.tests))
