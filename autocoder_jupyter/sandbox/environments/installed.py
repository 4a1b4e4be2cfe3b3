"""The environments on this machine: their use, their bytecode, damaged files, and the removal of old ones."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.concurrency import file_locks
from autocoder_jupyter.concurrency.cache_folder import cache_folder
from autocoder_jupyter.concurrency.file_locks import lock_if_unused
from autocoder_jupyter.sandbox.environments.locking import LEFT_OVER
from autocoder_jupyter.sandbox.protocol import CancellationToken, run_cancellable
from autocoder_jupyter.sandbox.worker import removal
from autocoder_jupyter.types import parse_memory

# Use
#
# A process that uses an environment has a shared lock on its usage file until the process ends. The time of the file is
# that of the last use.

_lock = threading.Lock()
_held: dict[str, int] = {}
"""The descriptor of each locked usage file, by its path."""


def mark_used(file: Path) -> None:
    """Mark the environment of a usage file as used until this process ends. Waits if it is just being removed."""
    with suppress(OSError):  # a cache that cannot be written cannot be cleaned up, either
        with _lock:
            if file_locks.SUPPORTED and not _is_held(file):
                _held[str(file)] = _locked(file)
        os.utime(file)


def _is_held(file: Path) -> bool:
    """Whether this process has the lock. A lock on a file that was removed with the cache does not count."""
    descriptor = _held.get(str(file))
    if descriptor is None or os.fstat(descriptor).st_nlink:
        return descriptor is not None
    os.close(_held.pop(str(file)))
    return False


def _locked(file: Path) -> int:
    while True:
        descriptor = file_locks.open_lock(file)
        file_locks.take_shared(descriptor)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # the file was removed during the wait


# Bytecode
#
# It is compiled in advance, because a sandbox cannot write it. Without it a worker would compile pandas at each start
# (measured: seconds instead of 0.6 s). Compiling takes seconds, too, so the bytecode of the most similar environment is
# reused by hard links. Python checks by time and size that bytecode belongs to its source, and the hard links of uv do
# not change these.

_SKIPPED = frozenset({"tests", "test"})


def remove_shipped_bytecode(site_packages: Path) -> None:
    """Remove the bytecode that is part of packages.

    A package could ship bytecode for the sources of another one, and `adopt_bytecode` would copy it into further
    environments.
    """
    for parent, folders, _ in os.walk(site_packages):
        if "__pycache__" in folders:
            shutil.rmtree(Path(parent, "__pycache__"))
            folders.remove("__pycache__")


def adopt_bytecode(site_packages: Path, neighbour: Path) -> None:
    """Link the bytecode of another environment for all modules whose source is the same file in both."""
    for source in _sources(neighbour):
        twin = site_packages / source.relative_to(neighbour)
        if not _same_file(source, twin):
            continue
        for compiled in (source.parent / "__pycache__").glob(f"{source.stem}.*.pyc"):
            target = twin.parent / "__pycache__" / compiled.name
            target.parent.mkdir(exist_ok=True)
            if not target.exists():
                os.link(compiled, target)


def compile_missing(site_packages: Path, python: str, cache_tag: str, token: CancellationToken) -> None:
    """Compile all modules without bytecode, except tests of libraries. Modules that do not compile are skipped."""
    missing = [str(source) for source in _sources(site_packages) if not _compiled(source, cache_tag).exists()]
    if not missing:
        return
    jobs = "0" if len(missing) > 200 else "1"
    # This runs outside of the sandbox. So the base interpreter is used, which no package can change, and the option -S,
    # so that no `.pth` file and no `sitecustomize` runs.
    compiler = [python, "-I", "-S", "-m", "compileall", "-qq", "-j", jobs, "-i", "-"]
    run_cancellable(compiler, input="\n".join(missing), token=token)


def cache_tag(python_version: tuple[int, int]) -> str:
    """The part of the name of a bytecode file that identifies the interpreter: `cpython-311`."""
    return "cpython-" + "".join(map(str, python_version))


def _compiled(source: Path, tag: str) -> Path:
    return source.parent / "__pycache__" / f"{source.stem}.{tag}.pyc"


def _sources(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED and name != "__pycache__"]
        yield from (Path(parent, name) for name in files if name.endswith(".py"))


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


# Damaged files
#
# The folder of an environment is compared with a list of its files, which is written after the installation, and with
# the records of its packages. A file that is truncated in place is also truncated in uv's cache, because both are hard
# links to one file. So the distribution of a damaged file must be found and removed from the cache.

LIST = "files.json"
"""The name of the list in the folder of an environment: a JSON object with the size of each file by its path."""


@dataclass(frozen=True)
class Differences:
    """The files that differ from the list, as paths relative to the folder, with slashes."""

    missing: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def in_words(self) -> str:
        """The difference as a part of a sentence; "" if there is none."""
        count = len(self.missing) + len(self.changed)
        if not count:
            return ""
        first = Path((*self.changed, *self.missing)[0]).name
        kind = "have another size" if self.changed else "are missing"
        return f"{count} of its files {kind}, {first} first" if count > 1 else f"its file {first} is damaged"


def write_list(folder: Path) -> None:
    """Write the list of the present files of a folder."""
    (folder / LIST).write_text(json.dumps(_sizes(folder)), "utf-8")


def differences(folder: Path) -> Differences:
    """The differences between a folder and its list. There are none if it has no list."""
    expected = read_list(folder)
    now = _sizes(folder)
    return Differences(
        missing=tuple(path for path in expected if path not in now),
        changed=tuple(path for path, size in expected.items() if now.get(path, size) != size),
    )


def read_list(folder: Path) -> Mapping[str, int]:
    """The list of a folder: the size of each file by its path; {} if it cannot be read."""
    try:
        found = json.loads((folder / LIST).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def distributions_with(site_packages: Path, paths: Collection[Path]) -> list[str]:
    """The distributions to which these files belong."""
    wanted = set(paths)
    found = set()
    for information, files in _recorded(site_packages):
        if wanted & {site_packages / path for path, _ in files} or any(information in path.parents for path in wanted):
            found.add(_distribution(information))
    return sorted(found)


def damaged_distributions(site_packages: Path) -> list[str]:
    """The distributions with a file whose size differs from the size in the record of their wheel."""
    return sorted(
        {
            _distribution(information)
            for information, files in _recorded(site_packages)
            if any(size is not None and _size(site_packages / path) != size for path, size in files)
        }
    )


def _recorded(site_packages: Path) -> Iterator[tuple[Path, list[tuple[str, int | None]]]]:
    """For each distribution its `.dist-info` folder, and its files with their sizes (None if not recorded)."""
    for information in site_packages.glob("*.dist-info"):
        try:
            rows = list(csv.reader((information / "RECORD").read_text("utf-8").splitlines()))
        except (OSError, ValueError, csv.Error):
            rows = []
        yield (
            information,
            [
                (row[0], int(row[2]) if row[2].isdecimal() and len(row[2]) < 16 else None)
                for row in rows
                if len(row) == 3 and not _leads_outside(row[0]) and "__pycache__" not in row[0]
            ],
        )


def _leads_outside(path: str) -> bool:
    return Path(path).is_absolute() or ".." in Path(path).parts


def _distribution(information: Path) -> str:
    return information.name.partition("-")[0]


def _sizes(folder: Path) -> dict[str, int]:
    """The size of each file below a folder, by its path. Paths are strings, because there are thousands of files."""
    sizes = {}
    root = str(folder)
    for parent, _, files in os.walk(root):
        below = parent[len(root) :].replace(os.sep, "/").strip("/")
        prefix = f"{below}/" if below else ""
        for name in files:
            relative = prefix + name
            if relative != LIST and (size := _size(f"{parent}{os.sep}{name}")) is not None:
                sizes[relative] = size
    return sizes


def _size(path: str | Path) -> int | None:
    """The size of a regular file; None if it is missing or of another kind."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


