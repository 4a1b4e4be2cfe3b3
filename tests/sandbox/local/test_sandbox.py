"""The local sandbox from outside: what it allows, its errors, and what it leaves behind."""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from autocoder_jupyter.errors import PackageError, SandboxError, SandboxTimeout, SandboxUnavailable, SolutionError
from autocoder_jupyter.sandbox import temporary_folder
from autocoder_jupyter.sandbox.host.capacity import note_borrowed, note_returned
from autocoder_jupyter.sandbox.local import limits, process_tree, supervision, trial
from autocoder_jupyter.sandbox.local.confinement import kernel_features
from autocoder_jupyter.sandbox.local.confinement.notices import Judge
from autocoder_jupyter.sandbox.local.confinement.process import TIERS, ConfinementTier
from autocoder_jupyter.sandbox.local.limits import WatchedWorker
from autocoder_jupyter.sandbox.local.messages import AT_REST, AT_WORK, Policy, TreeEnding
from autocoder_jupyter.sandbox.local.process import LocalProcess, cores_of, worker_policy
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox, _start, _start_trial
from autocoder_jupyter.sandbox.local.supervision import OneWorker
from autocoder_jupyter.sandbox.local.trial import read_all
from autocoder_jupyter.sandbox.protocol import Environment, EnvironmentSpec, WorkerLimits, WorkerSpec
from autocoder_jupyter.sandbox.temporary_folder import Use, make_folder, remove_abandoned
from autocoder_jupyter.sandbox.worker import removal
from tests.sandbox.sandboxes import say

A_MOMENT = 30.0
"""Seconds that are enough on a busy machine, and far fewer than the program itself would need."""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the local sandbox is Linux's")

MIB = 2**20


def granted(folder: Path, command: Sequence[str] = (), **options: Any) -> Policy:
    """The policy of a worker with few permissions."""
    usual: dict[str, Any] = {"prefixes": (), "packages": (), "limits": WorkerLimits()}
    usual |= {"network": False, "tier": "full"} | options
    return worker_policy(command, folder, cores=cores_of(usual["limits"].cpu), **usual)


def policy(folder: Path, script: str, tier: ConfinementTier | None = None, **limits: int) -> Policy:
    """A policy that runs a Python script without packages, on the strongest tier of this machine."""
    prefixes = (sys.base_prefix, str(Path(sys.base_prefix).resolve()))
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    command = [python, "-I", "-S", "-B", "-c", script]
    held_by = tier or trial.tier_trial(_start_trial).tier or TIERS[0]
    return granted(folder, command, prefixes=prefixes, limits=WorkerLimits(**limits), tier=held_by.name)


def run(script: str, **limits: Any) -> LocalProcess:
    return _start(lambda folder: policy(folder, script, **limits))


def ended(process: LocalProcess) -> str:
    """Wait until the process has ended. Returns its output."""
    return read_all(process.data.fileno()).decode()


def gone(pid: int, seconds: float = 60.0) -> bool:
    """Whether a process ends in time; its streams close shortly before it does."""
    deadline = time.monotonic() + seconds
    while not process_tree.is_zombie(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


# What it allows


def test_the_interpreters_prefix_is_granted_in_parts_because_it_may_be_a_home(tmp_path: Path) -> None:
    for name in ("bin", "lib", ".ssh"):
        (tmp_path / name).mkdir()
    readable = granted(tmp_path, prefixes=[str(tmp_path)]).readable
    assert str(tmp_path / "lib") in readable
    assert not {str(tmp_path), str(tmp_path / ".ssh")} & set(readable)


def test_files_for_the_network_are_granted_only_with_it(tmp_path: Path) -> None:
    offline, online = (set(granted(tmp_path, network=network).readable) for network in (False, True))
    assert all(path.startswith("/etc/") for path in online - offline)
    assert not offline & {"/etc", "/home", "/root", "/proc", "/tmp", tempfile.gettempdir(), str(Path.home())}


def test_the_worker_sees_no_variable_of_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    seen = granted(tmp_path).environment
    assert set(seen) == {"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ"}


@pytest.mark.parametrize(("cpu", "cores", "share"), [(0.5, 1, 50), (1.0, 1, None), (1.5, 2, None), (1000, None, None)])
def test_cores_are_bound(tmp_path: Path, cpu: float, cores: int | None, share: int | None) -> None:
    usable = len(os.sched_getaffinity(0))
    made = granted(tmp_path, limits=WorkerLimits(cpu=cpu))
    assert len(made.cores) == min(cores or usable, usable)
    assert made.share_of_core == share


def test_a_new_worker_has_cores_that_nobody_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})

    class Borrowed:
        def __init__(self, core: int) -> None:
            self.cores = (core,)

    borrowed: Any = [Borrowed(1), Borrowed(2)]
    for worker in borrowed:
        note_borrowed(worker)
    try:
        assert sorted(cores_of(1)[0] for _ in range(4)) == [0, 0, 3, 3]
        assert cores_of(2) == [0, 3] and len(set(cores_of(3))) == 3
    finally:
        for worker in borrowed:
            note_returned(worker)
    assert sorted(cores_of(1)[0] for _ in range(4)) == [0, 1, 2, 3]


