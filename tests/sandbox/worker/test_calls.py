from __future__ import annotations

import datetime as dt
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.errors import (
    InvalidRequest,
    OutOfMemory,
    OutputRefused,
    SandboxCrash,
    SolutionError,
    UnsupportedData,
    WrongType,
)
from autocoder_jupyter.sandbox.host.channel import ChannelWorker
from autocoder_jupyter.sandbox.protocol import CallSpec, Program, WorkerLimits
from autocoder_jupyter.types import ColumnSpec, File, InputSpec, OutputSpec
from tests.sandbox.conftest import MakeProgram, PlainProcess, StartPlain


def test_a_function_gets_its_inputs_by_name_and_returns_its_outputs_in_order(
    worker: ChannelWorker, program: MakeProgram
) -> None:
    code = "def run(b, a):\n    return a - b, f'{a}{b}'"
    outcome = worker.call(program(code, "a: int, b: int", "difference: int, text: str"), {"a": 5, "b": 2})
    assert outcome.values == {"difference": 3, "text": "52"}
    assert list(outcome.values) == ["difference", "text"]


def test_garbage_is_collected_although_the_libraries_are_loaded_without(
    worker: ChannelWorker, program: MakeProgram
) -> None:
    code = "import gc\ndef run():\n    return gc.isenabled(), gc.get_freeze_count()"
    values = worker.call(program(code, outputs="enabled: bool, libraries: int"), {}).values
    assert values["enabled"] and values["libraries"] > 10_000


def test_a_worker_prepares_for_a_call_only_while_it_waits(worker: ChannelWorker, program: MakeProgram) -> None:
    """A call that follows another at once must not wait for the preparation, which uses a small frame."""
    code = "import sys\ndef run():\n    return sys.modules['autocoder_worker.warmup']._packed.cache_info().hits"
    hits = program(code, outputs="hits: int")

    def after(pause: float) -> int:
        time.sleep(pause)
        return int(worker.call(hits, {}).values["hits"])

    at_once = min(after(0) for _ in range(20))
    assert any(after(pause) > at_once for pause in (1, 2, 4, 8, 16))


def test_a_frame_comes_back_as_it_went_in(worker: ChannelWorker, program: MakeProgram) -> None:
    frame = pd.DataFrame(
        {
            "when": pd.to_datetime(["2024-01-01", None]).tz_localize("Europe/Berlin"),  # type: ignore[arg-type]
            "kind": pd.Categorical(["a", "b"], ordered=True),
            "share": [0.1, np.nan],
        },
        index=pd.Index([7, 9], name="key"),
    )
    outcome = worker.call(
        program("def run(frame):\n    return frame", "frame: DataFrame", "out: DataFrame"), {"frame": frame}
    )
    pd.testing.assert_frame_equal(outcome.values["out"], frame)


def test_several_values_of_odd_sizes_share_one_payload(worker: ChannelWorker, program: MakeProgram) -> None:
    frame = pd.DataFrame({"x": np.arange(5)})
    code = "def run(a, f, b, g):\n    return b, g, a, f"
    outcome = worker.call(
        program(code, "a: str, f: DataFrame, b: str, g: DataFrame", "b: str, g: DataFrame, a: str, f: DataFrame"),
        {"a": "x" * 13, "f": frame, "b": "é", "g": frame * 2},
    )
    assert (outcome.values["a"], outcome.values["b"]) == ("x" * 13, "é")
    pd.testing.assert_frame_equal(outcome.values["g"], frame * 2)


def test_an_optional_input_falls_back_to_the_function_then_to_the_declaration(worker: ChannelWorker) -> None:
    inputs = (
        InputSpec(name="own", type="int", required=False, default=1),
        InputSpec(name="declared", type="int", required=False, default=20),
    )
    program = Program(
        "def run(declared, own=300):\n    return declared + own", inputs, (OutputSpec(name="y", type="int"),)
    )
    assert worker.call(program, {}).values == {"y": 320}
    assert worker.call(program, {"own": 1, "declared": 2}).values == {"y": 3}


