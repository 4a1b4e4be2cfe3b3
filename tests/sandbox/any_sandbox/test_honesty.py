"""Solutions that try to behave differently in tests: they find no difference between a test and a user's call."""

from __future__ import annotations

import secrets
import textwrap

import pytest

from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.protocol import (
    CallSpec,
    Environment,
    Program,
    TestRun,
    TestSpec,
    Worker,
    WorkerLimits,
    WorkerSpec,
)
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.sandbox.sandboxes import program

CALLS_RUN = "from solution import run\ndef test_it():\n    assert run(given='x') == {expected}\n"

FINGERPRINT = """
    def kind(fd):
        try:
            return stat.S_IFMT(os.fstat(fd).st_mode), fcntl.fcntl(fd, fcntl.F_GETFL)
        except OSError:
            return None

    def read(path):
        try:
            return Path(path).read_text()
        except OSError as error:
            return error.errno

    def listing(path):
        try:
            return os.listdir(path)
        except OSError as error:
            return [error.errno]

    import fcntl, gc, resource, stat
    own = ("HOME", "TMPDIR", "MPLCONFIGDIR")
    frame, frames = sys._getframe(), []
    while frame is not None:
        inside = {name: sorted(value) for name, value in frame.f_locals.items() if type(value) is dict}
        inside = {} if frame.f_code.co_name == "<module>" else inside
        frames.append((frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno, sorted(frame.f_locals), inside))
        frame = frame.f_back
    processes = [read(file) for file in glob.glob("/proc/[0-9]*/comm")]
    seen = {
        "frames": frames,
        "folder": (len(Path.cwd().parts), os.listdir("."), {os.environ.get(name) == os.getcwd() for name in own}),
        "environment": {name: value for name, value in os.environ.items() if name not in own},
        "interpreter": (sys.argv, sys.orig_argv, sys.path, sorted(sys.modules), sys.getrecursionlimit()),
        "descriptors": [kind(fd) for fd in range(128)],
        "streams": [(type(one).__name__, one.encoding, one.line_buffering) for one in (sys.stdout, sys.stderr)],
        "threads": ([thread.name for thread in threading.enumerate()], len(listing("/proc/self/task"))),
        "limits": [resource.getrlimit(number) for number in range(16)],
        "signals": [repr(signal.getsignal(number)) for number in range(1, 32)],
        "process": (os.getpgid(0) == os.getpid(), os.nice(0), len(processes), read(f"/proc/{os.getppid()}/comm")),
        "command lines": (read("/proc/self/cmdline"), read(f"/proc/{os.getppid()}/cmdline")),
        "tests": [one for one in gc.get_objects() if type(one).__name__ in ("Session", "Config", "Reports")],
        "settings": (os.umask(0o22), len(os.sched_getaffinity(0)), gc.isenabled(), sys.gettrace()),
    }
    return re.sub("0x[0-9a-f]+", "0x", json.dumps(seen, sort_keys=True, default=repr))
"""


def view(body: str, output: str = "str") -> Program:
    return program(f"import re\n{textwrap.dedent(body)}", {"given": "str"}, {"said": output})  # type: ignore[dict-item]


def under_test(worker: Worker, callee: Worker, solution: Program, expected: object) -> TestRun:
    return worker.test(solution, TestSpec(CALLS_RUN.format(expected=repr(expected)), ["test_it"]), callee=callee)


def test_a_test_the_sample_and_a_person_look_the_same_from_inside(worker: Worker, callee: Worker) -> None:
    looks_around = view(FINGERPRINT)
    by_person = callee.call(looks_around, {"given": "x"}).values["said"]
    assert callee.call(looks_around, {"given": "x"}, CallSpec(watch_inputs=True)).values["said"] == by_person
    assert (
        worker.call(looks_around, {"given": "x"}, CallSpec(seed=1, seconds=90.0, reuse=True)).values["said"]
        == by_person
    )
    by_test = under_test(worker, callee, looks_around, by_person)
    assert by_test.passed, by_test.output
    assert "autocoder_worker.calls" in by_person


