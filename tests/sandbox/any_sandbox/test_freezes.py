"""While an answer of a worker is read, the other threads of the notebook continue. `tests/readers` has other input."""

from __future__ import annotations

import contextlib
import gc
import sys

import pytest

from autocoder_jupyter.errors import SandboxError
from autocoder_jupyter.sandbox.host.pool import Pool
from autocoder_jupyter.sandbox.protocol import Environment, Program, TestSpec, WorkerLimits, WorkerSpec
from autocoder_jupyter.types import OutputSpec, TypeName
from tests.readers.watch import LONGEST, Watch, require_short
from tests.sandbox.sandboxes import EACH

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads another thread's clock")

PNG = """
import struct, zlib
def chunk(kind, content=b""):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
def png(width, height, *chunks):
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\\x89PNG\\r\\n\\x1a\\n" + head + b"".join(chunks) + chunk(b"IEND")
class Drawn:
    def __init__(self, png):
        self.png = png
    def savefig(self, out, **_):
        out.write(self.png)
"""
"""Makes PNG pictures from chunks, and an object that returns them."""

WIRE = """
import json, os, stat
def writable(fd):
    try:
        return os.write(fd, b"") == 0 and (stat.S_ISFIFO(os.fstat(fd).st_mode) or stat.S_ISSOCK(os.fstat(fd).st_mode))
    except OSError:
        return False
place = next(fd for fd in range(3, 64) if writable(fd))
wire = os.dup(place)
os.dup2(os.open(os.devnull, os.O_WRONLY), place)
def send(header, payload=b""):
    body = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    left = len(body).to_bytes(4, "big") + body + payload
    while left:
        left = left[os.write(wire, left):]
def answer(payload=b"", **header):
    own = {"size": len(payload), "numbers": [], "texts": [], "streams": [], **header}
    outputs = [{"name": "answer", "size": len(payload), "header": own}]
    send({"kind": "result", "seconds": 0, "outputs": outputs, "payload": len(payload)}, payload)
def count(n):
    return {"kind": "range", "name": None, "range": [0, n, 1]}
def stream(*arrays):
    import pyarrow as pa
    batch = pa.RecordBatch.from_arrays(arrays, names=[""] * len(arrays))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as out:
        out.write_batch(batch)
    return sink.getvalue().to_pybytes()
"""
"""Writes arbitrary bytes instead of the answer."""

ANSWERS: dict[str, tuple[TypeName, str]] = {
    "a message of path segments": ("int", "raise ValueError('/a' * 5_000_000)"),
    "a message of escape sequences": ("int", "raise ValueError('\\x1b[' * 5_000_000)"),
    "path segments on standard error": ("int", "import sys\nprint('/a' * 5_000_000, file=sys.stderr)\nreturn 1"),
    "empty lists": ("list", "return [[] for _ in range(300_000)]"),
    "nested lists": ("list", "return [[[n, n] for n in range(1_000)] for _ in range(150)]"),
    "numbers": ("list", "return list(range(1_200_000))"),
    "a dict": ("dict", "return {f'key {n}': n for n in range(500_000)}"),
    "text with escapes": ("str", "return 'é\\n' * 1_200_000"),
    "text": ("str", "return 'abc,[]{}' * 1_200_000"),
    "many tiny columns": ("DataFrame", "return pd.DataFrame({n: [n] for n in range(15_000)})"),
    "many categories": ("Series", "return pd.Series([f'label {n}' for n in range(500_000)], dtype='category')"),
    "many texts": ("Series", "return pd.Series([f'text {n}' for n in range(800_000)])"),
    "many objects": ("Series", "return pd.Series([{'n': n} for n in range(150_000)])"),
    "many dates": (
        "Series",
        "import datetime\nreturn pd.Series([datetime.date(2024, 1, 1)] * 1_500_000, dtype=object)",
    ),
    "many numbers": ("DataFrame", "return pd.DataFrame({n: range(100_000) for n in range(12)})"),
    "an exception of long arguments": ("int", "raise ValueError(*['/a' * 50] * 100_000)"),
    "an exception of many causes": (
        "int",
        "cause = None\nfor n in range(10_000):\n    error = ValueError('/a' * 500)\n    error.__cause__ = cause\n"
        "    cause = error\nraise cause",
    ),
    "a file": ("File", "open('a.bin', 'wb').write(b'abcdefghij' * 1_000_000)\nreturn 'a.bin'"),
    "a folder of long names": (
        "Dir",
        "import os\nos.mkdir('d')\nfor n in range(2_000):\n    open(f'd/{n:0200}', 'w').write('a' * 5_000)\nreturn 'd'",
    ),
    "a picture": ("Figure", f"{PNG}\nreturn Drawn(png(100, 100, chunk(b'IDAT', bytes(10_000_000))))"),
    "a picture that unpacks to a thousand times its size": (
        "Figure",
        f"{PNG}\nreturn Drawn(png(10_000, 10_000, chunk(b'IDAT', zlib.compress(bytes(100_000_000)))))",
    ),
    "a picture of many chunks": ("Figure", f"{PNG}\nreturn Drawn(png(9, 9, *[chunk(b'IDAT')] * 800_000))"),
    "a picture of huge sides": (
        "Figure",
        f"{PNG}{WIRE}\nanswer(png(2**31 - 1, 2**31 - 1, chunk(b'IDAT', bytes(10_000_000))), type='Figure')",
    ),
    "a header of ten megabytes": ("int", f"{WIRE}\nsend(b'[' + b'[],' * 3_500_000 + b'0]')"),
    "a header of empty lists": ("int", f"{WIRE}\nsend(b'[' + b'[],' * 349_000 + b'0]')"),
    "a header of empty dicts": ("int", f"{WIRE}\nsend(b'[' + b'{{}},' * 349_000 + b'0]')"),
    "a deep header": ("int", f"{WIRE}\nsend(b'[' * 1_000_000)"),
    "a header of long numbers": ("int", f"{WIRE}\nsend(b'[' + (b'9' * 4_000 + b',') * 250 + b'0]')"),
    "a header of many entries": ("int", f"{WIRE}\nanswer(b'1', type='int', **{{str(n): n for n in range(60_000)}})"),
    "a header of many outputs": (
        "int",
        f"{WIRE}\nsend({{'kind': 'result', 'seconds': 0, 'payload': 0, 'outputs': [{{}}] * 300_000}})",
    ),
    "a header of path segments": (
        "int",
        f"{WIRE}\ntext = '/a' * 120_000\nerror = dict(exception_type=text, message=text, traceback=text, source=text)\n"
        "send({'kind': 'error', 'error': 'SolutionError', 'payload': 0, 'line': 1, **error})",
    ),
    "many frames": ("int", f"{WIRE}\nfor n in range(150_000):\n    send({{'kind': 'news', 'payload': 0}}, b'')"),
    "a folder of many empty files": (
        "Dir",
        f"{WIRE}\nfiles = [[0, f'{{n:x}}'] for n in range(20_000)]\n"
        "answer(b'a' * 10_000_000, type='Dir', name='d', folders=[], files=[*files, [10_000_000, 'last']])",
    ),
    "a frame that claims many streams": (
        "DataFrame",
        f"{WIRE}\nsent = bytes(10_000_000)\nstreams = [[0, 0]] * 49_000 + [[1, len(sent)]]\n"
        "answer(sent, type='DataFrame', rows=0, index=count(0), columns=count(0), values=[], streams=streams)",
    ),
    "a frame of many numbers that nothing names": (
        "DataFrame",
        f"{WIRE}\nnumbers = [[0, 8, 0, 10_000]] * 20\n"
        "answer(type='DataFrame', rows=0, index=count(0), columns=count(0), values=[], numbers=numbers)",
    ),
    "a frame of many arrays that nothing names": (
        "DataFrame",
        f"{WIRE}\nimport pyarrow as pa\nsent = stream(*[pa.array([1])] * 50_000)\n"
        "answer(sent, type='DataFrame', rows=1, index=count(1), columns=count(0), values=[], streams=[[1, len(sent)]])",
    ),
    "a column of a type of many fields": (
        "Series",
        f"{WIRE}\nimport pyarrow as pa\n"
        "sent = stream(pa.nulls(2, pa.struct([(str(n), pa.int8()) for n in range(40_000)])))\n"
        "values = [{'kind': 'arrow', 'at': [2, 0]}]\n"
        "answer(sent, type='Series', rows=2, index=count(2), name=None, values=values, streams=[[2, len(sent)]])",
    ),
}


