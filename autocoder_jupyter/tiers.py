"""By what generated code is held: the tiers, what each holds and does not hold, and which of them meet a minimum.

The tiers are in no single order: `landlock` and `namespaces` hold different things, and `full` is both. So a minimum
says what meets it, and not a place in a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Tier = Literal["docker", "full", "landlock", "namespaces"]
"""A container of an engine (Docker or Podman), or one of the three ways of the embedded sandbox."""

MinimumTier = Literal["any", "namespaces", "landlock", "full", "docker"]
"""What can be demanded; `any` is whatever a trial program proved to hold."""

WORDS: Mapping[str, str] = {
    "docker": (
        "a container without privileges: your other files and processes are hidden; "
        "it shares the kernel of the machine that its engine runs on"
    ),
    "full": (
        "Landlock and namespaces: your other files and processes are hidden; "
        "limits of memory and disk may be passed for a moment"
    ),
    "landlock": (
        "Landlock without namespaces: your other files cannot be read or changed, nor your processes reached; "
        "whether a file exists and how large it is can be seen, "
        "and limits of memory and disk may be passed for a moment"
    ),
    "namespaces": (
        "namespaces without Landlock: your other files and processes are hidden, by one wall instead of two; "
        "limits of memory and disk may be passed for a moment"
    ),
}
"""Of each tier, what it holds; what it does not hold."""

MET_BY: Mapping[str, frozenset[str]] = {
    "any": frozenset({"docker", "full", "landlock", "namespaces"}),
    "namespaces": frozenset({"docker", "full", "namespaces"}),
    "landlock": frozenset({"docker", "full", "landlock"}),
    "full": frozenset({"docker", "full"}),
    "docker": frozenset({"docker"}),
}
"""Of each minimum, the tiers that hold as much."""


@dataclass(frozen=True)
class SandboxMinimum:
    """What generated code must be held by at least.

    Args:
        tier: the weakest that will do.
        by: who demands it and where it is written, for an error.
    """

    tier: MinimumTier = "any"
    by: str = field(default="sandbox_minimum", compare=False)

    def met_by(self, tier: str | None) -> bool:
        """Whether a tier holds as much; None, which is not known, meets nothing but `any`."""
        return self.tier == "any" or tier in MET_BY[self.tier]

    def narrowed_by(self, other: SandboxMinimum) -> SandboxMinimum:
        """What meets both. Neither can take back what the other demands."""
        ours, theirs = MET_BY[self.tier], MET_BY[other.tier]
        if ours <= theirs:
            return self
        if theirs <= ours:
            return other
        return SandboxMinimum("full", f"{self.by} ({self.tier}) and {other.by} ({other.tier})")


ANY = SandboxMinimum()
"""Nothing is demanded."""
