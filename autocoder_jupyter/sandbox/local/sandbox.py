"""The sandbox without a container engine. It uses Landlock, seccomp and namespaces of this machine.

A worker may read the system's libraries, its interpreter and its environment, and write in one private folder. By
default it has no network. It cannot reach other processes, and it gets only a few environment variables. A trial finds
out which tier of confinement works here (`trial`). If none works, no code runs, and the probe says why.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from autocoder_jupyter.errors import PackageError, SandboxUnavailable
from autocoder_jupyter.sandbox.protocol import (
    UNWATCHED,
    BuildWatch,
    Environment,
    EnvironmentSpec,
    Probe,
    Worker,
    WorkerLimits,
    WorkerSpec,
)
from autocoder_jupyter.settings.choices import SandboxName

if TYPE_CHECKING:
    from autocoder_jupyter.sandbox.local.confinement.process import ConfinementTier
    from autocoder_jupyter.sandbox.local.forks import WorkerKind
    from autocoder_jupyter.sandbox.local.messages import Policy
    from autocoder_jupyter.sandbox.local.process import LocalProcess
    from autocoder_jupyter.sandbox.temporary_folder import TemporaryFolder
    from autocoder_jupyter.types import ImageConfig

_ADDRESS_SPACE_BESIDE_DATA = 4 * 2**30
"""Bytes that libraries map without using them. An allocation far over the limit then raises a MemoryError."""


class LocalSandbox:
    """Satisfies `sandbox.protocol.Sandbox`."""

    name: SandboxName = "local"

    def __init__(self, image_config: ImageConfig | None = None) -> None:
        self._python_version = image_config.python_version if image_config is not None else None

    def probe(self) -> Probe:
        """Whether a trial program was confined, and by which tier. The result is kept for this process. If a version of
        Python is configured, this machine must have it.
        """
        from autocoder_jupyter.sandbox.local.environments import find_interpreter
        from autocoder_jupyter.sandbox.local.trial import tier_trial

        probe = tier_trial(_start_trial).probe()
        if probe.available and self._python_version is not None:
            try:
                find_interpreter(self._python_version)
            except PackageError as error:
                return Probe(self.name, False, str(error), probe.details)
        return probe

    def build(self, spec: EnvironmentSpec, *, watch: BuildWatch = UNWATCHED) -> Environment:
        """Build a virtual environment in the cache folder; see `protocol.Sandbox.build`.

        Raises:
            PackageError: a package cannot be installed (the error names it), or this machine has no such Python.
            SandboxUnavailable: system packages were requested.
            Cancelled: it was cancelled.
        """
        from autocoder_jupyter.sandbox.local.environments import build

        if spec.system_packages:
            raise SandboxUnavailable(
                f"The local sandbox cannot install system packages ({', '.join(spec.system_packages)}).",
                why="They would have to be installed on this machine, for everyone.",
                hint="Set sandbox = 'docker', or use packages from the package index alone.",
            )
        return build(spec, watch=watch)

    def examine(self, environment: Environment) -> str:
        """Check the folder of an environment; see `protocol.Sandbox.examine`."""
        from autocoder_jupyter.sandbox.local.environments import examine

        return examine(environment)

    def start(self, spec: WorkerSpec, *, unlike: Collection[str] = ()) -> Worker:
        """Start a worker, if possible by a fork of a loading process; see `protocol.Sandbox.start`.

        Raises:
            SandboxUnavailable: no tier works here, there is too little memory, or the system refuses a process.
            PackageError: the environment is damaged.
            SandboxError: the worker could not be started.
        """
        from autocoder_jupyter.sandbox.host.bundle import worker_command
        from autocoder_jupyter.sandbox.host.capacity import PLENTY, start_within
        from autocoder_jupyter.sandbox.host.channel import connect
        from autocoder_jupyter.sandbox.local.environments import interpreter_of, python_of, use
        from autocoder_jupyter.sandbox.local.forks import WorkerKind
        from autocoder_jupyter.sandbox.local.process import cores_of, worker_policy
        from autocoder_jupyter.sandbox.local.trial import SHORTAGE_HINT, tier_trial

        trial = tier_trial(_start_trial)
        tier = trial.tier
        if tier is None:
            raise SandboxUnavailable("The local sandbox cannot be used here.", why=trial.probe().reason)
        environment = spec.environment
        use(environment)
        command = worker_command(str(python_of(environment)))

        def start(limits: WorkerLimits) -> Worker:
            cores = cores_of(limits.cpu)

            def policy(folder: Path) -> Policy:
                packages = [environment.location]
                return worker_policy(
                    command,
                    folder,
                    prefixes=interpreter.prefixes,
                    packages=packages,
                    limits=limits,
                    cores=cores,
                    network=spec.network,
                    tier=tier.name,
                    group=trial.group,
                )

            kind = WorkerKind(
                environment, tuple(command), tier.name, spec.network, threads=max(1, math.ceil(limits.cpu))
            )
            # A forked worker shares memory with the loading process. Its own control group would not count it.
            may_fork = limits.memory >= PLENTY and not trial.group
            fork = _forked(kind, limits, cores, policy, unlike) if may_fork else None
            process = fork or _start(policy)
            return connect(
                process,
                limits,
                network=spec.network,
                scratch=[process.folder],
                hide_memory=False,  # the supervisor must read it
                address_space=limits.memory + _ADDRESS_SPACE_BESIDE_DATA,
                name=process.name,
                cores=cores,
            )

        try:
            interpreter = interpreter_of(environment)
            return start_within(start, spec.limits)
        except OSError as error:
            raise SandboxUnavailable(
                "The local sandbox cannot start a worker now.",
                why=f"The system refuses it: {error}",
                hint=SHORTAGE_HINT,
            ) from error

    def affords_spare(self) -> bool:
        """Always False, because a forked worker starts fast."""
        return False


def _start_trial(
    tier: ConfinementTier, arguments: list[str], limits: WorkerLimits | None = None, group: str = ""
) -> LocalProcess:
    """Start the notebook's own interpreter in the sandbox, with these arguments."""
    from autocoder_jupyter.sandbox.local.environments import find_interpreter
    from autocoder_jupyter.sandbox.local.process import cores_of, worker_policy

    interpreter = find_interpreter(sys.version_info[:2])
    command = [interpreter.python, *arguments]

    def policy(folder: Path) -> Policy:
        prefixes, within = interpreter.prefixes, limits or WorkerLimits()
        return worker_policy(
            command,
            folder,
            prefixes=prefixes,
            packages=[],
            limits=within,
            cores=cores_of(within.cpu),
            network=False,
            tier=tier.name,
            group=group,
        )

    return _start(policy)


