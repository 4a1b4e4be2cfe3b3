"""The page of the site that says what each package contains, and what it may import."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "autocoder_jupyter"


def packages_page(root: Path) -> str:
    """The text of the page: the docstring of each package, and the packages that it may import."""
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = [_names(layer) for contract in contracts if contract["type"] == "layers" for layer in contract["layers"]]
    parts = [
        "# Packages",
        "For contributors: which package has what? It imports only packages below it, which import-linter checks.",
    ]
    for number, layer in enumerate(layers):
        below = [name for names in layers[number + 1 :] for name in names]
        for name in layer:
            parts += _section(root / PACKAGE / name, name, below)
    return "\n\n".join(parts) + "\n"


def _names(layer: str) -> list[str]:
    return [part.strip().removeprefix(f"{PACKAGE}.") for part in layer.split("|")]


def _section(folder: Path, name: str, below: list[str]) -> Iterator[str]:
    if not folder.is_dir():  # a module, which has its own docstring
        return
    yield f"## `{name}`"
    yield _docstring(folder)
    yield f"May import: {', '.join(f'`{other}`' for other in below) or 'no other package'}."
    for inner in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield f"### `{name}/{inner.name}`"
        yield _docstring(inner)


def _docstring(folder: Path) -> str:
    return ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
