"""Scripts that come from Flyte: their types are taken, and their tasks run in Flyte's local mode.

Each task has the calls of the documentation of Flyte's code-generation plugin, imported from here.
"""

from __future__ import annotations

import asyncio
import json
import runpy
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import AutoCoderAgent, File, ImageConfig, Resources, Secret
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types.of_flyte import all_fetched
from tests.cases import each
from tests.first_answers import joined
from tests.scripted_model import ScriptedModel


def test_records_of_flyte_are_ours() -> None:
    import flyte
    import flyte.sandbox

    given: dict[str, Any] = {
        "resources": flyte.Resources(cpu="500m", memory=("1Gi", "2Gi")),
        "secrets": [flyte.Secret(key="openai-key", as_env_var="OPENAI_API_KEY")],
        "image_config": flyte.sandbox.ImageConfig(registry="example.org/x", python_version=(3, 12)),
        "cache": flyte.Cache("disable"),
    }
    agent = AutoCoderAgent(model="openai/x", **given)
    assert agent.resources == Resources(cpu=0.5, memory="2Gi")
    assert agent.secrets == (Secret(key="OPENAI_API_KEY", as_env_var="OPENAI_API_KEY"),)
    assert agent.image_config == ImageConfig(registry="example.org/x", python_version=(3, 12))
    assert agent.cache == "disable"


def test_a_secret_that_is_in_the_environment_under_its_key_is_read_there(monkeypatch: pytest.MonkeyPatch) -> None:
    import flyte

    monkeypatch.setenv("token", "x")
    given: list[Any] = [flyte.Secret("token")]
    assert AutoCoderAgent(model="openai/x", secrets=given).secrets == (Secret(key="token", as_env_var="TOKEN"),)


def test_a_secret_of_a_registry_is_a_variable_like_other_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    from flyte.sandbox import ImageConfig as OfFlyte

    def variable(key: str) -> str | None:
        given: Any = OfFlyte(registry_secret=key)
        return AutoCoderAgent(model="openai/x", image_config=given).image_config.registry_secret

    assert variable("registry-creds") == "REGISTRY_CREDS"
    monkeypatch.setenv("creds", "user:password")
    assert variable("creds") == "creds"


@pytest.mark.parametrize("parameter", ["secrets", "image_config"])
def test_a_key_in_a_record_of_flyte_is_refused_and_not_shown(parameter: str) -> None:
    import flyte
    import flyte.sandbox

    made: dict[str, Any] = {
        "secrets": [flyte.Secret("sk-abcdefgh", as_env_var="TOKEN")],
        "image_config": flyte.sandbox.ImageConfig(registry_secret="sk-abcdefgh"),
    }
    with pytest.raises(InvalidRequest, match="takes the NAME of an environment variable") as refused:
        AutoCoderAgent(model="openai/x", **{parameter: made[parameter]})
    assert "abcdefgh" not in str(refused.value).lower()


@each(
    ("parameter", "make", "said"),
    [
        ("resources", lambda flyte: flyte.Resources(cpu=1, gpu=1), "gpu of a flyte.Resources has no meaning"),
        ("resources", lambda flyte: flyte.Resources(disk="10Gi"), "disk of a flyte.Resources"),
        ("resources", lambda flyte: flyte.Cache("auto"), "resources must be a Resources or a dict"),
        ("secrets", lambda flyte: [flyte.Secret("k", group="g")], "group of a flyte.Secret"),
        ("cache", lambda flyte: flyte.Cache("override", version_override="1"), "version_override of a flyte.Cache"),
        ("image_config", lambda flyte: flyte.Resources(cpu=1), "image_config must be a ImageConfig or a dict"),
    ],
)
def test_what_a_sandbox_does_not_have_is_refused(parameter: str, make: Callable[[Any], Any], said: str) -> None:
    import flyte

    given: Any = {parameter: make(flyte)}
    with pytest.raises(InvalidRequest, match=said):
        AutoCoderAgent(model="openai/x", **given)


def plan(inputs: dict[str, str], outputs: dict[str, str]) -> str:
    return json.dumps(
        {
            "description": "Sums of sales.",
            "approach": "sums",
            "inputs": [{"name": name, "type": kind} for name, kind in inputs.items()],
            "outputs": [{"name": name, "type": kind, "meaning": name} for name, kind in outputs.items()],
            "assumptions": [],
        }
    )


