"""Four realistic tasks, with data whose results are calculated by hand, and correct answers of a model.

Each task has a request (prompt, inputs, outputs), the data, and a plan, a module and tests as a good model would write
them. The tests use neither the module nor the data; the expected values are not in any of the answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from autocoder_jupyter.types import File, InputSpec
from tests.runner import MARKERS, fenced
from tests.scripted_model import ScriptedModel, by_marker


@dataclass(frozen=True)
class Task:
    """A request, and the answers of the model."""

    name: str
    prompt: str
    outputs: Mapping[str, Any]
    plan: Mapping[str, Any]
    code: str
    tests: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    constraints: tuple[str, ...] = ()

    def model(self) -> ScriptedModel:
        """The endpoint with the answers of this task. A second question of the same kind gets an error."""
        answers = {"plan": json.dumps(self.plan), "code": fenced(self.code), "tests": fenced(self.tests)}
        return ScriptedModel(by_marker({MARKERS[stage]: [answer] for stage, answer in answers.items()}))

    def request(self, samples: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of `AutoCoderAgent.generate`."""
        return {
            "prompt": self.prompt,
            "samples": samples,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "constraints": self.constraints,
            "name": self.name,
        }


def file(folder: Path, name: str, text: str) -> File:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return File(path)


# Vendors: the same three figures from three layouts

VENDOR_A = """\
date,product,quantity,unit_price
2024-01-05,Widget,10,25.50
2024-01-06,Gadget,5,30.00
2024-01-07,Widget,8,25.50
"""
"""10*25.5 = 255, 5*30 = 150, 8*25.5 = 204: revenue 609.0, units 23, 3 sales."""

VENDOR_B = """\
sale_id,units_sold,total_revenue
1,7,180.00
2,9,229.50
3,6,120.00
"""
"""180 + 229.5 + 120: revenue 529.5, units 22, 3 sales."""

VENDOR_C = """\
        item,qty,unit_price
        Bolt,10,22.0
        Nut,11,24.0
        Pin,12,25.0
"""
"""220 + 264 + 300: revenue 784.0, units 33, 3 sales. Each line is indented, as in the file that came by e-mail."""

DURABLE = """\
date,product,quantity,unit_price
2024-01-05,Widget,10,25.50
2024-01-06,Gadget,5,30.00
2024-01-07,Widget,8,25.50
2024-01-08,Gizmo,10,15.00
2024-01-09,Gizmo,5,24.00
"""
"""609 as above, and 10*15 = 150, 5*24 = 120: revenue 879.0, units 38, 5 sales."""

VENDOR_CODE = '''\
from pathlib import Path

import pandas as pd

UNITS = ("quantity", "units_sold", "qty")


def run(sales: Path) -> tuple[float, int, int]:
    """Revenue, units and number of sales of one vendor's file."""
    frame = pd.read_csv(sales, skipinitialspace=True)
    frame.columns = [name.strip() for name in frame.columns]
    units = frame[next(name for name in UNITS if name in frame.columns)]
    revenue = frame["total_revenue"] if "total_revenue" in frame.columns else units * frame["unit_price"]
    return float(revenue.sum()), int(units.sum()), len(frame)'''

VENDOR_TESTS = '''\
import pytest
from solution import run


def write(tmp_path, text):
    path = tmp_path / "sales.csv"
    path.write_text(text)
    return path


def test_revenue_is_quantity_times_price(tmp_path):
    """Total revenue is the sum over all sales."""
    revenue, units, count = run(sales=write(tmp_path, "quantity,unit_price\\n2,1.50\\n4,2.25\\n"))
    assert revenue == pytest.approx(12.0)  # 3 + 9
    assert (units, count) == (6, 2)


def test_a_revenue_column_is_taken_as_it_is(tmp_path):
    """Where the file has a revenue column, it counts."""
    assert run(sales=write(tmp_path, "units_sold,total_revenue\\n2,10.5\\n1,4\\n")) == (14.5, 3, 2)


def test_indented_lines_are_read(tmp_path):
    """Blanks before a field mean nothing."""
    assert run(sales=write(tmp_path, "   item,qty,unit_price\\n   Nut,3,2.0\\n")) == (6.0, 3, 1)


def test_a_file_without_sales(tmp_path):
    """No sales, no revenue."""
    assert run(sales=write(tmp_path, "quantity,unit_price\\n")) == (0.0, 0, 0)'''

