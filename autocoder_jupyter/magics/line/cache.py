"""`%autocode cache`: show the size and last use of environments, images, outcomes and runs, and remove unused ones."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.magics.arguments import Arguments
from autocoder_jupyter.magics.line.lookup import versions_of
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.versions.store import VERSIONS
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.amounts import counted

Row = tuple[str, str, str, str, str]

_LISTED = 20
"""Maximum number of environments that are listed one by one."""

_WITH_THE_BASE = frozenset({"iniconfig", "packaging", "pluggy", "pygments", "python-dateutil", "six", "tzdata"})
"""Packages that the base packages depend on."""

_DAY = 24 * 3600.0


def cache(notebook: Notebook, arguments: Arguments) -> None:
    """Show what is cached, or remove what is not used.

    Raises:
        InvalidRequest: the word is not `prune`, or a flag is given without it.
    """
    word = arguments.positional[0] if arguments.positional else ""
    flags = [f"--{flag}" for flag in ("all", "runs") if arguments.given.get(flag)]
    if word not in ("", "prune"):
        raise InvalidRequest(f"%autocode cache has no {visible(word)!r}.", hint="Write %autocode cache prune.")
    if flags and not word:
        raise InvalidRequest(f"{' '.join(flags)} is only for prune.", hint="Write %autocode cache prune.")
    if word:
        _prune(notebook, everything=bool(arguments.given.get("all")), runs=bool(arguments.given.get("runs")))
        return
    rows = [*_environments(), *_images(), _outcomes(), *_runs(notebook)]
    headings = ("kept", "size", "last used", "", "")
    notebook.show(markup.table(headings, rows), markup.columns([headings, *rows]))


def _prune(notebook: Notebook, *, everything: bool, runs: bool) -> None:
    from autocoder_jupyter.calls import function
    from autocoder_jupyter.concurrency.cache_folder import cache_folder
    from autocoder_jupyter.sandbox.environments import cleanup
    from autocoder_jupyter.versions import request_lock

    now = time.time()
    unused_since = now + 1 if everything else now - cleanup.UNUSED_DAYS * _DAY
    before = sum(one.bytes for one in cleanup.local_environments())
    cleanup.clear_local(unused_since)
    request_lock.remove_old(cache_folder(), unused_since)
    cleanup.prune_local(most=0 if everything else cleanup.most_bytes())
    left = cleanup.local_environments()
    print(f"Environments: {size_in_words(before - sum(one.bytes for one in left))} freed, {len(left)} left.")
    if everything:
        print(f"Outcomes of calls: {size_in_words(function.clear())} freed.")
    removed = _prune_images(now if everything else now - cleanup.UNUSED_DAYS * _DAY)
    if removed:
        print(f"Docker images: {counted(removed, 'image')} removed.")
    if runs:
        print(f"Failed runs: {counted(_prune_runs(notebook), 'run')} removed.")


def _environments() -> Iterator[Row]:
    from autocoder_jupyter.concurrency.cache_folder import cache_folder
    from autocoder_jupyter.sandbox.environments import cleanup

    found = cleanup.local_environments()
    size = sum(one.bytes for one in found)
    bound = f"at most {size_in_words(cleanup.most_bytes())} (AUTOCODE_CACHE_SIZE), {cleanup.UNUSED_DAYS} days unused"
    yield counted(len(found), "environment"), size_in_words(size), "", bound, str(cache_folder())
    for one in found[:_LISTED]:
        state = "in use" if one.in_use else ""
        yield f"  {one.folder.name[:8]}", size_in_words(one.bytes), _ago(one.used), state, _packages(one.folder)


def _packages(folder: Path) -> str:
    """The packages of an environment that are not base packages."""
    from autocoder_jupyter.sandbox.environments.locking import BASE_PACKAGES
    from autocoder_jupyter.sandbox.environments.pins import name_of

    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        names = [name_of(line) for line in json.loads((folder / "autocode.json").read_text("utf-8"))["lock"]]
        more = [name for name in names if name not in BASE_PACKAGES and name not in _WITH_THE_BASE]
        listed = ", ".join(more[:6]) + (f" and {len(more) - 6} more" if len(more) > 6 else "")
        return visible(listed) or "the base packages"
    return "damaged"


def _images() -> Iterator[Row]:
    from autocoder_jupyter.sandbox.docker.cleanup import sizes_of_images

    with suppress(AutocodeError):
        sizes = sizes_of_images()
        if sizes:
            note = "layers that images share are counted in each"
            yield counted(len(sizes), "Docker image"), size_in_words(sum(sizes)), "", note, ""


def _prune_images(before: float) -> int:
    from autocoder_jupyter.sandbox.docker.cleanup import clear_images
    from autocoder_jupyter.sandbox.docker.detection import find_engine

    with suppress(AutocodeError):
        return len(clear_images(find_engine(), before))
    return 0


def _outcomes() -> Row:
    from autocoder_jupyter.calls import function

    count, size = function.extent()
    bound = f"of calls; at most {size_in_words(function.MAX_BYTES)}, {function.MAX_OUTCOMES} outcomes"
    return counted(count, "outcome"), size_in_words(size), "", bound, ""


def _runs(notebook: Notebook) -> Iterator[Row]:
    """The runs of this folder, one row per name. Runs are never removed automatically."""
    from autocoder_jupyter.sandbox.environments.cleanup import modified, size_of

    root = notebook.journal_root
    homes = [] if root.is_symlink() else root.glob("*")
    for home in sorted(path for path in homes if path.is_dir() and not path.is_symlink()):
        below = home / VERSIONS
        moved = below.iterdir() if below.is_dir() and not below.is_symlink() else ()
        runs = [path for path in (*home.iterdir(), *moved) if path.is_dir() and path != below]
        newest = max(map(modified, runs), default=0.0)
        what, size = f"{counted(len(runs), 'run')} of {visible(home.name)}", size_in_words(size_of(home, set()))
        yield what, size, _ago(newest), "kept until you remove them", ""


def _prune_runs(notebook: Notebook) -> int:
    """Remove recorded runs that ended without a function. Running jobs and all functions are kept."""
    from autocoder_jupyter.sandbox.worker import removal

    removed = 0
    for home in notebook.journal_root.glob("*"):
        if not home.is_dir() or home.is_symlink():
            continue
        job = notebook.jobs.current(home.name)
        for version in versions_of(notebook, home.name).all():
            versions = versions_of(notebook, home.name)
            folder, run_id = notebook.journal_root.parent / versions.path(version.id), version.id
            if (
                version.report.success
                or folder.is_symlink()
                or (job is not None and not job.done and job.run_id == run_id)
            ):
                continue
            removal.remove(folder)
            removed += not folder.exists()
            versions.show_current()
    return removed


def size_in_words(size: int) -> str:
    """`0 MB`, `475 MB`, `3.5 GB`."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


def _ago(when: float) -> str:
    days = int(max(time.time() - when, 0.0) // _DAY)
    return "never" if not when else "today" if not days else f"{counted(days, 'day')} ago"
