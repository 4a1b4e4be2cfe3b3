"""`growth.map` in the real local sandbox."""

from __future__ import annotations

import _thread
import concurrent.futures
import enum
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.calls import outcome_cache
from autocoder_jupyter.errors import (
    Cancelled,
    DataDrift,
    EngineGone,
    InvalidRequest,
    ItemsFailed,
    SolutionError,
    VersionsDiffer,
)
from autocoder_jupyter.scaling.mapped import MOST_ITEMS, SMALL, Failed, chunks_of, items_of
from autocoder_jupyter.types import File, InputSpec
from tests.scaling.conftest import FRAME, Build

pytestmark = pytest.mark.local_sandbox

SUM = "return pd.DataFrame({'total': [sales['v'].sum()], 'child': [CHILD]})"
SAMPLE = pd.DataFrame({"v": [1, 2]})


def frames(count: int) -> list[pd.DataFrame]:
    return [pd.DataFrame({"v": [number, number]}) for number in range(count)]


def totals(mapped: Any) -> list[int]:
    return [int(each["total"].iloc[0]) for each in mapped]


def test_each_item_has_its_outcome_in_order_and_small_ones_share_a_child(built: Build) -> None:
    mapped = built(SUM, {"sales": SAMPLE}).map(frames(60), workers=1)
    assert totals(mapped) == [2 * number for number in range(60)]
    assert len(mapped) == 60 and not mapped.errors
    children = [each["child"].iloc[0] for each in mapped]
    assert children[0] == children[14] != children[15] and len(set(children)) == 4
    assert repr(mapped) == "<60 of 60 items of growth>"
    assert totals(mapped[1:3]) == [2, 4] and totals([mapped[-1]]) == [118]
    with pytest.raises(IndexError):
        _ = mapped[60]


def test_an_error_and_a_wrong_table_are_beside_the_outcomes(built: Build) -> None:
    growth = built(f"assert sales['v'].sum() != 4, 'four'\n    {SUM}", {"sales": SAMPLE})
    mapped = growth.map([*frames(4), pd.DataFrame({"w": [1]})], workers=1)
    assert [type(each).__name__ for each in mapped] == ["DataFrame", "DataFrame", "Failed", "DataFrame", "Failed"]
    assert [type(each.error) for each in mapped.errors] == [SolutionError, DataDrift]
    assert not mapped[2] and (mapped[2].index, mapped[2].item["v"].sum()) == (2, 4)
    assert repr(mapped[2]) == "<failed: item 2, SolutionError: The function raised AssertionError: four>"
    assert repr(mapped) == "<3 of 5 items of growth · 2 without an outcome>"
    assert totals(mapped.outcomes) == [0, 2, 6]
    with pytest.raises(ItemsFailed, match="2 of 5 items of growth have no outcome") as refused:
        mapped.table()
    assert "four" in refused.value.why
    assert [each.index for each in mapped.retry().errors] == [2, 4]


def test_items_of_a_child_that_dies_are_called_alone(built: Build) -> None:
    body = f"if sales['v'].sum() == 6:\n        os._exit(3)\n    {SUM}"
    mapped = built(body, {"sales": SAMPLE}).map(frames(9), workers=1)
    assert [place for place in range(9) if isinstance(mapped[place], Failed)] == [3]
    assert totals(each for each in mapped if not isinstance(each, Failed)) == [0, 2, 4, 8, 10, 12, 14, 16]
    children = {each["child"].iloc[0] for each in mapped if not isinstance(each, Failed)}
    assert len(children) == 4  # two chunks of three, and two that were called alone


def test_a_time_limit_is_that_of_each_item(built: Build) -> None:
    body = f"if sales['v'].sum() == 2: time.sleep(600)\n    {SUM}"
    mapped = built(body, {"sales": SAMPLE}).map(frames(3), workers=1, timeout=6)
    assert [type(each).__name__ for each in mapped] == ["DataFrame", "Failed", "DataFrame"]
    assert type(mapped.errors[0].error).__name__ == "SandboxTimeout"


