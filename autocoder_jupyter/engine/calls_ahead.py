"""Calls of the function that tests made while the model still wrote other tests; the run that verifies takes them.

That run has all tests, in a new process. Each of its calls is one in a new process of the function, as always; such a
call may have been made some seconds before. An answer is taken once, so that as many calls are made as without this.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import defaultdict, deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass

from autocoder_jupyter.sandbox.host.packing import describe, digest
from autocoder_jupyter.sandbox.host.replies import CallAnswer
from autocoder_jupyter.sandbox.protocol import Callee, CallSpec, Program
from autocoder_jupyter.sandbox.worker.entries import Packed

MOST_BYTES = 32 << 20
"""The maximum size of all answers that are kept."""

PATIENCE = 0.5
"""The maximum seconds that the run waits for a call that has begun. Then it makes the call itself."""


class CallsAhead:
    """The answers that nobody has taken yet, by program and arguments."""

    def __init__(self) -> None:
        self._answers: dict[bytes, deque[Future[CallAnswer]]] = defaultdict(deque)
        self._lock = threading.Lock()
        self._bytes = 0

    def making(self, callee: Callee) -> Callee:
        """A worker of the function for tests that run ahead. Its answers are kept."""
        return _Making(callee, self)

    def taking(self, callee: Callee) -> Callee:
        """A worker of the function for the run that counts. It makes the calls whose answers are not kept."""
        return _Taking(callee, self)

    def begin(self, call: bytes) -> Future[CallAnswer]:
        """The future of a call that begins now; whoever makes the call sets it."""
        future = Future[CallAnswer]()
        with self._lock:
            self._answers[call].append(future)
        return future

    def take(self, call: bytes) -> Future[CallAnswer] | None:
        """The first of these calls that was not taken yet; None if there is none."""
        with self._lock:
            begun = self._answers[call]
            return begun.popleft() if begun else None

    def has_room(self, answer: CallAnswer) -> bool:
        """Whether the answer may be kept. It counts from then on."""
        with self._lock:
            self._bytes += answer.payload.nbytes
            return self._bytes <= MOST_BYTES


@dataclass(frozen=True)
class _WithCalls:
    callee: Callee
    calls: CallsAhead

    @property
    def alive(self) -> bool:
        return self.callee.alive


class _Making(_WithCalls):
    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        future = self.calls.begin(_name(program, packed, spec))
        try:
            answer = self.callee.answer(program, packed, spec)
        except Exception as error:  # the run that counts makes this call itself
            future.set_exception(error)
            raise
        if self.calls.has_room(answer):
            future.set_result(answer)
        else:
            future.set_exception(MemoryError())
        return answer


class _Taking(_WithCalls):
    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        future = self.calls.take(_name(program, packed, spec))
        if future is not None:
            with suppress(Exception):
                return future.result(PATIENCE)
        return self.callee.answer(program, packed, spec)


def _name(program: Program, packed: Packed, spec: CallSpec) -> bytes:
    """A hash of everything on which the answer depends, apart from chance."""
    named = hashlib.sha256(digest(describe(program)))
    named.update(json.dumps([packed.entries, spec.watch_inputs, spec.reuse, spec.seed]).encode())
    for piece in packed.pieces:
        named.update(piece)
    return named.digest()
