"""The programs that provide an engine: their addresses, how to see that one is installed, and how to start it.

On Linux these are Docker, Docker Desktop, Rancher Desktop, Colima, Lima and Podman. On macOS there is also OrbStack. On
Windows there are those with a named pipe, and in WSL also Docker Desktop of Windows. The search only checks whether
files exist, so it takes a millisecond. Whether an engine runs is found out by a connection.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from autocoder_jupyter.sandbox.choice import is_container

State = Literal["running", "stopped", "not installed"]

_CONNECT_SECONDS = 0.2
_DOCKER_PIPES = ("docker_engine", "dockerDesktopLinuxEngine")


@dataclass(frozen=True)
class Product:
    """A program that provides an engine, on one system.

    Args:
        start: the command or step that starts it, in one line.
        addresses: the URLs at which it listens, the usual one first.
        programs: names of its commands. If one of them is on the path, it is installed.
        marks: its files and folders. If one of them exists, it is installed.
    """

    name: str
    start: str
    addresses: tuple[str, ...]
    programs: tuple[str, ...] = ()
    marks: tuple[Path, ...] = ()


def _windows_pipes() -> Collection[str]:
    try:
        return frozenset(os.listdir(r"\\.\pipe"))  # noqa: PTH208  (no folder that pathlib knows)
    except OSError:
        return frozenset(_DOCKER_PIPES[:1])  # a connection will show whether it exists


@dataclass(frozen=True)
class Machine:
    """The system on which engines are searched.

    Args:
        system: a value of `sys.platform`.
        pipes: returns the names of the named pipes of Windows.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    system: str = sys.platform
    root: Path = Path("/")
    pipes: Callable[[], Collection[str]] = _windows_pipes

    @property
    def home(self) -> Path:
        """The user's home folder."""
        return Path(self.environ.get("USERPROFILE" if self.system == "win32" else "HOME") or Path.home())

    @property
    def runtime(self) -> Path:
        """The folder for sockets of the user's services on Linux."""
        number = os.getuid() if hasattr(os, "getuid") else 0
        return Path(self.environ.get("XDG_RUNTIME_DIR") or self.root / f"run/user/{number}")

    @cached_property
    def is_wsl(self) -> bool:
        """Whether this is the Windows Subsystem for Linux."""
        if self.system != "linux":
            return False
        with contextlib.suppress(OSError):
            release = (self.root / "proc/sys/kernel/osrelease").read_text("ascii", "replace")
            return "microsoft" in release.lower()
        return "WSL_DISTRO_NAME" in self.environ

    @cached_property
    def products(self) -> tuple[Product, ...]:
        """All programs for this system, in the order in which they are tried."""
        return {"darwin": _on_macos, "win32": _on_windows}.get(self.system, _on_linux)(self)

    def addresses(self) -> Iterable[tuple[Product, str]]:
        """The sockets and pipes that exist, each with its program. An engine may listen there."""
        pipes = self.pipes() if self.system == "win32" else ()
        for product in self.products:
            for url in product.addresses:
                there = url.rpartition("/")[2] in pipes if url.startswith("npipe:") else _is_socket(_path(url))
                if there:
                    yield product, url

    def product_at(self, url: str) -> Product | None:
        """The program that uses an address; None if it is unknown."""
        return next((product for product in self.products if url in product.addresses), None)

    def state(self, product: Product) -> State:
        """Whether a program is running, stopped (only installed), or not installed."""
        if any(_answers(url) for found, url in self.addresses() if found is product):
            return "running"
        return "stopped" if self._is_installed(product) else "not installed"

    def stopped(self) -> tuple[Product, ...]:
        """The programs that are installed and not running."""
        return tuple(product for product in self.products if self.state(product) == "stopped")

    @property
    def advice(self) -> str:
        """One line that says which program to install if there is none."""
        if self.system == "linux" and is_container(self.root):
            return "an engine usually cannot run in a container such as this, and the local sandbox needs none"
        return {
            "darwin": "install Docker Desktop, OrbStack, Colima, Rancher Desktop or Podman",
            "win32": "install Docker Desktop, Rancher Desktop or Podman, or run Jupyter in WSL with an engine there",
        }.get(self.system, "install Docker or Podman")

    def _is_installed(self, product: Product) -> bool:
        if any(_exists(mark) for mark in product.marks):
            return True
        return any(shutil.which(program, path=self._path_of_programs) for program in product.programs)

    @cached_property
    def _path_of_programs(self) -> str:
        """The search path. On macOS folders are added that programs started from the desktop do not have in it."""
        folders = self.environ.get("PATH", "").split(os.pathsep)
        if self.is_wsl:  # these are programs of Windows, and access to them is slow
            folders = [folder for folder in folders if not folder.startswith("/mnt/")]
        if self.system == "darwin":
            more = ("opt/homebrew/bin", "usr/local/bin", "opt/podman/bin")
            folders += [str(self.root / folder) for folder in more]
        return os.pathsep.join(filter(None, folders))


def help_lines(machine: Machine) -> list[str]:
    """How to get a running engine: how to start each installed program, or what to install."""
    stopped = machine.stopped()
    return [f"{product.name} is installed and does not run: {product.start}" for product in stopped] or [machine.advice]


