"""The plugin of Dask's workers with which `prepare` builds an environment. It imports distributed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from distributed import WorkerPlugin

from autocoder_jupyter.concurrency.background import call_blocking

if TYPE_CHECKING:
    from autocoder_jupyter.scaling.prepare import Preparation


class BuildsEnvironment(WorkerPlugin):
    """Builds an environment when a worker starts. Of the workers of one machine, one builds and the others wait.

    Attributes:
        name: the same for the same environment, so that it is registered once.
    """

    def __init__(self, preparation: Preparation) -> None:
        self._preparation = preparation
        built = repr((preparation.environment, preparation.sandbox, preparation.image_config))
        self.name = f"autocode-{hashlib.sha256(built.encode()).hexdigest()[:20]}"

    async def setup(self, worker: Any) -> None:
        """Build it on a thread, so that the worker still answers its scheduler."""
        await call_blocking(lambda: self._preparation.done(f"worker {worker.address}"))
