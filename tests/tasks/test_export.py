from __future__ import annotations

import ast
import datetime as dt
import importlib.util
import json
import lzma
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uv import find_uv_bin

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.errors import InvalidRequest, PackageRefused
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.tasks import command_line
from autocoder_jupyter.tasks.export import export, export_plain, script
from autocoder_jupyter.types import (
    CheckOutcome,
    CodePlan,
    CodeSolution,
    Evidence,
    Exchange,
    InputSpec,
    OutputSpec,
    Report,
    TestOutcome,
)
from autocoder_jupyter.untrusted.folder import READ_BYTES
from autocoder_jupyter.untrusted.visible import visible_block
from tests.calls.test_own_tables import FILES, GERMAN, READ, SIZES

CODE = '''"""Growth."""

from __future__ import annotations

import pandas as pd


def run(sales: pd.DataFrame, min_orders: int = 5, exact: bool = True) -> tuple[pd.DataFrame, str]:
    kept = sales[sales["orders"] >= min_orders]
    best = str(kept.loc[kept["revenue"].idxmax(), "month"])
    return kept.reset_index(drop=True), best if exact else best[:3]
'''

TESTS = '''import pandas as pd
import pytest
from solution import run
import solution


def test_small_months_are_left_out():
    """Months with fewer than five orders are skipped."""
    from solution import run as again
    sales = pd.DataFrame({"month": ["Jan", "Feb"], "orders": [4, 5], "revenue": [9.0, 1.0]})
    assert again is run is solution.run
    assert run(sales=sales)[1] == "Feb"
'''

INPUTS = (
    InputSpec(name="sales", type="DataFrame", meaning="one row a month, 100% of them"),
    InputSpec(name="min_orders", type="int", required=False, default=5),
    InputSpec(name="exact", type="bool", required=False, default=True),
)
OUTPUTS = (OutputSpec(name="monthly", type="DataFrame"), OutputSpec(name="best_month", type="str"))
EXTRA = ("jinja2",)
SALES = pd.DataFrame({"month": ["Jan", "Feb", "Mar"], "orders": [4, 5, 9], "revenue": [9.0, 1.0, 3.0]})


@pytest.fixture
def growth(report: Any) -> Report:
    made: Report = report(
        CODE,
        INPUTS,
        OUTPUTS,
        prompt='Monthly growth.\n\nSkip """small""" months.\n# /// script\n# ///',
        tests=TESTS,
        plan=CodePlan(description="Growth 100%", approach="", assumptions=("ties go to the earlier month",)),
        lock=tuple(f"{name}=={version(name)}" for name in ("numpy", "pandas", "pyarrow", "pytest", "six", *EXTRA)),
        detected_packages=(f"{EXTRA[0]}>=1",),
        python_version=sys.version_info[:2],
        started=dt.datetime(2025, 3, 1, tzinfo=dt.UTC),
        evidence=Evidence(
            tests=(TestOutcome(id="test_a", outcome="passed"),), checks=(CheckOutcome(name="types", passed=True),)
        ),
    )
    return made


def written(report: Report, path: Path) -> Path:
    return export(report, Function.of(report, {}, Path(".autocode")), path)


def here(path: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(path), *arguments], capture_output=True, text=True, cwd=cwd or path.parent, check=False
    )


class Printed(NamedTuple):
    """What a script printed."""

    stdout: str
    stderr: str


Loaded = Callable[..., Printed]


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Loaded]:
    """Runs the command line of a script in this process, which has imported pandas; `here` starts an interpreter."""

    def run(path: Path, *arguments: str) -> Printed:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [str(path), *arguments])
        spec = importlib.util.spec_from_file_location("solution", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "solution", module)
        spec.loader.exec_module(module)
        with suppress(SystemExit):  # of argparse
            module._cli_main()
        return Printed(*capsys.readouterr())

    longest = sys.get_int_max_str_digits()
    yield run
    sys.set_int_max_str_digits(longest)  # a script allows ints of any length


def metadata(text: str) -> dict[str, Any]:
    block = text.split("# /// script\n")[1].split("# ///\n")[0]
    return tomllib.loads("\n".join(line[2:] for line in block.splitlines()))


def test_the_script_names_what_the_code_needs_and_keeps_the_rest_to_what_was_tested(
    growth: Report, tmp_path: Path
) -> None:
    text = written(growth, tmp_path / "growth.py").read_text()
    found = metadata(text)
    assert found["requires-python"] == f"=={sys.version_info[0]}.{sys.version_info[1]}.*"
    needed = sorted(("numpy", "pandas", "pyarrow", *EXTRA))
    pins = [f"{name}=={version(name)}" for name in needed]
    assert found["dependencies"] == sorted([*pins, "openpyxl>=3.1"])  # the command line reads Excel
    assert found["tool"]["uv"]["constraint-dependencies"] == [f"{name}=={version(name)}" for name in ("pytest", "six")]


def test_the_script_says_where_it_comes_from_and_holds_the_code_unchanged(growth: Report, tmp_path: Path) -> None:
    text = written(growth, tmp_path / "growth.py").read_text()
    beginning, rest = CODE.split("\n\nimport pandas", 1)  # between them is the entry point
    assert text.index(beginning) < text.index('if __name__ == "__main__":') < text.index(f"import pandas{rest}")
    for words in ("Skip", "2025-03-01", "1 of 1 tests passed", "ties go to the earlier month"):
        assert words in text
    assert "autocoder_jupyter" not in text


