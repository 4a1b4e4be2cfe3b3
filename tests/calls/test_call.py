from __future__ import annotations

import asyncio
import pickle
import threading
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from autocoder_jupyter.calls import outcome_cache
from autocoder_jupyter.calls.call import call
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.outputs import field_names, moved_to_destination
from autocoder_jupyter.calls.runtime import runtime_for
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.data.capture import capture
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.errors import (
    DataDrift,
    DriftWarning,
    EngineGone,
    GenerationFailed,
    InvalidRequest,
    SandboxUnavailable,
    SolutionError,
)
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.sandbox.protocol import CallSpec, WorkerNotReady
from autocoder_jupyter.tasks.task import Task
from autocoder_jupyter.types import Dir, Figure, File, ImageConfig, InputSpec, OutputSpec, Secret
from autocoder_jupyter.untrusted.visible import hides
from tests.cases import each as each_case

SALES = InputSpec(name="sales", type="DataFrame")
TOTAL = "def run(sales): return float(sales['v'].sum())"
TWO = (OutputSpec(name="total", type="float"), OutputSpec(name="best.month", type="str"))


def run(target: Function, *args: Any, options: CallOptions | None = None, **keywords: Any) -> Any:
    return background.run(call(target, options or CallOptions(), args, keywords))


def frame(*values: float) -> pd.DataFrame:
    return pd.DataFrame({"v": values})


@pytest.mark.parametrize("cache", ["disable", "auto", "override"])
def test_three_different_frames_give_three_answers(pool: Any, cache: Any, function: Any) -> None:
    options = CallOptions(cache=cache)
    frames = (frame(450), frame(750), frame(1050))
    assert [run(function(TOTAL, (SALES,)), each, options=options) for each in frames] == [450, 750, 1050]


def test_five_results_called_side_by_side_give_their_own_answers(pool: Any, function: Any) -> None:
    functions = [function(f"def run(): return {number}.0") for number in range(5)]

    async def together() -> list[float]:
        return await asyncio.gather(*(call(each, CallOptions(), (), {}) for each in functions))

    assert background.run(together()) == [0, 1, 2, 3, 4]


def test_several_outputs_are_a_named_tuple_in_declared_order(pool: Any, function: Any) -> None:
    outputs = run(function("def run(): return 1.5, 'May'", outputs=TWO))
    assert outputs == (1.5, "May")
    assert outputs.total == 1.5
    assert outputs.best_month == "May"
    assert pickle.loads(pickle.dumps(outputs)) == outputs


def test_names_of_outputs_become_fields_that_python_accepts() -> None:
    names = ["summary.csv", "class", "2024", "_x", "a b", "a_b", "ünïcode"]
    assert field_names(names) == ("summary_csv", "class_", "output_2024", "output_x", "a_b", "a_b_2", "ünïcode")


def test_a_crashed_program_is_never_a_value(pool: Any, function: Any) -> None:
    pool.faults = [SolutionError("ZeroDivisionError: division by zero")]
    with pytest.raises(SolutionError, match="division"):
        run(function("def run(): return 1.0"), options=CallOptions(retries=5))
    assert len(pool.calls) == 1


def test_a_lost_engine_is_asked_again_as_often_as_told(
    pool: Any, monkeypatch: pytest.MonkeyPatch, function: Any
) -> None:
    monkeypatch.setattr("autocoder_jupyter.calls.call.BACKOFF_SECONDS", 0.001)
    pool.faults = [EngineGone("gone"), SandboxUnavailable("not yet back")]
    assert run(function("def run(): return 1.0"), options=CallOptions(retries=2)) == 1.0
    pool.faults = [EngineGone("gone"), EngineGone("gone")]
    with pytest.raises(EngineGone):
        run(function("def run(): return 1.0"), options=CallOptions(retries=1))


def test_a_worker_that_was_not_ready_is_replaced_by_one_that_was_asked(pool: Any, function: Any) -> None:
    target = function("def run(): return 1.0")
    pool.faults = [WorkerNotReady("it had ended")]
    assert run(target) == 1.0
    assert pool.asked == [False, True]
    pool.faults = [WorkerNotReady("it had ended"), WorkerNotReady("it hangs")]
    with pytest.raises(EngineGone, match="it hangs"):
        run(target)
    assert run(target) == 1.0


