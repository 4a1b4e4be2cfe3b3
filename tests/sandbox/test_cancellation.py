"""A cancelled build ends with all its processes, and does not block the next build."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autocoder_jupyter.concurrency.file_locks import exclusive
from autocoder_jupyter.errors import Cancelled
from autocoder_jupyter.sandbox.environments import uv
from autocoder_jupyter.sandbox.local.environments import build
from autocoder_jupyter.sandbox.protocol import (
    BuildWatch,
    CancellationToken,
    Environment,
    EnvironmentSpec,
    run_cancellable,
)
from tests.sandbox.wheelhouse import only_a_wheelhouse

HERE = sys.version_info[:2]

_PARENT_AND_CHILD = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
note = pathlib.Path(sys.argv[1])
note.with_suffix(".part").write_text(f"{os.getpid()} {child.pid}")
note.with_suffix(".part").rename(note)
time.sleep(600)
"""


class Building(threading.Thread):
    """A function on a separate thread, and how it ended."""

    def __init__(self, work: Callable[[CancellationToken], object]) -> None:
        super().__init__(daemon=True)
        self.stop = CancellationToken()
        self.value: object = None
        self.error: Exception | None = None
        self._work = work
        self.start()

    def run(self) -> None:
        try:
            self.value = self._work(self.stop)
        except Exception as error:
            self.error = error

    def stopped(self) -> None:
        """Cancel it, and check that it ends as cancelled."""
        self.stop.cancel()
        self.join(60)
        assert not self.is_alive() and isinstance(self.error, Cancelled), self.error


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def test_a_stopped_command_ends_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    command = [sys.executable, "-c", _PARENT_AND_CHILD, str(note)]
    building = Building(lambda token: run_cancellable(command, token=token))
    eventually(note.exists)
    pids = [int(pid) for pid in note.read_text().split()]
    assert all(map(lives, pids))
    building.stopped()
    eventually(lambda: not any(map(lives, pids)))


def test_nothing_begins_after_the_stop(tmp_path: Path) -> None:
    token = CancellationToken()
    token.cancel()
    with pytest.raises(Cancelled):
        run_cancellable([sys.executable, "-c", f"open({str(tmp_path / 'ran')!r}, 'w')"], token=token)
    assert not (tmp_path / "ran").exists()


def test_a_command_that_was_not_stopped_says_what_it_has_to_say() -> None:
    code = "import sys; print(sys.stdin.read()); print('oh', file=sys.stderr); sys.exit(3)"
    done = run_cancellable([sys.executable, "-c", code], token=CancellationToken(), input="hello")
    assert (done.returncode, done.stdout, done.stderr) == (3, "hello\n", "oh\n")


def test_who_waits_for_anothers_build_can_be_stopped_and_the_other_goes_on(tmp_path: Path) -> None:
    def wait(token: CancellationToken) -> None:
        with exclusive(tmp_path / "key.lock", token.raise_if_cancelled):
            pass

    with exclusive(tmp_path / "key.lock", CancellationToken().raise_if_cancelled):
        waiting, staying = Building(wait), Building(wait)
        waiting.stopped()
        assert staying.is_alive()
    staying.join(60)
    assert not staying.is_alive() and staying.error is None


@pytest.fixture
def slow_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, and a uv whose installation does not end while the file `slow` exists."""
    only_a_wheelhouse(tmp_path, monkeypatch)
    (tmp_path / "slow").touch()
    (tmp_path / "endless.py").write_text(_PARENT_AND_CHILD)
    script = tmp_path / "slow-uv"
    endless = f"{sys.executable} {tmp_path / 'endless.py'} {tmp_path / 'pids'}"
    condition = f'[ "$1 $2" = "pip install" ] && [ -e {tmp_path / "slow"} ]'
    script.write_text(f'#!/bin/sh\nif {condition}; then exec {endless}; fi\nexec {uv.find_uv()} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setattr(uv, "find_uv", lambda: str(script))
    return tmp_path


def test_a_stopped_build_leaves_nothing_and_the_one_that_waits_for_it_builds(slow_install: Path) -> None:
    spec, environments = EnvironmentSpec(("alpha",), HERE), slow_install / "cache" / "environments"
    first = Building(lambda token: build(spec, watch=BuildWatch(token=token)))
    eventually((slow_install / "pids").exists)
    pids = [int(pid) for pid in (slow_install / "pids").read_text().split()]
    second = Building(lambda token: build(spec, watch=BuildWatch(token=token)))
    (slow_install / "slow").unlink()
    assert second.is_alive()
    first.stopped()
    eventually(lambda: not any(map(lives, pids)))
    second.join(60)
    assert second.error is None and isinstance(second.value, Environment)
    assert [folder.name for folder in environments.iterdir() if folder.is_dir()] == [second.value.key]


def test_a_stopped_build_of_its_own_leaves_no_half_environment(slow_install: Path) -> None:
    building = Building(lambda token: build(EnvironmentSpec(("alpha",), HERE), watch=BuildWatch(token=token)))
    eventually((slow_install / "pids").exists)
    building.stopped()
    assert not [folder for folder in (slow_install / "cache" / "environments").iterdir() if folder.is_dir()]
