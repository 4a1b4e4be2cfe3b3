"""The tiers of confinement, and the start of a command that is confined from its first instruction."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from autocoder_jupyter.sandbox.local.confinement import kernel_features
from autocoder_jupyter.sandbox.local.confinement.kernel_features import (
    PR_SET_NO_NEW_PRIVS,
    drop_capabilities,
    set_process_option,
)
from autocoder_jupyter.sandbox.local.confinement.notices import SystemCallListener
from autocoder_jupyter.sandbox.local.control_groups import ControlGroup

# Tiers
#
# The strongest first. `settings.choices.TIERS` describes them.

TierName = Literal["full", "landlock", "namespaces"]


@dataclass(frozen=True)
class ConfinementTier:
    """A combination of the kernel's features. All tiers use seccomp.

    Args:
        landlock: Landlock limits the access to files, in the version of the kernel.
        namespaces: the worker has its own namespaces for files, processes, network and IPC.
    """

    name: TierName
    landlock: bool
    namespaces: bool


TIERS: tuple[ConfinementTier, ...] = (
    ConfinementTier("full", landlock=True, namespaces=True),
    ConfinementTier("landlock", landlock=True, namespaces=False),
    ConfinementTier("namespaces", landlock=False, namespaces=True),
)


def tier_named(name: str) -> ConfinementTier:
    """The tier with this name."""
    by_name: dict[str, ConfinementTier] = {tier.name: tier for tier in TIERS}
    return by_name[name]


# Start of a command

_PR_SET_PDEATHSIG = 1
_HIGHEST_DESCRIPTOR = 1 << 16
_MESSAGE = 4096
_GO = b"go"
_LIKELIEST_VICTIM = "1000"


class CannotConfine(Exception):
    """The command was not started, because this machine cannot confine it as required. The text names the step."""


@dataclass(frozen=True)
class Confinement:
    """A command to start, and its permissions.

    Args:
        folder: its working folder, in which it may write.
        readable: files and folders that it may read.
        writable: further files and folders that it may write.
        network: whether it may connect to the internet.
        cores: numbers of the CPU cores that it may use; all if empty.
    """

    command: list[str]
    environment: dict[str, str]
    folder: str
    readable: list[str]
    writable: list[str]
    network: bool
    processes: int
    cores: list[int]


@dataclass(frozen=True)
class ConfinedProcess:
    """A running confined command.

    Args:
        pid: its process id. It is a child of this process.
        listener: receives the kernel's questions about it. They must be answered while it runs.
        landlock: the Landlock version that is applied; 0 for none.
    """

    pid: int
    listener: SystemCallListener
    landlock: int


def start(
    wanted: Confinement, tier: ConfinementTier, group: ControlGroup | None = None, *, siblings: bool = False
) -> ConfinedProcess:
    """Start a command. It inherits the standard streams of this process and no other descriptor.

    This process must have one thread, and must adopt orphans (`process_tree.adopt_orphans`).
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        _child(wanted, tier, theirs, group, siblings=siblings)
    theirs.close()
    with ours:
        if tier.namespaces:
            pid = _first_of_its_namespace(ours, pid)
        message, descriptors, _, _ = socket.recv_fds(ours, _MESSAGE, 1)
    if not descriptors:
        raise _cannot_confine(pid, message)
    return ConfinedProcess(pid, SystemCallListener(descriptors[0]), int(message))


def _first_of_its_namespace(ours: socket.socket, pid: int) -> int:
    """The process that the child forked into its new namespaces. This process adopts it when the child has ended."""
    message = ours.recv(_MESSAGE)
    if not message.isdigit():
        raise _cannot_confine(pid, message)
    os.waitpid(pid, 0)
    ours.send(_GO)
    return int(message)


def _cannot_confine(pid: int, message: bytes) -> CannotConfine:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    return CannotConfine(message.decode("utf-8", "replace") or "it ended at once")


def _child(
    wanted: Confinement, tier: ConfinementTier, parent: socket.socket, group: ControlGroup | None, *, siblings: bool
) -> NoReturn:
    try:
        _be_killed_first()
        if group is not None:
            group.enter()
        if tier.namespaces:
            _leave_shared(wanted)
            pid = os.fork()
            if pid:
                parent.send(str(pid).encode())
                os._exit(0)
            if parent.recv(_MESSAGE) != _GO:
                os._exit(1)
        _confine_and_exec(wanted, tier, parent, siblings=siblings, counted=group is not None)
    except BaseException as error:
        what = "" if isinstance(error, CannotConfine) else f"{type(error).__name__}: "
        parent.send(f"{what}{error}".encode()[:_MESSAGE])
    os._exit(127)


def _be_killed_first() -> None:
    """If the machine or the container runs out of memory, the kernel shall kill a worker and not the notebook."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_LIKELIEST_VICTIM, "ascii")


def _leave_shared(wanted: Confinement) -> None:
    try:
        kernel_features.enter_namespaces(wanted.readable, wanted.writable, wanted.folder, network=wanted.network)
    except OSError as error:
        raise CannotConfine(f"namespaces cannot be created here ({error})") from error


def _confine_and_exec(
    wanted: Confinement, tier: ConfinementTier, parent: socket.socket, *, siblings: bool, counted: bool
) -> NoReturn:
    """Confine this process step by step, then replace it by the command."""
    set_process_option(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    if wanted.cores:
        os.sched_setaffinity(0, wanted.cores)
    os.chdir(wanted.folder)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    drop_capabilities()
    set_process_option(PR_SET_NO_NEW_PRIVS, 1)
    version = 0
    if tier.landlock:
        version = kernel_features.restrict_files(
            wanted.readable, [wanted.folder, *wanted.writable], network=wanted.network
        )
    rules = kernel_features.filter_rules(
        network=wanted.network, landlock=version, namespaces=tier.namespaces, siblings=siblings, counted=counted
    )
    listener = kernel_features.install_filter(rules)
    socket.send_fds(parent, [str(version).encode()], [listener])
    os.closerange(3, _HIGHEST_DESCRIPTOR)
    os.execve(wanted.command[0], wanted.command, wanted.environment)
