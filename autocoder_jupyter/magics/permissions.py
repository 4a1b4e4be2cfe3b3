"""The permissions that the folder of a notebook asks for, as text for the card and for `%autocode trust`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.agent.rules import rule_files
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.settings import Settings
from autocoder_jupyter.trust import Permission, trust_in
from autocoder_jupyter.trust.permissions import digests
from autocoder_jupyter.untrusted.visible import visible

LONGEST = 120
"""Characters of a value on a card. `%autocode trust` shows the whole value."""


@dataclass(frozen=True)
class FolderPermissions:
    """The permissions that one folder asks for.

    Args:
        permissions: all of them, granted or not; never empty.
    """

    folder: Path
    permissions: tuple[Permission, ...]

    @property
    def agreed(self) -> bool:
        """Whether exactly these were granted."""
        return trust_in(self.folder).covers(self.permissions)


def collected(notebook: Notebook) -> list[FolderPermissions]:
    """The permissions of the folder with the pyproject.toml, of the one that holds `.autocode`, and of house rules."""
    settings = notebook.settings()
    beside = notebook.journal_root.parent
    found: dict[Path, list[Permission]] = {settings.folder: list(settings.permissions)}
    found.setdefault(beside, []).extend(_further(beside))
    for file in rule_files(beside):
        if not file.problem:
            found.setdefault(file.path.parent, []).append(file.permission)
    return [FolderPermissions(folder, tuple(permissions)) for folder, permissions in found.items() if permissions]


def notice(notebook: Notebook, settings: Settings) -> tuple[str, ...]:
    """Lines about permissions that were not granted: all of them once per kernel, later one line."""
    beside = notebook.journal_root.parent
    further = _further(beside)
    files = [file for file in rule_files(beside) if not file.may_be_used(locked=settings["locked"])]
    unreadable = tuple(f"{visible(file.path)} is {file.state}" for file in files if file.problem)
    waiting = (
        *settings.waiting,
        *(() if trust_in(beside).covers(further) else further),
        *(file.permission for file in files if not file.problem),
    )
    if not waiting:
        return unreadable
    key = str(sorted(digests(waiting).items()))
    if key in notebook.shown_notices:
        names = ", ".join(visible(permission.name) for permission in waiting)
        return (*unreadable, f"Not used without your permission: {names}. %autocode trust asks you.")
    notebook.shown_notices.add(key)
    return (
        *unreadable,
        f"{visible(settings.folder)} has settings or rules that need your permission. This run does not use them.",
        *(
            f"{visible(permission.name)} = {_shortened(permission.value)}: {visible(permission.why)}."
            for permission in waiting
        ),
        "%autocode trust asks you for permission. If somebody else wrote this folder, check the values first.",
    )


def _further(folder: Path) -> tuple[Permission, ...]:
    """The permissions that files other than pyproject.toml ask for, in the folder that holds `.autocode`."""
    from autocoder_jupyter.sandbox.environments.uv import index_permissions

    return index_permissions(folder)


def permission_rows(permissions: Iterable[Permission]) -> list[tuple[str, str, str]]:
    """For each permission its name, its value and the effect of granting it."""
    return [
        (visible(permission.name), visible(permission.value), visible(permission.why)) for permission in permissions
    ]


def _shortened(value: str) -> str:
    shown = visible(value)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} …"