def test_a_chunk_ends_when_its_time_is_short_and_the_rest_is_the_next_one(built: Build) -> None:
    body = f"time.sleep(1.2)\n    {SUM}"
    mapped = built(body, {"sales": SAMPLE}).map(frames(4), workers=1, timeout=60)
    assert totals(mapped) == [0, 2, 4, 6]
    short = built(body, {"sales": SAMPLE}).map(frames(6), workers=1, timeout=8)
    assert totals(short) == [0, 2, 4, 6, 8, 10]


def test_groups_files_and_dicts_are_items(built: Build, tmp_path: Path) -> None:
    growth = built(
        "return pd.DataFrame({'total': [sales['v'].sum() + n]})",
        inputs=(
            FRAME,
            InputSpec(name="n", type="int", required=False),
        ),
        samples={"sales": SAMPLE},
    )
    table = pd.DataFrame({"shop": ["a", "b", "a"], "year": [1, 1, 2], "v": [1, 2, 4]})
    by_shop = growth.map(table.groupby("shop")[["v"]], n=10)
    assert by_shop.table("shop").to_dict("list") == {"shop": ["a", "b"], "total": [15, 12]}
    both = growth.map(table.groupby(["shop", "year"]), n=0).table()
    assert both.to_dict("list") == {"key_1": ["a", "a", "b"], "key_2": [1, 2, 1], "total": [1, 4, 2]}
    for name in ("x", "y"):
        SAMPLE.to_csv(tmp_path / f"{name}.csv", index=False)
    files = [tmp_path / "x.csv", File(tmp_path / "y.csv"), str(tmp_path / "z.csv")]
    mapped = growth.map(files, n=1)
    assert isinstance(mapped.errors[0].error, InvalidRequest) and len(mapped.errors) == 1
    assert growth.map(files[:2], n=1).table().to_dict("list") == {"key": ["x.csv", "y.csv"], "total": [4, 4]}
    assert growth.map([{"sales": SAMPLE, "n": 3}, {"n": 5}]).table()["total"].tolist() == [6, 8]
    mapped = growth.map([SAMPLE], n=1)
    with pytest.raises(InvalidRequest, match="have a column 'total'"):
        mapped.table("total")


def test_a_key_may_be_anything_that_is_one_value(built: Build) -> None:
    growth = built("return pd.DataFrame({'total': [sales['v'].sum()] * 2})", {"sales": SAMPLE})
    day = pd.Timestamp("2024-02-01", tz="Europe/Berlin")
    keys = growth.map([(key, SAMPLE) for key in (day, day, None, (1, ("a", 2)))])
    with pytest.raises(InvalidRequest, match="key of item 3 has a different number of parts"):
        keys.table()
    assert growth.map([(key, SAMPLE) for key in (day, day)]).table()["key"].tolist() == [day] * 4
    mixed = growth.map([(key, SAMPLE) for key in (None, Switch.ON, frozenset("a"), 2)]).table()
    assert mixed["key"].tolist() == [None, None, Switch.ON, Switch.ON, frozenset("a"), frozenset("a"), 2, 2]
    parts = growth.map([((1, ("a", 2)), SAMPLE)]).table()
    assert parts.to_dict("list") == {"key_1": [1, 1], "key_2": [("a", 2)] * 2, "total": [3, 3]}


class Switch(enum.Enum):
    ON = 1


def test_groups_of_a_column_and_of_a_table_with_odd_names_are_items(built: Build) -> None:
    table = pd.DataFrame({"shop": ["a", "b", "a"], "v": [1, 2, 4], "columns": [0, 0, 0]})
    column = InputSpec(name="units", type="Series")
    total = built("return units.sum()", {"units": table["v"]}, {"total": "int"}, inputs=(column,))
    assert list(total.map(table.groupby("shop")["v"])) == [5, 2]
    assert total.map([table["v"], ("x", table["v"])]).errors == ()
    growth = built("return sales[['v']].sum().to_frame().T", {"sales": table})
    assert growth.map(table.groupby("shop")).table().to_dict("list") == {"key": ["a", "b"], "v": [5, 2]}