def scripted(planned: str, code: str, tests: str) -> Callable[[Any], str]:
    def answer(request: Any) -> str:
        asked = json.dumps(request)
        if "You write the tests of one Python function" in asked:
            return f"```python\n{tests}\n```"
        return joined(planned, f"```python\n{code}\n```")

    return answer


SUMS = """
import pandas as pd


def run(sales, least: float):
    table = pd.read_csv(sales)
    table = table[table["price"] >= least]
    return float((table["units"] * table["price"]).sum()), len(table)
"""
TESTS_OF_SUMS = '''
from solution import run


def test_sums(tmp_path):
    """Revenue is units times price."""
    (tmp_path / "x.csv").write_text("units,price\\n2,3.0\\n1,1.0\\n")
    assert run(sales=tmp_path / "x.csv", least=0.0) == (7.0, 2)
'''


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Answers as the service that the environment names, so that a script needs no address."""
    import flyte

    monkeypatch.setenv("DO_NOT_TRACK", "1")
    monkeypatch.chdir(tmp_path)
    produced: list[str] = []
    with ScriptedModel(lambda request: scripted(*produced)(request)) as served:
        monkeypatch.setenv("OPENAI_API_BASE", served.url)
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
        flyte.init()
        yield lambda *script: produced.extend(script)


def outputs_of(script: str, name: str, folder: Path, **inputs: Any) -> tuple[Any, ...]:
    """What a task of a script returns in Flyte's local mode."""
    import flyte

    path = folder / "script.py"
    path.write_text(script)
    task = runpy.run_path(str(path))[name]
    return tuple(flyte.with_runcontext(mode="local").run(task, **inputs).outputs())


SCRIPT = """
import flyte
from flyte.io import File
from flyte.sandbox import sandbox_environment

from autocoder_jupyter import AutoCoderAgent

agent = AutoCoderAgent(model="gpt-4.1", name="sums-of-sales", resources=flyte.Resources(cpu=1, memory="1Gi"))
env = flyte.TaskEnvironment(
    name="coming",
    secrets=[flyte.Secret(key="openai_key", as_env_var="OPENAI_API_KEY")],
    image=flyte.Image.from_debian_base().with_pip_packages("autocoder-jupyter"),
    depends_on=[sandbox_environment],
)
request = {
    "prompt": "Read the CSV and compute the revenue and the number of rows.",
    "inputs": {"sales": File, "least": float},
    "outputs": {"revenue": float, "rows": int},
}


@env.task
def sums_sync(csv_file: File) -> tuple[float, int]:
    result = agent.generate(samples={"sales": csv_file}, **request)
    resources = flyte.Resources(cpu=2, memory="4Gi")
    return result.run(
        sales=csv_file, least=0.0, name="on-data", resources=resources, retries=2, timeout=600, cache="auto"
    )
"""


@pytest.mark.local_sandbox
def test_a_task_that_does_not_await(model: Callable[..., None], tmp_path: Path) -> None:
    from flyte.io import File as FlyteFile

    model(plan({"sales": "File", "least": "float"}, {"revenue": "float", "rows": "int"}), SUMS, TESTS_OF_SUMS)
    (tmp_path / "sales.csv").write_text("units,price\n2,10.0\n3,1.5\n")
    sales = FlyteFile(path=str(tmp_path / "sales.csv"))
    assert outputs_of(SCRIPT, "sums_sync", tmp_path, csv_file=sales) == (24.5, 2)


TOTAL = "def run(table):\n    return float(table['v'].sum())"
TESTS_OF_TOTAL = '''
import pandas as pd
from solution import run


def test_total():
    """The sum of v."""
    assert run(table=pd.DataFrame({"v": [1.0, 2.0]})) == 3.0
'''


@pytest.mark.local_sandbox
def test_a_file_is_taken_where_a_frame_was_the_sample(model: Callable[..., None], tmp_path: Path) -> None:
    model(plan({"table": "DataFrame"}, {"total": "float"}), TOTAL, TESTS_OF_TOTAL)
    import flyte.io

    frame = flyte.io.DataFrame.from_df(pd.DataFrame({"v": [1.0, 2.5]}))
    result = AutoCoderAgent(model="gpt-4.1", second_opinion="off").generate(
        "The sum of v", samples={"table": frame}, outputs={"total": float}, name="total"
    )
    (tmp_path / "more.csv").write_text("v\n4.0\n")
    there = flyte.io.File(path=str(tmp_path / "more.csv"))
    assert [result.run(), result.run(there), result.run(File(there.path))] == [3.5, 4.0, 4.0]
    found = result.map([there, frame, flyte.io.File(path="nosuch://x/y.csv")], workers=1)
    assert (list(found[:2]), len(found.errors)) == ([4.0, 3.5], 1)
    given = flyte.io.DataFrame.from_df(pd.DataFrame({"v": [7.0]}))
    assert (result.verify(table=given).state, result.run()) == ("ready", 7.0)
    with pytest.raises(InvalidRequest, match="Flyte could not fetch the File"):
        result.verify(table=flyte.io.File(path="nosuch://x/y.csv"))