def test_the_script_begins_with_the_function_and_ends_with_its_readers(growth: Report, tmp_path: Path) -> None:
    text = written(growth, tmp_path / "growth.py").read_text()
    lines = text.splitlines()
    assert lines[0].startswith("#!") and lines[2].startswith("# growth, written by a language model")
    order = ["def run(", "# /// script", "# The request:", "# The command line.", "def _cli_table("]
    assert [text.index(word) for word in order] == sorted(map(text.index, order))
    assert lines.index("import pandas as pd") < 20


def test_plain_is_the_function_under_its_name_with_its_imports_only(growth: Report, tmp_path: Path) -> None:
    function = Function.of(growth, {}, Path(".autocode"))
    path = export_plain(growth, function, tmp_path / "growth.py")
    head, _, code = path.read_text().partition("autocoder-jupyter.\n\n")
    assert head == "#\n# growth, written by a language model and tested in a sandbox by "
    assert code == CODE.replace("def run(", "def growth(")
    assert list(tmp_path.iterdir()) == [path] and export_plain(growth, function, path) == path
    monthly, best = runpy.run_path(str(path))["growth"](SALES)
    assert best == "Mar" and len(monthly) == 2
    assert written(growth, path) == path  # and one kind of export takes the place of another
    path.write_text("import mine\n")
    with pytest.raises(InvalidRequest, match="no export wrote it"):
        export_plain(growth, function, path)


def test_the_script_runs_from_its_command_line(growth: Report, tmp_path: Path) -> None:
    path = written(growth, tmp_path / "growth.py")
    SALES.to_parquet(tmp_path / "sales.parquet")
    done = here(path, "--sales", "sales.parquet", "--min-orders", "0", "--no-exact", "--output-dir", "out")
    assert done.stderr == ""
    assert "best_month: Jan" in done.stdout
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out" / "monthly.parquet"), SALES)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "feather", "parquet"])
def test_a_table_is_read_by_its_suffix(growth: Report, tmp_path: Path, loaded: Loaded, suffix: str) -> None:
    path = written(growth, tmp_path / "growth.py")
    write: dict[str, Callable[[Path], object]] = {
        "csv": lambda target: SALES.to_csv(target, index=False),
        "tsv": lambda target: SALES.to_csv(target, index=False, sep="\t"),
        "json": lambda target: SALES.to_json(target, orient="records"),
        "feather": SALES.to_feather,
        "parquet": SALES.to_parquet,
    }
    write[suffix](tmp_path / f"sales.{suffix}")
    assert "best_month: Mar" in loaded(path, "--sales", f"sales.{suffix}").stdout


EVERYTHING = pd.DataFrame(
    {
        "day": pd.to_datetime(["2024-01-31", "2024-02-01", "NaT"]),
        "at": pd.to_datetime(["2024-01-31T10:00Z", "2024-02-01T11:30Z", "2024-02-02T00:00Z"]).tz_convert(
            "Europe/Berlin"
        ),
        "took": pd.to_timedelta(["1 days", "2 days 03:00:00", "0 days"]),
        "code": ["00123", "4", "x"],
        "kind": pd.Categorical(["a", "b", "a"]),
        "good": [True, False, True],
        "price": [1.0, 2.5, float("nan")],
        "count": pd.array([1, None, 3], dtype="Int64"),
        "whole": [7, 8, 9],
    }
)


@pytest.mark.filterwarnings("ignore:The default formatting of datetime")
@pytest.mark.parametrize("suffix", ["csv", "tsv", "xlsx", "json", "jsonl", "ndjson", "feather", "parquet"])
def test_a_file_is_brought_to_the_recorded_dtypes(report: Any, tmp_path: Path, loaded: Loaded, suffix: str) -> None:
    code = "import pandas as pd\ndef run(sales):\n    return sales\n"
    interface = (InputSpec(name="sales", type="DataFrame"),), (OutputSpec(name="got", type="DataFrame"),)
    path = written(report(code, *interface, sample_shapes={"sales": shape_of(EVERYTHING)}), tmp_path / "growth.py")
    naive = EVERYTHING.assign(at=EVERYTHING["at"].astype(str))  # Excel has no time zones
    write: dict[str, Callable[[Path], object]] = {
        "csv": lambda target: EVERYTHING.to_csv(target, index=False),
        "tsv": lambda target: EVERYTHING.to_csv(target, index=False, sep="\t"),
        "xlsx": lambda target: naive.assign(took=naive["took"].astype(str)).to_excel(target, index=False),
        "json": lambda target: naive.assign(took=naive["took"].astype(str)).to_json(target, date_format="iso"),
        "jsonl": lambda target: EVERYTHING.assign(took=naive["took"].astype(str)).to_json(
            target, orient="records", lines=True
        ),
        "ndjson": lambda target: naive.assign(took=naive["took"].astype(str)).to_json(
            target, orient="records", lines=True, date_format="iso"
        ),
        "feather": EVERYTHING.to_feather,
        "parquet": EVERYTHING.to_parquet,
    }
    write[suffix](tmp_path / f"sales.{suffix}")
    printed = loaded(path, "--sales", f"sales.{suffix}")
    assert printed.stderr == ""
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "got.parquet"), EVERYTHING)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "txt", "xlsx", "jsonl", "json.gz", "parquet"])
def test_a_file_gets_the_recorded_categories_and_kinds(
    report: Any, tmp_path: Path, loaded: Loaded, suffix: str
) -> None:
    code = (  # Parquet has no categories of numbers
        "import pandas as pd\ndef run(sales):\n"
        "    return sales.assign(day=sales['day'].astype(str), stars=sales['stars'].cat.codes)\n"
    )
    interface = (InputSpec(name="sales", type="DataFrame"),), (OutputSpec(name="got", type="DataFrame"),)
    path = written(report(code, *interface, sample_shapes={"sales": shape_of(SIZES)}), tmp_path / "growth.py")
    FILES[suffix](SIZES, tmp_path / f"sales.{suffix}")
    printed = loaded(path, "--sales", f"sales.{suffix}")
    assert printed.stderr == ""
    got = pd.read_parquet(tmp_path / "got.parquet")
    expected = SIZES.assign(stars=SIZES["stars"].cat.codes)
    pd.testing.assert_frame_equal(got.drop(columns="day"), expected.drop(columns="day"))
    assert [str(day)[:10] for day in got["day"].dropna() if day != "nan"] == ["2024-01-02", "2024-01-01"]