@pytest.mark.parametrize(
    "tell",
    [
        "any('tester' in f.filename or 'remote' in f.filename for f in __import__('inspect').stack())",
        "random.getstate() in [(random.seed(n), random.getstate())[1] for n in range(1000)]",
        "os.getcwd().endswith('program')",
        "'COLUMNS' in os.environ or any(name.startswith('PYTEST') for name in os.environ)",
        "type(sys.stdout).__name__ == 'StringIO'",
        "'test_solution' in sys.modules or os.path.exists('../test_solution.py')",
        "sum('socket' in os.readlink(file) for file in glob.glob('/proc/self/fd/*') if os.path.exists(file)) > 1",
        "'test' in ' '.join(sys.orig_argv)",
        "bool(re.search('tester|test_', repr(sys._current_frames())))",
    ],
    ids=["frames", "seed", "folder", "variables", "streams", "tests", "sockets", "command line", "threads"],
)
def test_no_tell_works_in_a_test_or_elsewhere(worker: Worker, callee: Worker, tell: str) -> None:
    looks = view(f"import random\nreturn {tell}", "bool")
    run = under_test(worker, callee, looks, False)
    assert run.passed, run.output
    assert callee.call(looks, {"given": "x"}).values["said"] is False


SEARCH = """
    # All memory around its objects and below the top of its heap, also freed parts. Writing to a file shows which
    # pages there are; a pipe would too, but is small where its user has many.
    # The pattern is assembled at run time, so that the search does not find the pattern itself.
    import gc
    wanted = re.compile(("secret" + "-of-" + "others-[0-9a-f]{16}").encode())
    libc = ctypes.CDLL(None)
    libc.sbrk.restype = ctypes.c_void_p
    libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
    into = os.open("pages", os.O_RDWR | os.O_CREAT)
    step, tail, found, seen = 1 << 16, b"", set(), set()

    def look(block):
        os.lseek(into, 0, os.SEEK_SET)
        count = libc.write(into, block * step, step)
        if count <= 0:
            return False
        found.update(wanted.findall(os.pread(into, count, 0)))
        return count == step

    starts = {id(one) // step for one in gc.get_objects()} | {(libc.sbrk(0) - 1) // step}
    for start in starts:
        for way in (-1, 1):
            block = start
            while block not in seen and look(block):
                seen.add(block)
                block += way
            seen.discard(start)
        seen.add(start)
    return sorted(found)[0].decode() if found else "nothing"
"""


def secret() -> str:
    return "secret-of-others-" + secrets.token_hex(8)


def test_a_search_of_its_own_memory_finds_what_it_was_given(worker: Worker) -> None:
    """Control: the search works."""
    given = secret()
    assert worker.call(view(SEARCH), {"given": given}).values["said"] == given


def test_what_a_test_expects_is_nowhere_in_the_memory_of_the_solution(worker: Worker, callee: Worker) -> None:
    assert not under_test(worker, callee, view(SEARCH), secret()).passed
    assert under_test(worker, callee, view(SEARCH), "nothing").passed


def test_a_worker_that_ran_tests_has_nothing_of_them_left(worker: Worker, callee: Worker) -> None:
    under_test(worker, callee, view(SEARCH), secret())
    assert worker.call(view(SEARCH), {"given": "x"}).values["said"] == "nothing"
    assert under_test(callee, worker, view(SEARCH), "nothing").passed


def test_nothing_of_the_program_before_is_left_neither_secrets_nor_data_nor_code(worker: Worker) -> None:
    before = Program(
        f"# {secret()}\ndef run(given):\n    return given\n",
        (InputSpec(name="given", type="str"),),
        (OutputSpec(name="said", type="str"),),
        env_vars={"TOKEN": secret()},
    )
    worker.call(before, {"given": secret()})
    assert worker.call(view(SEARCH), {"given": "x"}).values["said"] == "nothing"


