"""Environments as images: the base image, then a layer of the packages that all share, then one of the others.

Images are built here, and removed when they were not used for a month. The build uses the classic builder, because
docker-py supports no newer one and Podman has it, too. That builder has no cache mounts and no secrets. uv installs the
packages on the host, for the Python and the platform of the image, and they are copied into it. The build has a network
only if apt needs it.
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.concurrency.file_locks import exclusive, lock_if_unused
from autocoder_jupyter.errors import Cancelled, PackageError
from autocoder_jupyter.sandbox.docker.engine import LABEL, DockerEngine, engine_errors, find_engine
from autocoder_jupyter.sandbox.docker.images import (
    Base,
    BuildFailed,
    Image,
    find_image,
    hanging_up,
    progress_lines,
)
from autocoder_jupyter.sandbox.environments import locking
from autocoder_jupyter.sandbox.environments.installed import mark_used, modified
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
    recipe = Recipe(name, parent, packages, lock, check_system_packages(spec.system_packages))
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
        authorities = host_authorities(os.environ) if recipe.system_packages else None
        with tempfile.TemporaryFile() as context:
            _write_context(
                context,
                {
                    "Dockerfile": dockerfile(recipe, base, target, authorities is not None).encode(),
                    PATH_FILE: path_line(base.trial.site_packages).encode(),
                    AUTHORITIES: authorities or b"",
                },
                target,
            )
            context.seek(0)
            watch.on_step(f"building {recipe.name}")
            _run_build(engine, recipe, context, watch)


# The Dockerfile and its context


def dockerfile(recipe: Recipe, base: Base, target: Path, authorities: bool) -> str:
    """The steps of the build. Names of packages are checked, and lists are JSON, so that no shell parses them."""
    user = base.image.user
    steps = [f"FROM {recipe.parent.id}", *(["USER 0:0"] if user else [])]
    if recipe.system_packages:
        steps += install_steps(recipe.system_packages, authorities)
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


# The run of a build


def _run_build(engine: DockerEngine, recipe: Recipe, context: IO[bytes], watch: BuildWatch) -> None:
    from docker.errors import APIError

    arguments = host_proxies(os.environ) if recipe.system_packages else {}
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
                network_mode=build_network(arguments) if recipe.system_packages else "none",
                use_config_proxy=bool(recipe.system_packages),
            )
            for line in progress_lines(stream):
                if layer := _LAYER_ID.match(line):
                    made.append(layer[1])
                elif line.startswith("Step "):
                    watch.on_step(line[:100])
    except BuildFailed as failure:
        _remove_layers(engine, made)
        raise apt_error(str(failure), failure.output) from None
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


# System packages

AUTHORITIES = "authorities.crt"
"""File name of the host's CA bundle in the build."""

# No name may end with "-", because apt would remove that package.
_APT_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]{0,61}[a-z0-9+](=[A-Za-z0-9.+~:-]{1,64})?")
_APT_FAULTS = (
    re.compile(r"E: Unable to locate package (?P<name>\S+)"),
    re.compile(r"E: Package '(?P<name>[^']+)' has no installation candidate"),
    re.compile(r"E: Version '[^']+' for '(?P<name>[^']+)' was not found"),
)
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")
_CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def check_system_packages(names: Iterable[str]) -> tuple[str, ...]:
    """Check that each name may be the name of a Debian package. So no option or command gets into a shell."""
    checked = sorted(set(names))
    for name in checked:
        if not _APT_NAME.fullmatch(name):
            raise PackageError(f"{name!r} is not the name of a Debian package.", package=name)
    return tuple(checked)


def install_steps(names: Sequence[str], with_authorities: bool) -> list[str]:
    """The steps of a Dockerfile that install system packages."""
    options, cleanup = "", "rm -rf /var/lib/apt/lists/* /var/cache/apt/*"
    steps = []
    if with_authorities:
        steps.append(f"COPY {AUTHORITIES} /tmp/{AUTHORITIES}")
        options = f" -o Acquire::https::CAInfo=/tmp/{AUTHORITIES}"
        cleanup += f" /tmp/{AUTHORITIES}"
    install = f"apt-get{options} install -y --no-install-recommends -- {' '.join(names)}"
    steps.append(f"RUN export DEBIAN_FRONTEND=noninteractive && apt-get{options} update && {install} && {cleanup}")
    return steps