def test_files_with_the_same_name_have_their_paths_as_keys_and_texts_their_places(built: Build, tmp_path: Path) -> None:
    growth = built("return sales", {"sales": SAMPLE})
    for year in ("2023", "2024"):
        (tmp_path / year).mkdir()
        SAMPLE.head(1).to_csv(tmp_path / year / "sales.csv", index=False)
    files = [tmp_path / "2023" / "sales.csv", str(tmp_path / "2024" / "sales.csv")]
    assert growth.map(files).table()["key"].tolist() == [str(path) for path in files]
    assert growth.map([files[0], files[0]]).table()["key"].tolist() == ["sales.csv", "sales.csv"]
    words = built(
        "return pd.DataFrame({'n': [len(text)]})", inputs=(InputSpec(name="text", type="str"),), samples={"text": "x"}
    )
    texts = ["a/b", "c/b", "", "."]
    assert words.map(texts).table().to_dict("list") == {"key": [0, 1, 2, 3], "n": [3, 3, 0, 1]}


OPTIONS = ("executor", "workers", "memory", "to", "resume", "progress")


def test_an_input_that_is_called_as_an_option_is_the_input(built: Build, tmp_path: Path) -> None:
    """As in a call; also if the value is the default of the option."""
    growth = built(
        f"return pd.DataFrame({{'said': [repr([{', '.join(OPTIONS)}])] * len(sales)}})",
        {"sales": SAMPLE, **dict.fromkeys(OPTIONS, "sample")},
        inputs=(FRAME, *(InputSpec(name=name, type="str") for name in OPTIONS)),
    )
    SAMPLE.to_parquet(tmp_path / "sales.parquet", index=False)
    values: tuple[dict[str, Any], ...] = (dict.fromkeys(OPTIONS, "2GiB"), {name: f"my {name}" for name in OPTIONS})
    for given in values:
        expected = [repr(list(given.values()))] * len(SAMPLE)
        assert growth.run(SAMPLE, **given)["said"].tolist() == expected
        assert growth.map([SAMPLE], **given)[0]["said"].tolist() == expected
        assert growth.over(tmp_path / "sales.parquet", **given)["said"].tolist() == expected
        assert growth.over.explain(tmp_path / "sales.parquet", **given).rows == len(SAMPLE)
    assert not list(tmp_path.glob("*my*"))
    flag = built(
        "return pd.DataFrame({'said': [resume]})",
        {"sales": SAMPLE, "resume": True},
        inputs=(FRAME, InputSpec(name="resume", type="bool")),
    )
    assert [flag.map([SAMPLE], resume=given)[0]["said"].tolist() for given in (True, False)] == [[True], [False]]


