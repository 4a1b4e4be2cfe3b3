"""The process that drives Monty, and its messages. `interpreter` starts it, without most of the package's modules."""

from __future__ import annotations

import builtins
import concurrent.futures
import itertools
import json
import os
import queue
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any, BinaryIO

from autocoder_jupyter.codemode.monty_session import MontySession
from autocoder_jupyter.codemode.values import Crossing, decode, encode
from autocoder_jupyter.errors import UnsupportedData

# Messages
#
# A length, then JSON.

_LENGTH = struct.Struct(">Q")

Parse = Callable[[bytes], Any]


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    """Write one message."""
    text = json.dumps(message).encode()
    stream.write(_LENGTH.pack(len(text)))
    stream.write(text)
    stream.flush()


def receive(stream: BinaryIO, parse: Parse = json.loads) -> Any:
    """Read one message; None if there is no further one."""
    if len(length := stream.read(_LENGTH.size)) < _LENGTH.size:
        return None
    size = _LENGTH.unpack(length)[0]
    text = stream.read(size)
    return parse(text) if len(text) == size else None


# The process

_EXIT_SECONDS = 1.0
"""Seconds to end the process of Monty, and wait for it, when the kernel does not need it any more."""


@dataclass(frozen=True, eq=False)
class FrameHandle:
    """Stands for a table in the kernel."""

    number: int
    columns: list[str]
    dtypes: dict[str, str]


FrameHandle.__name__ = "Frame"  # errors that a program reads name the class


class _Kernel:
    """The other end of the pipe, as the host of the programs."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        from pydantic_monty import ClassInstance

        kernel = self

        class Handle(ClassInstance):
            def call_method(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
                return kernel.operate(self.value, name, args, kwargs)

        self._handle = Handle
        self._source = source
        self._sink = sink
        self._numbers = itertools.count(1)
        self._open: dict[int, concurrent.futures.Future[Any]] = {}
        self._crossing = Crossing(0, lambda table, _: table, self._stand_in)
        self.names: Mapping[str, bool] = {}
        self.in_thread = ""
        self.methods: frozenset[str] = frozenset()
        self.orders: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while (message := receive(self._source)) is not None:
            if "settle" not in message:
                self.orders.put(message)
            elif (future := self._open.pop(message["settle"], None)) and future.set_running_or_notify_cancel():
                future.set_result(self.decoded(message["outcome"]))
        self.orders.put(None)
        time.sleep(_EXIT_SECONDS)
        os._exit(0)  # a value is still being built, or a call is waited for

    def send(self, message: dict[str, Any]) -> None:
        send(self._sink, message)

    def decoded(self, record: Any) -> Any:
        return decode(record, self._handled)

    def _handled(self, form: Any) -> Any:
        number, columns, dtypes = form["value"]
        return self._handle(
            FrameHandle(number, columns, dtypes), eager_attrs=("columns", "dtypes"), allowed_methods=self.methods
        )

    @staticmethod
    def _stand_in(value: Any) -> Any:
        if not isinstance(value, FrameHandle):
            raise LookupError
        return value

    def begin_leaving(self) -> None:
        self.send({"leaving": True})

    def _leave(self, value: Any, what: str) -> Any:
        return encode(self._crossing.outward(value, what), lambda frame: {"$type": "frame", "value": frame.number})

    def outward(self, value: Any) -> Any:
        return self._leave(value, "the final value")

    def call(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], line: int
    ) -> concurrent.futures.Future[Any]:
        receiver = name
        if name == self.in_thread and args:  # its first argument is a tool, which arrives as its name
            receiver, args = (args[0], args) if isinstance(args[0], str) else (name, (None,))
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            given = self._leave([list(args), kwargs], receiver)
        except UnsupportedData as error:
            self.send({"leaving": False})
            future.set_result({"exc_type": "ValueError", "message": " ".join(str(error).split("\n"))})
            return future
        number = next(self._numbers)
        self._open[number] = future
        self.send({"call": number, "name": name, "given": given, "line": line})
        return future

    def operate(self, frame: FrameHandle, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            given = self._leave([list(args), kwargs], name)
        except UnsupportedData as error:
            self.send({"leaving": False})
            raise ValueError(str(error)) from None
        number = next(self._numbers)
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._open[number] = future
        self.send({"operate": number, "frame": frame.number, "name": name, "given": given})
        outcome = future.result()
        if "exc_type" in outcome:
            raise getattr(builtins, outcome["exc_type"])(outcome["message"])
        return outcome["return_value"]


def main() -> None:
    """Serve the kernel at the other end of standard input and output."""
    sink = sys.stdout.buffer
    sys.stdout = sys.stderr
    kernel = _Kernel(sys.stdin.buffer, sink)
    try:
        if (start := kernel.orders.get()) is None:
            return
        kernel.in_thread, kernel.methods = start["in_thread"], frozenset(start["methods"])
        session = MontySession(kernel.decoded(start["options"]), start["prelude"], kernel.decoded(start["inputs"]))
    except Exception as error:
        kernel.send({"failed": str(error)})
        return
    kernel.send({"ready": session.pid})
    while (order := kernel.orders.get()) is not None:
        kernel.names = order["names"]
        kernel.send({"ran": vars(session.run(order["run"], kernel))})
    session.close()
