"""The programs that bring an engine: where each listens, how it is seen to be installed, and the line that starts it.

On Linux that is Docker itself, Docker Desktop, Rancher Desktop, Colima, Lima and Podman; on macOS OrbStack too; on
Windows those with a named pipe; in WSL also Docker Desktop of Windows. Only names of files are looked at, so the search
takes a millisecond; only a connection shows whether an engine listens.
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

State = Literal["running", "stopped", "not installed"]

_KNOCK_SECONDS = 0.2
_DOCKER_PIPES = ("docker_engine", "dockerDesktopLinuxEngine")


@dataclass(frozen=True)
class Product:
    """One of them, on one system.

    Args:
        name: what people call it.
        start: what to do so that it runs, one line.
        addresses: where it listens then, as URLs, the usual first.
        programs: of a program of its own, the name; one of them on the path shows that it is installed.
        marks: files and folders of its own; likewise.
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
        return frozenset(_DOCKER_PIPES[:1])  # only connecting shows whether it is there


@dataclass(frozen=True)
class Machine:
    """The system in which engines are looked for.

    Args:
        environ: environment variables.
        system: as `sys.platform` says it.
        root: of the file system.
        pipes: names of the named pipes of Windows.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    system: str = sys.platform
    root: Path = Path("/")
    pipes: Callable[[], Collection[str]] = _windows_pipes

    @property
    def home(self) -> Path:
        """Of the person."""
        return Path(self.environ.get("USERPROFILE" if self.system == "win32" else "HOME") or Path.home())

    @property
    def runtime(self) -> Path:
        """Where sockets of the person's own services are on Linux."""
        number = os.getuid() if hasattr(os, "getuid") else 0
        return Path(self.environ.get("XDG_RUNTIME_DIR") or self.root / f"run/user/{number}")

    @cached_property
    def is_wsl(self) -> bool:
        """Whether this is Linux inside of Windows."""
        if self.system != "linux":
            return False
        with contextlib.suppress(OSError):
            release = (self.root / "proc/sys/kernel/osrelease").read_text("ascii", "replace")
            return "microsoft" in release.lower()
        return "WSL_DISTRO_NAME" in self.environ

    @cached_property
    def products(self) -> tuple[Product, ...]:
        """All that there can be on this system, in the order in which they are asked."""
        return {"darwin": _on_macos, "win32": _on_windows}.get(self.system, _on_linux)(self)

    def addresses(self) -> Iterable[tuple[Product, str]]:
        """The addresses at which an engine may listen now: each socket and pipe that exists."""
        pipes = self.pipes() if self.system == "win32" else ()
        for product in self.products:
            for url in product.addresses:
                there = url.rpartition("/")[2] in pipes if url.startswith("npipe:") else _is_socket(_path(url))
                if there:
                    yield product, url

    def product_at(self, url: str) -> Product | None:
        """The program that listens at an address when it runs."""
        return next((product for product in self.products if url in product.addresses), None)

    def state(self, product: Product) -> State:
        """Whether a program answers, is only installed, or neither."""
        if any(_answers(url) for found, url in self.addresses() if found is product):
            return "running"
        return "stopped" if self._is_installed(product) else "not installed"

    def stopped(self) -> tuple[Product, ...]:
        """What is installed here and does not run."""
        return tuple(product for product in self.products if self.state(product) == "stopped")

    @property
    def advice(self) -> str:
        """What to install where no engine is installed, one line."""
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
        """The search path, with the folders of macOS that programs of its desktop do not have there."""
        folders = self.environ.get("PATH", "").split(os.pathsep)
        if self.is_wsl:  # programs of Windows: no engines of this system, and slow to look at
            folders = [folder for folder in folders if not folder.startswith("/mnt/")]
        if self.system == "darwin":
            more = ("opt/homebrew/bin", "usr/local/bin", "opt/podman/bin")
            folders += [str(self.root / folder) for folder in more]
        return os.pathsep.join(filter(None, folders))


def help_lines(machine: Machine) -> list[str]:
    """What to do so that an engine runs: how each program that is installed is started, or what to install."""
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
    """What macOS and Linux have alike."""
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
            marks=(home / ".lima/docker",),  # the program alone is Colima's too
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
        return True  # worth a try, so that the person reads "permission denied" and not "not running"
    except OSError:
        return False


def _answers(url: str) -> bool:
    """Whether a connection can be made; a pipe exists only while its server listens."""
    if url.startswith("npipe:"):
        return True
    with socket.socket(socket.AF_UNIX) as knock:
        knock.settimeout(_KNOCK_SECONDS)
        try:
            knock.connect(str(_path(url)))
        except PermissionError:
            return True  # it is there, and not for this person
        except OSError:
            return False
    return True