def test_nothing_can_be_given_where_nothing_is_the_default(worker: ChannelWorker, program: MakeProgram) -> None:
    outcome = worker.call(program("def run(x):\n    return x is None", "x: DataFrame?", "y: bool"), {"x": None})
    assert outcome.values == {"y": True}


def test_files_and_folders_cross_both_ways(worker: ChannelWorker, program: MakeProgram, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("hello")
    code = (
        "from pathlib import Path\n"
        "def run(text):\n"
        "    out = Path('report'); out.mkdir(); (out / 'a.txt').write_text(text.read_text().upper())\n"
        "    return out, out / 'a.txt'\n"
    )
    outcome = worker.call(program(code, "text: File", "folder: Dir, file: File"), {"text": File(tmp_path / "in.txt")})
    assert Path(outcome.values["file"]).read_text() == "HELLO"
    assert (Path(outcome.values["folder"]) / "a.txt").read_text() == "HELLO"


def test_a_figure_comes_back_as_a_picture(worker: ChannelWorker, program: MakeProgram) -> None:
    code = "import matplotlib.pyplot as plt\ndef run():\n    fig, ax = plt.subplots(); ax.plot([1, 2]); return ax\n"
    figure = worker.call(program(code, "", "figure: Figure"), {}).values["figure"]
    assert figure.png.startswith(b"\x89PNG") and figure.width > 0


def test_what_is_printed_is_kept_apart_and_cleaned(worker: ChannelWorker, program: MakeProgram) -> None:
    code = (
        "import sys, os\n"
        "def run():\n"
        "    print('\\x1b[31mred\\x1b[0m\\x1b]0;title\\x07'); os.write(1, b'\\xff raw\\n')\n"
        "    sys.stderr.write('err\\n')\n"
        "    return 1\n"
    )
    outcome = worker.call(program(code), {})
    assert outcome.stdout.endswith("red\\x1b]0;title\\x07\n") and "raw" in outcome.stdout  # colors are harmless
    assert "\x1b" not in outcome.stdout
    assert outcome.stderr == "err\n"


def test_the_head_and_the_tail_of_long_text_are_kept(worker: ChannelWorker, program: MakeProgram) -> None:
    outcome = worker.call(
        program("def run():\n    print('first'); print('x' * 300_000); print('last')\n    return 1"), {}
    )
    assert outcome.stdout.startswith("first") and outcome.stdout.endswith("last\n")
    assert "bytes left out" in outcome.stdout and len(outcome.stdout) < 70_000


def test_a_flood_of_text_ends_the_program(worker: ChannelWorker, program: MakeProgram) -> None:
    with pytest.raises(OutputRefused, match="16 MiB to standard output"):
        worker.call(program("def run():\n    while True: print('x' * 10_000)"), {})
    assert worker.call(program("def run(): return 1"), {}).values == {"result": 1}


def test_an_error_names_its_line_and_shows_only_the_solution(worker: ChannelWorker, program: MakeProgram) -> None:
    code = (
        "import pandas as pd\n\ndef helper(x):\n    return x['nope']\n\ndef run():\n    return helper(pd.DataFrame())\n"
    )
    with pytest.raises(SolutionError) as caught:
        worker.call(program(code), {})
    error = caught.value
    assert (error.exception_type, error.line, error.source) == ("KeyError", 4, "return x['nope']")
    assert "in helper" in error.traceback and "in run" in error.traceback
    assert "autocoder_worker" not in error.traceback and "pandas" not in error.traceback
    assert worker.alive


def test_a_chained_error_shows_both_parts(worker: ChannelWorker, program: MakeProgram) -> None:
    code = "def run():\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n"
    code += "        raise ValueError('bad') from e\n"
    with pytest.raises(SolutionError, match="ValueError: bad") as caught:
        worker.call(program(code), {})
    assert "ZeroDivisionError" in caught.value.traceback and caught.value.line == 5


def test_a_syntax_error_names_its_line(worker: ChannelWorker, program: MakeProgram) -> None:
    with pytest.raises(SolutionError, match="SyntaxError") as caught:
        worker.call(program("x = 1\ndef run(:\n    pass\n"), {})
    assert caught.value.line == 2


def test_stderr_comes_with_the_error(worker: ChannelWorker, program: MakeProgram) -> None:
    with pytest.raises(SolutionError) as caught:
        worker.call(
            program("import sys\ndef run():\n    print('about to fail', file=sys.stderr)\n    raise ValueError"), {}
        )
    assert caught.value.stderr == "about to fail\n"


def test_runaway_recursion_is_an_error_of_the_solution(worker: ChannelWorker, program: MakeProgram) -> None:
    with pytest.raises(SolutionError, match="RecursionError"):
        worker.call(program("def run():\n    return run()"), {})


def test_a_module_without_the_function_says_so(worker: ChannelWorker, program: MakeProgram) -> None:
    with pytest.raises(SolutionError, match="defines no function 'run'"):
        worker.call(program("def walk(): return 1"), {})


def test_a_hostile_exception_cannot_hide(worker: ChannelWorker, program: MakeProgram) -> None:
    code = "class E(Exception):\n    def __str__(self): raise RuntimeError\ndef run(): raise E"
    with pytest.raises(SolutionError, match="E"):
        worker.call(program(code), {})


@pytest.mark.parametrize(
    ("code", "outputs", "message"),
    [
        ("def run(): return 1", "a: int, b: int", "2 outputs"),
        ("def run(): return 1, 2, 3", "a: int, b: int", "the tuple has 3"),
        ("def run(): return None", "a: DataFrame", "came back as None"),
        ("def run(): return 'x'", "a: int", "declared int"),
        ("def run(): return True", "a: int", "declared int"),
        ("def run(): return 1.0", "a: int", "declared int"),
        ("def run(): return [1]", "a: DataFrame", "declared DataFrame and came back as list"),
        ("def run(): return float", "a: dict", "declared dict"),
        (
            "import pandas as pd\ndef run(): return pd.DataFrame({'x': [object()]})",
            "a: DataFrame",
            "cannot be handed over",
        ),
        ("class E:\n    __eq__ = lambda s, o: True\ndef run(): return E()", "a: int", "declared int"),
    ],
)
def test_an_output_of_another_type_is_refused_with_both_types(
    worker: ChannelWorker, program: MakeProgram, code: str, outputs: str, message: str
) -> None:
    with pytest.raises(WrongType, match=message):
        worker.call(program(code, "", outputs), {})


def _framed(code: str, **columns: str) -> Program:
    specs = tuple(ColumnSpec(name=name, dtype=dtype) for name, dtype in columns.items())
    return Program(code, (), (OutputSpec(name="f", type="DataFrame", columns=specs),))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": "int64", "b": "str", "c": "int64"}, "missing columns 'c'"),
        ({"a": "int64"}, "not declared: 'b'"),
        ({"a": "float64", "b": "str"}, "column 'a' is declared float64 and is int64"),
        ({"a": "int64", "b": "datetime64[ns]"}, "column 'b' is declared datetime64"),
    ],
)
def test_declared_columns_must_be_there_and_of_their_kind(
    worker: ChannelWorker, columns: dict[str, str], message: str
) -> None:
    code = "import pandas as pd\ndef run(): return pd.DataFrame({'a': [1], 'b': ['x']})"
    with pytest.raises(WrongType, match=message):
        worker.call(_framed(code, **columns), {})