def returning(answer: str) -> Program:
    """A program that gives one of the answers."""
    kind, body = ANSWERS[answer]
    lines = "\n    ".join(body.split("\n"))
    return Program(f"import pandas as pd\n\n\ndef run():\n    {lines}\n", (), (OutputSpec(name="answer", type=kind),))


@pytest.fixture(autouse=True, scope="module")
def what_other_tests_left_is_not_collected() -> None:
    """Exclude the objects of earlier tests from garbage collection; to visit all of them takes half a second."""
    gc.collect()
    gc.freeze()


OF_EACH_STREAM = (
    "path segments on standard error",
    "numbers",
    "a header of ten megabytes",
    "many frames",
)
"""Answers in every sandbox. The rest is read by the same code in all of them, so one sandbox shows it."""

CASES = [
    pytest.param(*sandbox.values, answer, marks=sandbox.marks)
    for sandbox in EACH
    for answer in (ANSWERS if sandbox.values == ("local",) else OF_EACH_STREAM)
]


@pytest.mark.parametrize(("sandbox", "answer"), CASES, indirect=["sandbox"])
def test_no_answer_stops_the_other_threads_of_the_notebook(
    pool: Pool, environment: Environment, limits: WorkerLimits, answer: str
) -> None:
    wanted = returning(answer)

    def read() -> float:
        with pool.lease(WorkerSpec(environment, limits)) as worker, Watch() as watch, contextlib.suppress(SandboxError):
            worker.call(wanted, {})
        return watch.longest

    require_short(read)


REPORTS = f"""{WIRE}
names = [f"test_a[{{n}}]" for n in range(5_000)]
send({{"kind": "collected", "ids": names, "payload": 0}})
for name in names:
    send({{"kind": "reported", "id": name, "outcome": "failed", "message": "/a" * 1_000, "payload": 0}})
send({{"kind": "finished", "exit_code": 1, "output": "/a" * 100_000, "payload": 0}})
"""
"""Tests that forge ten megabytes of reports."""


def test_no_test_run_stops_the_other_threads_of_the_notebook(
    pool: Pool, environment: Environment, limits: WorkerLimits
) -> None:
    program = Program("def run():\n    return 1\n", (), (OutputSpec(name="answer", type="int"),))

    def read() -> float:
        with pool.lease(WorkerSpec(environment, limits)) as worker, Watch() as watch:
            run = worker.test(program, TestSpec(REPORTS, ["test_a"]), callee=None)
        assert run.outcomes[0].outcome == "failed" and run.outcomes[0].message.count("test_a") == 5_000
        return watch.longest

    require_short(read)


def test_the_watch_sees_a_step_that_does_not_let_go() -> None:
    with Watch() as watch:
        sum(range(30_000_000))
    assert watch.longest > LONGEST
