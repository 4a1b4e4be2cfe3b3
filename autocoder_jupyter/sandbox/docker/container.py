"""A hardened container: its options, the streams between the host and its worker, and how it ended."""

from __future__ import annotations

import io
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.docker.engine import DockerEngine, engine_errors, owner_labels
from autocoder_jupyter.sandbox.host.exchange import ExitReason, Stream
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.programs.socket_streams import BUFFER, MOUNT, SOCKET
from autocoder_jupyter.sandbox.protocol import WorkerLimits
from autocoder_jupyter.sandbox.temporary_folder import make_folder

if TYPE_CHECKING:
    from docker import APIClient


# Streams
#
# On the same machine, they are unix sockets in a private folder that is bind-mounted read-only, so the data does not
# pass through the engine. Otherwise (Docker Desktop, a remote engine, a policy that forbids the mount) they use the
# engine's attach stream: one connection with a small header before each piece.

PIECE = 1 << 18

PRELUDE = program_text("socket_streams")
"""Runs in the container before the loader."""


@dataclass(frozen=True)
class ContainerStreams:
    """The host's ends, as file descriptors: requests to the worker, data and control from it."""

    requests: io.FileIO
    data: io.FileIO
    control: io.FileIO

    @property
    def ended(self) -> bool:
        """Whether the worker has closed its end. There may still be unread bytes."""
        watched = select.poll()
        try:
            watched.register(self.control, 0)  # poll always reports a hang-up
        except ValueError:
            return False  # already closed on this side
        return bool(watched.poll(0))

    def hang_up(self) -> None:
        """Shut down the connections, even if other processes have copies of them. The worker then ends by itself."""
        for stream in (self.requests, self.data, self.control):
            with suppress(OSError, ValueError), socket.socket(fileno=os.dup(stream.fileno())) as link:
                link.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close all three. The worker then ends by itself, because its input has ended."""
        for stream in (self.requests, self.data, self.control):
            with suppress(OSError):
                stream.close()


class NotConnected(Exception):
    """The worker did not connect to the socket."""


class SocketListener:
    """A listening unix socket in a folder that only this user and the container can reach.

    Other users of the machine cannot enter the outer folder. Only the inner folder is mounted, so the container's user
    needs no permission for the outer one.

    Attributes:
        folder: the inner folder.
        hosts: a file for a container without a network, in which `localhost` is the only name.
    """

    def __init__(self) -> None:
        self._outer = make_folder("meeting")
        self.folder = self._outer.path / "meet"
        self.folder.mkdir()
        self.folder.chmod(0o711)
        self.hosts = self._outer.path / "hosts"
        self.hosts.write_text("127.0.0.1\tlocalhost\n::1\tlocalhost\n", "utf-8")
        self.hosts.chmod(0o644)
        self._listener = socket.socket(socket.AF_UNIX)
        # The folder's descriptor is used, because the path of a socket is limited to about a hundred characters.
        folder = os.open(self.folder, os.O_PATH | os.O_DIRECTORY)
        try:
            self._listener.bind(f"/proc/self/fd/{folder}/{SOCKET}")
        finally:
            os.close(folder)
        (self.folder / SOCKET).chmod(0o666)
        self._listener.listen(3)

    def accept(self, *, seconds: float, gone: Callable[[], bool]) -> ContainerStreams:
        """Wait for the three connections of the worker."""
        deadline = time.monotonic() + seconds
        self._listener.settimeout(0.25)
        links: list[socket.socket] = []
        try:
            while len(links) < 3:
                try:
                    links.append(self._listener.accept()[0])
                except TimeoutError:
                    if gone():
                        raise NotConnected("the container ended at once") from None
                    if time.monotonic() > deadline:
                        raise NotConnected(f"the container did not connect within {seconds:.0f} s") from None
        except BaseException:
            for link in links:
                link.close()
            raise
        for link in links:
            link.setblocking(True)
        links[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        return ContainerStreams(
            requests=io.FileIO(links[0].detach(), "wb"),
            data=io.FileIO(links[1].detach(), "rb"),
            control=io.FileIO(links[2].detach(), "rb"),
        )

    def close(self) -> None:
        """Stop listening and remove the folder."""
        self._listener.close()
        self._outer.remove()


class Attached:
    """The engine's attach stream. Two threads copy its parts from and to pipes."""

    def __init__(self, link: Any) -> None:
        self._link = _Link(link)
        from_host, requests = os.pipe()
        data, to_data = os.pipe()
        control, to_control = os.pipe()
        self.streams = ContainerStreams(io.FileIO(requests, "wb"), io.FileIO(data, "rb"), io.FileIO(control, "rb"))
        for work, arguments in ((self._send, (from_host,)), (self._receive, (to_data, to_control))):
            start_thread(partial(work, *arguments), "autocode-attach")

    def _send(self, source: int) -> None:
        with io.FileIO(source, "rb") as requests, suppress(OSError):
            while piece := requests.read(PIECE):
                self._link.send(piece)
        self._link.hang_up()

    def _receive(self, to_data: int, to_control: int) -> None:
        with io.FileIO(to_data, "wb") as data, io.FileIO(to_control, "wb") as control, suppress(OSError, EOFError):
            while True:
                stream, left = struct.unpack(">BxxxL", self._link.receive_exactly(8))
                while left:
                    piece = self._link.receive(left)
                    left -= len(piece)
                    _write_all(control if stream == 2 else data, piece)

    def close(self) -> None:
        """Close the connection. The engine then closes the worker's standard input."""
        self._link.close()


