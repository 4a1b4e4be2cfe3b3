"""`result.handle()` in the real local sandbox."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.errors import InvalidRequest, OutOfMemory, SandboxCrash, SandboxTimeout, SolutionError, WrongType
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.sandbox.host.capacity import usable_cores
from autocoder_jupyter.types import CodeSolution, Dir, Figure, File, InputSpec, OutputSpec, Report

pytestmark = pytest.mark.local_sandbox

FRAME = InputSpec(name="sales", type="DataFrame")


@pytest.fixture
def built(tmp_path: Path) -> Any:
    def build(code: str, inputs: tuple[InputSpec, ...], samples: Any = None, **outputs: Any) -> CodeGenEvalResult:
        report = Report(
            name="growth",
            run_id="abc",
            prompt="…",
            success=True,
            solution=CodeSolution(code=code),
            declared_inputs=inputs,
            declared_outputs=tuple(OutputSpec(name=name, type=kind) for name, kind in outputs.items()),
            sandbox="local",
        )
        return CodeGenEvalResult(
            "growth",
            Pending.resolved(Resolution("ready", report)),
            samples=samples,
            options=CallOptions(sandbox="local"),
            root=tmp_path / ".autocode",
        )

    return build


def test_three_different_frames_give_three_answers(built: Any) -> None:
    total = built("def run(sales): return float(sales['v'].sum())", (FRAME,), value="float")
    for cache in ("disable", "auto"):
        answers = [total.run(pd.DataFrame({"v": [450, extra]}), cache=cache) for extra in (0, 300, 600)]
        assert answers == [450, 750, 1050]


def test_five_results_called_at_once_give_their_own_answers(built: Any) -> None:
    five = [built(f"def run(): return {number}", (), value="int") for number in range(5)]

    async def together() -> list[int]:
        return await asyncio.gather(*(each.run.aio() for each in five))

    assert asyncio.run(together()) == [0, 1, 2, 3, 4]


def test_three_hundred_calls_at_once_all_succeed(built: Any) -> None:
    twice = built("def run(number): return 2 * number", (InputSpec(name="number", type="int"),), value="int")

    async def together() -> list[int]:
        return await asyncio.gather(*(twice.run.aio(number) for number in range(300)))

    threads = threading.active_count()
    watching = threading.Event()
    most = [0]

    def watch() -> None:
        while not watching.wait(0.05):
            most[0] = max(most[0], threading.active_count())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert asyncio.run(together()) == [2 * number for number in range(300)]
    finally:
        watching.set()
        watcher.join()
    assert most[0] - threads < 100  # a call that waits has no thread


@pytest.mark.parametrize("reuse", [False, True], ids=["fresh", "reused"])
def test_each_client_of_a_web_server_gets_its_own_answer_though_others_hang_up(built: Any, reuse: bool) -> None:
    twice = built("def run(number): return 2 * number", (InputSpec(name="number", type="int"),), value="int")
    failed: list[BaseException] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                answer = str(twice.run(int(self.path[1:]), reuse=reuse)).encode()
            except BaseException as error:
                failed.append(error)
                raise
            with contextlib.suppress(ConnectionError):  # a client that has hung up
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # with the five of the standard library, the system drops connections of many clients

    def ask(number: int) -> str:
        client = HTTPConnection("127.0.0.1", server.server_port, timeout=120)
        try:
            client.request("GET", f"/{number}")
            return "" if number % 5 == 0 else client.getresponse().read().decode()
        finally:
            client.close()

    with Server(("127.0.0.1", 0), Handler) as server:
        background.start_thread(server.serve_forever, "web server")
        try:
            with ThreadPoolExecutor(20) as clients:
                answers = list(clients.map(ask, range(60)))
        finally:
            server.shutdown()
    assert answers == ["" if number % 5 == 0 else str(2 * number) for number in range(60)]
    assert not failed


def test_calls_of_two_threads_run_at_the_same_time_on_different_cores(built: Any) -> None:
    if usable_cores() < 2:
        pytest.skip("this machine has one core")
    when = built(
        "import os, time\n"
        "def run():\n"
        "    began = time.monotonic()\n"
        "    time.sleep(1)\n"
        "    return began, time.monotonic(), sorted(os.sched_getaffinity(0))\n",
        (), began="float", ended="float", cores="list",
    )  # fmt: skip
    calls: list[Any] = []
    threads = [threading.Thread(target=lambda: calls.append(when.run())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    one, other = calls
    assert max(one.began, other.began) < min(one.ended, other.ended)
    assert one.cores != other.cores


def test_texts_of_all_kinds_cross_unharmed(built: Any) -> None:
    echo = built("def run(text, flag, number): return text, flag, number", (
        InputSpec(name="text", type="str"), InputSpec(name="flag", type="bool"), InputSpec(name="number", type="int"),
    ), text="str", flag="bool", number="int")  # fmt: skip
    for text in (
        "O'Brien",
        "x'; echo PWNED > /tmp/x; '",
        "--help",
        "{{.inputs.text}}",
        "",
        '\n\t"$(id)`id`',
        "None",
        "é\u2028",
    ):
        assert echo.run(text, False, 0) == (text, False, 0)


def test_dtypes_index_and_zones_survive(built: Any) -> None:
    index = pd.DatetimeIndex(["2025-01-01", "2025-01-02"], tz="Europe/Berlin", name="day")
    sales = pd.DataFrame({"a": pd.Categorical(["x", "y"], ["y", "x"], ordered=True), "b": [1, 2]}, index=index)
    same = built("def run(sales): return sales", (FRAME,), {"sales": sales}, same="DataFrame")
    pd.testing.assert_frame_equal(same.run(), sales)


@pytest.mark.parametrize(
    ("code", "error", "timeout"),
    [
        ("def run(): raise RuntimeError('no')", SolutionError, 60),
        ("def run(): return 'text'", WrongType, 60),
        ("def run():\n    while True: pass", SandboxTimeout, 3),
        ("import os\ndef run(): os._exit(3)", SandboxCrash, 60),
        ("def run(): return len(bytearray(10**9))", OutOfMemory, 60),
    ],
)
def test_a_crashed_program_is_never_a_value(built: Any, code: str, error: type[Exception], timeout: float) -> None:
    with pytest.raises(error):
        built(code, (), value="int").run(timeout=timeout, resources={"memory": "512Mi"})


def test_files_come_back_where_they_can_be_kept(built: Any, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("content")
    code = """
