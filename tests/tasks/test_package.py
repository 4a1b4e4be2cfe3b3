"""`export(kind="package")`: a folder that can be installed, plain code with its tests and its contract."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from uv import find_uv_bin

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.contracts.reading import contract_of
from autocoder_jupyter.data.drift import shape_of
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.tasks.package import export_package
from autocoder_jupyter.types import CodePlan, InputSpec, OutputSpec, Report
from tests.tasks.test_export import PLOT, PLOT_TESTS

CODE = '''import pandas as pd


def run(sales: pd.DataFrame, least: int = 2) -> tuple[pd.DataFrame, str]:
    """Sales of enough orders."""
    kept = sales[sales["orders"] >= least]
    return kept.reset_index(drop=True), str(kept["day"].max().date())
'''
TESTS = """import pandas as pd
from solution import run


def test_small_days_are_left_out():
    sales = pd.DataFrame({"day": pd.to_datetime(["2024-01-31", "2024-02-01"]), "orders": [5, 1]})
    kept, last = run(sales)
    assert len(kept) == 1 and last == "2024-01-31"
"""
SALES = pd.DataFrame({"day": pd.to_datetime(["2024-01-31", "2024-02-01"]), "orders": [5, 4], "note": ["a", "b"]})


@pytest.fixture
def growth(report: Any) -> Report:
    made: Report = report(
        CODE,
        (InputSpec(name="sales", type="DataFrame"), InputSpec(name="least", type="int", required=False, default=2)),
        (OutputSpec(name="kept", type="DataFrame"), OutputSpec(name="last", type="str")),
        prompt='Days with "enough" orders.\n\\[x]\u202e',
        tests=TESTS,
        plan=CodePlan(description='Days "with" \\ orders', approach="", assumptions=("ties count",)),
        lock=tuple(f"{name}=={version(name)}" for name in ("numpy", "pandas", "pyarrow", "six")),
        python_version=sys.version_info[:2],
        sample_shapes={"sales": shape_of(SALES)},
    )
    return made


def packaged(report: Report, folder: Path, contracts: Any = None) -> Path:
    return export_package(report, Function.of(report, {}, Path(".autocode"), contracts), folder)


def python(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), **more}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def test_the_package_is_plain_code_that_says_where_it_comes_from(growth: Report, tmp_path: Path) -> None:
    folder = packaged(growth, tmp_path / "made")
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    assert project["project"]["name"] == "growth" and project["project"]["description"] == 'Days "with" \\ orders'
    major = int(version("pandas").split(".")[0])
    assert f"pandas>={version('pandas')},<{major + 1}" in project["project"]["dependencies"]
    assert "six" not in str(project) and f"six=={version('six')}" in (folder / "constraints.txt").read_text()
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text()
            assert "autocoder_jupyter" not in text and "\u202e" not in text
            assert not text or "written by a language model" in text or "# The tests of" in text
    assert CODE.strip() in (folder / "src" / "growth" / "solution.py").read_text()
    packaged(growth, tmp_path / "made")  # a second export replaces it
    (folder / "src" / "growth" / "solution.py").write_text("mine = 1\n")
    with pytest.raises(InvalidRequest, match="no export wrote it"):
        packaged(growth, tmp_path / "made")


def test_its_tests_pass_and_its_command_line_runs_in_the_folder(growth: Report, tmp_path: Path) -> None:
    folder = packaged(growth, tmp_path / "made")
    tested = python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert "1 passed" in tested.stdout, tested.stdout + tested.stderr
    SALES.to_csv(folder / "sales.csv", index=False)
    ran = python(folder, "-m", "growth", "--sales", "sales.csv")
    assert "last: 2024-02-01" in ran.stdout and ran.stderr == ""


def test_a_call_holds_tables_to_what_was_recorded(growth: Report, tmp_path: Path) -> None:
    folder = packaged(growth, tmp_path / "made")
    program = """
