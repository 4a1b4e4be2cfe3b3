"""Answers that are copied from the memory of another process: what is copied, and what is refused."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.sandbox.host import in_place
from autocoder_jupyter.sandbox.host.exchange import Malformed, Route
from autocoder_jupyter.sandbox.host.in_place import AnswerInPlace, BadOffer, ChildEnded
from autocoder_jupyter.sandbox.worker import frames

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux names the sender")

NAME = bytes(range(32))
LIMIT = 1 << 20

HOLDER = """
import ctypes, json, sys
held = [ctypes.create_string_buffer(each, len(each)) for each in (bytes(range(32)), b"answer", b"s of it")]
print(json.dumps([[ctypes.addressof(each), len(each)] for each in held]), flush=True)
sys.stdin.read()
"""


class Holder:
    """A process that holds a name and an answer in two pieces."""

    def __init__(self) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._popen.stdout
        self.pid = self._popen.pid
        self.places = json.loads(self._popen.stdout.readline())

    def end(self) -> None:
        self._popen.kill()
        self._popen.communicate()


@pytest.fixture(params=[in_place._SHORT, 2], ids=["one thread", "two threads"], autouse=True)
def copied_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_place, "_SHORT", request.param)


@pytest.fixture
def holder() -> Iterator[Holder]:
    holder = Holder()
    yield holder
    holder.end()


def test_the_pieces_are_copied_in_their_order_and_no_byte_more(holder: Holder) -> None:
    answer = AnswerInPlace(holder.pid, NAME, holder.places, LIMIT)
    room = memoryview(bytearray(20))
    counts = [answer.read(room[:4]), answer.read(room[4:]), answer.read(room[13:])]
    assert (counts, bytes(room), answer.left) == ([4, 9, 0], b"answers of it" + bytes(7), False)
    answer.close()


def test_a_process_that_does_not_hold_the_name_is_not_read(holder: Holder) -> None:
    with pytest.raises(BadOffer, match="another process"):
        AnswerInPlace(holder.pid, NAME[::-1], holder.places, LIMIT)


def test_what_is_read_of_a_process_that_has_ended_does_not_count(holder: Holder) -> None:
    """Its number may belong to another process by then."""
    answer = AnswerInPlace(holder.pid, NAME, holder.places, LIMIT)
    holder.end()
    answer._pid = os.getpid()  # as if it were this one
    own = ctypes.create_string_buffer(b"of another process")
    answer._places[0] = (ctypes.addressof(own), 6)
    with pytest.raises(ChildEnded):
        answer.read(memoryview(bytearray(6)))
    answer.close()
    with pytest.raises((ChildEnded, OSError)):
        AnswerInPlace(holder.pid, NAME, holder.places, LIMIT)


OWN = ctypes.create_string_buffer(NAME, len(NAME))
NAME_PLACE = [ctypes.addressof(OWN), len(NAME)]
ANSWER = frames.pack({"kind": "result", "payload": 3}) + b"abc"
HELD = ctypes.create_string_buffer(ANSWER, len(ANSWER))
START = ctypes.addressof(HELD)

LIES: dict[str, Any] = {
    "none": [],
    "no list": {"a": 1},
    "only a name": [NAME_PLACE],
    "no numbers": [NAME_PLACE, ["a", 1]],
    "half a place": [NAME_PLACE, [START]],
    "a negative address": [NAME_PLACE, [-1, 1]],
    "an address beyond all": [NAME_PLACE, [2**70, 1]],
    "an empty place": [NAME_PLACE, [START, 0]],
    "more than allowed": [NAME_PLACE, [START, 2**40]],
    "more than allowed together": [NAME_PLACE, *[[START, 2**20]] * 900],
    "too many pieces": [NAME_PLACE, *[[START, 1]] * 1024],
    "nowhere": [NAME_PLACE, [8, len(ANSWER)]],
    "a part of a frame": [NAME_PLACE, [START, len(ANSWER) - 1]],
    "an offer in an offer": None,
}


class Link:
    """The host's end of a link to this process, which runs the child."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.route = Route(self.ours.fileno(), self.ours.fileno(), LIMIT, self.ours, NAME)
        self.got: list[tuple[dict[str, Any], bytes]] = []

    def offer(self, places: Any) -> None:
        self.theirs.sendall(frames.pack({"kind": "in place", "places": places, "payload": 0}))

    def read(self) -> bytes:
        """Read until nothing is left, and return the reply to the child."""
        self.route.read(lambda header, payload: self.got.append((header, bytes(payload))))
        while self.route.frames.reads_memory:
            self.route.read(lambda header, payload: self.got.append((header, bytes(payload))))
        return self.route.frames.take_reply()


@pytest.fixture
def link() -> Iterator[Link]:
    link = Link()
    yield link
    link.route.close()
    link.theirs.close()


def test_frames_that_are_offered_arrive_as_if_they_were_sent(link: Link) -> None:
    link.offer([NAME_PLACE, [START, 10], [START + 10, len(ANSWER) - 10]])
    link.theirs.sendall(ANSWER)
    assert frames.parse(link.read())[0]["kind"] == "read"
    link.read()
    assert link.got == [({"kind": "result", "payload": 3}, b"abc")] * 2


@pytest.mark.parametrize("lie", LIES)
def test_an_offer_that_lies_is_refused(link: Link, lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_place, "_TO_DIE_MILLISECONDS", 10)
    inner = frames.pack({"kind": "in place", "places": [NAME_PLACE, [START, len(ANSWER)]], "payload": 0})
    held = ctypes.create_string_buffer(inner, len(inner))
    places = LIES[lie] if LIES[lie] is not None else [NAME_PLACE, [ctypes.addressof(held), len(inner)]]
    link.offer(places)
    with pytest.raises(Malformed):
        link.read()
    assert not link.got


def test_a_child_that_may_not_be_read_is_told_to_send_once(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden() -> None:
        raise OSError

    monkeypatch.setattr(in_place, "_reader", forbidden)
    for _ in range(2):
        link.offer([NAME_PLACE, [START, len(ANSWER)]])
        assert frames.parse(link.read())[0]["kind"] == "send"
        link.theirs.sendall(ANSWER)
        link.read()
    assert len(link.got) == 2
    link.offer([NAME_PLACE, [START, len(ANSWER)]])
    link.read()
    link.offer([NAME_PLACE, [START, len(ANSWER)]])
    with pytest.raises(Malformed, match="not expected"):
        link.read()


def test_a_descriptor_that_comes_with_an_offer_is_closed(link: Link) -> None:
    here, there = os.pipe()
    before = set(Path("/proc/self/fd").iterdir())
    socket.send_fds(link.theirs, [ANSWER], [there])
    link.read()
    assert link.got and set(Path("/proc/self/fd").iterdir()) == before
    os.close(there)
    assert os.read(here, 1) == b""  # nobody else has its other end
    os.close(here)


def test_the_end_of_the_child_before_it_is_read_is_the_end_of_its_link(
    link: Link, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_place, "sender_of", lambda _: holder.pid)
    os.kill(holder.pid, signal.SIGKILL)
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is not reaped
    link.offer(holder.places)
    assert link.read() == b""
    assert link.route.ended