# Removal
#
# Environments that were not used for a month are removed, and the least recently used ones if all take too much space.
# Both run in the background after a build; the first at most once a day.

UNUSED_DAYS = 30
"""Days after which an unused environment is removed."""

DEFAULT_SIZE = "10Gi"
"""Most space of all environments together. It is enough for about thirty with large libraries."""

_DAY = 24 * 3600.0


def daily(name: str, work: Callable[[float], object]) -> threading.Thread | None:
    """Run a cleanup on a daemon thread, unless a process of this machine did it within a day."""
    stamp = cache_folder() / f"{name}.cleared"
    now = time.time()
    try:
        if modified(stamp) > now - _DAY:
            return None
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
    except OSError:
        return None

    def clear() -> None:
        with suppress(Exception):  # no caller waits for it, and it will run again after a day
            work(now - UNUSED_DAYS * _DAY)

    thread = threading.Thread(target=clear, name="autocode-upkeep", daemon=True)
    thread.start()
    return thread


def most_bytes() -> int:
    """The limit for all environments in bytes. `AUTOCODE_CACHE_SIZE` overrides it, for example with `20Gi`."""
    with suppress(ValueError):
        return parse_memory(os.environ.get("AUTOCODE_CACHE_SIZE") or DEFAULT_SIZE)
    return parse_memory(DEFAULT_SIZE)