def test_widths_units_and_ways_to_hold_text_do_not_count(worker: ChannelWorker) -> None:
    code = (
        "import pandas as pd\n"
        "def run(): return pd.DataFrame({'a': pd.array([1], dtype='Int32'), 'b': pd.Series(['x'], dtype=object),"
        " 'c': pd.to_datetime(['2024-01-01']).as_unit('s')})\n"
    )
    worker.call(_framed(code, a="int64", b="str", c="datetime64[ns]"), {})


def test_an_empty_frame_has_no_dtypes_to_complain_of(worker: ChannelWorker) -> None:
    code = "import pandas as pd\ndef run(): return pd.DataFrame(columns=['a', 'b'])"
    worker.call(_framed(code, a="int64", b="datetime64[ns]"), {})


def test_changed_inputs_are_named_when_they_are_watched(worker: ChannelWorker, program: MakeProgram) -> None:
    code = "def run(f, g, d):\n    f['x'] = 0; d['k'] = 1\n    return len(g)"
    frames: dict[str, Any] = {"f": pd.DataFrame({"x": [1, 2]}), "g": pd.DataFrame({"x": [1]}), "d": {}}
    wanted = program(code, "f: DataFrame, g: DataFrame, d: dict")
    assert worker.call(wanted, frames, CallSpec(watch_inputs=True)).mutated == ("f", "d")
    assert worker.call(wanted, frames).mutated == ()
    assert frames["f"]["x"].tolist() == [1, 2]


