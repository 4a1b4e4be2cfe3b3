"""The supervisor of a loading process and of the workers that are forked from it.

A package can run any code when it is imported. So the loading process is confined like a worker, and before each fork
the supervisor checks it (`loaded`). It cannot change between check and fork: it waits in the system call that forks,
and the supervisor lets that call continue. All workers share its Landlock domain and namespaces. They are isolated from
each other by means that do not depend on their own behaviour:

- each has its own folder with a secret name, in a folder that no worker can list;
- the supervisor decides about signals to other processes and about changes of scheduling;
- nothing is shared: no descriptor, no writable memory, no folder of the loading process.

With Landlock, each worker also applies its own ruleset, which the supervisor has made. Then it cannot use the folder of
another worker even if it knows the name.

The notebook's kernel runs `main` in an isolated interpreter. Descriptor `link` is a socket: it receives the `Loading`,
then a `Share` with five descriptors for each worker to fork. When it is closed, everything is killed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.confinement import landlock
from autocoder_jupyter.sandbox.local.confinement.filters import ARRIVAL
from autocoder_jupyter.sandbox.local.confinement.kernel import call_number
from autocoder_jupyter.sandbox.local.confinement.listener import SystemCall, SystemCallListener
from autocoder_jupyter.sandbox.local.confinement.notices import Judge, process_of
from autocoder_jupyter.sandbox.local.confinement.process import CannotConfine, start_shared
from autocoder_jupyter.sandbox.local.confinement.tiers import tier_named
from autocoder_jupyter.sandbox.local.forked_worker import ForkedWorker, Share
from autocoder_jupyter.sandbox.local.loaded import impurity
from autocoder_jupyter.sandbox.local.supervisor import (
    DISK_EVERY,
    WATCH_SECONDS,
    Policy,
    TreeEnding,
    WorkerBounds,
    broken_limit,
    counted_from,
    release_streams,
    tell,
)
from autocoder_jupyter.sandbox.worker import forks, removal

_CHECK_SECONDS = 1.0
_SECONDS_APART = 0.1
"""Longest time between the end of a worker and that of the first process of its PID namespace, which kills it."""

_MESSAGE = 1 << 20
_FORK_FLAGS = (0x01200011, 0x11)
"""CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID and SIGCHLD, or SIGCHLD alone. They share nothing with the parent."""


_LAYERS = 2
"""Layers of Landlock: one of the loading process, and one of the worker, without which it could reach its siblings."""


@dataclass(frozen=True)
class Loading:
    """The first message: how to start the loading process.

    Args:
        policy: of the loading process. Its folder is removed when the libraries are loaded.
        folder: has its folder and those of the workers; it is removed at the end.
        folders: the folders of the workers.
        idle_seconds: how long it stays after its last worker has ended.
    """

    policy: Policy
    folder: str
    folders: list[str]
    idle_seconds: float


def main(link: int, lock: int) -> None:
    """Serve until the notebook closes `link`, or there was no worker for `idle_seconds`. Never returns.

    Args:
        link: descriptor of the socket to the notebook.
        lock: descriptor of the lock on the folder.
    """
    parent = os.getppid()
    for descriptor in (link, lock):
        os.set_inheritable(descriptor, False)
    kernel = socket.socket(fileno=link)
    given = json.loads(kernel.recv(_MESSAGE))
    loading = Loading(Policy(**given.pop("policy")), **given)
    process_tree.adopt_orphans()
    tier = tier_named(loading.policy.tier)
    with contextlib.suppress(CannotConfine, OSError):
        if tier.landlock and not landlock.room_for(_LAYERS):
            raise CannotConfine("there is no room for the layer of a worker")
        pid, listener = start_shared(loading.policy, tier)
        release_streams()
        _Supervision(kernel, parent, loading, pid, listener).run()
    process_tree.kill_descendants(os.getpid())
    removal.remove(loading.folder)
    os._exit(0)


class _Supervision:
    """The loading process, its workers, and the system calls about which the supervisor decides."""

    def __init__(
        self, kernel: socket.socket, parent: int, loading: Loading, pid: int, listener: SystemCallListener
    ) -> None:
        self._kernel, self._parent, self._loading = kernel, parent, loading
        self._pid, self._listener = pid, listener
        self._ended = os.pidfd_open(pid)
        policy = loading.policy
        self._bounds = WorkerBounds(policy.memory, policy.disk, policy.folder)
        self._namespaced = tier_named(policy.tier).namespaces
        self._judge = Judge(pid, policy.processes, namespaced=self._namespaced)
        self._clone, self._arrival = map(call_number, ("clone", ARRIVAL))
        self._loaded = False
        self._fork: SystemCall | None = None  # the loading process waits in this call
        self._wanted: list[tuple[Share, list[int]]] = []
        self._coming: tuple[Share, list[int]] | None = None
        self._workers: dict[int, ForkedWorker] = {}
        self._free = list(loading.folders)
        self._cleaners: dict[int, str] = {}
        self._looks, self._looked = 0, time.monotonic()
        self._since = self._looked

    def run(self) -> None:
        """Serve until the end."""
        while True:
            woken = self._wait()
            if os.getppid() != self._parent or not self._watch(woken):
                break
            if self._kernel.fileno() in woken and not self._take_order():
                break
            if self._listener.fileno() in woken:
                self._answer()
            if not self._check() or not self._fork_next():
                break
        for worker in self._workers.values():
            worker.end(TreeEnding(failed=True, text="The process that it was forked from has ended."))

    def _watch(self, woken: set[int]) -> bool:
        """Check the workers. False if the loading process has ended; then its workers end, too."""
        for worker in list(self._workers.values()):
            if worker.has_ended and _is_readable(self._ended, _SECONDS_APART):
                return False
            if ending := worker.turn(woken):
                self._end(worker, ending)
        return self._ended not in woken

    def _wait(self) -> set[int]:
        now = time.monotonic()
        watching = self._workers.values()
        due = min([self._looked + (_CHECK_SECONDS if self._loaded else WATCH_SECONDS), *(w.due for w in watching)])
        poll = select.poll()
        for descriptor in (self._kernel.fileno(), self._listener.fileno(), self._ended):
            poll.register(descriptor, select.POLLIN)
        for descriptor in (descriptor for worker in watching for descriptor in worker.watched):
            poll.register(descriptor, select.POLLIN)
        return {descriptor for descriptor, _ in poll.poll(max(due - now, 0.0) * 1000)}

    def _take_order(self) -> bool:
        """Receive the order of a worker. False if the notebook has closed the connection."""
        message, descriptors, _, _ = socket.recv_fds(self._kernel, _MESSAGE, 5)
        if message:
            self._wanted.append((Share(**json.loads(message)), descriptors))
        return bool(message)

    def _answer(self) -> None:
        question = self._listener.receive()
        if question is None:
            return
        try:
            process = process_of(question.caller)
            if process == self._pid:
                verdict = self._of_the_loading_process(question)
            elif worker := self._worker_of(process):
                verdict = worker.judge.verdict(question)
            elif question.call == self._arrival and self._coming and _parent(process) == self._pid:
                verdict = self._arrived(question, process)
            else:
                verdict = (errno.EPERM, False) if self._loaded else self._judge.verdict(question)
        except OSError as error:
            verdict = error.errno or errno.EPERM, False
        if verdict is not None:
            self._listener.answer(question, verdict[0], continues=verdict[1])

    def _of_the_loading_process(self, question: SystemCall) -> tuple[int, bool] | None:
        """The answer to a call of the loading process; None if it must wait."""
        if self._loaded:
            if question.call == self._clone and question.arguments[0] in _FORK_FLAGS:
                self._fork = question
                return None
            return errno.EPERM, False
        if question.call != self._arrival:
            return self._judge.verdict(question)
        self._loaded = removal.remove(self._loading.policy.folder)
        return (0, False) if self._loaded else (errno.EPERM, False)

    def _worker_of(self, process: int) -> ForkedWorker | None:
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
        if not self._listener.answer(fork, 0, continues=True):  # after a signal it repeats the call
            self._wanted.insert(0, self._coming)
            self._coming = None
        return True

    def _newborn(self) -> bool:
        """Whether a forked worker that has not reported yet is alive."""
        born = (pid for pid in process_tree.children(self._pid) if pid not in self._workers)
        return any(not process_tree.is_zombie(pid) for pid in born)

    def _arrived(self, question: SystemCall, pid: int) -> tuple[int, bool]:
        assert self._coming is not None
        self._give_rules(question, self._free[-1])
        share, descriptors = self._coming
        *streams, lifeline, report = descriptors
        for number, stream in enumerate(streams):
            self._listener.give(question, stream, number)
        for stream in streams:
            os.close(stream)
        self._coming = None
        folder = self._free.pop()
        judge = Judge(pid, share.processes, namespaced=self._namespaced, outside=[self._pid])
        self._workers[pid] = ForkedWorker(pid, share, folder, judge, lifeline, report)
        return 0, False

    def _give_rules(self, question: SystemCall, folder: str) -> None:
        """Give a new worker the Landlock ruleset that it must apply, as descriptor `forks.RULES`."""
        policy = self._loading.policy
        if not tier_named(policy.tier).landlock:
            return
        readable = [path for path in policy.readable if Path(path).exists()]  # an environment may have been removed
        _, rules = landlock.rule_set(readable, ["/dev/null", folder], network=policy.network)
        try:
            self._listener.give(question, rules, forks.RULES)
        finally:
            os.close(rules)

    def _refuse(self, why: str) -> None:
        assert self._coming is not None
        *streams, lifeline, report = self._coming[1]
        self._coming = None
        tell(report, TreeEnding(failed=True, text=why))
        for descriptor in (*streams, lifeline, report):
            os.close(descriptor)

    def _end(self, worker: ForkedWorker, ending: TreeEnding) -> None:
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
            self._listener.answer(self._fork, errno.EAGAIN)
            self._fork = None

    def _check(self) -> bool:
        """Check limits, folders and strays if it is due. False if the supervisor must end."""
        now = time.monotonic()
        if now < self._looked + (_CHECK_SECONDS if self._loaded else WATCH_SECONDS) and not self._cleaners:
            return True
        self._looked = now
        self._take_back_folders()
        if not self._loaded:
            self._looks += 1
            broken = broken_limit(self._bounds, self._pid, with_disk=self._looks % DISK_EVERY == 0)
            self._looked = counted_from(now)
            return broken is None
        if self._kill_strays():
            self._let_reap()
        busy = self._workers or self._wanted or self._coming
        return bool(busy) or now < self._since + self._loading.idle_seconds

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


def _is_readable(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _parent(pid: int) -> int:
    """The parent of a process.

    Raises:
        OSError: the process has ended.
    """
    return int(process_tree.content(f"/proc/{pid}/stat").rpartition(b") ")[2].split()[1])
