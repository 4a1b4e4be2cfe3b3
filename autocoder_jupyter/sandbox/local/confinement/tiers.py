"""The tiers of confinement of a worker on this machine, the strongest first; `settings.tiers.WORDS` describes them."""

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
    """

    name: TierName
    landlock: bool
    namespaces: bool


TIERS: tuple[Tier, ...] = (
    Tier("full", landlock=True, namespaces=True),
    Tier("landlock", landlock=True, namespaces=False),
    Tier("namespaces", landlock=False, namespaces=True),
)


def tier_named(name: str) -> Tier:
    """The tier of this name.

    Raises:
        KeyError: there is none.
    """
    by_name: dict[str, Tier] = {tier.name: tier for tier in TIERS}
    return by_name[name]