def keep_within_bound() -> threading.Thread:
    """Remove the least recently used environments until the limit is met. It runs on a daemon thread."""
    thread = threading.Thread(target=lambda: prune_local(most=most_bytes()), name="autocode-upkeep", daemon=True)
    thread.start()
    return thread


def prune_local(*, most: int) -> int:
    """Remove environments that no process uses, the least recently used first, until all take at most `most` bytes."""
    left = local_environments()
    total, freed = sum(one.bytes for one in left), 0
    for one in reversed(left):
        if total - freed <= most:
            break
        with suppress(OSError):
            _clear_environment(one.folder, math.inf)
        freed += one.bytes * (not one.folder.exists())
    return freed


@dataclass(frozen=True)
class StoredEnvironment:
    """An environment on disk.

    Args:
        bytes: its size, without files that it shares with a more recently used environment.
        used: time of its last use, in seconds since 1970.
    """

    folder: Path
    bytes: int
    used: float
    in_use: bool


def local_environments() -> list[StoredEnvironment]:
    """The virtual environments in the cache of this machine, the most recently used first."""
    folders = [path for path in (cache_folder() / "environments").glob("*") if path.is_dir() and "." not in path.name]
    used = {folder: max(modified(folder.with_suffix(".use")), modified(folder)) for folder in folders}
    seen: set[tuple[int, int]] = set()
    return [
        StoredEnvironment(folder, size_of(folder, seen), used[folder], _is_in_use(folder))
        for folder in sorted(folders, key=lambda folder: used[folder], reverse=True)
    ]


def size_of(folder: Path, seen: set[tuple[int, int]]) -> int:
    """The bytes of the files below a folder. A file with several hard links is counted once."""
    size = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                status = Path(parent, name).lstat()
                if (status.st_dev, status.st_ino) not in seen:
                    seen.add((status.st_dev, status.st_ino))
                    size += status.st_size
    return size


def _is_in_use(folder: Path) -> bool:
    use = folder.with_suffix(".use")
    if not use.exists():
        return False
    try:
        with lock_if_unused(use) as unused:
            return not unused
    except OSError:
        return True


def modified(file: Path) -> float:
    """When a file or folder was last changed, in seconds since 1970; 0 if it does not exist."""
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def clear_local(before: float) -> None:
    """Remove old virtual environments, folders of interrupted builds, and old resolved locks of packages."""
    environments = cache_folder() / "environments"
    for key in sorted({entry.name.partition(".")[0] for entry in environments.glob("*")}):
        with suppress(OSError):
            _clear_environment(environments / key, before)
    for file in (cache_folder() / "locks").glob("*"):
        with suppress(OSError):
            if modified(file) < before:
                file.unlink()


def _clear_environment(folder: Path, before: float) -> None:
    use = folder.with_suffix(".use")
    if max(modified(use), modified(folder)) >= before:
        return
    with lock_if_unused(use) as unused:
        if not unused:
            return
        # A build first marks its environment as used. So no build of it is running or waiting now.
        gone = [*folder.parent.glob(f"{folder.name}{LEFT_OVER}*")]
        if folder.exists():
            gone.append(Path(tempfile.mkdtemp(prefix=f"{folder.name}{LEFT_OVER}", dir=folder.parent)))
            folder.rename(gone[-1] / folder.name)
        folder.with_suffix(".lock").unlink(missing_ok=True)
        use.unlink()
    for left_over in gone:
        removal.remove(left_over)
