"""A value that is sent to a sandbox and back is unchanged, or is refused by name. With CSV, 6 of 29 were unchanged."""

from __future__ import annotations

import datetime as dt
import math
import re
import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.errors import SolutionError, UnsupportedData, WrongType
from autocoder_jupyter.types import Dir, Figure, File, TypeName
from tests.acceptance.conftest import Build
from tests.codec.conftest import assert_same_frame, assert_same_series, same

PRELUDE = """\
import datetime as dt
import zoneinfo
from decimal import Decimal

import numpy as np
import pandas as pd


def cells(*values):
    column = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        column[place] = value
    return pd.Series(column, dtype=object)

"""

# Written as source, so that each kind can be made in the notebook and in the sandbox.
KINDS = {
    "int64": "pd.Series([1, -2, 3])",
    "int64 beyond 2**53": "pd.Series([2**53 + 1, 2**63 - 1, -(2**63)])",
    "float64": "pd.Series([0.1 + 0.2, 1e-310, np.inf, -np.inf, np.nan, -0.0])",
    "bool": "pd.Series([True, False, True])",
    "string with null": "pd.Series(['a', None, 'b'])",
    "string with line ends and quotes": r"""pd.Series(['a\r\n"b"', 'c,d\n', "'", '\U0001f600', ''])""",
    "float32": "pd.Series([0.1, np.nan, np.inf], dtype='float32')",
    "Int64 with NA": "pd.Series([2**53 + 1, None, 3], dtype='Int64')",
    "boolean with NA": "pd.Series([True, None, False], dtype='boolean')",
    "datetime": "pd.Series(np.array(['2024-01-01T01:02:03.123456789', 'NaT', '2024-03-31T02:30'], dtype='M8[ns]'))",
    "datetime with time zone": (
        "pd.Series(pd.to_datetime(['2024-03-31T00:30', None, '2024-10-27T00:30'], utc=True)"
        ".tz_convert('Europe/Berlin'))"
    ),
    "date": "cells(dt.date(2024, 2, 29), None, dt.date(1, 1, 1))",
    "timedelta": "pd.Series(pd.to_timedelta(['1 days 00:00:00.000000001', None, '-3h']))",
    "period": "pd.Series(pd.PeriodIndex(['2024-01', 'NaT', '2024-03'], freq='M'))",
    "interval": "pd.Series(pd.arrays.IntervalArray.from_breaks([0.5, 1.0, 2.0], closed='left'))",
    "'007'": "pd.Series(['007', '0'])",
    "'NA', 'None' and ''": "pd.Series(['NA', 'None', '', 'nan'])",
    "'1e5'": "pd.Series(['1e5', '1_000'])",
    "list": "cells([1, 2.5, None], [], ['x', [True]])",
    "dict": "cells({'a': 1}, {}, {'b': {'c': [None]}})",
    "ndarray": "cells(np.array([1.0, np.nan]), np.array([[1, 2]], dtype='int8'))",
    "bytes": r"cells(b'\xff\0', None, b'')",
    "Decimal": "cells(Decimal('1.10'), Decimal('1E+30'), None)",
    "complex": "pd.Series([1 + 2j, complex(np.nan, -0.0)])",
    "mixed": "cells(1, '1', 1.0, True, None, np.nan, pd.NaT, b'1', Decimal(1), dt.date(2024, 1, 1))",
    "int8": "pd.Series([-128, 127, 0], dtype='int8')",
    "category": "pd.Series(pd.Categorical(['b', None, 'a'], categories=['c', 'b', 'a'], ordered=True))",
    "sparse": "pd.Series(pd.arrays.SparseArray([0.0, 0.0, 1.5, np.nan], fill_value=0.0))",
    "all None": "cells(None, None, None)",
}

INDEXES = {
    "text": "pd.Index(['x', 'y', 'z'], name='key')",
    "filtered range": "pd.RangeIndex(9)[[2, 5, 8]]",
    "negative range": "pd.RangeIndex(3, 0, -1)",
    "dates with a frequency": "pd.date_range('2024-01-01', periods=3, freq='D', name='day')",
    "dates in a zone": "pd.date_range('2024-03-30', periods=3, freq='D', tz='Europe/Berlin')",
    "duplicates": "pd.Index([1, 1, 2])",
    "levels": "pd.MultiIndex.from_tuples([('a', 1), ('a', 2), ('b', 1)], names=['group', None])",
    "periods": "pd.period_range('2024-01', periods=3, freq='M')",
    "intervals": "pd.IntervalIndex.from_breaks([0, 1, 2, 3])",
    "categories": "pd.CategoricalIndex(['lo', 'hi', 'lo'], categories=['hi', 'lo'])",
}