def test_system_packages_are_refused_with_the_way_out() -> None:
    with pytest.raises(SandboxUnavailable, match="docker"):
        LocalSandbox().build(EnvironmentSpec((), (3, 11), system_packages=("libgomp1",)))


# Errors when it is not available


@pytest.mark.usefixtures("forgetful_probe")
def test_a_kernel_without_landlock_is_told_and_root_is_not_held_by_namespaces_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel_features, "landlock_version", lambda: 0)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    probe = LocalSandbox().probe()
    assert not probe.available
    assert "has no Landlock" in probe.reason
    assert "root could change the kernel's settings" in probe.reason


@pytest.mark.usefixtures("forgetful_probe")
@pytest.mark.local_sandbox
def test_it_holds_where_the_temporary_folder_has_a_long_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("d" * 120)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    assert LocalSandbox().probe().available


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the system files that describe a machine: an ordinary one, for a user."""
    monkeypatch.setattr(trial, "_ROOT", tmp_path)
    monkeypatch.setattr(trial, "_OWN", tmp_path / "self")
    monkeypatch.setattr(trial, "_SETTINGS", tmp_path)
    monkeypatch.setattr(trial, "_SECURITY_MODULES", tmp_path / "lsm")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return tmp_path


def _tell(machine: Path, file: str, text: str) -> None:
    (machine / file).parent.mkdir(parents=True, exist_ok=True)
    (machine / file).write_text(text, "ascii")


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        (".dockerenv", "", "seccompProfile"),
        ("dev/termination-log", "", "seccompProfile"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1\n", "apparmor_restrict_unprivileged_userns=0"),
        ("kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0\n", "user.max_user_namespaces=10000"),
        ("user/max_user_namespaces", "31000\n", ""),
    ],
)
def test_what_would_give_namespaces_is_told(machine: Path, file: str, text: str, words: str) -> None:
    _tell(machine, file, text)
    by_landlock = trial.TierTrial(TIERS[1], {"full": "namespaces cannot be made here"}).probe()
    assert by_landlock.available
    assert words in by_landlock.details.get("for more", "")
    assert words in trial.TierTrial(None, {"full": "no"}).probe().reason
    assert "for more" not in trial.TierTrial(TIERS[0]).probe().details


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("lsm", "capability,yama", "lsm=landlock,capability,yama on the kernel's command line"),
        (".dockerenv", "", "allows landlock_create_ruleset"),
        ("nothing", "", ""),
    ],
)
def test_what_would_give_landlock_is_told(
    machine: Path, file: str, text: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_features, "landlock_version", lambda: 0)
    _tell(machine, file, text)
    details = trial.TierTrial(TIERS[2], {"full": "no Landlock"}).probe().details
    assert words in details.get("for more", "")
    assert "seccompProfile" not in details.get("for more", "")  # it has namespaces


def test_in_a_container_a_setting_of_the_machine_around_it_is_told_first(machine: Path) -> None:
    _tell(machine, ".dockerenv", "")
    _tell(machine, "user/max_user_namespaces", "0")
    advice = trial.TierTrial(TIERS[1], {"full": "no"}).probe().details["for more"]
    assert "on the machine around this container, sysctl user.max_user_namespaces" in advice
    assert "seccomp" not in advice


_APPARMOR = "self/attr/apparmor/current"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"self/status": "Seccomp:\t2\n"}, {"seccompProfile"}),
        ({_APPARMOR: "cri-containerd.apparmor.d (enforce)\n"}, {"seccompProfile", "cri-containerd.apparmor.d"}),
        ({"self/status": "Seccomp:\t0\n", _APPARMOR: "docker-default (enforce)\n"}, {"docker-default"}),
        ({"self/status": "Seccomp:\t0\n", _APPARMOR: "unconfined\n"}, set()),
    ],
    ids=["seccomp", "both", "apparmor", "neither"],
)
def test_in_a_pod_the_profiles_that_apply_are_told(machine: Path, files: dict[str, str], told: set[str]) -> None:
    _tell(machine, "dev/termination-log", "")
    for file, text in files.items():
        _tell(machine, file, text)
    advice = trial.TierTrial(TIERS[1], {"full": "no"}).probe().details.get("for more", "")
    assert {w for w in ("seccompProfile", "cri-containerd.apparmor.d", "docker-default") if w in advice} == told


def test_a_container_without_a_filter_is_not_what_forbids_landlock(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_features, "landlock_version", lambda: 0)
    _tell(machine, "dev/termination-log", "")
    _tell(machine, "self/status", "Seccomp:\t0\n")
    assert "for more" not in trial.TierTrial(TIERS[2], {"full": "no Landlock"}).probe().details


@pytest.mark.parametrize(("user", "capabilities", "told"), [(0, "0", True), (0, "80000000", False), (1000, "0", False)])
def test_root_that_lacks_the_capability_for_namespaces_is_told(
    machine: Path, monkeypatch: pytest.MonkeyPatch, user: int, capabilities: str, told: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    _tell(machine, "self/status", f"CapEff:\t{capabilities}\nSeccomp:\t0\n")
    assert ("SETFCAP" in trial.TierTrial(TIERS[1], {"full": "no"}).probe().details.get("for more", "")) == told


def test_root_is_not_sent_to_a_setting_that_holds_for_users_only(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tell(machine, "kernel/apparmor_restrict_unprivileged_userns", "1")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "for more" not in trial.TierTrial(TIERS[1], {"full": "no"}).probe().details


def test_root_without_landlock_is_told_to_be_a_user(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_features, "landlock_version", lambda: 0)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert machine.exists()
    assert "a user other than root" in trial.TierTrial(None, {"full": "no"}).probe().reason


@pytest.mark.usefixtures("forgetful_probe")
def test_another_system_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial.sys, "platform", "darwin")  # type: ignore[attr-defined]
    assert "needs Linux" in LocalSandbox().probe().reason


@pytest.mark.usefixtures("forgetful_probe")
@pytest.mark.local_sandbox
def test_a_sandbox_that_does_not_hold_is_noticed_and_never_used(tmp_path: Path) -> None:
    """The trial program runs without a sandbox, as if the kernel had accepted the policy and done nothing."""

    class Unprotected:
        def __init__(self, _tier: ConfinementTier, arguments: list[str]) -> None:
            import subprocess

            pipe = subprocess.PIPE
            self._popen = subprocess.Popen(
                [sys.executable, *arguments], cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe
            )
            self.requests, self.data, self.control = self._popen.stdin, self._popen.stdout, self._popen.stderr

        def exit_reason(self) -> object:
            return None

        def kill(self) -> None:
            self._popen.wait()

    probe = trial.tier_trial(Unprotected).probe()  # type: ignore[arg-type]
    assert not probe.available
    assert "can read a file" in probe.reason
    with pytest.raises(SandboxUnavailable):
        LocalSandbox().start(WorkerSpec(Environment("k", str(tmp_path), (), (3, 11)), WorkerLimits()))


@pytest.mark.usefixtures("forgetful_probe")
@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("script", "seconds", "words"),
    [
        ("import sys; print('no landlock', file=sys.stderr); sys.exit(3)", 60.0, ("exit code 3", "no landlock")),
        ("import time; time.sleep(600)", 0.5, ("did not end within 0.5 seconds", "may be busy")),
    ],
    ids=["ends", "hangs"],
)
def test_a_trial_that_fails_is_told_in_words(
    script: str, seconds: float, words: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_SECONDS", seconds)

    def start(tier: ConfinementTier, _arguments: list[str]) -> LocalProcess:
        return _start(lambda folder: policy(folder, script, tier))

    probe = trial.tier_trial(start).probe()  # type: ignore[arg-type]
    assert not probe.available
    assert all(word in probe.reason for word in words)


@pytest.mark.local_sandbox
def test_a_removed_environment_is_told(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="damaged"):
        LocalSandbox().start(WorkerSpec(Environment("k", str(tmp_path / "gone"), (), (3, 11)), WorkerLimits()))


# What it allows on request


@pytest.mark.local_sandbox
def test_the_network_is_there_on_request_and_unix_sockets_are_not(environment: Environment, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as neighbour:
        neighbour.bind(str(tmp_path / "s"))
        neighbour.listen()
        worker = LocalSandbox().start(WorkerSpec(environment, WorkerLimits(), network=True))
        try:
            say(worker, f"socket.create_connection({listener.getsockname()}, 5); return ''")
            listener.settimeout(5)
            listener.accept()[0].close()
            with pytest.raises(SolutionError, match="PermissionError"):
                say(worker, f"socket.socket(socket.AF_UNIX).connect({str(tmp_path / 's')!r})")
        finally:
            worker.kill()


@pytest.mark.local_sandbox
def test_removed_files_on_their_way_through_a_socket_count(environment: Environment) -> None:
    """With network access, messages that carry descriptors are allowed, because name lookups use the same call."""
    body = """
        kept = []
        for number in range(6):
            kept.append(socket.socketpair())
            with open("gone", "wb") as file:
                file.write(b"x" * (40 << 20))
                socket.send_fds(kept[-1][0], [b"x"], [file.fileno()])
            os.remove("gone")
        time.sleep(60)
        return "held"
    """
    worker = LocalSandbox().start(WorkerSpec(environment, WorkerLimits(disk=48 * MIB, seconds=30), network=True))
    try:
        with pytest.raises(SandboxError) as caught:
            say(worker, body)
        assert not isinstance(caught.value, SandboxTimeout)
    finally:
        worker.kill()


@pytest.mark.local_sandbox
def test_less_than_a_core_is_less(environment: Environment) -> None:
    worker = LocalSandbox().start(WorkerSpec(environment, WorkerLimits(cpu=0.5)))
    try:
        body = "end = time.monotonic() + 1\nwhile time.monotonic() < end: pass\nreturn str(time.process_time())"
        assert float(say(worker, body)) < 0.8
    finally:
        worker.kill()


# How it ends


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("script", "limits", "limit"),
    [
        ("held = b'x' * (200 << 20)\nwhile True: pass", {"memory": 100 * MIB}, "memory"),
        (
            "import os\nfor _ in range(4):\n    if not os.fork(): held = b'x' * (60 << 20); break\nwhile True: pass",
            {"memory": 150 * MIB},
            "memory",
        ),
        ("open('f', 'wb').write(b'x' * (20 << 20))\nwhile True: pass", {"disk": 10 * MIB}, "disk"),
        (
            "import os\nf = open('f', 'wb'); os.remove('f'); f.write(b'x' * (20 << 20)); f.flush()\nwhile True: pass",
            {"disk": 10 * MIB},
            "disk",
        ),
        ("for n in range(30_000): open(str(n), 'w').close()\nwhile True: pass", {}, "files"),
        (
            "import fcntl\nfiles = [open(str(n), 'w') for n in range(200)]\n"
            "for file in files:\n    for n in range(100): fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * n)\nwhile True: pass",
            {},
            "files",
        ),
    ],
    ids=["memory", "memory of several", "disk", "unlinked file", "files", "locks"],
)
def test_a_limit_that_is_broken_ends_the_tree_and_is_named(script: str, limits: dict[str, int], limit: str) -> None:
    process = run(script, **limits)
    ended(process)
    reason = process.exit_reason()
    process.kill()
    assert reason.out_of_memory == (limit == "memory")
    assert reason.limit == ("" if limit == "memory" else limit)
    assert reason.text
    assert not reason.engine_gone


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("one_more", "error"),
    [
        ("threading.Thread(target=time.sleep, args=(99,), daemon=True).start()", "can't start new thread"),
        ("os.fork() or time.sleep(99)", "Resource temporarily unavailable"),
    ],
    ids=["threads", "processes"],
)
def test_one_process_or_thread_too_many_is_refused_as_a_kernel_does(one_more: str, error: str) -> None:
    script = f"""