def test_another_order_of_categories_and_unknown_values_are_refused_by_the_script(
    report: Any, tmp_path: Path, loaded: Loaded
) -> None:
    code = "import pandas as pd\ndef run(sales):\n    return str(sales['size'].max())\n"
    interface = (InputSpec(name="sales", type="DataFrame"),), (OutputSpec(name="got", type="str"),)
    path = written(report(code, *interface, sample_shapes={"sales": shape_of(SIZES)}), tmp_path / "growth.py")
    SIZES.assign(size=SIZES["size"].cat.reorder_categories(["L", "M", "S"])).to_parquet(tmp_path / "turned.parquet")
    assert "its categories have another order" in loaded(path, "--sales", "turned.parquet").stderr
    (tmp_path / "more.csv").write_text("size\nM\nXL\n")
    assert "'XL' is not in the recorded order ['S', 'M', 'L']" in loaded(path, "--sales", "more.csv").stderr
    (tmp_path / "text.csv").write_text("size\nM\nS\n")
    assert "got: M" in here(path, "--sales", "text.csv").stdout
    unknown = shape_of(SIZES, lambda label, column: False)
    path = written(report(code, *interface, sample_shapes={"sales": unknown}), tmp_path / "growth.py")
    assert "its order is not in this script" in loaded(path, "--sales", "text.csv").stderr


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16", "utf-8-sig"])
def test_text_and_a_folder_are_read_as_they_are_written(
    report: Any, tmp_path: Path, loaded: Loaded, encoding: str
) -> None:
    code = "import pandas as pd\ndef run(sales):\n    return sales\n"
    interface = (InputSpec(name="sales", type="DataFrame"),), (OutputSpec(name="got", type="DataFrame"),)
    path = written(report(code, *interface, sample_shapes={"sales": shape_of(READ)}), tmp_path / "growth.py")
    (tmp_path / "days").mkdir()
    for name in ("a.csv", "b.csv.xz"):
        data = GERMAN.encode(encoding)
        (tmp_path / "days" / name).write_bytes(lzma.compress(data) if name.endswith("xz") else data)
    for place, times in (("days/a.csv", 1), ("days/b.csv.xz", 1), ("days", 2)):
        assert loaded(path, "--sales", place).stderr == ""
        made = pd.read_parquet(tmp_path / "got.parquet")
        pd.testing.assert_frame_equal(made, pd.concat([READ] * times, ignore_index=True))
    if encoding == "utf-8":
        for log in ("days/_delta_log", "metadata"):
            (tmp_path / log).mkdir()
            (tmp_path / log / "v1.metadata.json").write_text("{}")
            assert "is a table with a log" in loaded(path, "--sales", "days").stderr
            (tmp_path / log).rename(tmp_path / "other")
            shutil.rmtree(tmp_path / "other")


def test_what_a_file_lacks_and_what_cannot_be_converted_is_named_at_once(
    report: Any, tmp_path: Path, loaded: Loaded
) -> None:
    code = (
        "import pandas as pd\ndef run(sales: pd.DataFrame) -> float:\n"
        "    late = sales[sales['day'] > '2024-01-01']\n    return float((late['price'] * late['whole']).sum())\n"
    )
    interface = (InputSpec(name="sales", type="DataFrame"),), (OutputSpec(name="total", type="float"),)
    path = written(report(code, *interface, sample_shapes={"sales": shape_of(EVERYTHING)}), tmp_path / "growth.py")
    file = tmp_path / "sales.csv"

    def said(text: str) -> str:
        file.write_text(text)
        printed = loaded(path, "--sales", "sales.csv")
        return printed.stdout + printed.stderr

    assert "total: 6.0" in said("day,price,whole\n2024-02-01,2,3\n2023-01-01,9,9\n")
    wrong = said("day,price\n03/04/2024,cheap\n")
    assert "it lacks 'whole' (it has 'day', 'price')" in wrong
    assert "'day' cannot be converted to datetime64" in wrong and "03/04/2024" in wrong
    assert "'price' cannot be converted to float64" in wrong and "cheap" in wrong
    assert "2.5 is not whole" in said("day,price,whole\n2024-02-01,2,2.5\n")
    assert "has a time zone" in said("day,price,whole\n2024-02-01T10:00+02:00,2,2\n")
    assert "not times; write them as 2024-01-31" in said("day,price,whole\n20240201,2,2\n")
    assert "more than one" not in said("day,price,whole,extra\n2024-02-01,2,3,x\n")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json"])
