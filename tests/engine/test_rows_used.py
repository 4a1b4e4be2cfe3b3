"""Which rows a function used: the numbers are worked out by hand, and the code runs in the embedded sandbox."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.display.card import card, rows
from autocoder_jupyter.display.inspector.evidence import evidence_section
from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.display.live import card_text
from autocoder_jupyter.engine.evidence.row_steps import instrumented
from autocoder_jupyter.engine.evidence.rows_used import Notes, rows_used
from autocoder_jupyter.engine.evidence.solution_worker import SolutionStopped
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.errors import SandboxError
from autocoder_jupyter.run.of_report import run_of
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.types import InputSpec, OutputSpec, Report, RowStep, RowsUsed
from autocoder_jupyter.versions.store import Versions
from autocoder_jupyter.versions.verification import keep_evidence, shown
from autocoder_jupyter.view.as_text import blocks_text
from autocoder_jupyter.view.document import Block, Fold, Row
from tests.engine.test_mutation import BOUND, FILTERED, NORMAL, orders, script
from tests.runner import PLAN, Generated, Runner

pytestmark = [pytest.mark.local_sandbox, pytest.mark.real_sandbox]

SALES = pd.DataFrame(
    {
        "id": [1, 2, 3, 4, 5, 6, 7, 8, 9, 9],
        "status": ["paid", "cancelled", "paid", "cancelled", "open", "paid", "paid", "paid", "paid", "paid"],
        "country": ["CH", "CH", None, "DE", "DE", "DE", None, "AT", "CH", "CH"],
        "date": ["2024-01-01", "2024-01-02", "soon", None, None, "2024-02-01", "?", "?", "2024-03-05", "2024-03-05"],
        "amount": [10.0, 20.0, 30.0, 40.0, -5.0, 60.0, None, 80.0, 90.0, 90.0],
        "store": ["a", "b", "a", "b", "c", "x", "a", "a", "y", "y"],
        "tags": [["p"], ["p", "q"], [], ["q"], ["p", "q", "r"], ["p"], ["p"], ["p"], ["p"], ["p"]],
    }
)
STORES = pd.DataFrame({"store": ["a", "b", "c", "d", "e"], "city": ["A", "B", "C", "D", "E"]})
RATES = pd.DataFrame({"id": [3, 6], "rate": [1.5, 2.0]})


def used(
    worker: Worker, code: str, returns: str = "DataFrame", *, seconds: float = 60.0, **tables: pd.DataFrame
) -> RowsUsed | None:
    given = {"sales": SALES, **tables}
    inputs = tuple(InputSpec(name=name, type="DataFrame") for name in given)
    outputs = tuple(
        OutputSpec.model_validate({"name": f"out{number}", "type": kind}) for number, kind in enumerate(returns.split())
    )
    program = Program(code, inputs, outputs)
    values = worker.call(program, given).values
    return rows_used(worker, program, given, values, TimeLimit(seconds))


def function(body: str, parameters: str = "sales") -> str:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f"import numpy as np\nimport pandas as pd\n\n\ndef run({parameters}):\n{lines}\n"


@dataclass(frozen=True)
class Case:
    body: str
    line: str
    returns: str = "DataFrame"
    tables: tuple[str, ...] = ()


BY_COUNTRY = 'return s.groupby("country", as_index=False)["amount"].sum()'

CASES = {
    "a boolean mask": Case('return sales[sales["status"] != "cancelled"]', "10 rows → 8 used; 2 with status cancelled"),
    "masks that are put together": Case(
        's = sales[(sales.status != "cancelled") & sales["country"].notna() & (sales["amount"] > 0)]\nreturn s',
        "10 rows → 5 used; 2 with status cancelled, 2 where country is missing, 1 where not amount > 0",
    ),
    "a mask with a name": Case(
        'is_paid = sales["status"] == "paid"\nreturn sales.loc[is_paid, ["id", "amount"]]',
        "10 rows → 7 used; 3 whose status is not paid",
    ),
    "what cannot be read as a date": Case(
        's = sales[sales.status != "cancelled"].copy()\n'
        's["date"] = pd.to_datetime(s["date"], errors="coerce")\n'
        's = s.dropna(subset=["country", "date"])\n' + BY_COUNTRY,
        "10 rows → 4 used; 2 with status cancelled, 2 where country is missing, 1 with an unreadable date, "
        "1 where date is missing",
    ),
    "dates beside the table": Case(
        'dates = pd.to_datetime(sales["date"], errors="coerce")\nreturn sales[dates.notna()]',
        "10 rows → 5 used; 3 with an unreadable date, 2 where date is missing",
    ),
    "a chain": Case(
        "return (\n    sales.assign(date=lambda s: pd.to_datetime(s['date'], errors='coerce'))\n"
        "    .query(\"status != 'cancelled'\")\n    .dropna(subset=['date'])\n    .sort_values('amount')\n"
        "    .reset_index(drop=True)\n)",
        "10 rows → 4 used; 2 with status cancelled, 3 with an unreadable date, 1 where date is missing",
    ),
    "a query with a variable": Case(
        'least = 30\nreturn sales.query("amount >= @least")', "10 rows → 6 used; 4 where not amount >= @least"
    ),
    "keys that are missing": Case("s = sales\n" + BY_COUNTRY, "10 rows → 8 used; 2 where country is missing"),
    "keys that are kept": Case(
        'return sales.groupby("country", dropna=False, as_index=False)["amount"].sum()',
        "none of 10 rows left out; 1 row without amount does not count in the sum",
    ),
    "duplicates": Case(
        'return sales.drop_duplicates("id").drop(columns="tags")', "10 rows → 9 used; 1 with a repeated id"
    ),
    "lists that become rows": Case('return sales.explode("tags")', "10 rows → 13 used; explode makes 10 rows into 13"),
    "a left join": Case(
        'return sales.merge(stores, on="store", how="left")',
        "none of 10 rows of sales left out; sales: 3 of 10 rows match no row of stores, "
        "stores: 2 of 5 rows match no row of sales",
        tables=("stores",),
    ),
    "an inner join": Case(
        's = sales[sales["status"] != "cancelled"]\n'
        'return pd.merge(s, stores, on="store").groupby("city").size().reset_index()',
        "10 rows of sales → 5 used; 2 with status cancelled, 3 that match no row of stores, "
        "stores: 3 of 5 rows match no row of sales",
        tables=("stores",),
    ),
    "a join from the side of the few": Case(
        'return stores.merge(sales, on="store")',
        "10 rows of sales → 7 used; 3 that match no row of stores, stores: 2 of 5 rows match no row of sales",
        tables=("stores",),
    ),
    "a join with a new table": Case(
        'plain = pd.DataFrame({"id": sales["id"], "store": sales["store"].str.upper()})\n'
        'return plain.merge(stores.assign(store=stores["store"].str.upper()), on="store", how="left")',
        "none of 10 rows of sales left out; sales: 3 of 10 rows match no row of stores, "
        "stores: 2 of 5 rows match no row of sales",
        tables=("stores",),
    ),
    "a join with what another table says": Case(
        's = sales[sales["status"] != "cancelled"].groupby("store", as_index=False)["amount"].sum()\n'
        'return stores.merge(s, on="store", how="left")',
        "none of 5 rows of stores left out; sales: 2 with status cancelled, stores: 3 of 5 rows match no row of sales, "
        "sales: 2 of 4 rows match no row of stores",
        tables=("stores",),
    ),
    "keys that a join leaves open": Case(
        's = sales.merge(stores, on="store", how="left")\nreturn s.groupby("city", as_index=False)["amount"].sum()',
        "10 rows of sales → 7 used; 3 where city is missing, sales: 3 of 10 rows match no row of stores, "
        "stores: 2 of 5 rows match no row of sales, 1 row without amount does not count in the sum",
        tables=("stores",),
    ),
    "a count": Case(
        'if len(sales) < 3:\n    return 0\nreturn len(sales[sales["status"] == "paid"])',
        "10 rows → 7 used; 3 whose status is not paid",
        returns="int",
    ),
    "rows that another table has": Case(
        'return sales[sales["store"].isin(stores["store"])]',
        "10 rows of sales → 7 used; 3 where not sales['store'].isin(stores['store'])",
        tables=("stores",),
    ),
    "rows that are dropped by their labels": Case(
        'return sales.drop(sales[sales["status"] == "cancelled"].index)', "10 rows → 8 used; 2 with status cancelled"
    ),
    "rows that come twice": Case(
        's = sales[sales["amount"] > 0]\nreturn s.sample(frac=1, replace=True, random_state=1).reset_index(drop=True)',
        "10 rows → 8 after line 7; 2 where not amount > 0, rows after line 7: 8",
    ),
    "a join that multiplies": Case(
        'twice = pd.concat([stores, stores])\nreturn sales.merge(twice, on="store")',
        "10 rows of sales → 14 used; 3 that match no row of twice, "
        "twice matches several times and makes 7 rows into 14, twice: 4 of 10 rows match no row of sales",
        tables=("stores",),
    ),
    "a join in time": Case(
        'return pd.merge_asof(sales, rates, on="id", direction="backward")',
        "none of 10 rows of sales left out; sales: 2 of 10 rows match no row of rates",
        tables=("rates",),
    ),
    "months": Case(
        's = sales.assign(date=pd.to_datetime(sales["date"], errors="coerce"))\n'
        'return s.resample("MS", on="date")["amount"].sum().reset_index()',
        "10 rows → 5 used; 3 with an unreadable date, 2 where date is missing",
    ),
    "a number alone": Case(
        's = sales[sales["status"] != "cancelled"]\nreturn float(s["amount"].sum())',
        "10 rows → 8 used; 2 with status cancelled, 1 row without amount does not count in the sum",
        returns="float",
    ),
    "the largest of the groups": Case(
        's = sales.dropna(subset=["country"])\n' + BY_COUNTRY + '.nlargest(2, "amount")',
        "10 rows → 8 used; 2 where country is missing, 1 of 3 groups outside of nlargest(2, 'amount')",
    ),
    "a loop over conditions": Case(
        's = sales\nfor column in ("country", "amount"):\n    s = s[s[column].notna()]\nreturn s',
        "10 rows → 8 used; 2 where s[column] is missing",
    ),
    "a helper": Case(
        'def paid(table):\n    return table[table["status"] == "paid"]\n\n'
        'return paid(sales).dropna(subset=["country"])',
        "10 rows → 5 used; 3 whose status is not paid, 2 where country is missing",
    ),
    "np.where keeps all rows": Case(
        'return sales.assign(amount=np.where(sales.status == "cancelled", 0, sales.amount))', "none of 10 rows left out"
    ),
    "apply": Case(
        'net = sales.apply(lambda row: row["amount"] if row["status"] == "paid" else 0.0, axis=1)\n'
        "return sales[net > 0]",
        "10 rows → 6 used; 4 where not net > 0",
    ),
    "two tables one below the other": Case(
        'both = pd.concat([sales, more], ignore_index=True)\nreturn both[both["amount"] > 50]',
        "20 rows of sales and more → 8 used; 12 where not amount > 50",
        tables=("more",),
    ),
    "the rest beside the output": Case(
        'good = sales[sales["country"].notna()]\nbad = sales[sales["country"].isna()]\nreturn good, len(bad)',
        "10 rows → 8 used for out0; 2 where country is missing",
        returns="DataFrame int",
    ),
    "in place": Case(
        's = sales.copy()\ns.dropna(subset=["country"], inplace=True)\n'
        's.drop_duplicates(inplace=True, subset="id")\nreturn s',
        "10 rows → 7 used; 2 where country is missing, 1 with a repeated id",
    ),
    "rows that a loop chooses": Case(
        's = sales[sales["status"] == "paid"]\ntotal = 0.0\nfor _, row in s.iterrows():\n'
        '    if row["country"] == "CH":\n        total += row["amount"]\nreturn total',
        "10 rows → 7 after line 6; 3 whose status is not paid",
        returns="float",
    ),
    "an array that is filtered": Case(
        's = sales[sales["status"] == "paid"]\nv = s["amount"].to_numpy()\nreturn float(v[v > 50].sum())',
        "10 rows → 7 after line 6; 3 whose status is not paid",
        returns="float",
    ),
    "a group that is skipped": Case(
        's = sales.dropna(subset=["country"])\ntotal = 0.0\nfor country, part in s.groupby("country"):\n'
        '    if len(part) > 1:\n        total += part["amount"].sum()\nreturn total',
        "10 rows → 8 after line 6; 2 where country is missing",
        returns="float",
    ),
    "a column that is called as a variable": Case(
        'amount = 50\nreturn sales[sales["amount"] > amount]', "10 rows → 4 used; 6 where not sales['amount'] > amount"
    ),
    "places": Case(
        'return sales.loc[sales.groupby("status")["amount"].idxmax()]',
        "10 rows → 3 used; 7 outside of sales.loc[sales.groupby('status')['amount'].idxmax()]",
    ),
    "a mask that is changed": Case(
        'keep = sales["amount"] > 0\nkeep.iloc[0] = False\nreturn sales[keep]',
        "10 rows → 7 used; 3 outside of sales[keep]",
    ),
    "masks that are changed after they are put together": Case(
        'keep = (sales["amount"] > 0) & (sales["status"] != "cancelled")\nkeep.iloc[0] = False\nkeep.iloc[1] = True\n'
        "return sales[keep]",
        "10 rows → 6 used; 4 outside of sales[keep]",
    ),
    "a list of keys that grows": Case(
        'keys = ["status"]\nkeys.append("country")\nreturn sales.groupby(keys, as_index=False)["id"].sum()',
        "10 rows → 8 used; 2 without a group",
    ),
    "a pattern that takes a name": Case(
        'x = "paid"\nmatch "open":\n    case x:\n        pass\nreturn sales[sales["status"] == x]',
        "10 rows → 1 used; 9 where not status == x",
    ),
    "a group": Case('return sales.groupby("store").get_group("a")', "10 rows → 4 used; 6 left out by get_group"),
    "the first of the groups": Case(
        'return sales.groupby("country").head(1)',
        "10 rows → 3 used; 2 where country is missing, 5 outside of head(1)",
    ),
    "groups with rows that come twice": Case(
        'return sales.groupby("status").sample(n=2, replace=True, random_state=0)',
        "10 rows → 6 after line 6; rows after line 6: 6",
    ),
    "groups by month": Case(
        's = sales.assign(date=pd.to_datetime(sales["date"], errors="coerce"))\n'
        'return s.groupby(pd.Grouper(key="date", freq="MS"))["amount"].sum().reset_index()',
        "10 rows → 5 used; 3 with an unreadable date, 2 where date is missing",
    ),
    "a pivot table by a parameter": Case(
        'def summary(table, key):\n    return table.pivot_table(index=key, values="id", aggfunc="sum").reset_index()\n'
        'return summary(sales, "country")',
        "10 rows → 8 used; 2 without a group",
    ),
    "a pivot table by two keys": Case(
        'def summary(table, key):\n    return pd.pivot_table(table, "id", key, columns="status").reset_index()\n\n'
        'return summary(sales, "country")',
        "10 rows → 8 used; 2 without a group",
    ),
    "values of several columns": Case(
        'return sales[["status", "country"]].value_counts().reset_index()', "10 rows → 8 used; 2 with missing values"
    ),
    "a number of the rows beside the output": Case(
        'return sales[sales["country"].notna()], float(sales["amount"].sum())',
        "10 rows → 8 used for out0; 2 where country is missing",
        returns="DataFrame float",
    ),
    "a number of the same rows beside the output": Case(
        's = sales.dropna(subset=["country"])\n'
        'return s.groupby("country", as_index=False)["amount"].sum(), float(s["amount"].sum())',
        "10 rows → 8 used; 2 where country is missing",
        returns="DataFrame float",
    ),
    "a share": Case(
        'paid = sales[sales["status"] == "paid"]\nreturn len(paid) / sales.shape[0]',
        "10 rows → 7 after line 6; 3 whose status is not paid",
        returns="float",
    ),
    "a number that numpy makes of all rows": Case(
        'paid = sales[sales["status"] == "paid"]["amount"].mean()\nreturn float(paid / np.mean(sales["amount"]))',
        "10 rows → 7 after line 6; 3 whose status is not paid",
        returns="float",
    ),
    "a column that numpy makes": Case(
        's = sales[sales["country"].notna()]\ns = s.assign(net=np.where(s["status"] == "cancelled", 0, s["amount"]))\n'
        'return float(s["net"].sum())',
        "10 rows → 8 used; 2 where country is missing",
        returns="float",
    ),
    "rows that a loop over numbers chooses": Case(
        's = sales[sales["status"] == "paid"]\ntotal = 0.0\nfor i in range(len(s)):\n'
        '    if s["country"].iloc[i] == "CH":\n        total += s["amount"].iloc[i]\nreturn total',
        "10 rows → 7 after line 6; 3 whose status is not paid",
        returns="float",
    ),
    "a query about columns that variables are called as": Case(
        'late = sales["amount"] > 3\ns = sales.assign(late=sales["id"] > 5)\nreturn s.query("late")',
        "10 rows → 5 used; 5 where not late",
    ),
    "a variable that is called as another column": Case(
        'status = sales["store"]\nreturn sales[status != "a"]', "10 rows → 6 used; 4 with store a"
    ),
    "a query with and": Case(
        "return sales.query(\"status != 'cancelled' and amount > 0\")",
        "10 rows → 6 used; 4 where not (status != 'cancelled' and amount > 0)",
    ),
    "one condition or another": Case(
        'return sales[(sales["status"] == "open") | (sales["amount"] > 50)]',
        "10 rows → 5 used; 5 where not ((status == 'open') | (amount > 50))",
    ),
    "a difference of dates": Case(
        'b = pd.Series(["2024-01-01"] * 9 + ["zz"])\n'
        'd = pd.to_datetime(b, errors="coerce") - pd.to_datetime(sales["date"], errors="coerce")\n'
        "return sales[d.notna()]",
        "10 rows → 4 used; 6 where d is missing",
    ),
    "the table that was joined": Case(
        'joined = sales.join(stores.set_index("store"), on="store")\nreturn sales[sales["status"] == "paid"]',
        "10 rows of sales → 7 used; 3 whose status is not paid",
        tables=("stores",),
    ),
    "a join with the same table": Case(
        'b = sales[sales["status"] == "cancelled"]\nreturn sales.merge(b[["store"]].drop_duplicates(), on="store")',
        "10 rows → 2 used; 8 that match no row of the other table",
    ),
    "labels that stand for several rows": Case(
        's = sales.set_index("store")\nreturn s.drop(s[s["amount"] == 10].index).reset_index()',
        "10 rows → 6 used; 4 left out by drop",
    ),
    "labels that are dropped in place": Case(
        's = sales.copy()\ns.drop(s[s["status"] == "cancelled"].index, inplace=True)\nreturn s',
        "10 rows → 8 used; 2 with status cancelled",
    ),
    "lists of one value": Case('return sales.assign(tags=[[1]] * 10).explode("tags")', "none of 10 rows left out"),
    "labels of another table": Case(
        'o = sales[sales["amount"] > 50]\nreturn sales.drop(o[o["status"] == "paid"].index)',
        "10 rows → 6 used; 4 left out by drop",
    ),
    "columns in place": Case(
        's = sales.copy()\ns.insert(0, "n", 1)\ns = s[s["status"] == "paid"]\ns.fillna({"amount": 0}, inplace=True)\n'
        "return s",
        "10 rows → 7 used; 3 whose status is not paid",
    ),
    "a mean that skips a missing value": Case(
        's = sales[sales["status"] != "cancelled"]\nreturn float(s["amount"].mean())',
        "10 rows → 8 used; 2 with status cancelled, 1 row without amount does not count in the mean",
        returns="float",
    ),
    "sums of groups that skip one": Case(
        'return sales.groupby("status").agg(total=("amount", "sum"), n=("id", "count")).reset_index()',
        "none of 10 rows left out; 1 row without amount does not count in the sum",
    ),
    "a sum of groups whose missing value has no group": Case(
        'return sales.groupby("country").agg({"amount": "sum"}).reset_index()',
        "10 rows → 8 used; 2 where country is missing",
    ),
    "a column of groups": Case(
        'return sales.groupby("store")["amount"].mean().reset_index()',
        "none of 10 rows left out; 1 row without amount does not count in the mean",
    ),
    "a missing value that is filled with the mean": Case(
        's = sales.assign(amount=sales["amount"].fillna(sales["amount"].mean()))\nreturn float(s["amount"].sum())',
        "none of 10 rows left out",
        returns="float",
    ),
    "a mean that keeps missing values": Case(
        'return float(sales["amount"].sum(skipna=False) > 0)', "none of 10 rows left out", returns="float"
    ),
    "a step without a name": Case(
        's = sales[sales["status"] == "paid"].reset_index(drop=True)\nreturn s.reindex(range(12))',
        "10 rows → 12 after line 7; 3 whose status is not paid, rows after line 7: 12",
    ),
}
TABLES = {"stores": STORES, "rates": RATES, "more": SALES.reset_index(drop=True)}


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_those_worked_out_by_hand(worker: Worker, name: str) -> None:
    case = CASES[name]
    tables: dict[str, Any] = {one: TABLES[one] for one in case.tables}
    found = used(worker, function(case.body, ", ".join(["sales", *tables])), case.returns, **tables)
    assert found is not None and found.line == case.line


FIRST_OF_GROUPS = 'return sales.groupby("store", group_keys=False).apply(pd.DataFrame.head, 1)'
CHOSEN_OF_GROUPS = 'return sales.groupby("store")[["id", "amount"]].apply(lambda g: g.loc[g["amount"].idxmax()])'
OF_ANOTHER_INDEX = "return sales.reindex(stores.index)"
UNDER_ANOTHER_INDEX = 's = sales.set_axis(more.index)\nreturn s[s["amount"] > 50]'
GETS_AN_INDEX = 's = sales.copy()\ns.index = more.index\nreturn s[s["amount"] > 50]'
COLUMNS_OF_OTHER_ROWS = (
    'out = sales.groupby("store")["id"].count().to_frame()\n'
    'out["paid"] = sales[sales["status"] == "paid"].groupby("store")["amount"].sum()\nreturn out.reset_index()'
)


@pytest.mark.parametrize(
    ("body", "tables"),
    [
        (FIRST_OF_GROUPS, ()),
        (CHOSEN_OF_GROUPS, ()),
        (OF_ANOTHER_INDEX, ("stores",)),
        (UNDER_ANOTHER_INDEX, ("more",)),
        (GETS_AN_INDEX, ("more",)),
        (COLUMNS_OF_OTHER_ROWS, ()),
    ],
)
def test_rows_that_were_chosen_unseen_have_no_line(worker: Worker, body: str, tables: tuple[str, ...]) -> None:
    given: dict[str, Any] = {one: TABLES[one] for one in tables}
    assert used(worker, function(body, ", ".join(["sales", *tables])), **given) is None


SEVERAL_WAYS = """\
first = sales[sales["status"] == "paid"]["amount"].sum()
return float(first - sales[sales["status"] == "cancelled"]["amount"].sum())"""
LOOP = (
    "return float(sum(row.amount for row in sales.itertuples() if row.status == 'paid' and row.amount == row.amount))"
)


COUNT_OF_A_MASK = 'return float((sales["status"] == "paid").sum())'
EXECUTED = (
    'd = {"sales": sales}\nmost = sales["amount"].max()\nexec("out = sales[sales.amount > 0]", d)\n'
    'return float(d["out"]["amount"].sum() / most)'
)
COUNT_OF_VALUES = 'return float(sales["amount"].count())'
LOOP_OVER_NUMBERS = (
    "total, i = 0.0, 0\nwhile i < len(sales):\n    if sales.at[i, 'status'] == 'paid':\n"
    "        total += sales.at[i, 'id']\n    i += 1\nreturn total"
)


@pytest.mark.parametrize("body", [SEVERAL_WAYS, LOOP, COUNT_OF_A_MASK, COUNT_OF_VALUES, LOOP_OVER_NUMBERS, EXECUTED])
def test_rows_that_went_several_ways_or_were_chosen_otherwise_have_no_line(worker: Worker, body: str) -> None:
    assert used(worker, function(body), "float") is None


PAID = 's = sales[sales["status"] == "paid"]\nreturn s'
PAID_LINE = "10 rows → 7 used; 3 whose status is not paid"

HOSTILE = {
    "it patches pandas": "pd.DataFrame.__len__ = lambda self: 3\npd.RangeIndex.__len__ = lambda self: 3\n" + PAID,
    "it patches a join": "pd.merge = lambda left, right, **how: left\n" + PAID,
    "it patches the builtins": "import builtins\nbuiltins.isinstance = lambda one, kind: True\n" + PAID,
    "it says something else when it is watched": (
        'if "method" in run.__code__.co_names:\n    return sales.head(2)\n' + PAID
    ),
    "it has the name": "autocode_rows = 1\n" + PAID,
    "it forges a step": (
        "import gc\n"
        'for one in gc.get_objects():\n    if type(one).__name__ == "Follower":\n'
        "        one.steps[0] = (0, 0, [], 1_000_000, [])\n" + PAID
    ),
    "too many steps": (
        "s = sales\nfor number in range(3000):\n    s = pd.concat([s, sales.head(1)]).iloc[1:]\nreturn s.head(1)"
    ),
    "too many tables": "s = sales\nfor number in range(25_000):\n    s = s.iloc[::-1]\nreturn s",
    "its source is huge": "x = 0\n" + "x += 1\n" * 4_000 + PAID,
    "it is nested deeply": f"x = {'+'.join(['1'] * 900)}\nx = {'(' * 90}x{')' * 90}\n{PAID}\n" + f"y = {'-' * 3000}x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_of_what_cannot_be_followed_nothing_is_said(worker: Worker, name: str) -> None:
    try:
        found = used(worker, function(HOSTILE[name]))
    except SandboxError:  # the function itself does not run
        return
    assert found is None


PLAIN = {
    "its own len": "def len(table):\n    return 3\n\n" + PAID,
    "a subclass": "class Table(pd.DataFrame):\n    def __len__(self):\n        return 3\n\n" + PAID,
    "deleted tables": 'import gc\nother = sales[sales["amount"] > 0]\ndel other\ngc.collect()\n' + PAID,
    "recursion": (
        "class Tree:\n    def depth(self, number):\n        return 0 if number == 0 else 1 + self.depth(number - 1)\n\n"
        "Tree().depth(200)\n" + PAID
    ),
    "private names": (
        "class Box:\n    def __init__(self):\n        self.__x = [1, 2]\n"
        "    def __first(self):\n        return self.__x[0]\n    def first(self):\n        return self.__first()\n\n"
        "Box().first()\n" + PAID
    ),
    "other brackets": (
        "x: dict[str, list[int]] = {'a': [1, 2, 3]}\ny = [*x['a'][1:], *(n for n in x['a'][::2])]\nx['a'] += [4]\n"
        "x['a'][0] = 2\nz = {1, 2} & {2, 3} & {2}\nw = 7 & 3\ndel x['a'][0]\nmatch y:\n    case [2, *rest]:\n"
        "        v = f\"{x['a'][0]:>{w}}\"\n" + PAID
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_other_code_of_the_function_changes_no_number(worker: Worker, name: str) -> None:
    found = used(worker, function(PLAIN[name]))
    assert found is not None and found.line in (PAID_LINE, PAID_LINE.replace("used", "used for out0"))


def test_a_loop_of_a_million_filters_ends_with_the_time(worker: Worker) -> None:
    code = function(
        'if "item" not in run.__code__.co_names:\n    return sales\ns = sales\n'
        "for number in range(10**6):\n    s = s[s['amount'] > -number]\nreturn s"
    )
    began = time.monotonic()
    with pytest.raises(SolutionStopped):
        used(worker, code, seconds=2.0)
    assert time.monotonic() - began < 120


GARBAGE: list[Any] = [
    {},
    {"steps": "x"},
    {
        "steps": [[0, 0, [], 10, []]],
        "outputs": [0],
        "ends": [],
        "counts": [],
        "loose": [],
        "looped": [5],
        "skipped": [],
    },
    {
        "steps": [[0, 0, [], True, []]],
        "outputs": [-1],
        "ends": [],
        "counts": [],
        "loose": [],
        "looped": [],
        "skipped": [],
    },
    {"steps": [[2, 0, [0], 5, []]], "outputs": [0], "ends": [], "counts": [], "loose": [], "looped": [], "skipped": []},
    {
        "steps": [[0, 0, [], 10, []], [2, 0, [0], 12, []]],
        "outputs": [-1],
        "ends": [],
        "counts": [],
        "loose": [],
        "looped": [],
        "skipped": [],
    },
    {
        "steps": [[0, 0, [], 10, []], [5, 0, [0, 0], 9, [1]]],
        "outputs": [-1],
        "ends": [],
        "counts": [],
        "loose": [],
        "looped": [],
        "skipped": [],
    },
    {
        "steps": [[0, 0, [], 10, []], [2, 9**9, [0], 9, []]],
        "outputs": [-1],
        "ends": [],
        "counts": [],
        "loose": [],
        "looped": [],
        "skipped": [],
    },
    {
        "steps": [[0, 0, [], 10, []]] * 3_000,
        "outputs": [-1],
        "ends": [],
        "counts": [],
        "loose": [],
        "looped": [],
        "skipped": [],
    },
    {
        "steps": [[0, 0, [], 10, []], [2, 0, [0], 9, [[0, 0, 5, 6]]]],
        "outputs": [1],
        "ends": [],
        "counts": [],
        "loose": [],
        "looped": [],
        "skipped": [],
    },
    {"steps": [None], "outputs": [-1], "ends": [], "counts": [], "loose": [], "looped": [], "skipped": []},
]


@pytest.mark.parametrize("number", range(len(GARBAGE)))
def test_notes_that_do_not_agree_say_nothing(number: int) -> None:
    code = instrumented(function(PAID))
    assert code is not None
    right = {
        "steps": [[0, 0, [], 10, []]],
        "outputs": [0],
        "ends": [],
        "counts": [],
        "loose": [],
        "looped": [],
        "skipped": [],
    }
    assert Notes.of(right, code.places, {"sales": SALES}, [SALES]) is not None
    assert Notes.of(GARBAGE[number], code.places, {"sales": SALES}, [SALES]) is None


# In a generation


def shown_text(blocks: tuple[Block, ...]) -> str:
    return "\n".join(blocks_text(blocks))


LINE = "20 rows → 15 used; 5 where not quantity >= 2"


async def generated(runner: Runner, samples: pd.DataFrame, **settings: Any) -> Generated:
    return await runner.generate(script(FILTERED, BOUND), samples={"sales": samples}, settings={**NORMAL, **settings})


async def test_report_card_and_inspector_say_it(runner: Runner) -> None:
    produced = await generated(runner, orders())
    evidence = produced.report.evidence
    assert evidence.rows_used is not None and evidence.rows_used.line == LINE
    assert f"rows_used=RowsUsed({LINE!r})" in repr(evidence)
    assert produced.report.solution is not None and produced.report.solution.code.strip() == FILTERED
    document = card(run_of(produced.report, "ready"))
    labels = [row.label for row in document.sections[0].blocks if isinstance(row, Row) and row.blocks]
    assert labels.count("Rows used") == 1 and labels.index("Rows used") < labels.index("Read as")
    assert f"rows used: {LINE}" in card_text(run_of(produced.report, "ready"))
    (fold,) = (section for section in document.sections if section.title == "Evidence")
    assert "line 5: 20 → 15" in shown_text(fold.blocks)
    inspected = shown_text(evidence_section(Subject(produced.report, "ready")))
    assert "line 5: 20 → 15" in inspected


async def test_an_assumption_says_how_many_rows_it_leaves_out(runner: Runner) -> None:
    assumed = ["Orders without a quantity are left out.", "Orders without a price are left out.", "Half rounds up."]
    plan = json.dumps({**json.loads(PLAN), "assumptions": assumed})
    code = FILTERED.replace("    big", "    sales = sales.dropna(subset=['quantity'])\n    big", 1)
    frame = orders().astype({"quantity": float})
    frame.loc[3:5, "quantity"] = None
    produced = await runner.generate({**script(code, BOUND), "plan": [plan]}, samples={"sales": frame}, settings=NORMAL)
    found = produced.report.evidence.rows_used
    assert found is not None and found.assumptions == {assumed[0]: 3, assumed[1]: 0}
    read_as = card_text(run_of(produced.report, "ready")).partition("read as:")[2]
    assert f"{assumed[0]} (3 rows)" in read_as
    (row,) = (one for one in rows(run_of(produced.report, "ready")) if one.label == "Read as")
    *first, _, fold = row.blocks
    assert assumed[2] in shown_text(tuple(first)) and assumed[1] not in shown_text(tuple(first))
    assert isinstance(fold, Fold) and "(0 rows)" in shown_text(fold.blocks)
    assert Report.model_validate_json(produced.report.model_dump_json()).evidence.rows_used == found


async def test_of_a_kept_function_it_is_about_the_sample_of_today(runner: Runner) -> None:
    await generated(runner, orders())
    produced = await runner.generate({}, samples={"sales": orders().head(12)}, settings=NORMAL)
    found = produced.report.evidence.rows_used
    assert produced.report.kept and found is not None
    assert found.line == "12 rows → 9 used; 3 where not quantity >= 2"


async def test_a_record_from_before_is_read_and_gets_it_in_the_next_run(runner: Runner) -> None:
    await generated(runner, orders())
    (version,) = Versions(runner.root, "growth").all()
    report = version.report.model_dump(mode="json")
    del report["evidence"]["rows_used"]
    assert Report.model_validate(report).evidence.rows_used is None
    old = version.report.model_copy(update={"evidence": version.report.evidence.model_copy(update={"rows_used": None})})
    earlier = replace(version, report=old)
    assert card_text(run_of(old, "ready")).count("rows used") == 0
    keep_evidence(Versions(runner.root, "growth"), earlier, version.report)
    state, now = shown(Versions(runner.root, "growth"), earlier)
    assert state == "ready" and now.evidence.rows_used == version.report.evidence.rows_used is not None


async def test_a_quick_effort_says_nothing(runner: Runner) -> None:
    quick = await generated(runner, orders(), effort="quick")
    assert quick.report.success and quick.report.evidence.rows_used is None


def test_a_line_has_few_reasons_and_one_row_is_one() -> None:
    steps = tuple(RowStep(line=n, before=9 - n, after=8 - n, reason=f"with n {n}") for n in range(8))
    assert RowsUsed(before=9, used=1, steps=steps).line.endswith("1 with n 4, and 3 more")
    assert RowsUsed(before=1, used=1).line == "none of 1 row left out"
    assert RowsUsed(before=1_234_567, used=1_000, after_line=3).line == "1,234,567 rows → 1,000 after line 3"