import os, threading, time
count = 0
try:
    while True:
        {one_more}
        count += 1
except (OSError, RuntimeError) as error:
    print(count, error, flush=True)
os._exit(0)
"""
    process = run(script, processes=20)
    said = ended(process)
    process.kill()
    assert error in said
    assert 15 <= int(said.split()[0]) <= 20


@pytest.mark.local_sandbox
def test_shared_memory_of_forked_children_counts_once() -> None:
    script = (
        "import os, time\nheld = b'x' * (60 << 20)\n"
        "for _ in range(4):\n    if not os.fork(): time.sleep(0.5); os._exit(0)\n"
        "for _ in range(4): os.wait()\nprint('fine')"
    )
    process = run(script, memory=150 * MIB)
    assert ended(process) == "fine\n"
    process.kill()


@pytest.mark.local_sandbox
def test_the_end_of_a_program_is_told() -> None:
    crash = "import ctypes; ctypes.string_at(0)"
    for script, code, killed_by in (("", 0, None), ("raise SystemExit(7)", 7, None), (crash, None, 11)):
        process = run(script)
        ended(process)
        reason = process.exit_reason()
        process.kill()
        assert (reason.exit_code, reason.signal) == (code, killed_by)


@pytest.mark.local_sandbox
def test_kill_ends_every_process_and_removes_the_folder() -> None:
    process = run("import os, time\nprint(os.getcwd(), flush=True)\nfor _ in range(3): os.fork()\ntime.sleep(600)")
    folder = Path(os.read(process.data.fileno(), 4096).decode().strip())
    supervisor = process.supervisor.pid
    assert folder.is_dir()
    assert process_tree.descendants(supervisor)
    began = time.monotonic()
    process.kill()
    assert time.monotonic() - began < A_MOMENT
    assert not [pid for pid in process_tree.descendants(supervisor) if not process_tree.is_zombie(pid)]
    assert gone(supervisor)
    assert not folder.exists()
    process.kill()


@pytest.mark.local_sandbox
def test_a_supervisor_that_is_killed_takes_its_worker_along_and_is_not_the_programs_fault() -> None:
    process = run("import time\nprint('ready', flush=True)\ntime.sleep(600)")
    os.read(process.data.fileno(), 4096)
    (worker,) = process_tree.descendants(process.supervisor.pid)
    os.kill(process.supervisor.pid, signal.SIGKILL)
    assert ended(process) == ""
    assert process.exit_reason().engine_gone
    process.kill()
    assert gone(worker)


@pytest.mark.local_sandbox
def test_a_command_that_is_not_there_is_the_sandboxs_failure_or_an_exit() -> None:
    process = _start(lambda folder: replace(policy(folder, ""), command=["/nowhere/python"]))
    ended(process)
    reason = process.exit_reason()
    process.kill()
    assert reason.engine_gone or reason.exit_code


# What it leaves behind


@pytest.fixture
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(temporary_folder, "_YOUNG_SECONDS", -1.0)
    monkeypatch.setattr(temporary_folder, "_SWEEP_SECONDS", 60.0)
    return tmp_path


def test_a_workers_folder_is_private(own_temporary_folder: Path) -> None:
    folder = make_folder("worker")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    os.close(folder.lock)


@pytest.mark.parametrize("use", get_args(Use))
def test_folders_of_dead_kernels_are_removed_and_locked_ones_stay(own_temporary_folder: Path, use: Use) -> None:
    dead, living = make_folder(use), make_folder(use)
    (dead.path / "data").write_text("x", "utf-8")
    os.close(dead.lock)
    others = own_temporary_folder / "autocode-of-somebody-else"
    others.mkdir()
    remove_abandoned()
    assert not dead.path.exists()
    assert living.path.exists() and others.exists()
    os.close(living.lock)


def test_a_folder_deeper_than_any_stack_stops_no_kernel(own_temporary_folder: Path) -> None:
    dead = make_folder("worker")
    os.close(dead.lock)
    deepest = dead.path
    for _ in range(1_000):
        deepest /= "d"
        deepest.mkdir()
    try:
        remove_abandoned()
        assert not dead.path.exists()
    finally:  # pytest cannot remove it either
        subprocess.run(["rm", "-rf", str(dead.path)], check=True)


def test_what_cannot_be_removed_stops_no_kernel(own_temporary_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_memory(*_: object, **__: object) -> bool:
        raise MemoryError

    monkeypatch.setattr(removal, "remove", out_of_memory)
    os.close(make_folder("worker").lock)
    remove_abandoned()


def test_a_start_is_not_held_up_by_what_takes_long_to_remove(
    own_temporary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporary_folder, "_SWEEP_SECONDS", 0.0)
    dead = make_folder("worker")
    (dead.path / "data").touch()
    os.close(dead.lock)
    remove_abandoned()
    assert (dead.path / "data").exists()


def test_a_young_folder_is_left_alone(own_temporary_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary_folder, "_YOUNG_SECONDS", 60.0)
    folder = make_folder("worker")
    os.close(folder.lock)
    remove_abandoned()
    assert folder.path.exists()


def test_a_link_in_the_place_of_a_folder_is_not_followed(own_temporary_folder: Path) -> None:
    precious = own_temporary_folder / "precious"
    precious.mkdir()
    (precious / "file").write_text("x", "utf-8")
    (own_temporary_folder / "autocode-worker-evil").symlink_to(precious)
    remove_abandoned()
    assert (precious / "file").exists()


def test_a_lock_is_seen_by_others() -> None:
    folder = make_folder("worker")
    other = os.open(folder.path, os.O_RDONLY)
    with pytest.raises(OSError) as caught:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert caught.value.errno in (errno.EAGAIN, errno.EACCES)
    os.close(other)
    os.close(folder.lock)
    folder.path.rmdir()


# How often it checks


def one_worker(listener: Any, folder: Path, lifeline: int) -> OneWorker:
    """The supervision of this process as a worker, whose listener is given."""
    checks = limits.Checks(limits.WorkerBounds(2**30, 2**30, str(folder)), os.getpid())
    worker = WatchedWorker(os.getpid(), checks, None, Judge(os.getpid(), 8), lifeline, -1)
    return OneWorker(listener, os.getppid(), worker)


class _Quiet:
    """The listener of a worker that never asks anything."""

    def __init__(self) -> None:
        self._asks, self._worker = os.pipe()

    def fileno(self) -> int:
        return self._asks


class _Asking(_Quiet):
    """The listener of a worker that asks again after each answer; an answer takes one second of its own clock."""

    def __init__(self) -> None:
        super().__init__()
        os.write(self._worker, b"?")
        self.answered, self.now = 0, 0.0

    def receive(self) -> None:
        self.answered += 1
        self.now += 1.0

    def monotonic(self) -> float:
        return self.now


def test_looks_that_take_long_leave_time_for_what_a_program_asks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asking, answered = _Asking(), []

    def look(*_: object, **__: object) -> TreeEnding | None:
        asking.now += 10.0
        answered.append(asking.answered)
        return TreeEnding() if len(answered) == 4 else None

    monkeypatch.setattr(limits, "broken_limit", look)
    for module in (limits, supervision):
        monkeypatch.setattr(module, "time", asking)
    monkeypatch.setattr(process_tree, "reap_orphans", lambda keep: None)
    theirs, lifeline = os.pipe()
    supervised = one_worker(asking, tmp_path, theirs)
    supervised.run()
    assert supervised.ending == TreeEnding()
    os.close(lifeline)
    os.close(theirs)
    assert [after - before for before, after in itertools.pairwise(answered)] == [10, 10, 10]


def test_a_program_is_first_checked_after_it_had_time_to_hold_something(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    rest = limits.REST_SECONDS
    assert limits.counted_at_begin(99.7, 99.7) == now
    looked, checked, checks = now, now, []
    for _ in range(100):  # short requests, so that none is long enough for a check
        now += 0.09
        looked = limits.counted_at_begin(looked, checked)
        if now >= looked + limits.WATCH_SECONDS:
            looked = checked = now
            checks.append(now)
    gaps = [later - earlier for earlier, later in itertools.pairwise([100.0, *checks])]
    assert len(gaps) >= 8 and max(gaps) < rest + 0.1


def test_the_supervisor_rests_while_no_program_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looks = threading.Semaphore(0)

    def look(*_: object, **__: object) -> None:
        looks.release()

    monkeypatch.setattr(limits, "broken_limit", look)
    monkeypatch.setattr(limits, "WATCH_SECONDS", 0.001)
    monkeypatch.setattr(limits, "REST_SECONDS", 3600.0)
    monkeypatch.setattr(process_tree, "reap_orphans", lambda keep: None)
    theirs, lifeline = os.pipe()
    watching = threading.Thread(target=one_worker(_Quiet(), tmp_path, theirs).run)
    watching.start()
    try:
        assert looks.acquire(timeout=60)  # busy from the beginning
        os.write(lifeline, AT_REST)
        while looks.acquire(timeout=0.3):
            pass
        os.write(lifeline, AT_WORK)
        assert looks.acquire(timeout=60)
    finally:
        os.close(lifeline)
    watching.join(60)
    assert not watching.is_alive()
    os.close(theirs)
