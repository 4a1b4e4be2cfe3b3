"""The listings of the documentation of Flyte's code-generation plugin: only the import is another one.

The calls, the names and the values are those of the listings, the words of the prompts are our own. Tasks run in
Flyte's local mode, functions in the real local sandbox; only the model's answers are scripted.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import ImageConfig
from autocoder_jupyter.types import InputSpec
from tests.runner import fenced
from tests.scripted_model import ScriptedModel
from tests.test_coming_from_flyte import model, outputs_of, plan  # noqa: F401

IMPORTS = """
import flyte
import pandas as pd
from flyte.io import File
from flyte.sandbox import ImageConfig, sandbox_environment

from autocoder_jupyter import AutoCoderAgent
"""

Written = tuple[str, str, str]
"""What the model answers: a plan, the code and the tests."""


def written(inputs: dict[str, str], outputs: dict[str, str], body: str, given: str, values: str) -> Written:
    """The answers for a function with this body, and for a test of its values for some arguments."""
    code = f"from pathlib import Path\n\nimport pandas as pd\n\n\ndef run({', '.join(inputs)}):\n    {body}\n"
    tests = (
        "import pandas as pd\nfrom solution import run\n\n\ndef test_values(tmp_path):\n"
        f'    """The values are right."""\n    path = tmp_path / "x.csv"\n    {given}\n    assert {values}\n'
    )
    return plan(inputs, outputs), code, tests


def after(listing: str, **given: Any) -> dict[str, Any]:
    """The variables after a listing, which may await at its top level, as in a notebook."""
    scope = dict(given)
    exec(IMPORTS, scope)
    waits = eval(compile(listing, "listing", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), scope)
    if waits is not None:
        asyncio.run(waits)
    return scope


# Agents

AGENTS: list[tuple[str, dict[str, Any]]] = [
    ('model="gpt-4.1", base_packages=["pandas"]', {"base_packages": ("pandas",)}),
    ('model="gpt-4.1", name="summarize-sales"', {"name": "summarize-sales"}),
    ('name="my-agent", model="gpt-4.1"', {"name": "my-agent"}),
    ('name="my-task", model="gpt-4.1", max_iterations=10', {"max_iterations": 10}),
    ('name="my-task", model="claude-sonnet-4-5-20250929", backend="claude"', {"backend": "claude"}),
    (
        'name="my-task", model="anthropic/claude-sonnet-4-20250514", api_key="ANTHROPIC_API_KEY",'
        ' litellm_params={"temperature": 0.3, "max_tokens": 4000}',
        {"api_key": "ANTHROPIC_API_KEY", "litellm_params": {"temperature": 0.3, "max_tokens": 4000}},
    ),
    (
        'name="my-task", model="gpt-4.1", image_config=ImageConfig('
        'registry="my-registry.io", registry_secret="registry-creds", python_version=(3, 12))',
        {
            "image_config": ImageConfig(
                registry="my-registry.io", registry_secret="REGISTRY_CREDS", python_version=(3, 12)
            )
        },
    ),
    ('name="my-task", model="gpt-4.1", skip_tests=True', {"skip_tests": True}),
    ('name="my-task", model="gpt-4.1", base_packages=["numpy", "pandas"]', {"base_packages": ("numpy", "pandas")}),
]


@pytest.mark.parametrize(("arguments", "has"), AGENTS)
def test_an_agent_is_made(arguments: str, has: dict[str, Any]) -> None:
    agent = after(f"agent = AutoCoderAgent({arguments})")["agent"]
    assert {name: getattr(agent, name) for name in has} == has


# Tasks

ENVIRONMENT = """
env = flyte.TaskEnvironment(
    name="my-env",
    secrets=[flyte.Secret(key="openai_key", as_env_var="OPENAI_API_KEY")],
    image=flyte.Image.from_debian_base().with_pip_packages(
        "autocoder-jupyter",
    ),
    depends_on=[sandbox_environment],
)
"""

PROCESS_DATA = """
agent = AutoCoderAgent(model="gpt-4.1", name="summarize-sales", resources=flyte.Resources(cpu=1, memory="1Gi"))

