"""Limits of memory and processes of a local worker that the kernel enforces, if control groups are delegated.

`make test-kernel` runs these tests in a guest whose users have such groups.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autocoder_jupyter.sandbox.local import control_groups, trial
from autocoder_jupyter.sandbox.local.control_groups import ControlGroup, NotDelegated
from autocoder_jupyter.sandbox.local.process import LocalProcess
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox, _start_trial
from autocoder_jupyter.sandbox.local.trial import read_all
from autocoder_jupyter.sandbox.protocol import WorkerLimits
from tests.sandbox.sandboxes import SECONDS, open_sandbox

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="control groups are Linux's")

MIB = 2**20


# Where a group can be made


def machine(tmp_path: Path, *, mount: str = "cgroup2", controllers: str = "cpu memory pids", group: str = "") -> Path:
    """The files of /proc for a process in a session whose user's groups are in `tmp_path/groups`."""
    session = tmp_path / "groups/user/app/session"
    session.mkdir(parents=True)
    for folder in (session, *session.parents[:3]):
        (folder / "cgroup.procs").touch()
        (folder / "cgroup.subtree_control").write_text(controllers if folder.name == "user" else "")
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text(f"4:memory:/x\n0::{group or '/user/app/session'}\n")
    (proc / "mountinfo").write_text(f"30 20 0:26 / {tmp_path}/groups rw,nosuid - {mount} cgroup2 rw\n")
    return proc


@pytest.fixture
def no_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_groups, "_SYSTEMD", Path("/nowhere"))


@pytest.mark.usefixtures("no_systemd")
def test_the_nearest_group_that_hands_both_controllers_down_is_taken(tmp_path: Path) -> None:
    assert control_groups.delegated(machine(tmp_path)) == str(tmp_path / "groups/user")


@pytest.mark.usefixtures("no_systemd")
@pytest.mark.parametrize(
    ("otherwise", "words"),
    [
        ({"mount": "cgroup"}, "version 2"),
        ({"controllers": "memory"}, "hands memory and processes"),
        ({"group": "/elsewhere"}, "hands memory and processes"),
    ],
    ids=["first version", "no limit of processes", "another place"],
)
def test_where_there_is_none_the_reason_is_told(tmp_path: Path, otherwise: dict[str, str], words: str) -> None:
    with pytest.raises(NotDelegated, match=words):
        control_groups.delegated(machine(tmp_path, **otherwise))


@pytest.mark.usefixtures("no_systemd")
def test_a_group_of_another_user_is_none_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proc = machine(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(NotDelegated):
        control_groups.delegated(proc)


def test_where_systemd_runs_the_machine_a_user_is_told_the_way_and_root_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_groups, "_SYSTEMD", tmp_path)
    proc = machine(tmp_path, controllers="")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NotDelegated, match="systemd-run --user --scope"):
        control_groups.delegated(proc)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(NotDelegated, match="systemd manages"):
        control_groups.delegated(proc)


# A real group


