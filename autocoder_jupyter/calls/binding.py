"""Check the arguments of a call, and bind them to the inputs of the function. Nothing runs in a sandbox here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import OPTIONS
from autocoder_jupyter.errors import DataDrift, InvalidRequest
from autocoder_jupyter.kinds.paths import scheme_of
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.kinds.table import misfit as element_types_misfit
from autocoder_jupyter.kinds.values import REFUSED
from autocoder_jupyter.sandbox.environments.locking import name_of
from autocoder_jupyter.settings.parameters import suggestion
from autocoder_jupyter.types import Dir, File, InputSpec
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.data.columns_read import ColumnsRead

# Types of values


def checked_value(spec: InputSpec, value: Any) -> Any:
    """The value in the form that is sent to the sandbox. The caller's object is never changed.

    An int becomes a float, a numpy scalar a Python value, a tuple a list, a polars or PyArrow table a pandas table.
    Nothing else is converted.

    Raises:
        InvalidRequest: it is not of the declared type.
    """
    if value is None and not spec.required and spec.default is None:
        return None
    kind = KINDS[spec.type]
    if kind.form == "table" and callable(getattr(type(value), "to_wkt", None)):
        from autocoder_jupyter.data.capture import require_plain

        require_plain(spec.name, value)
    accepted = kind.accept(_table(value) if kind.form == "table" else value)
    if accepted is REFUSED:
        raise InvalidRequest(
            f"{spec.name} must be {_article(spec.type)} {spec.type}, not {_kind(value)}.",
            hint=kind.hint(spec.name, value),
        )
    if problem := element_types_misfit(accepted, spec.elements):
        raise InvalidRequest(f"{spec.name} must be a {spec.written_type}: {problem}.")
    return _located(spec, accepted) if isinstance(accepted, File | Dir) else accepted


def _table(value: Any) -> Any:
    """A table of another library, converted to pandas; any other value unchanged."""
    from autocoder_jupyter.data.capture import converted

    table = converted(value)
    return value if table is None else table


def _located(spec: InputSpec, value: File | Dir) -> File | Dir:
    from autocoder_jupyter.data.capture import with_absolute_path

    try:
        return with_absolute_path(value)
    except InvalidRequest as error:
        raise InvalidRequest(f"{spec.name}: {error.what}", hint=error.hint) from None


def _article(name: str) -> str:
    return "an" if name == "int" else "a"


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__}"


# Binding


def split(function: Function, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split keywords into inputs and options of the call. A name that is both is an input."""
    declared = {spec.name for spec in function.inputs}
    inputs = {name: value for name, value in keywords.items() if name in declared or name not in OPTIONS}
    options = {name: value for name, value in keywords.items() if name not in inputs}
    return inputs, options


def bind(
    function: Function, positional: Sequence[Any], keywords: Mapping[str, Any], notes: list[str] | None = None
) -> dict[str, Any]:
    """The value of every input: given, else the sample, else the declared default.

    An optional input without any of these is left out, so that the function's own default counts. `notes` gets a
    sentence for each table that changed in columns that the function does not read.

    Raises:
        InvalidRequest: too many, unknown, doubled or missing arguments, or a value of another type.
        ContractBroken: a table does not satisfy the schema that the user demanded.
        DataDrift: a frame differs from the one that the function was built on.
    """
    own = by_name(function, positional, keywords)
    given = {**function.defaults, **own}
    bound: dict[str, Any] = {}
    for spec in function.inputs:
        if spec.name in given:
            value = given[spec.name]
            # A default may be from a record, and no address is contacted because a record has it.
            is_named = spec.name in own or not isinstance(value, str) or not scheme_of(value)
            bound[spec.name] = checked_value(spec, _read(function, spec, value) if is_named else value)
            _require_geopandas(function, spec, bound[spec.name])
            if function.renames:
                bound[spec.name] = _with_own_names(function, spec.name, bound[spec.name], notes)
            if spec.name in function.contracts:
                bound[spec.name] = _validated(function, spec.name, bound[spec.name])
            if KINDS[spec.type].form == "table":
                bound[spec.name] = _with_recorded_dtypes(function, spec.name, bound[spec.name], notes)
        elif spec.name in function.samples:
            bound[spec.name] = _sample(function, spec)
        elif spec.required:
            raise InvalidRequest(
                f"{function.name} needs {spec.name} ({spec.type}).",
                hint=f"Call .run({spec.name}=…).{_samples_left(function)}",
            )
        elif spec.default is not None:
            bound[spec.name] = checked_value(spec, spec.default_value())
    return {
        spec.name: _that_crosses(function, spec, bound[spec.name], notes)
        for spec in function.inputs
        if bound.get(spec.name) is not None
    }