def _start(policy: Callable[[Path], Policy]) -> LocalProcess:
    """Start a worker process that is not forked. It may write in one new folder."""
    from autocoder_jupyter.sandbox.local.process import LocalProcess

    with _new_folder() as folder:
        return LocalProcess.alone(policy(folder.path), folder.lock)


def _forked(
    kind: WorkerKind,
    limits: WorkerLimits,
    cores: list[int],
    policy: Callable[[Path], Policy],
    unlike: Collection[str],
) -> LocalProcess | None:
    """Fork a worker from a loading process; None if that is not possible."""
    from autocoder_jupyter.sandbox.local.forks import LoadingProcess, forked
    from autocoder_jupyter.sandbox.local.messages import Share
    from autocoder_jupyter.sandbox.local.process import share_of_core

    def load() -> LoadingProcess:
        with _new_folder() as folder:
            return LoadingProcess(policy(folder.path), folder, kind.threads)

    share = Share(limits.memory, limits.disk, limits.processes, cores, share_of_core(limits.cpu))
    return forked(kind, share, load, unlike)


@contextlib.contextmanager
def _new_folder() -> Iterator[TemporaryFolder]:
    """A folder for a supervisor, which gets its own copy of the lock."""
    from autocoder_jupyter.sandbox.temporary_folder import make_folder

    folder = make_folder("worker")
    try:
        yield folder
    finally:
        os.close(folder.lock)
