"""Imports of workspace modules that will be missing, because only two of its Python files are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autocoder_jupyter.engine.packages import imported_modules


def stray_import(sources: Mapping[str, str], paths: Iterable[str]) -> str:
    """What is imported and is another file of the workspace, in words for the agent; "" when nothing is.

    Such a name would else be looked for among packages, where a stranger may have taken it.

    Args:
        sources: the modules that go on, by path. One that does not parse imports nothing.
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
