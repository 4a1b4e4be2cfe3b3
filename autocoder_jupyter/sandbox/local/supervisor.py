"""The supervisor: a small process between the notebook and sandboxed programs.

It is needed for two reasons: the process that confines a worker must have one thread (`confinement`), and the whole
tree must end with the notebook's kernel, also after a crash. The kernel runs `main` in an isolated interpreter.
Descriptor `link` is a socket. It brings a `StartOrder` as JSON, with the descriptors that belong to it: the three
standard streams of a worker, its lifeline and its report; or the standard input of a loading process, and then the
orders of workers (`forking`). For each worker:

- its `lifeline` receives a byte whenever a request of the worker begins or ends; when it is closed, the worker is
  killed;
- its `report` gets lines of JSON, at the end a `TreeEnding`.

Descriptor `lock` has the lock on the worker's folder, which marks the folder as used.

A parent-death signal cannot replace the lifeline: Linux sends it when the *thread* that started the process ends, and
workers are started from short-lived threads.
"""

from __future__ import annotations

import os
import socket

from autocoder_jupyter.sandbox.local import process_tree
from autocoder_jupyter.sandbox.local.confinement.notices import Judge
from autocoder_jupyter.sandbox.local.confinement.process import CannotConfine, start, tier_named
from autocoder_jupyter.sandbox.local.control_groups import ControlGroup
from autocoder_jupyter.sandbox.local.forking import serve_forks
from autocoder_jupyter.sandbox.local.limits import Checks, WatchedWorker, WorkerBounds, out_of_memory
from autocoder_jupyter.sandbox.local.messages import (
    ALONE,
    DESCRIPTORS,
    MESSAGE_BYTES,
    Policy,
    StartOrder,
    TreeEnding,
    report_to,
)
from autocoder_jupyter.sandbox.local.supervision import OneWorker, release_streams, take_streams
from autocoder_jupyter.sandbox.worker import removal


def main(kind: str, link: int, lock: int) -> None:
    """Serve a worker, or a loading process and its workers, until the end. Never returns."""
    parent = os.getppid()
    for descriptor in (link, lock):
        os.set_inheritable(descriptor, False)
    kernel = socket.socket(fileno=link)
    message, descriptors, _, _ = socket.recv_fds(kernel, MESSAGE_BYTES, DESCRIPTORS)
    order = StartOrder.read(message)
    process_tree.adopt_orphans()
    if kind == ALONE:
        kernel.close()
        *streams, lifeline, report = descriptors
        take_streams(streams)
        _serve_one(order.policy, parent, lifeline, report)
    else:
        take_streams(descriptors)
        serve_forks(order, kernel, parent)
    process_tree.kill_descendants(os.getpid())
    removal.remove(order.folder)
    os._exit(0)


def _serve_one(policy: Policy, parent: int, lifeline: int, report: int) -> None:
    """Start a worker, serve it and report its end."""
    group = policy.control_group()
    tier = tier_named(policy.tier)
    try:
        if group is not None:
            group.make(memory=policy.memory, processes=policy.processes)
        process = start(policy, tier, group)
    except (CannotConfine, OSError) as error:
        if group is not None:
            group.end()
        report_to(report, TreeEnding(failed=True, text=f"the worker could not be started: {error}"))
        return
    release_streams()
    bounds = WorkerBounds(None if group else policy.memory, policy.disk, policy.folder)
    judge = Judge(process.pid, policy.processes, namespaced=tier.namespaces)
    # Orphans of the worker are children of this process.
    checks = Checks(bounds, os.getpid())
    worker = WatchedWorker(process.pid, checks, policy.share_of_core, judge, lifeline, report)
    supervision = OneWorker(process.listener, parent, worker)
    supervision.run()
    worker.end(_ended(supervision.ending, policy, group))


def _ended(ending: TreeEnding, policy: Policy, group: ControlGroup | None) -> TreeEnding:
    """Kill what is left of a worker. Returns why it ended."""
    if group is not None:
        ending = out_of_memory(policy.memory) if group.ran_out() else ending
        group.end()
    process_tree.kill_descendants(os.getpid())
    return ending