def _on_linux(machine: Machine) -> tuple[Product, ...]:
    home, root, runtime = machine.home, machine.root, machine.runtime
    system = root / "var/run/docker.sock"
    windows = machine.is_wsl and "/mnt/wsl/" in os.path.realpath(system)
    engine = Product(
        "Docker",
        "sudo service docker start" if machine.is_wsl else "sudo systemctl start docker",
        () if windows else (_unix(system),),
        programs=("dockerd",),
    )
    desktop_of_windows = Product(
        "Docker Desktop of Windows",
        "start it in Windows, and allow this distribution in Settings > Resources > WSL integration",
        (_unix(system),) if windows else (),
        marks=(root / "mnt/c/Program Files/Docker/Docker/Docker Desktop.exe", root / "mnt/wsl/docker-desktop"),
    )
    desktop = Product(
        "Docker Desktop",
        "systemctl --user start docker-desktop",
        (_unix(home / ".docker/desktop/docker.sock"),),
        marks=(root / "opt/docker-desktop",),
    )
    rootless = Product(
        "rootless Docker",
        "systemctl --user start docker",
        (_unix(runtime / "docker.sock"),),
        marks=(home / ".config/systemd/user/docker.service",),
    )
    podman = Product(
        "Podman",
        "systemctl --user start podman.socket",
        (_unix(runtime / "podman/podman.sock"), _unix(root / "run/podman/podman.sock")),
        programs=("podman",),
    )
    in_wsl = (desktop_of_windows,) if machine.is_wsl else ()
    return (engine, *in_wsl, desktop, *_in_virtual_machines(machine), rootless, podman)


def _on_macos(machine: Machine) -> tuple[Product, ...]:
    home, root = machine.home, machine.root
    machines = home / ".local/share/containers/podman/machine"
    temporary = Path(machine.environ.get("TMPDIR") or root / "tmp")
    return (
        Product("Docker", "", (_unix(root / "var/run/docker.sock"),)),  # a link to one of the others
        Product(
            "Docker Desktop",
            "open -a Docker",
            (_unix(home / ".docker/run/docker.sock"),),
            marks=_applications(machine, "Docker.app"),
        ),
        Product(
            "OrbStack",
            "orb start",
            (_unix(home / ".orbstack/run/docker.sock"),),
            programs=("orb",),
            marks=_applications(machine, "OrbStack.app"),
        ),
        *_in_virtual_machines(machine),
        Product(
            "Podman",
            "podman machine start",
            tuple(
                map(
                    _unix,
                    (
                        *_found(temporary / "podman", "*-api.sock"),
                        machines / "podman.sock",
                        *_found(machines, "*/podman.sock"),
                    ),
                )
            ),
            programs=("podman",),
        ),
    )


def _on_windows(machine: Machine) -> tuple[Product, ...]:
    local = Path(machine.environ.get("LOCALAPPDATA") or machine.home / "AppData/Local")
    programs = Path(machine.environ.get("PROGRAMFILES") or "C:/Program Files")
    return (
        Product(
            "Docker Desktop",
            "start Docker Desktop from the Start menu",
            tuple(map(_pipe, _DOCKER_PIPES)),
            marks=(programs / "Docker/Docker/Docker Desktop.exe",),
        ),
        Product(
            "Rancher Desktop",
            "start Rancher Desktop from the Start menu, with dockerd (moby) as its container engine",
            (_pipe("docker_engine"),),
            marks=tuple(place / "Rancher Desktop/Rancher Desktop.exe" for place in (programs, local / "Programs")),
        ),
        Product(
            "Podman",
            "podman machine start",
            (_pipe("podman-machine-default"),),
            programs=("podman",),
            marks=(programs / "RedHat/Podman/podman.exe",),
        ),
    )


def _in_virtual_machines(machine: Machine) -> tuple[Product, ...]:
    """The programs that both macOS and Linux have."""
    home = machine.home
    colima = _colima_home(machine)
    profiles = dict.fromkeys((colima / "default/docker.sock", *_found(colima, "*/docker.sock")))
    return (
        Product(
            "Rancher Desktop",
            "rdctl start --container-engine.name=moby",
            (_unix(home / ".rd/docker.sock"),),
            programs=("rdctl",),
            marks=_applications(machine, "Rancher Desktop.app"),
        ),
        Product("Colima", "colima start", tuple(map(_unix, profiles)), programs=("colima",)),
        Product(
            "Lima",
            "limactl start docker",
            tuple(_unix(home / f".lima/{name}/sock/docker.sock") for name in ("docker", "default")),
            marks=(home / ".lima/docker",),  # its command is also installed with Colima
        ),
    )


def _colima_home(machine: Machine) -> Path:
    if chosen := machine.environ.get("COLIMA_HOME"):
        return Path(chosen)
    usual = machine.home / ".colima"
    if _exists(usual):
        return usual
    return Path(machine.environ.get("XDG_CONFIG_HOME") or machine.home / ".config") / "colima"


def _applications(machine: Machine, name: str) -> tuple[Path, ...]:
    if machine.system != "darwin":
        return ()
    return (machine.root / "Applications" / name, machine.home / "Applications" / name)


def _found(folder: Path, pattern: str) -> list[Path]:
    with contextlib.suppress(OSError):
        return sorted(folder.glob(pattern))
    return []


def _unix(path: Path) -> str:
    return f"unix://{path}"


def _pipe(name: str) -> str:
    return f"npipe:////./pipe/{name}"


def _path(url: str) -> Path:
    return Path(url.removeprefix("unix://"))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except PermissionError:
        return True  # it is tried, so that the error is "permission denied" and not "not running"
    except OSError:
        return False


def _answers(url: str) -> bool:
    """Whether a connection is possible. A named pipe exists only while its server listens."""
    if url.startswith("npipe:"):
        return True
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_CONNECT_SECONDS)
        try:
            connection.connect(str(_path(url)))
        except PermissionError:
            return True  # it exists, but this user has no access
        except OSError:
            return False
    return True
