"""Money: rounding, interest, shares of a sum, limits."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _invoices(random: np.random.Generator) -> Tables:
    return {
        "invoices": pd.DataFrame(
            {
                "client": random.choice(list("xyz"), 90),
                "net": random.integers(100, 99_999, 90) / 100,
                "rate": random.choice([0.07, 0.19], 90),
            }
        )
    }


def _closes(random: np.random.Generator) -> Tables:
    value = 100 * np.exp(random.normal(0.001, 0.02, 300).cumsum())
    return {"values": pd.DataFrame({"day": pd.bdate_range("2023-01-02", periods=300), "value": value.round(2)})}


def _payments(random: np.random.Generator) -> Tables:
    due = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 150, 120), unit="D")
    paid = pd.Series(due + pd.to_timedelta(random.integers(-10, 50, 120), unit="D")).where(random.random(120) < 0.8)
    paid.iloc[:3] = due[:3] + pd.to_timedelta([30, 31, 0], unit="D")
    return {"payments": pd.DataFrame({"due": due, "paid": paid, "amount": random.integers(10, 900, 120).astype(float)})}


def _costs(random: np.random.Generator) -> Tables:
    teams = pd.DataFrame({"team": ["t1", "t2", "t3", "t4"], "people": random.integers(1, 12, 4)})
    costs = pd.DataFrame({"what": random.choice(["rent", "power"], 30), "amount": random.integers(100, 5000, 30) / 10})
    return {"costs": costs, "teams": teams}


def _energy(random: np.random.Generator) -> Tables:
    used = random.integers(0, 900, 80).astype(float)
    used[:3] = [100.0, 500.0, 0.0]
    return {"meters": pd.DataFrame({"meter": np.arange(80), "kwh": used})}


TASKS = (
    Task(
        name="tax by client",
        request="The tax of each client in @invoices, by client: net times rate, rounded to cents on each invoice and then added up.",
        tables=_invoices,
        returns={"client": "str", "tax": "float64"},
        assumptions=("The sum is rounded to cents once more, against errors of floats.",),
        right="""
            tax = (invoices["net"] * invoices["rate"]).round(2)
            return tax.groupby(invoices["client"]).sum().round(2).rename("tax").reset_index()
        """,
        same="""
            totals = {}
            for row in invoices.itertuples():
                totals[row.client] = totals.get(row.client, 0.0) + np.round(row.net * row.rate, 2)
            names = sorted(totals)
            return pd.DataFrame({"client": pd.Series(names, dtype="str"), "tax": [round(totals[name], 2) for name in names]})
        """,
        wrong={
            "only the sum is rounded": (
                '(invoices["net"] * invoices["rate"]).round(2)',
                '(invoices["net"] * invoices["rate"])',
            ),
            "one rate for all": ('invoices["rate"]).round(2)', "0.19).round(2)"),
            "tax is in the net": (
                'invoices["net"] * invoices["rate"]',
                'invoices["net"] - invoices["net"] / (1 + invoices["rate"])',
            ),
            "the gross amount": ('invoices["net"] * invoices["rate"]', 'invoices["net"] * (1 + invoices["rate"])'),
            "cut off, not rounded": (
                '(invoices["net"] * invoices["rate"]).round(2)',
                'np.floor(invoices["net"] * invoices["rate"] * 100) / 100',
            ),
        },
        small="""
            invoices = pd.DataFrame({"client": ["x", "y"], "net": [100.0, 200.0], "rate": [0.19, 0.19]})
        """,
        weak={"The tax of each client": "assert list(run(invoices=invoices)['tax']) == pytest.approx([19.0, 38.0])"},
        strong={
            "net times rate": "invoices['rate'] = [0.07, 0.19]\nassert list(run(invoices=invoices)['tax']) == pytest.approx([7.0, 38.0])",
            "on each invoice": "three = pd.DataFrame({'client': 'x', 'net': [0.08, 0.08, 0.08], 'rate': 0.07})\nassert run(invoices=three)['tax'].iloc[0] == pytest.approx(0.03)  # 0.0056 each",
        },
        other={
            "The tax is rounded once, on the sum of each client.": (
                '(invoices["net"] * invoices["rate"]).round(2)',
                'invoices["net"] * invoices["rate"]',
            )
        },
    ),
    Task(
        name="gain of a year",
        request="The gain of each calendar year in @values as a share: the last value of the year to the last value of the year before; for the first year to its first value.",
        tables=_closes,
        returns={"year": "int64", "gain": "float64"},
        assumptions=("Rows are in order of day; if not, they are sorted.",),
        right="""
            ordered = values.sort_values("day")
            groups = ordered.groupby(ordered["day"].dt.year)["value"]
            last = groups.last()
            before = last.shift(1).fillna(groups.first())
            return pd.DataFrame({"year": last.index.astype("int64"), "gain": (last / before - 1).to_numpy()})
        """,
        same="""
            rows, before = [], None
            for year, part in values.sort_values("day").groupby(values["day"].dt.year):
                start = part["value"].iloc[0] if before is None else before
                before = part["value"].iloc[-1]
                rows.append((int(year), before / start - 1))
            return pd.DataFrame(rows, columns=["year", "gain"]).astype({"year": "int64", "gain": "float64"})
        """,
        wrong={
            "within the year": ("last.shift(1).fillna(groups.first())", "groups.first()"),
            "no gain in the first year": (".fillna(groups.first())", ""),
            "an amount": ("last / before - 1", "last - before"),
            "the sum of daily gains": 'ordered = values.sort_values("day")\ndaily = ordered["value"].pct_change().fillna(0.0)\ntable = daily.groupby(ordered["day"].dt.year).sum()\nreturn pd.DataFrame({"year": table.index.astype("int64"), "gain": table.to_numpy()})',
            "not in order": ('values.sort_values("day")', 'values.sort_values("value")'),
        },
        small="""
            values = pd.DataFrame({"day": pd.to_datetime(["2023-01-02", "2023-12-29"]), "value": [100.0, 110.0]})
        """,
        weak={"The gain of each calendar year": "assert run(values=values)['gain'].iloc[0] == pytest.approx(0.1)"},
        strong={
            "of the year before": "more = pd.DataFrame({'day': pd.to_datetime(['2023-01-02', '2023-12-29', '2024-01-02', '2024-06-03']), 'value': [100.0, 110.0, 120.0, 132.0]})\nassert list(run(values=more)['gain']) == pytest.approx([0.1, 0.2])",
            "sorted": "assert run(values=values.iloc[::-1])['gain'].iloc[0] == pytest.approx(0.1)",
        },
    ),
    Task(
        name="late payments",
        request="The amount of @payments that are more than 30 days late on 2024-06-01: paid more than 30 days after due, or not paid until then.",
        tables=_payments,
        returns="float",
        assumptions=("What is not paid counts if due is more than 30 days before 2024-06-01.",),
        right="""
            until = payments["paid"].fillna(pd.Timestamp("2024-06-01"))
            late = (until - payments["due"]).dt.days
            return float(payments.loc[late > 30, "amount"].sum())
        """,
        same="""
            total = 0.0
            for row in payments.itertuples():
                end = row.paid if pd.notna(row.paid) else pd.Timestamp(2024, 6, 1)
                if end > row.due + pd.Timedelta(days=30):
                    total += row.amount
            return float(total)
        """,
        wrong={
            "what is not paid is lost": ('payments["paid"].fillna(pd.Timestamp("2024-06-01"))', 'payments["paid"]'),
            "from 30 days on": ("late > 30", "late >= 30"),
            "all that is late": ("late > 30", "late > 0"),
            "all that is not paid": (
                'payments.loc[late > 30, "amount"]',
                'payments.loc[(late > 30) | payments["paid"].isna(), "amount"]',
            ),
            "the number": ('"amount"].sum()', '"amount"].count()'),
        },
        small="""
            payments = pd.DataFrame({"due": pd.to_datetime(["2024-01-01", "2024-01-01"]), "paid": pd.to_datetime(["2024-03-01", "2024-01-05"]), "amount": [10.0, 5.0]})
        """,
        weak={"The amount": "assert run(payments=payments) == 10.0"},
        strong={
            "more than 30 days": "payments['paid'] = pd.to_datetime(['2024-01-31', '2024-02-01'])\nassert run(payments=payments) == 5.0",
            "not paid until then": "payments['paid'] = pd.to_datetime([None, '2024-01-05'])\nassert run(payments=payments) == 10.0",
            "on 2024-06-01": "payments['due'] = pd.to_datetime(['2024-05-20', '2024-01-01'])\npayments['paid'] = pd.to_datetime([None, '2024-01-20'])\nassert run(payments=payments) == 0.0",
        },
    ),
    Task(
        name="costs of teams",
        request="The sum of @costs shared among @teams by their number of people, by team as in the table, rounded to cents; the last team has what is left, so that the shares add up to the sum.",
        tables=_costs,
        returns={"team": "str", "share": "float64"},
        assumptions=("The sum is rounded to cents first.",),
        right="""
            total = round(float(costs["amount"].sum()), 2)
            share = (total * teams["people"] / teams["people"].sum()).round(2)
            share.iloc[-1] = round(total - share.iloc[:-1].sum(), 2)
            return pd.DataFrame({"team": teams["team"], "share": share}).reset_index(drop=True)
        """,
        same="""
            cents = int(round(float(costs["amount"].sum()) * 100))
            people = [int(number) for number in teams["people"]]
            parts = [round(cents * number / sum(people)) for number in people[:-1]]
            parts.append(cents - sum(parts))
            return pd.DataFrame({"team": list(teams["team"]), "share": [part / 100 for part in parts]})
        """,
        wrong={
            "equal shares": (
                'total * teams["people"] / teams["people"].sum()',
                'total * (teams["people"] * 0 + 1) / len(teams)',
            ),
            "the rest is lost": ("share.iloc[-1] = round(total - share.iloc[:-1].sum(), 2)\n", ""),
            "not rounded": ('/ teams["people"].sum()).round(2)', '/ teams["people"].sum())'),
            "each pays the amount for a person": ('/ teams["people"].sum()', "/ len(teams)"),
        },
        small="""
            costs = pd.DataFrame({"what": ["rent"], "amount": [100.0]})
            teams = pd.DataFrame({"team": ["a", "b"], "people": [1, 1]})
        """,
        edge="""
            costs = pd.DataFrame({"what": ["rent"], "amount": [100.0]})
            teams = pd.DataFrame({"team": ["a", "b", "c"], "people": [1, 1, 1]})
        """,
        weak={"shared among @teams": "assert list(run(costs=costs, teams=teams)['share']) == [50.0, 50.0]"},
        strong={
            "by their number of people": "teams['people'] = [3, 1]\nassert list(run(costs=costs, teams=teams)['share']) == [75.0, 25.0]",
            "what is left": "three = pd.DataFrame({'team': list('abc'), 'people': 1})\nassert list(run(costs=costs, teams=three)['share']) == [33.33, 33.33, 33.34]",
        },
    ),
    Task(
        name="a price in steps",
        request="The total cost of @meters: 0.40 for each of the first 100 kwh of a meter, 0.30 for each from there to 500, 0.20 for each above.",
        tables=_energy,
        returns="float",
        assumptions=("A missing value costs nothing.",),
        right="""
            used = meters["kwh"].fillna(0.0)
            cost = 0.40 * used.clip(upper=100) + 0.30 * (used - 100).clip(0, 400) + 0.20 * (used - 500).clip(lower=0)
            return float(cost.sum())
        """,
        same="""
            def price(used):
                if used <= 100:
                    return 0.4 * used
                if used <= 500:
                    return 40 + 0.3 * (used - 100)
                return 160 + 0.2 * (used - 500)

            return float(sum(price(used) for used in meters["kwh"].dropna()))
        """,
        wrong={
            "the last price for all": 'used = meters["kwh"].fillna(0.0)\nprice = np.select([used <= 100, used <= 500], [0.40, 0.30], 0.20)\nreturn float((used * price).sum())',
            "500 in the second step": (".clip(0, 400)", ".clip(0, 500)"),
            "steps of the total": 'used = meters["kwh"].sum()\nreturn float(0.40 * min(used, 100) + 0.30 * min(max(used - 100, 0), 400) + 0.20 * max(used - 500, 0))',
            "no third step": (" + 0.20 * (used - 500).clip(lower=0)", ""),
            "one price": ("cost.sum()", "0.40 * used.sum()"),
        },
        small="""
            meters = pd.DataFrame({"meter": [1, 2], "kwh": [10.0, 20.0]})
        """,
        weak={"The total cost": "assert run(meters=meters) == pytest.approx(12.0)"},
        strong={
            "from there to 500": "meters['kwh'] = [100.0, 200.0]\nassert run(meters=meters) == pytest.approx(110.0)  # 40 + 40 + 30",
            "above": "meters['kwh'] = [600.0, 0.0]\nassert run(meters=meters) == pytest.approx(180.0)  # 40 + 120 + 20",
        },
    ),
)