@env.task
async def process_data(csv_file: File) -> tuple[float, int, int]:
    result = await agent.generate.aio(
        prompt="Sum up the sales.",
        samples={"sales": csv_file},
        outputs={"total_revenue": float, "total_units": int, "row_count": int},
    )
    return await result.run.aio()
"""

PROCESS_SALES = """
@env.task
async def process_sales(csv_file: File) -> dict[str, float | int]:
    result = await agent.generate.aio(
        prompt="Sum up the sales.",
        samples={"csv_data": csv_file},
        outputs={
            "total_revenue": float,
            "total_units": int,
            "transaction_count": int,
        },
    )

    if not result.success:
        raise RuntimeError(f"Code generation failed: {result.error}")

    total_revenue, total_units, transaction_count = await result.run.aio()

    return {
        "total_revenue": total_revenue,
        "total_units": total_units,
        "transaction_count": transaction_count,
    }
"""

PROCESSOR = """
agent = AutoCoderAgent(
    name="sales-processor",
    model="gpt-4.1",
    max_iterations=5,
    resources=flyte.Resources(cpu=1, memory="512Mi"),
    litellm_params={"temperature": 0.2, "max_tokens": 4096},
)
"""

CLAUDE = """
agent = AutoCoderAgent(
    name="sales-agent",
    backend="claude",
    model="claude-sonnet-4-5-20250929",
    resources=flyte.Resources(cpu=1, memory="512Mi"),
)
"""

SENSORS = """
agent = AutoCoderAgent(
    model="gpt-4.1",
    name="sensor-analysis",
    base_packages=["numpy"],
    max_sample_rows=30,
)

@env.task
async def analyze_sensors(sensor_df: pd.DataFrame) -> tuple[File, int]:
    result = await agent.generate.aio(
        prompt="Write the mean of each sensor to a CSV file, and count the warnings.",
        samples={"readings": sensor_df},
        constraints=[
            "temperature is between -40 and 60",
            "humidity is a percentage",
            "a row of the report for each sensor_id",
        ],
        outputs={
            "report": File,
            "total_anomalies": int,
        },
    )

    if not result.success:
        raise RuntimeError(f"Code generation failed: {result.error}")

    task = result.as_task(
        name="run-sensor-analysis",
        resources=flyte.Resources(cpu=1, memory="512Mi"),
    )

    return await task.aio(readings=result.original_samples["readings"])