@pytest.mark.parametrize(
    ("items", "fixed", "said"),
    [
        (SAMPLE, {}, "takes a list of items, not a DataFrame"),
        ("sales.csv", {}, "takes a list of items, not a str"),
        (3, {}, "takes a list of items, not a int"),
        ([{"sale": 1}], {}, "Item 0 has 'sale', which is not an input of growth"),
        ([{"sales": 1}], {"sales": SAMPLE}, "which is fixed for all items"),
        ([SAMPLE], {"sales": SAMPLE}, "growth has no input for the items"),
        ([SAMPLE], {"workers": 0}, "workers must be a whole number of at least 1"),
        ([SAMPLE], {"worker": 2}, "growth has no input 'worker'"),
        ([SAMPLE], {"progress": 3}, "progress must be a function, not 3"),
        ([("a", SAMPLE), (["b"], SAMPLE)], {}, "The key of item 1 is a list"),
        ([({"shop": "a"}, SAMPLE)], {}, "The key of item 0 is a dict"),
        ([(np.array([1, 2]), SAMPLE)], {}, "The key of item 0 is a ndarray"),
        ([((), SAMPLE)], {}, "The key of item 0 is a tuple without parts"),
        ([SAMPLE], {"output": "other"}, "growth has no output 'other'"),
    ],
)
def test_what_is_no_list_of_items_is_refused(built: Build, items: Any, fixed: Any, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        built(SUM, {"sales": SAMPLE}).map(items, **fixed)


def test_outcomes_that_are_no_tables_and_no_items_at_all(built: Build) -> None:
    growth = built("return len(sales)", {"sales": SAMPLE}, {"count": "int"})
    mapped = growth.map([SAMPLE, SAMPLE])
    assert list(mapped) == [2, 2]
    with pytest.raises(InvalidRequest, match="returns a int for an item, not a table"):
        mapped.table()
    assert len(growth.map([])) == 0 and growth.map([]).table().empty
    two = built("return sales, len(sales)", {"sales": SAMPLE}, {"rows": "DataFrame", "count": "int"})
    assert list(two.map([SAMPLE], output="count")) == [2]
    with pytest.raises(InvalidRequest, match="growth has no output 'nope'") as refused:
        two.as_task("rows", output="nope")
    assert refused.value.hint == "Outputs: rows, count."


def test_an_index_of_the_function_is_columns_of_the_table(built: Build) -> None:
    growth = built("return sales.groupby('shop')[['v']].sum()", {"sales": pd.DataFrame({"shop": ["a"], "v": [1]})})
    items = [pd.DataFrame({"shop": ["a", "b"], "v": [1, 2]}), pd.DataFrame({"shop": ["b"], "v": [4]})]
    assert growth.map(items).table().to_dict("list") == {"key": [0, 0, 1], "shop": ["a", "b", "b"], "v": [1, 2, 4]}
    nothing = growth.map([items[0].iloc[:0], *items]).table()
    assert nothing.to_dict("list") == {"key": [1, 1, 2], "shop": ["a", "b", "b"], "v": [1, 2, 4]}
    assert list(growth.map([items[0].iloc[:0]]).table().columns) == ["key", "shop", "v"]
    doubled = built("return sales.set_index('v', drop=False)", {"sales": SAMPLE}).map([SAMPLE]).table()
    assert doubled.to_dict("list") == {"key": [0, 0], "v (index)": [1, 2], "v": [1, 2]}
    with pytest.raises(InvalidRequest, match="have a column 'shop'"):
        growth.map(items).table("shop")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return sales if sales['v'].sum() != 4 else sales.rename(columns={'v': 'w'})", "no column v"),
        ("return sales if sales['v'].sum() != 4 else sales.set_index('v', drop=False)", "another index"),
        ("return sales.rename_axis('a' if sales['v'].sum() != 4 else 'b')", "its index is b and not a"),
    ],
)
def test_outcomes_with_other_columns_are_no_table(built: Build, body: str, said: str) -> None:
    mapped = built(body, {"sales": SAMPLE}).map(frames(4))
    with pytest.raises(DataDrift, match=f"The outcome of item 2 differs from those before it: .*{said}"):
        mapped.table()
    assert len(mapped.outcomes) == 4


def test_progress_is_told_in_the_calling_thread(built: Build) -> None:
    told: list[tuple[int, int, bool]] = []
    here = threading.current_thread()
    built(SUM, {"sales": SAMPLE}).map(
        frames(5), workers=1, progress=lambda done, of: told.append((done, of, threading.current_thread() is here))
    )
    assert told[-1] == (5, 5, True) and all(each[2] for each in told)
    assert [done for done, *_ in told] == sorted(done for done, *_ in told)


