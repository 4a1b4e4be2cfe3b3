"""The comm to the pages of this kernel. The kernel opens it, all pages share it, and it stays open if one closes it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from autocoder_jupyter.lab.messages import Message

TARGET = "autocoder_jupyter"
"""The target name of the comm."""


class Channel(Protocol):
    """Sends messages to all connected pages."""

    def open(self, data: dict[str, Any]) -> None:
        """Open it for the connected pages; pages that connect later find it."""
        ...

    def send(self, message: Message) -> None:
        """Send to all pages, from any thread."""
        ...

    def close(self) -> None:
        """Close it for all pages."""
        ...


OnMessage = Callable[[Any], None]
"""Called with the data of a message, on the thread that received it: the main thread, or that of a subshell."""

OnRefused = Callable[[], None]
"""Called when a front end without our extension closes the comm."""


class CommChannel:
    """A channel over a Jupyter comm.

    Args:
        on_message: called with the data of each message.
        on_refused: called when a front end closes the comm.

    Raises:
        ImportError: this kernel has no comms.
    """

    def __init__(self, on_message: OnMessage, on_refused: OnRefused) -> None:
        import comm

        self._on_message = on_message
        self._on_refused = on_refused
        self._lock = threading.Lock()
        # `primary=False` does not open it yet, because a page may answer before the next line runs.
        self._comm: Any = self._listening(comm.create_comm(target_name=TARGET, primary=False))

    def open(self, data: dict[str, Any]) -> None:
        """Open it for the connected pages; pages that connect later find it."""
        with self._lock:
            self._comm.open(data=data)

    def send(self, message: Message) -> None:
        """Send to all pages, from any thread; messages stay complete and in order."""
        with self._lock:
            self._comm.send(data=message)

    def close(self) -> None:
        """Close it for all pages."""
        with self._lock:
            self._comm.on_msg(None)
            self._comm.on_close(None)
            self._comm.close()

    def _listening(self, opened: Any) -> Any:
        opened.on_msg(lambda message: self._on_message(message["content"].get("data")))
        opened.on_close(lambda message: self._closed_by_a_page())
        _handle_on_subshell(opened)
        return opened

    def _closed_by_a_page(self) -> None:
        """Register the kernel's side of the comm again, without a message.

        Only one page closed it, usually one without our extension, which does not know the target. The other pages
        still use it. A new comm would be closed by the first page as well, in an endless loop.
        """
        import comm

        with self._lock:
            again = comm.create_comm(target_name=TARGET, comm_id=self._comm.comm_id, primary=False)
            self._comm = self._listening(again)
            comm.get_comm_manager().register_comm(again)
        self._on_refused()


def _handle_on_subshell(opened: Any) -> None:
    """Handle a message on the subshell that it was sent to, so that a busy kernel answers.

    ipykernel 7.4 sends the messages of a comm to the shell that last published on it. There they wait for the running
    cell. Our handler only puts a message into a queue, so it can run on any thread.
    """
    if hasattr(opened, "_reply_subshell_for"):
        with contextlib.suppress(AttributeError):
            opened._reply_subshell_for = lambda data, asked: asked