def test_a_file_whose_columns_were_renamed_is_read_as_a_table_of_a_call(
    report: Any, tmp_path: Path, loaded: Loaded, suffix: str
) -> None:
    code = "import pandas as pd\ndef run(sales: pd.DataFrame) -> pd.DataFrame:\n    return sales[['code', 'at']]\n"
    made = pd.DataFrame({"code": ["00123", "7"], "at": pd.to_datetime(["2024-01-31", "2024-02-01"])})
    inputs, outputs = (InputSpec(name="sales", type="DataFrame"),), (OutputSpec(name="got", type="DataFrame"),)
    renames = {"code": "article", "at": "sold at"}
    kept = report(code, inputs, outputs, sample_shapes={"sales": shape_of(made)}, renames=renames)
    path = written(kept, tmp_path / "growth.py")
    assert "'article' is read as 'code'" in path.read_text()
    given, file = made.rename(columns=renames), tmp_path / f"sales.{suffix}"
    {"csv": lambda: given.to_csv(file, index=False), "parquet": lambda: given.to_parquet(file)}.get(
        suffix, lambda: given.to_json(file, orient="records", date_format="iso")
    )()
    printed = loaded(path, "--sales", file.name)
    assert printed.stderr == ""
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "got.parquet"), made, check_dtype=suffix != "json")
    made.to_parquet(tmp_path / "own.parquet")  # a table with the names that are read needs no other ones
    assert loaded(path, "--sales", "own.parquet").stderr == ""


def test_an_index_and_a_series_have_their_recorded_dtypes(report: Any, tmp_path: Path, loaded: Loaded) -> None:
    table = EVERYTHING.set_index("at")[["price"]].rename(columns={"price": 2024})
    column = EVERYTHING["day"]
    code = "import pandas as pd\ndef run(table, column):\n    return table, column\n"
    inputs = (InputSpec(name="table", type="DataFrame"), InputSpec(name="column", type="Series"))
    outputs = (OutputSpec(name="kept", type="DataFrame"), OutputSpec(name="days", type="Series"))
    shapes = {"table": shape_of(table), "column": shape_of(column)}
    path = written(report(code, inputs, outputs, sample_shapes=shapes), tmp_path / "growth.py")
    table.to_csv(tmp_path / "t.csv")
    column.to_csv(tmp_path / "c.csv", index=False)
    assert loaded(path, "--table", "t.csv", "--column", "c.csv").stderr == ""
    made = pd.read_parquet(tmp_path / "kept.parquet")
    assert made.index.name == "at" and str(made.index.dtype) == str(table.index.dtype)
    assert str(pd.read_parquet(tmp_path / "days.parquet")["days"].dtype) == str(column.dtype)


def test_what_is_missing_or_wrong_is_said_in_one_line(growth: Report, tmp_path: Path, loaded: Loaded) -> None:
    path = written(growth, tmp_path / "growth.py")
    assert "required: --sales" in here(path).stderr
    assert "--sales: 'x' cannot be read" in loaded(path, "--sales", "x").stderr
    SALES.to_parquet(tmp_path / "s.parquet")
    assert "--min-orders: invalid int" in loaded(path, "--sales", "s.parquet", "--min-orders", "many").stderr
    assert "100% of them" in loaded(path, "--help").stdout


def test_a_container_finds_inputs_and_leaves_outputs_by_name(growth: Report, tmp_path: Path) -> None:
    path = written(growth, tmp_path / "growth.py")
    path.write_text(path.read_text().replace("/var/", f"{tmp_path}/var/"))
    mounted, outputs = tmp_path / "var" / "inputs", tmp_path / "var" / "outputs"
    mounted.mkdir(parents=True)
    outputs.mkdir()
    SALES.to_parquet(mounted / "sales")
    (mounted / "min_orders").write_text("0")
    (mounted / "exact").write_text("false\n")
    done = here(path)
    assert done.stderr == ""
    assert (outputs / "best_month").read_text() == "Jan"
    assert len(pd.read_parquet(outputs / "monthly")) == 3


