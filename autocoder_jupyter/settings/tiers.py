"""The tiers of sandboxes: what each protects, what it does not, and which of them meet a minimum.

The tiers have no total order: `landlock` and `namespaces` protect different things, and `full` has both. So a minimum
lists the tiers that meet it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SandboxTier = Literal["docker", "full", "landlock", "namespaces"]
"""A container of an engine (Docker or Podman), or one of the three ways of the embedded sandbox."""

MinimumTier = Literal["any", "namespaces", "landlock", "full", "docker"]
"""The values of `sandbox_minimum`. `any` means any sandbox that passed its trial."""


@dataclass(frozen=True)
class TierWords:
    """The description of a tier for the user.

    Args:
        made_of: the mechanisms that it uses.
        holds: what it protects.
        lacks: what it does not protect.
    """

    made_of: str
    holds: str
    lacks: str


_LIMITS = "memory and disk limits can be passed briefly"

WORDS: Mapping[str, TierWords] = {
    "docker": TierWords(
        "a container without privileges",
        "your files and processes are hidden",
        "it shares the kernel of its engine's machine",
    ),
    "full": TierWords("Landlock and namespaces", "your files and processes are hidden", _LIMITS),
    "landlock": TierWords(
        "Landlock alone",
        "your files and processes are out of reach",
        f"it can see that a file exists, and its size; {_LIMITS}",
    ),
    "namespaces": TierWords(
        "namespaces alone",
        "your files and processes are hidden",
        f"there is one wall, where `full` has two; {_LIMITS}",
    ),
}
"""The description of each tier. In all of them a program has no network."""


def sandbox_line(sandbox: str, tier: str | None) -> str:
    """A sandbox in one line: its tier, what it protects, and what it does not protect.

    Args:
        sandbox: `docker` or `local`; "" gives "".
        tier: the tier; None if it was not recorded. It may come from a file that is not trusted.
    """
    words = WORDS.get(tier or sandbox)
    if words is None:
        return sandbox and f"{sandbox}; its isolation was not recorded"
    name = sandbox if tier in (None, sandbox) else f"{sandbox}, tier {tier}"
    return f"{name} ({words.made_of}): {words.holds}; {words.lacks}"


def sandbox_fact(sandbox: str, tier: str | None) -> str:
    """The sandbox and its tier in a few words."""
    return f"{sandbox}, {tier}" if tier in WORDS and tier != sandbox else sandbox


MET_BY: Mapping[str, frozenset[str]] = {
    "any": frozenset({"docker", "full", "landlock", "namespaces"}),
    "namespaces": frozenset({"docker", "full", "namespaces"}),
    "landlock": frozenset({"docker", "full", "landlock"}),
    "full": frozenset({"docker", "full"}),
    "docker": frozenset({"docker"}),
}
"""For each minimum, the tiers that meet it."""


@dataclass(frozen=True)
class SandboxMinimum:
    """The weakest sandbox that is accepted for generated code.

    Args:
        tier: the weakest accepted tier.
        by: who requires it and where it is set, for an error message.
    """

    tier: MinimumTier = "any"
    by: str = field(default="sandbox_minimum", compare=False)

    def met_by(self, tier: str | None) -> bool:
        """Whether a tier meets it. None (unknown) meets only `any`."""
        return self.tier == "any" or tier in MET_BY[self.tier]

    def narrowed_by(self, other: SandboxMinimum) -> SandboxMinimum:
        """The minimum that meets both."""
        ours, theirs = MET_BY[self.tier], MET_BY[other.tier]
        if ours <= theirs:
            return self
        if theirs <= ours:
            return other
        return SandboxMinimum("full", f"{self.by} ({self.tier}) and {other.by} ({other.tier})")


ANY = SandboxMinimum()
"""No minimum."""
