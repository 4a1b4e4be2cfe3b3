"""The supervisor of a loading process, which has imported the libraries, and of the workers forked from it.

A package can run any code when it is imported. So the loading process is confined like a worker, and before each fork
the supervisor checks it (`impurity`). It cannot change between check and fork: it waits in the system call that forks,
and the supervisor lets that call continue. All workers share its Landlock domain and its namespaces, except that each
is the first process of its own PID namespace. They are isolated from each other by means that do not depend on their
own behaviour:

- each has its own folder with a secret name, in a folder that no worker can list;
- the supervisor decides about signals to other processes and about changes of scheduling;
- nothing is shared: no descriptor, no writable memory, no folder of the loading process.

With Landlock, each worker also applies its own ruleset, which the supervisor has made. Then it cannot use the folder of
another worker even if it knows the name.

The link to the notebook brings a `Share` with five descriptors for each worker to fork. When it is closed, everything
is killed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import stat
import time
from collections.abc import Collection
from pathlib import Path

from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.confinement import kernel_features
from autocoder_jupyter.sandbox.local.confinement.kernel_features import ARRIVAL, call_number
from autocoder_jupyter.sandbox.local.confinement.notices import Judge, SystemCall, Verdict, process_of, status_of
from autocoder_jupyter.sandbox.local.confinement.process import CannotConfine, ConfinedProcess, start, tier_named
from autocoder_jupyter.sandbox.local.limits import Checks, WatchedWorker, WorkerBounds, is_readable
from autocoder_jupyter.sandbox.local.messages import (
    DESCRIPTORS,
    MESSAGE_BYTES,
    Arrival,
    Share,
    StartOrder,
    TreeEnding,
    report_to,
)
from autocoder_jupyter.sandbox.local.supervision import Supervision, release_streams
from autocoder_jupyter.sandbox.worker import removal
from autocoder_jupyter.sandbox.worker import start as forks

_CHECK_SECONDS = 1.0
_SECONDS_APART = 0.1
"""Longest time between the end of a worker and that of the first process of its PID namespace, which kills it."""

_FORK_FLAGS = (0x01200011, 0x11)
"""CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID and SIGCHLD, or SIGCHLD alone. They share nothing with the parent. With
namespaces, a worker also gets those of `APART`."""

_LAYERS = 2
"""Layers of Landlock: one of the loading process, and one of the worker, without which it could reach its siblings."""


def serve_forks(order: StartOrder, kernel: socket.socket, parent: int) -> None:
    """Start a loading process, and serve it and its workers until the notebook closes the link, or there was no worker
    for `idle_seconds`. Returns at once if it cannot be started.
    """
    tier = tier_named(order.policy.tier)
    with contextlib.suppress(CannotConfine, OSError):
        if tier.landlock and not kernel_features.landlock_has_room(_LAYERS):
            raise CannotConfine("there is no room for the layer of a worker")
        process = start(order.policy, tier, siblings=True)
        release_streams()
        Forks(process, parent, kernel, order).run()


class Forks(Supervision):
    """The loading process and its workers.

    Args:
        parent: see `Supervision`.
        kernel: see `serve_forks`.
        order: see `serve_forks`.
    """

    def __init__(self, process: ConfinedProcess, parent: int, kernel: socket.socket, order: StartOrder) -> None:
        super().__init__(process.listener, parent)
        self._kernel, self._order, self._pid = kernel, order, process.pid
        self._ended = os.pidfd_open(process.pid)
        policy = order.policy
        self._checks = Checks(WorkerBounds(policy.memory, policy.disk, policy.folder), process.pid)
        self._namespaced = tier_named(policy.tier).namespaces
        self._apart = forks.APART if self._namespaced else 0
        self._judge = Judge(process.pid, policy.processes, namespaced=self._namespaced)
        self._clone, self._arrival = map(call_number, ("clone", ARRIVAL))
        self._loaded = False
        self._fork: SystemCall | None = None  # the loading process waits in this call
        self._wanted: list[tuple[Share, list[int]]] = []
        self._coming: tuple[Share, list[int]] | None = None
        self._workers: dict[int, WatchedWorker] = {}
        self._free = list(order.folders)
        self._cleaners: dict[int, str] = {}
        self._since = self._looked = time.monotonic()

    def run(self) -> None:
        """See `Supervision`. Reports the end of the remaining workers."""
        super().run()
        for worker in self._workers.values():
            worker.end(TreeEnding(failed=True, text="The process that it was forked from has ended."))

    @property
    def watched(self) -> list[int]:
        """See `Supervision`."""
        return [self._kernel.fileno(), self._ended, *(each for w in self._workers.values() for each in w.watched)]

    @property
    def due(self) -> float:
        """See `Supervision`."""
        return min([self._own_due, *(worker.due for worker in self._workers.values())])

    @property
    def _own_due(self) -> float:
        return self._looked + _CHECK_SECONDS if self._loaded else self._checks.due

    def turn(self, woken: set[int]) -> bool:
        """See `Supervision`."""
        if not self._watch(woken):
            return False
        if self._kernel.fileno() in woken and not self._take_order():
            return False
        return self._check() and self._fork_next()

    def _watch(self, woken: set[int]) -> bool:
        """Check the workers. False if the loading process has ended; then its workers end, too."""
        for worker in list(self._workers.values()):
            if worker.has_ended and is_readable(self._ended, _SECONDS_APART):
                return False
            if ending := worker.turn(woken):
                self._end(worker, ending)
        return self._ended not in woken

    def _take_order(self) -> bool:
        """Receive the order of a worker. False if the notebook has closed the connection."""
        message, descriptors, _, _ = socket.recv_fds(self._kernel, MESSAGE_BYTES, DESCRIPTORS)
        if message:
            self._wanted.append((Share(**json.loads(message)), descriptors))
        return bool(message)

    def verdict(self, question: SystemCall) -> Verdict | None:
        """See `Supervision`."""
        process = process_of(question.caller)
        if process == self._pid:
            return self._of_the_loading_process(question)
        if question.call == self._clone and question.arguments[0] & forks.APART:
            return errno.EPERM, False
        if worker := self._worker_of(process):
            return worker.judge.verdict(question)
        if question.call == self._arrival and self._coming and _parent(process) == self._pid:
            if int(status_of(process, "CapEff")[0], 16):  # its new user namespace gave it some
                return errno.EPERM, False
            return self._arrived(question, process)
        return (errno.EPERM, False) if self._loaded else self._judge.verdict(question)

    def _of_the_loading_process(self, question: SystemCall) -> Verdict | None:
        """The answer to a call of the loading process; None if it must wait."""
        if self._loaded:
            if question.call == self._clone and question.arguments[0] & ~self._apart in _FORK_FLAGS:
                self._fork = question
                return None
            return errno.EPERM, False
        if question.call != self._arrival:
            return self._judge.verdict(question)
        self._loaded = removal.remove(self._order.policy.folder)
        return (0, False) if self._loaded else (errno.EPERM, False)

    def _worker_of(self, process: int) -> WatchedWorker | None:
        """The worker to which a process belongs."""
        while process > 1 and process not in self._workers:
            process = _parent(process)
        return self._workers.get(process)

    def _fork_next(self) -> bool:
        """Let the loading process fork the next worker, if it is ready. False if the check of it fails."""
        if self._coming and self._fork and not self._newborn():
            self._refuse("It was not forked, or ended at once.")
        if self._fork is None or self._coming or not self._wanted:
            return True
        if impurity(self._pid, self._workers):
            return False
        self._coming = self._wanted.pop(0)
        if not self._free:
            self._refuse("There is no folder for another worker.")
            return True
        fork, self._fork = self._fork, None
        if not self.listener.answer(fork, 0, continues=True):  # after a signal it repeats the call
            self._wanted.insert(0, self._coming)
            self._coming = None
        return True

    def _newborn(self) -> bool:
        """Whether a forked worker that has not reported yet is alive."""
        born = (pid for pid in process_tree.children(self._pid) if pid not in self._workers)
        return any(not process_tree.is_zombie(pid) for pid in born)

    def _arrived(self, question: SystemCall, pid: int) -> Verdict:
        assert self._coming is not None
        self._give_rules(question, self._free[-1])
        share, descriptors = self._coming
        *streams, lifeline, report = descriptors
        for number, stream in enumerate(streams):
            self.listener.give(question, stream, number)
        for stream in streams:
            os.close(stream)
        self._coming = None
        folder = self._free.pop()
        if share.cores:
            os.sched_setaffinity(pid, share.cores)
        judge = Judge(pid, share.processes, namespaced=self._namespaced, outside=[self._pid])
        checks = Checks(WorkerBounds(share.memory, share.disk, folder), pid)
        self._workers[pid] = WatchedWorker(pid, checks, share.share_of_core, judge, lifeline, report)
        report_to(report, Arrival(folder))
        return 0, False

    def _give_rules(self, question: SystemCall, folder: str) -> None:
        """Give a new worker the Landlock ruleset that it must apply, as descriptor `forks.RULES`."""
        policy = self._order.policy
        if not tier_named(policy.tier).landlock:
            return
        readable = [path for path in policy.readable if Path(path).exists()]  # an environment may have been removed
        _, rules = kernel_features.landlock_ruleset(readable, ["/dev/null", folder], network=policy.network)
        try:
            self.listener.give(question, rules, forks.RULES)
        finally:
            os.close(rules)

    def _refuse(self, why: str) -> None:
        assert self._coming is not None
        *streams, lifeline, report = self._coming[1]
        self._coming = None
        report_to(report, TreeEnding(failed=True, text=why))
        for descriptor in (*streams, lifeline, report):
            os.close(descriptor)

    def _end(self, worker: WatchedWorker, ending: TreeEnding) -> None:
        """Kill a worker with all its processes, report why, and empty its folder in a child process."""
        del self._workers[worker.pid]
        worker.kill()
        self._kill_strays()
        self._let_reap()
        worker.end(ending)
        self._since = time.monotonic()
        cleaner = os.fork()
        if cleaner == 0:
            os._exit(0 if removal.clear(worker.folder) else 1)
        self._cleaners[cleaner] = worker.folder

    def _let_reap(self) -> None:
        """Let the fork of the loading process fail. Then it reaps its dead children, and calls fork again."""
        if self._fork is not None and not self._coming:
            self.listener.answer(self._fork, errno.EAGAIN)
            self._fork = None

    def _check(self) -> bool:
        """Check limits, folders and strays if it is due. False if the supervisor must end."""
        now = time.monotonic()
        if now < self._own_due and not self._cleaners:
            return True
        self._looked = now
        self._take_back_folders()
        if not self._loaded:
            return self._checks.broken() is None
        if self._kill_strays():
            self._let_reap()
        busy = self._workers or self._wanted or self._coming
        return bool(busy) or now < self._since + self._order.idle_seconds

    def _take_back_folders(self) -> None:
        for cleaner, folder in list(self._cleaners.items()):
            pid, status = os.waitpid(cleaner, os.WNOHANG)
            if pid:
                del self._cleaners[cleaner]
                if status == 0:  # a folder that could not be emptied is not used again
                    self._free.append(folder)

    def _kill_strays(self) -> list[int]:
        """Kill the orphans of workers: unknown children of the supervisor and of the loading process."""
        if self._coming or not self._loaded:
            return []
        ours = {self._pid, *self._cleaners, *self._workers}
        below = (*process_tree.children(os.getpid()), *process_tree.children(self._pid))
        strays = [pid for pid in below if pid not in ours]
        for pid in strays:
            process_tree.kill_tree(pid)
        process_tree.reap_orphans(keep=self._pid, others=self._cleaners)
        return strays


def _parent(pid: int) -> int:
    """The parent of a process."""
    return int(process_tree.content(f"/proc/{pid}/stat").rpartition(b") ")[2].split()[1])


# Check before a fork
#
# The loading process is checked from outside, because a package may have changed it in any way. It waits in the system
# call that forks, so it cannot change between the check and the fork.


def impurity(pid: int, workers: Collection[int]) -> str:
    """What a worker must not inherit from the process, or what would connect its workers, in words; "" if nothing."""
    if len(process_tree.thread_ids(pid)) != 1:
        return "further threads"
    others = (child for child in process_tree.children(pid) if child not in workers)
    if any(not process_tree.is_zombie(child) for child in others):
        return "processes of its own"
    try:
        if not all(map(_is_null, Path(f"/proc/{pid}/fd").iterdir())):
            return "open files"
        maps = Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:
        return "entries in /proc that cannot be read"
    return "shared memory" if any(map(_is_shared, maps.splitlines())) else ""


def _is_null(descriptor: Path) -> bool:
    """Whether the descriptor is /dev/null."""
    status = descriptor.stat()
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == Path(os.devnull).stat().st_rdev


def _is_shared(mapping: bytes) -> bool:
    """Whether processes could exchange data through the mapping. A file that they cannot write does not count."""
    rights = mapping.split(maxsplit=2)[1]
    return rights[3:4] == b"s" and (rights[1:2] == b"w" or mapping.endswith(b" (deleted)"))
