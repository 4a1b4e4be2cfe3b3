"""Which sandbox will be used, and why. Never none: without a sandbox nothing runs."""

from __future__ import annotations

import functools
from typing import Literal

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.request import SandboxChoice
from autocoder_jupyter.sandbox.protocol import Probe, Sandbox
from autocoder_jupyter.types import ImageConfig

Name = Literal["docker", "local"]

ORDER: tuple[Name, ...] = ("docker", "local")
"""The stronger first: a container has limits that the kernel enforces."""


def choose(choice: SandboxChoice = "auto", image_config: ImageConfig | None = None) -> Sandbox:
    """The sandbox that was asked for, or with "auto" the best that works here.

    Raises:
        SandboxUnavailable: with the reason of each that was tried.
    """
    reasons: list[str] = []
    for name in ORDER if choice == "auto" else (choice,):
        if name == "local" and image_config is not None and (image_config.base_image or image_config.registry):
            reasons.append("local: it has no images, and one is configured.")
            continue
        sandbox = get(name, image_config)
        probe = sandbox.probe()
        if probe.available:
            return sandbox
        reasons.append(f"{name}: {probe.reason}")
    raise SandboxUnavailable(
        "No sandbox works here, and generated code is never run without one."
        if choice == "auto"
        else f"The sandbox {choice!r} does not work here.",
        why="\n  ".join(reasons),
        hint="Start Docker or Podman, or use Linux 5.13 or later; %autocode doctor tells more.",
    )


def probe_all(image_config: ImageConfig | None = None) -> list[Probe]:
    """What each sandbox says about itself, the preferred first."""
    return [get(name, image_config).probe() for name in ORDER]


def get(name: Name, image_config: ImageConfig | None = None) -> Sandbox:
    """A sandbox by name, whether or not it works here; the same object, so the same pool, for equal settings."""
    return _get(name, image_config or ImageConfig())


@functools.cache
def _get(name: Name, image_config: ImageConfig) -> Sandbox:
    if name == "local":
        from autocoder_jupyter.sandbox.local import LocalSandbox

        return LocalSandbox()
    from autocoder_jupyter.sandbox.docker import DockerSandbox

    return DockerSandbox(image_config)
