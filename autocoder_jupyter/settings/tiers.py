"""By what generated code is held: the tiers, what each holds and does not hold, and which of them meet a minimum.

The tiers are in no single order: `landlock` and `namespaces` hold different things, and `full` is both. So a minimum
says what meets it, and not a place in a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SandboxTier = Literal["docker", "full", "landlock", "namespaces"]
"""A container of an engine (Docker or Podman), or one of the three ways of the embedded sandbox."""

MinimumTier = Literal["any", "namespaces", "landlock", "full", "docker"]
"""What can be demanded; `any` is whatever a trial program proved to hold."""


@dataclass(frozen=True)
class TierWords:
    """A tier for a person.

    Args:
        made_of: by what it holds.
        holds: what a program in it cannot do.
        lacks: what it does not hold.
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
"""Of each tier what it holds and what it does not. That a program has no network holds in all of them."""


def sandbox_line(sandbox: str, tier: str | None) -> str:
    """A sandbox in one line: its tier, what that holds, and what it does not hold.

    Args:
        sandbox: `docker` or `local`; "" gives "".
        tier: by what it held; None where that was not recorded. A stranger may have written it.
    """
    words = WORDS.get(tier or sandbox)
    if words is None:
        return sandbox and f"{sandbox}; by what it held was not recorded"
    name = sandbox if tier in (None, sandbox) else f"{sandbox}, tier {tier}"
    return f"{name} ({words.made_of}): {words.holds}; {words.lacks}"


def sandbox_fact(sandbox: str, tier: str | None) -> str:
    """The same in a word or two."""
    return f"{sandbox}, {tier}" if tier in WORDS and tier != sandbox else sandbox


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