def takes_long(function: Function, values: Iterable[Any]) -> bool:
    """Whether `bind` may take long: it runs contracts, reads a file, or computes a table that is not computed yet."""
    from autocoder_jupyter.data.capture import is_lazy

    has_table = any(KINDS[spec.type].form == "table" for spec in function.inputs)
    return bool(function.contracts) or (has_table and any(_names_a_file(value) or is_lazy(value) for value in values))


def _names_a_file(value: Any) -> bool:
    return isinstance(value, str | os.PathLike | File)


def _read(function: Function, spec: InputSpec, value: Any) -> Any:
    """The table in a file, if the input is a DataFrame and the value names a file; else the value."""
    if spec.type != "DataFrame" or not _names_a_file(value):
        return value
    from autocoder_jupyter.data.columns_read import columns_read
    from autocoder_jupyter.data.readers import read_table

    reads = columns_read(function.code, function.inputs)
    return read_table(spec.name, value, function.shapes.get(spec.name), function.renames, reads)


def _require_geopandas(function: Function, spec: InputSpec, value: Any) -> None:
    """Check that a table with geometries can be read where the function runs."""
    if KINDS[spec.type].form != "table" or "geopandas" not in sys.modules:
        return
    from autocoder_jupyter.codec.geometry import LIBRARY, has_geometry

    if has_geometry(value) and not any(name_of(line) == LIBRARY for line in function.environment.lock):
        raise InvalidRequest(
            f"{spec.name} has geometries, but {function.name} was made without GeoPandas.",
            why="Its sandbox has only the packages that it was tested with.",
            hint=f"Run its cell with such a table, which installs GeoPandas there, or pass {spec.name}.to_wkt().",
        )


def misfit(function: Function, name: str, value: Any) -> str:
    """The reason why a value cannot be this input, as a sentence; "" if it can."""
    spec = next(spec for spec in function.inputs if spec.name == name)
    try:
        checked = checked_value(spec, _read(function, spec, value))
        if function.renames:
            checked = _with_own_names(function, name, checked, None)
        if KINDS[spec.type].form == "table":
            _with_recorded_dtypes(function, name, checked)
    except (InvalidRequest, DataDrift) as error:
        return error.what
    return ""