VENDORS = Task(
    name="vendor_totals",
    prompt="Read @sales and give total revenue, total units and the number of sales.",
    outputs={"total_revenue": float, "total_units": int, "transaction_count": int},
    plan={
        "description": "Revenue, units and number of sales of a vendor's file.",
        "approach": "Read the CSV, find the columns of units and revenue, and sum them.",
        "outputs": [
            {"name": "total_revenue", "type": "float", "meaning": "sum of revenue, or of units times unit price"},
            {"name": "total_units", "type": "int", "meaning": "sum of units"},
            {"name": "transaction_count", "type": "int", "meaning": "number of rows"},
        ],
        "assumptions": ["Where the file has a revenue column, it counts.", "Blanks before a field mean nothing."],
    },
    code=VENDOR_CODE,
    tests=VENDOR_TESTS,
)

# Orders and products

ORDERS = """\
order_id,product_id,quantity
1,P1,2
2,P1,3
3,P1,4
4,P1,1
5,P2,2
6,P2,3
7,P2,4
8,P3,5
9,P3,2
"""
PRODUCTS = """\
product_id,name,unit_price,in_stock
P1,Lamp,10.0,True
P2,Chair,25.0,True
P3,Poster,5.0,False
"""
"""Values of the orders: P1 20, 30, 40, 10; P2 50, 75, 100; P3, out of stock, 25, 10.

From 15 up, in stock: P1 20+30+40 = 90 in 3 orders, P2 225 in 3: 315.
From 25 up, in stock: P1 30+40 = 70, P2 225: 295. Including products out of stock, 25 more: 320.
"""

ORDERS_CODE = '''\
from pathlib import Path

import pandas as pd


def run(
    orders: Path, products: Path, min_order_value: float = 15.0, include_out_of_stock: bool = False
) -> tuple[float, Path]:
    """Totals a product of the orders that are worth enough."""
    joined = pd.read_csv(orders).merge(pd.read_csv(products), on="product_id", how="inner")
    joined["value"] = joined["quantity"] * joined["unit_price"]
    joined = joined[joined["value"] >= min_order_value]
    if not include_out_of_stock:
        joined = joined[joined["in_stock"].astype(bool)]
    summary = (
        joined.groupby(["product_id", "name"], sort=True)
        .agg(total=("value", "sum"), order_count=("order_id", "count"))
        .reset_index()
    )
    target = Path("product_summary.csv")
    summary.to_csv(target, index=False)
    return float(joined["value"].sum()), target'''

ORDERS_TESTS = '''\
import pandas as pd
import pytest
from solution import run

ORDERS = "order_id,product_id,quantity\\n1,A,1\\n2,A,2\\n3,B,3\\n4,Z,9\\n"
PRODUCTS = "product_id,name,unit_price,in_stock\\nA,Cup,8.0,True\\nB,Jar,10.0,False\\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "orders.csv").write_text(ORDERS)
    (tmp_path / "products.csv").write_text(PRODUCTS)
    return {"orders": tmp_path / "orders.csv", "products": tmp_path / "products.csv"}


def test_small_orders_are_left_out(files):
    """Only orders of at least the minimum count."""
    total, _ = run(**files, min_order_value=10.0)
    assert total == pytest.approx(16.0)  # order 1 is 8, order 2 is 16; B is out of stock


def test_the_bound_is_included(files):
    """At least means the bound counts."""
    assert run(**files, min_order_value=16.0)[0] == pytest.approx(16.0)


def test_out_of_stock_is_counted_on_demand(files):
    """Products that are out of stock are left out unless asked for."""
    assert run(**files, min_order_value=0.0)[0] == pytest.approx(24.0)  # 8 + 16
    assert run(**files, min_order_value=0.0, include_out_of_stock=True)[0] == pytest.approx(54.0)  # and 30


def test_the_summary_agrees_with_the_total(files):
    """The summary has a row a product, and its totals are the grand total."""
    total, path = run(**files, min_order_value=0.0, include_out_of_stock=True)
    summary = pd.read_csv(path)
    assert list(summary.columns) == ["product_id", "name", "total", "order_count"]
    assert summary["total"].sum() == pytest.approx(total)
    assert list(summary["order_count"]) == [2, 1]


def test_an_unknown_product_is_left_out(files):
    """Orders of products that are not listed are left out."""
    _, path = run(**files, min_order_value=0.0, include_out_of_stock=True)
    assert "Z" not in set(pd.read_csv(path)["product_id"])'''

