"""The package declares all its imports, so that a plain install has them."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.wheel.building import ROOT

ELSEWHERE = {
    "autocoder_worker": "our own part inside a sandbox, under the name that it has there",
    "autocoder_codec": "the same",
    "pytest": "of the sandbox's environment",
    "_pytest": "of the sandbox's environment",
    "matplotlib": "of the sandbox's environment",
    "PIL": "of matplotlib",
    "polars": "only for who asks for tables in its form, or gives one of a library that converts by it",
    "claude_agent_sdk": "of the extra `agent`; without it one sentence says how to install it",
    "httpx": "the same",
    "mcp": "of the extra `mcp`; the same as for `agent`",
    "jupyter_client": "of the extra `mcp`",
    "tornado": "the same",
    "jsonschema": "of claude_agent_sdk; it is loaded before claude_agent_sdk asks for it",
    "openai": "a part of litellm, which is loaded before litellm asks for it",
    "aiohttp": "of litellm, whose requests it sends",
    "pydantic_monty": "of the extra `codemode`; the same",
    "deltalake": "only for folders with its tables, or who passes them; without it they are refused by name",
    "pyiceberg": "the same",
    "zstandard": "of pyiceberg",
    "fsspec": "only for storage that PyArrow has no filesystem for; without it an address is refused",
    "dask": "of the extra `dask`, or of who passes its frames",
    "distributed": "the same",
    "pyspark": "of who passes its frames",
    "ray": "of who passes its datasets",
    "duckdb": "of the extra `databases`, or of who passes its relations, or tables of Ibis",
    "sqlglot": "of the extra `databases`; without it one sentence says how to install it",
    "flyte": "only for who passes its values, or asks for its tasks",
    "geopandas": "only for who passes its tables; without it they are refused by name",
    "ibis": "only for who passes its tables",
    "keyring": "only to keep a key in the system's keyring; without it a typed key stays in the kernel's memory",
    "pyproj": "of geopandas",
    "shapely": "of geopandas",
    "openpyxl": "only for Excel files; without it they are described by name and size",
}


def test_every_import_is_declared_by_name() -> None:
    """A distribution that is installed only for another one can disappear with the next release of that one."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    distributions = {canonicalize_name(Requirement(each).name) for each in declared}
    providers = packages_distributions()
    homeless = {
        name
        for name in imported_packages()
        if not distributions & {canonicalize_name(each) for each in providers.get(name, ())}
    }
    assert homeless == set(ELSEWHERE)


def imported_packages() -> set[str]:
    """The top-level names of all foreign imports in our modules, wherever they are."""
    modules = (ROOT / "autocoder_jupyter").rglob("*.py")
    names = {name.split(".")[0] for module in modules for name in imports(ast.parse(module.read_text()))}
    return names - sys.stdlib_module_names - {"autocoder_jupyter"}


def imports(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(name), level=0):
                yield name
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
                yield name
