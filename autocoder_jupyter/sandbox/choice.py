"""Choose the sandbox. Without a sandbox, or in one that is weaker than the minimum, nothing runs.

Whoever starts a worker gets its sandbox here, so this is the one place where a minimum is held: the person's and the
folder's, which are handed in, and the administrator's, which is read here.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.request import SandboxChoice
from autocoder_jupyter.sandbox.protocol import Probe, Sandbox
from autocoder_jupyter.sandbox.system_minimum import system_minimums
from autocoder_jupyter.settings.tiers import ANY, SandboxMinimum
from autocoder_jupyter.types import ImageConfig
from autocoder_jupyter.untrusted.visible import visible

Name = Literal["docker", "local"]

ORDER: tuple[Name, ...] = ("docker", "local")
"""In order of preference: the kernel enforces the limits of a container."""


def choose(
    choice: SandboxChoice = "auto",
    image_config: ImageConfig | None = None,
    minimum: SandboxMinimum = ANY,
) -> Sandbox:
    """The sandbox that was asked for, or with "auto" the best that works here, if it holds what is demanded.

    Raises:
        SandboxUnavailable: with the reason of each that was tried, and of a demand who demands it.
    """
    demanded = demands(minimum)
    reasons: list[str] = []
    missed: list[SandboxMinimum] = []
    for name in ORDER if choice == "auto" else (choice,):
        if name == "local" and image_config is not None and (image_config.base_image or image_config.registry):
            reasons.append("local: it has no images, and one is configured.")
            continue
        sandbox = get(name, image_config)
        probe = sandbox.probe()
        unmet = unmet_by(probe, demanded)
        if probe.available and not unmet:
            return sandbox
        if unmet:
            missed += [demand for demand in unmet if demand not in missed]
            reasons.append(f"{name}: works, held by {probe.tier!r}, which is not enough.")
        else:
            reasons.append(f"{name}: {probe.reason}")
    if missed:
        raise _too_weak(choice, missed, reasons)
    raise SandboxUnavailable(
        "No sandbox works here, and generated code is never run without one."
        if choice == "auto"
        else f"The sandbox {choice!r} does not work here.",
        why="\n  ".join(reasons),
        hint="Start Docker or Podman, or use Linux 5.13 or later; %autocode doctor tells more.",
    )


def demands(minimum: SandboxMinimum) -> tuple[SandboxMinimum, ...]:
    """All that must be met here; those that anything meets are left out.

    Raises:
        SandboxUnavailable: an administrator's file cannot be used.
    """
    return tuple(demand for demand in (*system_minimums(), minimum) if demand.tier != "any")


def unmet_by(probe: Probe, demanded: Sequence[SandboxMinimum]) -> list[SandboxMinimum]:
    """The demands that a sandbox which works does not meet."""
    return [demand for demand in demanded if probe.available and not demand.met_by(probe.tier)]


def _too_weak(choice: SandboxChoice, missed: Sequence[SandboxMinimum], reasons: Sequence[str]) -> SandboxUnavailable:
    wanted = " and ".join(sorted({repr(demand.tier) for demand in missed}))
    by = [f"{demand.tier!r} is demanded by {visible(demand.by)}." for demand in missed]
    container = any(demand.tier == "docker" for demand in missed)
    steps = "Start Docker or Podman" if choice != "local" else "Leave out sandbox='local' and let Docker or Podman run"
    otherwise = "" if container else ", or see in %autocode doctor what the embedded sandbox lacks"
    return SandboxUnavailable(
        f"The sandbox here holds less than the sandbox_minimum {wanted}, so no generated code runs.",
        why="\n  ".join([*by, *reasons]),
        hint=f"{steps}{otherwise}; or have the minimum changed where it is set.",
    )


def probe_all(image_config: ImageConfig | None = None) -> list[Probe]:
    """The probe of each sandbox, in order of preference."""
    return [get(name, image_config).probe() for name in ORDER]


def get(name: Name, image_config: ImageConfig | None = None) -> Sandbox:
    """A sandbox by name, whether or not it works here; the same object, so the same pool, for equal settings."""
    return _get(name, image_config or ImageConfig())


@functools.cache
def _get(name: Name, image_config: ImageConfig) -> Sandbox:
    if name == "local":
        from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox

        return LocalSandbox()
    from autocoder_jupyter.sandbox.docker import DockerSandbox

    return DockerSandbox(image_config)