def test_an_interrupt_keeps_what_is_done_and_the_rest_is_computed_later(built: Build) -> None:
    body = f"while sales['v'].sum() == 18 and not os.path.exists('/nowhere'): time.sleep(0.01)\n    {SUM}"
    growth = built(body, {"sales": SAMPLE})

    def interrupt(done: int, _of: int) -> None:
        if done >= 9:
            threading.Timer(0.2, _thread.interrupt_main).start()

    with pytest.raises(KeyboardInterrupt):
        growth.map(frames(10), workers=1, progress=interrupt)
    last = growth.map.last
    assert last is not None and last.missing == [9]
    assert isinstance(last.errors[0].error, Cancelled)
    assert "retry" in last.errors[0].error.hint
    assert totals(last[:9]) == [2 * number for number in range(9)]


def test_resume_computes_only_what_is_not_kept(built: Build) -> None:
    growth = built(SUM, {"sales": SAMPLE}, lock=True)
    first = growth.map(frames(5), resume=True, workers=1)
    second = growth.map(frames(7), resume=True, workers=1)
    before, after = ([each["child"].iloc[0] for each in mapped] for mapped in (first, second))
    assert after[:5] == before and not set(after[5:]) & set(before)
    assert growth.map(frames(2), workers=1)[0]["child"].iloc[0] != before[0]


def test_resume_is_refused_if_no_outcome_can_be_kept(built: Build, tmp_path: Path) -> None:
    growth = built(SUM, {"sales": SAMPLE})
    SAMPLE.to_parquet(tmp_path / "sales.parquet", index=False)
    calls: list[tuple[Any, Any]] = [(growth.map, frames(1)), (growth.over, tmp_path / "sales.parquet")]
    for call, given in calls:
        with pytest.raises(InvalidRequest, match="versions of the packages of growth are not known") as refused:
            call(given, resume=True)
        assert "resume" in refused.value.hint


def test_resume_is_refused_for_more_items_than_are_kept(built: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_cache, "MAX_OUTCOMES", 3)
    growth = built(SUM, {"sales": SAMPLE}, lock=True)
    assert totals(growth.map(frames(3), resume=True)) == [0, 2, 4]
    with pytest.raises(InvalidRequest, match="keeps 3 outcomes, and there are 4 items"):
        growth.map(frames(4), resume=True)
    assert totals(growth.map(frames(4))) == [0, 2, 4, 6]


@pytest.fixture
def processes() -> Iterator[Any]:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        yield pool


