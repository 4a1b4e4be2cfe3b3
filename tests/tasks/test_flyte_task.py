"""A function as a task of Flyte, in Flyte's local mode, with the function in the real local sandbox."""

from __future__ import annotations

import asyncio
import datetime as dt
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.sandbox.environments.locking import pin_of
from autocoder_jupyter.types import InputSpec
from tests.scaling.conftest import FRAME, Build, built, locked  # noqa: F401

pytestmark = pytest.mark.local_sandbox

SALES = pd.DataFrame({"shop": pd.Categorical(["a", "b", "a"]), "units": pd.array([1, None, 3], dtype="Int64")})


@pytest.fixture(autouse=True)
def local_mode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    import flyte

    monkeypatch.setenv("DO_NOT_TRACK", "1")
    monkeypatch.chdir(tmp_path)
    flyte.init()
    yield


def env(name: str = "growth") -> Any:
    import flyte

    return flyte.TaskEnvironment(name=name)


def outputs_of(task: Any, **inputs: Any) -> tuple[Any, ...]:
    import flyte

    return tuple(flyte.with_runcontext(mode="local").run(task, **inputs).outputs())


GIVEN: dict[str, Any] = {
    "s": "x",
    "i": 3,
    "f": 1.5,
    "b": True,
    "day": dt.date(2024, 2, 1),
    "span": dt.timedelta(hours=25),
    "words": ["a", "b"],
    "shares": {"a": 0.5},
    "frame": SALES,
    "column": pd.Series([1, 2], name="n"),
}


def paths(folder: Path) -> dict[str, Any]:
    from flyte.io import Dir, File

    return {"note": File(path=str(folder / "note.txt")), "folder": Dir(path=str(folder / "folder"))}


def of_all_types(built: Build, tmp_path: Path) -> CodeGenEvalResult:  # noqa: F811
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x.txt").write_text("inside")
    (tmp_path / "note.txt").write_text("hello")
    inputs = tuple(
        InputSpec(name=name, type=kind, elements=elements)  # type: ignore[arg-type]
        for name, kind, elements in [
            ("s", "str", ""),
            ("i", "int", ""),
            ("f", "float", ""),
            ("b", "bool", ""),
            ("day", "date", ""),
            ("span", "timedelta", ""),
            ("words", "list", "str"),
            ("shares", "dict", "float"),
            ("frame", "DataFrame", ""),
            ("column", "Series", ""),
            ("note", "File", ""),
            ("folder", "Dir", ""),
        ]
    )
    inputs += (
        InputSpec(name="when", type="datetime", required=False, default="2024-01-01T00:00:00"),
        InputSpec(name="least", type="int", required=False, default=None),
    )
    body = (
        "import pathlib; out = pathlib.Path('out.txt'); out.write_text(note.read_text() + '!');"
        " d = pathlib.Path('made'); d.mkdir(); (d / 'y.txt').write_text(next(folder.iterdir()).read_text());"
        " return (s, i, f, b, day, span, words, shares, frame, column, out, d, str(when.tzinfo), least is None)"
    )
    outputs = {spec.name: spec.type for spec in inputs[:12]} | {"zone": "str", "none": "bool"}
    return built(body, outputs=outputs, inputs=inputs, lock=True)


def test_each_type_goes_through_flyte_and_comes_back(built: Build, tmp_path: Path) -> None:  # noqa: F811
    from flyte.io import Dir, File

    task = of_all_types(built, tmp_path).to_flyte(env())
    given: dict[str, Any] = {**GIVEN, **paths(tmp_path)}
    found = outputs_of(task, **given, when=dt.datetime(2024, 5, 1, 12))
    assert found[:8] == tuple(given.values())[:8]
    pd.testing.assert_frame_equal(found[8], SALES)
    pd.testing.assert_series_equal(found[9], given["column"])
    assert isinstance(found[10], File) and Path(found[10].path).read_text() == "hello!"
    assert isinstance(found[11], Dir) and (Path(found[11].path) / "y.txt").read_text() == "inside"
    assert found[12:] == ("None", True), "a time without zone comes back without one"


