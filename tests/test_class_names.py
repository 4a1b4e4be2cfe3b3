"""Two classes with one name make a reader open the wrong one."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "autocoder_jupyter"


def test_no_class_name_stands_twice() -> None:
    modules = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(path.relative_to(PACKAGE).as_posix())
    assert {name: where for name, where in modules.items() if len(where) > 1} == {}