COLUMNS = {
    "numbers": "[0, 1]",
    "duplicates": "['a', 'a']",
    "levels": "pd.MultiIndex.from_tuples([('a', 'x'), ('a', 'y')], names=['top', None])",
    "dates": "pd.to_datetime(['2024-01-01', '2024-02-01'])",
    "None and a tuple": "pd.Index([None, ('a', 1)], tupleize_cols=False)",
}

IDENTITY = "def run(value):\n    return value\n"


def made(expression: str) -> Any:
    """The value of an expression, made in the notebook."""
    namespace: dict[str, Any] = {}
    exec(PRELUDE + f"value = {expression}", namespace)
    return namespace["value"]


def maker(*expressions: str) -> str:
    """A module whose function makes the same values in the sandbox."""
    return f"{PRELUDE}\ndef run():\n    return {', '.join(expressions)}\n"


Compare = Callable[[Any, Any], None]


def identifiers(names: Iterable[str]) -> list[str]:
    """Names of inputs and outputs that still name the kind of value."""
    return [f"kind_{number}_{re.sub(r'[^a-zA-Z0-9]+', '_', name)}" for number, name in enumerate(names)]


def sent_there_and_back(build: Build, values: Mapping[str, Any], kinds: Iterable[TypeName]) -> dict[str, Any]:
    """Send all values in one call, each as an input and an output. Returns the outputs by name."""
    names = identifiers(values)
    declared = dict(zip(names, kinds, strict=True))
    code = f"def run({', '.join(names)}):\n    return {', '.join(names)}\n"
    came = build(code, declared, declared).run(**dict(zip(names, values.values(), strict=True)))
    return dict(zip(values, came, strict=True))


def made_inside(build: Build, sources: Mapping[str, str], kind: TypeName) -> dict[str, Any]:
    """Make all values in one call in the sandbox. Returns the outputs by name."""
    came = build(maker(*sources.values()), outputs=dict.fromkeys(identifiers(sources), kind)).run()
    return dict(zip(sources, came, strict=True))


def changed(expected: Mapping[str, Any], got: Mapping[str, Any], compare: Compare) -> dict[str, str]:
    """The differences between two sets of values, by name."""
    found = {}
    for name, value in expected.items():
        try:
            compare(value, got[name])
        except AssertionError as difference:
            found[name] = str(difference)
    return found


def assert_crosses_both_ways(build: Build, sources: Mapping[str, str], kind: TypeName, compare: Compare) -> None:
    """Check that each value is unchanged after it was sent and returned, and after it was made inside and returned."""
    values = {name: made(source) for name, source in sources.items()}
    assert changed(values, sent_there_and_back(build, values, [kind] * len(values)), compare) == {}
    assert changed(values, made_inside(build, sources, kind), compare) == {}


def test_there_are_29_kinds() -> None:
    assert len(KINDS) == 29


def test_each_kind_of_column_goes_in_and_comes_out_unchanged(build: Build) -> None:
    frames = {name: made(source).to_frame("c") for name, source in KINDS.items()}
    assert changed(frames, sent_there_and_back(build, frames, ["DataFrame"] * 29), assert_same_frame) == {}


def test_each_kind_of_column_that_is_made_inside_comes_out_unchanged(build: Build) -> None:
    frames = {name: made(source).to_frame("c") for name, source in KINDS.items()}
    sources = {name: f"({source}).to_frame('c')" for name, source in KINDS.items()}
    assert changed(frames, made_inside(build, sources, "DataFrame"), assert_same_frame) == {}


def test_a_kind_that_changes_is_named(build: Build) -> None:
    frames = {name: made(KINDS[name]).to_frame("c") for name in ("int8", "'007'")}
    back = sent_there_and_back(build, frames, ["DataFrame"] * 2)
    back["int8"] = back["int8"].astype("int64")
    assert list(changed(frames, back, assert_same_frame)) == ["int8"]


def test_inside_each_kind_is_what_it_is_outside(build: Build) -> None:
    """Two opposite changes could cancel each other, so this looks at dtypes and values inside."""
    frame = pd.concat({name: made(source).reindex(range(3)) for name, source in KINDS.items()}, axis=1)
    looked = build(
        "def run(value):\n    return {str(n): [str(value[n].dtype), [repr(x) for x in value[n]]] for n in value}\n",
        {"value": "DataFrame"},
        {"seen": "dict"},
    ).run(frame)
    assert looked == {name: [str(frame[name].dtype), [repr(cell) for cell in frame[name]]] for name in frame}


