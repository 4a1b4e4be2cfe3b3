"""Small values are encoded and decoded one at a time; large ones, and values of unknown size, side by side."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import codec
from autocoder_jupyter.sandbox.host import replies
from autocoder_jupyter.sandbox.host.packing import pack_arguments
from autocoder_jupyter.sandbox.host.replies import receive
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import InputSpec, TypeName

SMALL, LARGE = pd.DataFrame({"a": [1.5]}), pd.DataFrame({"a": range(150_000)}, dtype="float64")


def side_by_side(monkeypatch: pytest.MonkeyPatch, name: str, work: Callable[[], object], *, expected: bool) -> bool:
    """Whether two threads that do `work` are in this function of the codec at the same time."""
    both = threading.Barrier(2)
    real: Any = getattr(codec, name)
    met = []

    def meet(*arguments: Any, **keywords: Any) -> Any:
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(10 if expected else 0.05)
            met.append(True)
        return real(*arguments, **keywords)

    monkeypatch.setattr(codec, name, meet)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return bool(met)


@pytest.mark.parametrize(
    ("value", "kind", "expected"), [(SMALL, "DataFrame", False), (LARGE, "DataFrame", True), ("text", "str", True)]
)
def test_encoding(monkeypatch: pytest.MonkeyPatch, value: Any, kind: TypeName, expected: bool) -> None:
    program = Program(code="", inputs=(InputSpec(name="x", type=kind),), outputs=())
    assert (
        side_by_side(monkeypatch, "encode", lambda: pack_arguments(program, {"x": value}), expected=expected)
        == expected
    )


@pytest.mark.parametrize(("value", "expected"), [(SMALL, False), (LARGE, True)])
def test_decoding(monkeypatch: pytest.MonkeyPatch, value: Any, expected: bool) -> None:
    encoded = codec.encode(value, "DataFrame")
    payload = b"".join(encoded.buffers)

    def work() -> None:
        receive(encoded.header, memoryview(bytearray(payload)), trusted=False)

    assert side_by_side(monkeypatch, "decode", work, expected=expected) == expected


def test_a_turn_that_does_not_come_is_not_waited_for() -> None:
    """A user's object calls a function on another thread, and waits for it, while its table is encoded."""
    program = Program(code="", inputs=(InputSpec(name="x", type="DataFrame"),), outputs=())
    with replies.encoding_turn(SMALL):
        thread = threading.Thread(target=lambda: pack_arguments(program, {"x": SMALL}))
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