def test_a_sandbox_that_never_worked_is_not_asked_again(pool: Any, function: Any) -> None:
    pool.faults = [SandboxUnavailable("no sandbox here")]
    with pytest.raises(SandboxUnavailable):
        run(function("def run(): return 1.0"), options=CallOptions(retries=3))
    assert len(pool.calls) == 1


def test_a_damaged_environment_is_built_anew_for_a_call_and_said_in_one_sentence(
    pool: Any, monkeypatch: pytest.MonkeyPatch, function: Any
) -> None:
    sandbox: Any = runtime_for("local", ImageConfig()).sandbox
    complaints = ["its file core.so is damaged"]
    monkeypatch.setattr(sandbox, "examine", lambda environment: complaints.pop() if complaints else "")
    pool.faults = [EngineGone("The worker did not start.")]
    with pytest.warns(UserWarning, match=r"environment of growth was damaged \(its file core.so.*built again"):
        assert run(function("def run(): return 1.0")) == 1.0
    assert len(sandbox.built) == 2


def test_what_fails_in_a_whole_environment_fails_as_it_did(pool: Any, function: Any) -> None:
    pool.faults = [SolutionError("it raised", exception_type="ModuleNotFoundError")]
    with pytest.raises(SolutionError):
        run(function("def run(): return 1.0"))
    assert len(pool.calls) == 1


def test_the_options_of_the_generation_reach_the_sandbox(pool: Any, function: Any) -> None:
    config = AgentConfig(timeout=7, env_vars={"MODE": "full"}, block_network=False)
    options = CallOptions.of(config).changed({"resources": {"cpu": 2, "memory": "512Mi"}, "reuse": True})
    assert run(function("def run(): return env['MODE']"), options=options) == "full"
    limits, network = pool.leases[0].limits, pool.leases[0].network
    assert (limits.cpu, limits.memory, limits.seconds, network) == (2, 512 * 2**20, 7, True)
    assert pool.calls[0][1] == CallSpec(seconds=7, reuse=True)


def test_another_timeout_finds_the_same_workers(pool: Any, function: Any) -> None:
    options = CallOptions().changed({"timeout": 3})
    run(function("def run(): return 1.0"), options=options)
    assert pool.leases[0].limits.seconds == CallOptions().worker_seconds
    assert pool.calls[0][1].seconds == 3


def test_a_secret_is_looked_up_for_the_call_and_never_shown(
    pool: Any, monkeypatch: pytest.MonkeyPatch, function: Any
) -> None:
    options = CallOptions(secrets=(Secret(key="DB_PASSWORD", as_env_var="PASSWORD"),), name="nightly")
    with pytest.raises(InvalidRequest, match="DB_PASSWORD is not set"):
        run(function("def run(): return env['PASSWORD']"), options=options)
    monkeypatch.setenv("DB_PASSWORD", "hunter2-hunter2")
    assert run(function("def run(): return env['PASSWORD']"), options=options) == "hunter2-hunter2"
    assert "hunter2" not in repr(options)
    assert "hunter2" not in repr(pool.calls[0][0])
    pool.faults = [SolutionError("login with hunter2-hunter2 failed", stderr="hunter2-hunter2", traceback="…")]
    with pytest.raises(SolutionError) as failed:
        run(function("def run(): return 1.0"), options=options)
    assert "hunter2" not in str(failed.value) + str(vars(failed.value)) + repr(failed.value)
    assert failed.value.what == "nightly: login with <PASSWORD> failed"


def test_an_unchanged_call_is_answered_from_disk_only_when_asked(pool: Any, function: Any) -> None:
    target = function("def run(sales): return float(sales['v'].sum()), 'May'", (SALES,), TWO)
    auto = CallOptions(cache="auto")
    assert run(target, frame(1), options=auto) == run(target, frame(1), options=auto) == (1.0, "May")
    assert len(pool.calls) == 1
    run(target, frame(1))
    run(target, frame(1), options=CallOptions(cache="override"))
    assert len(pool.calls) == 3


def test_other_code_another_variable_or_another_dtype_is_another_call(pool: Any, function: Any) -> None:
    auto = CallOptions(cache="auto")
    run(function(TOTAL, (SALES,)), frame(1), options=auto)
    run(function(TOTAL + " ", (SALES,)), frame(1), options=auto)
    run(function(TOTAL, (SALES,)), frame(1), options=CallOptions(cache="auto", env_vars={"A": "1"}))
    run(function(TOTAL, (SALES,)), frame(1).astype("float32"), options=auto)
    assert len(pool.calls) == 4


