"""The memory of large buffers is used again, but never while somebody uses it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from autocoder_jupyter.sandbox.worker import frames

SIZE = 4 << 20


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    frames._kept.clear()
    yield
    frames._kept.clear()


def place(buffer: memoryview) -> int:
    return int(np.frombuffer(buffer, np.uint8).ctypes.data)


def test_the_memory_of_a_buffer_is_that_of_the_next_one_as_soon_as_the_last_view_is_gone() -> None:
    buffer = frames.allocate(SIZE)
    first = place(buffer)
    column = np.ndarray(10, "int64", buffer[SIZE // 2 :])
    column[:] = 7
    del buffer
    other = frames.allocate(SIZE)
    assert place(other) != first
    other[:] = bytes(SIZE)
    assert column.tolist() == [7] * 10
    del column
    assert place(frames.allocate(SIZE - 5)) == first


def test_memory_that_does_not_fit_is_given_back() -> None:
    frames.allocate(SIZE)  # nobody uses it, so it is kept
    assert len(frames._kept) == 1
    too_small = frames.allocate(SIZE + 1)
    assert frames._kept == []
    del too_small
    frames.allocate(SIZE // 2)  # less than half of what is kept
    assert [len(kept) for kept in frames._kept] == [SIZE // 2]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MOST_KEPT", 2 * SIZE)
    buffers = [frames.allocate(SIZE) for _ in range(3)]
    assert all(len(buffer) == SIZE for buffer in buffers)
    del buffers
    assert len(frames._kept) == 2
