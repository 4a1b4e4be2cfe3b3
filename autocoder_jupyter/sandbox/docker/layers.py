"""Build the image of an environment: the base image, then the packages that all share, then those of this one.

It uses the classic builder, because docker-py supports no newer one and Podman has it, too. That builder has no cache
mounts and no secrets. uv installs the packages on the host, for the Python and the platform of the image, and they are
copied into it. The build has a network only if apt needs it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.concurrency.file_locks import exclusive
from autocoder_jupyter.errors import Cancelled, PackageError
from autocoder_jupyter.sandbox.docker import trial
from autocoder_jupyter.sandbox.docker.engine import LABEL, DockerEngine
from autocoder_jupyter.sandbox.docker.images import (
    Base,
    BuildFailed,
    Image,
    find_image,
    hanging_up,
    progress_lines,
)
from autocoder_jupyter.sandbox.environments import locking
from autocoder_jupyter.sandbox.environments.installed import mark_used
from autocoder_jupyter.sandbox.environments.locking import pin_of
from autocoder_jupyter.sandbox.environments.uv import index_identity
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.protocol import BuildWatch, EnvironmentSpec
from autocoder_jupyter.sandbox.temporary_folder import temporary_folder

if TYPE_CHECKING:
    from docker import APIClient

PACKAGES = "/opt/autocode/packages"
KIND, BASE_ID, LOCK = f"{LABEL}.image", f"{LABEL}.base", f"{LABEL}.lock"
REPOSITORY = "autocode-env"
SHARED_NAME = "autocode-base-packages"
BUILD_SECONDS = 1800
LET_GO_SECONDS = 5.0
PATH_FILE = "autocode.pth"

_CONFLICT = 409
_LAYER_ID = re.compile(r"^ ---> ([0-9a-f]{12,64})$")


@dataclass(frozen=True)
class Recipe:
    """One image to build.

    Args:
        parent: the image on which it is built.
        packages: lines of the lock that this layer adds.
        lock: lines of the lock of the whole image, for its label.
        system_packages: apt packages, in a layer below the packages.
        kind: "shared" or "environment", for its label.
    """

    name: str
    parent: Image
    packages: tuple[str, ...]
    lock: tuple[str, ...]
    system_packages: tuple[str, ...] = ()
    kind: str = "environment"


def lock_file(key: str) -> Path:
    """The lock file of an image. With it, only one process of this machine builds the image."""
    return cache_folder() / "images" / f"{key}.lock"


def use_file(key: str) -> Path:
    """The usage file of an image. Processes that use the image have a lock on it; its time is that of the last use."""
    return lock_file(key).with_suffix(".use")


def build_environment(
    engine: DockerEngine,
    base: Base,
    spec: EnvironmentSpec,
    lock: tuple[str, ...],
    name: str,
    watch: BuildWatch,
) -> None:
    """Build the image `name` with all packages in `lock`. The shared image is its parent if the versions agree."""
    shared = _shared_image(engine, base, spec, lock, watch)
    if shared is None:
        parent, packages = base.image, lock
    else:
        parent = shared
        packages = tuple(line for line in lock if _label(line) not in _labels_of(shared))
    recipe = Recipe(name, parent, packages, lock, trial.check_system_packages(spec.system_packages))
    _build(engine, base, recipe, watch)


def _shared_image(
    engine: DockerEngine,
    base: Base,
    spec: EnvironmentSpec,
    lock: tuple[str, ...],
    watch: BuildWatch,
) -> Image | None:
    """The image with the packages of every environment; None if `lock` has other versions of them."""
    client = engine.client()
    try:
        labels = [f"{KIND}=shared", f"{BASE_ID}={base.image.id}"]
        for found in client.images(filters={"label": labels}):
            image = find_image(client, found["Id"])
            if image is not None and (held := _labels_of(image)) and held <= set(map(_label, lock)):
                for name in found["RepoTags"] or ():
                    mark_used(use_file(f"shared-{name.rpartition(':')[2]}"))
                return image
        pins = locking.lock(
            EnvironmentSpec(packages=(), python_version=spec.python_version),
            platform=base.platform,
            watch=watch,
        )
        if not set(pins) <= set(lock):
            return None
        machine = f"{base.platform}/{base.image.id}"
        key = locking.environment_key(spec.python_version, machine, pins, index=index_identity())
        name = f"{SHARED_NAME}:{key}"
        mark_used(use_file(f"shared-{key}"))
        with exclusive(lock_file(f"shared-{key}"), watch.token.raise_if_cancelled):
            if find_image(client, name) is None:
                _build(engine, base, Recipe(name, base.image, pins, pins, kind="shared"), watch)
        return find_image(client, name)
    finally:
        client.close()


def _labels_of(image: Image) -> set[str]:
    return set(image.labels.get(LOCK, "").split())


def _label(line: str) -> str:
    """A line of a lock with one short hash instead of its hashes, because a build step is limited to 64 KiB."""
    return f"{pin_of(line)}@{hashlib.sha256(line.encode()).hexdigest()[:16]}"


def _build(engine: DockerEngine, base: Base, recipe: Recipe, watch: BuildWatch) -> None:
    with temporary_folder("build") as folder:
        target = folder / "packages"
        target.mkdir()
        if recipe.packages:
            locking.install_target(recipe.packages, base.trial.python_version, base.platform, target, watch=watch)
        authorities = trial.authorities(os.environ) if recipe.system_packages else None
        with tempfile.TemporaryFile() as context:
            _write_context(
                context,
                {
                    "Dockerfile": dockerfile(recipe, base, target, authorities is not None).encode(),
                    PATH_FILE: path_line(base.trial.site_packages).encode(),
                    trial.AUTHORITIES: authorities or b"",
                },
                target,
            )
            context.seek(0)
            watch.tell(f"building {recipe.name}")
            _run_build(engine, recipe, context, watch)


def dockerfile(recipe: Recipe, base: Base, target: Path, authorities: bool) -> str:
    """The steps of the build. Names of packages are checked, and lists are JSON, so that no shell parses them."""
    user = base.image.user
    steps = [f"FROM {recipe.parent.id}", *(["USER 0:0"] if user else [])]
    if recipe.system_packages:
        steps += trial.install_steps(recipe.system_packages, authorities)
    if recipe.parent.id == base.image.id and not base.trial.bytecode:  # as in the official images of Python
        steps.append(compile_step([base.trial.standard_library]))
    if recipe.packages:
        steps.append(f"COPY packages {PACKAGES}")
        entries = [f"{PACKAGES}/{entry.name}" for entry in sorted(target.iterdir()) if _holds_modules(entry)]
        steps.append(compile_step(entries))
    if recipe.parent.id == base.image.id:
        steps.append(f"COPY {json.dumps([PATH_FILE, f'{base.trial.site_packages}/{PATH_FILE}'])}")
    labels = {KIND: recipe.kind, BASE_ID: base.image.id, LOCK: " ".join(map(_label, recipe.lock))}
    # One step for all labels, because the builder creates an image for each step.
    steps.append(f"LABEL {' '.join(f'{name}={json.dumps(value)}' for name, value in labels.items())}")
    steps += [f"USER {user}"] if user else []
    return "\n".join(steps) + "\n"


def compile_step(entries: Sequence[str]) -> str:
    """The step that compiles modules, without their tests.

    A worker cannot write into the image, so without bytecode it would compile pandas at each start.
    """
    compiler = [*_BARE_PYTHON, "-m", "compileall", "-qq", "-j", "0", "-x", r"/(tests?|(site|dist)-packages)/"]
    # Some packages have files for another version of Python. They must not make the build fail.
    return f"RUN {json.dumps([*_BARE_PYTHON, '-c', program_text('ignore_failure'), *compiler, *entries])}"


_BARE_PYTHON = ("python3", "-I", "-S")
"""Build steps run as root, so this interpreter must not run `.pth` files or the `sitecustomize` of a package."""


def path_line(site_packages: str) -> str:
    """A line for a `.pth` file. It inserts `PACKAGES` into the search path before the image's own packages."""
    where = f"sys.path.index({site_packages!r}) if {site_packages!r} in sys.path else len(sys.path)"
    return f"import sys; sys.path.insert({where}, {PACKAGES!r})\n"