ORDER_TOTALS = Task(
    name="order_totals",
    prompt="Join @orders with @products. Total value a product and a grand total of all orders of at least "
    "min_order_value; leave out products that are out of stock unless include_out_of_stock.",
    inputs={
        "min_order_value": InputSpec(name="min_order_value", type="float", required=False, default=15.0),
        "include_out_of_stock": InputSpec(name="include_out_of_stock", type="bool", required=False, default=False),
    },
    outputs={"grand_total": float, "product_summary.csv": File},
    plan={
        "description": "Value of orders a product, and in all.",
        "approach": "Inner join, value = quantity * unit_price, filter, group.",
        "outputs": [
            {"name": "grand_total", "type": "float", "meaning": "sum of the values of the orders that count"},
            {
                "name": "product_summary.csv",
                "type": "File",
                "meaning": "CSV with product_id, name, total, order_count; a row a product, by product_id",
            },
        ],
        "assumptions": [
            "The bound is included: an order of exactly min_order_value counts.",
            "Orders of products that are not listed are left out.",
        ],
    },
    code=ORDERS_CODE,
    tests=ORDERS_TESTS,
)

# Sensors


def sensor_readings() -> pd.DataFrame:
    """Five sensors, ten readings each, every ten minutes. S3 has values of 95.0 to 99.5, all others of 60.0 to 64.5.

    Above the limit of 90 are only the ten readings of S3: 10 warnings in a report of 5 rows.
    """
    moments = pd.date_range("2024-05-01", periods=10, freq="10min", tz="Europe/Berlin")
    parts = [
        pd.DataFrame(
            {
                "sensor": pd.Series([sensor] * 10, dtype="str"),
                "time": moments,
                "temperature": [(95.0 if sensor == "S3" else 60.0) + step / 2 for step in range(10)],
            }
        )
        for sensor in ("S1", "S2", "S3", "S4", "S5")
    ]
    return pd.concat(parts, ignore_index=True)


SENSORS_CODE = '''\
import pandas as pd


def run(readings: pd.DataFrame, limit: float = 90.0) -> tuple[pd.DataFrame, int]:
    """Warnings a sensor, and in all."""
    hot = readings.assign(warning=readings["temperature"] > limit)
    report = (
        hot.groupby("sensor", sort=True)
        .agg(mean_temperature=("temperature", "mean"), warnings=("warning", "sum"))
        .reset_index()
    )
    report["warnings"] = report["warnings"].astype("int64")
    return report, int(hot["warning"].sum())'''

SENSORS_TESTS = '''\
import pandas as pd
import pytest
from solution import run


def readings(*rows):
    frame = pd.DataFrame(list(rows), columns=["sensor", "temperature"])
    frame["time"] = pd.date_range("2024-01-01", periods=len(frame), freq="h", tz="UTC")
    return frame.astype({"temperature": "float64"})


def test_readings_above_the_limit_are_warnings():
    """A reading above the limit is an anomaly."""
    report, total = run(readings=readings(("A", 91.0), ("A", 10.0), ("B", 95.0)), limit=90.0)
    assert total == 2
    assert dict(zip(report["sensor"], report["warnings"])) == {"A": 1, "B": 1}


def test_the_limit_itself_is_no_warning():
    """Exactly the limit is still in order."""
    assert run(readings=readings(("A", 90.0)), limit=90.0)[1] == 0


def test_a_sensor_without_warnings_is_in_the_report():
    """The report has one row a sensor."""
    report, _ = run(readings=readings(("B", 1.0), ("A", 99.0), ("A", 97.0)), limit=90.0)
    assert list(report["sensor"]) == ["A", "B"]
    assert report["mean_temperature"].tolist() == pytest.approx([98.0, 1.0])


def test_the_report_adds_up():
    """The warnings of the report are the total."""
    report, total = run(readings=readings(("A", 91.0), ("B", 92.0), ("B", 93.0), ("C", 0.0)), limit=90.0)
    assert report["warnings"].sum() == total == 3'''

SENSORS = Task(
    name="sensor_warnings",
    prompt="Find anomalies in @readings: temperatures above 90. A report a sensor, and the total number.",
    outputs={"report": pd.DataFrame, "total_anomalies": int},
    constraints=("report.warnings is at least 0",),
    plan={
        "description": "Warnings a sensor.",
        "approach": "Compare with the limit, group by sensor.",
        "outputs": [
            {
                "name": "report",
                "type": "DataFrame",
                "meaning": "one row a sensor, by sensor",
                "columns": [
                    {"name": "sensor", "dtype": "str"},
                    {"name": "mean_temperature", "dtype": "float64"},
                    {"name": "warnings", "dtype": "int64"},
                ],
            },
            {"name": "total_anomalies", "type": "int", "meaning": "number of readings above the limit"},
        ],
        "parameters": [{"name": "limit", "type": "float", "default": 90.0, "meaning": "temperature"}],
        "assumptions": ["Exactly the limit is still in order."],
    },
    code=SENSORS_CODE,
    tests=SENSORS_TESTS,
)

