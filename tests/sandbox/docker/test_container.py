"""Real containers: the confinement, the streams, and the messages about their end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.docker import container
from autocoder_jupyter.sandbox.docker import trial as trials
from autocoder_jupyter.sandbox.docker.container import ContainerProcess, ContainerStart, Transport, run_once
from autocoder_jupyter.sandbox.docker.engine import DockerEngine
from autocoder_jupyter.sandbox.docker.trial import trial
from autocoder_jupyter.sandbox.protocol import WorkerLimits

A_MOMENT = 30.0
"""Seconds that are enough on a busy machine, and far fewer than the program itself would need."""

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("no_container_left")]

ContainersOf = Callable[[int], list[str]]
Eventually = Callable[[Callable[[], bool]], bool]

LIMITS = WorkerLimits(memory=128 << 20, processes=32, disk=8 << 20)
READY = "import os, sys; os.write(2, b'ready')\n"
WAIT = READY + "os.read(0, 1)"
"""Waits for the host, and ends when the host closes the connection."""


@pytest.fixture(params=["sockets", "attach"])
def transport(request: pytest.FixtureRequest, engine: DockerEngine) -> Transport:
    if request.param == "sockets" and not engine.same_host:
        pytest.skip("the engine is not on this machine")
    return request.param


class Running:
    """Starts programs, and removes them afterwards."""

    def __init__(self, engine: DockerEngine, image: str, transport: Transport) -> None:
        self.engine, self.image, self.transport = engine, image, transport
        self.started: list[ContainerProcess] = []

    def __call__(self, program: str, limits: WorkerLimits = LIMITS) -> ContainerProcess:
        process = ContainerStart(self.engine, self.image, program, limits).launch(self.transport)
        self.started.append(process)
        assert process.streams.control.read(5) == b"ready"
        return process


@pytest.fixture
def run(engine: DockerEngine, image: str, transport: Transport) -> Iterator[Running]:
    running = Running(engine, image, transport)
    yield running
    for process in running.started:
        process.kill()
        process.streams.close()


def ended(process: ContainerProcess) -> float:
    """Seconds until the streams of a process end."""
    began = time.monotonic()
    process.streams.data.readall()
    process.streams.control.readall()
    return time.monotonic() - began


def test_a_container_is_closed_from_inside(engine: DockerEngine, image: str, transport: Transport) -> None:
    program = """