DEFAULTS: list[tuple[Any, Any, Any]] = [
    ("date", "2024-02-01", dt.date(2024, 2, 1)),
    ("timedelta", "PT25H", dt.timedelta(hours=25)),
    ("timedelta", 90, dt.timedelta(seconds=90)),
    ("datetime", "2024-01-01T12:00:00", dt.datetime(2024, 1, 1, 12)),
    ("datetime", "2024-01-01T12:00:00+02:00", dt.datetime(2024, 1, 1, 10, tzinfo=dt.UTC)),
    ("float", 2, 2.0),
    ("str", "x", "x"),
]


def test_a_default_that_is_left_out_has_the_type_of_its_input(built: Build, tmp_path: Path) -> None:  # noqa: F811
    inputs = tuple(
        InputSpec(name=f"x{place}", type=kind, required=False, default=default)
        for place, (kind, default, _) in enumerate(DEFAULTS)
    )
    names = ", ".join(spec.name for spec in inputs)
    (tmp_path / "note.txt").write_text("hello")
    inputs += (InputSpec(name="note", type="File", required=False, default=str(tmp_path / "note.txt")),)
    outputs = {f"o{spec.name}": spec.type for spec in inputs[:-1]} | {"text": "str", "told": "str"}
    growth = built(f"return {names}, note.read_text(), repr(({names}))", outputs=outputs, inputs=inputs, lock=True)
    found = outputs_of(growth.to_flyte(env()))
    assert found == outputs_of(exported(growth, tmp_path / "package").growth)
    assert found[-2] == "hello"
    assert eval(found[-1], {"datetime": dt}) == tuple(value for *_, value in DEFAULTS)


def test_a_time_has_no_zone_if_its_sample_had_none(built: Build, tmp_path: Path) -> None:  # noqa: F811
    when = InputSpec(name="when", type="datetime")
    noon = dt.datetime(2024, 5, 1, 12)
    for sample, said in ((noon, repr(noon)), (noon.replace(tzinfo=dt.UTC), repr(noon.replace(tzinfo=dt.UTC)))):
        growth = built("return repr(when)", {"when": sample}, {"said": "str"}, inputs=(when,), lock=True)
        for task in (growth.to_flyte(env()), exported(growth, tmp_path / str(sample.tzinfo)).growth):
            assert outputs_of(task, when=noon) == (said,)


def test_a_task_is_called_by_position_too(built: Build) -> None:  # noqa: F811
    import flyte

    inputs = (FRAME, InputSpec(name="least", type="int", required=False, default=2))
    growth = built("return int((sales['units'] >= least).sum())", {"sales": SALES}, {"n": "int"}, inputs=inputs)
    task = growth.to_flyte(env(), cache=False)
    calls = flyte.TaskEnvironment(name="calls", depends_on=[task.parent_env()])

    @calls.task
    async def both(sales: pd.DataFrame) -> tuple[int, int]:
        return await task(sales), await task(sales, 1)

    assert outputs_of(both, sales=SALES) == (1, 2)
    assert asyncio.run(task.func(SALES)) == 1 and asyncio.run(task.func(SALES, least=1)) == 2
    with pytest.raises(TypeError, match="missing a required argument: 'sales'"):
        asyncio.run(task.func())


REPORTS = """
import flyte
from autocoder_jupyter.result import CodeGenEvalResult

env = flyte.TaskEnvironment(name="growth")
monthly = CodeGenEvalResult.load("FOLDER").to_flyte(env)
"""

ON_A_CLUSTER = """
import asyncio, sys
import pandas as pd
from flyte._internal.runtime.entrypoints import load_task

task = load_task(*sys.argv[1:])
print(task.name, asyncio.run(task.func(pd.DataFrame({"units": [1, 2, 3]}))))
"""


