"""The models in their own process, which imports litellm while the kernel does other work.

The import takes seconds, and holds the GIL of the process that does it. Here a kernel starts a second process and goes
on; it asks questions over a pipe, and gets pieces of the answer, pauses and the questions about the budget back. The
other end is `serving`, where `LiteLLMModel` asks.

The kernel keeps the clock: the process sends a sign of life every few seconds, and one that sends none for
`SILENT_SECONDS` is ended and replaced. Neither side waits while it writes, or blocks its loop for a reply.

A process that has imported litellm itself uses it, because a person may have set it up there. So does one whose
parameters are more than plain values, which no pipe can carry.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import pickle
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.background import start_thread
from autocoder_jupyter.errors import ModelUnavailable
from autocoder_jupyter.models import keys
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.faults import RetryPolicy
from autocoder_jupyter.models.preflight import own_prices
from autocoder_jupyter.models.protocol import SILENT, Grant, Listener, ModelConfig, Question, WorstCase
from autocoder_jupyter.models.questions import OnSend
from autocoder_jupyter.models.spawn import spawn
from autocoder_jupyter.types import Exchange

ASKS = ("reserve", "grow", "sent")
"""The messages of the process that are answered."""

_STARTS = 2
"""How many processes are tried, if they end before they send a request. Then the model is asked here."""

ALIVE_SECONDS = 2.0
"""How often the process sends a sign of life, and how often the kernel looks whether one came."""

SILENT_SECONDS = 60.0
"""How long the process may send nothing. It is long, because the threads of a busy machine wait for seconds, and counts
only while the kernel itself runs."""

CLOSING_SECONDS = 2.0
"""How long a question that was cancelled is followed, to know what it used."""


@dataclass(frozen=True)
class Order:
    """One question, as it is sent to the process.

    Args:
        config, patience, limited: see `LiteLLMModel`.
        reports: whether each request is reported before it is sent.
        variables: the environment, if it is another one than that of the order before. Keys of models are in it.
        key: the key that a person typed for this model.
        prices: the prices that a person chose for it.
        folder: the working folder, to which paths of credentials may be relative.
    """

    config: ModelConfig
    patience: RetryPolicy
    limited: bool
    question: Question
    reports: bool
    variables: Mapping[str, str] | None = None
    folder: str = ""
    key: str = field(default="", repr=False)
    prices: tuple[float, float] | None = None


class RemoteModel:
    """A `ConfiguredModel` that is asked in the process of models, or here if `uses_process` says so."""

    def __init__(self, here: LiteLLMModel) -> None:
        self._here = here

    @property
    def config(self) -> ModelConfig:
        """The model, its key and its address."""
        return self._here.config

    async def preflight(self) -> None:
        """See `LiteLLMModel.preflight`."""
        await self._here.preflight()

    async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
        """One complete answer. A cancel closes the connection at once.

        Raises:
            ModelError, BudgetSpent, InvalidRequest: see `LiteLLMModel.ask`.
            ModelUnavailable: also if the process ended.
        """
        await self.preflight()
        here = self._here
        key = keys.typed(here.config) or ""
        prices = own_prices(here.config)
        order = Order(
            here.config, here.patience, here.limited, question, here.on_send is not None, key=key, prices=prices
        )
        for _ in range(_STARTS):
            process = await background.call_blocking(lambda: process_for(here.config))
            if process is None:
                break
            with contextlib.suppress(_EndedBefore):
                return await process.ask(order, listener, here.on_send, here.on_loading)
        return await here.ask(question, listener)


def uses_process(config: ModelConfig) -> bool:
    """Whether a model is asked in the process of models, and not in this one."""
    return "litellm" not in sys.modules and bool(sys.executable) and _is_plain(config.params)


def process_for(config: ModelConfig) -> ModelProcess | None:
    """The running process of models; None if the model is asked here. Starts it if needed. Blocks."""
    return _shared() if uses_process(config) else None


def prepare(model: str) -> None:
    """Start the process, and let it import what the first question to a model needs. Blocks until it has."""
    if (process := process_for(ModelConfig(model))) is not None:
        process.prepare(model)
    else:
        from autocoder_jupyter.models import library

        library.load_client(model)
        library.load_tokenizer()


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return type(value) is dict and all(type(name) is str and _is_plain(item) for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return type(value) in (list, tuple) and all(map(_is_plain, value))
    return value is None or type(value) in (str, int, float, bool)


_lock = threading.Lock()
_process: ModelProcess | None = None


def _shared() -> ModelProcess | None:
    global _process
    with _lock:
        if _process is None or not _process.is_usable:
            try:
                _process = ModelProcess()
            except OSError:  # no further process is allowed
                return None
        return _process


class Outbox:
    """Writes messages to a pipe on a thread, so that a slow reader does not hold up the sender."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        start_thread(self._write, "autocode-models")

    def send(self, *message: Any) -> None:
        """Have a message written. If nobody reads any more, it is dropped."""
        self._messages.put(pickle.dumps(message))

    def close(self) -> None:
        """Write nothing more."""
        self._messages.put(None)

    def _write(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # who listens at the other pipe notices the end
            while (message := self._messages.get()) is not None:
                self._pipe.write(message)
                self._pipe.flush()


class ModelProcess:
    """One process of models. It ends with the one that started it."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._process = spawn()
        assert self._process.stdin is not None
        self._outbox = Outbox(self._process.stdin)
        self._variables: dict[str, str] = {}
        self._ordering = threading.Lock()
        self._numbers = itertools.count(1)
        self._open: dict[int, Callable[[Any], object]] = {}
        self._ended = False
        self._silent = 0.0
        self._why = "It was killed, for instance because the memory of the machine was used up."
        self.is_loaded = False
        """Whether litellm is imported there."""
        start_thread(self._listen, "autocode-models")
        start_thread(self._watch, "autocode-models")

    @property
    def is_usable(self) -> bool:
        """Whether it runs, and belongs to this process and not to the one from which this was forked."""
        return not self._ended and self._owner == os.getpid()

    def prepare(self, model: str) -> None:
        """Let it import what the first question to a model needs, and wait until it has."""
        done = threading.Event()
        with self._following(lambda _: done.set()) as number:
            self._outbox.send(number, "prepare", model)
            done.wait()

    async def ask(
        self,
        order: Order,
        listener: Listener,
        on_send: OnSend | None,
        on_loading: Callable[[bool], None] | None,
    ) -> Exchange:
        """Have one question asked. See `RemoteModel.ask`."""
        loop, inbox = asyncio.get_running_loop(), asyncio.Queue[Any]()

        def receive(message: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(inbox.put_nowait, message)

        with self._following(receive) as number:
            loading = _Loading(on_loading, begins=not self.is_loaded)
            remote = _RemoteQuestion(
                inbox, lambda *message: self._outbox.send(number, *message), listener, on_send, loading
            )
            try:
                await background.call_blocking(lambda: self._order(number, order))
                return await remote.answer()
            finally:
                loading.end()

    def _order(self, number: int, order: Order) -> None:
        with self._ordering:
            variables = dict(os.environ)
            changed = None if variables == self._variables else variables
            self._variables = variables
            self._outbox.send(number, "ask", replace(order, variables=changed, folder=_folder()))

    @contextlib.contextmanager
    def _following(self, receive: Callable[[Any], object]) -> Iterator[int]:
        """Have `receive` called with each message about a new number, and with `["ended", why]` if the process ends."""
        number = next(self._numbers)
        self._open[number] = receive
        if self._ended:
            receive(["ended", self._why])
        try:
            yield number
        finally:
            del self._open[number]

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            while True:
                number, *message = pickle.load(self._process.stdout)
                self._silent = 0.0
                if number == 0:
                    self.is_loaded = self.is_loaded or message == ["loaded"]
                elif (receive := self._open.get(number)) is not None:
                    receive(message)
                elif message[0] in ASKS:  # nobody waits for its answer any more
                    self._outbox.send(number, "cancel")
        except Exception:  # it has ended, or has another version of this package
            self._ended = True
            for receive in list(self._open.values()):
                receive(["ended", self._why])
            self._outbox.close()
            self._process.kill()
            with contextlib.suppress(OSError):  # it closes the pipes; what was not sent is not needed
                self._process.communicate()

    def _watch(self) -> None:
        """End the process if it is silent. What a stop of the kernel, or of the machine, takes is not counted."""
        while not self._ended:
            time.sleep(ALIVE_SECONDS)
            self._silent += ALIVE_SECONDS
            if self._silent > SILENT_SECONDS and not self._ended:
                self._why = f"It did not respond for {SILENT_SECONDS:g} seconds, so it was ended."
                self._process.kill()
                return


class _EndedBefore(Exception):
    """The process ended before it sent a request."""


class _Loading:
    """Reports once that a question waits for the import of litellm, and once that it no longer does."""

    def __init__(self, on_loading: Callable[[bool], None] | None, *, begins: bool) -> None:
        self._report = on_loading if begins else None
        if self._report is not None:
            self._report(True)

    def end(self) -> None:
        """The import has ended, or it is no longer awaited."""
        report, self._report = self._report, None
        if report is not None:
            report(False)


class _RemoteQuestion:
    """Follows one question in the process until its answer.

    Args:
        inbox: the messages about it; the last is `["ended", why]` if the process ended.
        listener, on_send: follow the question.
    """

    def __init__(
        self,
        inbox: asyncio.Queue[Any],
        send: Callable[..., None],
        listener: Listener,
        on_send: OnSend | None,
        loading: _Loading,
    ) -> None:
        self._inbox = inbox
        self._send = send
        self._listener = listener
        self._on_send = on_send
        self._loading = loading
        self._granted = contextlib.AsyncExitStack()
        self._grant: Grant | None = None
        self._worst: WorstCase | None = None
        self._characters = 0
        self._stop: BaseException | None = None
        self._refused: Exception | None = None
        self._closing = 0.0

    async def answer(self) -> Exchange:
        """The answer. A cancel is passed on, and what the question used until then is still charged."""
        async with self._granted:
            while True:
                match await self._next():
                    case ["answered", exchange] if self._stop is None:
                        assert isinstance(exchange, Exchange)
                        return exchange
                    case ["failed", error, cause] if self._stop is None:
                        if (own := self._refused) is not None and (type(own), str(own)) == (type(error), str(error)):
                            raise own  # with its cause, which does not come back
                        raise error from cause
                    case ["ended", why]:
                        self._charge_what_came()
                        raise self._stop or (_EndedBefore() if self._worst is None else _ended(why))
                    case ["answered" | "failed", *_] if self._stop is not None:
                        raise self._stop
                    case [kind, *about]:
                        await self._handle(kind, *about)

    async def _next(self) -> Any:
        if self._stop is None:
            try:
                return await self._inbox.get()
            except asyncio.CancelledError as cancelled:
                self._end(cancelled)
        try:
            async with asyncio.timeout_at(self._closing):
                return await self._inbox.get()
        except (TimeoutError, asyncio.CancelledError):
            return ["ended", ""]

    def _end(self, reason: BaseException) -> None:
        if self._stop is None:
            self._stop = reason
            self._closing = asyncio.get_running_loop().time() + CLOSING_SECONDS
            self._send("cancel")

    async def _handle(self, kind: str, *about: Any) -> None:
        """Handle a message. What a listener raises ends the question."""
        try:
            match kind:
                case "text":
                    self._characters += len(about[0])
                    if self._stop is None:
                        self._listener.on_text(about[0])
                case "retry":
                    self._listener.on_retry(*about)
                case "sign":
                    self._listener.on_sign()
                case "loaded":
                    self._loading.end()
                case "spend" if self._grant is not None:
                    self._grant.spend(about[0])
                case "release":
                    self._grant = None
                    await self._granted.aclose()
                case _:
                    await self._reply(kind, about[0])
        except Exception as error:
            self._end(error)

    async def _reply(self, kind: str, about: Any) -> None:
        """Answer a question of the process. It raises the error there."""
        result: object = ""
        error: BaseException | None = None
        try:
            match kind:
                case _ if self._stop is not None:
                    pass  # it waits for a reply, and will be cancelled
                case "reserve":
                    grant = await self._granted.enter_async_context(self._listener.meter.reserve(about))
                    self._grant, self._worst, self._characters = grant, about, 0
                    result = grant.room
                case "grow" if self._grant is not None:
                    result = await self._grant.grow(about)
                case "sent" if self._on_send is not None:
                    if (noted := self._on_send(about)) is not None:
                        await noted
        except asyncio.CancelledError as cancelled:
            self._end(cancelled)
            return
        except Exception as raised:
            self._refused, error = raised, portable(raised)
        self._send("reply", result, error)

    def _charge_what_came(self) -> None:
        if self._grant is not None and self._worst is not None:
            self._grant.spend(self._worst.of(self._worst.question.input_tokens, self._characters // 4))


def _folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return ""


def portable(error: BaseException) -> BaseException:
    """An exception that can be sent to another process: itself, or its text.

    That of another package is sent as text: the other process would import the package, or does not find it.
    """
    try:
        if type(error).__module__.partition(".")[0] not in ("builtins", "autocoder_jupyter"):
            raise TypeError
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _ended(why: str) -> ModelUnavailable:
    return ModelUnavailable(
        "The process that asks the model ended before the answer.",
        why=why,
        hint="Try again (%autocode retry). A new process is started.",
    )
