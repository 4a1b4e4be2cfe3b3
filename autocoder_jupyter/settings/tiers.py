"""The tiers of sandboxes: what each protects, what it does not, and which of them meet a minimum.

The tiers have no total order: `landlock` and `namespaces` protect different things, and `full` has both. So a minimum
lists the tiers that meet it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

SandboxTier = Literal["docker", "full", "landlock", "namespaces"]
"""A container of an engine (Docker or Podman), or one of the three ways of the embedded sandbox."""

MinimumTier = Literal["any", "namespaces", "landlock", "full", "docker"]
"""The values of `sandbox_minimum`. `any` means any sandbox that passed its trial."""


MINIMUMS: tuple[str, ...] = get_args(MinimumTier)
"""The values of `sandbox_minimum`, the weakest first."""


@dataclass(frozen=True)
class Tier:
    """One tier.

    Args:
        made_of: the mechanisms that it uses.
        holds: what it protects.
        lacks: what it does not protect.
        meets: the minimums that it meets, besides `any`.
        title: what it is as a minimum, on JupyterLab's settings page.
    """

    made_of: str
    holds: str
    lacks: str
    meets: frozenset[str]
    title: str


_LIMITS = "memory and disk limits can be passed briefly"

TIERS: Mapping[str, Tier] = {
    "docker": Tier(
        "a container without privileges",
        "your files and processes are hidden",
        "it shares the kernel of its engine's machine",
        meets=frozenset({"docker", "full", "landlock", "namespaces"}),
        title="A container of Docker or Podman",
    ),
    "full": Tier(
        "Landlock and namespaces",
        "your files and processes are hidden",
        _LIMITS,
        meets=frozenset({"full", "landlock", "namespaces"}),
        title="Landlock and namespaces, or a container",
    ),
    "landlock": Tier(
        "Landlock alone",
        "your files and processes are out of reach",
        f"it can see that a file exists, and its size; {_LIMITS}",
        meets=frozenset({"landlock"}),
        title="Landlock: your other files cannot be read, but their existence can be seen",
    ),
    "namespaces": Tier(
        "namespaces alone",
        "your files and processes are hidden",
        f"there is one wall, where `full` has two; {_LIMITS}",
        meets=frozenset({"namespaces"}),
        title="Namespaces: your other files and processes are hidden",
    ),
}
"""The tiers by name. In all of them a program has no network."""

MET_BY: Mapping[str, frozenset[str]] = {
    minimum: frozenset(name for name, tier in TIERS.items() if minimum == "any" or minimum in tier.meets)
    for minimum in MINIMUMS
}
"""For each minimum, the tiers that meet it."""


def sandbox_line(sandbox: str, tier: str | None) -> str:
    """A sandbox in one line: its tier, what it protects, and what it does not protect.

    Args:
        sandbox: `docker` or `local`; "" gives "".
        tier: the tier; None if it was not recorded. It may come from a file that is not trusted.
    """
    words = TIERS.get(tier or sandbox)
    if words is None:
        return sandbox and f"{sandbox}; its isolation was not recorded"
    name = sandbox if tier in (None, sandbox) else f"{sandbox}, tier {tier}"
    return f"{name} ({words.made_of}): {words.holds}; {words.lacks}"


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
        both = {minimum: tiers for minimum, tiers in MET_BY.items() if tiers <= ours & theirs}
        weakest: Any = max(both, key=lambda minimum: len(both[minimum]))
        return SandboxMinimum(weakest, f"{self.by} ({self.tier}) and {other.by} ({other.tier})")


ANY = SandboxMinimum()
"""No minimum."""