def host_authorities(environ: Mapping[str, str]) -> bytes | None:
    """The host's CA bundle, if one is configured. It is not secret, and the build removes it at the end."""
    for variable in _CA_VARIABLES:
        with suppress(OSError):
            if path := environ.get(variable):
                return Path(path).read_bytes()
    return None


def host_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """The proxies as build arguments. The engine does not store arguments with these names in the image's history."""
    given = {name: environ.get(name) or environ.get(name.upper()) for name in _PROXIES}
    return {spelling: value for name, value in given.items() if value for spelling in (name, name.upper())}


def build_network(proxies: Mapping[str, str]) -> str | None:
    """The network of the build: "host" if a proxy runs on this machine, where no container can reach it; else None."""
    hosts = {urlsplit(address).hostname for name, address in proxies.items() if name.lower() != "no_proxy"}
    return "host" if hosts & {"localhost", "127.0.0.1", "::1"} else None


def apt_error(message: str, output: str) -> PackageError:
    """The error for a failed build. It names the package that caused it, if the output of apt does."""
    for fault in _APT_FAULTS:
        if found := fault.search(output):
            name = found["name"]
            return PackageError(f"Debian has no package {name} here.", hint="Check its spelling.", package=name)
    complaints = [line for line in output.splitlines() if line.startswith(("E: ", "W: Failed to fetch"))]
    if any("fetch" in line or "resolv" in line for line in complaints):
        return PackageError(
            "Debian's package mirror cannot be reached from a container.",
            why=complaints[0],
            hint="Check the proxy (http_proxy, https_proxy) and the engine's network.",
        )
    return PackageError("The image cannot be built.", why="\n".join(complaints[:5]) or message)


# Removal of unused images
#
# The engine may be shared, so only images of this package are removed: those with our label and exactly the name that
# this machine gave them, without a container, used on this machine before, but not for a month, and not in use by a
# process. The removal is not forced, so the engine can refuse it.

CLEANUP_SECONDS = 120


def clear_images(engine: DockerEngine, before: float) -> tuple[str, ...]:
    """Remove unused images."""
    client = engine.client(CLEANUP_SECONDS)
    try:
        busy = {container["ImageID"] for container in client.containers(all=True)}
        removed = [
            name
            for image in _own_images(client, "environment")
            if image["Id"] not in busy
            and image["Created"] < before
            and _remove_unused(client, name := _only_name(image), before)
        ]
        remaining = [_layers_of(client, image) for image in _own_images(client, "environment")]
        for image in _own_images(client, "shared"):
            layers = _layers_of(client, image)
            is_parent = any(other[: len(layers)] == layers for other in remaining)
            if image["Id"] in busy or image["Created"] >= before or is_parent:
                continue
            if _remove_unused(client, name := _only_name(image), before):
                removed.append(name)
        return tuple(removed)
    finally:
        client.close()


def sizes_of_images() -> list[int]:
    """The size in bytes of each image of this package in the engine.

    Raises:
        SandboxUnavailable, EngineGone: there is no engine, or it does not answer.
    """
    with engine_errors("The engine does not list its images."):
        client = find_engine().client(CLEANUP_SECONDS)
        try:
            return [int(image["Size"]) for kind in ("environment", "shared") for image in _own_images(client, kind)]
        finally:
            client.close()


def _own_images(client: APIClient, kind: str) -> Iterator[Mapping[str, Any]]:
    yield from client.images(filters={"label": f"{KIND}={kind}"})


def _only_name(image: Mapping[str, Any]) -> str:
    """The name of an image that has exactly one, else ""."""
    names: list[str] = image["RepoTags"] or []
    return names[0] if len(names) == 1 else ""


def _layers_of(client: APIClient, image: Mapping[str, Any]) -> list[str]:
    return list(client.inspect_image(image["Id"])["RootFS"]["Layers"])


def _remove_unused(client: APIClient, name: str, before: float) -> bool:
    """Remove the image if it is unused. Returns whether it was removed."""
    from docker.errors import APIError

    repository, _, key = name.partition(":")
    if repository not in (REPOSITORY, SHARED_NAME):
        return False
    if repository == SHARED_NAME:
        key = f"shared-{key}"
    use = use_file(key)
    if not 0 < modified(use) < before:
        return False
    with suppress(APIError, OSError), lock_if_unused(use) as unused:
        if unused:
            client.remove_image(name)
            lock_file(key).unlink(missing_ok=True)
            use.unlink()
            return True
    return False
