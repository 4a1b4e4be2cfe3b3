"""The supervisor of a loading process and of the workers that are forked from it.

What a package does while it is imported is nobody's choice, so the loading process is held as a worker is, by the same
means, and before a worker is forked from it the supervisor looks whether it is as it must be (`loaded`). It cannot
act in between: it waits in the system call that forks, and the answer is the supervisor's. All workers are in its
Landlock domain and namespaces. What keeps them apart does not hang on what they do themselves:

- each has a folder of its own whose name only it was told, in one that nobody inside can list;
- a signal to another process, and a change of how one is scheduled, is asked of the supervisor;
- nothing is shared: no descriptor, no memory that can be written, no folder of the loading process.

Where there is Landlock, each also puts on a layer of its own when it arrives, whose rules the supervisor made: then the
name of another's folder would be of no use to it.

The kernel runs `main` in an isolated interpreter. Descriptor `link` is a socket: it brings the `Loading`, then a
`Share` with five descriptors for each worker that is wanted; its end means: kill everything.
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
from autocoder_jupyter.sandbox.local.confinement.listener import Listener, Question
from autocoder_jupyter.sandbox.local.confinement.notices import Judge, process_of
from autocoder_jupyter.sandbox.local.confinement.process import NotHeld, start_shared
from autocoder_jupyter.sandbox.local.confinement.tiers import tier_named
from autocoder_jupyter.sandbox.local.forked_worker import ForkedWorker, Share
from autocoder_jupyter.sandbox.local.loaded import impurity
from autocoder_jupyter.sandbox.local.supervisor import (
    WATCH_SECONDS,
    Bounds,
    Ending,
    Policy,
    broken_limit,
    release_streams,
    tell,
)
from autocoder_jupyter.sandbox.worker import forks, removal

_LOOK_SECONDS = 1.0
_SECONDS_APART = 0.1
"""The first process of a namespace ends after all others, which it takes along."""

_MESSAGE = 1 << 20
_FORK_FLAGS = (0x01200011, 0x11)
"""CLONE_CHILD_SETTID, CLONE_CHILD_CLEARTID and SIGCHLD, or the last alone: nothing is shared with the parent."""


@dataclass(frozen=True)
class Loading:
    """What is loaded.

    Args:
        policy: of the loading process, as a worker's of whom nothing else is known. Its folder is removed when it has
            loaded.
        folder: holds its folder and those of the workers; removed at the end.
        folders: of the workers.
        idle_seconds: how long it outlives its last worker.
    """

    policy: Policy
    folder: str
    folders: list[str]
    idle_seconds: float


def main(link: int, lock: int) -> None:
    """Serve until the kernel lets go, or there was no worker for a while. Never returns."""
    parent = os.getppid()
    for descriptor in (link, lock):
        os.set_inheritable(descriptor, False)
    kernel = socket.socket(fileno=link)
    given = json.loads(kernel.recv(_MESSAGE))
    loading = Loading(Policy(**given.pop("policy")), **given)
    process_tree.adopt_orphans()
    with contextlib.suppress(NotHeld, OSError):
        pid, listener = start_shared(loading.policy, tier_named(loading.policy.tier))
        release_streams()
        _Supervision(kernel, parent, loading, pid, listener).run()
    process_tree.kill_descendants(os.getpid())
    removal.remove(loading.folder)
    os._exit(0)


class _Supervision:
    """The loading process, its workers, and what they ask."""

    def __init__(self, kernel: socket.socket, parent: int, loading: Loading, pid: int, listener: Listener) -> None:
        self._kernel, self._parent, self._loading = kernel, parent, loading
        self._pid, self._listener = pid, listener
        self._ended = os.pidfd_open(pid)
        policy = loading.policy
        self._bounds = Bounds(policy.memory, policy.disk, policy.folder)
        self._namespaced = tier_named(policy.tier).namespaces
        self._judge = Judge(pid, policy.processes, namespaced=self._namespaced)
        self._clone, self._arrival = map(call_number, ("clone", ARRIVAL))
        self._loaded = False
        self._fork: Question | None = None  # of the loading process, which waits for the answer
        self._wanted: list[tuple[Share, list[int]]] = []
        self._coming: tuple[Share, list[int]] | None = None
        self._workers: dict[int, ForkedWorker] = {}
        self._free = list(loading.folders)
        self._cleaners: dict[int, str] = {}
        self._since, self._looked = time.monotonic(), time.monotonic()

    def run(self) -> None:
        """Serve to the end."""
        while True:
            woken = self._wait()
            if os.getppid() != self._parent or not self._watch(woken):
                break
            if self._kernel.fileno() in woken and not self._take_order():
                break
            if self._listener.fileno() in woken:
                self._answer()
            if not self._look() or not self._go_on():
                break
        for worker in self._workers.values():
            worker.end(Ending(failed=True, text="The process that it was forked from has ended."))

    def _watch(self, woken: set[int]) -> bool:
        """Look at the workers; False when the loading process has ended, as which its workers then end too."""
        for worker in list(self._workers.values()):
            if worker.has_ended and _is_readable(self._ended, _SECONDS_APART):
                return False
            if ending := worker.turn(woken):
                self._end(worker, ending)
        return self._ended not in woken

    def _wait(self) -> set[int]:
        now = time.monotonic()
        watching = self._workers.values()
        due = min([self._looked + (_LOOK_SECONDS if self._loaded else WATCH_SECONDS), *(w.due for w in watching)])
        poll = select.poll()
        for descriptor in (self._kernel.fileno(), self._listener.fileno(), self._ended):
            poll.register(descriptor, select.POLLIN)
        for descriptor in (descriptor for worker in watching for descriptor in worker.watched):
            poll.register(descriptor, select.POLLIN)
        return {descriptor for descriptor, _ in poll.poll(max(due - now, 0.0) * 1000)}

    def _take_order(self) -> bool:
        """A worker that is wanted; False when the kernel has let go."""
        said, descriptors, _, _ = socket.recv_fds(self._kernel, _MESSAGE, 5)
        if said:
            self._wanted.append((Share(**json.loads(said)), descriptors))
        return bool(said)

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
            self._listener.answer(question, verdict[0], goes_on=verdict[1])

    def _of_the_loading_process(self, question: Question) -> tuple[int, bool] | None:
        """None when it has to wait."""
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
        """The worker that a process belongs to."""
        while process > 1 and process not in self._workers:
            process = _parent(process)
        return self._workers.get(process)

    def _go_on(self) -> bool:
        """Have the next worker forked, when all is ready; False when the loading process is not as it must be."""
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
        if not self._listener.answer(fork, 0, goes_on=True):  # a signal made it ask once more
            self._wanted.insert(0, self._coming)
            self._coming = None
        return True

    def _newborn(self) -> bool:
        """Whether a forked worker that has not reported yet is alive."""
        born = (pid for pid in process_tree.children(self._pid) if pid not in self._workers)
        return any(not process_tree.is_zombie(pid) for pid in born)

    def _arrived(self, question: Question, pid: int) -> tuple[int, bool]:
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

    def _give_rules(self, question: Question, folder: str) -> None:
        """The rules of the layer that it puts on, as the descriptor behind its streams."""
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
        tell(report, Ending(failed=True, text=why))
        for descriptor in (*streams, lifeline, report):
            os.close(descriptor)

    def _end(self, worker: ForkedWorker, ending: Ending) -> None:
        """Kill a worker with all that came from it, say why, and empty its folder in a process of its own."""
        del self._workers[worker.pid]
        worker.kill()
        self._kill_strays()
        self._have_dead_collected()
        worker.end(ending)
        self._since = time.monotonic()
        cleaner = os.fork()
        if cleaner == 0:
            os._exit(0 if removal.clear(worker.folder) else 1)
        self._cleaners[cleaner] = worker.folder

    def _have_dead_collected(self) -> None:
        """Let the loading process go once around: its fork fails, it collects its dead children, and asks again."""
        if self._fork is not None and not self._coming:
            self._listener.answer(self._fork, errno.EAGAIN)
            self._fork = None

    def _look(self) -> bool:
        """What is looked at now and then; False when it is time to end."""
        now = time.monotonic()
        if now < self._looked + (_LOOK_SECONDS if self._loaded else WATCH_SECONDS) and not self._cleaners:
            return True
        self._looked = now
        self._take_back_folders()
        if not self._loaded:
            return broken_limit(self._bounds, self._pid, with_disk=True) is None
        if self._kill_strays():
            self._have_dead_collected()
        busy = self._workers or self._wanted or self._coming
        return bool(busy) or now < self._since + self._loading.idle_seconds

    def _take_back_folders(self) -> None:
        for cleaner, folder in list(self._cleaners.items()):
            pid, status = os.waitpid(cleaner, os.WNOHANG)
            if pid:
                del self._cleaners[cleaner]
                if status == 0:  # a folder that cannot be emptied is not used again
                    self._free.append(folder)

    def _kill_strays(self) -> list[int]:
        """Kill what came from a worker and lost its parent: the children of these two that are nothing else."""
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
    """The process that a process is a child of.

    Raises:
        OSError: it is gone.
    """
    return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()[1])
