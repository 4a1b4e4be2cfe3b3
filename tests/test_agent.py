from __future__ import annotations

import asyncio
import copy
import dataclasses
import datetime as dt
import inspect
import os
import pickle
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import autocoder_jupyter
from autocoder_jupyter import AutoCoderAgent
from autocoder_jupyter.agent.arguments import build_request, folder_name
from autocoder_jupyter.agent.place import journal_root, places
from autocoder_jupyter.agent.settings import agent_config
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.engine.prepare import prepare
from autocoder_jupyter.errors import AuthenticationFailed, InvalidRequest
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.run.events import Finished
from autocoder_jupyter.types import (
    CodeSolution,
    Dir,
    File,
    ImageConfig,
    InputSpec,
    OutputSpec,
    PlanQuestion,
    Report,
    Resources,
    Secret,
)
from tests.cases import each


class StandInEngine:
    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.success = True
        self.finished: Any = None
        self.error: Exception | None = None
        self.running = threading.Event()
        self.go_on: threading.Event | None = None
        self.killed = threading.Event()
        self.consent: bool | None = None
        self.answers: Any = ()

    async def __call__(
        self, request: Any, config: Any, *, journal: Any, tracker: Any, approve: Any, ask: Any
    ) -> Report:
        self.asked.append((request, config, journal))
        self.running.set()
        if self.go_on is not None:
            await background.call_blocking(lambda: self.go_on.wait(30), on_cancel=self.killed.set)  # type: ignore[union-attr]
        if self.error is not None:
            raise self.error
        self.consent = await approve(("leftpad",))
        self.answers = await ask((PlanQuestion(text="Which month?", options=("first", "last"), assumed="last"),))
        if self.finished:
            tracker(Finished(self.finished))
        return Report(
            name=request.name,
            run_id="abc",
            prompt=request.prompt,
            success=self.success,
            solution=CodeSolution(code="def run(): return 1"),
            error=None if self.success else "2 tests fail",
        )


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> StandInEngine:
    engine = StandInEngine()
    monkeypatch.setattr("autocoder_jupyter.agent.agent.generate_report", engine)
    return engine


def test_the_agent_takes_every_setting_by_name_with_the_same_defaults() -> None:
    parameters = inspect.signature(AutoCoderAgent).parameters
    fields = {field.name for field in dataclasses.fields(AgentConfig)}
    assert set(parameters) == fields
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters.values())
    agent, default = AutoCoderAgent(), AgentConfig()
    assert {name: getattr(agent, name) for name in fields} == {name: getattr(default, name) for name in fields}
    for name in fields:
        assert f"{name}:" in (AutoCoderAgent.__init__.__doc__ or "")


def test_the_agent_is_immutable_and_short_in_words() -> None:
    agent = AutoCoderAgent(name="mine", model="openai/gpt-5", env_vars={"A": "1"})
    assert repr(agent) == "AutoCoderAgent('mine', model='openai/gpt-5')"
    with pytest.raises(dataclasses.FrozenInstanceError):
        agent.model = "other"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(agent)) == copy.deepcopy(agent) == agent


def test_the_callers_lists_and_dicts_are_copied() -> None:
    params: dict[str, Any] = {"extra": {"deep": [1]}}
    packages, variables = ["scipy"], {"A": "1"}
    agent = AutoCoderAgent(litellm_params=params, base_packages=packages, env_vars=variables)
    params["extra"]["deep"].append(2)
    packages.append("x")
    variables["B"] = "2"
    assert agent.litellm_params == {"extra": {"deep": [1]}}
    assert (agent.base_packages, agent.env_vars) == (("scipy",), {"A": "1"})


def test_settings_are_taken_in_the_forms_people_write() -> None:
    agent = AutoCoderAgent(
        resources={"cpu": 2, "memory": "512Mi"},
        image_config={"python_version": (3, 12)},
        timeout=dt.timedelta(minutes=2),
        secrets=["TOKEN", Secret(key="A", as_env_var="B")],
        api_key="OPENAI_API_KEY",
    )
    assert agent.resources == Resources(cpu=2, memory="512Mi")
    assert agent.image_config == ImageConfig(python_version=(3, 12))
    assert agent.timeout == 120.0
    assert agent.secrets == (Secret(key="TOKEN"), Secret(key="A", as_env_var="B"))


