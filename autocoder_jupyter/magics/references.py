"""Variables of the notebook: the data of a request (`@name`, `-s`), and descriptions of all of them for a page."""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, report_progress
from autocoder_jupyter.data.sources import lazy_kind
from autocoder_jupyter.databases.connections import is_connection
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.kinds.values import one_table
from autocoder_jupyter.magics.command import CellCommand
from autocoder_jupyter.magics.contracts import names_a_schema, schema_names
from autocoder_jupyter.magics.notebook import is_ours, is_result
from autocoder_jupyter.magics.recognition import NameInProse, recognised
from autocoder_jupyter.magics.settings import suggestion
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.types import Dir, File, InputSpec
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.types import Helpers

_REFERENCE = re.compile(r"(?<![\w@])@([A-Za-z_]\w*)")
"""It does not match `me@example.org`, nor `@@name`, which means the text `@name`."""

WHAT_CAN_BE_REFERRED_TO = "a DataFrame, a Series, File(…), Dir(…) or a connection to a database"
_CODE = "a function, class or module of yours, or a verified function"


def find_references(prose: str) -> tuple[str, ...]:
    """The names after an `@`, each once, in the order of their first occurrence."""
    return tuple(dict.fromkeys(_REFERENCE.findall(prose)))


def mentions(prose: str) -> Iterator[tuple[str, int, int]]:
    """Each `@name`: the name, where the at sign is, and where the name ends."""
    for found in _REFERENCE.finditer(prose):
        yield found[1], found.start(), found.end()


def kind_of(value: object) -> str | None:
    """`DataFrame`, `Series`, `File` or `Dir`, also of Flyte; `table` for one of another library, `database` for a
    connection; None for other values.

    pandas is not imported: if there is a DataFrame, it is imported already.
    """
    if isinstance(value, File | Dir):
        return type(value).__name__
    if "flyte" in sys.modules and (of_flyte := _of_flyte(value)):
        return of_flyte
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.DataFrame):
        return "DataFrame"
    if pandas is not None and isinstance(value, pandas.Series):
        return "Series"
    if is_connection(value):
        return "database"
    # The type is inspected, because an attribute of a proxy object may start a computation.
    converts = any(callable(getattr(type(value), way, None)) for way in ("to_pandas", "__dataframe__"))
    return "table" if (converts or lazy_kind(value) is not None) and not isinstance(value, type) else None


_CODE_TYPES = (
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type),
    *(functools.partial, type(functools.lru_cache(len))),
)

MAX_VARIABLES = 100
"""Maximum number of variables of one type that are compared with an input."""


def fitting_variables(result: Any, inputs: Iterable[InputSpec], namespace: Mapping[str, object]) -> dict[str, str]:
    """For each input that is data, a variable of the notebook that fits it: that of its name, or else the newest one.

    Without one, `...` stands for it if there is no sample either.
    """
    variables, samples = dict(namespace), getattr(result, "original_samples", {})
    found: dict[str, str] = {}
    for spec in inputs:
        if not (spec.required and KINDS[spec.type].is_data):
            continue
        kinds = (spec.type, "table") if spec.type == "DataFrame" else (spec.type,)
        free = [name for name in variables if name.isidentifier() and name[0] != "_" and name not in found.values()]
        names = [name for name in free if kind_of(variables[name]) in kinds][-MAX_VARIABLES:]
        names.sort(key=lambda name: name == spec.name)
        fits = (name for name in reversed(names) if _fits(result, spec, variables[name]))
        if name := next(fits, spec.name if spec.name in names else ""):
            found[spec.name] = name
        elif spec.name not in samples:
            found[spec.name] = "..."
    return found


def _fits(result: Any, spec: InputSpec, value: object) -> bool:
    """Whether a value is known to fit. Only a call converts a table of another library, or fetches data of Flyte."""
    from autocoder_jupyter.types.of_flyte import has_data_of_flyte

    if kind_of(value) == "table" or has_data_of_flyte({spec.name: value}) or not hasattr(result, "misfit"):
        return False
    return not result.misfit(spec.name, value)


def _of_flyte(value: object) -> str:
    from autocoder_jupyter.types.of_flyte import declared_of_flyte

    name = declared_of_flyte(type(value))
    return "table" if name == "DataFrame" else name