def test_each_kind_of_index_crosses_both_ways(build: Build) -> None:
    sources = {name: f"pd.DataFrame({{'c': [1.5, 2.5, None]}}, index={source})" for name, source in INDEXES.items()}
    assert_crosses_both_ways(build, sources, "DataFrame", assert_same_frame)


def test_each_kind_of_column_label_crosses_both_ways(build: Build) -> None:
    sources = {name: f"pd.DataFrame([[1, 'a'], [2, 'b']], columns={source})" for name, source in COLUMNS.items()}
    assert_crosses_both_ways(build, sources, "DataFrame", assert_same_frame)


def test_attributes_of_a_frame_cross_both_ways(build: Build) -> None:
    frame = pd.DataFrame({"a": [1]})
    frame.attrs = {"unit": "kg", "source": {"page": 3, "tags": ["x"]}}
    back = build(IDENTITY, {"value": "DataFrame"}, {"value": "DataFrame"}).run(frame)
    assert back.attrs == frame.attrs


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame(index=[3, 4]), pd.DataFrame({"a": []})])
def test_a_frame_without_rows_or_columns_crosses(build: Build, frame: pd.DataFrame) -> None:
    assert_same_frame(frame, build(IDENTITY, {"value": "DataFrame"}, {"value": "DataFrame"}).run(frame))


def test_a_series_crosses_both_ways(build: Build) -> None:
    names = ("datetime with time zone", "category", "Int64 with NA", "list", "sparse")
    sources = {name: f"({KINDS[name]}).rename(('a', 1))" for name in names}
    assert_crosses_both_ways(build, sources, "Series", assert_same_series)


@pytest.mark.parametrize("cell", [object(), lambda: 0, pd.DataFrame(), np.zeros(1, dtype=[("a", "i4")])])
def test_what_cannot_cross_is_refused_with_the_name_of_its_column(build: Build, cell: Any) -> None:
    column = np.empty(1, dtype=object)
    column[0] = cell
    frame = pd.DataFrame({"fine": [1], "price €": column})
    with pytest.raises(UnsupportedData, match="price €"):
        build(IDENTITY, {"value": "DataFrame"}, {"value": "DataFrame"}).run(frame)


def test_what_cannot_come_back_is_told_with_the_name_of_its_column(build: Build) -> None:
    code = maker("pd.DataFrame({'fine': [1], 'price': cells(object())})")
    with pytest.raises((WrongType, SolutionError, UnsupportedData), match="price"):
        build(code, outputs={"value": "DataFrame"}).run()


BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")

SCALARS: dict[str, tuple[TypeName, Any]] = {
    "empty text": ("str", ""),
    "quotes": ("str", "O'Brien said \"hi\" `id` $(id) x'; echo PWNED"),
    "line ends": ("str", "\r\n\n\t\x00\x1b[31m"),
    "leading dashes": ("str", "--mode=-1"),
    "template": ("str", "{{.inputs.value}}"),
    "None as text": ("str", "None"),
    "unicode": ("str", "ä日本\U0001f600\u2028\ufeff"),
    "10 MB of text": ("str", "0123456789äöüß\n" * 550_000),
    "zero": ("int", 0),
    "large": ("int", 2**200),
    "negative": ("int", -7),
    "zero float": ("float", 0.0),
    "negative zero": ("float", -0.0),
    "nan": ("float", math.nan),
    "inf": ("float", -math.inf),
    "shortest repr": ("float", 0.1 + 0.2),
    "tiny": ("float", 5e-324),
    "False": ("bool", False),
    "True": ("bool", True),
    "datetime": ("datetime", dt.datetime(2024, 2, 29, 23, 59, 59, 999999)),
    "datetime in UTC": ("datetime", dt.datetime(2024, 2, 29, tzinfo=dt.UTC)),
    "datetime in a zone": ("datetime", dt.datetime(2024, 3, 31, 1, 30, tzinfo=BERLIN)),
    "datetime in the second hour of the fold": ("datetime", dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN)),
    "datetime at an offset": ("datetime", dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-3.5)))),
    "date": ("date", dt.date(1, 1, 1)),
    "timedelta": ("timedelta", dt.timedelta(days=2, microseconds=3)),
    "negative timedelta": ("timedelta", -dt.timedelta(hours=1)),
    "empty dict": ("dict", {}),
    "nested dict": ("dict", {"a": [1, None, {"b": [True, 1.5, "x"]}], "": {}}),
    "empty list": ("list", []),
    "nested list": ("list", [[], [[1]], {"k": None}, "007", False, 0]),
}


