"""One hardened container, and its process for the channel."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.docker.engine import DockerEngine, engine_errors
from autocoder_jupyter.sandbox.docker.reaper import owner_labels
from autocoder_jupyter.sandbox.docker.streams import PRELUDE, Attached, ContainerStreams, NotConnected, SocketListener
from autocoder_jupyter.sandbox.host.process import ExitReason, Stream
from autocoder_jupyter.sandbox.programs.socket_streams import MOUNT
from autocoder_jupyter.sandbox.protocol import WorkerLimits

if TYPE_CHECKING:
    from docker import APIClient

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

    Args:
        limits: of the worker.
        network: whether the container has a network.
        podman: whether the engine is Podman.
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
    """A running container with its three streams; satisfies `sandbox.host.process.Process`.

    Args:
        engine: runs the container.
        container: its id.
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
        engine: runs the container.
        image: name of the image.
        program: source that its `python3` runs.
        limits: of the container.
        network: whether it has a network.
        role: value of a label, such as "worker".
    """

    engine: DockerEngine
    image: str
    program: str
    limits: WorkerLimits
    network: bool = False
    role: str = "worker"

    def launch(self, transport: Transport) -> ContainerProcess:
        """Start the container and connect its standard streams.

        Raises:
            SandboxUnavailable: the engine refuses the container, has no such image, or it does not connect.
            EngineGone: the engine does not answer any more.
        """
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
        """Create the container. Returns its id.

        Args:
            client: of the engine.
            program: source that its `python3` runs.
            mounts: folders and files of the host.
            network_disabled: the engine configures nothing of a network, not even `/etc/hosts`. Docker runs a program
                for that, which takes 40 % of the processor time that a start takes outside of the container. In both
                cases a container without a network has only the loopback interface.
        """
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
    """Run a short program in a hardened container, and return its standard output.

    Args:
        start: the container and the program.
        transport: how data is transferred.
        seconds: time limit.

    Raises:
        SandboxUnavailable: it did not run, or wrote nothing.
    """
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