def _holds_modules(entry: Path) -> bool:
    return entry.suffix == ".py" or (entry.is_dir() and entry.suffix != ".dist-info" and entry.name != "bin")


def _write_context(stream: IO[bytes], files: Mapping[str, bytes], target: Path) -> None:
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(content))
        archive.add(target, arcname="packages", filter=_owned_by_root)


def _owned_by_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    # Files of uv's cache may be unreadable for other users, and the worker runs as another user.
    entry.mode |= 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


def _run_build(engine: DockerEngine, recipe: Recipe, context: IO[bytes], watch: BuildWatch) -> None:
    from docker.errors import APIError

    arguments = trial.proxies(os.environ) if recipe.system_packages else {}
    client = engine.client(BUILD_SECONDS)
    made: list[str] = []
    try:
        with hanging_up(client, watch.token):
            stream = client.build(
                fileobj=context,
                custom_context=True,
                tag=recipe.name,
                rm=True,
                forcerm=True,
                decode=True,
                timeout=BUILD_SECONDS,
                buildargs=arguments,
                network_mode=trial.network(arguments) if recipe.system_packages else "none",
                use_config_proxy=bool(recipe.system_packages),
            )
            for line in progress_lines(stream):
                if layer := _LAYER_ID.match(line):
                    made.append(layer[1])
                elif line.startswith("Step "):
                    watch.tell(line[:100])
    except BuildFailed as failure:
        _remove_layers(engine, made)
        raise trial.package_error(str(failure), failure.output) from None
    except Cancelled:
        _remove_layers(engine, made, seconds=LET_GO_SECONDS)
        raise
    except APIError as error:
        raise PackageError("The engine cannot build the image.", why=str(error.explanation or error)) from None
    finally:
        client.close()


def _remove_layers(engine: DockerEngine, made: Sequence[str], *, seconds: float = 0.0) -> None:
    """Remove the layers of a failed or cancelled build."""
    client = engine.client()
    deadline = time.monotonic() + seconds
    try:
        for layer_id in reversed(made[1:]):
            while _in_use_after_removal(client, layer_id) and time.monotonic() < deadline:
                time.sleep(0.1)
    finally:
        client.close()


def _in_use_after_removal(client: APIClient, layer_id: str) -> bool:
    from docker.errors import APIError

    try:
        client.remove_image(layer_id, noprune=True)
    except APIError as error:
        return bool(error.status_code == _CONFLICT)
    return False
