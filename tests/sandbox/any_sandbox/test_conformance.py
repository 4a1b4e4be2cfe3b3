"""The interface of every sandbox, as documented in `sandbox/protocol.py`."""

from __future__ import annotations

import datetime as dt
import os
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.errors import (
    EngineGone,
    InvalidRequest,
    OutOfMemory,
    OutputRefused,
    SandboxCrash,
    SandboxTimeout,
    SandboxUnavailable,
    SolutionError,
    UnsupportedData,
    WrongType,
)
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.protocol import (
    CallSpec,
    Environment,
    Program,
    Sandbox,
    TestSpec,
    Worker,
    WorkerLimits,
    WorkerSpec,
)
from autocoder_jupyter.types import Dir, File, InputSpec, OutputSpec, TestOutcome
from tests.sandbox.sandboxes import SLOWER, program, say

MEBIBYTE = 2**20

A_MOMENT = 30.0 * SLOWER
"""Seconds that are enough on a busy machine, and far fewer than the program itself would need."""


def test_the_probe_says_that_it_works_and_is_cheap_when_repeated(sandbox: Sandbox) -> None:
    probe = sandbox.probe()
    assert probe.available
    assert probe.name == sandbox.name


needs_an_index = pytest.mark.skipif("AUTOCODE_TEST_ENVIRONMENT" in os.environ, reason="no package index is in reach")


@needs_an_index
def test_an_environment_that_is_known_is_found_at_once(sandbox: Sandbox, environment: Environment) -> None:
    from tests.sandbox.sandboxes import base_spec

    again = sandbox.build(base_spec(sandbox.name))
    assert again == environment


@needs_an_index
def test_a_lock_given_back_gives_the_same_environment(sandbox: Sandbox, environment: Environment) -> None:
    from tests.sandbox.sandboxes import base_spec

    spec = base_spec(sandbox.name)
    locked = type(spec)((), spec.python_version, lock=environment.lock)
    assert sandbox.build(locked) == environment


def test_a_frame_goes_in_and_comes_out(worker: Worker) -> None:
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2024-03-30", periods=3, freq="D", tz="Europe/Berlin"),
            "kind": pd.Categorical(["a", "b", None]),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "text": ["ä", None, "日本"],
        },
        index=pd.Index(["x", "y", "z"], name="key"),
    )
    outcome = worker.call(program("return frame", {"frame": "DataFrame"}, {"frame": "DataFrame"}), {"frame": frame})
    pd.testing.assert_frame_equal(outcome.values["frame"], frame)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("str", "snowman ☃ and \U0001f600"),
        ("int", 2**40),
        ("float", 0.1),
        ("bool", True),
        ("date", dt.date(2024, 2, 29)),
        ("datetime", dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.UTC)),
        ("timedelta", dt.timedelta(days=2, microseconds=3)),
        ("dict", {"a": [1, None, "x"]}),
        ("list", [1.5, "two", {"three": 3}]),
    ],
)
def test_a_scalar_keeps_its_type(worker: Worker, kind: str, value: object) -> None:
    outcome = worker.call(program("return value", {"value": kind}, {"value": kind}), {"value": value})  # type: ignore[dict-item]
    assert outcome.values["value"] == value
    assert type(outcome.values["value"]) is type(value)


def test_a_series_keeps_its_name_and_index(worker: Worker) -> None:
    series = pd.Series([1.5, np.nan], index=pd.Index([10, 20], name="id"), name="price")
    outcome = worker.call(program("return s", {"s": "Series"}, {"s": "Series"}), {"s": series})
    pd.testing.assert_series_equal(outcome.values["s"], series)


def test_several_outputs_come_in_declared_order(worker: Worker) -> None:
    outcome = worker.call(program("return 1, 'two'", outputs={"one": "int", "two": "str"}), {})
    assert list(outcome.values.items()) == [("one", 1), ("two", "two")]


def test_a_default_counts_when_no_argument_is_given(worker: Worker) -> None:
    counted = Program(
        "def run(n: int = 3) -> int:\n    return n * 2\n",
        (InputSpec(name="n", type="int", required=False, default=3),),
        (OutputSpec(name="twice", type="int"),),
    )
    assert worker.call(counted, {}).values["twice"] == 6
    assert worker.call(counted, {"n": 5}).values["twice"] == 10