"""

SALES = "units,price\n2,10.0\n3,1.5\n"


def of_sales(table: str, count: str, *least: str) -> Written:
    chosen = f"; t = t[t.price >= {least[0]}]" if least else ""
    called = ", ".join([f"{table}=path", *(f"{name}=0.0" for name in least)])
    return written(
        {table: "File", **dict.fromkeys(least, "float")},
        {"total_revenue": "float", "total_units": "int", count: "int"},
        f"t = pd.read_csv({table}){chosen}; return float((t.units * t.price).sum()), int(t.units.sum()), len(t)",
        'path.write_text("units,price\\n2,3.0\\n1,1.0\\n")',
        f"run({called}) == (7.0, 3, 2)",
    )


@pytest.fixture
def sales(tmp_path: Path) -> Any:
    from flyte.io import File

    (tmp_path / "sales.csv").write_text(SALES)
    return File(path=str(tmp_path / "sales.csv"))


SUMS = {"total_revenue": 24.5, "total_units": 5, "transaction_count": 2}


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("listing", "task", "script", "returned"),
    [
        (PROCESS_DATA, "process_data", of_sales("sales", "row_count"), (24.5, 5, 2)),
        (PROCESSOR + PROCESS_SALES, "process_sales", of_sales("csv_data", "transaction_count"), (SUMS,)),
    ],
    ids=["quick start", "sales-processor"],
)
def test_a_task_sums_sales(
    model: Callable[..., None],  # noqa: F811
    tmp_path: Path,
    sales: Any,
    listing: str,
    task: str,
    script: Written,
    returned: tuple[Any, ...],
) -> None:
    model(*script)
    assert outputs_of(IMPORTS + ENVIRONMENT + listing, task, tmp_path, csv_file=sales) == returned


@pytest.mark.local_sandbox
def test_a_task_sums_sales_with_the_agent_of_claude(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sales: Any
) -> None:
    pytest.importorskip("claude_agent_sdk")
    import flyte

    from tests.engines.claude.scripted_agent import calls, script, write

    planned, code, tests = of_sales("csv_data", "transaction_count")
    for name, value in {"DO_NOT_TRACK": "1", "ANTHROPIC_API_KEY": "not-a-key"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    both = calls(write("solution.py", code), write("tests.py", tests))
    with ScriptedModel(script([both, "Done."], plan=planned, tests=fenced(tests))) as served:
        monkeypatch.setenv("ANTHROPIC_API_BASE", served.root)
        flyte.init()
        found = outputs_of(IMPORTS + ENVIRONMENT + CLAUDE + PROCESS_SALES, "process_sales", tmp_path, csv_file=sales)
    assert found == (SUMS,)


READINGS = pd.DataFrame(
    {
        "sensor_id": ["a", "b", "a"],
        "temperature": [1.0, 5.0, 2.0],
        "humidity": [40, 50, 60],
        "warning": [True, True, False],
    }
)

OF_SENSORS = written(
    {"readings": "DataFrame"},
    {"report": "File", "total_anomalies": "int"},
    'path = Path("report.csv"); '
    'readings.groupby("sensor_id", as_index=False)["temperature"].mean().to_csv(path, index=False); '
    'return path, int(readings["warning"].sum())',
    't = pd.DataFrame({"sensor_id": ["a", "a"], "temperature": [1.0, 3.0], "warning": [True, False]})',
    '(pd.read_csv(run(readings=t)[0])["temperature"].tolist(), run(readings=t)[1]) == ([2.0], 1)',
)


@pytest.mark.local_sandbox
def test_a_task_analyses_sensors(model: Callable[..., None], tmp_path: Path) -> None:  # noqa: F811
    from flyte.io import File

    model(*OF_SENSORS)
    report, warnings = outputs_of(IMPORTS + ENVIRONMENT + SENSORS, "analyze_sensors", tmp_path, sensor_df=READINGS)
    assert isinstance(report, File) and warnings == 2
    assert pd.read_csv(report.path)["temperature"].tolist() == [1.5, 5.0]


# Calls


@dataclass(frozen=True)
class Listing:
    """A listing without a task.

    Args:
        code: what is written.
        script: the answers of the model.
        files: the texts of the files that it has as variables.
        variables: its other variables.
        gives: the values of variables after it.
        agent: arguments of its agent.
    """

    code: str
    script: Written
    files: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    gives: dict[str, Any] = field(default_factory=dict)
    agent: str = 'model="gpt-4.1"'


ORDERS = pd.DataFrame({"product": ["p", "q", "q"], "quantity": [1, 2, 2], "price": [1.0, 2.0, 2.0]})
TRANSACTIONS = "amount,pending\n5.0,False\n20.0,True\n30.0,False\n"

LISTINGS = {
    "a prompt": Listing(
        'result = agent.generate(prompt="...")\nagain = await agent.generate.aio(prompt="...")\nvalue = again.run()',
        written({}, {"answer": "int"}, "return 42", "", "run() == 42"),
        gives={"value": 42},
        agent='name="my-agent", model="gpt-4.1"',
    ),
    "a file": Listing(
        """
