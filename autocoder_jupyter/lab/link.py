"""Sends jobs and variables to the pages of a kernel and answers their requests, on a separate thread.

Three kinds of threads are involved. Messages arrive on the main thread or on that of a subshell, and cards change on
their own threads; these only put work into the inbox. The thread of the link processes the inbox and sends. Variables
are read on the main thread: after a cell, or when it is idle.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.lab.server import can_serve_extension
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.redaction.logs import redacting_logger, without_messages
from autocoder_jupyter.version import VERSION

if TYPE_CHECKING:
    from autocoder_jupyter.lab.messages import JobMessage, Message, NotebookData
    from autocoder_jupyter.run.function_run import FunctionRun


# The comm: the kernel opens it, all pages share it, and it stays open if one page closes it

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


WITH_A_KEY = "try-model"
"""The action whose message may contain a key. At the level of debugging, libraries log all messages."""

OnMessage = Callable[[Any], None]
"""Called with the data of a message, on the thread that received it: the main thread, or that of a subshell."""

OnRefused = Callable[[], None]
"""Called when a front end without our extension closes the comm."""


class CommChannel:
    """A channel over a Jupyter comm."""

    def __init__(self, on_message: OnMessage, on_refused: OnRefused) -> None:
        import comm

        for log in ("Comm", "IPKernelApp"):
            without_messages(logging.getLogger(log), WITH_A_KEY)
        self._on_message = on_message
        self._on_refused = on_refused
        self._lock = threading.Lock()
        # `primary=False` does not open it yet, because a page may answer before the next line runs.
        self._comm: Any = self._listening(comm.create_comm(target_name=TARGET, primary=False))

    def open(self, data: dict[str, Any]) -> None:
        with self._lock:
            self._comm.open(data=data)

    def send(self, message: Message) -> None:
        with self._lock:  # messages stay complete and in order
            self._comm.send(data=message)

    def close(self) -> None:
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


# The link

PROTOCOL = 2
"""Version of the messages; a page with another version does not connect."""

UPDATE_SECONDS = 0.25
"""Minimum time between two lists of jobs: at most four per second."""

SETTLING_SECONDS = 2.0
"""How long the first cell waits for the settings of a page, in seconds since the comm was opened.