def test_files_and_folders_cross_both_ways(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("hello", "utf-8")
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "deep" / "b.bin").write_bytes(b"\x00\xff")
    body = """
        out = Path("answer.txt")
        out.write_text(text.read_text() + " " + (folder / "deep" / "b.bin").read_bytes().hex())
        made = Path("made"); made.mkdir(); (made / "c.txt").write_text("c")
        return out, made
    """
    outcome = worker.call(
        program(body, {"text": "File", "folder": "Dir"}, {"answer": "File", "made": "Dir"}),
        {"text": File(tmp_path / "in.txt"), "folder": Dir(tmp_path / "folder")},
    )
    assert Path(outcome.values["answer"]).read_text("utf-8") == "hello 00ff"
    assert (Path(outcome.values["made"]) / "c.txt").read_text("utf-8") == "c"


def test_a_large_payload_arrives_whole(worker: Worker) -> None:
    frame = pd.DataFrame(np.arange(4_000_000, dtype="float64").reshape(-1, 4), columns=list("abcd"))
    outcome = worker.call(program("return f", {"f": "DataFrame"}, {"f": "DataFrame"}), {"f": frame})
    pd.testing.assert_frame_equal(outcome.values["f"], frame)


def test_an_empty_frame_arrives_empty(worker: Worker) -> None:
    frame = pd.DataFrame({"a": pd.Series([], dtype="int64"), "b": pd.Series([], dtype="datetime64[ns]")})
    outcome = worker.call(program("return f", {"f": "DataFrame"}, {"f": "DataFrame"}), {"f": frame})
    pd.testing.assert_frame_equal(outcome.values["f"], frame)


def test_what_the_program_prints_is_kept(worker: Worker) -> None:
    outcome = worker.call(program("print('out ☃'); print('err', file=sys.stderr); return ''"), {})
    assert outcome.stdout == "out ☃\n"
    assert outcome.stderr == "err\n"


def test_long_output_keeps_head_and_tail(worker: Worker, limits: WorkerLimits) -> None:
    outcome = worker.call(program("print('first' + 'x' * 1_000_000 + 'last'); return ''"), {})
    assert outcome.stdout.startswith("first")
    assert outcome.stdout.rstrip().endswith("last")
    assert len(outcome.stdout) < 2 * limits.text_bytes


def test_equal_values_have_equal_digests_in_two_workers(
    pool: Pool, environment: Environment, limits: WorkerLimits
) -> None:
    made = program("return pd.DataFrame({'a': [1, 2], 'b': ['x', None]})", outputs={"f": "DataFrame"})
    with (
        pool.lease(WorkerSpec(environment, limits)) as one,
        pool.lease(WorkerSpec(environment, limits), other_than=[one.id]) as other,
    ):
        assert one.id != other.id
        assert one.call(made, {}).digests["f"] == other.call(made, {}).digests["f"]


def test_a_seed_makes_randomness_repeat_and_another_shows_it(worker: Worker) -> None:
    random = program("import random; return f'{random.random()} {np.random.rand()}'")
    first, same, other = (worker.call(random, {}, CallSpec(seed=seed)).values["said"] for seed in (1, 1, 2))
    assert first == same != other


def test_an_exception_tells_its_type_line_and_standard_error(worker: Worker) -> None:
    with pytest.raises(SolutionError) as caught:
        say(worker, "print('before', file=sys.stderr)\nraise KeyError('price')")
    assert caught.value.exception_type == "KeyError"
    assert caught.value.source == "raise KeyError('price')"
    assert caught.value.line == 6
    assert "before" in caught.value.stderr
    assert worker.alive


def test_a_wrong_type_is_told_apart(worker: Worker) -> None:
    with pytest.raises(WrongType):
        say(worker, "return 3")
    assert worker.alive


def test_an_argument_that_cannot_cross_is_refused_before_anything_runs(worker: Worker) -> None:
    frame = pd.DataFrame({"bad": [object()]})
    with pytest.raises(UnsupportedData, match="bad"):
        worker.call(program("return ''", {"frame": "DataFrame"}), {"frame": frame})
    assert worker.alive