def test_every_kind_of_output_comes_back_from_disk(pool: Any, tmp_path: Path, function: Any) -> None:
    code = f"""
import pandas as pd, pathlib
from autocoder_jupyter.types import File, Dir, Figure
def run():
    root = pathlib.Path({str(tmp_path)!r}) / "made"
    root.mkdir(exist_ok=True)
    (root / "a.txt").write_text("a")
    folder = root / "folder"
    folder.mkdir(exist_ok=True)
    (folder / "b.txt").write_text("b")
    return pd.DataFrame({{"v": [1]}}), File(root / "a.txt"), Dir(folder), {{"k": [1]}}, False
"""
    kinds = {"table": "DataFrame", "file": "File", "folder": "Dir", "facts": "dict", "flag": "bool"}
    outputs = tuple(OutputSpec(name=name, type=kind) for name, kind in kinds.items())  # type: ignore[arg-type]
    target = function(code, outputs=outputs, root=tmp_path / ".autocode")
    first = run(target, options=CallOptions(cache="auto"))
    again = run(target, options=CallOptions(cache="auto"))
    assert len(pool.calls) == 1
    pd.testing.assert_frame_equal(first.table, again.table)
    assert (again.facts, again.flag) == ({"k": [1]}, False)
    assert Path(again.file).read_text() == "a"
    assert (again.folder.path / "b.txt").read_text() == "b"
    assert again.file.path.parent == tmp_path / ".autocode" / "growth" / "outputs" / "2"


def test_a_picture_comes_back_from_disk(pool: Any, function: Any) -> None:
    code = """
import matplotlib
matplotlib.use("Agg")
from matplotlib.figure import Figure as Drawn
import io
from autocoder_jupyter.types import Figure
def run():
    drawn = io.BytesIO()
    Drawn(figsize=(1, 1), dpi=20).savefig(drawn, format="png")
    return Figure(drawn.getvalue(), 20, 20)
"""
    target = function(code, outputs=(OutputSpec(name="picture", type="Figure"),))
    first, again = (run(target, options=CallOptions(cache="auto")) for _ in range(2))
    assert isinstance(again, Figure)
    assert first == again
    assert len(pool.calls) == 1


def test_the_store_of_outcomes_is_bounded(pool: Any, monkeypatch: pytest.MonkeyPatch, function: Any) -> None:
    monkeypatch.setattr("autocoder_jupyter.calls.outcome_cache.MAX_OUTCOMES", 2)
    target, auto = function(TOTAL, (SALES,)), CallOptions(cache="auto")
    for value in (1, 2, 3, 3, 1):
        run(target, frame(value), options=auto)
    assert len(pool.calls) == 4


