"""Choose the sandbox. Without a sandbox, or in one that is weaker than the minimum, nothing runs.

All code that starts a worker gets its sandbox from here, so the minimums are checked only here. The minimum of the user
and of the folder is an argument; that of the administrator is read from a file.
"""

from __future__ import annotations

import functools
import importlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.request import SandboxChoice
from autocoder_jupyter.sandbox.protocol import Probe, Sandbox
from autocoder_jupyter.settings.choices import ANY, SANDBOXES, MinimumTier, SandboxMinimum, SandboxName
from autocoder_jupyter.types import ImageConfig
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.untrusted.visible import visible


def choose(
    choice: SandboxChoice = "auto",
    image_config: ImageConfig | None = None,
    minimum: SandboxMinimum = ANY,
) -> Sandbox:
    """The requested sandbox; with "auto" the first of `SANDBOXES` that works here and meets all minimums.

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
            hint="With sandbox = 'auto', another one is used if it works; %autocode setup check shows which.",
        )
    raise SandboxUnavailable(
        "No sandbox works here, and generated code is never run without one.",
        why=why,
        hint="Start Docker or Podman, or use Linux 5.13 or later; %autocode setup check shows details.",
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
    otherwise = "" if container else ", or see in %autocode setup check what the embedded sandbox lacks"
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


# The administrator's minimum, for all sandboxes of a machine or an environment
#
#     /etc/jupyter/autocode_config.json      {"Autocode": {"sandbox_minimum": "full"}}
#
# The file is data, not code. If there are several files, all of their minimums apply, so none can weaken another. The
# configuration folders of a user (`~/.jupyter`, `JUPYTER_CONFIG_DIR`) are not read.

FILE = "autocode_config.json"
SECTION = "Autocode"
SETTING = "sandbox_minimum"

MOST_BYTES = 2**16
"""A larger file is refused."""


def config_folders() -> tuple[Path, ...]:
    """Jupyter's configuration folders for all users. `jupyter --paths` lists them after the user's own."""
    environment = Path(sys.prefix, "etc", "jupyter")
    if sys.platform == "win32":
        data = os.environ.get("PROGRAMDATA")
        return (*((Path(data, "jupyter"),) if data else ()), environment)
    return (Path("/etc/jupyter"), Path("/usr/local/etc/jupyter"), environment)


def system_minimums() -> tuple[SandboxMinimum, ...]:
    """The minimums of all files."""
    return tuple(_minimums(dict.fromkeys(config_folders())))


def _minimums(folders: dict[Path, None]) -> Iterator[SandboxMinimum]:
    for folder in folders:
        path = folder / FILE
        try:
            settings = _settings(_content(path))
        except (FileNotFoundError, NotADirectoryError) as error:
            if path.is_symlink() or folder.is_symlink():  # it leads nowhere, perhaps to a disk that is not mounted
                raise _unusable(path, "it is a link to a file that does not exist") from error
            continue
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else visible(error)
            raise _unusable(path, why) from None
        if SETTING in settings:
            yield SandboxMinimum(settings[SETTING], by=f"the administrator, in {path}")


def _content(path: Path) -> bytes:
    """The first bytes of a file."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        return file.read(MOST_BYTES + 1)


def _unusable(path: Path, why: str) -> SandboxUnavailable:
    return SandboxUnavailable(
        f"{path} cannot be used, and it may require a sandbox_minimum.",
        why=why,
        hint=f'Ask an administrator to correct it; an example: {{"{SECTION}": {{"{SETTING}": "full"}}}}.',
    )


def _settings(text: bytes) -> dict[str, Any]:
    """The settings in our section of the file."""
    if len(text) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES:,} bytes")
    content = parse(text)
    if any(text.count(f'"{key}"'.encode()) > 1 for key in (SECTION, SETTING)):
        raise ValueError("it has a duplicate key")
    if not isinstance(content, dict) or set(content) - {SECTION}:
        raise ValueError(f"it must be an object with the one key {SECTION}")
    settings = content.get(SECTION, {})
    if not isinstance(settings, dict) or set(settings) - {SETTING}:
        raise ValueError(f"{SECTION} takes {SETTING} and nothing else")
    allowed = get_args(MinimumTier)
    if SETTING in settings and settings[SETTING] not in allowed:
        raise ValueError(f"{SETTING} takes {' or '.join(allowed)}, not {str(settings[SETTING])[:40]!r}")
    return settings


# The container around the notebook

# A pod of JupyterHub has no Kubernetes token, but like each pod it has a file for its last message.
_MARKS = (".dockerenv", "run/.containerenv", "var/run/secrets/kubernetes.io", "dev/termination-log")


def is_container(root: Path = Path("/")) -> bool:
    """Whether a container of Docker or Podman, or a pod, is around this process."""
    return any((root / mark).exists() for mark in _MARKS)
