"""Environments that were not used for a month are removed, and nothing else."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from autocoder_jupyter.concurrency.file_locks import lock_if_unused
from autocoder_jupyter.sandbox.environments import installed
from autocoder_jupyter.sandbox.environments.installed import (
    clear_local,
    daily,
    local_environments,
    mark_used,
    prune_local,
)

MONTH = 31 * 24 * 3600.0


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(installed, "_held", {})
    yield tmp_path
    for descriptor in installed._held.values():
        os.close(descriptor)


def aged(path: Path, seconds: float = MONTH) -> Path:
    os.utime(path, (time.time() - seconds,) * 2)
    return path


def environment(cache: Path, key: str, *, age: float = MONTH) -> Path:
    """An environment that was last used this number of seconds ago, by a process that has ended."""
    folder = cache / "environments" / key
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "module.py").write_text("x = 1\n")
    for file in (folder.with_suffix(".use"), folder.with_suffix(".lock")):
        file.touch()
        aged(file, age)
    return aged(folder, age)


def clear() -> None:
    clear_local(time.time() - 30 * 24 * 3600.0)


def names(cache: Path) -> list[str]:
    return sorted(entry.name for entry in (cache / "environments").iterdir())


def test_an_environment_that_was_not_used_for_a_month_is_removed_with_its_locks(cache: Path) -> None:
    environment(cache, "old")
    environment(cache, "new", age=MONTH / 2)
    clear()
    assert names(cache) == ["new", "new.lock", "new.use"]


def test_use_makes_it_young_again(cache: Path) -> None:
    used = environment(cache, "used").with_suffix(".use")
    mark_used(used)
    os.close(installed._held.pop(str(used)))  # as if this process had ended
    clear()
    assert "used" in names(cache)


def _use(file: Path, pipe: Connection) -> None:
    mark_used(file)
    pipe.send("used")
    pipe.recv()


def test_what_a_living_process_uses_stays_however_old_it_is(cache: Path) -> None:
    folder = environment(cache, "held")
    ours, theirs = multiprocessing.Pipe()
    user = multiprocessing.get_context("spawn").Process(target=_use, args=(folder.with_suffix(".use"), theirs))
    user.start()
    assert ours.recv() == "used"
    aged(folder.with_suffix(".use"))
    clear()
    assert names(cache) == ["held", "held.lock", "held.use"]
    user.kill()
    user.join()
    clear()
    assert names(cache) == []


def test_what_a_dead_build_left_is_removed_and_what_a_living_one_makes_is_not(cache: Path) -> None:
    for key in ("dead", "living"):
        environment(cache, key)
        (cache / "environments" / f"{key}.tmp-1" / "environment").mkdir(parents=True)
    living = cache / "environments" / "living.use"
    mark_used(living)
    aged(living)
    clear()
    assert names(cache) == ["living", "living.lock", "living.tmp-1", "living.use"]


def test_resolved_locks_go_when_they_are_old(cache: Path) -> None:
    (cache / "locks").mkdir()
    for name in ("old", "new"):
        (cache / "locks" / f"{name}.json").write_text("[]")
    aged(cache / "locks" / "old.json")
    clear()
    assert [file.name for file in (cache / "locks").iterdir()] == ["new.json"]


def test_who_locks_while_it_is_removed_gets_a_lock_that_counts(cache: Path) -> None:
    file = environment(cache, "contested").with_suffix(".use")
    with lock_if_unused(file) as unused:
        assert unused
        file.unlink()
    mark_used(file)
    with lock_if_unused(file) as unused:
        assert not unused


def test_it_is_done_once_a_day_in_the_background(cache: Path) -> None:
    done: list[float] = []
    first = daily("things", done.append)
    assert first is not None and first.daemon
    first.join(60)
    assert daily("things", done.append) is None
    aged(cache / "things.cleared", 25 * 3600)
    again = daily("things", done.append)
    assert again is not None
    again.join(60)
    assert len(done) == 2 and all(abs(time.time() - 30 * 24 * 3600 - before) < 60 for before in done)


def test_a_failure_is_nobodys_problem(cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def fail(before: float) -> None:
        raise RuntimeError("no")

    thread = daily("failing", fail)
    assert thread is not None
    thread.join(60)
    assert capfd.readouterr() == ("", "")


def test_a_cache_that_cannot_be_written_is_left_alone(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "file").touch()
    monkeypatch.setenv("AUTOCODE_CACHE_DIR", str(cache / "file"))
    assert installed.daily("things", _never) is None
    mark_used(cache / "file" / "environments" / "x.use")


_never: Callable[[float], None] = pytest.fail  # type: ignore[assignment]


def filled(folder: Path, size: int) -> Path:
    (folder / "lib" / "data.bin").write_bytes(b"x" * size)
    return folder


def test_what_was_used_longest_ago_goes_first_where_all_take_too_much(cache: Path) -> None:
    for age, key in enumerate(("newest", "middle", "oldest")):
        filled(environment(cache, key, age=100.0 * (age + 1)), 1000)
    assert prune_local(most=2500) > 1000
    assert [one.folder.name for one in local_environments()] == ["newest", "middle"]


def test_what_a_living_process_uses_is_no_room_to_be_had(cache: Path) -> None:
    filled(environment(cache, "used"), 1000)
    mark_used(cache / "environments" / "used.use")
    assert prune_local(most=0) == 0
    (left,) = local_environments()
    assert left.in_use and left.bytes > 1000


def test_a_file_with_many_names_is_counted_where_it_was_used_last(cache: Path) -> None:
    new, old = environment(cache, "new", age=10.0), environment(cache, "old", age=100.0)
    filled(new, 5000)
    os.link(new / "lib" / "data.bin", old / "lib" / "data.bin")
    sizes = {one.folder.name: one.bytes for one in local_environments()}
    assert sizes["new"] > 5000 > 100 > sizes["old"] > 0


@pytest.mark.parametrize(("said", "size"), [("", 10 * 2**30), ("2Gi", 2 * 2**30), ("a lot", 10 * 2**30)])
def test_the_bound_is_the_persons_where_it_can_be_read(said: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCODE_CACHE_SIZE", said)
    assert installed.most_bytes() == size
