"""The wheel contains the JupyterLab part, ready to use; an install needs no Node."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from uv import find_uv_bin

import autocoder_jupyter
from tests.wheel.building import ROOT, build

SHARED = "data/share/jupyter/labextensions/autocoder-jupyter/"
WITHOUT_NODE = {"PATH": "/nowhere", "HOME": os.environ.get("HOME", "/")}


@pytest.mark.slow
def test_it_is_enabled_in_a_jupyterlab_that_has_no_node(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "fresh"
    subprocess.run([find_uv_bin(), "venv", "--quiet", "--python", sys.executable, str(place)], check=True)
    python = place / "bin" / "python"
    install: list[str | Path] = [
        find_uv_bin(),
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--python",
        str(python),
        str(wheel),
    ]
    subprocess.run(install, check=True)
    packages = next(place.glob("lib/*/site-packages"))
    (packages / "jupyterlab.pth").write_text(sysconfig.get_path("purelib"))  # without the editable install in it
    command: list[str | Path] = [
        python,
        "-m",
        "jupyterlab.labextensions",
        "list",
    ]  # what `jupyter labextension list` runs
    listed = subprocess.run(command, env=WITHOUT_NODE, cwd=tmp_path, capture_output=True, text=True)
    said = listed.stdout + listed.stderr
    line = next((line for line in said.splitlines() if "autocoder-jupyter" in line), said)
    assert f"v{autocoder_jupyter.__version__}" in line and "enabled" in line and "OK" in line
    imported: list[str | Path] = [python, "-c", "import autocoder_jupyter; print(autocoder_jupyter.__file__)"]
    where = subprocess.check_output(imported, env=WITHOUT_NODE, cwd=tmp_path, text=True)
    assert Path(where.strip()).is_relative_to(packages)


@pytest.mark.slow
def test_it_holds_the_package_and_the_extension_and_nothing_of_the_machine(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        tops = {name.split("/", 1)[0] for name in names}
        version = autocoder_jupyter.__version__
        assert tops == {"autocode_functions", "autocoder_jupyter"} | {
            f"autocoder_jupyter-{version}.{part}" for part in ("data", "dist-info")
        }
        shipped = ("sandbox/programs/loader.py", "engine/programs/stub.py", "codemode/programs/names.pyi")
        assert {
            f"autocoder_jupyter/{name}" for name in (*shipped, "tasks/script_parts.py", "tasks/figures_as_data.py")
        } <= {*names}
        shared = [name.split(SHARED, 1)[1] for name in names if ".data/" in name]
        assert {"install.json", "package.json", "schemas/autocoder-jupyter/plugin.json"} <= set(shared)
        entry = json.loads(archive.read(next(n for n in names if n.endswith(f"{SHARED}package.json"))))
        assert entry["jupyterlab"]["_build"]["load"] in shared
        assert not [name for name in names if name.startswith("autocoder_jupyter/labextension/")]
        unwanted = ("node_modules", ".map", "build_log", ".ts", "tests/")
        assert not [name for name in names if any(word in name for word in unwanted)]
        assert not [name for name in names if str(ROOT).encode() in archive.read(name)]


@pytest.mark.slow
def test_its_metadata_is_what_an_index_takes(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA")))
    metadata = Metadata.from_email(text, validate=True)
    assert str(metadata.version) == autocoder_jupyter.__version__
    assert metadata.license_expression == "Apache-2.0" and metadata.description_content_type == "text/markdown"
    assert {"Documentation", "Source", "Issues", "Changelog"} <= set(metadata.project_urls or {})


@pytest.mark.slow
def test_an_sdist_makes_the_wheel_without_node(wheel: Path, tmp_path: Path) -> None:
    build(ROOT, "--sdist", tmp_path, dict(os.environ)).check_returncode()
    (tmp_path / "unpacked").mkdir()  # by `tar`: Python before 3.11.4 has no filter, and since 3.12 it wants one
    subprocess.run(["tar", "-xf", next(tmp_path.glob("*.tar.gz")), "-C", tmp_path / "unpacked"], check=True)
    unpacked = next((tmp_path / "unpacked").iterdir())
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")}
    assert {"tests/conftest.py", "docs/conf.py", "requirements/all.txt", "SECURITY.md", "LICENSE"} <= names
    assert not [
        name for name in names if re.search(r"(^|/)(node_modules|_build|generated|\.venv|__pycache__)(/|$)", name)
    ]
    build(unpacked, "--wheel", tmp_path / "again", WITHOUT_NODE).check_returncode()
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(next((tmp_path / "again").iterdir())) as second:
        assert sorted(second.namelist()) == sorted(first.namelist())


@pytest.mark.slow
def test_a_wheel_without_the_extension_is_refused(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    left_out = shutil.ignore_patterns(".*", "node_modules", "artifacts", "dist", "lib")
    shutil.copytree(ROOT, bare, ignore=left_out)
    shutil.rmtree(bare / "autocoder_jupyter" / "labextension", ignore_errors=True)
    refused = build(bare, "--wheel", tmp_path / "dist", WITHOUT_NODE)
    assert refused.returncode != 0
    assert "there is no Node to build it" in refused.stdout + refused.stderr
    editable = [sys.executable, "-c", "import hatchling.build as b; print(b.build_editable('.'))"]
    subprocess.run(editable, cwd=bare, env=WITHOUT_NODE, check=True)