result = await agent.generate.aio(
    prompt="...",
    samples={"input": my_file},
    outputs={"result": str},
)
value = result.run()
""",
        written(
            {"input": "File"},
            {"result": "str"},
            "return input.read_text().upper()",
            'path.write_text("b")',
            'run(input=path) == "B"',
        ),
        files={"my_file": "abc"},
        gives={"value": "ABC"},
        agent='name="my-task", model="gpt-4.1", max_iterations=10',
    ),
    "sales data": Listing(
        """
result = await agent.generate.aio(
    prompt="How do the sales grow?",
    samples={"sales_data": sales_file},
    outputs={"growth_rate": float}
)
final_output = await result.run.aio(
    sales_data=prod_file
)
processing_task = result.as_task(
    name="prod_sales_processor",
    resources=flyte.Resources(cpu=2, memory="4Gi")
)
output = await processing_task.aio(sales_data=prod_file)
""",
        written(
            {"sales_data": "File"},
            {"growth_rate": "float"},
            "t = pd.read_csv(sales_data); return float(t.units.iloc[-1] / t.units.iloc[0] - 1)",
            'path.write_text("units\\n2\\n3\\n")',
            "run(sales_data=path) == 0.5",
        ),
        files={"sales_file": SALES, "prod_file": "units\n2\n6\n"},
        gives={"final_output": 2.0, "output": 2.0},
        agent='model="gpt-4.1", base_packages=["pandas"]',
    ),
    "orders and products": Listing(
        """
result = await agent.generate.aio(
    prompt="Leave out what comes twice.",
    samples={"orders": orders_df, "products": products_file},
    constraints=["quantity must be positive", "price between 0 and 10000"],
    outputs={"cleaned_orders": File},
)
schemas = sorted(result.generated_schemas)
value = pd.read_csv((await result.run.aio()).path)["quantity"].tolist()
""",
        written(
            {"orders": "DataFrame", "products": "File"},
            {"cleaned_orders": "File"},
            'path = Path("cleaned.csv"); orders.drop_duplicates().to_csv(path, index=False); return path',
            'path.write_text("product\\np\\n"); t = pd.DataFrame({"quantity": [1, 1], "price": [2.0, 2.0]})',
            "len(pd.read_csv(run(orders=t, products=path))) == 1",
        ),
        files={"products_file": "product\np\nq\n"},
        variables={"orders_df": ORDERS},
        gives={"value": [1, 2], "schemas": ["orders"]},
    ),
    "a schema": Listing(
        """
result = await agent.generate.aio(
    prompt=prompt,
    samples={"readings": sensor_df},
    schema='''The list in report_json:
    {
        "sensor_id": str,
        "avg_temp": float,
    }
    ''',
    constraints=[
        "temperature is between -40 and 60",
        "a dict in report_json for each sensor_id",
    ],
    outputs={
        "report_json": str,
        "total_anomalies": int,
    },
)
report, total_anomalies = result.run()
""",
        written(
            {"readings": "DataFrame"},
            {"report_json": "str", "total_anomalies": "int"},
            'm = readings.groupby("sensor_id", as_index=False)["temperature"].mean().round(1);'
            ' m = m.rename(columns={"temperature": "avg_temp"});'
            ' return m.to_json(orient="records"), int(readings.warning.sum())',
            't = pd.DataFrame({"sensor_id": ["a"], "temperature": [1.0], "warning": [True]})',
            """run(readings=t) == ('[{"sensor_id":"a","avg_temp":1.0}]', 1)""",
        ),
        variables={"sensor_df": READINGS, "prompt": "The mean of each sensor, and the warnings."},
        gives={
            "report": '[{"sensor_id":"a","avg_temp":1.5},{"sensor_id":"b","avg_temp":5.0}]',
            "total_anomalies": 2,
        },
    ),
    "transactions": Listing(
        """