def test_every_type_has_a_command_line(report: Any, tmp_path: Path) -> None:
    code = """
import json, pathlib
def run(text, number, ratio, flag, at, day, span, file, folder, table, column, facts, items):
    shown = [text, number, ratio, flag, at.isoformat(), day.isoformat(), span.total_seconds(), file.read_text(),
             sorted(path.name for path in folder.iterdir()), len(table), int(column.sum()), facts, items]
    made = pathlib.Path("made"); made.mkdir(exist_ok=True)
    (made / "a.txt").write_text("a")
    from matplotlib.figure import Figure
    return shown, facts, flag, at, span, made / "a.txt", made, column, Figure(figsize=(1, 1)), table
"""
    kinds = {
        "text": "str", "number": "int", "ratio": "float", "flag": "bool", "at": "datetime", "day": "date",
        "span": "timedelta", "file": "File", "folder": "Dir", "table": "DataFrame", "column": "Series",
        "facts": "dict", "items": "list",
    }  # fmt: skip
    given = {
        "shown": "list", "facts": "dict", "flag": "bool", "at": "datetime", "span": "timedelta", "file": "File",
        "folder": "Dir", "column": "Series", "picture": "Figure",
    }  # fmt: skip
    inputs = tuple(InputSpec(name=name, type=kind) for name, kind in kinds.items())  # type: ignore[arg-type]
    outputs = tuple(OutputSpec(name=name, type=kind) for name, kind in given.items())  # type: ignore[arg-type]
    outputs = (*outputs, OutputSpec(name="t.csv", type="DataFrame"))
    path = written(report(code, inputs, outputs), tmp_path / "everything.py")
    (tmp_path / "f.txt").write_text("content")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "inside").write_text("")
    pd.DataFrame({"v": [1, 2]}).to_csv(tmp_path / "v.csv", index=False)
    done = here(
        path, "--text=--x 'y' $(id)", "--number=-3", "--ratio", "1e-3", "--no-flag",
        "--at", "2025-01-01T00:00:00+01:00", "--day", "2025-01-02",
        "--span", "-90", "--file", "f.txt", "--folder", "d", "--table", "v.csv", "--column",
        "v.csv", "--facts", '{"a": [1, null]}', "--items", "[1, \"x\"]", "--output-dir", "out",
    )  # fmt: skip
    assert done.stderr == ""
    assert '"--x \'y\' $(id)", -3, 0.001, false, "2025-01-01T00:00:00+01:00", "2025-01-02", -90.0' in done.stdout
    assert '"content", ["inside"], 2, 3, {"a": [1, null]}, [1, "x"]' in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "file.txt", "folder", "column.parquet", "picture.png", "t.csv",
    }  # fmt: skip


def test_each_part_of_the_writer_is_for_a_form_that_outputs_have() -> None:
    regions = re.findall(r"# region (\w+)", command_line.functions()["_cli_write"])
    assert regions == ["parts", "table", "path", "figure"]
    assert set(regions[1:]) <= {kind.form for kind in KINDS.values()}


def test_a_figure_that_a_page_draws_is_written_as_data(report: Any, tmp_path: Path) -> None:
    code = "import plotly.graph_objects as go\ndef run():\n    return go.Figure(go.Bar(x=['a'], y=[1]))\n"
    path = written(report(code, (), (OutputSpec(name="chart", type="Figure"),)), tmp_path / "chart.py")
    done = here(path, "--output-dir", "out")
    assert (done.stderr, done.stdout) == ("", "chart: out/chart.json\n")
    (trace,) = json.loads((tmp_path / "out" / "chart.json").read_text())["data"]
    assert (trace["type"], trace["x"]) == ("bar", ["a"])


def test_an_input_may_bear_the_name_of_an_option_of_the_command_line(
    report: Any, tmp_path: Path, loaded: Loaded
) -> None:
    inputs = (InputSpec(name="help", type="str"), InputSpec(name="output_dir", type="str"))
    code = "def run(help, output_dir):\n    return help + output_dir"
    path = written(report(code, inputs, (OutputSpec(name="both", type="str"),)), tmp_path / "both.py")
    assert "both: xy" in loaded(path, "--help", "x", "--output-dir", "y").stdout


def test_a_name_that_cannot_be_imported_is_refused(growth: Report, tmp_path: Path) -> None:
    for name, hint in (
        ("my-growth.py", "my_growth.py"),
        ("pandas.py", "my_pandas.py"),
        ("json.py", "my_json.py"),
        ("growth.txt", "growth.py"),
        ("class.py", "class_.py"),
        ("conftest.py", "my_conftest.py"),
        ("sitecustomize.py", "my_sitecustomize.py"),
        ("jinja2.py", "my_jinja2.py"),
        ("pluggy.py", "my_pluggy.py"),
        ("helpers.py", "my_helpers.py"),
    ):
        with pytest.raises(InvalidRequest, match=hint):
            written(growth.model_copy(update={"tests": f"import helpers.a\n{growth.tests}"}), tmp_path / name)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        pytest.param("a_file/growth.py", "(File exists|Not a directory)", id="a file where a folder must be"),
        pytest.param("folder.py", "Is a directory", id="a folder where the file must be"),
        pytest.param("/proc/nobody/growth.py", "No such file|Permission denied", id="where nobody may write"),
    ],
)
def test_a_place_that_cannot_be_written_is_said_with_its_reason(
    growth: Report, tmp_path: Path, place: str, why: str
) -> None:
    (tmp_path / "a_file").write_text("")
    (tmp_path / "folder.py").mkdir()
    target = tmp_path / place
    with pytest.raises(InvalidRequest, match=why) as caught:
        export(growth, Function.of(growth, {}, tmp_path), target)
    assert str(target) in caught.value.what and "Choose a place" in caught.value.hint


def test_the_script_and_its_tests_take_the_place_of_links_and_leave_what_these_point_at(
    growth: Report, tmp_path: Path
) -> None:
    (tmp_path / "start file").write_text("mine")
    for name in ("growth.py", "test_growth.py"):
        (tmp_path / name).symlink_to(tmp_path / "start file")
    path = written(growth, tmp_path / "growth.py")
    assert (tmp_path / "start file").read_text() == "mine"
    assert "def run(" in path.read_text() and "def test_small" in (tmp_path / "test_growth.py").read_text()


