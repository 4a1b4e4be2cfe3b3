"""Finds a task of `to_flyte` again on a cluster: by the variable of the script that has it.

Flyte looks for a task in the module of its function, under the name of that. Our function is made by `flyte_task`, so
neither is that of the script. A notebook needs no resolver, because Flyte pickles its tasks.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.parsing import visible


class TaskResolver:
    """Satisfies Flyte's protocol of a resolver."""

    @property
    def import_path(self) -> str:
        """Where the cluster finds this class."""
        return f"{__name__}.{type(self).__name__}"

    def loader_args(self, task: Any, root_dir: Path | None = None) -> list[str]:
        """The module and the variable of a task.

        Args:
            task: the task.
            root_dir: the folder whose files Flyte sends.

        Raises:
            InvalidRequest: no module has a variable with the task.
        """
        for module in list(sys.modules.values()):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if value is task:
                    return ["mod", _import_name(module, root_dir), "instance", name]
        raise InvalidRequest(
            f"The cluster could not find the task {visible(task.name)}.",
            why="It is loaded there from a variable of a module.",
            hint="Write task = growth.to_flyte(env) at the top level of the script.",
        )

    def load_task(self, loader_args: Sequence[str]) -> Any:
        """The task, on the cluster."""
        _, module, _, name = loader_args
        return getattr(importlib.import_module(module), name)


def _import_name(module: ModuleType, root_dir: Path | None) -> str:
    """The name by which the cluster imports a module: its place in the folder that was sent, else its own name."""
    file = Path(module.__file__ or "").absolute()
    if root_dir is not None and file.is_relative_to(root_dir.absolute()):
        return ".".join(file.relative_to(root_dir.absolute()).with_suffix("").parts)
    return file.stem if module.__name__ == "__main__" else module.__name__
