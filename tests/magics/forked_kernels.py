"""Makes Jupyter fork kernels from one process that has imported what they need (see `fork_server`)."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

NAME = "forked"
METADATA = {"kernel_provisioner": {"provisioner_name": NAME}}
"""The metadata in the kernel spec of a kernel that is to be forked."""

ROOT = Path(__file__).parents[2]
LAUNCHER = ["-m", "ipykernel_launcher"]


ADDRESS = f"\0autocode-kernels-{os.environ.get('PYTEST_XDIST_TESTRUNUID') or os.getpid()}"
"""The address of the process that forks: one for all processes of a run of tests. It is no file."""


def connection() -> socket.socket:
    """Connect to the process that forks."""
    while True:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            link.connect(ADDRESS)
        except ConnectionRefusedError:
            link.close()
            start()
        else:
            return link


def start() -> None:
    """Start the process that forks, unless another process does it at this moment."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        try:
            listener.bind(ADDRESS)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            time.sleep(0.01)
            return
        listener.listen()
        command = [sys.executable, "-m", "tests.magics.fork_server"]
        # Each kernel has its own search path.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdin=listener.fileno(),
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )


class ForkServer:
    """A connection to the process that forks, which is started if there is none. It ends with its last connection."""

    def __init__(self) -> None:
        self._one_question = threading.Lock()
        self._link = connection()

    def close(self) -> None:
        """End the kernels of this connection, and the connection."""
        self._link.close()

    def fork(self, arguments: list[str], folder: str, environment: dict[str, str]) -> ForkedProcess:
        """Fork a new kernel. It ends with this process, and writes errors where this process does."""
        pid = self._ask({"arguments": arguments, "folder": folder, "environment": environment}, [2])
        return ForkedProcess(self, pid)

    def exit_code(self, pid: int) -> int | None:
        """The exit code of a kernel that has ended. It can be asked for only once."""
        code: int | None = self._ask({"poll": pid})
        return code

    def _ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> Any:
        with self._one_question:
            socket.send_fds(self._link, [json.dumps(request).encode()], descriptors)
            answer = self._link.recv(1024)
        assert answer, "The process that forks kernels has ended."
        return json.loads(answer)


class ForkedProcess:
    """The part of `subprocess.Popen` that Jupyter uses."""

    stdin = stdout = stderr = None

    def __init__(self, server: ForkServer, pid: int) -> None:
        self.pid = pid
        self._server = server
        self._exit_code: int | None = None

    def poll(self) -> int | None:
        if self._exit_code is None:
            self._exit_code = self._server.exit_code(self.pid)
        return self._exit_code

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("kernel", timeout or 0)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


_server: ForkServer | None = None


def server() -> ForkServer:
    """The fork server of this process."""
    global _server
    _server = _server or ForkServer()
    return _server


class ForkedProvisioner(LocalProvisioner):
    """Forks kernels of this interpreter; others are started normally."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        if cmd[:3] != [sys.executable, *LAUNCHER]:
            return await super().launch_kernel(cmd, **kwargs)
        self.cwd = kwargs.get("cwd") or Path.cwd()
        process: Any = server().fork(["ipykernel_launcher", *cmd[3:]], str(self.cwd), dict(kwargs["env"]))
        self.process = process
        self.pid = self.pgid = process.pid
        return self.connection_info


class ForkingKernelManager(AsyncKernelManager):
    """A manager class for callers that create the manager themselves, such as nbclient."""

    @property
    def kernel_spec(self) -> KernelSpec | None:
        if (spec := super().kernel_spec) is not None:
            spec.metadata = METADATA
        return spec


def run_all(notebook: Any, folder: Path) -> None:
    """Run all cells of a notebook with nbclient, without a user."""
    from nbclient import NotebookClient  # takes a second, and every worker collects this

    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, kernel_manager_class=ForkingKernelManager, timeout=240, resources=place).execute()


def register() -> None:
    """Register the provisioner in this process, by its name."""
    where = f"{__name__}:{ForkedProvisioner.__name__}"
    KernelProvisionerFactory.provisioners[NAME] = EntryPoint(NAME, where, KernelProvisionerFactory.GROUP_NAME)