def test_a_file_that_no_export_wrote_is_not_replaced(growth: Report, tmp_path: Path) -> None:
    path = written(growth, tmp_path / "growth.py")
    assert written(growth, path) == path  # one of an export is
    for name in ("growth.py", "test_growth.py"):
        (tmp_path / name).write_text("import mine\n")
        with pytest.raises(InvalidRequest, match=f"{name} exists, and no export wrote it"):
            written(growth, path)
        assert (tmp_path / name).read_text() == "import mine\n"
        (tmp_path / name).write_text("")
    assert (tmp_path / "growth.py").read_text() == ""
    for name, mine in (
        ("growth.py", "# growth, written by a language model, corrected by me\nimport mine\n"),
        ("test_growth.py", "# The tests of growth.py, by me\nimport mine\n"),
    ):
        (tmp_path / name).write_text(mine)
        with pytest.raises(InvalidRequest, match="no export wrote it"):
            written(growth, path)
        (tmp_path / name).write_text("")


@pytest.mark.parametrize(
    "own",
    [
        b"# The tests of my own parser\nimport mine\n",
        b"text = 'it was written by a language model'\n",
        b"#!/usr/bin/env -S uv run --script\n# /// script\n# ///\nimport mine  # not written by a language model\n",
        b"# growth.py was longer than what is read\n" + b"#" * READ_BYTES,
        b"import mine\n#\n# growth, written by a language model and tested in a sandbox by autocoder-jupyter.\n",
    ],
    ids=["words of tests", "words of scripts", "a script for uv", "a large file", "a beginning further below"],
)
def test_a_file_of_the_person_that_looks_like_an_export_is_not_replaced(
    growth: Report, tmp_path: Path, own: bytes
) -> None:
    for name in ("growth.py", "test_growth.py"):
        (tmp_path / name).write_bytes(own)
        with pytest.raises(InvalidRequest, match=f"{name} exists, and no export wrote it"):
            written(growth, tmp_path / "growth.py")
        assert (tmp_path / name).read_bytes() == own
        (tmp_path / name).unlink()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_what_is_no_file_is_not_replaced(growth: Report, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "growth.py")
    with pytest.raises(InvalidRequest, match="no export wrote it"):
        written(growth, tmp_path / "growth.py")
    assert (tmp_path / "growth.py").is_fifo()


def test_a_hostile_request_stays_a_comment(growth: Report) -> None:
    hostile = growth.model_copy(update={"prompt": "x\r\nimport os\x0bimport os\u2028import os\n# ///\n# /// script"})
    text = script(hostile, Function.of(hostile, {}, Path()))
    compile(text, "growth.py", "exec")
    head = text.split('"""Growth."""')[0]
    assert all(line.startswith("#") or not line for line in head.splitlines())
    assert sum(line == "# /// script" for line in text.splitlines()) == 1


HIDDEN = "\n\r\x0b\x0c\x1c\x85\u2028\u2029\u202e\u2066\u200b\ufeff\x00\x1b\ud800\"'\\#{}%"
WORDS = st.text(st.one_of(st.sampled_from(HIDDEN), st.characters()), max_size=40) | st.sampled_from(
    [
        "x\n# ///\nimport os",
        '"""\nimport os',
        "'); import os #",
        "\\",
        "x\r# /// script\r# ///",
        "# -*- coding: utf-7 -*-",
    ]
)