def test_the_sizes_of_stored_outcomes_are_looked_at_only_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[tuple[int, int]] = []
    prune = outcome_cache._prune
    monkeypatch.setattr(outcome_cache, "_home", lambda: tmp_path / "outcomes")
    monkeypatch.setattr(outcome_cache, "_prune", lambda home: looks.append(prune(home)) or looks[-1])
    monkeypatch.setattr(outcome_cache, "MAX_OUTCOMES", 200)
    outputs = (OutputSpec(name="n", type="str"),)
    for number in range(600):
        outcome_cache.store(f"{number:x}", outputs, {"n": "x" * 100})
    count, size = outcome_cache.extent()
    assert 200 <= count <= 225 and len(looks) < 100  # the first 64 are looked at each time
    monkeypatch.setattr(outcome_cache, "MAX_BYTES", size // 2)
    monkeypatch.setattr(outcome_cache, "_left", {})
    outcome_cache.store("small", outputs, {"n": "x"})
    assert size // 3 < outcome_cache.extent()[1] <= size // 2
    outcome_cache.store("large", outputs, {"n": "x" * size})
    assert outcome_cache.extent()[1] <= size // 2


def test_files_land_in_a_fresh_folder_or_where_the_caller_says(tmp_path: Path) -> None:
    def made(name: str) -> File:
        folder = tmp_path / "from_sandbox" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.txt").write_text(name)
        return File(folder / "report.txt")

    root = tmp_path / ".autocode"
    first = moved_to_destination({"a": made("a"), "n": 1}, None, root, "growth")
    second = moved_to_destination({"a": made("a")}, None, root, "growth")
    assert (first["n"], first["a"].path) == (1, root / "growth" / "outputs" / "1" / "report.txt")
    assert second["a"].path == root / "growth" / "outputs" / "2" / "report.txt"
    both = moved_to_destination({"a": made("a"), "b.txt": made("b")}, tmp_path / "given", root, "growth")
    assert (both["a"].path.read_text(), both["a"].path.name, both["b.txt"].path.name) == ("a", "a.txt", "b.txt")


def test_a_program_takes_the_place_of_nothing_in_the_callers_folder(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "report.csv").write_text("the person's own")
    (given / "report-2.csv").symlink_to(tmp_path / "elsewhere")
    (given / "notes").mkdir()
    (tmp_path / "made" / "notebook.ipynb").mkdir(parents=True)
    (tmp_path / "made" / "notebook.ipynb" / "x").write_text("x")
    (tmp_path / "made" / ".bashrc.csv").write_text("hostile")
    values = {"report": File(tmp_path / "made" / ".bashrc.csv"), "notes": Dir(tmp_path / "made" / "notebook.ipynb")}
    kept = moved_to_destination(values, given, tmp_path, "growth")
    assert sorted(path.name for path in given.iterdir()) == [
        "notes",
        "notes-2",
        "report-2.csv",
        "report-3.csv",
        "report.csv",
    ]
    assert (given / "report.csv").read_text() == "the person's own"
    assert not (tmp_path / "elsewhere").exists()
    assert (kept["report"].path.name, kept["report"].path.read_text()) == ("report-3.csv", "hostile")
    assert [path.name for path in kept["notes"].path.iterdir()] == ["x"]


def test_what_could_be_imported_in_the_place_of_a_module_gets_a_name_that_no_import_can_say(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (made / "package").mkdir(parents=True)
    (made / "package" / "__init__.py").write_text("hostile")
    (made / "x.py").write_text("hostile")
    values = {"json": File(made / "x.py"), "pandas": Dir(made / "package")}
    moved_to_destination(values, tmp_path / "given", tmp_path, "growth")
    assert sorted(path.name for path in (tmp_path / "given").iterdir()) == ["json-file.py", "pandas-folder"]
    for output, expected in {"pandas.py": "pandas-file.py", "my notes.py": "my notes.py"}.items():
        (made / "x.py").write_text("hostile")
        kept = moved_to_destination({output: File(made / "x.py")}, tmp_path / "given", tmp_path, "growth")
        assert kept[output].path.name == expected  # the outputs of a saved result are named by whoever wrote it
    (made / "x.so").write_text("hostile")
    native = moved_to_destination({"json.abi3.so": File(made / "x.so")}, tmp_path / "given", tmp_path, "growth")
    assert native["json.abi3.so"].path.name == "json-file.abi3.so"


@each_case("name", ["x.pyw", "x.PY", "x.py ", "x.Pyd "])
def test_a_name_that_another_system_could_import_is_none_either(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("hostile")
    kept = moved_to_destination({"json": File(tmp_path / name)}, tmp_path / "given", tmp_path, "growth")
    assert kept["json"].path.name.startswith("json-file.")


def test_a_folder_with_modules_in_a_subfolder_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "made" / "core").mkdir(parents=True)
    (tmp_path / "made" / "core" / "x.py").write_text("hostile")
    kept = moved_to_destination({"cudf": Dir(tmp_path / "made")}, tmp_path / "given", tmp_path, "growth")
    assert kept["cudf"].path.name == "cudf-folder" and (kept["cudf"].path / "core" / "x.py").is_file()


@pytest.mark.parametrize("given", ["given", None])
def test_no_file_that_a_program_made_has_hidden_characters_in_its_name(given: str | None, tmp_path: Path) -> None:
    made = tmp_path / "made"
    (made / "folder" / "in\u200bner").mkdir(parents=True)
    for path in (made / "a.\u202egpj", made / "folder" / "in\u200bner" / "b\x1b[2J\n", made / "folder" / "in_u200bner"):
        path.write_text("x")
    values = {"report": File(made / "a.\u202egpj"), "notes": Dir(made / "folder")}
    kept = moved_to_destination(values, tmp_path / given if given else None, tmp_path / ".autocode", "growth")
    names = [kept["report"].path.name, *(path.name for path in kept["notes"].path.rglob("*"))]
    assert not any(map(hides, names))
    assert sorted(names[1:]) == ["b_x1b[2J_n", "in_u200bner", "in_u200bner-2"]  # the second one was in the way


@pytest.mark.parametrize("link", [".autocode", ".autocode/growth", ".autocode/growth/outputs"])
def test_no_output_follows_a_link_out_of_a_strangers_folder(link: str, tmp_path: Path) -> None:
    outside = tmp_path / "home"
    outside.mkdir()
    place = tmp_path / "cloned" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    (tmp_path / "out.txt").write_text("x")
    with pytest.raises(InvalidRequest, match="cannot be written"):
        moved_to_destination({"a": File(tmp_path / "out.txt")}, None, tmp_path / "cloned" / ".autocode", "growth")
    assert list(outside.iterdir()) == []


def test_a_number_without_an_end_hinders_no_output(tmp_path: Path) -> None:
    (tmp_path / "root" / "growth" / "outputs" / ("9" * 200)).mkdir(parents=True)
    (tmp_path / "out.txt").write_text("x")
    kept = moved_to_destination({"a": File(tmp_path / "out.txt")}, None, tmp_path / "root", "growth")
    assert kept["a"].path == tmp_path / "root" / "growth" / "outputs" / "1" / "out.txt"


def test_interrupting_a_call_kills_its_worker(pool: Any, function: Any) -> None:
    target = function("def run():\n    started.set(); killed.wait(30); return 1.0")

    async def interrupted() -> None:
        task = asyncio.ensure_future(call(target, CallOptions(), (), {}))
        await background.call_blocking(lambda: pool.started.wait(30))
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert pool.workers[0].killed.wait(60)


def test_a_task_has_the_signature_and_the_words_of_its_function(pool: Any, function: Any) -> None:
    least = InputSpec(name="least", type="int", required=False, default=5, meaning="orders a month")
    target = function(TOTAL, (SALES, least), samples={"sales": frame(1)})
    task = Task("total", target, CallOptions())
    shown = str(task.__signature__)
    assert task.__name__ == "total"
    assert "sales: pandas" in shown and "least: int = 5" in shown and shown.endswith("-> float")
    assert "orders a month" in (task.__doc__ or "")


def test_a_task_pickles_and_runs_in_both_ways(pool: Any, function: Any) -> None:
    task = pickle.loads(
        pickle.dumps(Task("total", function(TOTAL, (SALES,), samples={"sales": frame(2)}), CallOptions()))
    )
    with pytest.raises(InvalidRequest, match="needs sales") as refused:
        task()
    assert "samples of the generation were not kept" in str(refused.value)
    assert task(frame(3)) == 3.0
    assert asyncio.run(task.aio(sales=frame(4), timeout=3)) == 4.0
    assert pool.calls[-1][1].seconds == 3


def test_a_failed_generation_gives_no_function(report: Any) -> None:
    with pytest.raises(ValueError, match="no function that passed"):
        Function.of(report("def run(): ...", success=False, error="3 tests failed"), {}, Path())
    with pytest.raises(GenerationFailed, match="3 tests failed"):
        Function.of(report("def run(): ...", success=False, error="3 tests failed"), {}, Path())


def test_calls_from_many_threads_do_not_meet(pool: Any, function: Any) -> None:
    answers: dict[int, float] = {}

    def one(number: int) -> None:
        answers[number] = run(function(TOTAL, (SALES,)), frame(number))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert answers == {number: float(number) for number in range(8)}


@each_case("option", ["resources", "retries", "timeout", "env_vars", "secrets", "cache", "reuse", "name"])
def test_a_wrong_option_is_named(option: str) -> None:
    with pytest.raises(InvalidRequest, match=option):
        CallOptions().changed({option: object()})


def test_dirs_keep_what_is_in_them(tmp_path: Path) -> None:
    source = tmp_path / "s" / "made"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "x.txt").write_text("x")
    kept = moved_to_destination({"d": Dir(source)}, tmp_path / "given", tmp_path, "growth")["d"]
    assert (kept.path / "deep" / "x.txt").read_text() == "x"


def test_a_hostile_name_does_not_lead_out_of_the_journal(pool: Any, tmp_path: Path, function: Any) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "a.txt").write_text("a")
    code = f"from autocoder_jupyter.types import File\ndef run(): return File({str(tmp_path / 'made' / 'a.txt')!r})"
    outputs = (OutputSpec(name="file", type="File"),)
    kept = run(function(code, outputs=outputs, root=tmp_path / "root", name="../../evil"))
    assert kept.path.is_relative_to(tmp_path / "root")