def test_an_argument_that_is_missing_is_refused(worker: Worker) -> None:
    with pytest.raises(InvalidRequest):
        worker.call(program("return ''", {"frame": "DataFrame"}), {})


def test_an_endless_program_is_stopped_in_time(worker: Worker) -> None:
    began = time.monotonic()
    with pytest.raises(SandboxTimeout):
        say(worker, "while True: pass", seconds=0.5)
    assert time.monotonic() - began < A_MOMENT
    assert not worker.alive


def test_too_much_memory_is_told_as_such(worker: Worker) -> None:
    with pytest.raises(OutOfMemory):
        say(worker, "held = [np.ones(2**24) for _ in range(40)]; return str(len(held))")


def test_an_absurd_allocation_is_told_as_such(worker: Worker) -> None:
    with pytest.raises(OutOfMemory):
        say(worker, "return str(np.ones((1_000_000, 1_000_000)).sum())")


def test_a_crash_tells_its_signal(worker: Worker) -> None:
    with pytest.raises(SandboxCrash) as caught:
        say(worker, "ctypes.string_at(0)")
    assert caught.value.signal == 11


def test_an_abort_tells_its_signal(worker: Worker) -> None:
    with pytest.raises(SandboxCrash) as caught:
        say(worker, "os.abort()")
    assert caught.value.signal == 6


@pytest.mark.parametrize("how", ["sys.exit(3)", "os._exit(3)"])
def test_an_exit_in_the_middle_of_a_call_is_no_result(worker: Worker, how: str) -> None:
    with pytest.raises(SandboxCrash) as caught:
        say(worker, how)
    assert caught.value.signal is None
    assert "3" in str(caught.value)


def test_an_output_over_the_limit_is_refused(worker: Worker) -> None:
    with pytest.raises((OutputRefused, OutOfMemory)):
        worker.call(program("return 'x' * (80 * 2**20)"), {})


def test_state_does_not_leak_between_calls(worker: Worker) -> None:
    say(worker, "import builtins; builtins.left = 1; Path('left').write_text('x'); os.environ['LEFT'] = 'x'; return ''")
    assert say(
        worker, "import builtins; return str([hasattr(builtins, 'left'), Path('left').exists(), 'LEFT' in os.environ])"
    ) == ("[False, False, False]")


def test_reuse_keeps_one_child_for_one_program(worker: Worker) -> None:
    counting = Program(
        "n = 0\ndef run() -> int:\n    global n\n    n += 1\n    return n\n", (), (OutputSpec(name="n", type="int"),)
    )
    assert [worker.call(counting, {}, CallSpec(reuse=True)).values["n"] for _ in range(3)] == [1, 2, 3]
    assert worker.call(counting, {}).values["n"] == 1


@pytest.mark.parametrize("rows", [1, 500_000], ids=["small", "larger than a buffer"])
def test_a_request_for_a_kept_process_that_has_ended_goes_to_a_fresh_one(worker: Worker, rows: int) -> None:
    body = """
        import builtins
        builtins.n = getattr(builtins, 'n', 0) + 1
        threading.Timer(0.5, os._exit, [0]).start()
        return builtins.n * 1_000_000 + int(frame['x'].sum())
    """
    frame = pd.DataFrame({"x": [1] * rows})
    own = {"CASE": str(rows)}  # so that the process of the other case is not kept for this one
    ends = program(body, {"frame": "DataFrame"}, {"n": "int"}, env_vars=own)
    assert worker.call(ends, {"frame": frame}, CallSpec(reuse=True)).values["n"] == 1_000_000 + rows
    time.sleep(1.0)
    assert worker.call(ends, {"frame": frame}, CallSpec(reuse=True)).values["n"] == 1_000_000 + rows


def test_a_kept_process_gets_the_requests_of_its_own_program_only(worker: Worker) -> None:
    keeps = "import builtins\nbuiltins.seen = getattr(builtins, 'seen', '') + text\nreturn builtins.seen"
    one, other = program(keeps, {"text": "str"}), program(f"pass\n{keeps}", {"text": "str"})
    calls = ((one, "a"), (one, "b"), (other, "c"), (one, "d"), (one, "e"))
    told = [worker.call(each, {"text": text}, CallSpec(reuse=True)).values["said"] for each, text in calls]
    assert told == ["a", "ab", "c", "d", "de"]