class _Link:
    """A common interface for the raw connections of docker-py, whose types depend on the transport."""

    def __init__(self, link: Any) -> None:
        self._keep = link  # it refers to the HTTP response; the connection is closed when that is garbage-collected
        self._socket = getattr(link, "_sock", link)
        self._unread = memoryview(b"")
        with suppress(AttributeError):
            self._socket.settimeout(None)

    def send(self, piece: bytes) -> None:
        self._socket.sendall(piece)

    def receive(self, size: int) -> memoryview:
        """Receive between one and `size` bytes. Several of the engine's small frames are read at a time."""
        if not self._unread:
            self._unread = memoryview(self._socket.recv(PIECE))
            if not self._unread:
                raise EOFError
        piece, self._unread = self._unread[:size], self._unread[size:]
        return piece

    def receive_exactly(self, size: int) -> bytes:
        whole = b""
        while len(whole) < size:
            whole += self.receive(size - len(whole))
        return whole

    def hang_up(self) -> None:
        """Signal that nothing more will be sent."""
        with suppress(OSError, AttributeError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        with suppress(OSError, AttributeError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            self._socket.close()
        with suppress(OSError, AttributeError):
            self._keep._response.close()


def _write_all(stream: io.FileIO, view: memoryview) -> None:
    while view:
        view = view[stream.write(view) :]


# Containers

Transport = Literal["sockets", "attach"]
"""How data is transferred: through sockets in a mounted folder, or through the engine's attach stream."""

USER = "65532:65532"
"""A user that does not exist in the image, and usually not on the host."""
WRITABLE = ("/tmp", "/dev/shm", "/dev/mqueue")
"""The only folders in which a process in a container can write. They are in memory."""
START_SECONDS = 60
CONNECT_SECONDS = 10.0
EVENT_SECONDS = 3.0
ENDING_SECONDS = 2.0


def restrictions(limits: WorkerLimits, *, network: bool, podman: bool) -> dict[str, Any]:
    """The hardening, as keyword arguments of docker-py's `create_host_config`.

    Swap is off (`memswap_limit` is memory plus swap). Temporary files count as memory. Their number is limited, too,
    because a limit of the size does not limit inodes; Podman does not have that option. No seccomp profile is given:
    Podman would read it as a path, and the worker installs its own filter.
    """
    from docker.types import LogConfig, Ulimit

    inodes = "" if podman else "nr_inodes=16384,"
    return {
        "auto_remove": True,
        "init": True,
        "network_mode": "default" if network else "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "cgroupns": "private",
        "ipc_mode": "private",
        "shm_size": min(64 << 20, limits.disk),
        "mem_limit": limits.memory,
        "memswap_limit": limits.memory,
        "nano_cpus": int(limits.cpu * 1e9),
        "pids_limit": limits.processes,
        "oom_score_adj": 500,
        "ulimits": [
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="nofile", soft=1024, hard=1024),
            Ulimit(name="fsize", soft=limits.disk, hard=limits.disk),
        ],
        "tmpfs": {"/tmp": f"rw,noexec,nosuid,nodev,size={limits.disk},{inodes}mode=1777"},
        "log_config": LogConfig(type="none"),
    }


def environment_variables(limits: WorkerLimits) -> dict[str, str]:
    """The environment variables that are added to those of the image. None comes from the host."""
    threads = str(max(1, round(limits.cpu)))
    pools = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS", "ARROW_NUM_THREADS")
    return {"HOME": "/tmp", "TMPDIR": "/tmp", "LANG": "C.UTF-8", **dict.fromkeys(pools, threads)}


class ContainerProcess:
    """A running container with its three streams; satisfies `sandbox.host.exchange.Process`.

    Args:
        streams: the host's ends of its standard streams.
        attached: the attach stream, if it is used.
    """

    def __init__(
        self, engine: DockerEngine, container: str, streams: ContainerStreams, attached: Attached | None
    ) -> None:
        self.id = container
        self._engine = engine
        self.streams = streams
        self._attached = attached
        self._lock = threading.Lock()
        self._released = False
        self._killed_by_us = False
        self._engine_error = ""

    @property
    def requests(self) -> Stream:
        """The worker's standard input."""
        return self.streams.requests

    @property
    def data(self) -> Stream:
        """The worker's standard output."""
        return self.streams.data

    @property
    def control(self) -> Stream:
        """The worker's standard error."""
        return self.streams.control

    def watch(self, at_work: bool) -> None:
        """Do nothing, because the engine's control group enforces the limits."""

    def kill(self) -> None:
        """Kill all processes and remove the container. The engine's `stop` is not used: it may wait ten seconds."""
        from docker.errors import APIError, DockerException
        from requests.exceptions import RequestException

        with self._lock:
            if self._released:
                return
            self._released = True
        try:
            client = self._engine.client()
            try:
                if self.streams.ended:
                    # It ended by itself, or was ended from outside. A kill now would hide the reason.
                    with suppress(APIError, RequestException):
                        client.wait(self.id, timeout=ENDING_SECONDS)
                with suppress(APIError):  # already ended
                    client.kill(self.id)
                    self._killed_by_us = True
                with suppress(APIError):
                    client.remove_container(self.id, force=True, v=True)
            finally:
                client.close()
        except (DockerException, RequestException, OSError) as error:
            self._engine_error = str(error)
            self.streams.hang_up()  # the engine does not answer, but the worker ends when its input is closed
        if self._attached is not None:
            self._attached.close()

    def exit_reason(self) -> ExitReason:
        """Why the container ended. The engine's events are read, because the container is removed when it ends."""
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        try:
            events = list(self._events())
        except (DockerException, RequestException, OSError) as error:
            return ExitReason(
                engine_gone=True, text=f"The Docker engine stopped answering ({self._engine_error or error})."
            )
        actions = [action for action, _ in events]
        code = next((_exit_code(details) for action, details in events if action in ("die", "died")), None)
        if "oom" in actions:
            return ExitReason(out_of_memory=True, exit_code=code)
        if "kill" in actions and not self._killed_by_us:
            return ExitReason(engine_gone=True, text="The container was killed or removed from outside.")
        if code is None:
            return ExitReason(engine_gone=True, text="The Docker engine does not know how the container ended.")
        if code > 128:
            return ExitReason(signal=code - 128)
        return ExitReason(exit_code=code)

    def _events(self) -> list[tuple[str, Mapping[str, str]]]:
        """The events of the container up to its end. Times are not compared, because the engine's clock may differ."""
        client = self._engine.client(EVENT_SECONDS)
        try:
            client.ping()  # this request has a timeout; the stream of events has none
            stream = client.events(since=0, filters={"container": self.id}, decode=True)
            timer = threading.Timer(EVENT_SECONDS, stream.close)
            timer.daemon = True
            timer.start()
            found = []
            try:
                for event in stream:
                    action = str(event.get("Action") or event.get("status") or "")
                    found.append((action, event.get("Actor", {}).get("Attributes", {})))
                    if action in ("die", "died"):
                        break
            finally:
                timer.cancel()
                stream.close()
            return found
        finally:
            client.close()


def _exit_code(details: Mapping[str, str]) -> int | None:
    code = details.get("exitCode") or details.get("containerExitCode") or ""
    return int(code) if code.lstrip("-").isdigit() else None


@dataclass(frozen=True)
class ContainerStart:
    """How a container is started.

    Args:
        program: source that its `python3` runs.
        role: value of a label, such as "worker".
    """

    engine: DockerEngine
    image: str
    program: str
    limits: WorkerLimits
    network: bool = False
    role: str = "worker"

    def launch(self, transport: Transport) -> ContainerProcess:
        """Start the container and connect its standard streams."""
        from docker.errors import ImageNotFound

        with engine_errors(f"The engine refuses to run {self.image}."):
            try:
                return self._with_sockets() if transport == "sockets" else self._with_attach()
            except ImageNotFound as error:
                raise SandboxUnavailable(
                    f"The engine does not have the image {self.image}.",
                    why=str(error.explanation),
                    hint="Build the environment again.",
                ) from None
            except NotConnected as error:
                raise SandboxUnavailable(
                    "The container cannot reach a socket of this machine.", why=str(error)
                ) from None

    def _with_sockets(self) -> ContainerProcess:
        from docker.types import Mount

        listener = SocketListener()
        client = self.engine.client(START_SECONDS)
        try:
            mounts = [Mount(MOUNT, str(listener.folder), type="bind", read_only=True)]
            if own_hosts := not (self.network or self.engine.podman):
                mounts.append(Mount("/etc/hosts", str(listener.hosts), type="bind", read_only=True))
            container = self._create(client, f"{PRELUDE}\n{self.program}", mounts, network_disabled=own_hosts)
            with _removed_on_failure(client, container):
                client.start(container)
                streams = listener.accept(seconds=CONNECT_SECONDS, gone=lambda: not _running(client, container))
            return ContainerProcess(self.engine, container, streams, None)
        finally:
            client.close()
            listener.close()

    def _with_attach(self) -> ContainerProcess:
        # This client stays open as long as the attached connection, which belongs to it.
        client = self.engine.client(START_SECONDS)
        container = self._create(client, self.program, [])
        with _removed_on_failure(client, container):
            # Attached before the start, so that no byte is missed.
            link = client.attach_socket(container, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            attached = Attached(link)
            client.start(container)
        return ContainerProcess(self.engine, container, attached.streams, attached)

    def _create(self, client: APIClient, program: str, mounts: Sequence[Any], *, network_disabled: bool = False) -> str:
        """Create the container. Returns its id."""
        created = client.create_container(
            self.image,
            ["python3", "-I", "-B", "-c", program],
            entrypoint=[],
            user=USER,
            hostname="sandbox",
            working_dir="/tmp",
            environment=environment_variables(self.limits),
            labels=owner_labels(self.role),
            # Attached and "stdin once": when the host's connection ends for any reason, the worker's input ends, too.
            stdin_open=True,
            detach=False,
            # Otherwise docker-py copies proxies from the user's settings, perhaps with a password, into the container.
            use_config_proxy=self.network,
            network_disabled=network_disabled,
            host_config=client.create_host_config(
                **restrictions(self.limits, network=self.network, podman=self.engine.podman), mounts=list(mounts)
            ),
        )
        return str(created["Id"])


@contextmanager
def _removed_on_failure(client: APIClient, container: str) -> Iterator[None]:
    from docker.errors import APIError

    try:
        yield
    except BaseException:
        with suppress(APIError):
            client.remove_container(container, force=True, v=True)
        raise


def _running(client: APIClient, container: str) -> bool:
    from docker.errors import NotFound

    try:
        status = client.inspect_container(container)["State"]["Status"]
    except NotFound:
        return False
    return status in ("created", "running")


def _send_descriptor(requests: int) -> None:
    """Send any descriptor; see `programs.container_trial`."""
    with suppress(OSError), socket.socket(fileno=os.dup(requests)) as link, Path(os.devnull).open("rb") as sent:
        socket.send_fds(link, [b"."], [sent.fileno()])


def run_once(start: ContainerStart, transport: Transport, *, seconds: float) -> bytes:
    """Run a short program in a hardened container, and return its standard output."""
    process = start.launch(transport)
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        if transport == "sockets":
            _send_descriptor(process.streams.requests.fileno())
        written = process.streams.data.readall()
        errors = process.streams.control.readall()
    finally:
        timer.cancel()
        process.kill()
        process.streams.close()
    if not written:
        why = errors.decode("utf-8", "replace").strip() or process.exit_reason().text
        raise SandboxUnavailable(f"A trial run in {start.image} wrote no output.", why=why)
    return written
