"""The modules are sent into the sandbox as they are."""

from __future__ import annotations

import ast
import sys
from importlib import resources

import pytest

from autocoder_jupyter.engine.second_opinion.trial import MODULES

SENT = [f"{package}.{name}" for package, name in MODULES]


@pytest.mark.parametrize(("package", "name"), MODULES)
def test_a_module_that_is_sent_imports_only_what_a_worker_has_and_what_was_sent_before(package: str, name: str) -> None:
    source = resources.files(package).joinpath(f"{name}.py").read_text("utf-8")
    before = SENT[: SENT.index(f"{package}.{name}")]
    allowed = set(sys.stdlib_module_names) | {"numpy", "pandas"}
    for node in ast.walk(ast.parse(source, feature_version=(3, 10))):
        if isinstance(node, ast.Import):
            assert {alias.name.partition(".")[0] for alias in node.names} <= allowed
        elif isinstance(node, ast.ImportFrom):
            assert node.module in before or (node.module or "").partition(".")[0] in allowed


def test_all_modules_of_equality_are_sent() -> None:
    files = resources.files("autocoder_jupyter.equality").iterdir()
    names = {file.name.removesuffix(".py") for file in files if file.name.endswith(".py")} - {"__init__"}
    assert names == {name for package, name in MODULES if package == "autocoder_jupyter.equality"}