result = await agent.generate.aio(
    prompt="The transactions above the threshold",
    samples={"transactions": tx_file},
    inputs={"threshold": float, "include_pending": bool},
    outputs={"filtered": File, "count": int},
)
filtered, count = result.run(threshold=10.0, include_pending=False)
is_of_flyte = isinstance(filtered, File)
""",
        written(
            {"transactions": "File", "threshold": "float", "include_pending": "bool"},
            {"filtered": "File", "count": "int"},
            "t = pd.read_csv(transactions); t = t[(t.amount > threshold) & (include_pending | ~t.pending)];"
            ' path = Path("filtered.csv"); t.to_csv(path, index=False); return path, len(t)',
            'path.write_text("amount,pending\\n2.0,True\\n3.0,False\\n")',
            "run(transactions=path, threshold=1.0, include_pending=True)[1] == 2",
        ),
        files={"tx_file": TRANSACTIONS},
        gives={"count": 1, "is_of_flyte": True},
    ),
    "no tests": Listing(
        """
result = await agent.generate.aio(
    prompt="Count the errors",
    samples={"logs": log_file},
    outputs={"error_count": int},
)
error_count = await result.run.aio()
""",
        written({"logs": "File"}, {"error_count": "int"}, 'return logs.read_text().count("error")', "", "False"),
        files={"log_file": '{"level": "error"}\n{"level": "info"}\n'},
        gives={"error_count": 1},
        agent='name="my-task", model="gpt-4.1", skip_tests=True',
    ),
    "calls": Listing(
        """
result = agent.generate(
    prompt="Sum up the sales.",
    samples={"sales_csv": my_file},
    inputs={"threshold": InputSpec(name="threshold", type="float", required=False, default=0.0)},
    outputs={"total_revenue": float, "total_units": int, "transaction_count": int},
)
total_revenue, total_units, transaction_count = result.run()
found = [total_revenue]
total_revenue, total_units, transaction_count = await result.run.aio()
found += [total_revenue]
total_revenue, total_units, transaction_count = result.run(threshold=5.0)
found += [total_revenue]
total_revenue, total_units, count = await result.run.aio(threshold=5.0)
found += [total_revenue]
total_revenue, total_units, count = await result.run.aio(
    name="execute-on-data",
    resources=flyte.Resources(cpu=2, memory="4Gi"),
    retries=2,
    timeout=600,
    cache="auto",
)
found += [total_revenue]
task = result.as_task(name="run-on-data")
total_revenue, total_units, transaction_count = task(sales_csv=my_file)
found += [total_revenue]
total_revenue, total_units, transaction_count = task(threshold=5.0)
found += [total_revenue]
task = result.as_task(
    name="run-on-data",
    retries=3,
    timeout=600,
    env_vars={"API_URL": "https://..."},
)
total_revenue, total_units, transaction_count = await task.aio()
found += [total_revenue]
total_revenue, total_units, transaction_count = await task.aio(sales_csv=new_data_file)
found += [total_revenue]
""",
        of_sales("sales_csv", "transaction_count", "threshold"),
        files={"my_file": SALES, "new_data_file": "units,price\n1,9.0\n"},
        gives={"found": [24.5, 24.5, 20.0, 20.0, 24.5, 24.5, 20.0, 24.5, 9.0]},
    ),
}


@pytest.mark.local_sandbox
@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_without_a_task(model: Callable[..., None], tmp_path: Path, name: str) -> None:  # noqa: F811
    from flyte.io import File

    listing = LISTINGS[name]
    model(*listing.script)
    given: dict[str, Any] = {"InputSpec": InputSpec, **listing.variables}
    for variable, text in listing.files.items():
        (tmp_path / f"{variable}.csv").write_text(text)
        given[variable] = File(path=str(tmp_path / f"{variable}.csv"))
    found = after(f"agent = AutoCoderAgent({listing.agent})\n{listing.code}", **given)
    assert found["result"].success, found["result"].error
    assert {variable: found[variable] for variable in listing.gives} == listing.gives
