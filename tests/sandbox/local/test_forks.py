"""Workers that are forked from a loading process: its required state, and that no worker reaches it or a sibling."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.sandbox.local import forks, process_tree, trial
from autocoder_jupyter.sandbox.local.confinement import kernel_features
from autocoder_jupyter.sandbox.local.confinement.process import TIERS, ConfinementTier
from autocoder_jupyter.sandbox.local.forks import LoadingProcess, NotForked
from autocoder_jupyter.sandbox.local.messages import FORKS, Share
from autocoder_jupyter.sandbox.local.process import LocalProcess
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox, _new_folder, _start_trial
from autocoder_jupyter.sandbox.protocol import Environment, Worker, WorkerLimits, WorkerSpec, origin_of
from tests.acceptance.leftovers import eventually
from tests.sandbox.local.test_sandbox import ended, gone, policy
from tests.sandbox.sandboxes import say

pytestmark = [
    pytest.mark.local_sandbox,
    pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox is Linux's"),
]

SHARE = Share(memory=2**30, disk=2**26, processes=32, cores=[], share_of_core=None)

LOADED = """
import ctypes, json, mmap, os, resource, signal, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def arrive():
    return libc.syscall(ctypes.c_long(434), ctypes.c_long(0), ctypes.c_long(0))
def told():
    return json.loads(os.read(0, 65536))
def say(what):
    os.write(1, json.dumps(what).encode() + b"\\n")
null = os.open(os.devnull, os.O_RDWR)
for stream in range(3):
    os.dup2(null, stream)
os.close(null)
"""
"""The beginning of a script that replaces a loading process."""

FORKED = """
def fork():
    try:
        return os.fork()
    except OSError:
        return -1
assert arrive() == 0
while fork():
    pass
arrive()
"""
"""The part of the script in which each fork is a worker."""


@pytest.fixture(params=[tier for tier in TIERS if tier.landlock or os.geteuid()], ids=lambda tier: tier.name)
def tier(request: pytest.FixtureRequest) -> ConfinementTier:
    tier: ConfinementTier = request.param
    refusal = trial._beforehand(tier, kernel_features.landlock_version()) or trial._refusal(_start_trial, tier)
    if refusal:
        pytest.skip(f"{tier.name} does not hold here: {refusal}")
    return tier


def loading(script: str, tier: ConfinementTier | None = None, **limits: int) -> LoadingProcess:
    """A loading process that runs a script of the test."""
    within = {"memory": SHARE.memory, **limits}
    with _new_folder() as folder:
        return LoadingProcess(policy(folder.path, script, tier, **within), folder, threads=1)


def tell(process: LocalProcess, facts: dict[str, Any]) -> Any:
    """The answer of a worker."""
    os.write(process.requests.fileno(), json.dumps(facts).encode())
    answer = b""
    while not answer.endswith(b"\n"):
        piece = os.read(process.data.fileno(), 65536)
        assert piece, process.exit_reason()
        answer += piece
    return json.loads(answer)


def number_inside(pid: int) -> int:
    """A process's id in its innermost namespace."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(next(line for line in status.splitlines() if line.startswith("NSpid")).split()[-1])


# The required state of a loading process


@pytest.mark.parametrize(
    "left",
    [
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        "kept = open('/usr/bin/env', 'rb')",
        "kept = os.pipe()",
        "kept = socket.socketpair()",
        "kept = mmap.mmap(-1, 4096)",
        "f = open('f', 'wb+'); f.write(b'x' * 4096); f.flush(); kept = mmap.mmap(f.fileno(), 4096); f.close()",
        "os.fork() or time.sleep(60)",
    ],
    ids=["a thread", "a file", "a pipe", "sockets", "shared memory", "a shared file", "a process"],
)
def test_nothing_is_forked_from_a_process_that_kept_what_could_connect_workers(left: str) -> None:
    process = loading(LOADED + left + FORKED)
    with pytest.raises(NotForked):
        process.fork(SHARE)
    assert gone(process.supervisor.pid)