@pytest.fixture(scope="module")
def parent() -> str:
    """The folder for the groups of workers. Skips the test with the reason if there is none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "_SECONDS", max(60.0, SECONDS))  # a busy emulated machine needs more than a minute
        open_sandbox("local")
        found = trial.tier_trial(_start_trial)
    if not found.group:
        assert "AUTOCODE_TEST_CONTROL_GROUP" not in os.environ, found.not_counted
        pytest.skip(f"no control groups here: {found.not_counted}")
    return found.group


@pytest.fixture
def nothing_left(parent: str) -> Iterator[None]:
    """Check that no group of a worker remains."""
    before = set(control_groups._worker_groups(Path(parent)))
    yield
    deadline = time.monotonic() + 30
    while (left := set(control_groups._worker_groups(Path(parent))) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def run(parent: str, script: str, limits: WorkerLimits) -> LocalProcess:
    tier = trial.tier_trial(_start_trial).tier
    assert tier is not None
    return _start_trial(tier, ["-I", "-S", "-B", "-c", script], limits, parent)


def ended(process: LocalProcess) -> str:
    printed = read_all(process.data.fileno()).decode()
    process.exit_reason()
    return printed


@pytest.mark.local_sandbox
@pytest.mark.usefixtures("nothing_left")
def test_memory_beyond_the_limit_ends_the_worker_and_is_told_as_ever(parent: str) -> None:
    script = "held = b'x' * (50 << 20)\nprint(len(held), flush=True)\nheld = b'x' * (200 << 20)\nprint('more')"
    process = run(parent, script, WorkerLimits(memory=100 * MIB))
    assert ended(process) == f"{50 * MIB}\n"
    reason = process.exit_reason()
    process.kill()
    assert reason.out_of_memory
    assert reason.text == "It used more than 100 MiB of memory."


@pytest.mark.local_sandbox
@pytest.mark.usefixtures("nothing_left")
def test_memory_of_all_processes_and_of_the_kernel_for_them_counts(parent: str) -> None:
    in_sockets = (
        "import os, socket, time\nkept = []\n"
        "for _ in range(3): os.fork()\n"
        "for _ in range(300):\n"
        "    for end in (pair := socket.socketpair()):\n"
        "        end.setblocking(False)\n"
        "        try:\n"
        "            while True: end.send(b'x' * 32768)\n"
        "        except BlockingIOError: kept.append(pair)\n"
        "time.sleep(600)"
    )
    process = run(parent, in_sockets, WorkerLimits(memory=100 * MIB))
    ended(process)
    assert process.exit_reason().out_of_memory
    process.kill()


@pytest.mark.local_sandbox
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    "one_more", ["os.fork() or time.sleep(99)", "threading.Thread(target=time.sleep, args=(99,)).start()"]
)
def test_one_process_or_thread_too_many_is_refused(parent: str, one_more: str) -> None:
    script = (
        "import os, threading, time\ncount = 1\ntry:\n"
        f"    while True:\n        {one_more}\n        count += 1\n"
        "except (OSError, RuntimeError): print(count, flush=True)\nos._exit(0)"
    )
    process = run(parent, script, WorkerLimits(processes=8))
    assert ended(process) == "8\n"
    process.kill()


@pytest.mark.local_sandbox
@pytest.mark.usefixtures("nothing_left")
def test_a_supervisor_that_is_killed_leaves_neither_processes_nor_a_group(parent: str) -> None:
    process = run(
        parent, "import os, time\nfor _ in range(3): os.fork()\nprint(1, flush=True)\ntime.sleep(600)", WorkerLimits()
    )
    os.read(process.data.fileno(), 1)
    assert process.supervisor._group is not None
    members = process.supervisor._group.path / "cgroup.procs"
    assert len(members.read_text().split()) >= 2
    os.kill(process.supervisor.pid, signal.SIGKILL)
    process.kill()
    assert not members.exists()


@pytest.mark.local_sandbox
def test_a_group_that_nobody_locks_any_more_is_removed_by_the_next_worker(
    parent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state after a notebook and its supervisor were both killed."""
    abandoned = Path(parent, f"{control_groups.PREFIX}abandoned")
    abandoned.mkdir()
    lost = os.fork()
    if not lost:
        ControlGroup(parent, abandoned.name).enter()
        time.sleep(600)
    while str(lost) not in (abandoned / "cgroup.procs").read_text().split():
        time.sleep(0.01)
    control_groups._remove_abandoned(Path(parent))
    assert abandoned.exists()  # it is young
    monkeypatch.setattr(control_groups, "_YOUNG_SECONDS", -1)
    locked = ControlGroup(parent, f"{control_groups.PREFIX}locked")
    locked.make(memory=100 * MIB, processes=10)
    assert not abandoned.exists()
    assert os.waitpid(lost, 0)[1] == signal.SIGKILL
    control_groups._remove_abandoned(Path(parent))
    assert locked.path.exists()
    locked.end()
    assert not locked.path.exists()


@pytest.mark.local_sandbox
def test_doctor_says_by_whom_memory_and_processes_are_held(parent: str) -> None:
    assert "the kernel limits" in LocalSandbox().probe().details["limits"]


@pytest.mark.local_sandbox
def test_where_no_group_can_be_made_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    open_sandbox("local")

    def refuse() -> str:
        raise NotDelegated("no such group")

    monkeypatch.setattr(trial, "_answer", None)
    monkeypatch.setattr(trial, "delegated", refuse)
    limits = LocalSandbox().probe().details["limits"]
    assert "a supervisor checks" in limits
    assert "no such group" in limits
