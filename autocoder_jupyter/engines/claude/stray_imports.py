"""Finds imports of workspace modules that will be missing, because only two of its Python files are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autocoder_jupyter.engine.packages import imported_modules


def stray_import(sources: Mapping[str, str], paths: Iterable[str]) -> str:
    """The import of another file of the workspace, as text for the agent; "" if there is none.

    Such a name would otherwise be looked up on the package index, where an attacker may have registered it.

    Args:
        sources: the modules that are kept, by path. One that does not parse imports nothing.
        paths: the paths of all files of the workspace.
    """
    there = {path.partition("/")[0].removesuffix(".py") for path in paths if path.endswith(".py")}
    for path, source in sources.items():
        try:
            found = sorted({*imported_modules(source)} & there)
        except SyntaxError:
            continue
        if found:
            return (
                f"{path} imports {found[0]}, another file of the workspace, and no other file goes on: "
                f"write what it needs into {path} itself"
            )
    return ""
