"""Makes Jupyter fork kernels from one process that has imported what they need (see `tests.forked`).

A kernel imports ipykernel, pandas, litellm and this package, which takes over three seconds of processor time. Nothing
of this package has run in a forked kernel before: modules that start something, or count from their process id, are not
imported.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from tests.forked import ForkedProcess, ForkServer, Imported, server

NAME = "forked"
METADATA = {"kernel_provisioner": {"provisioner_name": NAME}}
"""The metadata in the kernel spec of a kernel that is to be forked."""

LAUNCHER = ["-m", "ipykernel_launcher"]

KERNELS = Imported(
    "kernels",
    (
        "tests.light_jsonschema",
        *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipywidgets"),
        *("pandas", "pyarrow", "docker", "psutil"),
        *("litellm", "litellm.litellm_core_utils.default_encoding", "openai.resources"),
        *("autocoder_jupyter.lab", "autocoder_jupyter.magics", "autocoder_jupyter.display.card"),
        *("autocoder_jupyter.agent.agent", "autocoder_jupyter.agent.generation", "autocoder_jupyter.jobs.registry"),
        *(
            "autocoder_jupyter.engine.loop",
            "autocoder_jupyter.engines.staged.writer",
            "autocoder_jupyter.models.client",
        ),
        "autocoder_jupyter.codemode.agent",
    ),
    # litellm without its price list from the network and without a `.env` file
    environment=(("LITELLM_LOCAL_MODEL_COST_MAP", "True"), ("LITELLM_MODE", "PRODUCTION")),
)

LAUNCH = """\
import os
import sys

assert "autocoder_jupyter.sandbox.local.process" not in sys.modules
sys.path[:0] = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
sys.argv.append(f"--IPKernelApp.parent_handle={os.getppid()}")
sys.modules["ipykernel.kernelapp"].launch_new_instance()
"""
"""Does the same as `python -m ipykernel_launcher`, until the kernel ends."""


def fork_kernel(link: ForkServer, arguments: list[str], folder: str, environment: dict[str, str]) -> ForkedProcess:
    """Fork a new kernel. It ends with this process, and writes errors where this process does."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        return link.fork(LAUNCH, folder, environment, [nothing, 2, 2], arguments)
    finally:
        os.close(nothing)


class ForkedProvisioner(LocalProvisioner):
    """Forks kernels of this interpreter; others are started normally."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        if cmd[:3] != [sys.executable, *LAUNCHER]:
            return await super().launch_kernel(cmd, **kwargs)
        self.cwd = kwargs.get("cwd") or Path.cwd()
        process: Any = fork_kernel(server(KERNELS), cmd[3:], str(self.cwd), dict(kwargs["env"]))
        self.process = process
        self.pid = self.pgid = process.pid
        return self.connection_info


class ForkingKernelManager(AsyncKernelManager):
    """A manager class for callers that create the manager themselves, such as nbclient."""

    @property
    def kernel_spec(self) -> KernelSpec | None:
        if (spec := super().kernel_spec) is not None:
            spec.metadata = METADATA
        return spec


def run_all(notebook: Any, folder: Path) -> None:
    """Run all cells of a notebook with nbclient, without a user."""
    from nbclient import NotebookClient  # takes a second, and every worker collects this

    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, kernel_manager_class=ForkingKernelManager, timeout=240, resources=place).execute()


def register() -> None:
    """Register the provisioner in this process, by its name."""
    where = f"{__name__}:{ForkedProvisioner.__name__}"
    KernelProvisionerFactory.provisioners[NAME] = EntryPoint(NAME, where, KernelProvisionerFactory.GROUP_NAME)