@pytest.mark.parametrize("imported", ["reports", "jobs.reports"])
def test_a_cluster_finds_the_task_in_the_variable_of_its_script(
    built: Build,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    imported: str,
) -> None:
    from flyte.models import SerializationContext

    growth = built("return len(sales)", {"sales": SALES[["units"]]}, {"n": "int"}, lock=True)
    saved = growth.save(tmp_path / "saved")
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "reports.py").write_text(REPORTS.replace("FOLDER", str(saved)))
    monkeypatch.syspath_prepend(str(tmp_path if "." in imported else tmp_path / "jobs"))
    task = importlib.import_module(imported).monthly
    try:
        given = task.container_args(SerializationContext(version="1", root_dir=tmp_path))
    finally:
        del sys.modules[imported]
    resolved = given[given.index("--resolver") + 1 :]
    assert resolved[1:] == ["mod", "jobs.reports", "instance", "monthly"]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])}
    run = subprocess.run(
        [sys.executable, "-c", ON_A_CLUSTER, *resolved], env=variables, cwd="/", capture_output=True, text=True
    )
    assert run.stdout == "growth.growth 3\n", run.stderr


def test_a_task_that_no_variable_has_is_said(built: Build, tmp_path: Path) -> None:  # noqa: F811
    from flyte.models import SerializationContext

    tasks = [built("return 1", outputs={"n": "int"}, inputs=(), lock=True).to_flyte(env())]
    with pytest.raises(InvalidRequest, match=r"could not find the task growth\.growth") as refused:
        tasks[0].container_args(SerializationContext(version="1", root_dir=tmp_path))
    assert "top level" in refused.value.hint


def test_one_output_and_many_calls_at_once(built: Build) -> None:  # noqa: F811
    import flyte

    growth = built("return sales['units'].sum(), sales", {"sales": SALES}, {"total": "int", "all": "DataFrame"})
    task = growth.to_flyte(env(), output="total", cache=False)
    assert outputs_of(task, sales=SALES) == (4,)

    both = flyte.TaskEnvironment(name="many", depends_on=[task.parent_env()])

    @both.task
    async def many() -> list[int]:
        found: list[Any] = [each async for each in flyte.map.aio(task, [SALES, SALES[:1]])]
        return found

    assert outputs_of(many) == ([4, 1],)


def test_flyte_caches_by_code_and_packages(built: Build) -> None:  # noqa: F811
    def version(body: str, **more: Any) -> Any:
        return built(body, {"sales": SALES}, {"total": "int"}, lock=True, **more).to_flyte(env()).cache.version_override

    one = version("return len(sales)")
    assert one == version("return len(sales)") != version("return len(sales) + 0")
    with pytest.raises(InvalidRequest, match="versions of packages of this function are not known"):
        built("return len(sales)", {"sales": SALES}, {"total": "int"}).to_flyte(env())


def test_what_cannot_be_a_task_is_refused(built: Build) -> None:  # noqa: F811
    growth = built("return 1, None", {"sales": SALES}, {"total": "int", "chart": "Figure"}, lock=True)
    refused: list[tuple[str, Any, dict[str, Any]]] = [
        ("must be a flyte.TaskEnvironment, not str", "growth", {}),
        ("cannot return the figure 'chart'", env(), {}),
        ("has no output 'totl'", env(), {"output": "totl"}),
        ("retries must be a whole number", env(), {"retries": -1}),
        ("timeout must be a number of seconds", env(), {"timeout": 0}),
        ("timeout is too long", env(), {"timeout": 1e15}),
        ("cache must be true or false, not 'disable'", env(), {"cache": "disable"}),
    ]
    for said, arguments, options in refused:
        with pytest.raises(InvalidRequest, match=said):
            growth.to_flyte(arguments, **options)
    task = growth.to_flyte(env(), output="total", retries=2, timeout=90)
    assert (task.retries.count, task.timeout) == (2, dt.timedelta(seconds=90))


