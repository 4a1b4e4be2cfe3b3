"""The limits of a program of code mode: memory, time, depth, calls."""

from __future__ import annotations

from dataclasses import dataclass

from autocoder_jupyter.settings import parameters as check
from autocoder_jupyter.types.records import parse_memory

LEAST_MEMORY = 16 * 2**20
"""Bytes. The interpreter of the sandbox does not start with much less."""


@dataclass(frozen=True)
class Limits:
    """The limits of one sandbox, and of one conversation turn with its program.

    Args:
        memory: the maximum memory of the program's values, in bytes or as a quantity such as `"256Mi"`.
        seconds: the maximum seconds of computation in one block. Waiting for tools does not count.
        depth: the maximum depth of nested function calls.
        calls: the maximum number of tool calls in one `run`.
        steps: the maximum number of requests of one run's programs to the notebook: tool calls, operations on frames,
            reads of a name.
        tables: the maximum memory of all tables that operations on frames make in one run, in the notebook's process.
        observation: the maximum number of characters of a block's output and value for the model. Longer texts are cut
            in the middle.
        table_seconds: the maximum seconds that all operations on frames take in one run, in the notebook's process. The
            run ends after the operation with which they are over.

    Raises:
        InvalidRequest: an invalid limit.
    """

    memory: int | str = "256Mi"
    seconds: float = 10.0
    depth: int = 200
    calls: int = 200
    steps: int = 20_000
    tables: int | str = "2Gi"
    observation: int = 8_000
    table_seconds: float = 300.0

    def __post_init__(self) -> None:
        check.positive("limits.seconds", self.seconds)
        check.positive("limits.table_seconds", self.table_seconds)
        for name, least in (("depth", 10), ("calls", 1), ("steps", 10), ("observation", 200)):
            check.count(f"limits.{name}", getattr(self, name), least=least)
        check.count("limits.memory", self.bytes, least=LEAST_MEMORY)
        check.count("limits.tables", self.table_bytes, least=1)

    @property
    def bytes(self) -> int:
        """`memory` in bytes."""
        return parse_memory(check.memory("limits.memory", self.memory))

    @property
    def crossing(self) -> int:
        """The maximum bytes of one value that is sent to the sandbox. A larger one could end its process."""
        return self.bytes // 4

    @property
    def table_bytes(self) -> int:
        """`tables` in bytes."""
        return parse_memory(check.memory("limits.tables", self.tables))