def test_a_column_that_is_not_read_and_changed_is_warned_of_once_on_the_line_of_the_caller(
    pool: Any, function: Any
) -> None:
    sample = pd.DataFrame({"v": [1.0], "notes": ["a"]})
    built = function(TOTAL, (SALES,), samples={"sales": sample}, sample_shapes={"sales": shape_of(sample)})
    task = Task("total", built, CallOptions())
    with pytest.warns(DriftWarning, match=r"sales lacks 'notes'; the function does not read that\.") as said:
        assert task(frame(1)) == 1.0
    assert said[0].filename == __file__
    with pytest.warns(DriftWarning, match="lacks 'more'"):
        shape = shape_of(sample.assign(more=1))
        other = function(TOTAL + "  #", (SALES,), samples={"sales": sample}, sample_shapes={"sales": shape})
        run_by_task = Task("total", other, CallOptions())
        assert run_by_task(pl.DataFrame({"v": [1.0], "notes": ["a"]})) == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert task(frame(2)) == 2.0
        assert asyncio.run(task.aio(sales=frame(3))) == 3.0


def test_a_group_without_its_key_says_how_to_keep_it(pool: Any, function: Any) -> None:
    code = "def run(sales): return float(sales.groupby('k')['v'].sum().max())"
    sample = pd.DataFrame({"k": ["a", "a", "b"], "v": [1.0, 2.0, 5.0]})
    built = function(code, (SALES,), samples={"sales": sample}, sample_shapes={"sales": shape_of(sample)})
    growth = Task("growth", built, CallOptions())
    with pytest.raises(DataDrift, match="lacks 'k'") as refused:
        sample.groupby("k").apply(growth)
    assert "leaves the grouping columns out" in refused.value.why
    assert refused.value.hint == "Choose the columns: df.groupby(…)[list(df.columns)].apply(growth)"
    assert sample.groupby("k")[list(sample.columns)].apply(growth).to_dict() == {"a": 3.0, "b": 5.0}


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table])
def test_a_table_of_another_library_is_taken_and_given_back_as_one_if_asked(
    library: Any, pool: Any, function: Any
) -> None:
    twice = "def run(sales): return sales.assign(v=sales['v'] * 2)"
    built = function(twice, (SALES,), (OutputSpec(name="sales", type="DataFrame"),))
    given = library({"v": [1, 2]})
    assert isinstance(run(built, given), pd.DataFrame)
    back = run(built, given, options=CallOptions(tables="same"))
    assert type(back) is type(given)
    assert pd.Series(back["v"]).tolist() == [2, 4]
    assert isinstance(run(built, frame(1), options=CallOptions(tables="same")), pd.DataFrame)


