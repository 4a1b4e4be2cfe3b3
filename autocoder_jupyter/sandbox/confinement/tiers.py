"""The ways in which a worker can be held on this machine, the strongest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TierName = Literal["full", "landlock", "namespaces"]


@dataclass(frozen=True)
class Tier:
    """One combination of the kernel's means; seccomp belongs to each.

    Args:
        name: what settings and reports call it.
        landlock: files are held by Landlock, of whatever version there is.
        namespaces: the worker has a file tree, processes, network and IPC of its own.
        words: for a person, what holds and what does not.
    """

    name: TierName
    landlock: bool
    namespaces: bool
    words: str


TIERS: tuple[Tier, ...] = (
    Tier(
        "full",
        landlock=True,
        namespaces=True,
        words="Landlock, seccomp, and a file tree, processes and network of its own",
    ),
    Tier(
        "landlock",
        landlock=True,
        namespaces=False,
        words="Landlock and seccomp; it can see whether a file exists and how large it is, but not read it",
    ),
    Tier(
        "namespaces",
        landlock=False,
        namespaces=True,
        words="seccomp, and a file tree, processes and network of its own; no Landlock behind it",
    ),
)


def tier_named(name: str) -> Tier:
    """The tier of this name.

    Raises:
        KeyError: there is none.
    """
    by_name: dict[str, Tier] = {tier.name: tier for tier in TIERS}
    return by_name[name]
