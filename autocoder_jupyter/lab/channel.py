"""The comm to the pages of this kernel: opened by the kernel, shared by all pages, kept open if one page closes it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from autocoder_jupyter.lab.messages import Message

TARGET = "autocoder_jupyter"
"""The name under which a page registers for it."""


class Channel(Protocol):
    """A way to send to every page that listens."""

    def open(self, data: dict[str, Any]) -> None:
        """Open it for the pages that are connected; pages that connect later find it."""
        ...

    def send(self, message: Message) -> None:
        """Send to all pages, from any thread."""
        ...

    def close(self) -> None:
        """Close it for all pages."""
        ...


Heard = Callable[[Any], None]
"""Takes the data of a message; called on the thread that received it: the main one, or a subshell's."""

Refused = Callable[[], None]
"""Called when a front end without our extension closes the comm."""


class CommChannel:
    """A channel over a Jupyter comm.

    Args:
        heard: is given the data of each message.
        refused: is called when some front end closes it.

    Raises:
        ImportError: there are no comms here.
    """

    def __init__(self, heard: Heard, refused: Refused) -> None:
        import comm

        self._heard = heard
        self._refused = refused
        self._lock = threading.Lock()
        # Not primary means not opened yet: a page may answer before the next line of ours runs.
        self._comm: Any = self._listening(comm.create_comm(target_name=TARGET, primary=False))

    def open(self, data: dict[str, Any]) -> None:
        """Open it for the pages that are connected; pages that connect later find it."""
        with self._lock:
            self._comm.open(data=data)

    def send(self, message: Message) -> None:
        """Send to all pages, from any thread; each message whole, and in order."""
        with self._lock:
            self._comm.send(data=message)

    def close(self) -> None:
        """Close it for all pages."""
        with self._lock:
            self._comm.on_msg(None)
            self._comm.on_close(None)
            self._comm.close()

    def _listening(self, opened: Any) -> Any:
        opened.on_msg(lambda message: self._heard(message["content"].get("data")))
        opened.on_close(lambda message: self._closed_by_a_page())
        _answer_where_asked(opened)
        return opened

    def _closed_by_a_page(self) -> None:
        """Register the kernel's end again without a message.

        A close comes from one page only, usually one without our extension, which does not know the comm's target. The
        other pages still use theirs. To open a new comm would only make the first page close that one as well, in an
        endless loop.
        """
        import comm

        with self._lock:
            again = comm.create_comm(target_name=TARGET, comm_id=self._comm.comm_id, primary=False)
            self._comm = self._listening(again)
            comm.get_comm_manager().register_comm(again)
        self._refused()


def _answer_where_asked(opened: Any) -> None:
    """Handle a message on the subshell that it was sent to, so that a busy kernel answers.

    ipykernel 7.4 sends a comm's messages to the shell that last published on it instead, which for widgets keeps
    clicks behind the cell. Nothing of ours runs where a message arrives: it is only put into a queue.
    """
    if hasattr(opened, "_reply_subshell_for"):
        with contextlib.suppress(AttributeError):
            opened._reply_subshell_for = lambda data, asked: asked
