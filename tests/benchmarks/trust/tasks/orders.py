"""Sums and counts over a table of orders: which rows belong, and what is added up."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.cheats import CHEATS
from tests.benchmarks.trust.task import Task


def _orders(random: np.random.Generator) -> Tables:
    count = 300
    table = {
        "order_id": np.arange(1, count + 1),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 180, count), unit="D"),
        "customer": random.choice([f"c{number}" for number in range(60)], count),
        "region": random.choice(["North", "South", "East"], count, p=[0.6, 0.3, 0.1]),
        "status": random.choice(["paid", "cancelled", "refunded"], count, p=[0.8, 0.12, 0.08]),
        "price": random.integers(100, 9000, count) / 100,
        "quantity": random.integers(1, 6, count),
        "discount": random.choice([np.nan, 0.1, 0.2], count, p=[0.5, 0.3, 0.2]),
    }
    return {"orders": pd.DataFrame(table)}


SMALL = """
orders = pd.DataFrame({
    "order_id": [1, 2, 3], "day": pd.to_datetime(["2024-01-05", "2024-01-20", "2024-02-01"]),
    "customer": ["a", "b", "a"], "region": ["North", "South", "North"], "status": ["paid", "paid", "paid"],
    "price": [10.0, 20.0, 30.0], "quantity": [1, 2, 1], "discount": [0.5, 0.5, 0.5],
})
"""

TASKS = (
    Task(
        name="net revenue",
        request="The net revenue of all paid @orders: price times quantity, less the discount (a share; none if missing).",
        tables=_orders,
        returns="float",
        assumptions=("Only orders with the status paid count.", "A missing discount is a discount of 0."),
        right="""
            paid = orders[orders["status"] == "paid"]
            net = paid["price"] * paid["quantity"] * (1 - paid["discount"].fillna(0))
            return float(net.sum())
        """,
        same="""
            rate = orders["discount"].where(orders["discount"].notna(), 0.0).rsub(1)
            gross = orders["price"].mul(orders["quantity"]).mul(rate)
            return float(gross[orders["status"].eq("paid")].sum())
        """,
        wrong={
            "all statuses": ('orders[orders["status"] == "paid"]', "orders"),
            "orders without a discount are lost": (".fillna(0)", ""),
            "only cancelled orders are left out": ('== "paid"', '!= "cancelled"'),
            "the discount is of one piece": (
                'paid["price"] * paid["quantity"] * (1 - paid["discount"].fillna(0))',
                'paid["price"] * (paid["quantity"] - paid["discount"].fillna(0))',
            ),
        },
        cheats=CHEATS,
        small=SMALL,
        weak={"The net revenue of all paid @orders": "assert run(orders=orders) == pytest.approx(40.0)  # 5 + 20 + 15"},
        strong={
            "paid": "orders['status'] = ['paid', 'cancelled', 'refunded']\nassert run(orders=orders) == pytest.approx(5.0)",
            "none if missing": "orders['discount'] = [None, 0.5, 0.5]\nassert run(orders=orders) == pytest.approx(45.0)",
        },
    ),
    Task(
        name="revenue by region",
        request="Revenue (price times quantity) of the paid @orders by region, the largest first.",
        tables=_orders,
        returns={"region": "str", "revenue": "float64"},
        assumptions=("Discounts are not taken off.",),
        right="""
            paid = orders[orders["status"] == "paid"]
            revenue = (paid["price"] * paid["quantity"]).groupby(paid["region"]).sum()
            return revenue.sort_values(ascending=False, kind="stable").rename("revenue").reset_index()
        """,
        same="""
            rows = orders.query("status == 'paid'").assign(revenue=lambda t: t.price * t.quantity)
            table = rows.groupby("region", as_index=False)["revenue"].sum()
            return table.sort_values("revenue", ascending=False, kind="stable").reset_index(drop=True)
        """,
        wrong={
            "the smallest first": ("ascending=False", "ascending=True"),
            "all statuses": ('orders[orders["status"] == "paid"]', "orders"),
            "a mean for the sum": ('.groupby(paid["region"]).sum()', '.groupby(paid["region"]).mean()'),
            "by name": ('sort_values(ascending=False, kind="stable")', "sort_index()"),
        },
        small=SMALL,
        weak={
            "by region": "out = run(orders=orders).set_index('region')['revenue']\n"
            "assert out['North'] == 40.0 and out['South'] == 40.0",
        },
        strong={
            "the largest first": "orders['price'] = [10.0, 50.0, 30.0]\n"
            "assert run(orders=orders).to_dict('list') == {'region': ['South', 'North'], 'revenue': [100.0, 40.0]}",
            "paid": "orders['status'] = ['paid', 'cancelled', 'refunded']\n"
            "assert run(orders=orders).to_dict('list') == {'region': ['North'], 'revenue': [10.0]}",
        },
        other={
            "Discounts are taken off.": """
                paid = orders[orders["status"] == "paid"]
                net = paid["price"] * paid["quantity"] * (1 - paid["discount"].fillna(0))
                revenue = net.groupby(paid["region"]).sum()
                return revenue.sort_values(ascending=False, kind="stable").rename("revenue").reset_index()
            """
        },
    ),
    Task(
        name="loyal customers",
        request="How many customers have at least 3 paid @orders?",
        tables=_orders,
        returns="int",
        assumptions=("Each row is an order.",),
        right="""
            paid = orders[orders["status"] == "paid"]
            return int((paid.groupby("customer").size() >= 3).sum())
        """,
        same="""
            counts = orders.loc[orders["status"].eq("paid"), "customer"].value_counts()
            return int(counts.ge(3).sum())
        """,
        wrong={
            "more than 3": (">= 3", "> 3"),
            "all statuses": ('orders[orders["status"] == "paid"]', "orders"),
            "days for orders": ('.groupby("customer").size()', '.groupby("customer")["day"].nunique()'),
            "orders for customers": "paid = orders[orders['status'] == 'paid']\n"
            "return int(paid.groupby('customer')['order_id'].transform('size').ge(3).sum() // 3)",
        },
        small="""
            orders = pd.DataFrame({
                "order_id": [1, 2, 3, 4, 5], "customer": ["a", "a", "a", "a", "b"], "status": "paid",
                "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"]),
            })
        """,
        edge="""
            orders = pd.DataFrame({
                "order_id": [1, 2, 3], "customer": ["a", "a", "a"], "status": "paid",
                "day": pd.to_datetime(["2024-01-01", "2024-01-01", "2024-01-03"]),
            })
        """,
        weak={"at least 3 paid": "assert run(orders=orders) == 1"},
        strong={
            "at least 3": "assert run(orders=orders.iloc[1:]) == 1\nassert run(orders=orders.iloc[2:]) == 0",
            "paid": "orders['status'] = ['paid', 'paid', 'cancelled', 'refunded', 'paid']\nassert run(orders=orders) == 0",
            "Each row is an order.": "orders['day'] = pd.Timestamp('2024-01-01')\nassert run(orders=orders) == 1",
        },
    ),
    Task(
        name="mean order by month",
        request="The mean value (price times quantity) of the @orders by month, as YYYY-MM, in order of time.",
        tables=_orders,
        returns={"month": "str", "value": "float64"},
        assumptions=("All statuses count.", "Each row is an order.", "Discounts are not taken off."),
        right="""
            value = orders["price"] * orders["quantity"]
            month = orders["day"].dt.strftime("%Y-%m").rename("month")
            return value.groupby(month).mean().rename("value").reset_index()
        """,
        same="""
            rows = pd.DataFrame({"month": orders["day"].dt.to_period("M"), "value": orders.price * orders.quantity})
            sums = rows.groupby("month")["value"].agg(["sum", "count"]).sort_index()
            return pd.DataFrame({"month": sums.index.astype(str), "value": (sums["sum"] / sums["count"]).to_numpy()})
        """,
        wrong={
            "weighted by quantity": """
                rows = orders.assign(month=orders["day"].dt.strftime("%Y-%m"), value=orders["price"] * orders["quantity"])
                sums = rows.groupby("month")[["value", "quantity"]].sum()
                return (sums["value"] / sums["quantity"]).rename("value").reset_index()
            """,
            "the median": (".mean()", ".median()"),
            "the mean price": ('orders["price"] * orders["quantity"]', 'orders["price"]'),
            "the newest first": ('.rename("value").reset_index()', '.rename("value").iloc[::-1].reset_index()'),
        },
        small=SMALL,
        weak={"The mean value": "out = run(orders=orders.iloc[[0, 2]])\nassert list(out['value']) == [10.0, 30.0]"},
        strong={
            "mean value by month": "out = run(orders=orders)\n"
            "assert out.to_dict('list') == {'month': ['2024-01', '2024-02'], 'value': [25.0, 30.0]}  # (10 + 40) / 2",
            "in order of time": "assert list(run(orders=orders.iloc[::-1])['month']) == ['2024-01', '2024-02']",
            "mean": "orders['day'] = pd.Timestamp('2024-03-01')\n"
            "assert run(orders=orders)['value'].iloc[0] == pytest.approx(80 / 3)  # (10 + 40 + 30) / 3",
        },
        other={
            "Only paid orders count.": ('orders["price"] * ', 'orders["price"].where(orders["status"] == "paid") * ')
        },
    ),
    Task(
        name="share of cancelled orders",
        request="The share of cancelled @orders by region, for regions with at least 20 orders, by name of the region.",
        tables=_orders,
        returns={"region": "str", "share": "float64"},
        assumptions=("The share is of all orders of the region, from 0 to 1.",),
        right="""
            groups = (orders["status"] == "cancelled").groupby(orders["region"])
            share = groups.mean()[groups.size() >= 20]
            return share.rename("share").reset_index()
        """,
        same="""
            big = orders.groupby("region").filter(lambda group: len(group) >= 20)
            counts = pd.crosstab(big["region"], big["status"].eq("cancelled"))
            share = counts.get(True, 0) / counts.sum(axis=1)
            return pd.DataFrame({"region": pd.Series(list(counts.index), dtype="str"), "share": share.to_numpy(dtype="float64")})
        """,
        wrong={
            "more than 20": (">= 20", "> 20"),
            "of paid and cancelled ones": (
                'groups = (orders["status"] == "cancelled").groupby(orders["region"])',
                'orders = orders[orders["status"] != "refunded"]\n'
                'groups = (orders["status"] == "cancelled").groupby(orders["region"])',
            ),
            "percent": ("groups.mean()", "100 * groups.mean()"),
            "20 cancelled orders": ("groups.size()", "groups.sum()"),
        },
        small="""
            orders = pd.DataFrame({
                "region": ["N"] * 25 + ["S"] * 3, "status": ["cancelled"] * 5 + ["paid"] * 20 + ["paid"] * 3,
            })
        """,
        edge="""
            orders = pd.DataFrame({"region": ["N"] * 20, "status": ["cancelled"] * 5 + ["paid"] * 15})
        """,
        weak={"share of cancelled @orders": "assert run(orders=orders)['region'].tolist()[0] == 'N'"},
        strong={
            "The share is of all orders": "orders['status'] = ['cancelled'] * 5 + ['refunded'] * 5 + ['paid'] * 18\n"
            "assert run(orders=orders).to_dict('list') == {'region': ['N'], 'share': [0.2]}",
            "at least 20 orders": "assert list(run(orders=orders.iloc[5:])['region']) == ['N']",
        },
    ),
)
