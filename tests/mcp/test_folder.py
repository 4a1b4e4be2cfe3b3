"""A whole session over stdio without a kernel: the client of the MCP SDK, the real server, sandbox and model client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from autocoder_jupyter.run.of_report import NOT_FULLY_CHECKED, READY, WITH_QUESTION
from tests.mcp.agent import CANARY, PRICED, SALES, Agent, answer, environment, session
from tests.scripted_model import ScriptedModel

pytestmark = pytest.mark.local_sandbox


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").write_text("")
    (folder / "sales.csv").write_text(SALES)
    for name in ("mcp", "pandas", "pydantic"):
        (folder / f"{name}.py").write_text("raise SystemExit('a file of the folder was imported')")
    (folder / ".env").write_text("TOKEN=hidden")
    outside = tmp_path_factory.mktemp("outside") / "secret.csv"
    outside.write_text(SALES)
    (folder / "link.csv").symlink_to(outside)
    (folder / "links").symlink_to(outside.parent)
    return folder


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(answer) as model:
        yield model


@pytest.fixture(scope="module")
def agent(place: Path, model: ScriptedModel) -> Iterator[Agent]:
    with session("--max-cost", "0.5", env=environment(model.url), folder=place) as agent:
        yield agent


@pytest.fixture(scope="module")
def total(agent: Agent) -> str:
    """The name of a function that exists; the first test makes it, if it has run."""
    if "total" not in [one["name"] for one in agent.use("list")["functions"]]:
        agent.make("total", "the total", sales="sales.csv")
    return "total"


def test_it_makes_a_function_hears_how_it_goes_and_calls_it(agent: Agent, place: Path, model: ScriptedModel) -> None:
    assert [*agent.tools()] == ["list", "describe", "call", "make", "verdict"]
    before = agent.use("list")
    assert (before["functions"], before["share"], before["budget"]) == ([], "schema", 0.5)
    assert [file["name"] for file in before["files"]] == ["sales.csv"]
    begun = agent.use("make", name="total", request="Compute the total.", data={"sales": "sales.csv"})
    assert not begun["done"]
    verdict = agent.until("total", lambda verdict: verdict["done"])
    assert verdict["headline"] in (READY, WITH_QUESTION, NOT_FULLY_CHECKED), verdict
    assert verdict["verified"] == "verified in part" and "no second opinion" in verdict["unchecked"]
    assert verdict["evidence"] == {
        "tests_passed": 1,
        "tests": 1,
        "mutations_noticed": verdict["evidence"]["mutations_noticed"],
        "mutations": verdict["evidence"]["mutations"],
        "second_opinion": "none",
    }
    assert agent.progress, "progress is told while it waits"
    assert 0 < verdict["cost"] < 0.5
    assert {request["model"] for request in model.requests} == {PRICED.partition("/")[2]}
    told = agent.use("describe", name="total")
    assert told["text"].startswith("total(sales: ") and 'sales["amount"].sum()' in told["code"]
    called = agent.use("call", name="total", inputs={"sales": "sales.csv"})
    output = called["outputs"][0]
    assert called["headline"] == verdict["headline"]
    assert (output["output"], output["kind"], output["name"], output["value"]) == ("found", "int", "total_1", None)
    assert "--share schema" in output["withheld"]
    assert [one["name"] for one in agent.use("list")["functions"]] == ["total"]
    assert CANARY not in "".join(agent.seen) and CANARY not in str(model.requests)


def test_a_table_that_is_returned_is_a_new_file_and_an_input_of_the_next_call(agent: Agent, place: Path) -> None:
    assert agent.make("rows", "the rows", sales="sales.csv")["done"]
    first, second = (agent.use("call", name="rows", inputs={"sales": "sales.csv"})["outputs"][0] for _ in range(2))
    assert (first["rows"], first["columns"], first["value"]) == (2, ["amount", "place", "salary"], None)
    assert (first["name"], second["name"]) == ("rows_1", "rows_2")
    assert Path(first["file"]).read_bytes() == Path(second["file"]).read_bytes()
    assert Path(first["file"]).is_relative_to(place / ".autocode" / "rows" / "outputs")
    again = agent.use("call", name="rows", inputs={"sales": first["name"]})["outputs"][0]
    assert again["rows"] == 2


def test_values_that_become_names_of_columns_are_not_shown(agent: Agent) -> None:
    assert agent.make("wide", "as columns", sales="sales.csv")["done"]
    output = agent.use("call", name="wide", inputs={"sales": "sales.csv"})["outputs"][0]
    assert (output["columns"], output["column_count"]) == ([], 2)
    assert CANARY not in str(agent.use("describe", name=output["name"]))
    told = agent.refused("make", name="more", request="Compute the rows.", data={"sales": output["name"]})
    assert "cannot be the data of a request" in told and "may not see" in told
    assert CANARY not in "".join(agent.seen)


def test_an_error_of_a_function_quotes_no_data(agent: Agent, place: Path) -> None:
    assert agent.make("fails", "a failure", sales="sales.csv")["done"]
    (place / "more.csv").write_text(f"{SALES}30,{CANARY} 3,7003\n")
    told = agent.refused("call", name="fails", inputs={"sales": "more.csv"})
    assert "ValueError" in told and "invalid literal for int()" in told and CANARY not in told


@pytest.mark.parametrize(
    "path",
    [
        "../outside0/secret.csv",
        "/etc/passwd",
        "link.csv",
        "links/secret.csv",
        ".env",
        ".autocode/total",
        "a\0b",
        "~/x.csv",
    ],
)
def test_no_path_leads_outside(agent: Agent, total: str, path: str) -> None:
    for told in (
        agent.refused("describe", name=path),
        agent.refused("call", name=total, inputs={"sales": path}),
        agent.refused("make", name="other", request="Compute the total.", data={"sales": path}),
    ):
        assert "cannot be used" in told or "There is no file" in told, told
        assert "root:" not in told and "TOKEN" not in told and CANARY not in told


@pytest.mark.parametrize("path", ["s3://bucket/sales.csv", "https://example.org/sales.csv"])
def test_no_address_is_contacted(agent: Agent, path: str) -> None:
    assert "is an address of" in agent.refused("describe", name=path)


@pytest.mark.parametrize("name", ["__import__('os')", "total.report", "_", "__builtins__", "print"])
def test_a_name_is_compared_and_never_evaluated(agent: Agent, name: str) -> None:
    assert re.match(
        r"There is no function|There is no table|'.*' cannot be used|There is no file",
        agent.refused("describe", name=name),
    )
    assert "There is no function" in agent.refused("call", name=name, inputs={})
    assert "cannot be the name" in agent.refused("make", name=name, request="Compute the total.", data={})


def test_wrong_arguments_say_what_is_right(agent: Agent, total: str) -> None:
    told = agent.refused("call", name=total, inputs={"sales": "sales.csv", "timeout": 1})
    assert "total has no input 'timeout'" in told and "Its inputs: sales." in told
    assert "must be a text" in agent.refused("call", name="total", inputs={"sales": [1, 2]})
    assert "There is no file 'salse.csv'" in agent.refused("call", name="total", inputs={"sales": "salse.csv"})


def test_no_tool_answers_for_the_person(agent: Agent) -> None:
    """There is nothing to allow, to trust, to share more, or to spend more with."""
    words = {name for tool in agent.tools().values() for name in tool.input_schema["properties"]}
    assert words == {"name", "inputs", "request", "data", "wait_seconds"}
    for tool in ("reply", "approve", "trust", "share"):
        assert "Unknown tool" in agent.refused(tool, name="total")