def test_the_sample_says_of_which_library_outputs_are_when_nothing_is_given(pool: Any, function: Any) -> None:
    sample = capture(pl.DataFrame({"v": [1.0]}))
    same = function(
        "def run(sales): return sales", (SALES,), (OutputSpec(name="s", type="DataFrame"),), {"sales": sample}
    )
    assert isinstance(run(same, options=CallOptions(tables="same")), pl.DataFrame)


def test_an_outcome_belongs_to_our_version_and_to_those_of_its_packages(
    pool: Any, monkeypatch: pytest.MonkeyPatch, function: Any
) -> None:
    target, auto = function(TOTAL, (SALES,)), CallOptions(cache="auto")
    run(target, frame(1), options=auto)
    monkeypatch.setattr("autocoder_jupyter.calls.outcome_cache.VERSION", "9.9.9")
    run(target, frame(1), options=auto)
    assert len(pool.calls) == 2
    newer = replace(target.environment, lock=(f"pandas==3.0.2 --hash=sha256:{'0' * 64}",))
    run(replace(target, environment=newer), frame(1), options=auto)
    assert len(pool.calls) == 3


def test_an_outcome_of_unknown_versions_is_not_kept(pool: Any, function: Any) -> None:
    target = function(TOTAL, (SALES,))
    unlocked = replace(target, environment=replace(target.environment, lock=()))
    for _ in range(2):
        run(unlocked, frame(1), options=CallOptions(cache="auto"))
    assert len(pool.calls) == 2
