"""One kernel for many tests, because a start with the imports of a first generation takes longer than a test."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient

import autocoder_jupyter
from tests.magics.kernel import PATIENCE, Kernel

SOURCES = {"PYTHONPATH": str(Path(autocoder_jupyter.__file__).parents[1])}
"""Folders with this package and the tests, for a kernel in which they are not installed."""


class WarmKernel:
    """Provides a kernel that looks new. Starts another if a test broke the previous one.

    Args:
        home: its folder between two tests.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._idle: Kernel | None = None

    def close(self) -> None:
        """End it."""
        if self._idle is not None:
            self._idle.close()

    @contextmanager
    def lent(self, folder: Path, env: Mapping[str, str]) -> Iterator[Kernel]:
        """A kernel in this folder with these environment variables. A test that leaves something in it fails."""
        kernel, self._idle = self._idle or Kernel(self._home, SOURCES), None
        ask(kernel.client, f"enter({str(folder)!r}, {dict(env)!r})")
        kernel.forget()
        yield kernel
        if not kernel.is_idle:
            kernel.close()
            return
        left = ask(kernel.client, "leave()")
        if left == []:
            self._idle = kernel
        else:
            kernel.close()
        assert left == [], f"This test left in its kernel: {left}"


def ask(client: BlockingKernelClient, call: str) -> Any:
    """The result of a function of `renewal` in a kernel, without a visible cell."""
    told = f"__import__('json').dumps(__import__('tests.magics.renewal', fromlist=['_']).{call})"
    content = _reply(client, told)
    while content["status"] == "aborted":  # as for all requests that wait behind an interrupted cell
        content = _reply(client, told)
    answer = content["user_expressions"]["told"]
    assert answer["status"] == "ok", "\n".join(answer.get("traceback", ()))
    return json.loads(ast.literal_eval(answer["data"]["text/plain"]))


def _reply(client: BlockingKernelClient, told: str) -> dict[str, Any]:
    message_id = client.execute("", silent=True, user_expressions={"told": told})
    while (reply := client.get_shell_msg(timeout=PATIENCE))["parent_header"].get("msg_id") != message_id:
        continue
    content: dict[str, Any] = reply["content"]
    return content
