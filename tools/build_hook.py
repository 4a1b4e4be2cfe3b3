"""Hatchling hook that adds the lab extension to wheel and sdist, and fails if it cannot be built.

An editable install does not build it, so that it works on machines without Node; `make labextension` builds it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DESTINATION = "share/jupyter/labextensions/autocoder-jupyter"
NOT_SHIPPED = ("build_log.json",)  # contains paths of the machine that built it
OLDEST_NODE = "20.19"


class LabExtensionHook(BuildHookInterface[Any]):
    """Hatchling calls `initialize` before it collects files."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build if needed, and add the files; `version` is `standard` or `editable`."""
        if version == "editable":
            return
        extension = LabExtension(Path(self.root))
        extension.require_version(self.metadata.version)
        if not extension.is_current():
            extension.build()
        if self.target_name == "sdist":
            inside = {file: file.relative_to(extension.root) for file in extension.files()}
            build_data["force_include"].update({str(file): str(place) for file, place in inside.items()})
        else:
            inside = {file: file.relative_to(extension.built) for file in extension.files()}
            build_data["shared_data"].update({str(file): f"{DESTINATION}/{place}" for file, place in inside.items()})
            build_data["shared_data"][str(extension.source / "install.json")] = f"{DESTINATION}/install.json"


class LabExtension:
    """The TypeScript sources and the built files.

    Args:
        root: the folder with pyproject.toml.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = root / "labextension"
        self.built = root / "autocoder_jupyter" / "labextension"

    def require_version(self, version: str) -> None:
        """Check that the lab extension has the same version as the Python package.

        Raises:
            RuntimeError: it has another version.
        """
        named = json.loads((self.source / "package.json").read_text(encoding="utf-8"))["version"]
        if named != version:
            raise RuntimeError(
                f"labextension/package.json says version {named}, pyproject.toml says {version}. Set both."
            )

    def is_current(self) -> bool:
        """Whether there is a production build of the current sources. An sdist contains it."""
        if not (self.built / "package.json").exists() or any(self.built.rglob("*.map")):
            return False
        if (self.root / "PKG-INFO").exists():
            return True
        built = (self.built / "package.json").stat().st_mtime
        return all(file.stat().st_mtime <= built for file in self._sources())

    def build(self) -> None:
        """Install the locked dependencies, and build.

        Raises:
            RuntimeError: there is no Node or no jlpm, or the build fails.
        """
        if shutil.which("node") is None and shutil.which("nodejs") is None:
            raise RuntimeError(
                "The lab extension is not built, and there is no Node to build it. The wheel needs its JupyterLab "
                f"part. Install Node {OLDEST_NODE} or later and repeat. For work on the Python side only, "
                "`pip install --editable .` needs no Node."
            )
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        jlpm = shutil.which("jlpm", path=path)
        if jlpm is None:
            raise RuntimeError(
                "There is no jlpm to build the lab extension. Install it with `pip install jupyter-builder`."
            )
        for step in (["install", "--immutable"], ["run", "build:prod"]):
            done = subprocess.run([jlpm, *step], cwd=self.source, env={**os.environ, "PATH": path}, check=False)
            if done.returncode:
                raise RuntimeError(f"`jlpm {' '.join(step)}` failed in labextension/; its output is above.")
        if not self.is_current():
            raise RuntimeError(f"The build of the lab extension wrote no files to {self.built.relative_to(self.root)}.")

    def files(self) -> Iterator[Path]:
        """The built files that are shipped."""
        return (file for file in sorted(self.built.rglob("*")) if file.is_file() and file.name not in NOT_SHIPPED)

    def _sources(self) -> Iterator[Path]:
        for part in ("src", "schema", "style"):
            yield from (file for file in (self.source / part).rglob("*") if file.is_file())
        yield from (
            self.source / name
            for name in ("package.json", "yarn.lock", "frame.mjs", "tsconfig.json", "tsconfig.build.json")
        )
