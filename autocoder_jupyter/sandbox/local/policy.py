"""The policy of a local worker as plain data: what it may read, write and use."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from autocoder_jupyter.sandbox.host.cores import free_cores
from autocoder_jupyter.sandbox.local.confinement.tiers import TierName
from autocoder_jupyter.sandbox.local.messages import Policy
from autocoder_jupyter.sandbox.protocol import WorkerLimits

_SYSTEM = (
    *("/usr", "/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
    *("/dev/urandom", "/dev/random"),  # not /dev/zero: a mapping of it is shared memory that is not counted
)
_NETWORK = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services"),
    *("/etc/ssl", "/etc/pki", "/etc/ca-certificates"),
)
_INTERPRETER_PARTS = ("bin", "lib", "lib64", "share")
"""The readable folders in the prefix of an interpreter. The prefix itself may be a home folder."""

_turn = itertools.count(os.getpid())


def worker_policy(
    command: Sequence[str],
    folder: Path,
    *,
    prefixes: Iterable[str],
    packages: Iterable[str],
    limits: WorkerLimits,
    cores: Sequence[int],
    network: bool,
    tier: TierName,
    group: str = "",
) -> Policy:
    """The policy of one worker.

    Args:
        command: its command line.
        folder: the folder in which it may write.
        prefixes: the prefixes of its interpreter.
        packages: the folders of its environment.
        limits: of the worker.
        cores: the numbers of its cores; see `cores_of`.
        network: whether it may connect to the internet.
        tier: the tier that confines it.
        group: folder of the control group in which its own is created; "" for none.
    """
    interpreter = [str(Path(prefix, part)) for prefix in prefixes for part in _INTERPRETER_PARTS]
    wanted = [*_SYSTEM, *(_NETWORK if network else ()), *interpreter, *packages]
    return Policy(
        command=list(command),
        environment=_variables(folder),
        folder=str(folder),
        readable=[path for path in dict.fromkeys(wanted) if Path(path).exists()],
        writable=["/dev/null"],
        network=network,
        processes=limits.processes,
        memory=limits.memory,
        disk=limits.disk,
        cores=list(cores),
        share_of_core=share_of_core(limits.cpu),
        tier=tier,
        group=group,
    )


def _variables(folder: Path) -> dict[str, str]:
    """All environment variables of the worker. The time zone is UTC, as in a container."""
    home = str(folder)
    return {"PATH": "/usr/bin:/bin", "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def cores_of(cpu: float) -> list[int]:
    """The numbers of as many cores as `cpu` rounded up, if possible those on which no worker runs something.

    Each worker gets the next ones, so that the load is spread.
    """
    usable, free = sorted(os.sched_getaffinity(0)), free_cores()
    count = min(math.ceil(cpu), len(usable))
    among = free if len(free) >= count else usable
    first = next(_turn) * count
    return sorted(among[(first + offset) % len(among)] for offset in range(count))


def share_of_core(cpu: float) -> int | None:
    """Percent of one core if `cpu` is less than one, else None."""
    return max(int(cpu * 100), 1) if cpu < 1 else None