def test_a_loading_process_can_fork_no_process_that_shares_its_memory_or_files() -> None:
    sharing = "assert arrive() == 0\nsaid = libc.syscall(56, 0x411, 0, 0, 0, 0)\nif said < 0: os._exit(3)\n"
    process = loading(LOADED + sharing + FORKED)  # CLONE_FILES
    with pytest.raises(NotForked):
        process.fork(SHARE)


def test_a_process_that_does_not_come_up_gives_no_worker_and_is_gone() -> None:
    process = loading("raise SystemExit(1)")
    with pytest.raises(NotForked):
        process.fork(SHARE)
    assert gone(process.supervisor.pid)


@pytest.mark.parametrize(
    "excess",
    ["held = b'x' * (200 << 20)", "open('f', 'wb').write(bytes(20 << 20))"],
    ids=["memory", "disk"],
)
def test_a_limit_also_holds_while_the_libraries_load(excess: str) -> None:
    process = loading(f"import time\n{excess}\ntime.sleep(600)", memory=100 << 20, disk=10 << 20)
    with pytest.raises(NotForked):
        process.fork(SHARE)
    assert gone(process.supervisor.pid)


# No worker reaches it or a sibling


ATTACKS = {
    "signal it": "os.kill(pid, 0)",
    "end it": "os.kill(pid, signal.SIGKILL)",
    "signal its group": "os.killpg(pid, 0)",
    "end its thread": "check(libc.syscall(200, pid, 9))",
    "queue a signal": "check(libc.syscall(129, pid, 10, bytes(128)))",
    "hold a handle of it": "os.pidfd_open(pid)",
    "slow it down": "os.setpriority(os.PRIO_PROCESS, pid, 19)",
    "move it to another core": "os.sched_setaffinity(pid, [0])",
    "change its limits": "resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64))",
    "trace it": "check(libc.syscall(101, 16, pid, 0, 0))",
    "read its memory": "check(libc.syscall(310, pid, 0, 0, 0, 0, 0))",
    "read its memory as a file": "open(f'/proc/{pid}/mem', 'rb')",
    "list its files": "os.listdir(f'/proc/{pid}/fd')",
    "have its streams": "check(arrive())",
    "fork for it": "check(libc.syscall(56, 0x8011, 0, 0, 0, 0))",
    "fork with namespaces": "check(libc.syscall(56, 0x30000011, 0, 0, 0, 0))",
    "share its namespaces anew": "check(libc.syscall(272, 0x10000000))",
}