@pytest.mark.local_sandbox
def test_examples_of_a_request_take_data_of_flyte(model: Callable[..., None], tmp_path: Path) -> None:
    import flyte.io

    twice = "def run(table):\n    return table.assign(v=table['v'] * 2)"
    tests = TESTS_OF_TOTAL.replace("The sum of v", "Each v twice").replace(
        'run(table=pd.DataFrame({"v": [1.0, 2.0]})) == 3.0',
        'list(run(table=pd.DataFrame({"v": [1.0, 2.0]}))["v"]) == [2.0, 4.0]',
    )
    model(plan({"table": "DataFrame"}, {"twice": "DataFrame"}), twice, tests)
    few, doubled = (flyte.io.DataFrame.from_df(pd.DataFrame({"v": [number]})) for number in (1.0, 2.0))
    agent = AutoCoderAgent(model="gpt-4.1", second_opinion="off", max_iterations=1)
    result = agent.generate(
        "Twice v",
        samples={"table": pd.DataFrame({"v": [7.0]})},
        outputs={"twice": "DataFrame"},
        examples=[({"table": few}, doubled), ({"table": few}, {"twice": doubled})],
        name="twice",
    )
    assert result.success, result.error
    checked = [check for check in result.report.evidence.conditions if "example" in check.name]
    assert len(checked) == 2 and all(check.passed for check in checked)
    with pytest.raises(InvalidRequest, match="Flyte could not fetch the File"):
        agent.generate("x", examples=[({"table": flyte.io.File(path="nosuch://x/y.csv")}, 1.0)])
    wrong: Any = [(1, few), few]
    with pytest.raises(InvalidRequest, match="examples must be pairs"):
        agent.generate("x", examples=wrong)


@pytest.mark.parametrize("kind", ["File", "Dir"])
def test_what_flyte_cannot_fetch_is_refused_with_its_address(kind: str) -> None:
    import flyte.io

    given = getattr(flyte.io, kind)(path="/nowhere/sales.csv")
    with pytest.raises(InvalidRequest, match=r"/nowhere/sales\.csv does not exist"):
        AutoCoderAgent(model="openai/x", api_base="http://127.0.0.1:9").generate("x", samples={"sales": given})
    elsewhere = getattr(flyte.io, kind)(path="nosuch://bucket/sales.csv")
    with pytest.raises(InvalidRequest, match=rf"Flyte could not fetch the {kind} 'nosuch://bucket/sales.csv'"):
        AutoCoderAgent(model="openai/x", api_base="http://127.0.0.1:9").generate("x", samples={"sales": elsewhere})


class Slow:
    """A file of Flyte that does not come, because of what Flyte awaits or computes."""

    path = "s3://bucket/sales.csv"

    def __init__(self) -> None:
        self.blocks = threading.Event()
        self.begun = threading.Event()
        self.cancelled = threading.Event()

    async def download(self) -> str:
        self.begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            self.cancelled.set()
        return ""


class Blocking(Slow):
    async def download(self) -> str:
        self.blocks.wait()
        return ""


@pytest.mark.parametrize("kind", [Slow, Blocking])
async def test_a_file_that_does_not_come_ends_with_the_time_of_the_call(kind: type[Slow]) -> None:
    of_flyte = type("File", (kind,), {"__module__": "flyte.io"})
    file = of_flyte()
    with pytest.raises(InvalidRequest, match=r"did not fetch the arguments in 0\.1 s"):
        await all_fetched({"sales": file}, 0.1)
    assert not file.begun.is_set() or file.cancelled.wait(60), "the download goes on"
    file.blocks.set()


def test_outputs_that_are_no_dict_are_refused_in_words() -> None:
    given: Any = {"outputs": ["total"]}
    with pytest.raises(InvalidRequest, match="outputs must be a dict of types by name"):
        AutoCoderAgent(model="openai/x", api_base="http://127.0.0.1:9").generate("x", **given)