import inspect, pandas as pd
from growth import growth
print(inspect.signature(growth), growth(pd.DataFrame({"day": ["2024-01-31"], "orders": ["7"]}))[1])
for wrong in ({"day": ["2024-01-31"]}, {"day": ["yesterday"], "orders": [1]}):
    try:
        growth(pd.DataFrame(wrong))
    except ValueError as error:
        print(error)
"""
    said = python(folder, "-c", program)
    assert "least: int = 2" in said.stdout and "2024-01-31" in said.stdout, said.stderr
    assert "sales: it lacks 'orders' (it has 'day')" in said.stdout
    assert "sales: 'day' cannot be converted to datetime64" in said.stdout and "yesterday" in said.stdout


def test_a_call_reads_columns_that_were_renamed(growth: Report, tmp_path: Path) -> None:
    folder = packaged(growth.model_copy(update={"renames": {"orders": "order count"}}), tmp_path / "made")
    assert "'order count' is read as 'orders'" in (folder / "README.md").read_text()
    SALES.rename(columns={"orders": "order count"}).to_csv(folder / "sales.csv", index=False)
    program = "import pandas as pd\nfrom growth import growth\nprint(growth(pd.read_csv('sales.csv'))[1])"
    for arguments in (("-c", program), ("-m", "growth", "--sales", "sales.csv")):
        done = python(folder, *arguments)
        assert "2024-02-01" in done.stdout and done.stderr == "", done.stderr


def test_schemas_of_the_author_are_a_part_of_the_package(growth: Report, tmp_path: Path) -> None:
    import pandera.pandas as pa

    schema = pa.DataFrameSchema({"orders": pa.Column(int, pa.Check.ge(4))})
    folder = packaged(growth, tmp_path / "made", {"kept": contract_of("contracts", "kept", schema, is_output=True)})
    assert any(
        "pandera" in one for one in tomllib.loads((folder / "pyproject.toml").read_text())["project"]["dependencies"]
    )
    program = "import pandas as pd\nfrom growth import growth\ngrowth(pd.read_csv('s.csv'), least=1)"
    SALES.to_csv(folder / "s.csv", index=False)
    assert python(folder, "-c", program).returncode == 0
    SALES.assign(orders=[1, 9]).to_csv(folder / "s.csv", index=False)
    assert "SchemaErrors" in python(folder, "-c", program).stderr


def test_tests_of_a_picture_pass_in_the_package(report: Any, tmp_path: Path) -> None:
    interface = (
        (InputSpec(name="sales", type="DataFrame"),),
        (
            OutputSpec(name="picture", type="Figure"),
            OutputSpec(name="total", type="float"),
        ),
    )
    plot = report(PLOT, *interface, tests=PLOT_TESTS, lock=(), python_version=sys.version_info[:2])
    folder = packaged(plot, tmp_path / "made")
    tested = python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert "1 passed" in tested.stdout, tested.stdout + tested.stderr


@pytest.mark.parametrize("name", ["_growth", "growth_", "größe", "pandas"])
def test_a_name_that_a_package_cannot_have_is_refused(growth: Report, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest, match=r"cannot be named|would hide the module"):
        packaged(growth.model_copy(update={"name": name}), tmp_path / "made")
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_the_package_is_installed_and_imported_in_a_new_environment(growth: Report, tmp_path: Path) -> None:
    folder = packaged(growth, tmp_path / "made")
    environment = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    SALES.to_parquet(tmp_path / "sales.parquet")
    program = "import pandas as pd\nfrom growth import growth\nprint(growth(pd.read_parquet('sales.parquet'))[1])"
    command = [find_uv_bin(), "run", "--no-project", "--with", str(folder), "python", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.stdout.strip() == "2024-02-01", done.stderr
    line = next(line for line in (folder / "tests" / "test_growth.py").read_text().splitlines() if "uv run" in line)
    tested = subprocess.run(
        [find_uv_bin(), *line.removeprefix("#").split()[1:]],
        capture_output=True, text=True, cwd=folder, env=environment, check=False,
    )  # fmt: skip
    assert "1 passed" in tested.stdout, tested.stderr + tested.stdout