def collect_samples(
    command: CellCommand, namespace: Mapping[str, Any], *, may_sample: bool = True, helpers: Collection[str] = ()
) -> dict[str, Any]:
    """The data of a request, captured as they are now: each `@name` in order of occurrence, then those of `-s`.

    The names of `helpers` stand for code, and are left out. Connections to databases are left as they are; without
    `may_sample` they are refused.
    """
    from autocoder_jupyter.data.capture import require_plain

    named = {option.name: option.expression for option in command.samples}
    declared = {spec.name: spec.type for spec in command.inputs}
    samples: dict[str, Any] = {}
    for name in find_references(command.prompt):
        if name in named:
            samples[name] = _evaluated(name, named[name], namespace)
        elif name not in helpers and (name in namespace or name not in declared):
            samples[name] = referred(name, namespace, declared)
    for name, expression in named.items():
        if name not in samples:
            samples[name] = _evaluated(name, expression, namespace)
    for name, value in samples.items():
        require_plain(name, value)
    connections = {name: value for name, value in samples.items() if may_sample and is_connection(value)}
    data = {name: value for name, value in samples.items() if value is not None and name not in connections}
    captured = {**_captured(data, may_sample), **connections}
    _refuse_outputs(command, captured)
    _refuse_other_types(captured, declared)
    return captured


def helper_names(command: CellCommand, namespace: Mapping[str, Any]) -> tuple[str, ...]:
    """Each `@name` that stands for code: a function, class or module of the user, or a verified function."""
    data = {*(option.name for option in command.samples), *(spec.name for spec in command.inputs)}
    return tuple(name for name in find_references(command.prompt) if name not in data and is_code(namespace.get(name)))


def is_code(value: object) -> bool:
    """Whether a request can refer to a value as a helper. It may still be one that cannot be passed."""
    return is_result(value) or isinstance(value, _CODE_TYPES)


def collect_helpers(command: CellCommand, namespace: Mapping[str, Any], before: Helpers | None = None) -> Helpers:
    """The helpers of a request, captured as they are now; if it names none, those of the request that it refines."""
    from autocoder_jupyter.agent.helpers import captured_helpers
    from autocoder_jupyter.types import Helpers

    new, before = helper_names(command, namespace), before or Helpers()
    if command.name in new:
        raise InvalidRequest(
            f"@{command.name} is the function that this cell writes.",
            why="A function cannot build on itself.",
            hint="Leave the at sign out, or give the new function another name.",
        )
    if not new:
        return before
    own = [one.name for one in before.given if one.kind != "built-in"]
    if lacking := [name for name in own if name not in new]:  # a record must not name what is looked up
        raise InvalidRequest(
            f"{command.name} builds on {', '.join(lacking)} too.",
            why="A change that refers to helpers refers to all of them.",
            hint=f"Write {' and '.join(f'@{name}' for name in lacking)} in it as well.",
        )
    return captured_helpers({name: namespace[name] for name in new})


