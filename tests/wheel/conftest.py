"""The wheel, built once for all tests, and an environment that contains only it and its dependencies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from uv import find_uv_bin

from autocoder_jupyter.sandbox.environments.installed import adopt_bytecode
from tests.wheel.building import ROOT, build

OF_THE_NOTEBOOK = ("ipykernel", "vega_datasets")
"""Packages for a kernel and for the data of the quickstart."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel: built from this tree, or the one that `make release` has built."""
    if "AUTOCODE_WHEEL" in os.environ:
        return Path(os.environ["AUTOCODE_WHEEL"]).absolute()
    if shutil.which("node") is None and os.environ.get("CI") != "true":
        pytest.skip("there is no Node to build the lab extension with")
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, "--wheel", folder, dict(os.environ)).check_returncode()
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def plain_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and its dependencies, without extras, in the locked versions."""
    place = tmp_path_factory.mktemp("plain") / "environment"
    subprocess.run([find_uv_bin(), "venv", "--quiet", "--python", sys.executable, str(place)], check=True)
    python = place / "bin" / "python"
    install = [find_uv_bin(), "pip", "install", "--quiet", "--python", str(python)]
    locked = ["--constraint", str(ROOT / "requirements" / "all.txt")]
    subprocess.run([*install, *locked, str(wheel), *OF_THE_NOTEBOOK], check=True)
    # To compile pandas, litellm and the others again would take most of the time of a kernel.
    adopt_bytecode(next(place.glob("lib/*/site-packages")), Path(sysconfig.get_path("purelib")))
    return python
