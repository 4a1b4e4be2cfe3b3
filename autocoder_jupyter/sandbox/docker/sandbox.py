"""`DockerSandbox`: environments as images, workers as hardened containers."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Collection

from autocoder_jupyter.concurrency.file_locks import exclusive
from autocoder_jupyter.errors import EngineGone, SandboxUnavailable
from autocoder_jupyter.sandbox.docker import environments
from autocoder_jupyter.sandbox.docker.container import WRITABLE, ContainerStart, Transport
from autocoder_jupyter.sandbox.docker.engine import DockerEngine, engine_errors, find_engine, reap
from autocoder_jupyter.sandbox.docker.images import Base, find_base, find_image, push
from autocoder_jupyter.sandbox.docker.trial import known_transport, trial
from autocoder_jupyter.sandbox.environments import installed, locking
from autocoder_jupyter.sandbox.environments.installed import mark_used
from autocoder_jupyter.sandbox.environments.uv import index_identity
from autocoder_jupyter.sandbox.host import bundle
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
from autocoder_jupyter.types import ImageConfig
from autocoder_jupyter.untrusted.visible import visible

PROBE_SECONDS = 30.0
"""Seconds for which the result of a probe is kept. A new probe needs one ping; the trial runs once per process."""

_reaped: set[str] = set()


class DockerSandbox:
    """Runs each worker in its own container, without privileges, and by default without network.

    Args:
        transport: how data is transferred. By default sockets if they work, else the attach stream.
    """

    name: SandboxName = "docker"

    def __init__(self, image_config: ImageConfig | None = None, *, transport: Transport | None = None) -> None:
        self._config = image_config or ImageConfig()
        self._transport = transport
        self._lock = threading.Lock()
        self._engine: DockerEngine | None = None
        self._probed: tuple[float, Probe] | None = None

    def probe(self) -> Probe:
        """Run a small program in a hardened container of the base image, which reads its limits from inside."""
        if self._probed is None or time.monotonic() - self._probed[0] > PROBE_SECONDS:
            self._engine = None  # it may have been stopped or replaced
            try:
                answer = self._trial_run()
            except (SandboxUnavailable, EngineGone) as error:
                answer = Probe("docker", False, reason=" ".join(str(error).split("\n")))
            except (AttributeError, LookupError, TypeError, ValueError) as error:  # its answers have another form
                why = f"{type(error).__name__}: {visible(error)[:100]}"
                answer = Probe(
                    "docker", False, reason=f"The service that answered is not a usable Docker engine ({why})."
                )
            self._probed = (time.monotonic(), answer)
        return self._probed[1]

    def build(self, spec: EnvironmentSpec, *, watch: BuildWatch = UNWATCHED) -> Environment:
        """Lock the packages and build their image, or find it; see `protocol.Sandbox.build`."""
        system_packages = environments.check_system_packages(spec.system_packages)
        with engine_errors("The engine cannot build the environment."):
            engine = self._connect()
            base = self._base(engine, spec.python_version, watch)
            lock = locking.lock(spec, platform=base.platform, watch=watch)
            # The same packages with another base image are another environment.
            machine = f"{base.platform}/{base.image.id}"
            key = locking.environment_key(spec.python_version, machine, lock, system_packages, index=index_identity())
            name = self._image_name(key)
            mark_used(environments.use_file(key))  # before the check below, so that no cleanup removes it in between
            if not _present(engine, name):
                with exclusive(environments.lock_file(key), watch.token.raise_if_cancelled):
                    if not _present(engine, name):
                        environments.build_environment(engine, base, spec, lock, name, watch)
                installed.daily("images", lambda before: environments.clear_images(engine, before))
                if self._config.registry and self._config.registry_secret:
                    push(engine, name, self._config.registry_secret, watch)
        return Environment(key, name, lock, spec.python_version, system_packages)

    def examine(self, environment: Environment) -> str:
        """Check that the image exists; see `protocol.Sandbox.examine`. The content of an image does not change."""
        with engine_errors("The engine does not say whether it has the image."):
            return "" if _present(self._connect(), environment.location) else "its image was removed"

    def start(
        self,
        spec: WorkerSpec,
        *,
        unlike: Collection[str] = (),  # each container has its own interpreter
    ) -> Worker:
        """Start a container of the environment's image and connect to its worker; see `protocol.Sandbox.start`."""
        from autocoder_jupyter.sandbox.host.capacity import start_within
        from autocoder_jupyter.sandbox.host.channel import connect  # imports pandas, which a probe does not need

        environment, engine = spec.environment, self._connect()
        mark_used(environments.use_file(environment.key))
        transport = self._transport or known_transport(engine)
        if transport is None:
            transport = trial(engine, environment.location, environment.key).transport

        def start(limits: WorkerLimits) -> Worker:
            container = ContainerStart(engine, environment.location, bundle.LOADER, limits, network=spec.network)
            process = container.launch(transport)
            return connect(process, limits, network=spec.network, scratch=WRITABLE)

        return start_within(start, spec.limits)

    def affords_spare(self) -> bool:
        """Whether the engine is on this machine, and the machine has enough free memory."""
        from autocoder_jupyter.sandbox.host.capacity import enough_for_spare

        try:
            return self._connect().same_host and enough_for_spare()
        except (SandboxUnavailable, EngineGone):
            return False

    def _connect(self) -> DockerEngine:
        with self._lock:
            if self._engine is None:
                self._engine = find_engine()
                if self._engine.url not in _reaped:
                    _reaped.add(self._engine.url)
                    with engine_errors("The engine does not list its containers."):
                        reap(self._engine)
            return self._engine

    def _base(self, engine: DockerEngine, python_version: tuple[int, int], watch: BuildWatch = UNWATCHED) -> Base:
        return find_base(engine, self._config, python_version, transport=self._transport, watch=watch)

    def _image_name(self, key: str) -> str:
        prefix = f"{self._config.registry.rstrip('/')}/" if self._config.registry else ""
        return f"{prefix}{environments.REPOSITORY}:{key}"

    def _trial_run(self) -> Probe:
        version = self._config.python_version or sys.version_info[:2]
        with engine_errors("The engine cannot run a container."):
            engine = self._connect()
            base = self._base(engine, version)
        done = base.trial
        details = {
            "engine": f"{engine.product} {engine.version}",
            "address": f"{engine.url} ({engine.source})",
            "where": "this machine" if engine.same_host else "a virtual machine or another host",
            "transport": "unix sockets" if done.transport == "sockets" else "the engine's attach stream",
            "base image": base.image.name,
            "python": str(done.facts["release"]),
            "limits": "read back from inside",
        }
        if warnings := (*engine.warnings, *done.weaknesses):
            details["warnings"] = "; ".join(warnings)
        if done.breaches:
            return Probe("docker", False, f"A container is not isolated here: {', '.join(done.breaches)}.", details)
        return Probe("docker", True, "; ".join(done.weaknesses), details, tier="docker")


def _present(engine: DockerEngine, name: str) -> bool:
    client = engine.client()
    try:
        return find_image(client, name) is not None
    finally:
        client.close()
