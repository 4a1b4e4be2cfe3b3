"""The values of settings that are a choice: one record for each effort, engine, sandbox and tier of sandboxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Share = Literal["rows", "stats", "schema"]
"""How much of the data the model may see: sample rows too, only statistics, or only names and dtypes."""

CachePolicy = Literal["auto", "override", "disable"]
Switch = Literal["on", "off"]

Opinion = Literal["auto", "on", "off"]
"""Whether there is a second opinion; `auto` leaves it to the effort."""


# Efforts
#
# How much is done, after a function has passed its tests, to find out what that is worth.

EffortName = Literal["quick", "normal", "high"]


@dataclass(frozen=True)
class Effort:
    """One effort.

    Args:
        title: what it is, on JupyterLab's settings page.
        questions: the number of questions to the model for a function that passes at once. If the effort examines it
            and its tests catch too few changes, there is one more, for further tests.
        has_second_opinion: whether a second solution is written, if `second_opinion` is `auto`.
        changes: the maximum number of mutations of the function on which its tests are run.
        parts: the number of small parts of the sample.
        seconds: the most that all this may take, without the answers of the model.
    """

    title: str
    questions: int
    has_second_opinion: bool
    changes: int
    parts: int
    seconds: float

    @property
    def is_examined(self) -> bool:
        """Whether the verified function is examined at all."""
        return self.seconds > 0


EFFORTS: Mapping[EffortName, Effort] = {
    "quick": Effort(
        "Tests only",
        questions=2,
        has_second_opinion=False,
        changes=0,
        parts=0,
        seconds=0,
    ),
    "normal": Effort(
        "Second solution, mutation testing, extra tests",
        questions=3,
        has_second_opinion=True,
        changes=12,
        parts=60,
        seconds=10,
    ),
    "high": Effort(
        "The same with more mutations and subsamples",
        questions=3,
        has_second_opinion=True,
        changes=40,
        parts=200,
        seconds=30,
    ),
}


# Engines that write functions
#
# The record of an engine has everything that depends on its name.

Backend = Literal["litellm", "claude"]


@dataclass(frozen=True)
class Engine:
    """One engine.

    Args:
        package: the package in `engines`, by its full name. It has two functions: `require(model)` raises an error if
            the engine cannot be used with a model, and `writers(model)` makes its `WriterFactory`.
        help: what it is, in the help of `AutoCoderAgent`.
        title: what it is, on JupyterLab's settings page.
        plans_only: whether the first answer of the model has no code, because the engine's agent writes it.
    """

    package: str
    help: str
    title: str
    plans_only: bool = False


ENGINES: dict[Backend, Engine] = {
    "litellm": Engine(
        "autocoder_jupyter.engines.staged",
        help="the stages of this package",
        title="The stages of this package, with any model",
    ),
    "claude": Engine(
        "autocoder_jupyter.engines.claude",
        help="an agent of the Claude Agent SDK",
        title="Claude as an agent with tools in the sandbox",
        plans_only=True,
    ),
}
"""The engines by the value of `backend`. The first one is the default."""


# Sandboxes
#
# The record of a sandbox has everything that depends on its name.

SandboxName = Literal["docker", "local"]
SandboxChoice = Literal["auto", "docker", "local"]


@dataclass(frozen=True)
class SandboxRecord:
    """One sandbox.

    Args:
        module: the module of its class, by its full name.
        kind: the class, which implements `sandbox.protocol.Sandbox`.
        has_images: whether its environments are images: it takes an `ImageConfig` and can install Debian packages.
        has_engines: whether it needs a container engine. `%autocode setup check` then lists those of this machine.
    """

    module: str
    kind: str
    title: str
    has_images: bool = False
    has_engines: bool = False


SANDBOXES: dict[SandboxName, SandboxRecord] = {
    "docker": SandboxRecord(
        "autocoder_jupyter.sandbox.docker", "DockerSandbox", title="Docker", has_images=True, has_engines=True
    ),
    "local": SandboxRecord("autocoder_jupyter.sandbox.local.sandbox", "LocalSandbox", title="Local"),
}
"""The sandboxes by name, in order of preference. Docker is first: the kernel enforces the limits of a container."""


def by_permissiveness() -> tuple[str, ...]:
    """The values of the setting `sandbox`, beginning with the one that allows most."""
    strongest, *others = SANDBOXES
    return (*reversed(others), "auto", strongest)


def titles() -> dict[str, str]:
    """The title of each value of the setting `sandbox`."""
    first, *others = (record.title for record in SANDBOXES.values())
    otherwise = "".join(f", otherwise {title.lower()}" for title in others)
    return {"auto": f"{first} if available{otherwise}", **{name: record.title for name, record in SANDBOXES.items()}}


# Tiers of sandboxes
#
# What each protects, what it does not, and which of them meet a minimum. They have no total order: `landlock` and
# `namespaces` protect different things, and `full` has both. So a minimum lists the tiers that meet it.

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
        gaps: what it does not protect.
        meets: the minimums that it meets, besides `any`.
        title: what it is as a minimum, on JupyterLab's settings page.
    """

    made_of: str
    protects: str
    gaps: str
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
        f"there is one layer of protection, where `full` has two; {_LIMITS}",
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
    """A sandbox in one line: its tier, what it protects, and what it does not protect."""
    words = TIERS.get(tier or sandbox)
    if words is None:
        return sandbox and f"{sandbox}; its isolation was not recorded"
    name = sandbox if tier in (None, sandbox) else f"{sandbox}, tier {tier}"
    return f"{name} ({words.made_of}): {words.protects}; {words.gaps}"


@dataclass(frozen=True)
class SandboxMinimum:
    """The weakest sandbox that is accepted for generated code.

    Args:
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
