"""The examples of the README and of the how-to pages that ask a model, executed in their order in a kernel."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.trust.shipped import NAMES
from tests.benchmarks.trust.tasks import FAMILIES
from tests.browser import scripts
from tests.browser.agent_scripts import call
from tests.conftest import LendKernel
from tests.evaluate.test_trial import REVENUE, STREAK, answers_of
from tests.first_answers import joined
from tests.magics.kernel import Kernel
from tests.magics.test_real_kernel import answered_by, environment
from tests.pages import PAGES, examples
from tests.runner import said
from tests.sandbox.sandboxes import open_sandbox
from tests.scripted_model import Answer, ScriptedModel, in_order, prompt_of

pytestmark = [pytest.mark.slow, pytest.mark.local_sandbox]

Say = Callable[[dict[str, Any]], "str | Answer"]
LOAD = "%load_ext autocoder_jupyter"


@contextmanager
def kernel_of(lend_kernel: LendKernel, say: Say) -> Iterator[tuple[Kernel, ScriptedModel]]:
    """A kernel whose models, hosted and local, are all this one."""
    open_sandbox("local")
    keys = {"ANTHROPIC_API_KEY": "a-key", "OPENAI_API_KEY": "a-key"}
    with (
        ScriptedModel(say) as model,
        lend_kernel({**environment(model), **keys, "ANTHROPIC_API_BASE": model.root}) as kernel,
    ):
        ran(kernel, LOAD)
        yield kernel, model
        assert model.unforeseen == [], prompt_of(model.unforeseen[0])


def ran(kernel: Kernel, *cells: str) -> None:
    for cell in cells:
        answered = kernel.run(cell)
        assert answered.status == "ok", f"{cell}\n{answered.error}\n{answered.text}"


def texts(page: Sequence[tuple[str, str]]) -> list[str]:
    return [text for _, text in page]


FIVE_ORDERS = scripts.MODULE.replace(", min_orders: int = 5", "").replace(">= min_orders", ">= 5")
TESTS_OF_FIVE_ORDERS = '''import pandas as pd
from solution import run


def test_months_with_few_orders_are_skipped():
    """skip months with fewer than 5 orders"""
    days = pd.to_datetime(["2024-01-01"] * 5 + ["2024-02-01"] * 4 + ["2024-03-01"] * 5)
    monthly, best = run(sales=pd.DataFrame({"order_date": days, "revenue": [1.0] * 9 + [2.0] * 5}))
    assert list(monthly["orders"]) == [5, 5] and best == "2024-03"
'''


def test_of_the_readme(lend_kernel: LendKernel) -> None:
    first, cell, use = texts(examples("README.md"))
    code = joined(scripts.PLAN, FIVE_ORDERS)
    say = said({"fewer than 5 orders": (code, TESTS_OF_FIVE_ORDERS)}, scripts.answer)
    with kernel_of(lend_kernel, say) as (kernel, model):
        ran(kernel, scripts.DATA, first, "%autocode setup check")
        ran(kernel, f"%config Autocode.api_base = {model.root!r}", cell, "sales_2025 = sales.head(500)", use)
        assert kernel.printed("growth.state, len(monthly), best_month[:5]") == "ready 12 2024-"
        assert {request["model"] for request in model.requests} == {"claude-sonnet-4-5"}


ONE_TABLE = scripts.MODULE.replace("tuple[pd.DataFrame, str]", "pd.DataFrame").split("    if monthly")[0]
OF_THE_GUIDE = f'''"""Revenue a month and its growth.

Outputs:
- monthly (DataFrame): one row a month, oldest first
Parameters:
- min_orders (int = 5): months with fewer orders are skipped
"""
{ONE_TABLE}    return monthly
'''
TESTS_OF_THE_GUIDE = '''import pandas as pd
from solution import run


def test_months_with_few_orders_are_skipped():
    """skip months with fewer than min_orders orders"""
    days = pd.to_datetime(["2024-01-01", "2024-02-01", "2024-02-02"])
    monthly = run(sales=pd.DataFrame({"order_date": days, "revenue": [1.0, 2.0, 3.0]}), min_orders=2)
    assert list(monthly["orders"]) == [2]
'''
EXAMPLE = """\
few = sales.assign(order_date=pd.Timestamp("2024-03-01"), revenue=2.0).head(6)
expected = pd.DataFrame(
    {"month": pd.to_datetime(["2024-03-01"]).astype("datetime64[ns]"), "revenue": [12.0], "orders": [6],
     "growth": [float("nan")]}
)
sales.to_parquet("sales.parquet", index=False)
sales.assign(units=1).to_csv("sales.csv", index=False)
import polars as pl
"""
WHY = '''"""What March was.

