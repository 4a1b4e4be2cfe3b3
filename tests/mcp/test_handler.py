"""What an agent sees at each sharing level, of functions that were really made, and what it cannot replace."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import AutoCoderAgent, jobs
from autocoder_jupyter.errors import AutocodeError, InvalidRequest
from autocoder_jupyter.mcp import handler as handlers
from autocoder_jupyter.mcp.answers import Output
from autocoder_jupyter.mcp.handler import Handler, Kept, handled, of_folder
from autocoder_jupyter.mcp.paths import NamedFolders
from autocoder_jupyter.request import Share
from autocoder_jupyter.types import InputSpec
from tests.cases import each
from tests.mcp.agent import CANARY, SALES, answer
from tests.scripted_model import ScriptedModel

pytestmark = pytest.mark.local_sandbox

FRAME = pd.read_csv(StringIO(SALES))

FUNCTIONS = (("total", "the total"), ("wide", "as columns"), ("renamed", "renamed"), ("rows", "the rows"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with functions that the person has made with all rows shared."""
    folder = tmp_path_factory.mktemp("project")
    with ScriptedModel(answer) as model:
        person = AutoCoderAgent(**model.settings, effort="quick", sandbox="local", max_iterations=1)
        for name, words in FUNCTIONS:
            result = person.generate(
                f"Compute {words}.", samples={"sales": FRAME}, name=name, journal_root=folder / ".autocode"
            )
            assert result.success, result.error
    return folder


