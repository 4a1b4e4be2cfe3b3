"""Asks a handler: in a kernel, over its connection file or over a Jupyter server, or in this process.

A kernel gets one expression of ours with the request as a JSON text. It runs when the kernel is idle, leaves nothing in
the history, and its answer comes back as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlsplit

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    from autocoder_jupyter.magics.notebook import Notebook

IDLE_SECONDS = 20.0
"""How long a busy kernel is waited for. After that nothing has been asked of it."""

ALIVE_SECONDS = 5.0
"""How often it is checked that a kernel that works lives."""

MOST_BYTES = 2**24
"""A larger message of a Jupyter server is refused."""

_ASK = "__import__('autocoder_jupyter.mcp.handler', fromlist=['answer']).answer({text})"


class Unanswered(InvalidRequest):
    """Something was asked of a kernel, and it is not known what became of that."""


class Busy(InvalidRequest):
    """Nothing was asked of a kernel, because it works."""


class Link(Protocol):
    """The way to a handler."""

    async def ask(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of the handler: `ok` with the record, or `error` with a text."""
        ...


class ProcessLink:
    """A handler in this process, for the current folder."""

    def __init__(self) -> None:
        self._notebook: Notebook | None = None
        self._opening = threading.Lock()

    async def ask(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        return await background.call_blocking(lambda: self._handled(asked))

    def _handled(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        from autocoder_jupyter.mcp.handler import handled, of_folder

        with self._opening:
            self._notebook = here = self._notebook or of_folder()
        return handled(asked, lambda: here, has_person=False)


class KernelLink(ABC):
    """A handler in a kernel. One request at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    @abstractmethod
    async def _send(self, kind: str, content: Mapping[str, Any]) -> str:
        """Send a message to the shell of the kernel. Returns its id."""

    @abstractmethod
    async def _receive(self, seconds: float) -> Mapping[str, Any] | None:
        """The next message of the shell; None if there was none in this time."""

    @abstractmethod
    async def _is_alive(self) -> bool:
        """Whether there is still a kernel."""

    async def ask(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Ask when the kernel is idle. What was sent is waited for, however long it takes, while the kernel lives.

        Raises:
            Busy: nothing was asked of it.
            InvalidRequest: it cannot be reached.
            Unanswered: it ended meanwhile, or has no such package.
        """
        async with self._turn:
            if await self._reply_to(await self._send("kernel_info_request", {}), IDLE_SECONDS) is None:
                raise Busy(
                    "The kernel is busy with a cell.",
                    why=f"It did not answer in {IDLE_SECONDS:g} s, and nothing was asked of it.",
                    hint="Ask again when the cell has ended.",
                )
            content = {
                "code": "",
                "silent": True,
                "store_history": False,
                "user_expressions": {"answer": _ASK.format(text=repr(json.dumps(asked)))},
                "allow_stdin": True,  # so that the notebook knows that somebody can be asked there
                "stop_on_error": False,
            }
            try:
                reply = await self._reply_to(await self._send("execute_request", content), None)
                while reply is not None and reply.get("status") == "aborted":  # it waited behind a cell that failed
                    reply = await self._reply_to(await self._send("execute_request", content), None)
                return _answer_in(reply)
            except InvalidRequest as error:
                raise Unanswered(error.what, why=error.why, hint=error.hint) from None

    async def _reply_to(self, identity: str, seconds: float | None) -> Mapping[str, Any] | None:
        """The content of the reply to a message; None if it did not come in this time.

        Raises:
            InvalidRequest: the kernel has ended.
        """
        loop = asyncio.get_running_loop()
        end = None if seconds is None else loop.time() + seconds
        probes: set[str] = set()
        started = next_probe = loop.time()
        while end is None or loop.time() < end:
            left = ALIVE_SECONDS if end is None else min(ALIVE_SECONDS, max(end - loop.time(), 0.01))
            message = await self._receive(left)
            if message is None:
                if not await self._is_alive():
                    raise _ended()
                if end is None and loop.time() >= next_probe:
                    probes.add(await self._send("kernel_info_request", {}))
                    next_probe = 2 * loop.time() - started
            elif (parent := message.get("parent_header", {}).get("msg_id")) == identity:
                content: Mapping[str, Any] = message["content"]
                return content
            elif parent in probes:  # a kernel answers in order, so it was started again
                raise _ended()
        return None


class FileLink(KernelLink):
    """A kernel of this machine.

    Args:
        path: its connection file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._client: Any = None

    async def _connected(self) -> Any:
        if self._client is None:
            from jupyter_client.asynchronous.client import AsyncKernelClient

            client = AsyncKernelClient()
            try:
                client.load_connection_file(os.fspath(self._path))
            except (OSError, ValueError, KeyError) as error:
                raise InvalidRequest(
                    f"The connection file {visible(self._path)} cannot be read.",
                    why=visible(str(error)[:200]),
                    hint="%connect_info in the notebook shows its path.",
                ) from None
            client.start_channels(iopub=False, stdin=False, control=False)
            self._client = client
        return self._client

    async def _send(self, kind: str, content: Mapping[str, Any]) -> str:
        client = await self._connected()
        message = client.session.msg(kind, dict(content))
        client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    async def _receive(self, seconds: float) -> Mapping[str, Any] | None:
        try:
            message: Mapping[str, Any] = await self._client.get_shell_msg(timeout=seconds)
        except queue.Empty:
            return None
        return message

    async def _is_alive(self) -> bool:
        return bool(self._client.hb_channel.is_beating())


class ServerLink(KernelLink):
    """The kernel of a notebook that a Jupyter server runs.

    Args:
        url: the address of the server.
        notebook: the path of the notebook, as the server has it; "" if only one is open.
        token: the server's token; "" for none.
    """

    def __init__(self, url: str, notebook: str, token: str) -> None:
        super().__init__()
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or "@" in parts.netloc:
            raise InvalidRequest(
                "--server must be the address of a Jupyter server, without a token.",
                why="Other users of the machine can see the arguments of a process.",
                hint="--server http://localhost:8888/ with the token in the environment variable JUPYTER_TOKEN.",
            )
        self._url = f"{url.rstrip('/')}/"
        self._notebook, self._token = notebook, token
        self._session = uuid.uuid4().hex
        self._socket: Any = None

    def _request(self, address: str) -> Any:
        from tornado.httpclient import HTTPRequest

        headers = {"Authorization": f"token {self._token}"} if self._token else {}
        return HTTPRequest(address, headers=headers, follow_redirects=False)  # the token is for this server only

    async def _connected(self) -> Any:
        if self._socket is None:
            from tornado.httpclient import AsyncHTTPClient
            from tornado.websocket import websocket_connect

            try:
                found = await AsyncHTTPClient().fetch(self._request(f"{self._url}api/sessions"))
                kernel = _kernel_of(json.loads(found.body), self._notebook)
                channels = f"{self._url}api/kernels/{quote(kernel, safe='')}/channels?session_id={self._session}"
                address = channels.replace("http", "ws", 1)
                self._socket = await websocket_connect(self._request(address), max_message_size=MOST_BYTES)
            except AutocodeError:
                raise
            except Exception as error:  # of tornado, of the network and of what is no Jupyter server
                raise InvalidRequest(
                    f"The Jupyter server {visible(self._url)} cannot be used.",
                    why=f"{type(error).__name__}: {visible(str(error)[:200])}",
                    hint="Check the address, and the token in the variable that --token names.",
                ) from None
        return self._socket

    async def _send(self, kind: str, content: Mapping[str, Any]) -> str:
        identity = uuid.uuid4().hex
        header = {
            "msg_id": identity,
            "msg_type": kind,
            "session": self._session,
            "username": "autocode-mcp",
            "version": "5.3",
        }
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        await (await self._connected()).write_message(json.dumps(message))
        return identity

    async def _receive(self, seconds: float) -> Mapping[str, Any] | None:
        try:
            async with asyncio.timeout(seconds):
                while (text := await self._socket.read_message()) is not None:
                    message: Mapping[str, Any] = json.loads(text) if isinstance(text, str) else {}
                    if message.get("channel") == "shell":
                        return message
        except TimeoutError:
            return None
        self._socket = None
        raise _ended()

    async def _is_alive(self) -> bool:
        return self._socket is not None


def _kernel_of(sessions: Any, notebook: str) -> str:
    """The id of the kernel of a notebook, from the list of the server."""
    known = {str(one["path"]): str(one["kernel"]["id"]) for one in sessions if one.get("kernel")}
    if notebook in known:
        return known[notebook]
    if not notebook and len(known) == 1:
        return next(iter(known.values()))
    names = ", ".join(visible(path[:100]) for path in [*known][:10]) or "none"
    what = f"{visible(notebook)} is not open there" if notebook else f"{len(known)} notebooks are open there"
    raise InvalidRequest(f"{what}: {names}.", hint="--notebook PATH names one of them.")


def _answer_in(reply: Mapping[str, Any] | None) -> dict[str, Any]:
    """The answer in a reply of a kernel."""
    answer = (reply or {}).get("user_expressions", {}).get("answer", {})
    found = answer.get("data", {}).get("application/json")
    if isinstance(found, dict):
        return found
    kind = visible(str(answer.get("ename") or (reply or {}).get("ename") or "no answer")[:100])
    raise InvalidRequest(
        f"The kernel did not do that: {kind}.",
        why="It must run Python with this version of autocoder-jupyter, and was perhaps interrupted.",
        hint="Ask again; in the notebook, %autocode setup check shows what is there.",
    )


def _ended() -> InvalidRequest:
    return InvalidRequest(
        "The kernel has ended.",
        why="What it was making has stopped; what was paid for is recorded.",
        hint="waiting for the person: start the notebook again, and this server with its new connection file.",
    )
