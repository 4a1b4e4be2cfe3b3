"""The supervisor of one local worker: a small process of its own between the notebook and the sandboxed program.

It exists so that sandlock's native threads live outside the kernel, and so that the end of the kernel, however it
comes, ends the whole tree. The kernel runs `main` in an isolated interpreter:

- its standard streams are the worker's, and are handed on;
- descriptor `lifeline` brings the policy as one line of JSON, then a byte whenever the worker gets a request or is done
  with it; its end means: kill everything;
- descriptor `report` takes one line of JSON, the `Ending`;
- descriptor `claim` holds the lock on the worker's folder, which says that somebody needs it.

A parent-death signal would not do in place of the lifeline: Linux sends it when the *thread* that started the process
ends, and sandboxes are started from short-lived threads.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autocoder_jupyter.sandbox import process_tree
from autocoder_jupyter.sandbox.worker import removal

WATCH_SECONDS = 0.05
"""How often memory, processes and threads are looked at while a program may run."""

REST_SECONDS = 1.0
"""And while none does. Looking costs a few percent of a core, and a notebook keeps a worker for each of its results."""

AT_WORK, AT_REST = b"+", b"-"
"""What the notebook says over the lifeline."""

DISK_EVERY = 4
"""Files are counted at every so manieth look, because counting them takes longer."""

MOST_FILES = 20_000
"""Files and folders that one worker may have at a time.

A removed file that only a mapping keeps has a size that cannot be found out. It counts as half of what the disk may
hold: a single one does no harm, and no more than that one goes uncounted.
"""


@dataclass(frozen=True)
class Policy:
    """What the worker is and what it may do. Sizes are bytes.

    Args:
        command: the worker's command line.
        environment: all of its environment variables.
        folder: its private temporary folder, the only one it may write; removed at the end.
        readable: files and folders that it may read.
        writable: files beside the folder that it may write.
        network: whether it may connect to the internet.
        processes: processes and threads at most.
        memory: of the whole tree.
        disk: under `folder`.
        cores: numbers of the CPU cores to run on.
        share_of_core: percent of one core, when it is to have less than one.
    """

    command: list[str]
    environment: dict[str, str]
    folder: str
    readable: list[str]
    writable: list[str]
    network: bool
    processes: int
    memory: int
    disk: int
    cores: list[int]
    share_of_core: int | None


@dataclass(frozen=True)
class Ending:
    """Why the tree ended.

    Args:
        limit: "memory", "disk", "files" or "processes" when the supervisor killed it for that.
        signal: that ended the worker's first process.
        exit_code: of that process, when it ended by itself.
        text: for a person.
        failed: the sandbox could not start the worker.
    """

    limit: str = ""
    signal: int | None = None
    exit_code: int | None = None
    text: str = ""
    failed: bool = False


def main(lifeline: int, report: int, claim: int) -> None:
    """Run one worker from beginning to end. Never returns."""
    parent = os.getppid()
    for descriptor in (lifeline, report, claim):
        os.set_inheritable(descriptor, False)
    policy = Policy(**json.loads(_read_line(lifeline)))
    process_tree.adopt_orphans()
    process_tree.drop_capabilities()
    try:
        worker = _start(policy)
    except Exception as error:
        ending = Ending(failed=True, text=f"sandlock could not start the worker: {error}")
    else:
        _release_streams()
        ending = _watch(worker, policy, lifeline, parent)
    process_tree.kill_descendants(os.getpid())
    _tell(report, ending)
    removal.remove(policy.folder)
    # sandlock's threads are not ours to join.
    os._exit(0)


def _start(policy: Policy) -> Any:
    from sandlock import Sandbox

    sandbox = Sandbox(
        fs_readable=policy.readable,
        fs_writable=[policy.folder, *policy.writable],
        net_allow=["tcp://*:*", "udp://*:*"] if policy.network else [],
        # Its limit of memory is left out: it counts what forked children share with their parent once for each.
        max_processes=policy.processes,
        cpu_cores=policy.cores,
        max_cpu=policy.share_of_core,
        # Memory files are no files of a folder and, unmapped, in nobody's resident size: nothing would count them.
        extra_deny_syscalls=["memfd_create"],
        no_coredump=True,
        clean_env=True,
        env=policy.environment,
        cwd=policy.folder,
    )
    return sandbox.popen(policy.command)


def _release_streams() -> None:
    """Let go of the worker's streams, so that their other ends see when the worker closes them."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def _watch(worker: Any, policy: Policy, lifeline: int, parent: int) -> Ending:
    """Wait until the worker ends by itself, breaks a limit, or nobody needs it any more."""
    ended, ended_signal = os.pipe()
    results: list[Any] = []

    def wait() -> None:
        results.append(worker.wait())
        os.write(ended_signal, b".")

    pid = worker.pid
    threading.Thread(target=wait, daemon=True).start()
    poll = select.poll()
    poll.register(lifeline, select.POLLIN | select.POLLHUP)
    poll.register(ended, select.POLLIN)
    looks, at_work, looked = 0, True, time.monotonic()
    while True:
        due = looked + (WATCH_SECONDS if at_work else REST_SECONDS)
        woken = {descriptor for descriptor, _ in poll.poll(max(due - time.monotonic(), 0) * 1000)}
        if ended in woken:
            return _ending(results[0])
        said = os.read(lifeline, 4096) if lifeline in woken else b""
        if (lifeline in woken and not said) or os.getppid() != parent:
            return Ending(text="the notebook let go of the worker")
        if said:
            at_work = said.endswith(AT_WORK)
            continue
        looks, looked = looks + 1, time.monotonic()
        if broken := _broken_limit(policy, with_disk=looks % DISK_EVERY == 0):
            return broken
        process_tree.reap_orphans(keep=pid)


def _broken_limit(policy: Policy, *, with_disk: bool) -> Ending | None:
    """The limit that the tree is over. The words name the limit and not the use, which is never twice the same."""
    pids = process_tree.descendants(os.getpid())
    if process_tree.memory(pids, policy.memory) > policy.memory:
        return Ending("memory", text=f"It used more than {_megabytes(policy.memory)} of memory.")
    if process_tree.threads(pids) > policy.processes:
        return Ending("processes", text=f"It had more than {policy.processes} processes and threads.")
    if not with_disk:
        return None
    use = process_tree.disk(Path(policy.folder), pids, MOST_FILES)
    if use.bytes + use.unmeasured * policy.disk // 2 > policy.disk:
        return Ending("disk", text=f"It wrote more than {_megabytes(policy.disk)} of files.")
    if use.entries > MOST_FILES:
        return Ending("files", text=f"It made more than {MOST_FILES} files.")
    if use.hidden:
        return Ending("files", text="It made folders that are closed, or deeper than any path reaches.")
    return None


def _ending(result: Any) -> Ending:
    signal = result.signal if result.signal is not None and result.signal > 0 else None
    if signal is None and result.exit_code < 0:
        return Ending(signal=9, text="the worker was killed")
    return Ending(signal=signal, exit_code=result.exit_code if signal is None else None)


def _megabytes(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


def _tell(report: int, ending: Ending) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(report, json.dumps(asdict(ending)).encode() + b"\n")


def _read_line(descriptor: int) -> bytes:
    """The first line; that the worker has its first request may have been said behind it already."""
    text = b""
    while b"\n" not in text:
        piece = os.read(descriptor, 65536)
        if not piece:
            raise SystemExit("no policy")
        text += piece
    return text.partition(b"\n")[0]
