"""Files of the workspace that the function imports, but that are not part of it."""

from __future__ import annotations

import pytest

from autocoder_jupyter.engines.claude.agent import stray_import
from tests.cases import each

PATHS = ["solution.py", "tests.py", "helpers.py", "pkg/__init__.py", "pkg/deep.py", "data/sales.csv"]


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("import helpers", "helpers"),
        ("import pandas\ndef run():\n    from helpers import f", "helpers"),
        ("from pkg.deep import f", "pkg"),
    ],
)
def test_an_import_of_another_file_is_named(source: str, module: str) -> None:
    told = stray_import({"solution.py": source}, PATHS)
    assert told.startswith(f"solution.py imports {module}, another file of the workspace")


@each("source", ["import pandas, json", "from solution import run", "import data", "def ("])
def test_packages_and_the_function_itself_are_no_such_file(source: str) -> None:
    assert stray_import({"tests.py": source}, PATHS) == ""