@pytest.fixture
def handler_at(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A handler of a notebook with the frame `sales`, at a sharing level."""
    monkeypatch.chdir(made)

    def handler(share: Share, /, **settings: str) -> Handler:
        for name in [name for name in os.environ if name.startswith("AUTOCODE_")]:
            monkeypatch.delenv(name)
        for name, value in settings.items():
            monkeypatch.setenv(f"AUTOCODE_{name.upper()}", value)
        notebook = of_folder()
        notebook.namespace["sales"] = FRAME
        return Handler(notebook, NamedFolders.of([]), share, has_person=True)

    yield handler


def ask(handler: Handler, tool: str, **arguments: Any) -> Any:
    return handler.answer(tool, arguments).model_dump(mode="json")


def output(handler: Handler, name: str, **inputs: str) -> Any:
    return ask(handler, "call", name=name, inputs=inputs or {"sales": "sales"})["outputs"][0]


def test_rows_are_shown_where_rows_are_shared(handler_at: Any) -> None:
    handler = handler_at("rows")
    assert output(handler, "total")["value"] == 30
    table = output(handler, "renamed")
    assert table["value"]["data"] == [[10, f"{CANARY} 1", 7001], [20, f"{CANARY} 2", 7002]]
    assert CANARY in ask(handler, "describe", name="sales")["text"]
    assert 'sales["amount"].sum()' in ask(handler, "describe", name="total")["code"]


def test_a_missing_input_is_named(handler_at: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"total needs sales \(DataFrame\)") as told:
        ask(handler_at("rows"), "call", name="total", inputs={})
    assert "name of a frame or the path of a file" in told.value.hint


@each("share", ["stats", "schema"])
def test_below_that_nothing_of_the_rows_is_told_nor_the_words_of_what_was_made_with_them(
    handler_at: Any, share: Share
) -> None:
    handler = handler_at(share)
    answers = [
        *(output(handler, name) for name in ("total", "renamed", "wide")),
        *(ask(handler, "describe", name=name) for name in ("sales", "total", "total_1", "renamed_1", "wide_1")),
        *(ask(handler, "verdict", name=name) for name in ("total", "wide")),
        ask(handler, "list"),
    ]
    assert [one for one in answers if CANARY in json.dumps(one)] == []
    assert ("7001" in json.dumps(answers)) == (share == "stats"), "the extremes of a frame are statistics"
    told = ask(handler, "describe", name="total")
    assert (told["code"], told["text"]) == ("", "total(sales: DataFrame) -> int")
    assert "made with --share rows" in told["withheld"]
    assert ask(handler, "verdict", name="total")["headline"].startswith("Ready")


def test_the_settings_of_the_notebook_share_less_than_the_command_line_and_never_more(handler_at: Any) -> None:
    handler = handler_at("rows", share="schema")
    assert ask(handler, "list")["share"] == "schema"
    assert output(handler, "total")["value"] is None


@each("setting", ["hide", "mask"])
def test_a_withheld_column_is_not_seen_under_another_name(handler_at: Any, setting: str) -> None:
    handler = handler_at("rows", **{setting: "salary"})
    seen = [output(handler, "renamed"), output(handler, "total"), ask(handler, "describe", name="renamed_1")]
    assert seen[0]["column_count"] == 3 and seen[0]["value"] is None
    seen += [ask(handler, "describe", name="sales"), ask(handler, "list"), ask(handler, "verdict", name="renamed")]
    text = json.dumps(seen)
    assert "7001" not in text and "7002" not in text
    assert ("salary" in text) == (setting == "mask")


def test_a_hidden_index_is_not_named(handler_at: Any) -> None:
    handler = handler_at("rows", hide="salary")
    handler.notebook.namespace.update(by_salary=FRAME.set_index("salary"), alone=FRAME["salary"])
    for name in ("by_salary", "alone"):
        for tool, given in (
            ("describe", {"name": name}),
            ("make", {"name": "new", "request": "Compute it.", "data": {"table": name}, "max_cost": 1.0}),
        ):
            with pytest.raises(InvalidRequest) as told:
                ask(handler, tool, **given)
            assert "The person withholds its index" in told.value.why
            assert "salary" not in str(told.value).replace("by_salary", "")


def test_what_was_computed_from_it_is_no_data_of_a_request(handler_at: Any) -> None:
    handler = handler_at("rows", hide="salary")
    output(handler, "renamed")
    with pytest.raises(InvalidRequest, match="renamed_1 cannot be the data of a request"):
        ask(handler, "make", name="more", request="Compute the rows.", data={"sales": "renamed_1"}, max_cost=1.0)


def test_a_request_that_names_a_hidden_column_ends_before_a_model_is_asked(handler_at: Any) -> None:
    with ScriptedModel() as model:
        handler = handler_at(
            "rows",
            hide="salary",
            api_base=model.url,
            model="openai/gpt-4.1-mini",
            sandbox="local",
            second_opinion="off",
        )
        ask(handler, "make", name="sums", request="The sum of salary.", data={"sales": "sales"}, max_cost=1.0)
        jobs.current("sums").result._pending.wait(60)  # type: ignore[union-attr]
        verdict = ask(handler, "verdict", name="sums")
        assert verdict["state"] == "failed" and "salary is to be hidden, but the request names it" in verdict["error"]
        assert model.requests == []
    jobs.registry.forget("sums")


def test_what_a_folder_wishes_waits_for_the_person_and_is_not_used(handler_at: Any, made: Path) -> None:
    rules = made / "autocode.md"
    rules.write_text("Amounts are in euros.")
    try:
        with ScriptedModel() as model:
            handler = handler_at("rows", api_base=model.url, model="openai/gpt-4.1-mini", sandbox="local")
            verdict = ask(handler, "make", name="euros", request="Compute it.", data={"sales": "sales"}, max_cost=1.0)
            assert verdict["waiting_for"].startswith("waiting for the person: agreement to settings or house rules")
            handler.made["euros"].result._pending.wait(60)
            assert "euros" not in str(model.requests)
    finally:
        rules.unlink()
        jobs.registry.forget("euros")


@each("name", ["sales", "total", "print", "_x", "class", "a b", "x" * 3 + "\u202e"])
def test_no_name_of_the_person_is_replaced(handler_at: Any, name: str) -> None:
    handler = handler_at("rows")
    with pytest.raises(InvalidRequest, match=r"is there already|cannot be the name"):
        ask(handler, "make", name=name, request="Compute the total.", data={"sales": "sales"}, max_cost=1.0)
    assert handler.notebook.namespace["sales"] is FRAME


def test_a_result_gets_a_name_and_a_file_that_nobody_has(handler_at: Any, made: Path) -> None:
    handler = handler_at("rows")
    handler.notebook.namespace["renamed_1"] = "mine"
    place = made / ".autocode" / "renamed" / "outputs"
    place.mkdir(exist_ok=True)
    (place / "renamed_2.parquet").write_text("mine")
    alone = Handler(handler.notebook, handler.folders, "rows", has_person=False)
    found = output(alone, "renamed")
    assert (found["name"], Path(found["file"]).name) == ("renamed_2", "renamed_2-2.parquet")
    assert handler.notebook.namespace["renamed_1"] == "mine" and (place / "renamed_2.parquet").read_text() == "mine"


def test_values_of_secrets_are_removed_from_what_is_shown(handler_at: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from autocoder_jupyter.mcp import shown

    monkeypatch.setattr(shown, "secret_values", lambda secrets: {"TOKEN": f"{CANARY} 1"})
    assert output(handler_at("rows"), "renamed")["value"]["data"][0][1] == "<TOKEN>"


def test_a_defect_of_ours_tells_its_kind_and_no_message(handler_at: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = handler_at("schema")

    def fails(self: Handler, tool: str, arguments: Mapping[str, Any]) -> Any:
        raise KeyError(CANARY)

    monkeypatch.setattr(Handler, "answer", fails)
    asked = {"session": "s", "folders": [], "share": "schema", "tool": "list", "arguments": {}}
    found = handled(asked, lambda: handler.notebook, has_person=False)
    assert "KeyError" in found["error"] and CANARY not in found["error"]


@each(
    ("data", "what"),
    [
        ({"sales": "nothing"}, "There is no table 'nothing'"),
        ({"a b": "sales"}, "'a b' cannot be the name of an input"),
        ({"sales": "../x.csv"}, "cannot be used"),
    ],
)
def test_wrong_data_of_a_request_are_refused(handler_at: Any, data: dict[str, str], what: str) -> None:
    with pytest.raises(AutocodeError, match=what):
        ask(handler_at("rows"), "make", name="other", request="Compute the total.", data=data, max_cost=1.0)


def test_a_large_table_is_not_read_unless_it_is_parquet(tmp_path: Path) -> None:
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(2**28 + 1)
    folders = NamedFolders.of([str(tmp_path)])
    with pytest.raises(InvalidRequest, match=r"large.csv has more than 256 MiB"):
        folders.table("large.csv")
    (tmp_path / "large.csv").rename(tmp_path / "large.parquet")
    assert folders.table("large.parquet").name == "large.parquet"


def test_names_that_were_not_told_are_not_told_when_their_table_is_passed_on(handler_at: Any) -> None:
    handler = handler_at("schema")
    beside = FRAME.assign(**{CANARY: 1})
    handler.notebook.namespace["beside_1"] = beside
    handler.kept["beside_1"] = Kept(beside, Output(output="found", kind="DataFrame", columns=["amount"]), None)
    found = output(handler, "rows", sales="beside_1")
    assert (found["columns"], found["column_count"]) == (["amount"], 4)


def test_what_one_session_may_not_see_the_next_one_may_not_either(
    handler_at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "_kept", {})
    monkeypatch.setattr(handlers, "_handlers", {})
    notebook = handler_at("rows").notebook

    def asked(session: str, share: str, tool: str, **arguments: Any) -> str:
        asks = {"session": session, "folders": [], "share": share, "tool": tool, "arguments": arguments}
        return json.dumps(handled(asks, lambda: notebook, has_person=True))

    sales = {"sales": "sales"}
    assert CANARY not in asked("first", "schema", "call", name="wide", inputs=sales)
    assert CANARY in asked("rows", "rows", "call", name="wide", inputs=sales)
    assert "30" in asked("rows", "rows", "call", name="total", inputs=sales)
    for name in ("wide_1", "wide_2", "total_1"):
        found = asked("next", "schema", "describe", name=name)
        assert CANARY not in found and "30" not in found, found
    assert "wide_1" not in asked("next", "schema", "list")
    assert CANARY in asked("more", "rows", "describe", name="wide_2")
    made = {"name": "more", "request": "Compute it.", "data": {"sales": "wide_2"}, "max_cost": 1.0}
    assert "cannot be the data of a request" in asked("next", "schema", "make", **made)


def test_what_the_person_hides_later_is_not_seen_in_what_was_shown_before(
    handler_at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = handler_at("rows")
    assert output(handler, "rows")["value"] is not None and output(handler, "renamed")["value"] is not None
    monkeypatch.setenv("AUTOCODE_HIDE", "salary")
    later = Handler(of_folder(), handler.folders, "rows", True, handler.kept)
    later.notebook.namespace.update(handler.notebook.namespace)
    assert "7001" not in json.dumps(ask(later, "describe", name="renamed_1"))
    assert "7001" not in json.dumps(output(later, "rows", sales="renamed_1"))


@each("setting", ["hide", "mask"])
@each("named", ["a part of a label", "a level of the columns"])
def test_a_table_whose_columns_have_levels_is_not_described_past_what_is_withheld(
    handler_at: Any, setting: str, named: str
) -> None:
    handler = handler_at("rows", **{setting: "salary"})
    if named == "a part of a label":
        table = FRAME.set_axis(pd.MultiIndex.from_tuples([("a", name) for name in FRAME]), axis=1)
    else:
        table = FRAME.pivot(index="place", columns="salary", values="amount")
    handler.notebook.namespace["table"] = table
    with pytest.raises(InvalidRequest, match="table cannot be used") as refused:
        ask(handler, "describe", name="table")
    assert "7001" not in str(refused.value)


def test_a_variable_that_the_person_bound_over_a_function_of_the_agent_stays(handler_at: Any) -> None:
    with ScriptedModel() as model:
        handler = handler_at("rows", hide="salary", api_base=model.url, model="openai/gpt-4.1-mini", sandbox="local")
        asked = {"name": "sums", "request": "The sum of salary.", "data": {"sales": "sales"}, "max_cost": 1.0}
        ask(handler, "make", **asked)
        handler.made["sums"].result._pending.wait(60)
        handler.notebook.namespace["sums"] = "mine"
        with pytest.raises(InvalidRequest, match="sums is there already"):
            ask(handler, "make", **asked)
        assert handler.notebook.namespace["sums"] == "mine"
        del handler.notebook.namespace["sums"]
        ask(handler, "make", **asked)
        handler.made["sums"].result._pending.wait(60)
    jobs.registry.forget("sums")


def test_results_of_calls_at_the_same_time_have_names_of_their_own(handler_at: Any) -> None:
    handler, names = handler_at("schema"), []
    threads = [threading.Thread(target=lambda: names.append(output(handler, "total")["name"])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(names) == [f"total_{number}" for number in range(1, 9)]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_a_name_that_cannot_be_shown_and_what_is_no_file_are_left_out_of_the_list(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text(SALES)
    (tmp_path / "a\x1b[31m.csv").write_text(SALES)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv")).write_text(SALES)
    os.mkfifo(tmp_path / "pipe.csv")
    assert [name for name, _ in NamedFolders.of([str(tmp_path)]).tables()] == ["sales.csv"]


def test_a_class_of_no_module_does_not_stop_the_list(handler_at: Any) -> None:
    handler = handler_at("schema")
    handler.notebook.namespace["odd"] = type("Odd", (), {"__module__": None})()
    assert [frame["name"] for frame in ask(handler, "list")["frames"]] == ["sales"]


@each("hidden", [".env", "a/.env", ".git/config"])
def test_a_folder_with_something_hidden_is_no_input(tmp_path: Path, hidden: str) -> None:
    folder = tmp_path / "whole"
    (folder / hidden).parent.mkdir(parents=True)
    folders = NamedFolders.of([str(tmp_path)])
    (folder / "sales.csv").write_text(SALES)
    if not hidden.startswith(".git"):
        assert folders.folder("whole") == folder.resolve()
    (folder / hidden).write_text("TOKEN=hidden")
    with pytest.raises(InvalidRequest, match="'whole' cannot be used") as refused:
        folders.folder("whole")
    assert "env" not in str(refused.value)


def test_an_input_that_is_a_folder_is_looked_through(handler_at: Any) -> None:
    handler = handler_at("rows")
    with pytest.raises(InvalidRequest, match="hidden files or folders"):
        handler._input(InputSpec(name="folder", type="Dir"), ".")
