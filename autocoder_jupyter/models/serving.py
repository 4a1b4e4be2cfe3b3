"""The process of models: asks questions with litellm for the process that started it. See `process`."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import pickle
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from concurrent.futures import Future
from typing import Any, BinaryIO

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.models import keys, library, preflight
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.process import ALIVE_SECONDS, ASKS, Order, Outbox, portable
from autocoder_jupyter.models.protocol import Grant, Listener, WorstCase
from autocoder_jupyter.models.questions import SentRequest

IDLE_SECONDS = 600.0
"""How long the process waits for a question before it ends. It has 200 MB."""

STUCK_SECONDS = 300.0
"""How long the event loop may be blocked, for instance by the login of a provider, before the process ends."""


def serve() -> None:
    """Serve over the standard streams until they are closed, and end the process then."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # what a library prints is not a message
    try:
        _Server(source, sink).run()
    finally:
        os._exit(0)  # nobody waits for what is still under way


class _Server:
    """Reads orders, and sends their results."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._outbox = Outbox(sink)
        self._asked: dict[int, Future[None]] = {}
        self._replies: dict[int, Future[Any]] = {}
        self._variables: Mapping[str, str] = dict(os.environ)
        self._used = time.monotonic()

    def run(self) -> None:
        """Serve until the other process has closed its end."""
        start_thread(self._load, "autocode-prepare")
        start_thread(self._live, "autocode-alive")
        with contextlib.suppress(EOFError, OSError):
            while True:
                number, kind, *about = pickle.load(self._source)
                self._used = time.monotonic()
                self._do(number, kind, *about)

    def send(self, number: int, *message: Any) -> None:
        self._outbox.send(number, *message)

    def request(self, number: int, kind: str, about: Any) -> Future[Any]:
        """Send a message that the other process answers. A question has one at a time."""
        assert kind in ASKS
        self._replies[number] = reply = Future[Any]()
        self.send(number, kind, about)
        return reply

    def _load(self) -> None:
        gc.disable()  # what the import makes stays; to look for garbage in it takes a tenth of the time
        with contextlib.suppress(Exception):  # a question reports it
            library.load()
            self.send(0, "loaded")
            library.load_tokenizer()
        gc.freeze()
        gc.enable()

    def _live(self) -> None:
        """Send signs of life; end the process if nobody asks it, or if its event loop is stuck."""
        turned, stuck = threading.Event(), 0.0
        while (self._asked or time.monotonic() - self._used < IDLE_SECONDS) and stuck < STUCK_SECONDS:
            self.send(0, "alive")
            turned.clear()
            background.loop().call_soon_threadsafe(turned.set)
            time.sleep(ALIVE_SECONDS)
            stuck = 0.0 if turned.is_set() else stuck + ALIVE_SECONDS
        os._exit(0)

    def _do(self, number: int, kind: str, *about: Any) -> None:
        match kind, about:
            case "prepare", [model]:
                start_thread(lambda: self._prepare(number, model), "autocode-prepare")
            case "ask", [order]:
                self._adopt(order)
                self._asked[number] = asked = background.submit(self._ask(number, order))
                asked.add_done_callback(lambda _: self._asked.pop(number, None))
            case "cancel", []:
                if (open_ := self._asked.get(number)) is not None:
                    open_.cancel()
            case "reply", [result, error]:
                reply = self._replies.pop(number, None)
                if reply is None or not reply.set_running_or_notify_cancel():
                    return
                if error is not None:
                    reply.set_exception(error)
                else:
                    reply.set_result(result)

    def _prepare(self, number: int, model: str) -> None:
        with contextlib.suppress(Exception):  # a question reports it
            library.load_client(model)
            library.load_tokenizer()
            self.send(0, "loaded")
        self.send(number)

    def _adopt(self, order: Order) -> None:
        """Take over the environment and the folder of the other process, in which keys and certificates are."""
        if order.variables is not None:
            for name in self._variables.keys() - order.variables.keys():
                os.environ.pop(name, None)
            os.environ.update(order.variables)
            self._variables = order.variables
        with contextlib.suppress(OSError):
            os.chdir(order.folder)
        keys.use(order.config, order.key)
        preflight.use_prices(order.config, order.prices)

    async def _ask(self, number: int, order: Order) -> None:
        remote = _RemoteListener(self, number)
        if library.is_loaded():
            remote.send("loaded")
        model = LiteLLMModel(
            order.config,
            order.patience,
            limited=order.limited,
            on_loading=lambda begins: None if begins else remote.send("loaded"),
            on_send=remote.on_send if order.reports else None,
            checked=True,
        )
        listener = Listener(
            lambda piece: remote.send("text", piece),
            lambda *about: remote.send("retry", *about),
            remote,
            lambda: remote.send("sign"),
        )
        try:
            exchange = await model.ask(order.question, listener)
        except BaseException as error:
            cause = error.__cause__ and portable(error.__cause__)
            remote.send("failed", portable(error), cause)
            raise
        remote.send("answered", exchange)


class _RemoteListener:
    """The listener, the meter and `on_send` of one question, which are in the other process."""

    def __init__(self, server: _Server, number: int) -> None:
        self._server = server
        self._number = number

    def send(self, *message: Any) -> None:
        self._server.send(self._number, *message)

    def on_send(self, request: SentRequest) -> Awaitable[object]:
        """Report a request. It is noted when what is returned is done."""
        return self._asked("sent", request)

    @contextlib.asynccontextmanager
    async def reserve(self, worst: WorstCase) -> AsyncIterator[Grant]:
        """See `Meter.reserve`."""
        room = await self._asked("reserve", worst)
        try:
            yield Grant(room, lambda usage: self.send("spend", usage), lambda usage: self._asked("grow", usage))
        finally:
            self.send("release")

    def _asked(self, kind: str, about: Any) -> Awaitable[Any]:
        return asyncio.wrap_future(self._server.request(self._number, kind, about))
