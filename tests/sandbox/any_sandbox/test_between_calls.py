"""A call leaves nothing behind: the next program does not notice changes in the writable folders."""

from __future__ import annotations

import time
from textwrap import dedent

import pytest

from autocoder_jupyter.sandbox.host import channel
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.protocol import Environment, Worker, WorkerLimits, WorkerSpec
from tests.sandbox.sandboxes import say

_LOOK = """
    mine, seen = os.getcwd(), []
    for place in (os.path.dirname(os.path.dirname(mine)), '/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue', '/run'):
        for parent, folders, files in os.walk(place):
            if os.access(parent, os.W_OK):
                seen += [os.path.join(parent, name) for name in folders + files]
    return '\\n'.join(path for path in sorted(set(seen)) if path not in (mine, os.path.dirname(mine)))
"""

_EVERYWHERE = """
    import shutil
    own = [os.getcwd(), *map(str, Path.cwd().parents)]
    places = ['/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue', *own]
"""

_MISCHIEF = {
    "removes": """
        for place in own:
            shutil.rmtree(place, ignore_errors=True)
    """,
    "renames": """
        for place in own:
            try:
                for name in os.listdir(place):
                    os.rename(os.path.join(place, name), os.path.join(place, name + '.taken'))
            except OSError:
                pass
        for place in own:
            try:
                os.rename(place, place + '.taken')
            except OSError:
                pass
    """,
    "puts files in the place of folders": """
        for place in own:
            shutil.rmtree(place, ignore_errors=True)
            try:
                Path(place).write_text('in the way')
            except OSError:
                pass
    """,
    "plants files": """
        for place in places:
            for name in ('1', '2', '3', '4', 'inputs', 'sem.x', 'pandas.py', 'sitecustomize.py', '.matplotlib'):
                try:
                    Path(place, name).write_text("print('planted')")
                except OSError:
                    pass
    """,
    "leaves closed folders": """
        for place in places:
            for mode in (0o000, 0o100, 0o300, 0o500):
                try:
                    os.makedirs(os.path.join(place, f'closed{mode}', 'in'))
                    Path(place, f'closed{mode}', 'in', 'file').write_text('x')
                    os.umask(0o777 & ~mode)
                    os.mkdir(os.path.join(place, f'closed{mode}', 'shut'))
                    os.mkdir(os.path.join(place, f'shut{mode}'))
                    if mode == 0o300:
                        Path(place, f'shut{mode}', 'hidden').write_text('x')
                except OSError:
                    pass
                os.umask(0o022)
    """,
    "leaves a deep tree": """
        for _ in range(1100):
            os.mkdir('d')
            os.chdir('d')
            Path('file').write_text('x')
    """,
    "fills the disk": """
        for place in places:
            try:
                with open(os.path.join(place, 'full'), 'wb', buffering=0) as file:
                    for _ in range(44):
                        file.write(b'x' * 2**20)
                break
            except OSError:
                pass
    """,
    "makes many files": """
        for place in places:
            try:
                for number in range(8_000):
                    open(os.path.join(place, str(number)), 'w').close()
                break
            except OSError:
                pass
    """,
}


@pytest.fixture(scope="module")
def fresh(pool: Pool, environment: Environment, limits: WorkerLimits) -> str:
    """What a program sees in a worker that has run nothing before."""
    worker = pool.sandbox.start(WorkerSpec(environment, limits))
    try:
        return say(worker, _LOOK)
    finally:
        worker.kill()


@pytest.mark.parametrize("reuse", [False, True], ids=["own process", "reused process"])
@pytest.mark.parametrize("mischief", _MISCHIEF)
def test_the_next_program_works_and_sees_nothing_of_it(worker: Worker, fresh: str, mischief: str, reuse: bool) -> None:
    say(worker, dedent(_EVERYWHERE) + dedent(_MISCHIEF[mischief]) + "return ''", reuse=reuse)
    assert say(worker, _LOOK) == fresh
    body = "open('large', 'wb').write(b'x' * (40 * 2**20)); return str(os.path.getsize('large'))"
    assert say(worker, body) == str(40 * 2**20)


@pytest.mark.parametrize("sent", ["SIGSTOP", "SIGKILL", "SIGTERM"])
def test_who_comes_after_a_program_that_harms_the_worker_does_not_notice(
    pool: Pool, environment: Environment, limits: WorkerLimits, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The damage is done after the answer, because a process that can be used again continues to run."""
    monkeypatch.setattr(channel, "ANSWER_SECONDS", 2.0)
    body = f"""
        def harm():
            time.sleep(0.3)
            for target in (os.getppid(), 1, -1):
                try:
                    os.kill(target, signal.{sent})
                except OSError:
                    pass
        threading.Thread(target=harm, daemon=True).start()
        return ''
    """
    with pool.lease(WorkerSpec(environment, limits)) as worker:
        say(worker, body, reuse=True)
        time.sleep(1)
    with pool.lease(WorkerSpec(environment, limits)) as worker:
        assert say(worker, "return 'fine'") == "fine"
