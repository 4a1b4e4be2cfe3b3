"""A real kernel, used over the Jupyter protocol as a front end does."""

from __future__ import annotations

import os
import queue
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from autocoder_jupyter.lab.link import TARGET
from tests.magics import forked_kernels

PATIENCE = 120.0

forked_kernels.register()


@dataclass
class Answered:
    """The result of one cell."""

    status: str = ""
    error: str = ""
    text: str = ""
    displays: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0


class Kernel:
    """One kernel in a folder; a context manager.

    Args:
        folder: its working folder.
        env: further environment variables.
        cold: start it as a user's kernel, in a process that has imported nothing before.
    """

    def __init__(self, folder: Path, env: Mapping[str, str], *, cold: bool = False) -> None:
        self._manager = KernelManager(kernel_name="python3")
        if not cold:
            assert self._manager.kernel_spec is not None
            self._manager.kernel_spec.metadata = forked_kernels.METADATA
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AUTOCODE_")}
        self._manager.start_kernel(cwd=str(folder), env={**inherited, **env})
        self.client: BlockingKernelClient = self._manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)
        self.shown: dict[str, dict[str, Any]] = {}
        """The current content of each display with an id."""
        self.updates: list[tuple[float, str]] = []
        """The time of each update of a display, and its id."""
        self.has_page = False
        """Whether a test stands for a page with the JupyterLab extension; it then answers the comm itself."""
        self._unanswered: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the kernel at once."""
        self.client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def forget(self) -> None:
        """Forget all outputs so far."""
        self._drain()
        self.shown.clear()
        self.updates.clear()
        self.has_page = False

    @property
    def is_idle(self) -> bool:
        """Whether the kernel lives, and has finished every cell."""
        return self._manager.is_alive() and not self._unanswered

    @property
    def process_id(self) -> int:
        """The process id of the kernel."""
        return int(self._manager.provisioner.pid)  # type: ignore[union-attr]

    def interrupt(self) -> None:
        self._manager.interrupt_kernel()

    def start(self, code: str, *, allow_stdin: bool = True, cell_id: str = "") -> str:
        """Send a cell and do not wait for it. JupyterLab, Notebook and VS Code send the id of the cell with it."""
        message = self.client.session.msg("execute_request", {"code": code, "allow_stdin": allow_stdin})
        message["metadata"] |= {"cellId": cell_id} if cell_id else {}
        self.client.shell_channel.send(message)
        message_id = str(message["header"]["msg_id"])
        self._unanswered.add(message_id)
        return message_id

    def run(self, code: str, *, allow_stdin: bool = True) -> Answered:
        """Send a cell and wait until the kernel is idle again."""
        return self.finish(self.start(code, allow_stdin=allow_stdin))

    def is_complete(self, code: str) -> tuple[str, str]:
        """The kernel's answer for a cell that is typed in a console: status, and indentation of the next line."""
        asked = self.client.is_complete(code)
        while (reply := self.client.get_shell_msg(timeout=PATIENCE))["parent_header"].get("msg_id") != asked:
            continue
        return reply["content"]["status"], reply["content"].get("indent", "")

    def printed(self, expressions: str) -> str:
        """The printed output of a cell, which must not fail."""
        answered = self.run(f"print({expressions})")
        assert answered.status == "ok", answered.error
        return answered.text.strip()

    def finish(self, message_id: str) -> Answered:
        """Wait until a cell that was sent is done."""
        began, answered = time.monotonic(), Answered()
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            self._note(message)
            if message["parent_header"].get("msg_id") != message_id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                answered.text += content["text"]
            elif kind in ("display_data", "execute_result"):
                answered.displays.append(content["data"])
            elif kind == "error":
                answered.error = "\n".join(content["traceback"])
            elif kind == "status" and content["execution_state"] == "idle":
                reply = self.client.get_shell_msg(timeout=PATIENCE)
                while reply["parent_header"].get("msg_id") != message_id:
                    reply = self.client.get_shell_msg(timeout=PATIENCE)
                answered.status = reply["content"]["status"]
                answered.seconds = time.monotonic() - began
                self._unanswered.discard(message_id)
                return answered

    def inspected(self, code: str) -> str:
        """The text that Shift-Tab shows at the end of a line, without colors."""
        reply = self.client.inspect(code, reply=True, timeout=PATIENCE)
        return re.sub(r"\x1b\[[\d;]*m", "", reply["content"]["data"].get("text/plain", ""))

    def completed(self, code: str) -> set[str]:
        """The completions of Tab at the end of a line: the text after its last dot or bracket."""
        reply = self.client.complete(code, reply=True, timeout=PATIENCE)
        return {re.split(r"[.(]", match)[-1] for match in reply["content"]["matches"]}

    def card(self) -> str:
        """The current HTML of the newest card."""
        self._drain()
        cards = [data["text/html"] for data in self.shown.values() if "autocode-card" in data.get("text/html", "")]
        return cards[-1] if cards else ""

    def wait_for_card(self, words: str) -> str:
        """Wait until the newest card contains a text."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.card():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{words!r} is not on the card: {self.card()}")
            try:
                self._note(self.client.get_iopub_msg(timeout=1))
            except queue.Empty:
                continue
        return self.card()

    def wait_for_print(self, message_id: str, words: str) -> None:
        """Wait until the running cell has printed something; an earlier interrupt would not reach a cell."""
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            self._note(message)
            own = message["parent_header"].get("msg_id") == message_id and message["msg_type"] == "stream"
            if own and words in message["content"]["text"]:
                return

    def _drain(self) -> None:
        while True:
            try:
                self._note(self.client.get_iopub_msg(timeout=0))
            except queue.Empty:
                return

    def _note(self, message: dict[str, Any]) -> None:
        opened = message["content"].get("target_name") == TARGET and message["msg_type"] == "comm_open"
        if opened and not self.has_page:  # as front ends do that do not know the target; else the first cell waits
            closed = self.client.session.msg("comm_close", {"comm_id": message["content"]["comm_id"], "data": {}})
            self.client.shell_channel.send(closed)
        if message["msg_type"] not in ("display_data", "update_display_data"):
            return
        identity = message["content"].get("transient", {}).get("display_id")
        if identity:
            self.shown[identity] = message["content"]["data"]
            if message["msg_type"] == "update_display_data":
                self.updates.append((time.monotonic(), identity))
