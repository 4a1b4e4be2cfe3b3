from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest

from autocoder_jupyter.sandbox.worker.relay import Capture, Relay


@pytest.fixture
def pipes() -> Iterator[list[tuple[int, int]]]:
    ends = [os.pipe() for _ in range(2)]
    for pair in ends:
        for fd in pair:
            os.set_blocking(fd, False)
    yield ends
    for pair in ends:
        for fd in pair:
            with contextlib.suppress(OSError):
                os.close(fd)


@pytest.mark.parametrize("spliced", [True, False])
def test_bytes_pass_by_count_and_no_further(pipes: list[tuple[int, int]], spliced: bool) -> None:
    (source, feed), (drain, sink) = pipes
    relay = Relay(source, sink, 5)
    relay._splice = spliced and relay._splice
    os.write(feed, b"1234567")
    while relay.open:
        relay.step()
    assert (os.read(drain, 100), os.read(source, 100)) == (b"12345", b"67")
    assert relay.moved == relay.taken == 5


@pytest.mark.parametrize("spliced", [True, False])
def test_a_full_sink_is_waited_for_and_nothing_is_lost(pipes: list[tuple[int, int]], spliced: bool) -> None:
    (source, feed), (drain, sink) = pipes
    relay = Relay(source, sink)
    relay._splice = spliced and relay._splice
    sent = received = 0
    for _ in range(200):
        with contextlib.suppress(BlockingIOError):
            sent += os.write(feed, os.urandom(50_000))
        relay.step()
        if relay.waits_for[0] == sink:
            received += len(os.read(drain, 30_000))
    relay.stop_after_present()
    while relay.open:
        relay.step()
        with contextlib.suppress(BlockingIOError):
            received += len(os.read(drain, 1 << 20))
    with contextlib.suppress(BlockingIOError):
        received += len(os.read(drain, 1 << 20))
    assert received == sent > 1_000_000


def test_a_reader_that_is_gone_ends_a_relay(pipes: list[tuple[int, int]]) -> None:
    (source, feed), (drain, sink) = pipes
    relay = Relay(source, sink)
    os.close(drain)
    os.write(feed, b"x")
    relay.step()
    assert relay.sink_gone and not relay.open


def test_a_capture_keeps_head_and_tail(pipes: list[tuple[int, int]]) -> None:
    (source, feed), _ = pipes
    capture = Capture(source, keep=10)
    for part in (b"abc", b"defghijkl", b"mnopqrs"):
        os.write(feed, part)
        capture.step()
    assert capture.text() == "abcde\n[... 9 bytes left out ...]\nopqrs"