Outputs:
- answer (str): a sentence
- evidence (DataFrame): revenue by month
"""
import pandas as pd
from helpers import growth


def run(sales: pd.DataFrame, monthly: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    found = growth(sales)[["month", "revenue"]]
    march = found[found["month"].dt.month == 3]["revenue"].sum()
    return f"March had a revenue of {march:.2f}.", found
'''
TESTS_OF_WHY = '''import pandas as pd
from solution import run


def test_march_is_named():
    """Why did March fall?"""
    days = pd.to_datetime(["2024-03-01"] * 5)
    sales = pd.DataFrame({"order_date": days, "region": "North", "revenue": [1.0] * 5})
    answer, evidence = run(sales=sales, monthly=pd.DataFrame({"month": days[:1], "revenue": [5.0]}))
    assert answer == "March had a revenue of 5.00." and len(evidence) == 1
'''
OF_A_FILE = '''"""Totals of a file.

Outputs:
- total_revenue (float): the sum
- total_units (int): the sum
- row_count (int): the number of rows
"""
from pathlib import Path

import pandas as pd


def run(sales: Path) -> tuple[float, int, int]:
    table = pd.read_csv(sales)
    return float(table["revenue"].sum()), int(table["units"].sum()), len(table)
'''
TESTS_OF_A_FILE = '''from solution import run


def test_totals(tmp_path):
    """Total revenue, units and row count."""
    path = tmp_path / "sales.csv"
    path.write_text("revenue,units\\n1.5,2\\n2.5,3\\n")
    assert run(sales=path) == (4.0, 5, 2)
'''


def test_of_the_guide(lend_kernel: LendKernel, tmp_path: Path) -> None:
    cell, use, script = texts(examples("guide.md"))
    say = said(
        {
            "Why did March fall?": (WHY, TESTS_OF_WHY),
            "Total revenue, units and row count.": (OF_A_FILE, TESTS_OF_A_FILE),
            "skip months with fewer than": (OF_THE_GUIDE, TESTS_OF_THE_GUIDE),
        },
        scripts.answer,
    )
    with kernel_of(lend_kernel, say) as (kernel, _):
        ran(kernel, scripts.DATA, EXAMPLE, cell, use)
        why = kernel.printed("growth_why_did_march_fall.wait().state, growth_why_did_march_fall.run().answer")
        assert why.startswith("ready March had a revenue of ")
        assert (tmp_path / "growth.py").exists()
        ran(kernel, script)
        assert kernel.printed("result.success, total_units, row_count") == "True 2000 2000"


def test_of_the_page_about_models(lend_kernel: LendKernel) -> None:
    blocks = texts(examples("models.md"))
    known = {task.name: task for tasks in FAMILIES.values() for task in tasks}
    say = answers_of([(known[name], known[name].right) for name in NAMES])
    with kernel_of(lend_kernel, say) as (kernel, model):
        for block in blocks:
            if block.startswith("%autocode models try"):
                settings = ("model", "api_key", "litellm_params", "max_seconds", "max_tokens")
                ran(kernel, *(f"%config Autocode.{name} = None" for name in settings))
                ran(kernel, f"%config Autocode.api_base = {model.url!r}")
                answered = kernel.run(block)
                assert answered.status == "ok", answered.error
                assert "12 of 12" in str(answered.displays) + answered.text
                continue
            if "write_task(" in block:
                ran(kernel, "import pandas as pd\njanuary = february = pd.DataFrame({'paid': [True], 'amount': [5.0]})")
            ran(kernel, block)
        assert kernel.printed("next(Path('my_tasks').iterdir()).name") == "net revenue"


def test_of_the_page_about_house_rules(lend_kernel: LendKernel, tmp_path: Path) -> None:
    from autocoder_jupyter.agent.rules import TASKS
    from autocoder_jupyter.evaluate.trial import write_task

    trust, test = texts(examples("house-rules.md"))
    (written,) = re.findall(r"^```markdown\n(.*?)^```$", PAGES["house-rules.md"], re.MULTILINE | re.DOTALL)
    (tmp_path / "autocode.md").write_text(written, "utf-8")
    for task in (REVENUE, STREAK):
        write_task(tmp_path / TASKS, task.known())
    say = answers_of([(REVENUE, REVENUE.right), (STREAK, STREAK.right)])
    with kernel_of(lend_kernel, say) as (kernel, model):
        _, agreed = answered_by(kernel, trust, "yes")
        assert agreed.status == "ok", agreed.error
        _, tested = answered_by(kernel, test, "400000")
        assert tested.status == "ok", tested.error
        assert "2 of 2 answers right" in str(tested.displays) + tested.text
        sent = [prompt_of(request) for request in model.requests]
        assert any("Revenue is net of returns" in text for text in sent)


SHOP = """\
import sqlite3
import pandas as pd
shop = sqlite3.connect("shop.sqlite")
shop.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, region TEXT)")
shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id), price REAL)")
shop.executemany("INSERT INTO customers VALUES (?, ?)", [(1, "a"), (2, "b")])
shop.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(1, 1, 1.5), (2, 2, 2.0)])
shop.commit()
orders, customers = (pd.read_sql(f"SELECT * FROM {name}", shop) for name in ("orders", "customers"))
"""
REGIONAL = '''"""The revenue of each region.