def test_equal_values_have_equal_digests(worker: ChannelWorker, program: MakeProgram) -> None:
    code = "import pandas as pd\ndef run(n): return pd.DataFrame({'x': range(n)}), n"
    wanted = program(code, "n: int", "f: DataFrame, n: int")
    one, two, other = (dict(worker.call(wanted, {"n": n}).digests) for n in (3, 3, 4))
    assert one == two
    assert one["f"] != other["f"] and one["n"] != other["n"]


def test_a_seed_makes_hidden_randomness_repeatable(worker: ChannelWorker, program: MakeProgram) -> None:
    code = "import random, numpy as np\ndef run(): return [random.random(), float(np.random.rand())]"
    wanted = program(code, "", "r: list")
    first, again, other = (worker.call(wanted, {}, CallSpec(seed=seed)).values["r"] for seed in (1, 1, 2))
    assert first == again != other


def test_environment_variables_are_seen_by_their_program_only(worker: ChannelWorker, program: MakeProgram) -> None:
    code = "import os\ndef run(): return os.environ.get('TOKEN', '')"
    assert worker.call(program(code, "", "v: str", TOKEN="secret"), {}).values == {"v": "secret"}
    assert worker.call(program(code, "", "v: str"), {}).values == {"v": ""}


def test_each_call_has_an_empty_folder_of_its_own(worker: ChannelWorker, program: MakeProgram) -> None:
    code = (
        "import os, tempfile\nfrom pathlib import Path\n"
        "def run():\n"
        "    before = os.listdir('.'); Path('left').write_text('x')\n"
        "    assert Path.home() == Path.cwd() == Path(tempfile.gettempdir())\n"
        "    return before\n"
    )
    wanted = program(code, "", "before: list")
    assert worker.call(wanted, {}).values == worker.call(wanted, {}).values == {"before": []}


def test_a_fresh_child_remembers_nothing_and_a_reused_one_does(worker: ChannelWorker, program: MakeProgram) -> None:
    wanted = program("n = 0\ndef run():\n    global n; n += 1\n    return n")
    assert [worker.call(wanted, {}).values["result"] for _ in range(2)] == [1, 1]
    assert [worker.call(wanted, {}, CallSpec(reuse=True)).values["result"] for _ in range(3)] == [1, 2, 3]
    other = program("n = 5\ndef run():\n    global n; n += 1\n    return n")
    assert worker.call(other, {}, CallSpec(reuse=True)).values["result"] == 6
    assert worker.call(wanted, {}, CallSpec(reuse=True)).values["result"] == 1


