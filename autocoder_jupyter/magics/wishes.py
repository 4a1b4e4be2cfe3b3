"""What the folder of a notebook asks for, in words: for the card of a run and for `%autocode trust`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.magics.settings import Settings
from autocoder_jupyter.trust import Wish, trust_in
from autocoder_jupyter.trust.wishes import digests
from autocoder_jupyter.untrusted.visible import visible

LONGEST = 120
"""Characters of a value that a card shows; `%autocode trust` shows all."""


@dataclass(frozen=True)
class FolderWishes:
    """What one folder asks for.

    Args:
        folder: which asks.
        wishes: all of them, agreed to or not; never empty.
    """

    folder: Path
    wishes: tuple[Wish, ...]

    @property
    def agreed(self) -> bool:
        """Whether the person said yes to exactly these."""
        return trust_in(self.folder).covers(self.wishes)


def collected(notebook: Notebook) -> list[FolderWishes]:
    """What the folders of this notebook ask for: the one of the pyproject.toml, and the one that holds `.autocode`."""
    settings = notebook.settings()
    beside = notebook.journal_root.parent
    found: dict[Path, list[Wish]] = {settings.folder: list(settings.wishes)}
    found.setdefault(beside, []).extend(_further(beside))
    return [FolderWishes(folder, tuple(wishes)) for folder, wishes in found.items() if wishes]


def notice(notebook: Notebook, settings: Settings) -> tuple[str, ...]:
    """What a run does without until the person agrees, a sentence a line; in full once a kernel, then in a line."""
    beside = notebook.journal_root.parent
    further = _further(beside)
    waiting = (*settings.waiting, *(() if trust_in(beside).covers(further) else further))
    if not waiting:
        return ()
    key = str(sorted(digests(waiting).items()))
    if key in notebook.told:
        names = ", ".join(visible(wish.name) for wish in waiting)
        return (f"Without what this folder asks for and you have not agreed to: {names}. %autocode trust asks you.",)
    notebook.told.add(key)
    return (
        f"{visible(settings.folder)} asks for what needs your yes. This run goes on without it.",
        *(f"{visible(wish.name)} = {_shortened(wish.value)}: {visible(wish.why)}." for wish in waiting),
        "%autocode trust asks you whether you agree. If somebody else wrote this folder, look first.",
    )


def _further(folder: Path) -> tuple[Wish, ...]:
    """What other files than the pyproject.toml ask for, in the folder that holds `.autocode`."""
    from autocoder_jupyter.sandbox.environments.uv import index_wishes

    return index_wishes(folder)


def rows(wishes: Iterable[Wish]) -> list[tuple[str, str, str]]:
    """Of each wish what is asked for, as it is, and what it means to agree."""
    return [(visible(wish.name), visible(wish.value), visible(wish.why)) for wish in wishes]


def _shortened(value: str) -> str:
    shown = visible(value)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} …"
