"""The limits of a program of code mode: memory, time, depth, calls."""

from __future__ import annotations

from dataclasses import dataclass

from autocoder_jupyter.settings import parameters as check

LEAST_MEMORY = 16 * 2**20
"""Bytes. The interpreter of the sandbox does not start with much less."""


@dataclass(frozen=True)
class Limits:
    """The limits of one sandbox, and of one conversation turn with its program.

    Args:
        memory: the memory of the program's values, in bytes or as a quantity such as `"256Mi"`.
        seconds: of computing in one block. Time in which the program waits for tools does not count.
        depth: of calls of functions in each other.
        calls: of tools, in one `run`.
        steps: requests of one run's programs to the notebook: tool calls, operations on frames, reading a name.
        tables: memory of all tables that operations on frames make in one run; they are in the notebook's process.
        observation: characters of what a block printed and gave that the model is told; beginning and end are kept.

    Raises:
        InvalidRequest: a limit that is none.
    """

    memory: int | str = "256Mi"
    seconds: float = 10.0
    depth: int = 200
    calls: int = 200
    steps: int = 20_000
    tables: int | str = "2Gi"
    observation: int = 8_000

    def __post_init__(self) -> None:
        check.positive("limits.seconds", self.seconds)
        for name, least in (("depth", 10), ("calls", 1), ("steps", 10), ("observation", 200)):
            check.count(f"limits.{name}", getattr(self, name), least=least)
        check.count("limits.memory", self.bytes, least=LEAST_MEMORY)
        check.count("limits.tables", self.table_bytes, least=1)

    @property
    def bytes(self) -> int:
        """`memory` as a number."""
        return check.memory("limits.memory", self.memory)

    @property
    def crossing(self) -> int:
        """Bytes that one value may take in the sandbox when it comes in; more of them could end its process."""
        return self.bytes // 4

    @property
    def table_bytes(self) -> int:
        """`tables` as a number."""
        return check.memory("limits.tables", self.tables)