Outputs:
- table (DataFrame): one row a region
"""
import pandas as pd
from helpers import query


def run(customers: pd.DataFrame | None = None, orders: pd.DataFrame | None = None) -> pd.DataFrame:
    rows = query(
        "SELECT c.region AS region, SUM(o.price) AS revenue FROM orders AS o "
        "JOIN customers AS c ON c.id = o.customer GROUP BY c.region",
        orders=orders,
        customers=customers,
    )
    return rows.sort_values("region", ignore_index=True)
'''
TESTS_OF_REGIONAL = '''import pandas as pd
from solution import run


def test_sum():
    """The revenue of each region"""
    orders = pd.DataFrame({"id": [1, 2], "customer": [1, 1], "price": [1.5, 2.0]})
    customers = pd.DataFrame({"id": [1], "region": ["a"]})
    assert list(run(orders=orders, customers=customers)["revenue"]) == [3.5]
'''


def test_of_the_page_about_databases(lend_kernel: LendKernel) -> None:
    cell, send = texts(examples("databases.md"))
    say = said({"The revenue of each region": (REGIONAL, TESTS_OF_REGIONAL)}, lambda request: "NO_DATA")
    with kernel_of(lend_kernel, say) as (kernel, _):
        ran(kernel, SHOP, f"{cell}", "regional.wait()")
        assert kernel.run("regional.run(shop)").status == "error"
        ran(kernel, send)
        assert kernel.printed("list(regional.run(shop)['revenue'])") == "[1.5, 2.0]"
        assert "SUM" in kernel.printed("list(regional.queries_for(shop).texts.values())[0]")
        assert kernel.printed("len(regional.run(orders=orders.head(1), customers=customers))") == "1"


SALES = """\
import pandas as pd, pandera.pandas as pa
class Sales(pa.DataFrameModel):
    shop: str
    price: float = pa.Field(ge=0)
    day: pd.Timestamp
sales = pd.DataFrame({"shop": ["a", "b", "a"], "price": [2.0, 3.0, 4.0],
                      "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-02-01"])})
sales_2025 = sales.tail(2)
"""
MONTHLY = '''"""Revenue a month.

Outputs:
- monthly (DataFrame): one row a month
    - month (str): YYYY-MM
    - revenue (float64): the sum