def named_samples(names: Sequence[str], namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The data that a line passes by the names of their variables, captured as they are now."""
    return _captured({name: referred(name, namespace, {}) for name in (name.removeprefix("@") for name in names)})


def _captured(samples: Mapping[str, Any], may_sample: bool = True) -> dict[str, Any]:
    from autocoder_jupyter.data.capture import capture
    from autocoder_jupyter.data.sampling import is_source, sampled
    from autocoder_jupyter.data.sources import refuse_lazy

    for name, value in samples.items():
        if not (may_sample and is_source(value)):
            refuse_lazy(value, name)
    if any(map(is_source, samples.values())):
        samples = background.run(sampled(samples))
    return {name: capture(value) for name, value in on_this_machine(samples).items()}


def on_this_machine(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values by name; what is data of Flyte is fetched."""
    from autocoder_jupyter.types.of_flyte import has_data_of_flyte

    return background.run(_fetched(values)) if has_data_of_flyte(values) else values


async def _fetched(samples: Mapping[str, Any]) -> dict[str, Any]:
    """The samples; what is data of Flyte is on this machine."""
    from autocoder_jupyter.data.sampling import SECONDS
    from autocoder_jupyter.types.of_flyte import all_fetched

    report_progress(Awaited(", ".join(samples), lambda: "fetched by Flyte", "interrupt to stop it"))
    return await all_fetched(samples, SECONDS, "Download it first with download_sync(), and pass File(…).")


def hints(command: CellCommand, namespace: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each frame or file that the text names without an `@`, because the `@` may be missing.

    Names that the cell passes or declares are left out, and so are words that are columns of the passed frames.
    """
    declared = [*(spec.name for spec in command.inputs), *(spec.name for spec in command.outputs), command.name]
    given_names = {*find_references(command.prompt), *(sample.name for sample in command.samples)}
    return tuple(
        " ".join(describe_unmarked(found, namespace))
        for found in unmarked(command.prompt, given_names, declared, namespace)
    )


def unmarked(
    prompt: str, given_names: Collection[str], declared: Collection[str], namespace: Mapping[str, Any]
) -> tuple[NameInProse, ...]:
    """Frames and files that the prose names without an at sign, as words or nearly, at their first mention."""
    known = {*given_names, *declared, *columns_of(given_names, namespace)}
    found = [
        one
        for one in recognised(
            prompt, list(namespace), lambda name: name not in known and kind_of(namespace[name]) is not None
        )
        if prompt[one.start : one.end] not in known
    ]
    for one in list(found):  # a word may be a column of another frame that is meant
        others = [other.name for other in found if other is not one]
        if kind_of(namespace[one.name]) != "DataFrame" and one.name in columns_of(others, namespace):
            found.remove(one)
    return tuple(found)


def describe_unmarked(found: NameInProse, namespace: Mapping[str, Any]) -> tuple[str, str]:
    """The problem of a name without an at sign, and what to write."""
    what = f"{found.name} is a {kind_of(namespace[found.name])} of the notebook, and the request does not pass it."
    return what, f"Write @{found.name} to pass it."


def columns_of(names: Iterable[str], namespace: Mapping[str, Any]) -> Iterator[str]:
    """The names of the columns of these variables that are frames."""
    for name in names:
        value = namespace.get(name)
        columns = getattr(value, "columns", ()) if kind_of(value) == "DataFrame" else ()
        yield from (column for column in columns if isinstance(column, str))


def read_schema(schema: str | None, namespace: Mapping[str, Any]) -> str | None:
    """The text of `--schema`; `@name` means the text in that variable. None if the variable holds a pandera schema."""
    if names_a_schema(schema, namespace):
        return None
    if schema is None or not re.fullmatch(r"@[A-Za-z_]\w*", schema.strip()):
        return schema
    name = schema.strip()[1:]
    if name not in namespace:
        texts = [key for key, value in namespace.items() if isinstance(value, str) and not key.startswith("_")]
        texts += schema_names(namespace)
        raise InvalidRequest(f"--schema @{name}: there is no {name!r}.", hint=suggestion(name, texts, mark="@"))
    value = namespace[name]
    if not isinstance(value, str):
        raise InvalidRequest(f"--schema @{name}: {name!r} is {_a(value)}, neither a string nor a pandera schema.")
    return value


def data_names(namespace: Mapping[str, Any]) -> list[str]:
    """The variables of the notebook that `@name` can refer to."""
    return [name for name, value in namespace.items() if not name.startswith("_") and kind_of(value) is not None]


def referred(name: str, namespace: Mapping[str, Any], declared: Mapping[str, str]) -> Any:
    """The value that `@name` stands for; None for a declared input that is not data."""
    if name not in namespace:
        hint = suggestion(name, data_names(namespace), mark="@")
        raise InvalidRequest(
            f"There is no {name!r} in the notebook, and the request refers to @{name}.",
            hint=f"{hint} If it is not a variable, write @@{name}.".strip(),
        )
    value = namespace[name]
    if not _is_data(value):
        if name in declared:
            return None
        raise InvalidRequest(
            f"@{name} is {_a(value)}; a request can refer to {WHAT_CAN_BE_REFERRED_TO}, or to {_CODE}.",
            hint=_hint_for(name, value),
        )
    return value


def _hint_for(name: str, value: object) -> str:
    if isinstance(value, bool | int | float | str):
        return (
            f'Declare it as an input, -i "{name}: {type(value).__name__} = {_code(value)}", or write the value itself.'
        )
    if isinstance(value, list | dict):
        table = one_table(name, value)
        if "concat" in table:
            return f"Make one table of it: {name} = {table}."
        return f'Declare it as an input: -i "{name}: {type(value).__name__}".'
    if type(value).__name__ == "ndarray" and (kind := {1: "Series", 2: "DataFrame"}.get(getattr(value, "ndim", 0))):
        return f"Make a {kind} of it: {name} = pd.{kind}({name})."
    return ""


def defined_before(command: CellCommand, namespace: Mapping[str, Any], samples: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each verified function that already computes something that the request of a new function names.

    A request that could build on it would otherwise give the same term a second definition. Terms of one word, such as
    `total`, are left out: most mean something else in each request.
    """
    named = {*find_references(command.prompt), command.name}
    given = {*samples, *(str(label) for value in samples.values() for label in getattr(value, "columns", ()))}
    texts = " . ".join((command.prompt, *(output.name for output in command.outputs)))
    words = " ".join(re.findall(r"[^\W_]+|\.", texts.lower()))
    found = []
    for name, value in tuple(namespace.items()):
        if name in named or not name.isidentifier() or name[0] == "_" or not is_result(value):
            continue
        term = next((term for term in _terms(name, value) if term not in given and _is_in(term, words)), None)
        if term is not None:
            found.append(
                f"{name}, which is verified, computes {visible(term)}. To build on it, write @{name} in the request."
            )
    return tuple(found[:MOST_TERMS])


MOST_TERMS = 3
"""Functions that a cell names as already there."""


def _terms(name: str, result: Any) -> Iterator[str]:
    """What a verified function computes: its outputs and their columns, and its own name."""
    report = result.report if result.done and result.last_good is result else None
    if report is None or report.plan is None or report.contracts:
        return
    yield name
    for output in report.plan.outputs:
        yield output.name
        yield from (column.name for column in output.columns)


def _is_in(term: str, words: str) -> bool:
    """Whether a text has a term of at least two words, the last one perhaps in the plural."""
    parts = re.findall(r"[^\W_]+", term.lower())
    return len(parts) > 1 and re.search(rf"\b{re.escape(' '.join(parts))}s?\b", words) is not None


def without_rows(samples: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each table without rows: a filter may have matched nothing."""
    return tuple(
        f"{name} has no rows, so the function is not tried on any row of yours."
        for name, value in samples.items()
        if kind_of(value) in ("DataFrame", "Series") and len(value) == 0
    )


def require_variable(name: str, expression: str, namespace: Mapping[str, Any]) -> None:
    """Require that the variable of `-s name=variable` exists; other expressions are not checked."""
    if expression.isidentifier() and expression not in namespace:
        hint = suggestion(expression, data_names(namespace))
        raise InvalidRequest(f"-s {name}: there is no {expression!r} in the notebook.", hint=hint)


def _evaluated(name: str, expression: str, namespace: Mapping[str, Any]) -> Any:
    require_variable(name, expression, namespace)
    try:
        value = eval(expression, {"File": File, "Dir": Dir, **namespace})
    except Exception as error:
        raise InvalidRequest(f"-s {name}={expression} fails.", why=f"{type(error).__name__}: {error}") from error
    if not _is_data(value):
        raise InvalidRequest(
            f"-s {name} is {_a(value)}; a sample is {WHAT_CAN_BE_REFERRED_TO}.", hint=_hint_for(name, value)
        )
    return value


def _is_data(value: Any) -> bool:
    if isinstance(value, str | PurePath):
        from autocoder_jupyter.data.sampling import is_source

        return is_source(value)
    return kind_of(value) is not None


def _refuse_outputs(command: CellCommand, samples: Mapping[str, Any]) -> None:
    for output in command.outputs:
        if output.name in samples:
            raise InvalidRequest(
                f"{output.name!r} is both an input and an output.", hint="Call the output differently, or the sample."
            )


def _refuse_other_types(samples: Mapping[str, Any], declared: Mapping[str, str]) -> None:
    for name, value in samples.items():
        if name in declared and declared[name] != kind_of(value):
            raise InvalidRequest(f"{name!r} is declared as {declared[name]}, but the sample is a {kind_of(value)}.")


def _code(value: object) -> str:
    """A value as source code, if it is short."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "…"
    return text if len(text) <= 60 else "…"


def _a(value: object) -> str:
    name = "None" if value is None else type(value).__name__
    return name if value is None else f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


# Descriptions of variables: name, type, size and columns. Nothing is computed on the data.

_log = redacting_logger(__name__)

MOST_VARIABLES = 200
MOST_COLUMNS = 100
"""Maximum number of columns that are listed for one variable."""

MOST_COLUMNS_IN_ALL = 3000
"""With more columns in total, only their number is sent: messages must stay small and fast."""

MOST_OTHERS = 1000
"""Maximum number of other variables, which are listed with their type only."""

HINTED_COLUMNS = 3

MOST_CHARACTERS = 120
"""Maximum length of a label or a dtype."""


class Column(TypedDict):
    """One column of a table; `IColumn` on the page's side."""

    name: str
    dtype: str


class Facts(TypedDict):
    """Facts about a value that need no computation."""

    rows: NotRequired[int]
    columns: NotRequired[list[Column]]
    column_count: NotRequired[int]
    path: NotRequired[str]


class Variable(Facts):
    """A value of the notebook that a request can refer to; `IVariable` on the page's side."""

    name: str
    type: str


def describe(namespace: Mapping[str, Any]) -> list[Variable]:
    """Describe each variable as JSON. Call it on the thread that owns the data.

    For tables of polars and pyarrow, size and columns are available without computation. For other libraries only
    the type is sent, because an attribute could start a computation.
    """
    described: list[Variable] = []
    left = MOST_COLUMNS_IN_ALL
    for name, value in tuple(namespace.items()):
        kind = None if name.startswith("_") else kind_of(value)
        if kind is None:
            continue
        if len(described) == MOST_VARIABLES:
            break
        facts = _facts(kind, name, value, min(left, MOST_COLUMNS))
        left -= len(facts.get("columns", ()))
        described.append({"name": name, "type": kind, **facts})
    return described


def others(namespace: Mapping[str, Any]) -> dict[str, str]:
    """The types of the other variables by name: a request cannot refer to them, and a result must not replace them.

    The values are not inspected. Results are left out, because a new result may replace them.
    """
    found: dict[str, str] = {}
    for name, value in tuple(namespace.items()):
        if len(found) == MOST_OTHERS:
            break
        if not name.startswith("_") and kind_of(value) is None and not is_ours(value):
            found[_label(name)] = _label(type(value).__name__)
    return found


def hint(variable: Variable) -> str:
    """A described variable in one line: `DataFrame 1,000 × 20: price float64, day datetime64[ns] …`."""
    columns = variable.get("columns", ())
    size = ""
    if "rows" in variable:
        wide = "" if variable["type"] == "Series" else f" × {variable['column_count']:,}"
        size = f" {variable['rows']:,}{wide}"
    named = ", ".join(f"{column['name']} {column['dtype']}" for column in columns[:HINTED_COLUMNS])
    more = " …" if len(columns) > HINTED_COLUMNS else ""
    return f"{variable['type']}{size}{': ' if named else ''}{named}{more}"


def _facts(kind: str, name: str, value: Any, most: int) -> Facts:
    try:
        if kind in ("File", "Dir"):
            return {"path": visible(value.path)}
        if kind == "DataFrame":
            rows, count = value.shape
            return _table(rows, count, zip(value.columns, value.dtypes.array, strict=False), most)
        if kind == "Series":
            return _table(len(value), 1, [(name if value.name is None else value.name, value.dtype)], most)
        return _foreign(value, most)
    except Exception:  # a subclass or another library may raise anything; the variable is still listed
        _log.debug("%s cannot be described", name, exc_info=True)
        return {}


def _foreign(value: Any, most: int) -> Facts:
    library = type(value).__module__.partition(".")[0]
    if library == "polars" and type(value).__name__ == "DataFrame":
        return _table(value.height, value.width, value.schema.items(), most)
    if library == "pyarrow" and type(value).__name__ in ("Table", "RecordBatch"):
        fields = zip(value.schema.names, value.schema.types, strict=True)
        return _table(value.num_rows, value.num_columns, fields, most)
    return {}


def _table(rows: int, count: int, columns: Iterable[tuple[Any, Any]], most: int) -> Facts:
    dtypes: dict[int, tuple[Any, str]] = {}  # most columns share a few dtypes, and formatting one takes microseconds
    shown: list[Column] = []
    for label, dtype in islice(columns, most):
        if id(dtype) not in dtypes:
            dtypes[id(dtype)] = (dtype, _label(dtype))
        shown.append({"name": _label(label), "dtype": dtypes[id(dtype)][1]})
    return {"rows": int(rows), "columns": shown, "column_count": int(count)}


def _label(value: object) -> str:
    try:
        text = visible(str(value)[: MOST_CHARACTERS + 1])
    except Exception:  # a label can be an object of any type
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