def at_work(worker: ChannelWorker) -> bool:
    assert isinstance(worker._process, PlainProcess)
    return worker._process.at_work


def test_the_sandbox_hears_whether_a_process_may_be_at_work(worker: ChannelWorker, program: MakeProgram) -> None:
    wanted = program("def run():\n    return 1")
    worker.call(wanted, {}, CallSpec(reuse=True))
    assert at_work(worker)  # the process is kept, and continues at any time
    assert worker.responds() and at_work(worker)
    worker.call(wanted, {})
    assert not at_work(worker)


def test_a_process_that_failed_is_dismissed_unless_it_is_to_be_used_again(
    worker: ChannelWorker, program: MakeProgram
) -> None:
    """It is kept because it may be asked whether it changed its arguments."""
    wanted = program("def run(x):\n    return 10 // x", "x: int")
    with pytest.raises(SolutionError):
        worker.call(wanted, {"x": 0}, CallSpec(watch_inputs=True))
    assert not at_work(worker)
    with pytest.raises(SolutionError):
        worker.call(wanted, {"x": 0}, CallSpec(watch_inputs=True, reuse=True))
    assert at_work(worker)


def test_a_reused_child_survives_an_error_of_the_solution(worker: ChannelWorker, program: MakeProgram) -> None:
    wanted = program("def run(x):\n    return 10 // x", "x: int")
    for x in (1, 0, 2):
        if x:
            assert worker.call(wanted, {"x": x}, CallSpec(reuse=True)).values["result"] == 10 // x
        else:
            with pytest.raises(SolutionError, match="ZeroDivisionError"):
                worker.call(wanted, {"x": x}, CallSpec(reuse=True))


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("import os; os._exit(0)", "ended the interpreter"),
        ("import sys; sys.exit(0)", "ended the interpreter"),
        ("import os; os.abort()", "abort"),
        ("import ctypes; ctypes.string_at(0)", "segmentation fault"),
        ("import os; os.kill(os.getpid(), 9)", "a kill"),
        ("import os, time; os.closerange(3, 64); time.sleep(60)", "closing its channel"),
    ],
)
def test_an_end_in_the_middle_of_a_call_is_a_crash(
    worker: ChannelWorker, program: MakeProgram, statement: str, words: str
) -> None:
    with pytest.raises(SandboxCrash, match=words):
        worker.call(program(f"def run():\n    {statement}"), {})
    assert not worker.alive


def test_exiting_at_import_is_a_crash_too(worker: ChannelWorker, program: MakeProgram) -> None:
    with pytest.raises(SandboxCrash):
        worker.call(program("import sys; sys.exit(0)\ndef run(): return 1"), {})


def test_a_crash_carries_its_signal(worker: ChannelWorker, program: MakeProgram) -> None:
    with pytest.raises(SandboxCrash) as caught:
        worker.call(program("import os\ndef run(): os.abort()"), {})
    assert caught.value.signal == 6


def test_a_refused_allocation_is_out_of_memory(worker: ChannelWorker, program: MakeProgram) -> None:
    with pytest.raises(OutOfMemory):
        worker.call(program("def run(): raise MemoryError"), {})
    assert worker.alive


def test_an_address_space_limit_turns_a_large_allocation_into_out_of_memory(
    start_plain: StartPlain, program: MakeProgram
) -> None:
    worker = start_plain(address_space=3 * 2**30)
    with pytest.raises(OutOfMemory):
        worker.call(program("import numpy as np\ndef run(): return int(np.ones(2**30).sum())"), {})


def test_background_processes_end_with_their_call(worker: ChannelWorker, program: MakeProgram) -> None:
    code = (
        "import subprocess, sys\n"
        "def run():\n"
        "    return subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid\n"
    )
    pid = worker.call(program(code), {}).values["result"]
    worker.call(program("def run(): return 1"), {})  # the zygote has reaped the first one by now
    assert not Path(f"/proc/{pid}").exists()


