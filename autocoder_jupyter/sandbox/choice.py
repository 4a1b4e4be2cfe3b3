"""Choose the sandbox. Without a sandbox, or in one that is weaker than the minimum, nothing runs.

All code that starts a worker gets its sandbox from here, so the minimums are checked only here. The minimum of the user
and of the folder is an argument; that of the administrator is read from a file.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.request import SandboxChoice
from autocoder_jupyter.sandbox.protocol import Probe, Sandbox
from autocoder_jupyter.sandbox.system_minimum import system_minimums
from autocoder_jupyter.settings.choices import ANY, SANDBOXES, SandboxMinimum, SandboxName
from autocoder_jupyter.types import ImageConfig
from autocoder_jupyter.untrusted.parsing import visible


def choose(
    choice: SandboxChoice = "auto",
    image_config: ImageConfig | None = None,
    minimum: SandboxMinimum = ANY,
) -> Sandbox:
    """The requested sandbox; with "auto" the first of `SANDBOXES` that works here and meets all minimums.

    Args:
        choice: the name of a sandbox, or "auto".
        image_config: settings of the image, and the required version of Python. The local sandbox has no images.
        minimum: the minimum of the user or the folder. The administrator's is added.

    Raises:
        SandboxUnavailable: no such sandbox works here, or it is too weak. The error has the reason for each sandbox,
            and says who requires each minimum.
    """
    required = required_minimums(minimum)
    reasons: list[str] = []
    missed: list[SandboxMinimum] = []
    for name in SANDBOXES if choice == "auto" else (choice,):
        needs_image = image_config is not None and (image_config.base_image or image_config.registry)
        if needs_image and not SANDBOXES[name].has_images:
            reasons.append(f"{name}: it has no images, but an image or a registry is configured.")
            continue
        sandbox = get(name, image_config)
        probe = sandbox.probe()
        unmet = unmet_by(probe, required)
        if probe.available and not unmet:
            return sandbox
        if unmet:
            missed += [one for one in unmet if one not in missed]
            reasons.append(f"{name}: it works, but its tier {probe.tier!r} is below the minimum.")
        else:
            reasons.append(f"{name}: {probe.reason}")
    if missed:
        raise _too_weak(choice, missed, reasons)
    why = "\n  ".join(reasons)
    if choice != "auto":
        raise SandboxUnavailable(
            f"The sandbox {choice!r} does not work here.",
            why=why,
            hint="With --sandbox auto, another one is used if it works; %autocode doctor shows which.",
        )
    raise SandboxUnavailable(
        "No sandbox works here, and generated code is never run without one.",
        why=why,
        hint="Start Docker or Podman, or use Linux 5.13 or later; %autocode doctor shows details.",
    )


def required_minimums(minimum: SandboxMinimum) -> tuple[SandboxMinimum, ...]:
    """The administrator's minimums and `minimum`, without those of the tier "any".

    Raises:
        SandboxUnavailable: an administrator's file is invalid.
    """
    return tuple(one for one in (*system_minimums(), minimum) if one.tier != "any")


def unmet_by(probe: Probe, required: Sequence[SandboxMinimum]) -> list[SandboxMinimum]:
    """The minimums that a sandbox does not meet; [] if the sandbox does not work at all."""
    return [one for one in required if probe.available and not one.met_by(probe.tier)]


def _too_weak(choice: SandboxChoice, missed: Sequence[SandboxMinimum], reasons: Sequence[str]) -> SandboxUnavailable:
    tiers = " and ".join(sorted({repr(one.tier) for one in missed}))
    by = [f"{one.tier!r} is required by {visible(one.by)}." for one in missed]
    container = any(one.tier == "docker" for one in missed)
    steps = "Start Docker or Podman" if choice != "local" else "Remove sandbox='local' and start Docker or Podman"
    otherwise = "" if container else ", or see in %autocode doctor what the embedded sandbox lacks"
    return SandboxUnavailable(
        f"The sandbox here is weaker than the sandbox_minimum {tiers}, so no generated code runs.",
        why="\n  ".join([*by, *reasons]),
        hint=f"{steps}{otherwise}; or have the minimum changed where it is set.",
    )


def probe_all() -> list[Probe]:
    """The probe of each sandbox, in order of preference."""
    return [get(name).probe() for name in SANDBOXES]


def get(name: SandboxName, image_config: ImageConfig | None = None) -> Sandbox:
    """A sandbox by name, even if it does not work here. Equal settings give the same object with the same pool."""
    config = image_config or ImageConfig()
    return _get(name, config if SANDBOXES[name].has_images else ImageConfig(python_version=config.python_version))


@functools.cache
def _get(name: SandboxName, image_config: ImageConfig) -> Sandbox:
    record = SANDBOXES[name]
    kind = getattr(importlib.import_module(record.module), record.kind)
    # Without images, only the version of Python counts. Equal ones share a pool.
    sandbox: Sandbox = kind(image_config)
    return sandbox