def by_name(function: Function, positional: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by the names of inputs.

    Raises:
        InvalidRequest: too many, unknown or doubled ones.
    """
    names = [spec.name for spec in function.inputs]
    if len(positional) > len(names):
        raise InvalidRequest(
            f"{function.name} takes {len(names)} inputs, {len(positional)} were given.",
            hint=f"Inputs: {', '.join(names) or 'none'}.",
        )
    given = dict(zip(names, positional, strict=False))
    for name, value in keywords.items():
        if name not in names:
            near = suggestion(name, [*names, *OPTIONS])
            raise InvalidRequest(
                f"{function.name} has no input {name!r}.", hint=near or f"Inputs: {', '.join(names) or 'none'}."
            )
        if name in given:
            raise InvalidRequest(f"{name} was given twice, by position and by name.")
        given[name] = value
    return given


def _with_own_names(function: Function, name: str, value: Any, notes: list[str] | None) -> Any:
    """The table with the column names that the function reads (`--rename`)."""
    from autocoder_jupyter.data.renames import renamed

    table, used = renamed(value, function.renames)
    if notes is not None:
        notes += [f"{function.name}: {name}[{has!r}] is read as {reads!r} (--rename)." for reads, has in used.items()]
    return table


def _that_crosses(function: Function, spec: InputSpec, value: Any, notes: list[str] | None) -> Any:
    """The table without what cannot go into the sandbox: what the function does not read, or was not there before."""
    shape = function.shapes.get(spec.name)
    if shape is None:
        return value
    from autocoder_jupyter.data.columns_read import columns_read
    from autocoder_jupyter.data.crossing import left_out, that_crosses
    from autocoder_jupyter.data.periods import expected_shape
    from autocoder_jupyter.data.shapes import column_literal, plain_shape

    reads = columns_read(function.code, function.inputs)
    known = {label for label, _ in expected_shape(shape, plain_shape(value)["columns"], reads)["columns"]}

    def is_needed(label: Any) -> bool:
        literal = column_literal(label)
        return reads.covers(literal) and (literal in known or str(label) in reads.names)

    made, words = that_crosses(value, is_needed, attrs_too="attrs" not in reads.names)
    if words and notes is not None:
        notes.append(f"{function.name}: {left_out(spec.name, words)}")
    return made


def _validated(function: Function, name: str, value: Any) -> Any:
    """The table as its contract returns it. A sample was validated before."""
    if value is function.samples.get(name):
        return value
    from autocoder_jupyter.contracts.applying import checked_input

    return checked_input(name, function.contracts[name], value)


def _samples_left(function: Function) -> str:
    return "" if function.samples or function.defaults else " The samples of the generation were not kept."


def _sample(function: Function, spec: InputSpec) -> Any:
    """The sample of an input. That of another pandas gets the dtypes in which the function was verified on it."""
    value, shape = checked_value(spec, function.samples[spec.name]), function.shapes.get(spec.name)
    if shape is None or KINDS[spec.type].form != "table":
        return value
    from autocoder_jupyter.data.columns_read import columns_read
    from autocoder_jupyter.data.drift import check_drift, has_shape, restore_dtypes

    if has_shape(value, shape) or check_drift(spec.name, value, shape):
        return value
    return restore_dtypes(value, shape, columns_read(function.code, function.inputs))


def _with_recorded_dtypes(function: Function, name: str, value: Any, notes: list[str] | None = None) -> Any:
    """The table with the dtypes of the samples, where the difference is only one of representation."""
    shape = function.shapes.get(name)
    if shape is None:
        return value
    from autocoder_jupyter.data.columns_read import columns_read
    from autocoder_jupyter.data.drift import (
        check_drift,
        has_shape,
        remaining_differences,
        restore_dtypes,
        unread_drift,
        with_known_categories,
    )

    shape = with_known_categories(shape, function.samples.get(name))
    if has_shape(value, shape):
        return value
    reads = columns_read(function.code, function.inputs)
    sentence = check_drift(name, value, shape, reads)
    if sentence:
        why, hint = _group_hint(function, value)
        if not why:
            hint = _conversion_hint(function, name, value, shape, reads) or hint
        raise DataDrift(sentence, why=why, hint=hint)
    made = restore_dtypes(value, shape, reads)
    if notes is not None:
        unread = unread_drift(name, value, shape, reads) if shape.get("type") == "DataFrame" else None
        differing = filter(None, (unread, remaining_differences(name, made, shape, reads)))
        notes += [f"{function.name}: {note}" for note in differing]
    return made


def _conversion_hint(function: Function, name: str, value: Any, shape: Mapping[str, Any], reads: ColumnsRead) -> str:
    """The code that gives a table the columns and dtypes of the sample; "" if nothing is likely to."""
    if shape.get("type") != "DataFrame":
        return ""
    from autocoder_jupyter.data.drift import conversions
    from autocoder_jupyter.data.renames import call_with, likely_renames, option_of
    from autocoder_jupyter.data.value_drift import recorded_values

    hints = []
    if pairs := likely_renames(value, shape, recorded_values(function.values.get(name)), reads):
        alike = ", ".join(f"{has!r} is like {reads_!r}" for reads_, has in pairs.items())
        option = option_of(pairs)
        kept = f"; {option} in its cell keeps that with the function" if option else ""
        hints.append(f"{alike}. If it is the same: {call_with(function.name, name, pairs)}{kept}.")
    if lines := conversions(name, value, shape, reads, function.samples.get(name)):
        hints.append(f"To convert: {'; '.join(lines)}")
    return " ".join(map(visible, hints))


def _group_hint(function: Function, value: Any) -> tuple[str, str]:
    """Why a frame may lack a column, and what to do. `groupby(…).apply` omits the key columns from each group."""
    if "name" not in vars(value):
        return "", "Bring the frame into that form, or run the cell again with the new one."
    return (
        "groupby(…).apply leaves the grouping columns out of the groups that it passes to a function.",
        f"Choose the columns: df.groupby(…)[list(df.columns)].apply({function.name})",
    )
