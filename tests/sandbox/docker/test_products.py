"""The programs that provide an engine, on each system: real sockets in a test's home folder, and names of pipes."""

from __future__ import annotations

import contextlib
import shutil
import socket
import socketserver
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.magics import doctor
from autocoder_jupyter.magics.doctor import DoctorRow
from autocoder_jupyter.sandbox.docker import engine as detection
from autocoder_jupyter.sandbox.docker import products
from autocoder_jupyter.sandbox.docker.engine import candidates, connect, find_engine
from autocoder_jupyter.sandbox.docker.products import Machine, help_lines
from tests.sandbox.docker.engine_service import service

ABOUT = {"Version": "29.5.1", "Arch": "arm64"}


@pytest.fixture(autouse=True)
def no_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docker-py reads the user's context from its own environment variables."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "no-config"))
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)


@pytest.fixture
def root() -> Iterator[Path]:
    """The file system of another machine, with the home `/me`. Its path is short, as a socket's path must be."""
    folder = Path(tempfile.mkdtemp(prefix="m", dir="/tmp"))
    (folder / "me").mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def running() -> Iterator[Callable[[Path], None]]:
    """Starts an engine's service at a path."""
    servers: list[socketserver.UnixStreamServer] = []

    def start(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        server = socketserver.ThreadingUnixStreamServer(str(path), service(**ABOUT))
        server.daemon_threads = True
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def machine(root: Path, system: str = "linux", **environ: str) -> Machine:
    home = {"HOME": str(root / "me"), "USERPROFILE": str(root / "me"), "TMPDIR": str(root / "tmp")}
    places = {"XDG_RUNTIME_DIR": str(root / "run/user/1000"), "PROGRAMFILES": str(root / "Programs")}
    return Machine({**home, **places, "PATH": str(root / "bin"), **environ}, system, root, pipes=lambda: ())


def left_behind(path: Path) -> None:
    """A socket whose service has ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def install(root: Path, mark: str) -> None:
    """Install a program or an application."""
    path = root / mark
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o755)


MACOS = [
    ("Docker Desktop", "me/.docker/run/docker.sock", "Applications/Docker.app", "open -a Docker"),
    ("OrbStack", "me/.orbstack/run/docker.sock", "Applications/OrbStack.app", "orb start"),
    ("Rancher Desktop", "me/.rd/docker.sock", "me/Applications/Rancher Desktop.app", "rdctl start"),
    ("Colima", "me/.colima/default/docker.sock", "opt/homebrew/bin/colima", "colima start"),
    ("Colima", "me/.colima/work/docker.sock", "usr/local/bin/colima", "colima start"),
    ("Lima", "me/.lima/docker/sock/docker.sock", "me/.lima/docker/lima.yaml", "limactl start docker"),
    ("Podman", "tmp/podman/podman-machine-default-api.sock", "opt/podman/bin/podman", "podman machine start"),
    ("Podman", "me/.local/share/containers/podman/machine/podman.sock", "bin/podman", "podman machine start"),
    ("Podman", "me/.local/share/containers/podman/machine/qemu/podman.sock", "bin/podman", "podman machine start"),
]
LINUX = [
    ("Docker", "var/run/docker.sock", "bin/dockerd", "sudo systemctl start docker"),
    ("Docker Desktop", "me/.docker/desktop/docker.sock", "opt/docker-desktop/bin", "systemctl --user start docker-d"),
    ("Rancher Desktop", "me/.rd/docker.sock", "bin/rdctl", "rdctl start"),
    ("Colima", "me/.config/colima/default/docker.sock", "bin/colima", "colima start"),
    (
        "rootless Docker",
        "run/user/1000/docker.sock",
        "me/.config/systemd/user/docker.service",
        "systemctl --user start docker",
    ),
    ("Podman", "run/user/1000/podman/podman.sock", "bin/podman", "systemctl --user start podman.socket"),
    ("Podman", "run/podman/podman.sock", "bin/podman", "systemctl --user start podman.socket"),
]
EACH = pytest.mark.parametrize(
    ("system", "name", "listens", "mark", "start"),
    [("darwin", *case) for case in MACOS] + [("linux", *case) for case in LINUX],
    ids=lambda value: value if "/" not in value else None,
)


def state(machine: Machine, name: str) -> str:
    (product,) = [product for product in machine.products if product.name == name]
    return machine.state(product)


@EACH
def test_what_runs_is_found_where_it_listens(
    root: Path, running: Any, system: str, name: str, listens: str, mark: str, start: str
) -> None:
    running(root / listens)
    here = machine(root, system)
    (candidate,) = candidates(here)
    assert (candidate.source, candidate.url) == (f"the address of {name}", f"unix://{root / listens}")
    assert connect(candidate).version == ABOUT["Version"]
    assert state(here, name) == "running"
    assert here.stopped() == ()


@EACH
def test_what_is_installed_and_stopped_is_told_from_what_is_not_installed(
    root: Path, system: str, name: str, listens: str, mark: str, start: str
) -> None:
    before = machine(root, system)
    assert [state(before, product.name) for product in before.products] == ["not installed"] * len(before.products)
    assert help_lines(before) == [before.advice]
    install(root, mark)
    here = machine(root, system)
    assert [product.name for product in here.stopped()] == [name]
    (line,) = help_lines(here)
    assert line.startswith(f"{name} is installed and does not run: {start}")


@EACH
def test_a_socket_that_was_left_behind_is_no_engine_and_says_how_to_start_one(
    root: Path, system: str, name: str, listens: str, mark: str, start: str
) -> None:
    left_behind(root / listens)
    install(root, mark)
    here = machine(root, system)
    assert state(here, name) == "stopped"
    (candidate,) = candidates(here)
    with pytest.raises(SandboxUnavailable) as error:
        connect(candidate)
    assert "Connection refused" in error.value.why
    assert f"Start that engine ({start}" in error.value.hint


@pytest.mark.parametrize(
    ("pipe", "found"),
    [
        ("docker_engine", "Docker Desktop"),
        ("dockerDesktopLinuxEngine", "Docker Desktop"),
        ("podman-machine-default", "Podman"),
    ],
)
def test_on_windows_the_pipes_are_looked_at(root: Path, pipe: str, found: str) -> None:
    here = Machine(machine(root).environ, "win32", root, pipes=lambda: {"lsass", pipe})
    addresses = [(product.name, url) for product, url in here.addresses()]
    assert addresses[0] == (found, f"npipe:////./pipe/{pipe}")
    assert state(here, found) == "running"


@pytest.mark.parametrize("mark", [".dockerenv", "run/.containerenv", "dev/termination-log"])
def test_in_a_container_nothing_is_to_be_installed(root: Path, mark: str) -> None:
    assert help_lines(machine(root)) == ["install Docker or Podman"]
    install(root, mark)
    (line,) = help_lines(machine(root))
    assert "install" not in line
    assert "the local sandbox needs none" in line


@pytest.mark.parametrize(
    ("mark", "name", "start"),
    [
        ("Programs/Docker/Docker/Docker Desktop.exe", "Docker Desktop", "from the Start menu"),
        ("Programs/Rancher Desktop/Rancher Desktop.exe", "Rancher Desktop", "dockerd (moby)"),
        ("me/AppData/Local/Programs/Rancher Desktop/Rancher Desktop.exe", "Rancher Desktop", "dockerd (moby)"),
        ("Programs/RedHat/Podman/podman.exe", "Podman", "podman machine start"),
    ],
)
def test_on_windows_what_is_stopped_is_told_from_what_is_not_installed(
    root: Path, mark: str, name: str, start: str
) -> None:
    assert help_lines(machine(root, "win32")) == [machine(root, "win32").advice]
    install(root, mark)
    (line,) = help_lines(machine(root, "win32"))
    assert line.startswith(f"{name} is installed and does not run: ") and start in line


@pytest.fixture
def wsl(root: Path) -> Path:
    release = root / "proc/sys/kernel/osrelease"
    release.parent.mkdir(parents=True)
    release.write_text("6.6.87.2-microsoft-standard-WSL2\n")
    return root


def test_in_wsl_an_engine_of_the_distribution_is_told_from_the_one_of_windows(wsl: Path, running: Any) -> None:
    install(wsl, "bin/dockerd")
    assert help_lines(machine(wsl)) == ["Docker is installed and does not run: sudo service docker start"]
    install(wsl, "mnt/c/Program Files/Docker/Docker/Docker Desktop.exe")
    assert "WSL integration" in help_lines(machine(wsl))[1]
    running(wsl / "mnt/wsl/docker-desktop/docker.proxy.sock")
    (wsl / "var/run").mkdir(parents=True)
    (wsl / "var/run/docker.sock").symlink_to(wsl / "mnt/wsl/docker-desktop/docker.proxy.sock")
    assert state(machine(wsl), "Docker Desktop of Windows") == "running"
    assert state(machine(wsl), "Docker") == "stopped"


def test_programs_of_windows_are_no_engines_of_wsl(wsl: Path) -> None:
    here = machine(wsl, PATH=f"/mnt/c/Windows{':'}{wsl / 'bin'}")
    assert here._path_of_programs == str(wsl / "bin")


def test_colima_is_found_where_it_was_told_to_be(root: Path, running: Any) -> None:
    running(root / "elsewhere/default/docker.sock")
    assert state(machine(root, "darwin", COLIMA_HOME=str(root / "elsewhere")), "Colima") == "running"
    assert state(machine(root, "darwin"), "Colima") == "not installed"


def test_without_the_variable_of_a_session_its_folder_is_known(root: Path) -> None:
    here = machine(root, XDG_RUNTIME_DIR="")
    assert here.runtime.parent == root / "run/user"


def test_the_first_that_answers_is_used_and_one_that_was_left_behind_is_passed_over(
    root: Path, running: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_behind(root / "me/.docker/run/docker.sock")
    running(root / "me/.orbstack/run/docker.sock")
    here = machine(root, "darwin")
    monkeypatch.setattr(detection, "Machine", lambda environ: here)
    assert find_engine().source == "the address of OrbStack"


def test_where_nothing_listens_the_error_says_what_is_installed_and_how_it_is_started(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mark in ("Applications/Docker.app", "opt/homebrew/bin/colima"):
        install(root, mark)
    here = machine(root, "darwin")
    monkeypatch.setattr(detection, "Machine", lambda environ: here)
    with pytest.raises(SandboxUnavailable) as error:
        find_engine()
    assert "Docker Desktop is installed and does not run: open -a Docker" in error.value.hint
    assert "Colima is installed and does not run: colima start" in error.value.hint


def test_a_context_of_a_known_program_says_how_it_is_started(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine(root, "darwin", DOCKER_HOST=f"unix://{root}/me/.orbstack/run/docker.sock")
    (candidate,) = candidates(here)
    with pytest.raises(SandboxUnavailable) as error:
        connect(candidate)
    assert error.value.hint == "Start that engine (orb start), or unset DOCKER_HOST."


def test_the_doctor_has_a_line_for_each(root: Path, running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "Machine", lambda: machine(root, "darwin"))
    nothing = DoctorRow("engines", "none is installed", machine(root, "darwin").advice, level=2)
    assert list(doctor._engines(works=False)) == [nothing]
    install(root, "Applications/OrbStack.app")
    running(root / "me/.docker/run/docker.sock")
    assert list(doctor._engines(works=True)) == [
        DoctorRow("Docker Desktop", "running", level=2),
        DoctorRow("OrbStack", "installed, not running", "to start it: orb start", level=2),
    ]


@pytest.mark.docker
def test_the_engine_of_this_machine_answers_at_the_address_of_another_program(root: Path, engine: Any) -> None:
    """The real engine, at the path of Colima's socket."""
    if not engine.url.startswith("unix://"):
        pytest.skip("the engine has no socket here")
    socket_of_colima = root / "me/.colima/default/docker.sock"
    socket_of_colima.parent.mkdir(parents=True)
    socket_of_colima.symlink_to(engine.url.removeprefix("unix://"))
    (candidate,) = candidates(machine(root, "darwin"))
    with contextlib.closing(connect(candidate).client()) as client:
        assert client.ping()
