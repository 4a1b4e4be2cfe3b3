"""The table of the types, one record each. pandas and pydantic are imported only when they are needed."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import PurePath
from typing import get_args

from autocoder_jupyter.kinds import checks, texts
from autocoder_jupyter.kinds.kind import Kind, TypeName
from autocoder_jupyter.kinds.values import Dir, File

_VALUES = "autocoder_jupyter.kinds.values"

KINDS: dict[TypeName, Kind] = {
    "str": Kind(
        python="builtins:str",
        annotation="str",
        form="single",
        words="str string text char character varchar category categorical uuid url",
        accept=checks.text,
        json=(str,),
        parse=str,
        expects="a text",
        empty="an empty text",
        reader="str",
        metavar="TEXT",
    ),
    "int": Kind(
        python="builtins:int",
        annotation="int",
        form="single",
        words="int integer int8 int16 int32 int64 uint8 uint16 uint32 uint64 long count wholenumber",
        accept=checks.whole,
        json=(int,),
        parse=int,
        expects="a whole number",
        placeholder="a whole number",
        reader="int",
        metavar="INT",
        names_columns=False,
    ),
    "float": Kind(
        python="builtins:float",
        annotation="float",
        form="single",
        words="float float16 float32 float64 double number numeric real decimal percentage",
        accept=checks.number,
        json=(int, float),
        parse=texts.finite,
        expects="a number",
        placeholder="a number",
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
        accept=checks.truth,
        json=(bool,),
        parse=texts.truth,
        expects="True or False",
        reader="_cli_bool",
        names_columns=False,
    ),
    "datetime": Kind(
        python="datetime:datetime",
        annotation="datetime.datetime",
        form="time",
        words="datetime datetime64 timestamp",
        aliases=("Timestamp",),
        accept=checks.time,
        hint=checks.hint_of_datetime,
        json=(str,),
        from_json=dt.datetime.fromisoformat,
        source=lambda default: f"datetime.datetime.fromisoformat({default!r})",
        from_iso=texts.iso_datetime,
        iso_example="Write it as ISO text: 2024-01-31T12:00.",
        parse=dt.datetime.fromisoformat,
        expects="a date and time such as 2025-01-31 13:30",
        show=dt.datetime.isoformat,
        reader="_cli_datetime",
        metavar="ISO-TIME",
        names_columns=False,
    ),
    "date": Kind(
        python="datetime:date",
        annotation="datetime.date",
        form="time",
        words="date",
        accept=checks.day,
        hint=checks.hint_of_date,
        json=(str,),
        from_json=dt.date.fromisoformat,
        source=lambda default: f"datetime.date.fromisoformat({default!r})",
        from_iso=texts.iso_date,
        iso_example="Write it as ISO text: 2024-01-31.",
        parse=dt.date.fromisoformat,
        expects="a date such as 2025-01-31",
        show=dt.date.isoformat,
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
        accept=checks.duration,
        hint=checks.hint_of_duration,
        json=(str, int, float),
        from_json=texts.duration_from_json,
        source=texts.duration_source,
        from_iso=texts.iso_duration,
        iso_example="Write it as an ISO duration: P1D, PT36H, PT90S.",
        parse=texts.duration,
        expects="a duration such as 90 (seconds), 1:30:00 or P2DT3H",
        placeholder="seconds, 1:30:00 or P2DT3H",
        show=texts.duration_as_text,
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
        accept=checks.instance(File),
        hint=checks.hint_of_path("File"),
        from_json=File,
        parse=texts.path_of(File),
        expects="the path of a file",
        show=os.fspath,
        reader="_cli_path",
        metavar="FILE",
        way_out="Pass a plain file that can be read.",
    ),
    "Dir": Kind(
        python=f"{_VALUES}:Dir",
        annotation="pathlib.Path",
        form="path",
        words="dir directory folder",
        accept=checks.instance(Dir),
        hint=checks.hint_of_path("Dir"),
        from_json=Dir,
        parse=texts.path_of(Dir),
        expects="the path of a folder",
        show=os.fspath,
        reader="_cli_path",
        metavar="FOLDER",
        way_out="Pass a folder of plain files, without links.",
        is_compared=False,
    ),
    "DataFrame": Kind(
        python="pandas:DataFrame",
        annotation="pd.DataFrame",
        form="table",
        words="dataframe table geodataframe",
        aliases=("GeoDataFrame",),
        accept=checks.of_pandas("DataFrame"),
        hint=checks.hint_of_frame,
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
        accept=checks.of_pandas("Series"),
        hint=checks.hint_of_series,
        empty="an empty Series",
        reader="_cli_series",
        metavar="TABLE",
    ),
    "dict": Kind(
        python="builtins:dict",
        annotation="dict",
        form="container",
        words="dict dictionary mapping mutablemapping ordereddict defaultdict counter json jsonobject object",
        accept=checks.mapping,
        json=(dict,),
        parse=texts.json_of(dict),
        expects='a JSON object such as {"a": 1}',
        show=texts.as_json,
        empty="an empty dict",
        reader="_cli_json",
        metavar="JSON",
    ),
    "list": Kind(
        python="builtins:list",
        annotation="list",
        form="container",
        words="list array ndarray tuple set frozenset sequence iterable collection jsonarray vector",
        accept=checks.sequence,
        json=(list,),
        parse=texts.json_of(list),
        expects="a JSON list such as [1, 2]",
        show=texts.as_json,
        empty="an empty list",
        reader="_cli_json",
        metavar="JSON",
    ),
    "Figure": Kind(
        python=f"{_VALUES}:Figure",
        annotation="matplotlib.figure.Figure",
        form="figure",
        words="figure plot chart matplotlibfigure",
        accept=checks.never,
        is_input=False,
        is_compared=False,
    ),
}

TYPE_NAMES: tuple[TypeName, ...] = get_args(TypeName)

INPUT_TYPE_NAMES: tuple[TypeName, ...] = tuple(name for name, kind in KINDS.items() if kind.is_input)


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
