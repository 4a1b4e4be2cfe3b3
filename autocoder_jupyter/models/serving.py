"""The process of models: asks questions with litellm for the process that started it. See `process`."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import pickle
import threading
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from typing import Any, BinaryIO

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.models import library
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.process import Order, portable
from autocoder_jupyter.models.protocol import Grant, Listener, WorstCase
from autocoder_jupyter.models.questions import SentRequest
from autocoder_jupyter.types import Usage

IDLE_SECONDS = 600.0
"""How long the process waits for a question before it ends. It has 200 MB."""


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
        self._sink = sink
        self._sending = threading.Lock()
        self._asked: dict[int, Future[None]] = {}
        self._replies: dict[int, Future[Any]] = {}
        self._variables: Mapping[str, str] = dict(os.environ)
        self._used = time.monotonic()

    def run(self) -> None:
        """Serve until the other process has closed its end."""
        start_thread(self._load, "autocode-prepare")
        start_thread(self._end_when_idle, "autocode-idle")
        with contextlib.suppress(EOFError, OSError):
            while True:
                number, kind, *about = pickle.load(self._source)
                self._used = time.monotonic()
                self._do(number, kind, *about)

    def send(self, number: int, *message: Any) -> None:
        with self._sending:
            pickle.dump((number, *message), self._sink)
            self._sink.flush()

    def request(self, number: int, kind: str, about: Any) -> Future[Any]:
        """Send a message that the other process answers. A question has one at a time."""
        self._replies[number] = reply = Future[Any]()
        self.send(number, kind, about)
        return reply

    def _load(self) -> None:
        gc.disable()  # what the import makes stays; to look for garbage in it takes a tenth of the time
        with contextlib.suppress(Exception):  # a question reports it
            library.load()
            self.send(0)
            library.load_tokenizer()
        gc.freeze()
        gc.enable()

    def _end_when_idle(self) -> None:
        while self._asked or time.monotonic() - self._used < IDLE_SECONDS:
            time.sleep(IDLE_SECONDS / 10)
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
                reply = self._replies.pop(number)
                if not reply.set_running_or_notify_cancel():
                    return
                if error is not None:
                    reply.set_exception(error)
                else:
                    reply.set_result(result)

    def _prepare(self, number: int, model: str) -> None:
        with contextlib.suppress(Exception):  # a question reports it
            library.load_client(model)
            library.load_tokenizer()
            self.send(0)
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
            lambda piece: remote.send("text", piece), lambda *about: remote.send("retry", *about), remote
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

    def on_send(self, request: SentRequest) -> None:
        """Report a request, and wait until it is noted: it must be known before it is sent."""
        self._server.request(self._number, "sent", request).result()

    @contextlib.asynccontextmanager
    async def reserve(self, worst: WorstCase) -> AsyncIterator[Grant]:
        """See `Meter.reserve`."""
        room = await asyncio.wrap_future(self._server.request(self._number, "reserve", worst))
        try:
            yield Grant(room, lambda usage: self.send("spend", usage), self._grow)
        finally:
            self.send("release")

    def _grow(self, usage: Usage) -> str:
        return str(self._server.request(self._number, "grow", usage).result())