def test_process_pools_and_event_loops_work(worker: ChannelWorker, program: MakeProgram) -> None:
    code = (
        "import asyncio\nfrom concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor\n"
        "def double(x): return 2 * x\n"
        "async def later(): await asyncio.sleep(0); return 1\n"
        "def run():\n"
        "    with ProcessPoolExecutor(2) as p, ThreadPoolExecutor(2) as t:\n"
        "        return sum(p.map(double, [1, 2])) + sum(t.map(double, [1])) + asyncio.run(later())\n"
    )
    assert worker.call(program(code), {}).values == {"result": 9}


def test_large_payloads_both_ways_while_the_program_prints(worker: ChannelWorker, program: MakeProgram) -> None:
    frame = pd.DataFrame({f"c{n}": np.random.default_rng(n).random(300_000) for n in range(5)})
    code = (
        "import threading\n"
        "for _ in range(2000): print('y' * 400)\n"
        "def run(f):\n"
        "    for _ in range(2000): print('x' * 400)\n"
        "    return f, f.copy()\n"
    )
    outcome = worker.call(program(code, "f: DataFrame", "a: DataFrame, b: DataFrame"), {"f": frame})
    pd.testing.assert_frame_equal(outcome.values["b"], frame)


def test_inspect_and_dataclasses_find_the_solution(worker: ChannelWorker, program: MakeProgram) -> None:
    code = (
        "import inspect\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass P:\n    x: 'int' = 1\n"
        "def run(): return inspect.getsource(P).count('x') + P().x\n"
    )
    assert worker.call(program(code), {}).values == {"result": 2}


def test_an_undeclared_or_missing_or_wrong_argument_is_refused_before_anything_runs(
    worker: ChannelWorker, program: MakeProgram
) -> None:
    wanted = program("def run(x): return x", "x: int")
    for arguments, message in (({"y": 1}, "no input 'y'"), ({}, "needs the input 'x'"), ({"x": "a"}, "declared int")):
        with pytest.raises(InvalidRequest, match=message):
            worker.call(wanted, arguments)


def test_what_cannot_cross_is_refused_by_name(worker: ChannelWorker, program: MakeProgram) -> None:
    frame = pd.DataFrame({"odd": [object()]})
    with pytest.raises(UnsupportedData, match="column 'odd'"):
        worker.call(program("def run(f): return 1", "f: DataFrame"), {"f": frame})


def test_times_cross(worker: ChannelWorker, program: MakeProgram) -> None:
    code = "import datetime as dt\ndef run(d): return d + dt.timedelta(days=1), d.date()"
    outcome = worker.call(program(code, "d: datetime", "next: datetime, day: date"), {"d": dt.datetime(2024, 1, 1, 5)})
    assert outcome.values == {"next": dt.datetime(2024, 1, 2, 5), "day": dt.date(2024, 1, 1)}


def test_output_beyond_the_limit_ends_the_worker(start_plain: StartPlain, program: MakeProgram) -> None:
    worker = start_plain(WorkerLimits(output_bytes=2**20, seconds=30))
    code = "import numpy as np, pandas as pd\ndef run(): return pd.DataFrame({'x': np.zeros(2**18)})"
    with pytest.raises(OutputRefused, match="a payload of"):
        worker.call(program(code, "", "f: DataFrame"), {})
    assert not worker.alive


def test_a_returned_file_goes_with_its_value_and_leaves_nothing(
    worker: ChannelWorker, program: MakeProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = "from pathlib import Path\ndef run():\n    Path('a').write_text('x')\n    return Path('a'), Path('a').parent"
    values = worker.call(program(code, outputs="f: File, d: Dir"), {}).values
    assert values["f"].path.read_text() == "x" and (values["d"].path / "a").read_text() == "x"
    assert len(list(tmp_path.glob("*/*"))) == 2
    del values
    assert not list(tmp_path.glob("*/*"))
