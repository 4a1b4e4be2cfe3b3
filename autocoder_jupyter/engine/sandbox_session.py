"""The sandbox of one generation: the services that it uses, its environments, and the work in their workers."""

from __future__ import annotations

import asyncio
import platform
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeVar

from autocoder_jupyter.concurrency.background import call_blocking
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.errors import Cancelled, EngineGone, PackageError, SandboxCrash, was_killed
from autocoder_jupyter.models.protocol import ConfiguredModel
from autocoder_jupyter.models.questions import SentRequest
from autocoder_jupyter.models.silence import SilenceWatch
from autocoder_jupyter.redaction.messages import hidden_values
from autocoder_jupyter.request import AgentConfig, secret_values
from autocoder_jupyter.run.events import Emit, EnvironmentProgress, EnvironmentReady, Noticed
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.tracker import RunTracker
from autocoder_jupyter.sandbox.environments import locking
from autocoder_jupyter.sandbox.environments.locking import is_lock, name_of
from autocoder_jupyter.sandbox.environments.uv import WITHDRAWN
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.host.redaction import RedactingWorker
from autocoder_jupyter.sandbox.protocol import (
    BuildWatch,
    CommandOutcome,
    Environment,
    EnvironmentSpec,
    Sandbox,
    Worker,
    WorkerLimits,
    WorkerSpec,
)
from autocoder_jupyter.settings.choices import SandboxTier
from autocoder_jupyter.types import PlanQuestion, Report, parse_memory
from autocoder_jupyter.versions.request_fields import content_key

# Services
#
# They are passed in, so that a test can run the engine as a cell does.

Ask = Callable[[tuple[PlanQuestion, ...]], Awaitable[tuple[str, ...] | None]]


async def without_answers(questions: tuple[PlanQuestion, ...]) -> None:
    """The `ask` of a run without a user."""
    return


Offer = Callable[[Report | None], object]


def without_offer(report: Report | None) -> None:
    """The `offer` of a run whose result is only used at its end."""


@dataclass(frozen=True)
class Services:
    """The services of a generation.

    Args:
        model: the language model. Replay, if wanted, is already included and uses the same journal.
        pool: a pool of workers of that sandbox.
        journal: the journal of this result's name; the engine begins the run in it.
        tracker: keeps the record of the run, and is called with every event.
        approve: asks the user about distributions that are not well known; True means approved.
        second_model: the model for the second opinion; None means `model`.
        ask: asks the user the questions of a plan. It returns an answer for each ("" accepts the plan's assumption),
            or None if there is no user to ask.
        tier: the tier of the sandbox; None if it is not known.
        offer: called with the report of a draft (its `success` is False): of the first code as soon as that can run,
            and of later code before its rows are shown; with that of a function that is verified while its second
            opinion still runs, so that it can be used; and with None if that must be changed.
        silence: watches for questions without an answer; by default one that nobody replies to.
    """

    model: ConfiguredModel
    sandbox: Sandbox
    pool: Pool
    journal: Journal
    tracker: RunTracker[FunctionRun]
    approve: Callable[[tuple[str, ...]], Awaitable[bool]]
    second_model: ConfiguredModel | None = None
    ask: Ask = without_answers
    tier: SandboxTier | None = None
    offer: Offer = without_offer
    silence: SilenceWatch | None = None

    @property
    def emit(self) -> Emit:
        """The function that takes an event."""
        return self.tracker

    def emit_notes(self) -> None:
        """Emit the journal's notes to the user: files that were repaired or could not be written."""
        for note in self.journal.take_notes():
            self.emit(Noticed(note))

    def add_sent(self, request: SentRequest) -> None:
        """Record a request before it is sent. If the disk is full, the user reads it now, not at the end."""
        self.journal.add_sent(request)
        self.emit_notes()


# The session

T = TypeVar("T")


def limits_of(config: AgentConfig) -> WorkerLimits:
    """The sandbox limits from an agent's settings."""
    return WorkerLimits(cpu=config.resources.cpu, memory=parse_memory(config.resources.memory), seconds=config.timeout)


