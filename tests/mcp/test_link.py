"""What becomes of a request when its kernel is started again, of which the channel knows nothing."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from autocoder_jupyter.mcp import link
from autocoder_jupyter.mcp.link import KernelLink, Unanswered


class Restarted(KernelLink):
    """A kernel that was started again while it worked: it lives and answers, but not what was asked before."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count()
        self._replies: list[Mapping[str, Any]] = []

    async def _send(self, kind: str, content: Mapping[str, Any]) -> str:
        identity = str(next(self._numbers))
        if kind == "kernel_info_request":
            self._replies.append({"parent_header": {"msg_id": identity}, "content": {"status": "ok"}})
        return identity

    async def _receive(self, seconds: float) -> Mapping[str, Any] | None:
        if self._replies:
            return self._replies.pop()
        await asyncio.sleep(seconds)
        return None

    async def _is_alive(self) -> bool:
        return True


def test_a_request_ends_with_the_kernel_that_had_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "ALIVE_SECONDS", 0.01)

    async def ask() -> None:
        async with asyncio.timeout(10):
            await Restarted().ask({})

    with pytest.raises(Unanswered, match="The kernel has ended"):
        asyncio.run(ask())
