"""The messages between the notebook and a supervisor about workers, as lines of JSON and single bytes."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from autocoder_jupyter.sandbox.local.confinement.process import Confinement
from autocoder_jupyter.sandbox.local.control_groups import ControlGroup

ALONE, FORKS = "alone", "forks"
"""What a supervisor serves, in its command line: one worker, or a loading process and the workers forked from it."""

MESSAGE_BYTES = 1 << 20
"""Most bytes of a message to a supervisor."""

DESCRIPTORS = 5
"""Most descriptors with a message: the three streams of a worker, its lifeline and its report."""

AT_WORK, AT_REST = b"+", b"-"
"""The bytes that the notebook sends over the lifeline."""


@dataclass(frozen=True)
class Policy(Confinement):
    """How a worker is started, confined and limited. Its `folder` is removed at the end.

    Args:
        memory: bytes of the whole tree.
        disk: bytes in `folder`.
        share_of_core: percent of one core, if it may use less than one.
        tier: name of the `confinement` tier.
        group: folder of the control group in which the worker's is created; "" if the supervisor watches memory and
            processes.
    """

    memory: int
    disk: int
    share_of_core: int | None
    tier: str
    group: str = ""

    def control_group(self) -> ControlGroup | None:
        """The worker's control group, which has the name of its folder; None if it has none."""
        return ControlGroup(self.group, Path(self.folder).name) if self.group else None


@dataclass(frozen=True)
class Share:
    """The limits of a worker that is forked.

    Args:
        memory: bytes.
        disk: bytes in its folder.
        cores: numbers of the CPU cores; all if empty.
        share_of_core: percent of one core, if it may use less than one.
    """

    memory: int
    disk: int
    processes: int
    cores: list[int]
    share_of_core: int | None


@dataclass(frozen=True)
class StartOrder:
    """The first message to a supervisor: the process to start.

    Args:
        folders: of the workers to fork from a loading process; empty if the process is itself the worker.
        idle_seconds: how long a loading process stays after its last worker has ended.
    """

    policy: Policy
    folder: str
    folders: list[str]
    idle_seconds: float = 0.0

    @classmethod
    def read(cls, message: bytes) -> StartOrder:
        """Read it from JSON."""
        facts = json.loads(message)
        return cls(Policy(**facts.pop("policy")), **facts)


@dataclass(frozen=True)
class Arrival:
    """The first report about a worker: it was forked, and `folder` is its folder."""

    folder: str


@dataclass(frozen=True)
class TreeEnding:
    """Why the tree ended.

    Args:
        limit: "memory", "disk" or "files" if it was killed because of this limit.
        signal: the signal that ended the worker's first process, if any.
        exit_code: of that process, if it exited.
    """

    limit: str = ""
    signal: int | None = None
    exit_code: int | None = None
    text: str = ""
    failed: bool = False


def report_to(descriptor: int, what: Arrival | TreeEnding) -> None:
    """Write a report about a worker. The notebook may have closed its end."""
    with contextlib.suppress(BrokenPipeError):
        os.write(descriptor, json.dumps(asdict(what)).encode() + b"\n")