ATTACKER = f"""
def check(answer):
    if answer < 0:
        raise OSError(ctypes.get_errno(), "refused")
os.setsid()
given = told()
os.chdir(given["folder"])
open("mine", "w").close()
said = {{}}
for who, pid in given["processes"].items():
    for name, source in {ATTACKS!r}.items():
        try:
            exec(source)
            said[name + ": " + who] = "done"
        except OSError as error:
            said[name + ": " + who] = error.errno
for name, source in {{
    "list the folders of others": "os.listdir('..')",
    "list them by a handle": "os.listdir(os.open('..', os.O_RDONLY))",
    "write beside it": "open('../beside', 'w')",
    "make a folder there": "os.mkdir('../beside')",
    "write where the libraries were loaded": "open(os.environ['HOME'] + '/file', 'w')",
    "make that folder anew": "os.mkdir(os.environ['HOME'])",
    "open it for all": "os.chmod('..', 0o777); os.listdir('..')",
}}.items():
    try:
        exec(source)
        said[name] = "done"
    except OSError as error:
        said[name] = error.errno
say(said)
time.sleep(600)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the attacks name system calls by their numbers")
def test_a_worker_reaches_neither_the_loading_process_nor_a_sibling(tier: ConfinementTier) -> None:
    process = loading(LOADED + FORKED + ATTACKER, tier)
    sibling, attacker = process.fork(SHARE), process.fork(SHARE)
    try:
        # With Landlock alone, a process id that no process has replaces that of another loading process.
        loader = process_tree.children(process.supervisor.pid)[0]
        first, second = sorted(process_tree.children(loader))
        assert tell(sibling, {"folder": sibling.folder, "processes": {}})
        processes = {"loading process": number_inside(loader), "sibling": number_inside(first)}
        said = tell(attacker, {"folder": attacker.folder, "processes": processes})
        assert not {name for name, answer in said.items() if answer == "done"}
        assert not any(map(process_tree.is_zombie, (loader, first, second)))
        assert os.getpriority(os.PRIO_PROCESS, first) == os.getpriority(os.PRIO_PROCESS, second)
        assert [file.name for file in Path(sibling.folder).iterdir()] == ["mine"]
        another = process.fork(SHARE)
        assert tell(another, {"folder": another.folder, "processes": {}})
        another.kill()
    finally:
        sibling.kill()
        attacker.kill()


def test_what_a_worker_leaves_running_without_a_parent_ends_with_it_and_harms_nobody(tier: ConfinementTier) -> None:
    orphan = "os.setsid()\ngiven = told()\nif not os.fork():\n    os.fork() and os._exit(0)\n    time.sleep(600)\n"
    process = loading(LOADED + FORKED + orphan + "say('x')\ntime.sleep(600)\n", tier)
    other, leaver = process.fork(SHARE), process.fork(SHARE)
    assert tell(leaver, {}) == "x"
    leaver.kill()
    loader = process_tree.children(process.supervisor.pid)[0]
    try:
        assert tell(other, {}) == "x"
        assert not process_tree.is_zombie(loader)
    finally:
        other.kill()
    below = process_tree.descendants(process.supervisor.pid)
    assert gone(process.supervisor.pid, seconds=30)
    assert all(map(process_tree.is_zombie, below))


# How it ends


WAITING = LOADED + FORKED + "os.setsid()\nsay('here')\ntime.sleep(600)\n"


def test_it_ends_soon_after_its_last_worker_and_leaves_nothing() -> None:
    process = loading(WAITING)
    worker = process.fork(SHARE)
    below = process_tree.descendants(process.supervisor.pid)
    assert len(below) == 2
    worker.kill()
    assert gone(process.supervisor.pid, seconds=forks.IDLE_SECONDS + 30)
    assert all(map(process_tree.is_zombie, below))
    assert not Path(worker.folder).parent.exists()


def test_the_link_to_a_supervisor_that_has_ended_is_closed() -> None:
    process = loading(WAITING)
    process.fork(SHARE).kill()
    assert gone(process.supervisor.pid, seconds=forks.IDLE_SECONDS + 30)
    eventually(lambda: process.supervisor._link.fileno() == -1, lambda: "it stays open until somebody forgets it")
    with pytest.raises(NotForked):
        process.fork(SHARE)


def test_its_death_is_told_by_its_workers_and_is_not_the_programs_fault() -> None:
    process = loading(WAITING)
    worker = process.fork(SHARE)
    os.kill(process_tree.children(process.supervisor.pid)[0], 9)
    ended(worker)
    assert worker.exit_reason().engine_gone
    worker.kill()
    assert gone(process.supervisor.pid, seconds=30)


def test_the_end_of_its_supervisor_ends_all_workers() -> None:
    process = loading(WAITING)
    worker = process.fork(SHARE)
    below = process_tree.descendants(process.supervisor.pid)
    os.kill(process.supervisor.pid, signal.SIGKILL)
    ended(worker)
    assert worker.exit_reason().engine_gone
    assert all(gone(pid) for pid in below)
    worker.kill()


def test_the_end_of_a_worker_is_told() -> None:
    for end, code, killed_by in (("os._exit(7)", 7, None), ("ctypes.string_at(0)", None, 11)):
        process = loading(LOADED + FORKED + "os.setsid()\n" + end)
        worker = process.fork(SHARE)
        ended(worker)
        reason = worker.exit_reason()
        worker.kill()
        assert (reason.exit_code, reason.signal) == (code, killed_by)


def test_a_limit_that_a_worker_breaks_ends_it_alone() -> None:
    greedy = "os.setsid()\ngiven = told()\nheld = b'x' * given['bytes']\nsay('fine')\ntime.sleep(600)\n"
    process = loading(LOADED + FORKED + greedy)
    modest = process.fork(Share(memory=100 << 20, disk=2**26, processes=32, cores=[], share_of_core=None))
    worker = process.fork(Share(memory=100 << 20, disk=2**26, processes=32, cores=[], share_of_core=None))
    os.write(worker.requests.fileno(), b'{"bytes": 300000000}')
    ended(worker)
    reason = worker.exit_reason()
    worker.kill()
    assert reason.out_of_memory
    assert tell(modest, {"bytes": 1000}) == "fine"
    modest.kill()


# In the sandbox


@pytest.fixture
def workers(environment: Environment) -> Iterator[list[Worker]]:
    """The second one has another interpreter."""
    sandbox, spec = LocalSandbox(), WorkerSpec(environment, WorkerLimits())
    first = sandbox.start(spec)
    started = [first, sandbox.start(spec, unlike=[first.id])]
    started.append(sandbox.start(spec, unlike=[started[1].id]))
    yield started
    for worker in started:
        worker.kill()


def test_workers_of_one_process_share_the_hash_seed_and_one_with_another_can_be_asked_for(
    environment: Environment, workers: list[Worker]
) -> None:
    origins = [origin_of(worker.id) for worker in workers]
    assert origins[0] == origins[2] != origins[1]
    first, other, second = (say(worker, "return str(hash('a'))") for worker in workers)
    assert first == second != other
    apart = LocalSandbox().start(WorkerSpec(environment, WorkerLimits()), unlike=[workers[0].id, workers[1].id])
    try:
        assert say(apart, "return str(hash('a'))") not in (first, other)
    finally:
        apart.kill()


def test_workers_are_forked_from_the_process_that_has_the_libraries_already(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autocoder_jupyter.sandbox.local import forks as local_loading

    monkeypatch.setattr(local_loading, "_slots", {})
    monkeypatch.setattr(local_loading, "_turn", {})
    started = [LocalSandbox().start(WorkerSpec(environment, WorkerLimits())) for _ in range(4)]
    try:
        assert len({origin_of(worker.id) for worker in started}) == 1
        (slots,) = local_loading._slots.values()
        assert sum(slot.process is not None for slot in slots) == 1
    finally:
        for worker in started:
            worker.kill()


def test_a_loading_process_that_was_stopped_by_a_signal_is_replaced(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "_slots", {})
    monkeypatch.setattr(forks, "_turn", {})
    monkeypatch.setattr(forks, "_FORK_SECONDS", 1.0)
    first = LocalSandbox().start(WorkerSpec(environment, WorkerLimits()))
    (slots,) = forks._slots.values()
    (stopped,) = (slot.process for slot in slots if slot.process is not None)
    os.kill(stopped.supervisor.pid, signal.SIGSTOP)
    second = LocalSandbox().start(WorkerSpec(environment, WorkerLimits()))
    try:
        assert say(second, "return 'here'") == "here" and origin_of(second.id) != origin_of(first.id)
        assert gone(stopped.supervisor.pid)
    finally:
        first.kill()
        second.kill()


def test_siblings_have_folders_and_chance_of_their_own(workers: list[Worker]) -> None:
    one, _, sibling = workers
    drawn = "import random, uuid; return f'{random.random()} {np.random.rand()} {uuid.uuid4()} {os.urandom(4)}'"
    assert not set(say(one, drawn).split()) & set(say(sibling, drawn).split())
    folders = [Path(say(worker, "return os.getcwd()")).parents[1] for worker in (one, sibling)]
    assert folders[0] != folders[1]


def test_the_number_of_a_process_tells_nothing_of_a_sibling(
    workers: list[Worker],
) -> None:
    """One that was given data may run beside one whose answers a model is told."""
    if trial.tier_trial(_start_trial).probe().tier == "landlock":
        pytest.skip("there are no namespaces here")
    one, _, sibling = workers
    number = "import os; return str(os.getpid())"
    busy = "import threading; [(t := threading.Thread(target=int), t.start(), t.join()) for _ in range(471)]; return ''"
    first, second = (int(say(one, number)) for _ in range(2))
    say(sibling, busy)
    assert int(say(one, number)) - second == second - first


TRESPASS = """
    place, said = Path({folder!r}), []
    for name, attempt in {{
        "list": lambda: os.listdir(place),
        "read": lambda: (place / "secret").read_text(),
        "write": lambda: (place / "secret").write_text("other"),
        "make": lambda: (place / "new").mkdir(),
        "remove": lambda: (place / "secret").unlink(),
        "move there": lambda: os.rename("mine", place / "mine"),
        "link from there": lambda: os.link(place / "secret", "taken"),
    }}.items():
        Path("mine").write_text("x")
        try:
            attempt()
            said.append(name)
        except OSError:
            pass
    return str(said)
