"""A function that was recorded with another pandas is verified by its values, and is accused of nothing."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter import codec
from autocoder_jupyter.calls.binding import bind
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.data.columns_read import EVERY_COLUMN
from autocoder_jupyter.data.drift import check_drift, remaining_differences, restore_dtypes
from autocoder_jupyter.engine.version_record import other_versions
from autocoder_jupyter.errors import ModelError
from autocoder_jupyter.run.events import Event, Noticed, VersionBegun
from autocoder_jupyter.sandbox.protocol import CallSpec, Program, Worker
from autocoder_jupyter.sandbox.worker import calls
from autocoder_jupyter.types import InputSpec, OutputSpec, Report
from autocoder_jupyter.versions import Versions
from tests.cases import each
from tests.runner import Generated, Runner, fenced

RECORDED = Path(__file__).with_name("recorded_with_pandas_2")
"""What version 0.1.0 wrote with pandas 2.2.3 for `SCRIPT`; of its journal the environment alone."""

PROMPT = "The latest row of @visits for each status, with the region in capitals."
OUTPUTS = (OutputSpec(name="latest", type="DataFrame"),)

PLAN = json.dumps(
    {
        "description": "The latest row of each status.",
        "approach": "Sort, then take the last of each.",
        "outputs": [{"name": "latest", "type": "DataFrame", "meaning": "the latest row of each status"}],
        "assumptions": [],
    }
)

CODE = """\
import pandas as pd


def run(visits: pd.DataFrame) -> pd.DataFrame:
    ordered = visits.sort_values("at", na_position="first")
    latest = ordered.groupby("status", observed=True).tail(1).sort_values("status")
    return latest.assign(region=latest["region"].str.upper())"""

TESTS = '''\
import pandas as pd
from solution import run


def visits(regions):
    return pd.DataFrame(
        {
            "region": regions,
            "status": pd.Categorical(["open", "closed"], categories=["open", "closed"], ordered=True),
            "at": pd.to_datetime(["2024-01-01", "2024-01-02"]),
        },
        index=pd.Index(["a", "b"], name="id"),
    )


def test_capitals():
    """The region is in capitals."""
    latest = run(visits=visits(["north", "south"]))
    assert list(latest["region"]) == ["NORTH", "SOUTH"] and list(latest.index) == ["a", "b"]


def test_a_gap():
    """A region may be missing."""
    assert list(run(visits=visits(["north", None]))["region"].isna()) == [False, True]'''

SCRIPT = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}


def visits() -> pd.DataFrame:
    at = pd.to_datetime(["2024-01-01 10:00", "2024-01-02 12:00", "", "2024-01-03 09:30"])
    return pd.DataFrame(
        {
            "region": ["north", "south", None, "east"],
            "status": pd.Categorical(["open", "closed", "open", "open"], categories=["open", "closed"], ordered=True),
            "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-02-01", "2024-02-02"]),
            "at": at.tz_localize("UTC").tz_convert("Europe/Amsterdam"),
            "quantity": pd.array([1, 2, None, 4], dtype="Int64"),
            "price": [1.5, np.nan, 2.5, 3.0],
            "member": pd.array([True, None, False, True], dtype="boolean"),
            "took": pd.to_timedelta(["1h", "2h", None, "3h"]),
        },
        index=pd.Index(["v1", "v2", "v3", "v4"], name="id"),
    )


def of_pandas_2(index: pd.Index[Any]) -> pd.Index[Any]:
    return index.astype(object) if isinstance(index.dtype, pd.StringDtype) else index


@pytest.fixture
def pandas_2_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worker read text and its labels as pandas 2 does: as objects."""
    if int(pd.__version__.partition(".")[0]) < 3:
        return
    decode = codec.decode

    def decoded(*given: Any, **named: Any) -> Any:
        value = decode(*given, **named)
        if isinstance(value, pd.DataFrame):
            texts = {label: object for label, dtype in value.dtypes.items() if isinstance(dtype, pd.StringDtype)}
            value = value.astype(texts).set_axis(of_pandas_2(value.columns), axis=1)
            value.index = of_pandas_2(value.index)
        return value

    monkeypatch.setattr(calls, "decode", decoded)


def copied(runner: Runner, *left_out: str) -> str:
    """Copy the recorded folder. Returns the id of its version."""
    shutil.copytree(RECORDED, runner.root, ignore=shutil.ignore_patterns(*left_out))
    (version,) = Versions(runner.root, "growth").all()
    return version.id


async def opened(runner: Runner, hear: Callable[[Event], object] = lambda event: None) -> Generated:
    """What the cell gives, with a model that answers no question."""
    return await runner.generate({}, prompt=PROMPT, samples={"visits": visits()}, outputs=OUTPUTS, hear=hear)


def notes(produced: Generated) -> str:
    return "\n".join(event.text for event in produced.of(Noticed))


@pytest.mark.usefixtures("pandas_2_inside")
async def test_a_function_of_another_pandas_is_kept_without_a_question(runner: Runner) -> None:
    version = copied(runner, "journal.jsonl")
    produced = await opened(runner)
    assert produced.report.success, produced.error
    assert produced.asked == [] and (produced.report.run_id, produced.report.kept) == (version, "4 rows")
    assert all(check.passed for check in produced.report.evidence.conditions)
    assert f"growth was verified with pandas 2.2.3, here {pd.__version__}" in notes(produced)
    assert produced.report.verified_with["pandas"] == pd.__version__
    assert [event.kept for event in produced.of(VersionBegun)] == [True]


