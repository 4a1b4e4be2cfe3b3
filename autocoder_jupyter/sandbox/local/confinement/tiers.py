"""The tiers of confinement of a local worker, the strongest first. `settings.choices.TIERS` describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TierName = Literal["full", "landlock", "namespaces"]


@dataclass(frozen=True)
class ConfinementTier:
    """A combination of the kernel's features. All tiers use seccomp.

    Args:
        name: its name in settings and reports.
        landlock: Landlock limits the access to files, in the version of the kernel.
        namespaces: the worker has its own namespaces for files, processes, network and IPC.
    """

    name: TierName
    landlock: bool
    namespaces: bool


TIERS: tuple[ConfinementTier, ...] = (
    ConfinementTier("full", landlock=True, namespaces=True),
    ConfinementTier("landlock", landlock=True, namespaces=False),
    ConfinementTier("namespaces", landlock=False, namespaces=True),
)


def tier_named(name: str) -> ConfinementTier:
    """The tier with this name.

    Raises:
        KeyError: there is no such tier.
    """
    by_name: dict[str, ConfinementTier] = {tier.name: tier for tier in TIERS}
    return by_name[name]
