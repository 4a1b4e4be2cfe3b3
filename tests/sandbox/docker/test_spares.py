"""The spare of a pool: a container that has imported the libraries and run nothing, ready for the next borrower."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from autocoder_jupyter.sandbox.docker import DockerSandbox
from autocoder_jupyter.sandbox.docker.container import ContainerProcess
from autocoder_jupyter.sandbox.docker.engine import DockerEngine
from autocoder_jupyter.sandbox.host import capacity
from autocoder_jupyter.sandbox.host.channel import ChannelWorker
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.protocol import Environment, Worker, WorkerLimits, WorkerSpec
from tests.sandbox.docker.conftest import pools_are_quiet
from tests.sandbox.sandboxes import say

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("no_container_left")]

ContainersOf = Callable[[int], list[str]]
Eventually = Callable[[Callable[[], bool]], bool]

LIMITS = WorkerLimits(memory=512 << 20, seconds=30)


@pytest.fixture
def pool(engine: DockerEngine, environment: Environment) -> Iterator[Pool]:
    """A pool that has a used worker and a spare."""
    sandbox = DockerSandbox()
    if not sandbox.affords_spare():
        pytest.skip("the engine is not on this machine, or memory is short")
    pool = Pool(sandbox, quiet_seconds=0)
    with pool.lease(WorkerSpec(environment, LIMITS)):
        pass
    assert pools_are_quiet()
    yield pool
    pool.close()
    assert pools_are_quiet()


def container_of(worker: Worker) -> str:
    assert isinstance(worker, ChannelWorker) and isinstance(worker._process, ContainerProcess)
    return worker._process.id


def spare_of(pool: Pool) -> Worker:
    (spare,) = [idle.worker for idle in pool._idle if idle.spare]
    return spare


def test_the_spare_is_a_container_of_its_own_with_its_own_chance(
    pool: Pool, environment: Environment, containers_of: ContainersOf
) -> None:
    spare = spare_of(pool)
    with pool.lease(WorkerSpec(environment, LIMITS)) as used, pool.lease(WorkerSpec(environment, LIMITS)) as other:
        assert other.id == spare.id
        assert container_of(used) != container_of(other)
        assert say(used, "return str(hash('a'))") != say(other, "return str(hash('a'))")
        say(used, "Path('/tmp/left').write_text('x'); Path('/dev/shm/left').write_text('x'); return ''")
        assert say(other, "return str([*glob.glob('/tmp/left'), *glob.glob('/dev/shm/*')])") == "[]"
    assert pools_are_quiet()
    assert spare_of(pool).id != spare.id
    assert len(containers_of(os.getpid())) == 3


def test_a_function_finds_nothing_in_a_spare_that_another_worker_has_not(pool: Pool, environment: Environment) -> None:
    look = """
        status = [line for line in Path('/proc/self/status').read_text().splitlines() if line.startswith('Threads')]
        loaded = sorted(sys.modules)
        held = len(os.listdir('/proc/self/fd'))
        seen = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())
        limits = Path('/proc/self/limits').read_text()
        return json.dumps([status, loaded, held, len(seen), limits, sorted(os.environ), os.getuid()])
    """
    plain = DockerSandbox().start(WorkerSpec(environment, LIMITS))
    try:
        with pool.lease(WorkerSpec(environment, LIMITS)), pool.lease(WorkerSpec(environment, LIMITS)) as spare:
            assert say(spare, look) == say(plain, look)
    finally:
        plain.kill()


def test_a_spare_whose_container_was_removed_is_replaced_by_a_start(
    pool: Pool, environment: Environment, engine: DockerEngine
) -> None:
    client = engine.client()
    client.remove_container(container_of(spare_of(pool)), force=True)
    client.close()
    with pool.lease(WorkerSpec(environment, LIMITS)), pool.lease(WorkerSpec(environment, LIMITS)) as other:
        assert say(other, "return 'here'") == "here"


def test_a_worker_that_was_ended_is_replaced_while_another_is_at_work(pool: Pool, environment: Environment) -> None:
    with pool.lease(WorkerSpec(environment, LIMITS)):
        with pool.lease(WorkerSpec(environment, LIMITS)) as spare:
            spare.kill()
        assert pools_are_quiet()
        assert spare_of(pool).responds()


def test_the_spare_ends_with_the_pool(pool: Pool, containers_of: ContainersOf, eventually: Eventually) -> None:
    assert len(containers_of(os.getpid())) == 2
    pool.close()
    assert eventually(lambda: not containers_of(os.getpid()))


def test_the_spare_ends_with_its_kernel(
    environment: Environment, containers_of: ContainersOf, eventually: Eventually
) -> None:
    code = f"""
import threading, time
from autocoder_jupyter.sandbox.docker import DockerSandbox
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.protocol import Environment, WorkerLimits, WorkerSpec
pool = Pool(DockerSandbox(), quiet_seconds=0)
with pool.lease(WorkerSpec({environment!r}, WorkerLimits())):
    pass
while any(thread.name == "autocode-spare" for thread in threading.enumerate()):
    time.sleep(0.01)
print(sum(idle.spare for idle in pool._idle), flush=True)
time.sleep(600)
"""
    kernel = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert kernel.stdout is not None and kernel.stdout.readline() == "1\n"
    assert len(containers_of(kernel.pid)) == 2
    kernel.kill()
    kernel.wait()
    kernel.stdout.close()
    assert eventually(lambda: not containers_of(kernel.pid))


def test_there_is_none_where_the_engine_is_elsewhere_or_memory_is_short(
    engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = DockerSandbox()
    monkeypatch.setattr(capacity, "FREE_FOR_SPARE", 0)
    assert sandbox.affords_spare() == engine.same_host
    with monkeypatch.context() as patched:
        patched.setattr(capacity, "FREE_FOR_SPARE", 1 << 60)
        assert not sandbox.affords_spare()
    sandbox._engine = DockerEngine("ssh://far", "a test", "1", "1.41", "amd64", "Docker")
    assert not sandbox.affords_spare()