"""


@pytest.mark.parametrize("name", ["full", "landlock"])
def test_a_worker_that_is_told_anothers_folder_reaches_nothing_in_it(
    environment: Environment, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tier,) = [tier for tier in TIERS if tier.name == name]
    if trial._beforehand(tier, kernel_features.landlock_version()) or trial._refusal(_start_trial, tier):
        pytest.skip(f"{name} does not hold here")
    monkeypatch.setattr(trial, "_answer", None)
    monkeypatch.setattr(trial, "TIERS", (tier,))
    workers = [LocalSandbox().start(WorkerSpec(environment, WorkerLimits())) for _ in range(3)]
    one, _, sibling = workers
    try:
        assert origin_of(one.id) == origin_of(sibling.id)
        folder = Path(say(one, "return os.getcwd()")).parents[1]
        assert one.responds()  # the folder is emptied after a call
        (folder / "secret").write_text("x")
        assert say(sibling, TRESPASS.format(folder=str(folder))) == "[]"
        assert (folder / "secret").read_text() == "x"
    finally:
        for worker in workers:
            worker.kill()


def test_where_no_process_can_be_forked_from_a_worker_loads_for_itself(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autocoder_jupyter.sandbox.local import forks as local_loading
    from autocoder_jupyter.sandbox.local import process as local_process

    start = local_process._start_interpreter
    monkeypatch.setattr(local_loading, "_slots", {})
    monkeypatch.setattr(
        local_process,
        "_start_interpreter",
        lambda kind, given: subprocess.Popen(["false"]) if kind == FORKS else start(kind, given),
    )
    worker = LocalSandbox().start(WorkerSpec(environment, WorkerLimits()))
    try:
        assert origin_of(worker.id) == worker.id
        assert say(worker, "return 'yes'") == "yes"
    finally:
        worker.kill()
    assert all(place.unfit for places in local_loading._slots.values() for place in places)


def test_where_a_worker_can_have_no_layer_of_its_own_it_is_not_forked(environment: Environment) -> None:
    """The notebook runs in 15 layers of Landlock, and 16 are allowed: one for a worker, none for it beside siblings."""
    if not kernel_features.landlock_version():
        pytest.skip("this kernel has no Landlock")
    script = f"""
        import ctypes, os, struct, sys
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(38, 1, 0, 0, 0)
        for _ in range(15):
            handled = struct.pack("Q", 1 << 6)
            ruleset = libc.syscall(ctypes.c_long(444), handled, ctypes.c_long(8), ctypes.c_long(0))
            assert libc.syscall(ctypes.c_long(446), ctypes.c_long(ruleset), ctypes.c_long(0)) == 0
        from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox
        from autocoder_jupyter.sandbox.protocol import Environment, WorkerLimits, WorkerSpec
        from tests.sandbox.sandboxes import say
        spec = WorkerSpec({environment!r}, WorkerLimits())
        one, other = LocalSandbox().start(spec), LocalSandbox().start(spec)
        assert not one._process.name and not other._process.name
        folder = say(one, "return str(Path(os.getcwd()).parents[1])")
        print(say(other, f"return str(os.listdir({{folder!r}}))"))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert "Permission denied" in done.stderr or "No such file" in done.stderr, done.stderr
    assert not done.stdout