from pathlib import Path
def run(source):
    Path("out.txt").write_text(source.read_text().upper())
    Path("folder").mkdir()
    Path("folder/x").write_text("x")
    return Path("out.txt"), Path("folder")
"""
    copier = built(code, (InputSpec(name="source", type="File"),), file="File", folder="Dir")
    with pytest.raises(InvalidRequest, match=r"File\("):
        copier.run(str(tmp_path / "in.txt"))
    first = copier.run(File(tmp_path / "in.txt"))
    assert isinstance(first.file, File) and isinstance(first.folder, Dir)
    assert first.file.path == tmp_path / ".autocode" / "growth" / "outputs" / "1" / "out.txt"
    assert first.file.path.read_text() == "CONTENT"
    assert (copier.run(File(tmp_path / "in.txt"), output_dir=tmp_path / "o").folder.path / "x").read_text() == "x"
    assert (tmp_path / "in.txt").read_text() == "content"


def test_a_figure_comes_back_as_a_picture(built: Any) -> None:
    code = """
import struct, zlib
class Drawn:
    def savefig(self, target, **options):
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        target.write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(b"\\0\\0")) + chunk(b"IEND", b""))
def run(): return Drawn()
"""
    picture = built(code, (), picture="Figure").run()
    assert isinstance(picture, Figure)
    assert (picture.width, picture.height) == (1, 1)


def test_variables_and_secrets_reach_the_program_only(built: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_TOKEN", "hunter2-hunter2")
    reader = built("import os\ndef run(): return os.environ['MODE'] + os.environ['DB_TOKEN']", (), value="str")
    assert reader.run(env_vars={"MODE": "x"}, secrets=["DB_TOKEN"]) == "xhunter2-hunter2"
    leaky = built("import os\ndef run(): raise ValueError(os.environ['DB_TOKEN'])", (), value="str")
    with pytest.raises(SolutionError) as failed:
        leaky.run(secrets=["DB_TOKEN"])
    assert "hunter2" not in str(failed.value) + repr(vars(failed.value))


def test_an_interrupt_kills_the_call_and_the_next_one_works(built: Any) -> None:
    slow = built("import time\ndef run(s): time.sleep(s); return s", (InputSpec(name="s", type="float"),), s="float")
    assert slow.run(0) == 0
    threading.Timer(0.5, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        slow.run(60)
    assert slow.run(0) == 0


def test_a_reused_process_gives_the_same_answers(built: Any) -> None:
    total = built("def run(sales): return float(sales['v'].sum())", (FRAME,), value="float")
    assert [total.run(pd.DataFrame({"v": [n]}), reuse=True) for n in range(3)] == [0, 1, 2]


def test_a_task_and_a_loaded_result_run_for_real(built: Any, tmp_path: Path) -> None:
    sample = pd.DataFrame({"v": [1.5]})
    total = built("def run(sales): return float(sales['v'].sum())", (FRAME,), {"sales": sample}, value="float")
    assert total.as_task("nightly")() == 1.5
    total.save(tmp_path / "saved")
    assert CodeGenEvalResult.load(tmp_path / "saved").run() == 1.5
