"""The sandboxes. The record of a sandbox holds everything that depends on its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SandboxName = Literal["docker", "local"]
SandboxChoice = Literal["auto", "docker", "local"]


@dataclass(frozen=True)
class SandboxRecord:
    """One sandbox.

    Args:
        module: the module of its class, by its full name.
        kind: the class, which implements `sandbox.protocol.Sandbox`.
        title: its name on JupyterLab's settings page.
        has_images: whether its environments are images: it takes an `ImageConfig` and can install Debian packages.
        has_engines: whether it needs a container engine. `%autocode doctor` then lists those of this machine.
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