class SandboxSession:
    """Builds the environments of one generation and runs work in the current one.

    Args:
        pinned: the lines of the user's lock, whose versions every environment has.
    """

    def __init__(self, services: Services, config: AgentConfig, pinned: tuple[str, ...] = ()) -> None:
        self._services = services
        self._config = config
        self.limits = limits_of(config)
        self.environment: Environment | None = None
        self.pinned = pinned
        self._packages: tuple[str, ...] = ()
        self._without_data = object()  # marks the workers of this generation that were never given data
        self._healing = asyncio.Lock()

    @property
    def python_version(self) -> tuple[int, int]:
        """(major, minor) inside the sandbox."""
        return self._config.image_config.python_version or sys.version_info[:2]

    def recorded_lock(self, packages: tuple[str, ...], system_packages: tuple[str, ...]) -> tuple[str, ...]:
        """The lock in the journal for these packages; () if there is none, or one without hashes.

        The journal and all names in it are untrusted.
        """
        recorded = self._services.journal.find_step("environment", self._key(packages, system_packages)) or {}
        lock = recorded.get("lock")
        return tuple(lock) if is_lock(lock) and isinstance(lock, list) else ()

    async def resolved_names(self, packages: tuple[str, ...]) -> frozenset[str]:
        """The distributions that these packages need according to the index; if that fails, only those of the base."""
        spec = EnvironmentSpec(packages, self.python_version)
        watch = BuildWatch()
        try:
            lock = await call_blocking(lambda: locking.lock(spec, watch=watch), on_cancel=watch.token.cancel)
        except PackageError:
            return frozenset(locking.BASE_PACKAGES)
        return frozenset(map(name_of, lock))

    async def provide(
        self, packages: tuple[str, ...], system_packages: tuple[str, ...], lock: tuple[str, ...] = ()
    ) -> Environment:
        """Build an environment and make it the current one.

        The lock is written to the journal, so that a later replay uses the same versions.
        """
        started = time.monotonic()
        try:
            environment = await self._build(packages, system_packages, lock)
        except PackageError:
            if not lock:
                raise
            environment = await self._build(packages, system_packages, ())  # a locked version is gone
        key = self._key(packages, system_packages)
        self._services.journal.add_step("environment", key, {"lock": list(environment.lock)})
        self.environment, self._packages = environment, packages
        seconds = time.monotonic() - started
        sandbox, tier = self._services.sandbox.name, self._services.tier
        self._services.emit(EnvironmentReady(environment.image, environment.lock, seconds, packages, sandbox, tier))
        return environment

    async def beside(self, packages: tuple[str, ...]) -> Environment:
        """Build an environment that is not that of the function: it does not become the current one."""
        return await self._build(packages, (), ())

    async def heal(self, environment: Environment | None) -> bool:
        """Examine an environment after a failure in it, and build it again if it is damaged."""
        async with self._healing:
            if environment is None or environment != self.environment:
                return environment is not None  # another task has already repaired it
            found = await call_blocking(lambda: self._services.sandbox.examine(environment))
            if found:
                self.environment = await self._build(self._packages, environment.system_packages, environment.lock)
                self._services.emit(Noticed(f"The environment was damaged ({found}) and has been built again."))
            return bool(found)

    def _key(self, packages: tuple[str, ...], system_packages: tuple[str, ...]) -> str:
        parts = [packages, system_packages, self.python_version, sys.platform, platform.machine()]
        return content_key(*parts, *([self.pinned] if self.pinned else []))

    async def _build(
        self, packages: tuple[str, ...], system_packages: tuple[str, ...], lock: tuple[str, ...]
    ) -> Environment:
        spec = EnvironmentSpec(packages, self.python_version, system_packages, lock, self.pinned)
        watch = BuildWatch(self._emit_progress)
        return await call_blocking(
            lambda: self._services.sandbox.build(spec, watch=watch),
            on_cancel=watch.token.cancel,
        )

    def _emit_progress(self, line: str) -> None:
        if line.startswith(WITHDRAWN):
            pin, _, reason = line.removeprefix(WITHDRAWN).partition(", because: ")
            why = f" ({reason})" if reason else ""
            other = pin.replace("==", "!=")
            message = f"{pin} was yanked by its authors{why}, but is used because the recorded lock names it"
            self._services.emit(Noticed(f"{message}; -p '{other}' avoids it."))
        else:
            self._services.emit(EnvironmentProgress(line))

    def warm(self, count: int) -> None:
        """Start workers in the current environment in the background, while the model works."""
        if self.environment is not None:
            self._services.pool.warm(
                WorkerSpec(self.environment, self.limits, network=not self._config.block_network),
                count=count,
                apart=self._without_data,
            )

    async def work(
        self,
        job: Callable[[Worker], T],
        *,
        other_than: Collection[str] = (),
        unlike: Collection[str] = (),
        without_data: bool = False,
        is_offline: bool = False,
    ) -> T:
        """Run a job on a worker of the current environment.

        A cancel kills the worker. A sandbox that was lost for a reason outside the program is replaced, up to
        `sandbox_retries` times. Messages from the worker contain no secrets and no values of environment variables.

        With `without_data`, the job gives the worker nothing of the user's data, and gets one that was never given any.
        Everything that a model is told without regard to `share` must come from such a job.

        With `is_offline` it has no network, even if the function may have one.
        """
        return await self._work(
            (None,),
            lambda workers: job(*workers),
            other_than,
            unlike,
            network=False if is_offline else None,
            without_data=without_data,
        )

    async def work_with_two(
        self,
        job: Callable[[Worker, Worker], T],
        *,
        second: Environment | None = None,
        without_data: bool = False,
        is_offline: bool = False,
    ) -> T:
        """Run a job on two workers at once, the second one in another environment if one is given; see `work`."""
        network = False if is_offline else None
        return await self._work(
            (None, second), lambda workers: job(*workers), network=network, without_data=without_data
        )

    async def command(self, command: str, files: Mapping[str, bytes], seconds: float) -> CommandOutcome:
        """Run a shell command on these files, which the model may see; see `work`.

        It has no network, even if the function may have one, because the command was not reviewed.
        """
        return await self._work(
            (None,),
            lambda workers: workers[0].command(command, files, seconds=seconds),
            network=False,
            without_data=True,
        )

    async def _work(
        self,
        others: Sequence[Environment | None],
        job: Callable[[Sequence[Worker]], T],
        other_than: Collection[str] = (),
        unlike: Collection[str] = (),
        *,
        network: bool | None = None,
        without_data: bool = False,
    ) -> T:
        """Run a job on one worker for each of `others`; None stands for the current environment."""
        environment = self.environment
        secrets = hidden_values(secret_values(self._config.secrets), self._config.env_vars)
        connected = not self._config.block_network if network is None else network
        apart = self._without_data if without_data else None
        held: list[Worker] = []
        holding = threading.Lock()
        abandoned = threading.Event()

        def attempt() -> T:
            assert environment is not None, "provide() comes first"
            with ExitStack() as leases:
                taken = []
                try:
                    for other in others:
                        spec = WorkerSpec(other or environment, self.limits, network=connected)
                        lease = self._services.pool.lease(spec, other_than=other_than, unlike=unlike, apart=apart)
                        worker = leases.enter_context(lease)
                        held.append(worker)
                        taken.append(RedactingWorker(worker, secrets))
                        if abandoned.is_set():
                            raise Cancelled("Cancelled before the sandbox was ready.")
                    return job(taken)
                finally:
                    with holding:  # a cancel that comes later must not kill the workers of others
                        held.clear()

        def abandon() -> None:
            abandoned.set()
            with holding:
                for worker in held:
                    worker.kill()

        retries_left, was_healed = self._config.sandbox_retries, False
        while True:
            try:
                return await call_blocking(attempt, on_cancel=abandon)
            except (EngineGone, PackageError, SandboxCrash) as error:
                if not was_healed and await self.heal(environment):
                    was_healed, environment = True, self.environment
                elif retries_left and was_killed(error):
                    retries_left -= 1
                    self._services.emit(Noticed(f"{error.what.rstrip('.')}. The sandbox was started again."))
                else:
                    raise