def test_each_kind_of_scalar_goes_in_and_comes_out_unchanged(build: Build) -> None:
    values = {name: value for name, (_, value) in SCALARS.items()}
    back = sent_there_and_back(build, values, [kind for kind, _ in SCALARS.values()])
    different = {name: str(back[name])[:80] for name, value in values.items() if not same(value, back[name])}
    assert different == {}


def test_each_kind_of_scalar_that_is_made_inside_comes_out_unchanged(build: Build) -> None:
    cases = {name: case for name, case in SCALARS.items() if name != "10 MB of text"}
    names = identifiers(cases)
    expressions = ", ".join(repr(value).replace("datetime.", "dt.") for _, value in cases.values())
    code = f"{PRELUDE}\nnan, inf = np.nan, np.inf\n\n\ndef run():\n    return {expressions}\n"
    outputs = dict(zip(names, (kind for kind, _ in cases.values()), strict=True))
    values = build(code, outputs=outputs).run()
    for name, (_, expected), got in zip(cases, cases.values(), values, strict=True):
        assert same(expected, got), f"{name}: {expected!r} became {got!r}"


def test_a_datetime_keeps_its_zone_and_the_side_of_its_fold(build: Build) -> None:
    for fold in (0, 1):
        moment = dt.datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=BERLIN)
        back = build(IDENTITY, {"value": "datetime"}, {"value": "datetime"}).run(moment)
        assert (back.utcoffset(), back.fold, str(back.tzinfo)) == (moment.utcoffset(), fold, "Europe/Berlin")


def test_files_cross_both_ways_byte_by_byte(build: Build, tmp_path: Path) -> None:
    every_byte = bytes(range(256)) * 40
    source = tmp_path / "with blank and 'quote'.bin"
    source.write_bytes(every_byte)
    code = (
        "from pathlib import Path\n\n\ndef run(value):\n"
        "    out = Path('back.bin')\n    out.write_bytes(value.read_bytes()[::-1])\n    return out, value.name\n"
    )
    file, name = build(code, {"value": "File"}, {"back": "File", "name": "str"}).run(File(source))
    assert isinstance(file, File)
    assert Path(file).read_bytes() == every_byte[::-1]
    assert name == source.name
    assert source.read_bytes() == every_byte


def test_a_program_cannot_change_the_file_that_it_was_given(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "mine.csv"
    source.write_text("a\n1\n")
    code = (
        "def run(value):\n    try:\n        value.chmod(0o666)\n        value.write_text('destroyed')\n"
        "    except OSError:\n        pass\n    return 1\n"
    )
    build(code, {"value": "File"}, {"done": "int"}).run(File(source))
    assert source.read_text() == "a\n1\n"


def test_folders_cross_both_ways_with_all_that_is_in_them(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "folder"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "deep" / "er" / "b.bin").write_bytes(b"\x00\xff")
    (source / "ä.txt").write_text("ä", "utf-8")
    code = (
        "import shutil\nfrom pathlib import Path\n\n\ndef run(value):\n"
        "    out = Path('back')\n    shutil.copytree(value, out)\n    return out\n"
    )
    folder = build(code, {"value": "Dir"}, {"back": "Dir"}).run(Dir(source))
    assert isinstance(folder, Dir)
    listed = {path.relative_to(source): path.is_dir() or path.read_bytes() for path in source.rglob("*")}
    back = Path(folder)
    assert {path.relative_to(back): path.is_dir() or path.read_bytes() for path in back.rglob("*")} == listed


def test_a_figure_comes_out_as_a_picture(build: Build) -> None:
    """Every object with `savefig` is a figure; this one needs no plotting library in the environment."""
    code = f"""
import base64


class Drawing:
    def savefig(self, target, **options):
        data = base64.b64decode({PIXEL!r})
        target.write(data) if hasattr(target, "write") else open(target, "wb").write(data)


def run():
    return Drawing()
"""
    figure = build(code, outputs={"picture": "Figure"}).run()
    assert isinstance(figure, Figure)
    assert (figure.width, figure.height, figure.png[:8]) == (1, 1, b"\x89PNG\r\n\x1a\n")


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.mark.parametrize("cell", [Decimal("1.10"), dt.date(2024, 1, 1), (1, 2), b"x", 2**80])
def test_what_json_has_no_word_for_crosses_in_nested_values(build: Build, cell: Any) -> None:
    value = {"deep": [{"cell": cell}]}
    assert same(value, build(IDENTITY, {"value": "dict"}, {"value": "dict"}).run(value))


def test_what_cannot_cross_in_a_nested_value_is_refused_by_its_key(build: Build) -> None:
    with pytest.raises(UnsupportedData, match="cell"):
        build(IDENTITY, {"value": "dict"}, {"value": "dict"}).run({"deep": [{"cell": object()}]})
