"""A page of JupyterLab as the kernel sees it: another client, which uses the comm."""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from autocoder_jupyter.lab.link import TARGET
from tests.magics.kernel import Kernel

PATIENCE = 60.0


class Page:
    """One browser tab on a kernel.

    Args:
        kernel: the kernel that it is connected to.
    """

    def __init__(self, kernel: Kernel) -> None:
        kernel.has_page = True
        # A client from the manager has the session of the first client, so the kernel could not distinguish them.
        self.client = BlockingKernelClient(connection_file=kernel._manager.connection_file)
        self.client.load_connection_file()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)
        self.name = str(uuid.uuid4())
        self.comm = ""
        self.opening: dict[str, Any] = {}
        self.traffic: list[dict[str, Any]] = []
        """All iopub messages so far."""
        self._subshells: list[str] = []

    def close(self) -> None:
        """Disconnect without a message, as browsers do. What the kernel started for the page ends."""
        for subshell in self._subshells:
            self.client.control_channel.send(
                self.client.session.msg("delete_subshell_request", {"subshell_id": subshell})
            )
            self.client.get_control_msg(timeout=PATIENCE)
        self._subshells.clear()
        self.client.stop_channels()

    def wait_for_open(self) -> None:
        """Wait for the comm that the kernel opens, and use it."""
        opened = self._wait(lambda m: m["msg_type"] == "comm_open" and m["content"]["target_name"] == TARGET)
        self.comm, self.opening = opened["content"]["comm_id"], opened["content"]["data"]

    def find(self) -> bool:
        """Use a comm that already exists."""
        self.client.comm_info(target_name=TARGET)
        comms = self.client.get_shell_msg(timeout=PATIENCE)["content"]["comms"]
        self.comm = next(iter(comms), "")
        return bool(self.comm)

    def say(self, data: Any, subshell: str | None = None, kind: str = "comm_msg") -> None:
        message = self.client.session.msg(kind, {"comm_id": self.comm, "data": data})
        message["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(message)

    def hello(self, subshell: str | None = None) -> dict[str, Any]:
        """Send hello. Returns the welcome message."""
        self.say({"kind": "hello", "client": self.name}, subshell)
        return self.wait_for("welcome", lambda data: data["client"] == self.name)

    def set(self, **values: Any) -> dict[str, Any]:
        """Send these settings. Returns the settings that are then effective."""
        del self.traffic[:]
        self.say({"kind": "settings", "values": values})
        return self.wait_for("settings")

    def ask(self, action: str, name: str, subshell: str | None = None, **more: Any) -> dict[str, Any]:
        """Send a request. Returns the reply."""
        identity = str(uuid.uuid4())
        self.say({"kind": "request", "id": identity, "action": action, "name": name, **more}, subshell)
        return self.wait_for("reply", lambda data: data["id"] == identity)

    def new_subshell(self) -> str:
        """A subshell, which answers while a cell runs. If the kernel has no subshells, the test is skipped."""
        if "kernel subshells" not in self.client.kernel_info(reply=True)["content"].get("supported_features", ()):
            pytest.skip("this ipykernel has no subshells")
        self.client.control_channel.send(self.client.session.msg("create_subshell_request"))
        self._subshells.append(str(self.client.get_control_msg(timeout=PATIENCE)["content"]["subshell_id"]))
        return self._subshells[-1]

    def wait_for(self, kind: str, holds: Callable[[dict[str, Any]], bool] = lambda data: True) -> dict[str, Any]:
        """The first message of a kind that satisfies a condition, among those that have come or will come."""

        def wanted(message: dict[str, Any]) -> bool:
            data = message["content"].get("data", {})
            is_ours = message["msg_type"] == "comm_msg" and message["content"]["comm_id"] == self.comm
            return is_ours and data["kind"] == kind and holds(data)

        return self._wait(wanted)["content"]["data"]

    def listen(self, seconds: float) -> None:
        """Receive messages for some time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._receive(left)

    def heard(self, kind: str) -> list[dict[str, Any]]:
        """The messages of a kind that came on our comm so far."""
        comm = [m for m in self.traffic if m["msg_type"] == "comm_msg" and m["content"]["comm_id"] == self.comm]
        return [m["content"]["data"] for m in comm if m["content"]["data"].get("kind") == kind]

    def _wait(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        position = 0
        while True:
            for message in self.traffic[position:]:
                if wanted(message):
                    return message
            position = len(self.traffic)
            if time.monotonic() > deadline:
                raise TimeoutError(f"it did not come; {[m['msg_type'] for m in self.traffic]} did")
            self._receive(1.0)

    def _receive(self, seconds: float) -> None:
        try:
            self.traffic.append(self.client.get_iopub_msg(timeout=seconds))
        except queue.Empty:
            return
