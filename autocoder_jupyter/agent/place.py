"""The path of `.autocode`: beside the notebook if that is known, else in the current folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from autocoder_jupyter.errors import working_folder

FOLDER = ".autocode"


def journal_root() -> Path:
    """The folder of the journals. It may not exist."""
    return (_notebook_folder() or working_folder()) / FOLDER


def places() -> tuple[Path, ...]:
    """The `.autocode` folders in which a recorded function is looked for, in order.

    They are the one of the notebook or of the current folder, and the one beside the script that runs; then those
    above each, up to the root of the project (with `.git` or `pyproject.toml`).
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    starts = [journal_root().parent, *([Path(main).resolve().parent] if isinstance(main, str) else [])]
    found = dict.fromkeys(start / FOLDER for start in starts)
    for start in starts:
        found |= dict.fromkeys(folder / FOLDER for folder in up_to_root(start, (".git", "pyproject.toml")))
    return tuple(found)


def up_to_root(start: Path, marks: Iterable[str]) -> tuple[Path, ...]:
    """A folder and those above it, up to the nearest one with one of these marks; without one, the folder alone."""
    above = (start, *start.parents)
    root = next((number for number, folder in enumerate(above) if _is_root(folder, start, marks)), 0)
    return above[: root + 1]


def _is_root(folder: Path, start: Path, marks: Iterable[str]) -> bool:
    """Whether this is the root of a project. A mark of another user counts only if the folder in it is theirs too:
    anybody can make one in a folder like `/tmp`.
    """
    own = os.geteuid() if hasattr(os, "geteuid") else 0
    owners = {_owner(folder / mark) for mark in marks} - {None}
    return bool(owners & {own, _owner(start)})


def _owner(path: Path) -> int | None:
    """The user id of the owner; None if there is nothing."""
    try:
        return path.lstat().st_uid
    except OSError:
        return None


def _notebook_folder() -> Path | None:
    """The folder of the running notebook. VS Code sets a name in the namespace, Jupyter an environment variable."""
    path = _vscode_path() or os.environ.get("JPY_SESSION_NAME")
    if not path:
        return None
    notebook = Path(path)
    # Jupyter's path may be relative to the server's root; the notebook's folder is then the current one.
    return notebook.parent if notebook.is_absolute() and notebook.parent.is_dir() else None


def _vscode_path() -> str | None:
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    path = shell.user_ns.get("__vsc_ipynb_file__") if shell is not None else None
    return path if isinstance(path, str) else None