class Client:
    """As a client of Dask: it gives an executor."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool

    def get_executor(self) -> Any:
        return self.pool


def test_an_executor_carries_the_items_without_the_samples(built: Build, processes: Any) -> None:
    names = pd.DataFrame({"v": range(3), "name": ["a", "b", "c"]})
    large = pd.DataFrame({"v": range(200_000)})
    growth = built(
        "return sales.merge(names, on='v')",
        {"sales": large, "names": names},
        inputs=(FRAME, InputSpec(name="names", type="DataFrame")),
    )
    assert len(pickle.dumps(growth.as_task("names"))) < 50_000 < len(pickle.dumps(growth))
    mapped = growth.map(frames(3), executor=Client(processes))
    assert [each["name"].tolist() for each in mapped] == [["a", "a"], ["b", "b"], ["c", "c"]]
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        assert len(growth.map(frames(3), executor=threads).table()) == 6


def test_paths_are_those_of_the_caller_also_if_a_process_works_in_another_folder(
    built: Build, processes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("here", "there")):
        (tmp_path / name).mkdir()
        frames(2)[number].to_csv(tmp_path / name / "sales.csv", index=False)
    monkeypatch.chdir(tmp_path / "there")
    assert [each.result() for each in [processes.submit(os.getcwd) for _ in range(8)]]
    monkeypatch.chdir(tmp_path / "here")
    made = "pathlib.Path('sum.txt').write_text(str(sales['v'].sum())); return pathlib.Path('sum.txt')"
    growth = built(made, {"sales": SAMPLE}, {"text": "File"}, before="import pathlib")
    given: tuple[dict[str, Any], ...] = ({}, {"output_dir": "out"})
    for options in given:
        mapped = growth.map(["sales.csv", Path("sales.csv"), File("sales.csv")], executor=processes, **options)
        assert [each.path.read_text() for each in mapped] == ["0", "0", "0"]
    assert {each.path.parent for each in mapped} == {tmp_path / "here" / "out"}
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["sales.csv"]


def test_a_file_that_another_machine_has_is_no_outcome(built: Build, tmp_path: Path) -> None:
    growth = built(SUM, {"sales": SAMPLE}, {"text": "File"})

    def act(given: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_result({place: File(tmp_path / "away.txt") for place in given[-1]})
        return future

    mapped = growth.map([SAMPLE], executor=Carries(act))
    assert "away.txt is on the machine of the worker" in mapped.errors[0].error.what
    assert "output_dir" in mapped.errors[0].error.hint


def test_paths_are_files_and_folders_where_the_function_takes_these(built: Build, tmp_path: Path) -> None:
    notes = [tmp_path / f"{name}.txt" for name in "ab"]
    for path in notes:
        path.write_text(path.name)
    note, folder = (InputSpec(name="given", type=kind) for kind in ("File", "Dir"))
    reads = built("return given.read_text()", outputs={"text": "str"}, inputs=(note,))
    assert list(reads.map([notes[0], str(notes[1]), File(notes[1])])) == ["a.txt", "b.txt", "b.txt"]
    counts = built("return len(list(given.glob('*.txt')))", outputs={"count": "int"}, inputs=(folder,))
    assert list(counts.map([tmp_path])) == [2]
    with pytest.raises(InvalidRequest, match=r"Item 1: 'https://example\.org/a\.txt' is an address of https") as error:
        reads.map([notes[0], "https://example.org/a.txt"])
    assert "Download it first" in error.value.hint


def test_outcomes_can_be_pickled_without_the_function_and_the_inputs(built: Build) -> None:
    large = [pd.DataFrame({"v": range(20_000)}), pd.DataFrame({"w": [1]})]
    mapped = built(SUM, {"sales": large[0]}).map(zip("ab", large, strict=True))
    sent = pickle.dumps(mapped)
    assert len(sent) < 20_000
    same = pickle.loads(sent)
    assert (repr(same), same[0].equals(mapped[0]), same.missing) == (repr(mapped), True, [1])
    assert type(same.errors[0].error) is DataDrift and same.errors[0].item[1].equals(large[1])
    with pytest.raises(InvalidRequest, match="have no function that could be called") as refused:
        same.retry()
    assert "growth.map(" in refused.value.hint
    whole = pickle.loads(pickle.dumps(built(SUM, {"sales": SAMPLE}).map(zip("ab", frames(2), strict=True))))
    assert whole.table()["key"].tolist() == ["a", "b"]


class Carries:
    """An executor that does something else with a call."""

    def __init__(self, act: Any) -> None:
        self.submit = lambda *given: act(given)


def failing(error: BaseException) -> Any:
    def act(_: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_exception(error)
        return future

    return act


def test_an_executor_that_gives_no_future_is_said(built: Build) -> None:
    growth = built(SUM, {"sales": SAMPLE})
    for act, said in ((lambda _: None, "returned a NoneType"), (lambda given: given[0](*given[1:]), "returned a dict")):
        with pytest.raises(InvalidRequest, match=said) as refused:
            growth.map(frames(2), executor=Carries(act))
        assert refused.value.why and refused.value.hint


def test_what_an_executor_cannot_carry_is_beside_the_outcomes(built: Build) -> None:
    growth = built(SUM, {"sales": SAMPLE})
    for error in (OSError("host down"), concurrent.futures.CancelledError()):
        mapped = growth.map(frames(3), executor=Carries(failing(error)))
        assert [type(each.error) for each in mapped.errors] == [EngineGone] * 3
        assert type(error).__name__ in mapped.errors[0].error.why and "retry" in mapped.errors[0].error.hint
        assert totals(mapped.retry()) == [0, 2, 4]
    missing = ModuleNotFoundError("No module named 'autocoder_jupyter'", name="autocoder_jupyter")
    with pytest.raises(VersionsDiffer, match="cannot import autocoder-jupyter"):
        growth.map(frames(3), executor=Carries(failing(missing)))


def test_an_item_that_cannot_be_sent_leaves_those_of_its_chunk_alone(built: Build, processes: Any) -> None:
    growth = built(SUM, {"sales": SAMPLE})
    items = [*frames(3), threading.Lock(), *frames(2)]

    def at_once(given: Any) -> Any:  # as Dask, which pickles a call when it is submitted
        return processes.submit(*pickle.loads(pickle.dumps(given)))

    for executor in (processes, Carries(at_once)):
        mapped = growth.map(items, executor=executor)
        assert mapped.missing == [3] and totals(mapped.outcomes) == [0, 2, 4, 0, 2]
        assert "pickle" in mapped.errors[0].error.why


def test_a_killed_process_leaves_items_that_a_new_pool_computes(built: Build) -> None:
    growth = built(SUM, {"sales": SAMPLE})
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        os.kill(pool.submit(os.getpid).result(), signal.SIGKILL)
        for _ in range(2):  # the pool learns of it with the first calls; then it takes none
            mapped = growth.map(frames(3), executor=pool)
            assert [type(each.error) for each in mapped.errors] == [EngineGone] * 3
            assert "retry(executor=" in mapped.errors[0].error.hint
    assert totals(mapped.retry()) == [0, 2, 4]


def test_a_process_that_was_forked_calls_too(built: Build) -> None:
    growth = built(SUM, {"sales": SAMPLE})
    assert totals(growth.map(frames(1))) == [0]  # a sandbox and its thread are there before the fork
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert totals(growth.map(frames(6), executor=pool)) == [0, 2, 4, 6, 8, 10]


class Asynchronous(Client):
    """As a client of Dask on an event loop. A map on this loop would wait without end."""

    asynchronous = True


class Unreachable:
    """As a client of Dask whose scheduler is gone."""

    def get_executor(self) -> Any:
        raise OSError("no route to the scheduler")


def closed() -> Any:
    pool = concurrent.futures.ThreadPoolExecutor(1)
    pool.shutdown()
    return pool


@pytest.mark.parametrize(
    ("executor", "said"),
    [
        (5, "int is not an executor"),
        (object(), "object is not an executor"),
        (concurrent.futures.ThreadPoolExecutor, "ThreadPoolExecutor is not an executor"),
        (Client, "Client is not an executor"),
        (Client(5), "int is not an executor"),
        (Asynchronous(None), "does not accept an asynchronous client"),
        (Unreachable(), "no route to the scheduler"),
        (closed(), "cannot schedule new futures after shutdown"),
    ],
)
def test_what_takes_no_calls_is_said(built: Build, executor: Any, said: str) -> None:
    growth = built(SUM, {"sales": SAMPLE})
    with pytest.raises(InvalidRequest, match=said) as refused:
        growth.map(frames(2), executor=executor)
    assert refused.value.why and refused.value.hint
    mapped = growth.map(frames(2))
    mapped.put(0, EngineGone("gone"))
    with pytest.raises(InvalidRequest, match=said):
        mapped.retry(executor=executor)


def test_large_items_are_alone_and_small_ones_in_chunks(built: Build) -> None:
    function = built(SUM, {"sales": SAMPLE}).as_task("x").function
    large = pd.DataFrame({"v": range(SMALL // 8)})
    items = items_of(function, [SAMPLE] * 3 + [large] + [SAMPLE] * 2, {})
    assert sorted(map(sorted, chunks_of(items, range(6), 1))) == [[0, 1], [2, 4], [3], [5]]
    many = items_of(function, [SAMPLE] * 1000, {})
    assert {len(chunk) for chunk in chunks_of(many, range(1000), 2)} == {MOST_ITEMS}