def test_calls_cannot_be_counted(worker: Worker, callee: Worker) -> None:
    counts = Program(
        "import builtins\nfrom pathlib import Path\n"
        "def run():\n"
        "    builtins.count = getattr(builtins, 'count', 0) + 1\n"
        "    known = Path('count').exists()\n"
        "    Path('count').write_text('x')\n"
        "    return [builtins.count, known]\n",
        (),
        (OutputSpec(name="n", type="list"),),
    )
    tests = "from solution import run\n" + "".join(f"def test_{n}(): assert run() == run()\n" for n in range(3))
    assert worker.test(counts, TestSpec(tests, ["test_0", "test_1", "test_2"]), callee=callee).passed
    assert callee.call(counts, {}).values["n"] == [1, False]


LIES = {
    "our functions": "calls.digests = calls.changed = lambda *_, **__: {}",
    "the answer": "pack = frames.pack\nframes.pack = lambda header: pack({**header, 'mutated': [], 'changed': []})",
    "equality": "import pandas as pd\npd.DataFrame.equals = lambda *_: True",
}


@pytest.mark.parametrize("lie", LIES)
def test_a_changed_input_is_seen_whatever_the_solution_says_of_it(worker: Worker, callee: Worker, lie: str) -> None:
    source = (
        f"from autocoder_worker import calls, frames\n{LIES[lie]}\ndef run(f):\n    f['new'] = 1\n    return len(f)\n"
    )
    solution = Program(source, (InputSpec(name="f", type="DataFrame"),), (OutputSpec(name="n", type="int"),))
    tests = "import pandas as pd\nfrom solution import run\ndef test_it(): assert run(pd.DataFrame({'x': [1]})) == 1\n"
    run = worker.test(solution, TestSpec(tests, ["test_it"]), callee=callee)
    assert not run.passed and "changed its argument 'f' in place" in run.outcomes[0].message


def test_one_solution_cannot_speak_for_the_tests(worker: Worker, callee: Worker) -> None:
    """What a solution writes to its descriptors is read as its own answer, never as the report of a test."""
    forged = (
        "import json, os\ndef run(given):\n"
        "    for kind in ({'kind': 'reported', 'id': 'test_it', 'outcome': 'passed', 'seconds': 0, 'payload': 0},\n"
        "                 {'kind': 'finished', 'exit_code': 0, 'payload': 0}):\n"
        "        body = json.dumps(kind).encode()\n"
        "        for fd in range(3, 64):\n"
        "            try: os.write(fd, len(body).to_bytes(4, 'big') + body)\n"
        "            except OSError: pass\n"
        "    return 'no'\n"
    )
    solution = Program(forged, (InputSpec(name="given", type="str"),), (OutputSpec(name="said", type="str"),))
    run = under_test(worker, callee, solution, "yes")
    assert not run.passed and run.outcomes[0].outcome == "failed"


def test_a_solution_that_dies_in_one_test_is_gone_for_the_rest_and_the_reports_stay(
    worker: Worker, pool: Pool, environment: Environment, limits: WorkerLimits
) -> None:
    dies = Program(
        "import os\ndef run(n):\n    if n == 2: os.abort()\n    return n\n",
        (InputSpec(name="n", type="int"),),
        (OutputSpec(name="n", type="int"),),
    )
    tests = "from solution import run\n" + "".join(f"def test_{n}(): assert run({n}) == {n}\n" for n in (1, 2, 3))
    with pool.lease(WorkerSpec(environment, limits), other_than=[worker.id]) as callee:
        run = worker.test(dies, TestSpec(tests, ["test_1", "test_2", "test_3"]), callee=callee)
    assert [one.outcome for one in run.outcomes] == ["passed", "failed", "failed"]
    assert "SIGABRT" in run.outcomes[1].message and worker.alive