def test_an_error_of_the_function_ends_the_task(built: Build) -> None:  # noqa: F811
    import flyte.errors

    task = built("return sales['no such column']", {"sales": SALES}, {"x": "int"}).to_flyte(env(), cache=False)
    with pytest.raises(flyte.errors.RuntimeUserError, match="no such column"):
        outputs_of(task, sales=SALES)


def test_a_signature_tells_what_the_task_takes(built: Build) -> None:  # noqa: F811
    task = built("return len(sales)", {"sales": SALES}, {"total": "int"}, inputs=(FRAME,)).to_flyte(env(), cache=False)
    assert str(task.native_interface) == "(sales: DataFrame) -> o0: int:"
    assert task.name == "growth.growth"


def exported(growth: CodeGenEvalResult, folder: Path) -> Any:
    """The module of the task that an export wrote."""
    growth.export(folder, kind="flyte")
    sys.path.insert(0, str(folder / "src"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "growth"]:
        del sys.modules[name]
    try:
        return importlib.import_module("growth.flyte_task")
    finally:
        sys.path.remove(str(folder / "src"))


def test_the_module_of_an_export_runs_without_this_package(built: Build, tmp_path: Path) -> None:  # noqa: F811
    from flyte.io import Dir, File

    module = exported(of_all_types(built, tmp_path), tmp_path / "package")
    assert "autocoder_jupyter" not in Path(module.__file__).read_text()
    given: dict[str, Any] = {**GIVEN, **paths(tmp_path)}
    found = outputs_of(module.growth, **given, when=dt.datetime(2024, 5, 1, 12))
    assert found[:8] == tuple(given.values())[:8]
    pd.testing.assert_frame_equal(found[8], SALES)
    assert isinstance(found[10], File) and Path(found[10].path).read_text() == "hello!"
    assert isinstance(found[11], Dir) and (Path(found[11].path) / "y.txt").read_text() == "inside"
    assert found[12:] == ("None", True)
    pins = next(layer.packages for layer in module.env.image._layers if hasattr(layer, "packages"))
    assert set(pins) == {pin_of(line) for line in locked()}


def test_a_package_has_no_task_for_a_figure(built: Build, tmp_path: Path) -> None:  # noqa: F811
    growth = built("return None", {"sales": SALES}, {"chart": "Figure"}, lock=True)
    with pytest.raises(InvalidRequest, match="cannot return the figure 'chart'") as refused:
        growth.export(tmp_path / "made", kind="flyte")
    assert refused.value.hint == "Write kind='package'." and not (tmp_path / "made").exists()
    with pytest.raises(InvalidRequest, match="no kind 'flight' of export"):
        growth.export(tmp_path / "made", kind="flight")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["flyte", "env"])
def test_a_name_that_the_module_uses_is_refused(built: Build, tmp_path: Path, name: str) -> None:  # noqa: F811
    growth = built("return len(sales)", {"sales": SALES}, {"n": "int"}, lock=True)
    report = growth.report.model_copy(update={"name": name})
    with pytest.raises(InvalidRequest, match=f"cannot be named {name}"):
        CodeGenEvalResult(name, Pending.resolved(Resolution("ready", report))).export(tmp_path / "made", kind="flyte")
    assert not (tmp_path / "made").exists()


def test_a_name_that_a_stranger_recorded_is_no_code(built: Build, tmp_path: Path) -> None:  # noqa: F811
    growth = built("return 1", {}, {"x": "int"}, inputs=(InputSpec(name="a=print(1)", type="int", required=False),))
    with pytest.raises(InvalidRequest, match=r"'a=print\(1\)' cannot be an input of a task"):
        growth.export(tmp_path / "made", kind="flyte")
    assert not (tmp_path / "made").exists()