@pytest.mark.real_sandbox
@pytest.mark.local_sandbox
@pytest.mark.skipif(
    (sys.platform, platform.machine(), *sys.version_info[:2]) != ("linux", "x86_64", 3, 11),
    reason="the recorded environment is one of Python 3.11",
)
async def test_a_function_runs_with_the_pandas_that_it_was_recorded_with(runner: Runner) -> None:
    copied(runner)
    produced = await opened(runner)
    assert produced.report.success, produced.error
    assert produced.asked == [] and produced.report.verified_with["pandas"] == "2.2.3"
    assert f"growth runs with pandas 2.2.3, with which it was verified; this notebook has {pd.__version__}" in notes(
        produced
    )


async def test_a_function_that_another_pandas_breaks_is_said_to_be_of_that_pandas(runner: Runner) -> None:
    copied(runner, "journal.jsonl")
    (path,) = (runner.root / "growth" / "versions").glob("*/report.json")
    record = json.loads(path.read_text("utf-8"))
    record["solution"]["code"] = CODE.replace("str.upper()", "str.lower()")
    path.write_text(json.dumps(record), "utf-8")
    heard: list[Event] = []
    with pytest.raises(ModelError):
        await opened(runner, heard.append)
    whys = [event.why for event in heard if isinstance(event, VersionBegun)]
    assert any(f"(it was verified with pandas 2.2.3, here {pd.__version__}" in why for why in whys), whys


UNTOUCHED = "    visits.copy()"
CHANGES = {
    "a number": '    visits.loc["v1", "price"] = 0.0',
    "a text": '    visits.loc["v1", "region"] = "west"',
    "a label": '    visits.index = ["v9", *visits.index[1:]]',
    "the name of a column": '    visits.columns = [*visits.columns[:-1], "other"]',
    "a dtype": '    visits["quantity"] = visits["quantity"].astype("Float64")',
    "a row": '    visits.loc["v5"] = visits.loc["v1"]',
}


@pytest.mark.usefixtures("pandas_2_inside")
@each("body", [UNTOUCHED, *CHANGES.values()])
def test_a_change_of_an_input_is_one_in_the_dtypes_of_the_worker(worker: Worker, body: str) -> None:
    program = Program(
        f"def run(visits):\n{body}\n    return 1\n",
        (InputSpec(name="visits", type="DataFrame"),),
        (OutputSpec(name="one", type="int"),),
    )
    for reuse in (False, True):
        outcome = worker.call(program, {"visits": visits()}, CallSpec(watch_inputs=True, reuse=reuse))
        assert outcome.mutated == (() if body == UNTOUCHED else ("visits",))
        assert outcome.values == {"one": 1}


def as_object(frame: pd.DataFrame) -> pd.DataFrame:
    """The table as pandas 2 makes it: texts and their labels are objects, times have nanoseconds."""
    made = frame.astype({"region": object, "day": "datetime64[ns]", "took": "timedelta64[ns]"})
    categories: Any = made["status"].cat.categories.astype(object)
    made["status"] = made["status"].cat.rename_categories(categories)
    made.index, made.columns = made.index.astype(object), made.columns.astype(object)
    return made


def test_dtypes_of_another_pandas_are_no_drift_in_either_direction(runner: Runner) -> None:
    copied(runner)
    (recorded,) = Versions(runner.root, "growth").all()
    then = recorded.report.sample_shapes["visits"]
    assert dict(then["columns"])["'region'"] == "object" and then["index"] == [["'id'", "object"]]
    of_3 = dict(then, columns=[[label, "str" if label == "'region'" else dtype] for label, dtype in then["columns"]])
    of_3 |= {"index": [["'id'", "str"]], "objects": {}}
    for shape, frame in ((then, visits()), (of_3, as_object(visits()))):
        assert check_drift("visits", frame, shape) is None
        made = restore_dtypes(frame, shape)
        assert remaining_differences("visits", made, shape, EVERY_COLUMN) == ""
        assert str(made["region"].dtype) == dict(shape["columns"])["'region'"]


def test_the_versions_of_old_reports_are_those_of_their_lock() -> None:
    report = Report(name="growth", run_id="a", prompt="", success=True)
    old = report.model_copy(update={"lock": ("pandas==2.2.3 --hash=sha256:0", "numpy==2.4.6 --hash=sha256:0")})
    now = {"autocoder-jupyter": "9.9", "python": "3.11", "pandas": "3.1.1", "numpy": "2.4.6", "scipy": "1.17"}
    assert other_versions(old, now) == "pandas 2.2.3, here 3.1.1"
    new = report.model_copy(update={"verified_with": {**now, "python": "3.12", "scipy": "1.16\u202e"}})
    assert other_versions(new, now).startswith("python 3.12, here 3.11; scipy 1.16")
    assert "\u202e" not in other_versions(new, now)


async def test_calls_and_the_sample_have_the_dtypes_in_which_it_was_verified(runner: Runner) -> None:
    """Text is `object` for a function that was recorded so, and `run()` passes the sample in that dtype too."""
    copied(runner, "journal.jsonl")
    produced = await opened(runner)
    shape = produced.report.sample_shapes["visits"]
    assert dict(shape["columns"])["'region'"] == "object" and shape["objects"]["'region'"] == "string"
    function = Function.of(produced.report, {"visits": visits()}, runner.root)
    for given in ({}, {"visits": visits()}):
        bound = bind(function, (), given)
        assert bound["visits"]["region"].dtype == object