import json, os, socket
def attempt(action):
    try:
        action()
        return "done"
    except OSError as error:
        return type(error).__name__
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
server = socket.create_server(("127.0.0.1", 0))
facts = {
    "user": os.getuid(), "group": os.getgid(), "groups": os.getgroups(),
    "capabilities": [status[name].strip() for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")],
    "privileges": status["NoNewPrivs"].strip(),
    "root": attempt(lambda: open("/anything", "w")),
    "packages": attempt(lambda: open("/usr/lib/anything", "w")),
    "meeting": attempt(lambda: open("/run/autocode/anything", "w")),
    "networks": os.listdir("/sys/class/net"),
    "itself": socket.create_connection(server.getsockname()).getpeername()[0],
    "localhost": socket.gethostbyname("localhost"),
    "hosts": attempt(lambda: open("/etc/hosts", "w")),
    "big_file": attempt(lambda: os.posix_fallocate(os.open("/tmp/big", os.O_CREAT | os.O_WRONLY), 0, 64 << 20)),
    "environment": sorted(os.environ),
    "init": open("/proc/1/comm").read().strip(),
    "engine": os.path.exists("/var/run/docker.sock"),
}
os.write(1, json.dumps(facts).encode())
"""
    facts = json.loads(run_once(ContainerStart(engine, image, program, LIMITS), transport, seconds=20))
    assert (facts["user"], facts["group"], set(facts["groups"]) - {65532}) == (65532, 65532, set())
    assert set(facts["capabilities"]) == {"0000000000000000"}
    assert facts["privileges"] == "1"
    assert {facts["root"], facts["packages"]} <= {"OSError", "PermissionError"}
    assert facts["meeting"] != "done"
    assert facts["networks"] == ["lo"]
    assert facts["itself"] == facts["localhost"] == "127.0.0.1"
    assert facts["hosts"] != "done"
    assert facts["big_file"] == "OSError"
    assert not set(facts["environment"]) & {"SSL_CERT_FILE", "DOCKER_HOST", "USER", "VIRTUAL_ENV"}
    assert "init" in facts["init"] or "tini" in facts["init"]
    assert not facts["engine"]


def test_the_limits_are_those_that_were_asked_for(engine: DockerEngine, image: str) -> None:
    program = """
import json, os, resource
def first(*paths):
    return next(open(path).read().strip() for path in paths if os.path.exists(path))
tmp, shm = os.statvfs("/tmp"), os.statvfs("/dev/shm")
os.write(1, json.dumps({
    "memory": first("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    "processes": first("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"),
    "tmp": tmp.f_blocks * tmp.f_frsize, "inodes": tmp.f_files, "shm": shm.f_blocks * shm.f_frsize,
    "core": resource.getrlimit(resource.RLIMIT_CORE), "files": resource.getrlimit(resource.RLIMIT_NOFILE),
    "file": resource.getrlimit(resource.RLIMIT_FSIZE), "threads": os.environ["OMP_NUM_THREADS"],
}).encode())
"""
    limits = WorkerLimits(cpu=2, memory=200 << 20, processes=77, disk=20 << 20)
    facts = json.loads(run_once(ContainerStart(engine, image, program, limits), "attach", seconds=20))
    assert facts["memory"] == str(limits.memory)
    assert facts["processes"] == "77"
    assert facts["tmp"] == facts["shm"] == limits.disk
    assert facts["inodes"] == 16384
    assert facts["core"] == [0, 0] and facts["files"] == [1024, 1024] and facts["file"] == [limits.disk] * 2
    assert facts["threads"] == "2"


def test_bytes_cross_both_ways_unchanged(run: Running) -> None:
    size = 3 << 20
    process = run(
        READY
        + f"""
left = {size}
while left:
    piece = os.read(0, 1 << 16)
    left -= len(piece)
    while piece:
        piece = piece[os.write(1, piece):]
"""
    )
    content = os.urandom(size)

    def send() -> None:
        view = memoryview(content)
        while view:
            view = view[process.streams.requests.write(view) :]

    sender = threading.Thread(target=send)
    sender.start()
    assert process.streams.data.readall() == content
    sender.join()


def test_the_worker_ends_when_the_host_hangs_up(run: Running) -> None:
    process = run(WAIT)
    process.streams.requests.close()
    assert ended(process) < A_MOMENT
    assert process.exit_reason().exit_code == 0


def test_an_exit_code_is_reported(run: Running) -> None:
    process = run(READY + "os._exit(3)")
    ended(process)
    reason = process.exit_reason()
    assert (reason.exit_code, reason.signal, reason.engine_gone) == (3, None, False)


def test_a_signal_is_reported(run: Running) -> None:
    process = run(READY + "os.kill(os.getpid(), 11)")
    ended(process)
    assert process.exit_reason().signal == signal.SIGSEGV


def test_running_out_of_memory_is_reported(run: Running) -> None:
    process = run(READY + "x = bytearray(os.urandom(1 << 20)) * 400")
    ended(process)
    reason = process.exit_reason()
    assert reason.out_of_memory and not reason.engine_gone


def test_a_child_that_runs_out_of_memory_is_reported_after_the_kill(run: Running) -> None:
    process = run(
        READY
        + "os.fork() or [bytearray(os.urandom(1 << 20)) * 400, os._exit(0)]\n"
        + "os.wait(); os.write(1, b'.'); os.read(0, 1)"
    )
    assert process.streams.data.read(1) == b"."
    process.kill()
    assert process.exit_reason().out_of_memory


def test_kill_ends_the_whole_tree_from_any_thread_and_twice(
    run: Running, containers_of: ContainersOf, eventually: Eventually
) -> None:
    process = run(READY + "os.fork() or os.setsid()\nimport time\ntime.sleep(600)")
    began = time.monotonic()
    killers = [threading.Thread(target=process.kill) for _ in range(4)]
    for killer in killers:
        killer.start()
    assert ended(process) < A_MOMENT
    for killer in killers:
        killer.join()
    process.kill()
    assert time.monotonic() - began < A_MOMENT
    assert process.exit_reason().signal == signal.SIGKILL
    assert eventually(lambda: process.id not in containers_of(os.getpid()))


def test_a_container_removed_from_outside_is_the_engines_fault(run: Running, engine: DockerEngine) -> None:
    process = run(WAIT)
    client = engine.client()
    client.remove_container(process.id, force=True)
    client.close()
    assert ended(process) < A_MOMENT
    process.kill()
    reason = process.exit_reason()
    assert reason.engine_gone and "outside" in reason.text


def test_an_engine_that_is_gone_is_said(
    run: Running, tmp_path: Path, containers_of: ContainersOf, eventually: Eventually
) -> None:
    process = run(WAIT)
    deaf = DockerEngine(f"unix://{tmp_path}/nothing.sock", "a test", "1", "1.41", "amd64", "Docker")
    process._engine = deaf
    began = time.monotonic()
    process.kill()
    ended(process)
    reason = process.exit_reason()
    assert reason.engine_gone and "stopped answering" in reason.text
    assert time.monotonic() - began < A_MOMENT
    assert eventually(lambda: process.id not in containers_of(os.getpid()))


def test_an_image_that_is_gone_is_said(engine: DockerEngine, transport: Transport) -> None:
    with pytest.raises(SandboxUnavailable, match="does not have the image"):
        ContainerStart(engine, "autocode-env:never-built", WAIT, LIMITS).launch(transport)


def test_a_refused_container_is_said_and_leaves_nothing(engine: DockerEngine, image: str, transport: Transport) -> None:
    with pytest.raises(SandboxUnavailable, match="refuses to run"):
        ContainerStart(engine, image, WAIT, WorkerLimits(memory=4096)).launch(transport)


def test_the_first_transport_that_works_is_taken(engine: DockerEngine, image: str) -> None:
    client = engine.client()
    content = client.inspect_image(image)["Id"]
    client.close()
    assert trial(engine, image, content).transport == ("sockets" if engine.same_host else "attach")
    assert trial(engine, image, content, "attach").transport == "attach"


def test_where_the_socket_cannot_be_reached_the_attach_stream_is_taken(
    engine: DockerEngine, image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "_trials", {})
    monkeypatch.setattr(container, "PRELUDE", "raise PermissionError('as a policy of the host would')")
    assert trial(engine, image, "as if new").transport == "attach"
    assert trials.known_transport(engine) == "attach"


def test_where_no_descriptor_arrives_the_attach_stream_is_taken(
    engine: DockerEngine, image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "_trials", {})
    monkeypatch.setattr(container, "_send_descriptor", lambda requests: os.write(requests, b"."))
    assert trial(engine, image, "as if new").transport == "attach"


def test_a_container_ends_when_its_kernel_is_killed(
    image: str, transport: Transport, containers_of: ContainersOf, eventually: Eventually
) -> None:
    code = f"""
import time
from autocoder_jupyter.sandbox.docker.container import ContainerStart
from autocoder_jupyter.sandbox.docker.engine import find_engine
from autocoder_jupyter.sandbox.protocol import WorkerLimits
process = ContainerStart(find_engine(), {image!r}, {WAIT!r}, WorkerLimits()).launch({transport!r})
process.streams.control.read(5)
print("up", flush=True)
time.sleep(600)
"""
    kernel = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert kernel.stdout is not None and kernel.stdout.readline() == "up\n"
    assert len(containers_of(kernel.pid)) == 1
    kernel.kill()
    kernel.wait()
    kernel.stdout.close()
    assert eventually(lambda: not containers_of(kernel.pid))