# A log

LOG = """\
2024-06-01 10:00:01 INFO  [web] started
2024-06-01 10:00:02 INFO  [db] connected
2024-06-01 10:00:05 WARN  [cache] cold
2024-06-01 10:01:00 ERROR [db] deadlock detected
2024-06-01 10:01:01 INFO  [db] retrying
2024-06-01 10:02:13 ERROR [api] 502 from upstream
2024-06-01 10:02:14 INFO  [api] retrying
2024-06-01 10:03:00 CRITICAL [db] disk full, ERROR state entered
2024-06-01 10:03:30 INFO  [web] GET /health
2024-06-01 10:04:00 ERROR [auth] token expired
2024-06-01 10:04:30 WARN  [web] slow request
2024-06-01 10:05:00 ERROR [db] connection lost
2024-06-01 10:05:01 INFO  [db] reconnected
2024-06-01 10:06:00 ERROR [api] timeout
2024-06-01 10:07:00 INFO  [web] stopped
"""
"""15 lines. Level ERROR: db 2, api 2, auth 1 = 5. A CRITICAL line with "ERROR" in it does not count. db and api tie."""

LOG_CODE = '''\
import re
from collections import Counter
from pathlib import Path

LINE = re.compile(r"^\\S+ \\S+ (?P<level>[A-Z]+)\\s+\\[(?P<component>[^\\]]+)\\]")


def run(log: Path) -> tuple[int, str, bool]:
    """Number of errors, the component with most of them, and whether anything was critical."""
    found = [match for line in log.read_text(encoding="utf-8").splitlines() if (match := LINE.match(line))]
    errors = Counter(match["component"] for match in found if match["level"] == "ERROR")
    worst = min(errors, key=lambda component: (-errors[component], component), default="")
    return sum(errors.values()), worst, any(match["level"] == "CRITICAL" for match in found)'''

LOG_TESTS = '''\
from solution import run


def log(tmp_path, *lines):
    path = tmp_path / "app.log"
    path.write_text("".join(f"2024-01-01 00:00:00 {line}\\n" for line in lines))
    return path


def test_lines_of_level_error_are_counted(tmp_path):
    """Count the lines of level ERROR."""
    assert run(log=log(tmp_path, "ERROR [a] x", "INFO  [a] no ERROR here", "ERROR [b] y"))[0] == 2


def test_the_worst_component_has_most_errors(tmp_path):
    """The component with the most errors."""
    assert run(log=log(tmp_path, "ERROR [b] x", "ERROR [b] y", "ERROR [a] z"))[1] == "b"


def test_a_tie_goes_to_the_first_by_name(tmp_path):
    """Where components tie, the first by name is named."""
    assert run(log=log(tmp_path, "ERROR [z] x", "ERROR [a] y"))[1] == "a"


def test_critical_lines_are_noticed(tmp_path):
    """Whether there are critical errors."""
    assert run(log=log(tmp_path, "CRITICAL [a] x"))[2] is True
    assert run(log=log(tmp_path, "ERROR [a] not CRITICAL as a level"))[2] is False


def test_an_empty_log(tmp_path):
    """An empty log has no errors and no worst component."""
    assert run(log=log(tmp_path)) == (0, "", False)'''

LOGS = Task(
    name="log_errors",
    prompt="From @log: the number of errors, the component with the most errors, and whether any was critical.",
    outputs={"error_count": int, "worst_component": str, "has_critical_errors": bool},
    plan={
        "description": "Errors in a log.",
        "approach": "Parse level and component of each line, count.",
        "outputs": [
            {"name": "error_count", "type": "int", "meaning": "lines of level ERROR"},
            {"name": "worst_component", "type": "str", "meaning": "component with the most ERROR lines"},
            {"name": "has_critical_errors", "type": "bool", "meaning": "whether a line has the level CRITICAL"},
        ],
        "assumptions": [
            "Where components tie for the most errors, as db and api do here, the first by name is named.",
            "Only the level of a line counts, not its words; CRITICAL is a level of its own and no ERROR.",
            "An empty log has no errors and an empty worst component.",
        ],
    },
    code=LOG_CODE,
    tests=LOG_TESTS,
)
