"""If a call is cancelled while its environment is built, the build ends too."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from autocoder_jupyter.calls import runtime as runtime_module
from autocoder_jupyter.calls.call import call
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.sandbox.protocol import BuildWatch, Environment, EnvironmentSpec


class EndlessSandbox:
    name = "local"

    def __init__(self) -> None:
        self.began = threading.Event()
        self.ended = threading.Event()

    def build(self, spec: EnvironmentSpec, *, watch: BuildWatch, **_: object) -> Environment:
        over = threading.Event()
        try:
            with watch.token.on_cancel(over.set):
                self.began.set()
                over.wait(30)
        finally:
            self.ended.set()
        raise AssertionError("it was not stopped")


async def test_a_cancelled_call_ends_the_build_that_it_waits_for(
    function: Callable[..., Function], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = EndlessSandbox()
    runtime = runtime_module.Runtime(sandbox, None)  # type: ignore[arg-type]
    monkeypatch.setattr("autocoder_jupyter.calls.call.runtime_for", lambda *_, **__: runtime)
    calling: asyncio.Task[Any] = asyncio.create_task(
        call(function("def run():\n    return 1.0\n"), CallOptions(), [], {})
    )
    assert await asyncio.to_thread(sandbox.began.wait, 60)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert await asyncio.to_thread(sandbox.ended.wait, 60)