def shape(text: str) -> str:
    """The program without its literals."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = 0
    return ast.dump(tree)


@given(words=st.tuples(*[WORDS] * 8))
@settings(max_examples=50, deadline=None)
def test_whatever_words_are_in_a_report_the_script_is_the_same_program(words: tuple[str, ...]) -> None:
    def made(words: tuple[str, ...]) -> str:
        name, prompt, model, about, assumption, meaning, default, system = words
        inputs = (InputSpec(name="text", type="str", required=False, default=default, meaning=meaning),)
        plan = CodePlan(description=about, approach="", assumptions=(assumption,))
        said = Exchange(stage="plan", key="k", model=model, messages=(), answer="")
        report = Report.model_construct(
            **Report(name="growth", run_id="1", prompt="p", success=True, solution=CodeSolution(code=CODE)).__dict__
            | {"name": name, "prompt": prompt, "plan": plan, "conversation_history": (said,)}
            | {"declared_inputs": inputs, "declared_outputs": OUTPUTS, "detected_system_packages": (system,)}
            | {"lock": PINS, "python_version": (3, 11)}
        )
        return script(report, Function.of(report, {}, Path()))

    text = made(words)
    assert shape(text) == shape(made(("plain",) * 8))
    assert [block["type"] for block in re.finditer(PEP_723, text)] == ["script"]
    assert metadata(text)["dependencies"] == ["numpy==2.4", "pandas==3.1", "pyarrow"]
    assert all(line.isascii() or visible_block(line) == line for line in text.splitlines() if line.startswith("#"))


PINS = ("numpy==2.4", f"pandas==3.1 --hash=sha256:{'0' * 64}")
PEP_723 = r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$"


@pytest.mark.parametrize(
    "pin",
    ['x==1"\n]\n# evil = ["', "x==1\nimport os", "x @ https://evil.example/x.whl", "--index-url=https://evil.example"],
)
def test_a_lock_that_holds_anything_but_exact_versions_is_not_written(growth: Report, pin: str) -> None:
    hostile = growth.model_copy(update={"lock": (pin,)})
    with pytest.raises(PackageRefused, match="is not an exact requirement"):
        script(hostile, Function.of(hostile, {}, Path()))


def test_neither_the_script_nor_its_tests_hide_anything(report: Any, tmp_path: Path) -> None:
    hidden = 'def run():\n    """Sums.\u202e"""\n    return "\u2066a\u200b"  # \u202eno\u2069 comment\n'
    tests = 'from solution import run\n\n\ndef test_a():\n    assert run() == "\u2066a\u200b"  # \u202e\n'
    made = report(hidden, (), (OutputSpec(name="text", type="str"),), tests=tests)
    path = written(made, tmp_path / "growth.py")
    for text in (path.read_text("utf-8"), (tmp_path / "test_growth.py").read_text("utf-8")):
        assert visible_block(text) == text and r"\u2066a\u200b" in text
    assert ast.dump(ast.parse(hidden).body[0]) in map(ast.dump, ast.parse(path.read_text("utf-8")).body)


def test_code_with_metadata_of_its_own_is_not_written(growth: Report, tmp_path: Path) -> None:
    code = f'# /// script\n# dependencies = ["evil"]\n# ///\n{CODE}'
    hostile = growth.model_copy(update={"solution": CodeSolution(code=code)})
    with pytest.raises(InvalidRequest, match="already has script metadata"):
        script(hostile, Function.of(hostile, {}, Path()))
    for beside in ("x = 1  # /// script\n", 'TEXT = "# /// script"\n'):  # uv would look there, and find none
        hostile = growth.model_copy(update={"solution": CodeSolution(code=f"{CODE}\n{beside}")})
        with pytest.raises(InvalidRequest, match="already has script metadata"):
            script(hostile, Function.of(hostile, {}, Path()))
    hostile = growth.model_copy(update={"tests": code})
    with pytest.raises(InvalidRequest, match="already has script metadata"):
        written(hostile, tmp_path / "growth.py")
    assert not list(tmp_path.iterdir())


def test_tests_with_rare_ends_of_lines_import_the_script(growth: Report, tmp_path: Path) -> None:
    tests = 'A = "\x0c\x1c\u2028"\r\nB = "é"; from solution import run\r\nfrom solution import run as again\n'
    path = written(growth.model_copy(update={"tests": tests}), tmp_path / "growth.py")
    lines = (path.parent / "test_growth.py").read_text().split("\n")
    assert 'B = "é"; from growth import run' in lines and "from growth import run as again" in lines


def test_every_import_of_the_function_is_of_the_script(growth: Report, tmp_path: Path) -> None:
    tests = (
        "from solution import run; from solution import run as again\nimport os, solution, solution as s  # solution\n"
    )
    path = written(growth.model_copy(update={"tests": tests}), tmp_path / "growth.py")
    first, second = (path.parent / "test_growth.py").read_text().splitlines()[-2:]
    assert first == "from growth import run; from growth import run as again"
    assert second == "import os, growth as solution, growth as s  # solution"


@pytest.mark.parametrize(
    "cheat",
    [
        'if __name__ == "__main__":\n    FACTOR = 2\n',
        'if "__main__" in [__name__]:\n    FACTOR = 2\n',
        'try:\n    FACTOR = 2 if globals()["__na" + "me__"] == "__main__" else 1\nexcept KeyError:\n    pass\n',
        'import sys\nFACTOR = 2 if hasattr(sys.modules["__main__"], "FACTOR") else 1\n',
        'import inspect\nFACTOR = 2 if inspect.currentframe().f_globals["__name__"] == "__main__" else 1\n',
        'def own(): pass\nFACTOR = 2 if own.__module__ == "__main__" else 1\n',
    ],
)
def test_the_solution_is_never_main_in_the_script(report: Any, tmp_path: Path, cheat: str) -> None:
    beginning = '"""Text\x0c\u2028."""\n\nfrom __future__ import annotations\n'
    code = f"{beginning}\nFACTOR = 1\n{cheat}\n\ndef run():\n    return FACTOR\n"
    path = written(report(code, (), (OutputSpec(name="n", type="int"),)), tmp_path / "one.py")
    ran = here(path)
    assert ran.stdout == "n: 1\n", ran.stderr


@pytest.mark.parametrize("first", ['"é"; ', "from __future__ import annotations ;", "...; 'x'; "])
def test_code_on_the_line_of_the_docstring_stands_below_the_way_in(first: str) -> None:
    text = command_line.entered(f"{first}FACTOR = [\n    2]\n\n\ndef run():\n    return FACTOR\n")
    kinds = [type(node) for node in ast.parse(text).body]
    assert kinds[-3:] == [ast.If, ast.Assign, ast.FunctionDef] and ast.Assign not in kinds[:-3]


def test_what_is_told_of_an_input_hides_nothing_and_has_any_length(report: Any) -> None:
    unit = InputSpec(name="n", type="int", required=False, default=10**5000, meaning="%d \u3164\u202e\ud800 of them")
    made = report("def run(n=1):\n    return n\n", (unit,), (OutputSpec(name="n", type="int"),))
    text = script(made, Function.of(made, {}, Path()))
    assert visible_block(text) == text and "(5,001 digits)" in text and "%%d \\u3164\\u202e\\ud800 of" in text
    compile(text, "n.py", "exec")


PLOT = """
import pandas as pd
from matplotlib.figure import Figure


def run(sales: pd.DataFrame) -> tuple[Figure, float]:
    figure = Figure()
    axes = figure.subplots()
    axes.bar(sales["month"], sales["revenue"])
    return figure, float(sales["revenue"].sum())
