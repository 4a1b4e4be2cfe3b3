"""The sandbox without a container engine: Landlock, seccomp and namespaces on this machine, as far as there are any.

A worker may read the system's libraries, its interpreter and its environment, and write one private folder. It has
no network unless asked, reaches no other process, and gets a clean set of environment variables. By which of the
kernel's means it is held, a trial finds out (`local_probe`). Where none holds, nothing runs and the probe says why.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.protocol import Environment, EnvironmentSpec, Limits, Probe, Worker

if TYPE_CHECKING:
    from autocoder_jupyter.sandbox.cancellation import CancellationToken
    from autocoder_jupyter.sandbox.local.confinement.tiers import Tier
    from autocoder_jupyter.sandbox.local.forks import ForkedProcess, Kind
    from autocoder_jupyter.sandbox.local.process import LocalProcess
    from autocoder_jupyter.sandbox.local.supervisor import Policy
    from autocoder_jupyter.sandbox.local.worker_folder import WorkerFolder

_ADDRESS_SPACE_BESIDE_DATA = 4 * 2**30
"""What libraries map without using it. An allocation far over the limit then fails by itself, as a MemoryError."""

_swept = threading.Event()


class LocalSandbox:
    """Satisfies `sandbox.protocol.Sandbox`."""

    name: Literal["docker", "local"] = "local"

    def probe(self) -> Probe:
        """Whether a trial program is confined, and by which tier. The answer is kept as long as this process lives."""
        from autocoder_jupyter.sandbox.local import probe as local_probe

        return local_probe.trial(_start_trial).probe()

    def build(
        self,
        spec: EnvironmentSpec,
        *,
        on_progress: Callable[[str], None] | None = None,
        token: CancellationToken | None = None,
    ) -> Environment:
        """A virtual environment in the cache folder.

        Raises:
            PackageError: with the distribution at fault, or when there is no such Python on this machine.
            SandboxUnavailable: system packages were asked for.
            Cancelled: it was stopped.
        """
        from autocoder_jupyter.sandbox.local.environments import build

        if spec.system_packages:
            raise SandboxUnavailable(
                f"The local sandbox cannot install system packages ({', '.join(spec.system_packages)}).",
                why="They would have to be installed on this machine, for everyone.",
                hint="Use --sandbox docker, or packages from the package index alone.",
            )
        return build(spec, on_progress=on_progress, token=token)

    def examine(self, environment: Environment) -> str:
        """What is wrong with an environment's folder; see `protocol.Sandbox.examine`."""
        from autocoder_jupyter.sandbox.local.environments import examine

        return examine(environment)

    def start(
        self,
        environment: Environment,
        limits: Limits,
        *,
        network: bool = False,
        preload: Sequence[str] = (),
        unlike: Collection[str] = (),
    ) -> Worker:
        """A worker in `environment`: forked from a process that has loaded the libraries, or loading them itself.

        Raises:
            SandboxUnavailable: the trial program was not held, the memory is too little, or the system refuses a
                process.
            PackageError: the environment is damaged.
        """
        from autocoder_jupyter.sandbox.host.bundle import worker_command
        from autocoder_jupyter.sandbox.host.channel import connect
        from autocoder_jupyter.sandbox.host.memory import PLENTY, start_within
        from autocoder_jupyter.sandbox.local import probe as local_probe
        from autocoder_jupyter.sandbox.local.environments import interpreter_of, python_of, use
        from autocoder_jupyter.sandbox.local.forks import Kind
        from autocoder_jupyter.sandbox.local.policy import worker_policy

        trial = local_probe.trial(_start_trial)
        tier = trial.tier
        if tier is None:
            raise SandboxUnavailable("The local sandbox cannot be used here.", why=trial.probe().reason)
        use(environment)
        command = worker_command(str(python_of(environment)))

        def start(limits: Limits) -> Worker:
            def policy(folder: Path) -> Policy:
                packages = [environment.location]
                return worker_policy(
                    command,
                    folder,
                    prefixes=interpreter.prefixes,
                    packages=packages,
                    limits=limits,
                    network=network,
                    tier=tier.name,
                    group=trial.group,
                )

            kind = Kind(environment, tuple(command), tier.name, network, threads=max(1, math.ceil(limits.cpu)))
            # What is forked shares the memory of the loading process, which a control group of its own would not count.
            may_fork = limits.memory >= PLENTY and not trial.group
            fork = _forked(kind, limits, policy, unlike) if may_fork else None
            process = fork or _start(policy)
            return connect(
                process,
                limits,
                network=network,
                preload=preload,
                scratch=[process.folder],
                hide_memory=False,  # the supervisor counts it
                address_space=limits.memory + _ADDRESS_SPACE_BESIDE_DATA,
                name=fork.name if fork else "",
            )

        try:
            interpreter = interpreter_of(environment)
            return start_within(start, limits)
        except OSError as error:
            raise SandboxUnavailable(
                "The local sandbox cannot start a worker now.",
                why=f"The system refuses it: {error}",
                hint="Free memory, disk, open files or processes (`ulimit -a` shows the limits), then run it again.",
            ) from error

    def affords_spare(self) -> bool:
        """No: workers are forked from a process that has loaded the libraries, which takes no time."""
        return False


def _start_trial(tier: Tier, arguments: list[str], limits: Limits | None = None, group: str = "") -> LocalProcess:
    """Start the notebook's own interpreter in the sandbox."""
    from autocoder_jupyter.sandbox.local.environments import find_interpreter
    from autocoder_jupyter.sandbox.local.policy import worker_policy

    interpreter = find_interpreter(sys.version_info[:2])
    command = [interpreter.python, *arguments]

    def policy(folder: Path) -> Policy:
        prefixes, within = interpreter.prefixes, limits or Limits()
        return worker_policy(
            command, folder, prefixes=prefixes, packages=[], limits=within, network=False, tier=tier.name, group=group
        )

    return _start(policy)


def _start(policy: Callable[[Path], Policy]) -> LocalProcess:
    """A process of its own, which may write one new folder.

    Raises:
        OSError: the system refuses a process or a file.
    """
    from autocoder_jupyter.sandbox.local.process import LocalProcess

    folder = _new_folder()
    return LocalProcess(policy(folder.path), folder.lock)


def _forked(
    kind: Kind, limits: Limits, policy: Callable[[Path], Policy], unlike: Collection[str]
) -> ForkedProcess | None:
    """A process that is forked from one that has loaded what it needs; None where it has to load for itself."""
    from autocoder_jupyter.sandbox.local.forked_worker import Share
    from autocoder_jupyter.sandbox.local.forks import LoadingProcess
    from autocoder_jupyter.sandbox.local.loading import forked
    from autocoder_jupyter.sandbox.local.policy import cores_of, share_of_core

    def load() -> LoadingProcess:
        folder = _new_folder()
        return LoadingProcess(policy(folder.path), folder, kind.threads)

    share = Share(limits.memory, limits.disk, limits.processes, cores_of(limits.cpu), share_of_core(limits.cpu))
    return forked(kind, share, load, unlike)


def _new_folder() -> WorkerFolder:
    from autocoder_jupyter.sandbox.local.worker_folder import make_folder, remove_abandoned

    if not _swept.is_set():
        _swept.set()
        remove_abandoned()
    return make_folder()
