"""The sandbox, the pool and the environments for calls. They are found once per process, and again if they are lost."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.request import SandboxChoice
from autocoder_jupyter.sandbox.protocol import UNWATCHED, BuildWatch, Environment, EnvironmentSpec, Sandbox
from autocoder_jupyter.settings.choices import ANY, SandboxMinimum, SandboxTier
from autocoder_jupyter.types import ImageConfig

if TYPE_CHECKING:
    from autocoder_jupyter.sandbox.host.pool import Pool


@dataclass
class Runtime:
    """A sandbox with its tier, its pool, and the environments that were built in it."""

    sandbox: Sandbox
    pool: Pool
    tier: SandboxTier | None = None
    worked: bool = False
    _environments: dict[EnvironmentSpec, Environment] = field(default_factory=dict)

    def environment(self, spec: EnvironmentSpec, watch: BuildWatch = UNWATCHED) -> Environment:
        """Build or find an environment. A known environment needs no package index. `watch` may cancel the build."""
        known = self._environments.get(spec)
        if known is None:
            known = self._environments[spec] = self.sandbox.build(spec, watch=watch)
        return known

    def damage(self, spec: EnvironmentSpec) -> str:
        """The damage of an environment that was built here, as a sentence. It is rebuilt at its next use."""
        known = self._environments.get(spec)
        found = self.sandbox.examine(known) if known else ""
        if found:
            self._environments.pop(spec, None)
        return found


_lock = threading.Lock()
_runtimes: dict[tuple[int, str, ImageConfig, SandboxMinimum], Runtime] = {}
"""By process id, because a forked process must not use the workers of its parent."""


def runtime_for(
    choice: SandboxChoice,
    image_config: ImageConfig,
    minimum: SandboxMinimum = ANY,
    *,
    built_in: str | None = None,
) -> Runtime:
    """The runtime for a choice of sandbox. Blocks while a sandbox is tried.

    Raises:
        SandboxUnavailable: none can be used.
    """
    from autocoder_jupyter.settings.choices import SANDBOXES

    tested_in = next((name for name in SANDBOXES if name == built_in), None)
    if choice == "auto" and tested_in is not None:
        try:
            return _found(tested_in, image_config, minimum)
        except SandboxUnavailable:
            return _found("auto", image_config, minimum)
    return _found(choice, image_config, minimum)


def _found(choice: SandboxChoice, image_config: ImageConfig, minimum: SandboxMinimum) -> Runtime:
    from autocoder_jupyter.sandbox.choice import choose
    from autocoder_jupyter.sandbox.host.pool import shared_pool

    key = os.getpid(), choice, image_config, minimum
    with _lock:
        known = _runtimes.get(key)
    if known is not None:
        return known
    sandbox = choose(choice, image_config, minimum)
    tier = sandbox.probe().tier
    with _lock:
        return _runtimes.setdefault(key, Runtime(sandbox, shared_pool(sandbox), tier))


def forget(runtime: Runtime) -> None:
    """Forget a runtime whose engine is gone. The sandbox is found again at the next use."""
    with _lock:
        for key in [key for key, value in _runtimes.items() if value is runtime]:
            del _runtimes[key]
