"""`from autocode_functions import growth`: recorded functions as a module, for notebooks, scripts and CI."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import autocode_functions
from autocoder_jupyter import load
from autocoder_jupyter.errors import InvalidRequest
from tests.runner import CODE, PLAN, TESTS, Runner, fenced

SCRIPT = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}

USE = """
import sys
import pandas as pd
from autocode_functions import growth
assert "litellm" not in sys.modules
print(growth.state, growth(pd.DataFrame({"price": [2.0], "quantity": [3]})))
"""


def python(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "JPY_SESSION_NAME"}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, env=environment, check=False
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a script in a folder of it."""
    root = tmp_path / "project"
    (root / "reports").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (root / "reports" / "weekly.py").write_text(USE)
    return root


@pytest.mark.local_sandbox
async def test_a_script_imports_a_function_of_its_project_from_anywhere(project: Path, tmp_path: Path) -> None:
    produced = await Runner(project / ".autocode", "local").begin(SCRIPT)
    assert produced.report.success, produced.error
    for cwd, script in ((project, "reports/weekly.py"), (tmp_path, "project/reports/weekly.py")):
        done = python(cwd, script)
        # As for a colleague: the run that verified it was in a process with another configuration.
        assert done.stdout.strip() == "not_verified 6.0" and "NotVerifiedWarning" in done.stderr, done.stderr
    assert "growth" in python(project, "-c", "import autocode_functions; print(dir(autocode_functions))").stdout


@pytest.mark.local_sandbox
def test_importing_runs_no_code_of_a_folder(project: Path) -> None:
    asyncio.run(Runner(project / ".autocode", "local").begin(SCRIPT))
    bad = "import pathlib; pathlib.Path('owned').write_text('x')\n"
    for path in project.rglob("solution.py"):
        path.write_text(bad + path.read_text())
    for path in project.rglob("report.json"):
        data = json.loads(path.read_text())
        data["solution"]["code"] = bad + data["solution"]["code"]
        path.write_text(json.dumps(data))
    for name in ("__init__", "growth", "conftest", "sitecustomize"):
        (project / ".autocode" / f"{name}.py").write_text(bad)
        (project / ".autocode" / "growth" / f"{name}.py").write_text(bad)
    done = python(project, "-c", "from autocode_functions import growth; print(growth.state)")
    assert done.stdout.strip() == "not_verified", done.stderr
    assert not list(project.rglob("owned"))


def test_what_is_not_there_says_where_it_was_looked_for(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = python(project / "reports", "weekly.py")
    assert done.returncode == 1 and "ImportError: There is no recorded growth in" in done.stderr
    assert f"{project / 'reports' / '.autocode'}" in done.stderr and f"{project / '.autocode'}" in done.stderr
    assert str(project.parent / ".autocode") not in done.stderr  # it ends at the root of the project
    monkeypatch.chdir(project / "reports")
    with pytest.raises(InvalidRequest, match="journal_root=") as caught:
        load("growth")
    assert str(project / ".autocode") in str(caught.value)
    with pytest.raises(InvalidRequest) as caught:
        load("growth", journal_root="elsewhere")
    assert str(project / "reports" / "elsewhere") in str(caught.value)
    assert "looked at too" not in str(caught.value)
    assert not hasattr(autocode_functions, "__wrapped__")  # as tools ask of any module