@each(
    ("setting", "value"),
    [
        ("name", ""),
        ("model", "  "),
        ("model", 5),
        ("model", "huggingface/https://evil.example"),
        ("system_prompt", ""),
        ("api_key", "sk-abcdef1234567890"),
        ("api_key", "AIzaSyA1234567890"),
        ("api_key", "my key"),
        ("api_base", "localhost:8000"),
        ("api_base", ""),
        ("litellm_params", [1]),
        ("base_packages", "scipy"),
        ("base_packages", ["scipy @ https://x/y.whl"]),
        ("base_packages", ["../evil"]),
        ("resources", {"cpu": 0}),
        ("resources", {"memory": "much"}),
        ("resources", {"memroy": "1Gi"}),
        ("resources", 5),
        ("image_config", {"registry_secret": "user:password"}),
        ("max_iterations", 0),
        ("max_iterations", 1.5),
        ("max_iterations", True),
        ("max_sample_rows", -1),
        ("skip_tests", 1),
        ("sandbox_retries", -1),
        ("timeout", 0),
        ("timeout", float("nan")),
        ("timeout", "5"),
        ("env_vars", {"A": 1}),
        ("env_vars", {"A B": "1"}),
        ("env_vars", ["A"]),
        ("secrets", "TOKEN"),
        ("secrets", [1]),
        ("secrets", ["sk-abcdef"]),
        ("cache", "never"),
        ("backend", "gpt"),
        ("backend", "other"),
        ("agent_max_turns", 0),
        ("blind_tests", True),
        ("block_network", None),
        ("sandbox", "podman"),
        ("share", "all"),
        ("max_cost", 0),
        ("max_tokens", 0),
        ("max_seconds", -1),
        ("approved_packages", "x"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(setting: str, value: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        AutoCoderAgent(**{setting: value})
    assert setting in str(refused.value)


def test_a_key_in_the_place_of_its_name_is_explained_and_not_repeated() -> None:
    with pytest.raises(InvalidRequest, match="NAME of an environment variable") as refused:
        AutoCoderAgent(api_key="sk-abcdef1234567890")
    assert "abcdef" not in str(refused.value)


@pytest.mark.parametrize("setting", [{"agent_max_turns": 20}, {"blind_tests": "off"}])
def test_a_setting_of_the_other_backend_is_not_ignored_silently(setting: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match=f'{next(iter(setting))} has no effect with backend="litellm"'):
        AutoCoderAgent(**setting)


def test_an_unknown_setting_gets_a_suggestion() -> None:
    with pytest.raises(InvalidRequest, match="max_iterations"):
        agent_config(max_iteration=3)


def test_generate_gives_a_result_that_knows_its_samples_and_options(engine: StandInEngine, tmp_path: Path) -> None:
    sales = pd.DataFrame({"v": [1]})
    agent = AutoCoderAgent(timeout=7, env_vars={"A": "1"}, block_network=False)
    result = agent.generate("Growth of sales", samples={"sales": sales}, journal_root=tmp_path)
    sales["more"] = 1
    assert (result.name, result.state, result.success) == ("growth_of_sales", "ready", True)
    assert list(result.original_samples["sales"].columns) == ["v"]
    assert (result._options.timeout, result._options.network, result._options.env_vars) == (7, True, {"A": "1"})
    request, config, journal = engine.asked[0]
    assert config is agent
    assert journal.folder == tmp_path / "growth_of_sales"
    assert engine.consent is False
    assert engine.answers is None  # nobody is there
    assert request.prompt == "Growth of sales"


def test_the_questions_of_a_plan_are_answered_by_whoever_calls(engine: StandInEngine, tmp_path: Path) -> None:
    agent = AutoCoderAgent(ask=True)
    agent.generate("Growth.", journal_root=tmp_path, answer=lambda question: question.options[0])
    assert engine.answers == ("first",)


@pytest.mark.parametrize(
    ("finished", "state"), [(None, "failed"), ("failed", "failed"), ("over_budget", "over_budget")]
)
def test_a_failed_generation_is_a_result_and_not_an_exception(
    engine: StandInEngine, tmp_path: Path, finished: Any, state: str
) -> None:
    engine.success, engine.finished = False, finished
    result = AutoCoderAgent().generate("x", name="growth", journal_root=tmp_path)
    assert (result.success, result.state, result.error) == (False, state, "2 tests fail")


def test_what_keeps_a_generation_from_being_done_is_raised(engine: StandInEngine, tmp_path: Path) -> None:
    engine.error = AuthenticationFailed("No key.")
    with pytest.raises(AuthenticationFailed):
        AutoCoderAgent().generate("x", journal_root=tmp_path)


async def test_generate_can_be_awaited_or_called_where_a_loop_is_running(engine: StandInEngine, tmp_path: Path) -> None:
    assert (await AutoCoderAgent().generate.aio("x", journal_root=tmp_path)).success
    assert AutoCoderAgent().generate("x", journal_root=tmp_path).success


async def test_cancelling_the_await_stops_the_engine(engine: StandInEngine, tmp_path: Path) -> None:
    engine.go_on = threading.Event()
    task = asyncio.ensure_future(AutoCoderAgent().generate.aio("x", journal_root=tmp_path))
    await background.call_blocking(lambda: engine.running.wait(30))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await background.call_blocking(lambda: engine.killed.wait(30))


def test_nothing_of_the_caller_or_the_process_is_changed(engine: StandInEngine, tmp_path: Path) -> None:
    before = dict(os.environ)
    samples, inputs, outputs = {"sales": pd.DataFrame({"v": [1]})}, {"n": int}, {"total": float}
    constraints = ["never negative"]
    AutoCoderAgent().generate("x", None, constraints, samples, inputs, outputs, journal_root=tmp_path)
    assert (list(samples), inputs, outputs, constraints) == (
        ["sales"],
        {"n": int},
        {"total": float},
        ["never negative"],
    )
    assert dict(os.environ) == before


def test_types_are_given_as_classes_names_or_specs() -> None:
    request = build_request(
        "x",
        inputs={"a": int, "b": "DataFrame", "c": dt.datetime, "d": InputSpec(name="", type="str", required=False)},
        outputs={"summary.csv": File, "t": pd.DataFrame, "o": OutputSpec(name="", type="dict", meaning="facts")},
    )
    assert [(spec.name, spec.type) for spec in request.inputs] == [
        ("a", "int"),
        ("b", "DataFrame"),
        ("c", "datetime"),
        ("d", "str"),
    ]
    assert [(spec.name, spec.type) for spec in request.outputs] == [
        ("summary.csv", "File"),
        ("t", "DataFrame"),
        ("o", "dict"),
    ]
    assert request.inputs[3].required is False


def test_renames_are_kept_and_the_samples_have_the_names_that_the_function_reads() -> None:
    sales = pd.DataFrame({"unit_price": [1.0]})
    request = build_request("x", samples={"sales": sales}, renames={"price": "unit_price"})
    assert request.renames == {"price": "unit_price"} and list(request.samples["sales"].columns) == ["price"]
    assert list(sales.columns) == ["unit_price"]
    assert build_request("x", samples={"sales": sales}).renames == {}


def test_files_and_folders_and_series_are_samples(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    samples = {"s": pd.Series([1]), "f": File(tmp_path / "x"), "d": Dir(tmp_path)}
    assert list(build_request("x", samples=samples).samples) == ["s", "f", "d"]


@each(
    ("arguments", "said"),
    [
        ({"prompt": " "}, "prompt"),
        ({"renames": "price=unit_price"}, "renames must be a dict"),
        ({"renames": {"price": 7}}, "renames must be a dict"),
        ({"renames": {"price": "unit_price"}}, "no column 'unit_price' to be read as 'price'"),
        ({"prompt": 5}, "prompt"),
        ({"prompt": "half \ud800 of a character"}, "invalid Unicode"),
        ({"samples": {"sales": File("nowhere.csv")}}, "samples: sales: nowhere.csv does not exist"),
        ({"inputs": {"a": InputSpec(name="a", type="date", required=False, default="x")}}, "the default of a, 'x'"),
        ({"inputs": {"a": InputSpec(name="a", type="int", required=False, default="5")}}, "the default of a, '5'"),
        ({"samples": {"sales": "sales.csv"}}, r"samples: sales.*\n.*\n.*File\('sales.csv'\)"),
        ({"samples": {"sales": [1]}}, "samples: sales"),
        ({"samples": {"my sales": pd.DataFrame()}}, "my sales"),
        ({"samples": {"../evil": pd.DataFrame()}}, "evil"),
        ({"samples": pd.DataFrame()}, "samples must be a dict"),
        ({"inputs": {"class": int}}, "keyword"),
        ({"inputs": {"a-b": int}}, "a-b"),
        ({"inputs": {"a": complex}}, "a cannot be a complex"),
        ({"inputs": {"a": "DataFrme"}}, "Did you mean DataFrame"),
        ({"inputs": {"a": "Figure"}}, "inputs: a cannot be a Figure"),
        ({"inputs": ["a"]}, "inputs must be a dict"),
        ({"outputs": {"../x": int}}, "outputs"),
        ({"outputs": {"": int}}, "outputs"),
        ({"outputs": {"a.b": int, "a_b": int}}, "field a_b"),
        ({"constraints": "never negative"}, "constraints must be a list"),
        ({"constraints": [""]}, "constraints"),
        ({"checks": ["x >"]}, "checks"),
        ({"checks": ["x = 1"]}, "checks"),
        ({"schema": ""}, "schema"),
    ],
)
def test_an_argument_that_cannot_be_understood_is_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        build_request(**{"prompt": "x", **arguments})


def test_the_name_comes_from_the_prompt_when_it_is_not_given() -> None:
    assert folder_name("growth") == "growth"
    assert folder_name("Monthly revenue growth from @sales, one row") == "monthly_revenue_growth_from_sales"
    assert folder_name("2024: what?") == "request_2024_what"
    assert folder_name("../../etc/passwd") == "etc_passwd"
    assert folder_name("!!!") == "request"


def test_the_journal_is_beside_the_notebook_when_it_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert journal_root() == tmp_path / ".autocode"
    (tmp_path / "nb").mkdir()
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "nb" / "a.ipynb"))
    assert journal_root() == tmp_path / "nb" / ".autocode"
    monkeypatch.setenv("JPY_SESSION_NAME", "nb/a.ipynb")
    assert journal_root() == tmp_path / ".autocode"


def test_a_mistyped_package_is_refused_as_soon_as_it_is_named() -> None:
    with pytest.raises(InvalidRequest, match="Did you mean 'requests'"):
        AutoCoderAgent(base_packages=["tabulate", "requets"])
    assert AutoCoderAgent(base_packages=["requets==1.0"]).base_packages == ("requets==1.0",)


def test_examples_and_own_tests_are_taken_as_they_are_now() -> None:
    few, best = pd.DataFrame({"v": [1.0]}), [1, [2]]
    source = "def test_x():\n    assert total(pd.DataFrame()) == 0"
    examples = [({"sales": few}, 14.0), ({}, {"total": 1.0, "best": best})]
    request = build_request("The total", name="total", own_tests=source, examples=examples)
    few.loc[0, "v"] = 9.0
    best.append(3)
    first, second = request.examples
    assert request.own_tests == source and first.expected == (("", 14.0),) and first.given[0][1]["v"].tolist() == [1.0]
    assert second.given == () and second.expected == (("total", 1.0), ("best", [1, [2]]))


@each(
    ("arguments", "words"),
    [
        ({"examples": [3]}, "examples must be pairs"),
        ({"examples": [({}, object())]}, "output of example 1 cannot be compared by value"),
        ({"own_tests": "x = 1"}, "The tests of x contain no test function"),
        ({"own_tests": "def test_x(): assert x(sales)"}, "use sales, which they do not define"),
    ],
)
def test_examples_and_own_tests_that_cannot_be_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        build_request("x", name="x", **arguments)


def test_a_mark_of_another_user_makes_no_root_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "shared" / "work"
    work.mkdir(parents=True)
    (tmp_path / "shared" / ".git").mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr("autocoder_jupyter.agent.place._owner", lambda path: 4711 if path.name == ".git" else None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    assert all(place.parent != tmp_path / "shared" for place in places())
    monkeypatch.setattr("autocoder_jupyter.agent.place._owner", lambda path: 1000 if path.exists() else None)
    assert any(place.parent == tmp_path / "shared" for place in places())


@pytest.mark.parametrize("name", ["__builtins__", "__name__"])
def test_a_name_of_pythons_own_is_no_input(name: str) -> None:
    request = build_request("Sum.", "total", samples={name: pd.DataFrame({"a": [1]})})
    with pytest.raises(InvalidRequest, match=f"'{name}' cannot be the name of an input"):
        prepare(request, AgentConfig())


def test_a_name_that_the_package_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'autocoder_jupyter' has no attribute 'AutoCoder'"):
        autocoder_jupyter.AutoCoder  # noqa: B018
    assert not hasattr(autocoder_jupyter, "__wrapped__")
