"""The table of the types of inputs and outputs, one record each, and the element types of lists and dicts."""

from __future__ import annotations

import ast
import datetime as dt
import re
from pathlib import PurePath
from typing import Any, get_args

from autocoder_jupyter.kinds import values
from autocoder_jupyter.kinds.values import Dir, File, Kind, TypeName
from autocoder_jupyter.untrusted.parsing import parse_expression

# The types. pandas and pydantic are imported only when they are needed.

_VALUES = "autocoder_jupyter.kinds.values"

KINDS: dict[TypeName, Kind] = {
    "str": Kind(
        python="builtins:str",
        annotation="str",
        form="single",
        words="str string text char character varchar category categorical uuid url",
        accept=values.text,
        json=(str,),
        empty="an empty text",
        reader="str",
        metavar="TEXT",
    ),
    "int": Kind(
        python="builtins:int",
        annotation="int",
        form="single",
        words="int integer int8 int16 int32 int64 uint8 uint16 uint32 uint64 long count wholenumber",
        accept=values.whole,
        json=(int,),
        reader="int",
        metavar="INT",
        names_columns=False,
    ),
    "float": Kind(
        python="builtins:float",
        annotation="float",
        form="single",
        words="float float16 float32 float64 double number numeric real decimal percentage",
        accept=values.number,
        json=(int, float),
        empty="NaN",
        reader="float",
        metavar="FLOAT",
        names_columns=False,
    ),
    "bool": Kind(
        python="builtins:bool",
        annotation="bool",
        form="single",
        words="bool boolean bool_ flag",
        accept=values.truth,
        json=(bool,),
        reader="_cli_bool",
        names_columns=False,
    ),
    "datetime": Kind(
        python="datetime:datetime",
        annotation="datetime.datetime",
        form="time",
        words="datetime datetime64 timestamp",
        aliases=("Timestamp",),
        accept=values.time,
        hint=values.hint_of_datetime,
        json=(str,),
        from_json=dt.datetime.fromisoformat,
        source=lambda default: f"datetime.datetime.fromisoformat({default!r})",
        from_iso=values.iso_datetime,
        iso_example="Write it as ISO text: 2024-01-31T12:00.",
        reader="_cli_datetime",
        metavar="ISO-TIME",
        names_columns=False,
    ),
    "date": Kind(
        python="datetime:date",
        annotation="datetime.date",
        form="time",
        words="date",
        accept=values.day,
        hint=values.hint_of_date,
        json=(str,),
        from_json=dt.date.fromisoformat,
        source=lambda default: f"datetime.date.fromisoformat({default!r})",
        from_iso=values.iso_date,
        iso_example="Write it as ISO text: 2024-01-31.",
        reader="_cli_date",
        metavar="ISO-DATE",
        names_columns=False,
    ),
    "timedelta": Kind(
        python="datetime:timedelta",
        annotation="datetime.timedelta",
        form="time",
        words="timedelta timedelta64 duration",
        aliases=("Timedelta",),
        accept=values.duration,
        hint=values.hint_of_duration,
        json=(str, int, float),
        from_json=values.duration_from_json,
        source=values.duration_source,
        from_iso=values.iso_duration,
        iso_example="Write it as an ISO duration: P1D, PT36H, PT90S.",
        reader="_cli_timedelta",
        metavar="DURATION",
        names_columns=False,
    ),
    "File": Kind(
        python=f"{_VALUES}:File",
        annotation="pathlib.Path",
        form="path",
        words="file path posixpath filepath",
        aliases=("Path", "PosixPath"),
        accept=values.instance(File),
        hint=values.hint_of_path("File"),
        from_json=File,
        reader="_cli_path",
        metavar="FILE",
        sample_hint="Pass a plain file that can be read.",
    ),
    "Dir": Kind(
        python=f"{_VALUES}:Dir",
        annotation="pathlib.Path",
        form="path",
        words="dir directory folder",
        accept=values.instance(Dir),
        hint=values.hint_of_path("Dir"),
        from_json=Dir,
        reader="_cli_path",
        metavar="FOLDER",
        sample_hint="Pass a folder of plain files, without links.",
        is_compared=False,
    ),
    "DataFrame": Kind(
        python="pandas:DataFrame",
        annotation="pd.DataFrame",
        form="table",
        words="dataframe table geodataframe",
        aliases=("GeoDataFrame",),
        accept=values.of_pandas("DataFrame"),
        hint=values.hint_of_frame,
        empty="an empty frame",
        reader="_cli_table",
        metavar="TABLE",
    ),
    "Series": Kind(
        python="pandas:Series",
        annotation="pd.Series",
        form="table",
        words="series geoseries",
        aliases=("GeoSeries",),
        accept=values.of_pandas("Series"),
        hint=values.hint_of_series,
        empty="an empty Series",
        reader="_cli_series",
        metavar="TABLE",
    ),
    "dict": Kind(
        python="builtins:dict",
        annotation="dict",
        form="container",
        words="dict dictionary mapping mutablemapping ordereddict defaultdict counter json jsonobject object",
        accept=values.mapping,
        json=(dict,),
        empty="an empty dict",
        reader="_cli_json",
        metavar="JSON",
    ),
    "list": Kind(
        python="builtins:list",
        annotation="list",
        form="container",
        words="list array ndarray tuple set frozenset sequence iterable collection jsonarray vector",
        accept=values.sequence,
        json=(list,),
        empty="an empty list",
        reader="_cli_json",
        metavar="JSON",
    ),
    "Figure": Kind(
        python=f"{_VALUES}:Figure",
        annotation="matplotlib.figure.Figure",
        form="figure",
        words="figure plot chart matplotlibfigure",
        accept=values.never,
        is_input=False,
        is_compared=False,
    ),
}