Pages usually need half a second. The limit is four times that, because the settings control what the model may see of
the data.
"""

_log = redacting_logger(__name__)

Work = Callable[[], None]


class PageLink:
    """The link of one notebook.

    Args:
        notebook: the notebook whose jobs and variables are sent.
        now: a clock in seconds.
    """

    def __init__(
        self,
        notebook: Notebook,
        open_channel: Callable[[OnMessage, OnRefused], Channel] = CommChannel,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._notebook = notebook
        self._open_channel = open_channel
        self._now = now
        self._channel: Channel | None = None
        self._opened = 0.0
        self._main: asyncio.AbstractEventLoop | None = None
        self._inbox: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._greeted = False
        self._settled = threading.Event()
        self._jobs_due = False
        self._jobs_not_before = 0.0
        self._sent_jobs: list[JobMessage] | None = None
        self._sent_data: NotebookData | None = None

    # On the main thread

    @property
    def has_page(self) -> bool:
        """Whether a page has sent `hello`. It stays true when that page is closed: a closed page sends nothing."""
        return self._greeted and self._channel is not None

    def start(self) -> None:
        """Open the comm, now or when the user runs the first cell."""
        front_end = self._notebook.front_end
        front_end.views.append(self._on_card_changed)
        front_end.has_page = lambda: self.has_page
        front_end.await_settings = self._await_settings
        self._notebook.shell.events.register("post_run_cell", self._after_cell)
        self._open()

    def stop(self) -> None:
        """Close the comm. Running jobs continue; pages get no more updates."""
        front_end = self._notebook.front_end
        front_end.views.remove(self._on_card_changed)
        front_end.has_page = lambda: False
        front_end.await_settings = lambda: None
        self._notebook.shell.events.unregister("post_run_cell", self._after_cell)
        channel, self._channel = self._channel, None
        self._inbox.put(None)
        if channel is not None:
            _logging_errors(channel.close)

    def _open(self) -> None:
        if self._channel is not None or self._notebook.is_headless:
            return
        try:
            self._main = asyncio.get_running_loop()
        except RuntimeError:
            self._main = None
        try:
            self._channel = self._open_channel(self._on_message, self._settled.set)
            self._channel.open({"protocol": PROTOCOL, "version": VERSION})
        except Exception:  # a kernel without comms; the rest works without them
            _log.debug("no comm could be opened", exc_info=True)
            self._channel = None
        self._opened = self._now()

    def _after_cell(self, result: Any) -> None:
        self._open()
        if self.has_page:
            _logging_errors(self._read_variables)

    def _read_variables(self) -> None:
        from autocoder_jupyter.magics.references import describe, others

        namespace = self._notebook.namespace
        data: NotebookData = {"variables": describe(namespace), "others": others(namespace)}
        self._inbox.put(partial(self._send_data, data))
        self._inbox.put(self._on_jobs_changed)  # a cell may have bound or deleted a result

    def _await_settings(self) -> None:
        """Wait until a new page has sent its settings; otherwise *Run All* would start without them."""
        if self._channel is None or self._settled.is_set() or not self._has_subshells():
            return
        if not (self.has_page or self._may_have_page()):
            return
        self._settled.wait(max(self._opened + SETTLING_SECONDS - self._now(), 0.0))

    def _may_have_page(self) -> bool:
        """Whether the running cell comes from a front end that can have our extension: JupyterLab and Notebook name the
        cell in each request. VS Code does so too, with an address.
        """
        cell = self._notebook.cell_id
        return cell is not None and not cell.startswith("vscode-") and can_serve_extension()

    def _has_subshells(self) -> bool:
        info: Mapping[str, Any] = getattr(self._notebook.shell.kernel, "kernel_info", {})
        return "kernel subshells" in info.get("supported_features", ())

    # On any thread

    def _on_message(self, message: Any) -> None:
        with self._starting:
            if self._thread is None:
                # In a new context, because otherwise its messages would be output of the running cell.
                work = Context().run
                self._thread = threading.Thread(target=work, args=(self._serve,), name="autocode-link", daemon=True)
                self._thread.start()
        self._inbox.put(partial(self._handle, message))

    def _on_card_changed(self, state: FunctionRun) -> None:
        if self.has_page:
            self._inbox.put(self._on_jobs_changed)

    # On the link's thread

    def _serve(self) -> None:
        while (work := self._next()) is not None:
            _logging_errors(work)
            if self._jobs_due and self._now() >= self._jobs_not_before:
                _logging_errors(self._send_jobs)

    def _next(self) -> Work | None:
        wait = max(self._jobs_not_before - self._now(), 0.0) if self._jobs_due else None
        try:
            return self._inbox.get(timeout=wait)
        except queue.Empty:
            return _nothing

    def _handle(self, message: Any) -> None:
        if not isinstance(message, dict):
            _log.info("a page sent a message that is not an object: %s", type(message).__name__)
            return
        kind, identity = message.get("kind"), message.get("id")
        if kind == "hello" and isinstance(message.get("client"), str):
            self._greet(message["client"])
        elif kind == "prepare":
            self._notebook.prepare()
        elif kind == "settings" and isinstance(message.get("values"), dict):
            self._take_settings(message["values"])
        elif kind == "request" and isinstance(identity, str):
            from autocoder_jupyter.lab.requests import answer, is_slow

            def reply() -> None:
                self._send({"kind": "reply", "id": identity, **answer(self._notebook, message)})

            if is_slow(message):
                start_thread(lambda: _logging_errors(reply), "autocode-link")
            else:
                reply()
        elif kind == "problems" and isinstance(identity, str):
            from autocoder_jupyter.lab.requests import problems

            self._send({"kind": "reply", "id": identity, **problems(self._notebook, message)})
        elif isinstance(identity, str):
            error = (
                "This version of autocoder_jupyter does not know this request. Reload the page, or update the package."
            )
            self._send({"kind": "reply", "id": identity, "ok": False, "error": error})
        else:
            _log.info("a page sent an unknown message of the kind %.30r", kind)

    def _greet(self, client: str) -> None:
        from autocoder_jupyter.lab.messages import vocabulary

        self._greeted = True
        self._send(
            {
                "kind": "welcome",
                "client": client,
                "protocol": PROTOCOL,
                "version": VERSION,
                "vocabulary": vocabulary(),
            }
        )
        self._sent_jobs = self._sent_data = None
        self._send_jobs()
        self._when_free(self._read_variables)

    def _take_settings(self, values: dict[str, Any]) -> None:
        from autocoder_jupyter.lab.requests import take_settings

        try:
            self._send({"kind": "settings", **take_settings(self._notebook, values)})
        finally:
            self._settled.set()

    def _on_jobs_changed(self) -> None:
        self._jobs_due = True

    def _send_jobs(self) -> None:
        from autocoder_jupyter.lab.messages import listed, without_clock

        self._jobs_due, self._jobs_not_before = False, self._now() + UPDATE_SECONDS
        jobs = listed(self._notebook)
        current = without_clock(jobs)
        if current != self._sent_jobs:
            self._sent_jobs = current
            self._send({"kind": "jobs", "jobs": jobs})

    def _send_data(self, data: NotebookData) -> None:
        if data != self._sent_data:
            self._sent_data = data
            self._send({"kind": "data", **data})

    def _when_free(self, work: Work) -> None:
        """Run `work` on the main thread between two cells; immediately if that thread has no event loop."""
        if self._main is None:
            work()
        elif not self._main.is_closed():
            self._main.call_soon_threadsafe(_logging_errors, work)

    def _send(self, message: Message) -> None:
        channel = self._channel
        if channel is not None:
            channel.send(message)


def _logging_errors(work: Work) -> None:
    """Run `work`; log errors, so that none reaches the output of a cell or ends the thread."""
    try:
        work()
    except Exception:
        _log.info("an error in the link to JupyterLab", exc_info=True)


def _nothing() -> None:
    return None