"""
import pandas as pd


def run(sales: pd.DataFrame) -> pd.DataFrame:
    month = sales["day"].dt.strftime("%Y-%m").rename("month")
    return sales.groupby(month)["price"].sum().rename("revenue").reset_index()
'''
TESTS_OF_MONTHLY = '''import pandas as pd
from solution import run


def test_sum():
    """Monthly revenue"""
    days = pd.to_datetime(["2024-01-01", "2024-01-02"])
    assert list(run(sales=pd.DataFrame({"shop": ["a", "b"], "price": [1.0, 2.0], "day": days}))["revenue"]) == [3.0]
'''


def test_of_the_page_about_schemas(lend_kernel: LendKernel) -> None:
    contract, cell, schema = texts(examples("contracts.md"))
    (shown,) = re.findall(r"^```\n(ContractBroken.*?)^```$", PAGES["contracts.md"], re.MULTILINE | re.DOTALL)
    with kernel_of(lend_kernel, said({"Monthly revenue of": (MONTHLY, TESTS_OF_MONTHLY)}, scripts.answer)) as (
        kernel,
        _,
    ):
        ran(kernel, SALES, contract, cell)
        assert kernel.printed("growth.wait().state, list(growth.run().revenue)") == "ready [5.0, 4.0]"
        ran(kernel, schema)
        broken = kernel.run("growth(sales.assign(shop=['a', 'b', None], price=[1.0, 2.0, -1.0]))")
        for line in shown.splitlines():
            assert line.strip() in broken.error, broken.error


TOOLS = """\
import pandas as pd
class client:
    def latest_fx(currency: str) -> float:
        "Dollars for one unit of a currency."
        return 0.5
def fetch_prices(symbols: list[str]) -> dict[str, float]:
    "Price of each share in dollars."
    return {"AAPL": 2.0, "MSFT": 3.0}
orders = pd.DataFrame({"symbol": ["AAPL", "MSFT"], "count": [2, 1]})
"""
TURNS = [
    "```python\nprices = fetch_prices(['AAPL', 'MSFT'])\nrate = fx('EUR')\n"
    "worth = {row['symbol']: row['count'] * prices[row['symbol']] / rate for row in orders.head(10)}\nworth\n```",
    "AAPL is worth 8 euros, MSFT 6.",
    "```python\n{symbol: euros * rate for symbol, euros in worth.items()}\n```",
    "4 and 3 dollars.",
]


def test_of_the_page_about_code_mode(lend_kernel: LendKernel) -> None:
    cell, tools, more = texts(examples("code-mode.md"))
    with kernel_of(lend_kernel, in_order(TURNS)) as (kernel, _):
        ran(kernel, TOOLS, cell)
        assert kernel.printed("rates.value, rates.summary") == (
            "{'AAPL': 8.0, 'MSFT': 6.0} AAPL is worth 8 euros, MSFT 6."
        )
        ran(kernel, tools, more)
        assert kernel.printed("more.value, send_mail.__name__") == "{'AAPL': 4.0, 'MSFT': 3.0} send_mail"


@pytest.mark.skipif(importlib.util.find_spec("claude_agent_sdk") is None, reason="the extra [agent] is not installed")
def test_of_the_page_about_the_claude_backend(lend_kernel: LendKernel) -> None:
    (cell,) = texts(examples("claude-backend.md"))
    turns = iter(
        (
            Answer("I look at the rows.", calls=[call("Bash", command="ls data; curl -s https://example.org | head")]),
            Answer(
                "Now both files.",
                calls=[
                    call("Write", file_path="solution.py", content=FIVE_ORDERS),
                    call("Write", file_path="tests.py", content=TESTS_OF_FIVE_ORDERS),
                    call("Bash", command="pytest -q"),
                ],
            ),
            Answer("Both are there, and all tests pass."),
        )
    )
    blind = said({"fewer than 5 orders": (joined(scripts.PLAN, ""), TESTS_OF_FIVE_ORDERS)}, scripts.answer)

    def say(request: dict[str, Any]) -> str | Answer:
        is_agent = any(tool["name"] == "mcp__workspace__Bash" for tool in request.get("tools") or ())
        return next(turns) if is_agent else blind(request)

    with kernel_of(lend_kernel, say) as (kernel, model):
        ran(kernel, scripts.DATA, f"%config Autocode.api_base = {model.root!r}", cell)
        assert kernel.printed("growth.wait().state, growth.success") == "ready True"
        assert kernel.printed("[one.kind for one in growth.trace.calls].count('denied')") == "1"