def test_a_reused_program_finds_the_files_of_its_module_and_none_of_earlier_calls(worker: Worker) -> None:
    source = """
import os
open("model", "w").close()
def run():
    found = sorted(os.listdir())
    os.makedirs("folder/in/folder")
    open("large", "wb").write(b"x" * (30 * 2**20))
    os.chdir("folder")
    return found
"""
    leaving = Program(source, (), (OutputSpec(name="found", type="list"),))
    assert [worker.call(leaving, {}, CallSpec(reuse=True)).values["found"] for _ in range(3)] == [["model"]] * 3


def test_a_program_sees_only_the_environment_variables_that_it_is_given(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    given = program("return json.dumps(dict(os.environ))", env_vars={"REGION": "north"})
    said = worker.call(given, {}).values["said"]
    assert '"REGION": "north"' in said
    assert "canary" not in said
    assert "REGION" not in say(worker, "return json.dumps(dict(os.environ))")


def test_the_time_zone_is_utc(worker: Worker) -> None:
    assert say(worker, "import datetime as d; return str(d.datetime.now().astimezone().utcoffset())") == "0:00:00"


def test_time_zones_are_known(worker: Worker) -> None:
    assert say(worker, "return str(pd.Timestamp('2024-07-01', tz='America/New_York').utcoffset())").startswith("-1 day")


def test_python_is_the_one_of_the_environment(worker: Worker, environment: Environment) -> None:
    assert say(worker, "return repr(sys.version_info[:2])") == repr(environment.python_version)


def test_honest_tools_work(worker: Worker) -> None:
    body = """
        import asyncio, concurrent.futures, shutil, tempfile
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a").write_text("x")
            shutil.copy2(Path(folder, "a"), Path(folder, "b"))
            shutil.copytree(folder, "tree")
        async def wait():
            await asyncio.sleep(0)
            return 1
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            total = sum(threads.map(lambda n: n, range(3)))
        done = subprocess.run([sys.executable, "-c", "print(2)"], capture_output=True, text=True)
        return f"{sorted(p.name for p in Path('tree').iterdir())} {asyncio.run(wait())} {total} {done.stdout.strip()}"
    """
    assert say(worker, body) == "['a', 'b'] 1 3 2"


def test_two_workers_run_side_by_side(pool: Pool, environment: Environment, limits: WorkerLimits) -> None:
    with (
        pool.lease(WorkerSpec(environment, limits)) as one,
        pool.lease(WorkerSpec(environment, limits), other_than=[one.id]) as other,
        ThreadPoolExecutor(2) as threads,
    ):
        crash = threads.submit(say, one, "time.sleep(0.2); os.abort()")
        fine = threads.submit(say, other, "time.sleep(0.5); return 'fine'")
        assert fine.result() == "fine"
        assert isinstance(crash.exception(), SandboxCrash)


def test_kill_from_another_thread_ends_a_call_at_once(
    sandbox: Sandbox, environment: Environment, limits: WorkerLimits
) -> None:
    worker = sandbox.start(WorkerSpec(environment, limits))
    began = time.monotonic()
    threading.Timer(0.3, worker.kill).start()
    with pytest.raises(EngineGone):
        say(worker, "time.sleep(60)")
    assert time.monotonic() - began < A_MOMENT
    assert not worker.alive
    worker.kill()


def test_a_killed_worker_takes_no_more_programs(
    sandbox: Sandbox, environment: Environment, limits: WorkerLimits
) -> None:
    worker = sandbox.start(WorkerSpec(environment, limits))
    worker.kill()
    with pytest.raises(EngineGone):
        say(worker, "return ''")


def test_tests_are_reported_one_by_one(worker: Worker, callee: Worker) -> None:
    tests = "from solution import run\ndef test_good():\n    assert run() == 'x'\n"
    tests += "def test_bad():\n    assert run() == 'y'\n"
    seen: list[Any] = []
    outcome = worker.test(
        program("return 'x'"),
        TestSpec(tests, ["test_good", "test_bad", "test_absent"], on_report=seen.append),
        callee=callee,
    )
    assert {test.id: test.outcome for test in outcome.outcomes} == {
        "test_good": "passed",
        "test_bad": "failed",
        "test_absent": "missing",
    }
    assert [test.id for test in seen] == ["test_good", "test_bad"]
    assert not outcome.passed


@pytest.mark.parametrize("reuse", [False, True])
def test_the_calls_of_tests_have_a_process_each_unless_one_is_reused(
    worker: Worker, callee: Worker, reuse: bool
) -> None:
    code = "calls = []\ndef run() -> int:\n    calls.append(1)\n    return len(calls)\n"
    counting = Program(code, (), (OutputSpec(name="n", type="int"),))
    tests = f"from solution import run\ndef test_it():\n    assert [run(), run()] == {[1, 2] if reuse else [1, 1]}\n"
    assert worker.test(counting, TestSpec(tests, ["test_it"], reuse=reuse), callee=callee).passed


def test_the_same_tests_run_again_in_one_process_if_that_is_reused(worker: Worker, callee: Worker) -> None:
    count = "import builtins\nbuiltins.runs = getattr(builtins, 'runs', 0) + 1\nfrom solution import run\n"
    tests = f"{count}def test_it():\n    assert run() == str(builtins.runs)\n"

    def passes(said: int, source: str = tests, reuse: bool = False) -> bool:
        return worker.test(
            program(f"return '{said}'"), TestSpec(source, ["test_it"], reuse=reuse), callee=callee
        ).passed

    assert [passes(said, reuse=True) for said in (1, 2, 2, 4)] == [True, True, False, True]
    assert passes(1, tests + "\n", reuse=True)  # other tests
    assert passes(1)


def test_a_test_cannot_send_frames_that_no_run_of_tests_has(
    sandbox: Sandbox, environment: Environment, limits: WorkerLimits, callee: Worker
) -> None:
    asks = """
        import gc
        from autocoder_worker import frames
        from autocoder_worker.tester import Reports

        def test_it():
            reports = next(one for one in gc.get_objects() if isinstance(one, Reports))
            reports._host.tell([frames.pack({"kind": "waiting", "payload": 0})])
    """
    tests = TestSpec(dedent(asks), ["test_it"])
    worker = sandbox.start(WorkerSpec(environment, limits))
    run = worker.test(program("return 'x'"), tests, callee=callee)
    assert [one.outcome for one in run.outcomes] == ["missing"] and "invalid data" in run.output
    assert not worker.alive


def test_tests_that_pass_on_a_stub_run_on_another_one_too(worker: Worker) -> None:
    tests = """
        import pytest
        from solution import run

        times = []

        @pytest.fixture
        def said():
            times.append(run())
            yield run()

        def test_first(said):
            assert said == "a"

        def test_both(said):
            assert said in ("a", "b") and len(times) in (2, 7)

        def test_second(said):
            assert said == "b"

        @pytest.mark.parametrize("n", [1, 2])
        def test_cases(said, n):
            assert n == 1 or said == "a"
    """
    names = ["test_first", "test_both", "test_second", "test_cases", "test_absent"]
    other = program("return 'b'").code
    run = worker.test(program("return 'a'"), TestSpec(dedent(tests), names, other_stub=other), callee=None)
    assert [one.outcome for one in run.outcomes] == ["passed", "passed", "failed", "passed", "missing"]
    assert run.on_other_stub == ("test_both",)
    again = worker.test(program("return 'a'"), TestSpec(dedent(tests), names), callee=None)
    assert again.outcomes[0].outcome == "passed" and again.on_other_stub == ()


def test_a_worker_that_rests_ends_the_process_that_it_keeps(worker: Worker) -> None:
    counting = Program(
        "n = 0\ndef run() -> int:\n    global n\n    n += 1\n    return n\n", (), (OutputSpec(name="n", type="int"),)
    )
    worker.rest()
    assert [worker.call(counting, {}, CallSpec(reuse=True)).values["n"] for _ in range(2)] == [1, 2]
    worker.rest()
    assert worker.call(counting, {}, CallSpec(reuse=True)).values["n"] == 1


def test_a_test_is_reported_while_the_next_one_runs(
    sandbox: Sandbox, environment: Environment, limits: WorkerLimits
) -> None:
    worker = sandbox.start(WorkerSpec(environment, limits))
    tests = "def test_quick():\n    pass\ndef test_endless():\n    while True:\n        pass\n"
    seen: list[str] = []

    def end(outcome: TestOutcome) -> None:
        seen.append(outcome.id)
        worker.kill()  # nothing else would end it

    with pytest.raises(EngineGone):
        worker.test(program("return 'x'"), TestSpec(tests, ["test_quick", "test_endless"], on_report=end), callee=None)
    assert seen == ["test_quick"]


def test_a_missing_module_is_named(worker: Worker, callee: Worker) -> None:
    outcome = worker.test(
        Program("import not_there\ndef run() -> int:\n    return 1\n", (), (OutputSpec(name="n", type="int"),)),
        TestSpec("from solution import run\ndef test_it():\n    assert run() == 1\n", ["test_it"]),
        callee=callee,
    )
    assert outcome.missing_module == "not_there"
    assert not outcome.passed


@pytest.mark.parametrize("megabytes", [1, 32])
def test_memory_that_does_not_even_start_a_worker_is_named_with_what_does(
    sandbox: Sandbox, environment: Environment, megabytes: int
) -> None:
    if SLOWER > 1:
        pytest.skip("it depends on the libraries, not on the kernel, and takes an emulated machine half a minute")
    with pytest.raises(SandboxUnavailable, match=f"^{megabytes} MiB of memory is too little to start") as error:
        sandbox.start(WorkerSpec(environment, WorkerLimits(memory=megabytes * MEBIBYTE)))
    enough = re.search(r"--memory (\d+)Mi", error.value.hint)
    assert enough is not None
    worker = sandbox.start(WorkerSpec(environment, WorkerLimits(memory=int(enough[1]) * MEBIBYTE)))
    try:
        assert say(worker, "return 'here'") == "here"
    finally:
        worker.kill()


def test_the_sandbox_has_no_more_cores_than_allowed(worker: Worker) -> None:
    if sys.platform != "linux":
        pytest.skip("affinity is Linux's")
    body = """
        def spin():
            end = time.monotonic() + 0.6
            while time.monotonic() < end: pass
        for _ in range(3):
            if not os.fork():
                spin(); os._exit(0)
        for _ in range(3): os.wait()
        used = os.times()
        return str(used.children_user + used.children_system)
    """
    assert float(say(worker, body)) < 1.1


@pytest.mark.parametrize(
    "body",
    [
        "with multiprocessing.Pool(2) as pool: return str(pool.map(abs, range(-99, 1)) == [*range(99, -1, -1)])",
        "with ProcessPoolExecutor(2) as pool: return str(list(pool.map(abs, [-1, 2])) == [1, 2])",
        """
        def add():
            for _ in range(200):
                with number.get_lock():
                    number.value += 1
        number = multiprocessing.Value("i", 0)
        processes = [multiprocessing.Process(target=add) for _ in range(3)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        return str(number.value == 600)
        """,
        """
        queue, ready = multiprocessing.Queue(), multiprocessing.Event()
        def answer():
            ready.wait(10)
            queue.put("yes")
        process = multiprocessing.Process(target=answer)
        process.start()
        early = queue.empty()
        ready.set()
        said = queue.get(timeout=10)
        process.join()
        return str(early and said == "yes")
        """,
        """
        lock, semaphore = multiprocessing.RLock(), multiprocessing.BoundedSemaphore(1)
        with lock, lock:
            pass
        semaphore.acquire()
        late = not semaphore.acquire(timeout=0.05) and not semaphore.acquire(block=False)
        semaphore.release()
        try:
            semaphore.release()
        except ValueError:
            return str(late)
        """,
    ],
    ids=["pool", "executor", "value", "queue and event", "locks"],
)
def test_forked_processes_work_together(worker: Worker, body: str) -> None:
    modules = "import multiprocessing\nfrom concurrent.futures import ProcessPoolExecutor\n"
    assert say(worker, modules + dedent(body)) == "True"