"""

PLOT_TESTS = '''"""What is drawn."""
from __future__ import annotations

import pandas as pd
from solution import run


def test_one_bar_a_month():
    picture, total = run(pd.DataFrame({"month": ["Jan", "Feb"], "revenue": [9.0, 1.0]}))
    assert picture.data == [{"type": "bar", "name": "", "x": ["Jan", "Feb"], "y": [9.0, 1.0]}]
    assert picture.png.startswith(b"\\x89PNG") and picture.width > 100
    assert (picture.kind, total) == ("matplotlib", 10.0)
'''


@pytest.fixture
def plot(report: Any) -> Report:
    """A function that draws, with a test of what it draws."""
    made: Report = report(
        PLOT,
        (InputSpec(name="sales", type="DataFrame"),),
        (OutputSpec(name="picture", type="Figure"), OutputSpec(name="total", type="float")),
        tests=PLOT_TESTS,
        detected_packages=("matplotlib",),
        lock=tuple(f"{name}=={version(name)}" for name in ("numpy", "pandas", "pyarrow", "matplotlib")),
        python_version=sys.version_info[:2],
    )
    return made


def test_exported_tests_of_a_picture_pass_in_the_exported_folder(plot: Report, tmp_path: Path) -> None:
    written(plot, tmp_path / "plot.py")
    assert "as_tested" in written(plot, tmp_path / "plot.py").with_name("test_plot.py").read_text()  # a second export
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_plot.py"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_uv_runs_the_script_and_its_tests(growth: Report, tmp_path: Path) -> None:
    path = written(growth, tmp_path / "growth.py")
    SALES.to_parquet(tmp_path / "sales.parquet")
    environment = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}

    def uv(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [find_uv_bin(), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False, timeout=240
        )

    assert "--min-orders" in uv("run", path.name, "--help").stdout
    ran = uv("run", path.name, "--sales", "sales.parquet")
    assert "best_month: Mar" in ran.stdout, ran.stderr
    line = next(line for line in (tmp_path / "test_growth.py").read_text().splitlines() if "uv run" in line)
    tested = uv(*line.removeprefix("#").split()[1:])
    assert "1 passed" in tested.stdout, tested.stderr + tested.stdout
    SALES.to_excel(tmp_path / "sales.xlsx", index=False)
    ran = uv("run", path.name, "--sales", "sales.xlsx")
    assert "best_month: Mar" in ran.stdout, ran.stderr


def test_a_dict_with_an_int_of_5000_digits_is_written_by_the_script(report: Any, tmp_path: Path) -> None:
    code = "def run() -> dict:\n    return {'n': 10**4999}\n"
    done = here(written(report(code, (), (OutputSpec(name="facts", type="dict"),)), tmp_path / "facts.py"))
    assert done.returncode == 0, done.stderr
    assert "1" + "0" * 4999 in done.stdout


@pytest.mark.parametrize(
    "taken",
    [
        "growth/__init__.py",
        "growth/run.py",
        "test_growth/__init__.py",
        "growth.abi3.so",
        "conftest.py",
        "pytest.py",
        "pandas/__init__.py",
        "json.py",
        "uv.toml",
        "../uv.toml",
        "../pyproject.toml",
        "__pycache__/growth.cpython-311.pyc",
    ],
)
def test_what_would_be_taken_in_the_place_of_the_script_or_its_modules_is_refused(
    growth: Report, tmp_path: Path, taken: str
) -> None:
    place = tmp_path / "project" / "scripts"
    place.mkdir(parents=True)
    (place / taken).parent.mkdir(exist_ok=True)
    source = "[tool.uv]\nindex-url = 'https://example.org'\n"
    (place / taken).write_bytes(b"\0\0\0\0\1\0\0\0" if taken.endswith(".pyc") else source.encode())
    before = sorted(place.rglob("*"))
    with pytest.raises(InvalidRequest, match=r"in the place of|decides from where|no export wrote it"):
        written(growth, place / "growth.py")
    assert sorted(place.rglob("*")) == before


def test_other_files_of_a_project_are_no_hindrance(growth: Report, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.uv]\ndev-dependencies = []\n")
    (tmp_path / "notebook.ipynb").write_text("{}")
    for folder in ("test", "types", "data"):
        (tmp_path / folder).mkdir()
    (tmp_path / "test" / "__init__.py").write_text("")
    (tmp_path / "helpers.py").write_text("")
    assert written(growth, tmp_path / "growth.py").exists()


def test_the_command_for_the_tests_takes_nothing_of_the_folder(growth: Report, tmp_path: Path) -> None:
    written(growth, tmp_path / "growth.py")
    line = next(line for line in (tmp_path / "test_growth.py").read_text().splitlines() if "uv run" in line)
    uv, _, command = line.partition(" python ")
    assert "--no-config" in uv
    for name in ("conftest.py", "pytest.py", "pandas.py", "pluggy.py"):
        (tmp_path / name).write_text("raise SystemExit('taken')\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --version\n")
    before = {*tmp_path.iterdir(), tmp_path / ".benchmarks"}  # of a plugin that is installed here
    done = subprocess.run([sys.executable, *command.split()], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert before.issuperset(tmp_path.iterdir())


@pytest.mark.parametrize("step", [*range(1, 7)])
def test_an_interrupted_export_leaves_nothing(
    growth: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    steps = iter(range(1, 100))

    def interrupted(function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if next(steps) == step:
                raise KeyboardInterrupt
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(os, "replace", interrupted(os.replace))
    monkeypatch.setattr(os, "fsync", interrupted(os.fsync))
    with pytest.raises(KeyboardInterrupt):
        written(growth, tmp_path / "growth.py")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
