"""Modules of the engine and of the models import each other in one direction, also for types."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp

from tests.cases import each


@each("package", ["engine", "engines", "models", "sandbox"])
def test_no_module_imports_itself_through_others(package: str) -> None:
    graph = grimp.build_graph("autocoder_jupyter")
    inside = {name for name in graph.modules if name.startswith(f"autocoder_jupyter.{package}.")}
    order = TopologicalSorter({name: graph.find_modules_directly_imported_by(name) & inside for name in inside})
    order.prepare()  # raises a CycleError with the circle