TYPE_NAMES: tuple[TypeName, ...] = get_args(TypeName)

INPUT_TYPE_NAMES: tuple[TypeName, ...] = tuple(name for name, kind in KINDS.items() if kind.is_input)


_MODULES = re.compile(
    r"\b(?:pd|pandas|np|numpy|datetime|dt|typing|t|pathlib|plt|matplotlib(?:\.figure)?|collections(?:\.abc)?)\.(?=[A-Za-z])"
)
_OTHER_NAMES = {
    **dict.fromkeys(("string", "String"), "str"),
    **dict.fromkeys(("integer", "Integer", "int64", "int32"), "int"),
    **dict.fromkeys(("double", "number", "float64", "float32"), "float"),
    **dict.fromkeys(("boolean", "Boolean", "bool_"), "bool"),
    "Timestamp": "datetime",
    "Timedelta": "timedelta",
    "List": "list",
    "Dict": "dict",
}


def plain_type(text: str) -> str:
    """A type as it is written here, from what is usual elsewhere: `pd.Timestamp`, `List[str]`, `np.float64`."""
    bare = _MODULES.sub("", text.strip(" \t'\"\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"))
    return re.sub(r"[A-Za-z_]\w*", lambda found: _OTHER_NAMES.get(found[0], found[0]), bare)


def type_name(value: object) -> TypeName:
    """The `TypeName` of a class (`float`, `pd.DataFrame`, `File` …) or of a class name.

    Tables and figures can be classes of other libraries.

    Raises:
        ValueError: the class or name is not known.
    """
    called = value if isinstance(value, str) else getattr(value, "__name__", type(value).__name__)
    for name, kind in KINDS.items():
        is_called = called == name or called in kind.aliases
        if is_called and not (isinstance(value, type) and _only_has_the_name(value, kind)):
            return name
    raise ValueError(f"{called!r} is not one of {', '.join(TYPE_NAMES)}")


def _only_has_the_name(given: type, kind: Kind) -> bool:
    """Whether a class has the name of a type, but its values cannot be such a value."""
    if kind.form == "figure" or issubclass(given, kind.python_type):
        return False
    if kind.form == "table":
        return not any(hasattr(given, name) for name in ("to_pandas", "__dataframe__"))
    return not (kind.form == "path" and issubclass(given, PurePath))


# Element types: `str` in `list[str]`, `float` in `dict[str, float]`
#
# Keys are always texts. An output may also be a list or dict of tables or figures: `list[Figure]`.

_SCALARS: dict[str, Any] = {"str": str, "int": int, "float": (int, float), "bool": bool}
_SAME = {
    "string": "str",
    "text": "str",
    "integer": "int",
    "number": "float",
    "double": "float",
    "boolean": "bool",
    "List": "list",
    "Dict": "dict",
    "Mapping": "dict",
    "Sequence": "list",
    "array": "list",
}
WHOLE = ("DataFrame", "Series", "Figure")
"""Types that only the elements of an output itself may have, not those of a list inside it."""

_DEEPEST = 8
LONGEST = 200
"""Maximum length of a type annotation."""


def elements_of(text: str) -> str:
    """The type of the elements of a list, or of the values of a dict, in canonical form; "" if it is not given."""
    try:
        node = parse_expression(text) if len(text) <= LONGEST else None
        return _inner(node, 0) if isinstance(node, ast.Subscript) else ""
    except (SyntaxError, ValueError):
        return ""


def _inner(node: ast.Subscript, depth: int) -> str:
    """The type between the brackets."""
    name = _name(node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "dict" and len(parts) == 2 and _written(parts[0], depth + 1) == "str":
        return _written(parts[1], depth + 1)
    if name == "list" and len(parts) == 1:
        return _written(parts[0], depth + 1)
    raise ValueError(name)


def _written(node: ast.expr, depth: int) -> str:
    if depth > _DEEPEST:
        raise ValueError("too deep")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return " | ".join(dict.fromkeys(_written(side, depth + 1) for side in (node.left, node.right)))
    if isinstance(node, ast.Constant) and node.value is None:
        return "None"
    if isinstance(node, ast.Subscript):
        inner = _inner(node, depth)
        return f"list[{inner}]" if _name(node.value) == "list" else f"dict[str, {inner}]"
    name = _name(node)
    if name in WHOLE and depth == 1:
        return name
    if name not in (*_SCALARS, "list", "dict"):
        raise ValueError(name)
    return name


def _name(node: ast.expr) -> str:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return _SAME.get(name, name)


def canonical(elements: str) -> str:
    """The element type of a record, in canonical form; "" if it is not valid, because the record is not trusted."""
    return elements_of(f"list[{elements}]") if elements else ""


def python_type(kind: type, elements: str) -> Any:
    """The class with its element type, for a signature: `list[str]`."""
    if not elements:
        return kind
    if elements in WHOLE:
        inner: Any = next(found.python_type for name, found in KINDS.items() if name == elements)
    else:
        inner = _python(parse_expression(elements))
    return dict[str, inner] if kind is dict else list[inner]


def _python(node: ast.expr) -> Any:
    match node:
        case ast.BinOp(left=left, right=right):
            return _python(left) | _python(right)
        case ast.Constant():
            return None
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return list[_python(inner)]  # type: ignore[misc]
        case ast.Subscript(slice=ast.Tuple(elts=[_, inner])):
            return dict[str, _python(inner)]  # type: ignore[misc]
        case ast.Name(id=name):
            return {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict}[name]
    raise ValueError(elements_of(ast.unparse(node)))


def written(kind: str, elements: str) -> str:
    """A type with its element type as text: `dict[str, float]`."""
    if not elements:
        return kind
    return f"dict[str, {elements}]" if kind == "dict" else f"list[{elements}]"


def misfit(value: Any, elements: str) -> str:
    """The first element of a wrong type, described without its value; "" if all have the right type.

    An int is accepted as a float.
    """
    if not elements:
        return ""
    node = parse_expression(elements)
    what, items = ("value", value.values()) if isinstance(value, dict) else ("element", value)
    for number, item in enumerate(items, start=1):
        if not _is(item, node):
            return f"{what} {number} is of type {type(item).__name__}, not {elements}"
    return ""


def _is(value: Any, node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name) if name in WHOLE:
            return name in (kind.__name__ for kind in type(value).__mro__)
        case ast.BinOp(left=left, right=right):
            return _is(value, left) or _is(value, right)
        case ast.Constant():
            return value is None
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return isinstance(value, list) and all(_is(item, inner) for item in value)
        case ast.Subscript(slice=ast.Tuple(elts=[_, inner])):
            return isinstance(value, dict) and all(_is(item, inner) for item in value.values())
        case ast.Name(id="list"):
            return isinstance(value, list)
        case ast.Name(id="dict"):
            return isinstance(value, dict)
        case ast.Name(id=name):
            return isinstance(value, _SCALARS[name]) and (name == "bool" or not isinstance(value, bool))
    return False
