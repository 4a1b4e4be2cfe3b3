"""Functions that are right on the sample, and wrong on what comes later."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _items(random: np.random.Generator) -> Tables:
    price = random.integers(100, 9000, 150) / 100
    shop = random.choice(["N", "S", "W"], 150)
    return {"items": pd.DataFrame({"shop": shop, "price": price, "count": random.integers(1, 30, 150)})}


def _letters(random: np.random.Generator) -> Tables:
    code = [f"{number}" for number in random.integers(10_000, 99_999, 200)]
    return {"letters": pd.DataFrame({"code": code, "grams": random.integers(10, 900, 200)})}


def _invoices(random: np.random.Generator) -> Tables:
    return {"invoices": pd.DataFrame({"number": [f"R{n}" for n in range(10, 90)], "total": random.integers(5, 99, 80)})}


def _shifts(random: np.random.Generator) -> Tables:
    days = pd.Timestamp("2023-03-01") + pd.to_timedelta(np.sort(random.integers(0, 240, 200)), unit="D")
    return {"shifts": pd.DataFrame({"day": days, "hours": random.integers(1, 10, 200)})}


def _answers(random: np.random.Generator) -> Tables:
    team = random.choice(["red", "blue", "green"], 160)
    return {"answers": pd.DataFrame({"team": team, "points": random.integers(0, 11, 160)})}


def _prices(random: np.random.Generator) -> Tables:
    ids = [f"p{number:03}" for number in range(60)]
    orders = pd.DataFrame({"product": random.choice(ids, 240), "units": random.integers(1, 9, 240)})
    prices = pd.DataFrame({"product": ids, "price": random.integers(100, 5000, 60) / 100})
    return {"orders": orders, "prices": prices}


def _regions(random: np.random.Generator) -> Tables:
    region = pd.Categorical(random.choice(["East", "West", "Mid"], 180))
    return {"visits": pd.DataFrame({"region": region, "minutes": random.integers(1, 60, 180)})}


def _members(random: np.random.Generator) -> Tables:
    ids = np.arange(1_000, 1_080)
    fees = pd.DataFrame({"member": random.choice(ids, 200), "fee": random.integers(5, 60, 200)})
    return {"fees": fees, "members": pd.DataFrame({"member": ids, "level": random.choice(["a", "b"], 80)})}


def _stations(random: np.random.Generator) -> Tables:
    numbers = np.arange(10, 50)
    counts = pd.DataFrame({"station": random.choice(numbers, 150), "riders": random.integers(1, 400, 150)})
    codes = pd.DataFrame({"station": [f"0{number}" for number in numbers], "line": random.choice(["U1", "U2"], 40)})
    return {"counts": counts, "stations": codes}


TASKS = (
    Task(
        name="takings of each shop",
        request="The sum of price times count of @items by shop, by name.",
        tables=_items,
        returns={"shop": "str", "takings": "float64"},
        assumptions=("Prices are in one currency.",),
        right="""
            takings = (items["price"] * items["count"]).rename("takings")
            return takings.groupby(items["shop"]).sum().reset_index()
        """,
        same="""
            items = items.assign(takings=items["count"] * items["price"])
            return items.groupby("shop", as_index=False)["takings"].sum()
        """,
        later={
            "cents in 32 bits": (
                '(items["price"] * items["count"]).rename("takings")',
                '((items["price"] * 100).round().astype("int32") * items["count"].astype("int32") / 100).rename("takings")',
            ),
            "columns by place": (
                '(items["price"] * items["count"]).rename("takings")',
                '(items.iloc[:, 1] * items.iloc[:, 2]).rename("takings")',
            ),
            "three shops": (
                ".sum().reset_index()",
                '.sum().reindex(["N", "S", "W"]).rename_axis("shop").dropna().reset_index()',
            ),
        },
        small="items = pd.DataFrame({'shop': ['N', 'N', 'S'], 'price': [1.0, 2.0, 5.0], 'count': [1, 2, 1]})",
        weak={"The sum": "assert list(run(items=items)['takings']) == [5.0, 5.0]"},
        edge="items = pd.DataFrame({'count': [900, 1], 'shop': ['N', 'E'], 'price': [90000.0, 1.0]})",
    ),
    Task(
        name="letters by zone",
        request="The grams of @letters by zone, by zone: the zone is the code without its last three digits.",
        tables=_letters,
        returns={"zone": "str", "grams": "int64"},
        assumptions=("A code has at least four digits.",),
        right="""
            zone = letters["code"].str[:-3].rename("zone")
            return letters["grams"].groupby(zone).sum().reset_index()
        """,
        same="""
            zones = [code[: len(code) - 3] for code in letters["code"]]
            return letters.assign(zone=zones).groupby("zone", as_index=False)["grams"].sum()
        """,
        later={"the first two digits": (".str[:-3]", ".str[:2]")},
        small="letters = pd.DataFrame({'code': ['12345', '12999', '99000'], 'grams': [1, 2, 3]})",
        weak={"The grams": "assert list(run(letters=letters)['grams']) == [3, 3]"},
        edge="letters = pd.DataFrame({'code': ['1234', '12999'], 'grams': [1, 2]})",
    ),
    Task(
        name="the last invoice",
        request="The number of the last invoice in @invoices, that with the greatest number after the R.",
        tables=_invoices,
        returns="str",
        assumptions=("There is at least one invoice.",),
        right="""
            digits = invoices["number"].str[1:].astype(int)
            return str(invoices["number"].iloc[digits.to_numpy().argmax()])
        """,
        same="""
            return max(invoices["number"], key=lambda number: int(number[1:]))
        """,
        later={
            "the greatest text": 'return str(invoices["number"].max())',
            "two digits": 'return str(invoices["number"].iloc[invoices["number"].str[1:3].astype(int).to_numpy().argmax()])',
        },
        small="invoices = pd.DataFrame({'number': ['R11', 'R12'], 'total': [1, 2]})",
        weak={"The last": "assert run(invoices=invoices) == 'R12'"},
        edge="invoices = pd.DataFrame({'number': ['R9', 'R10', 'R100', 'R11'], 'total': [1, 2, 3, 4]})",
    ),
    Task(
        name="hours of each month",
        request="The hours of @shifts in each month of the calendar that has a shift, in order, the month as text like 2023-04.",
        tables=_shifts,
        returns={"month": "str", "hours": "int64"},
        assumptions=("A shift is in the month of its day.",),
        right="""
            month = shifts["day"].dt.strftime("%Y-%m").rename("month")
            return shifts["hours"].groupby(month).sum().reset_index()
        """,
        same="""
            months = shifts.assign(month=shifts["day"].dt.to_period("M").astype(str))
            return months.groupby("month", as_index=False)["hours"].sum()
        """,
        later={
            "one year": (
                "return shifts",
                'month = shifts["day"].dt.month.map("{:02}".format).radd(str(shifts["day"].dt.year.iloc[0]) + "-").rename("month")\nreturn shifts',
            ),
            "28 days in February": (
                "return shifts",
                'ends = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])\nplace = np.searchsorted(ends, shifts["day"].dt.dayofyear, side="left")\nmonth = pd.Series([f"{year}-{at:02}" for year, at in zip(shifts["day"].dt.year, place)], index=shifts.index, name="month")\nreturn shifts',
            ),
        },
        small="shifts = pd.DataFrame({'day': pd.to_datetime(['2023-04-01', '2023-04-09']), 'hours': [1, 2]})",
        weak={"The hours": "assert list(run(shifts=shifts)['hours']) == [3]"},
        edge="shifts = pd.DataFrame({'day': pd.to_datetime(['2023-12-31', '2024-02-29', '2024-03-31']), 'hours': [1, 2, 3]})",
    ),
    Task(
        name="points of each team",
        request="The mean points of @answers by team, by name.",
        tables=_answers,
        returns={"team": "str", "points": "float64"},
        assumptions=("Answers without points do not count.",),
        right="""
            return answers.groupby("team", as_index=False)["points"].mean()
        """,
        same="""
            known = answers.dropna(subset=["team", "points"])
            return known["points"].astype(float).groupby(known["team"]).mean().reset_index()
        """,
        later={
            "all answers count": 'found = answers.groupby("team")["points"].agg(["sum", "size"])\nreturn (found["sum"] / found["size"]).rename("points").reset_index()',
            "whole numbers": 'return answers.astype({"points": "int64"}).groupby("team", as_index=False)["points"].mean()',
            "numpy knows no gap": 'return answers.groupby("team")["points"].apply(lambda one: np.mean(one.to_numpy())).reset_index()',
        },
        small="answers = pd.DataFrame({'team': ['a', 'a'], 'points': [1, 3]})",
        weak={"The mean": "assert list(run(answers=answers)['points']) == [2.0]"},
        edge="answers = pd.DataFrame({'team': ['a', 'a', 'b'], 'points': [1.0, None, 3.0]})",
    ),
    Task(
        name="value of all orders",
        request="The value of all @orders: units times the price in @prices. If a product has several prices, its first one counts.",
        tables=_prices,
        returns="float",
        assumptions=("A product without a price is left out.",),
        right="""
            first = prices.drop_duplicates("product")
            return float(orders.merge(first, on="product").eval("units * price").sum())
        """,
        same="""
            first = {}
            for product, price in zip(prices["product"], prices["price"]):
                first.setdefault(product, price)
            return float(np.nansum([units * first.get(product, np.nan) for product, units in zip(orders["product"], orders["units"])]))
        """,
        later={
            "all prices": 'return float(orders.merge(prices, on="product").eval("units * price").sum())',
            "the last price": 'return float((orders["units"] * orders["product"].map(dict(zip(prices["product"], prices["price"])))).sum())',
            "an index of products": 'return float((orders["units"] * orders["product"].map(prices.set_index("product")["price"])).sum())',
        },
        small="orders = pd.DataFrame({'product': ['a', 'b'], 'units': [1, 2]})\nprices = pd.DataFrame({'product': ['a', 'b'], 'price': [1.0, 2.0]})",
        weak={"The value": "assert run(orders=orders, prices=prices) == 5.0"},
        edge="orders = pd.DataFrame({'product': ['a', 'b'], 'units': [1, 2]})\nprices = pd.DataFrame({'product': ['a', 'b', 'a'], 'price': [1.0, 2.0, 7.0]})",
    ),
    Task(
        name="regions that were visited",
        request="The number of @visits by region, by name, of regions that were visited.",
        tables=_regions,
        returns={"region": "str", "visits": "int64"},
        assumptions=("Visits without a region do not count.",),
        right="""
            names = visits["region"].astype("str").where(visits["region"].notna())
            return visits.groupby(names.rename("region")).size().rename("visits").reset_index()
        """,
        same="""
            counts = visits["region"].dropna().astype("str").value_counts().sort_index()
            return counts.rename_axis("region").rename("visits").reset_index()
        """,
        later={
            "all categories": 'counts = visits.groupby("region", observed=False).size().rename("visits").reset_index()\nreturn counts.astype({"region": "str"})',
        },
        small="visits = pd.DataFrame({'region': pd.Categorical(['a', 'b']), 'minutes': [1, 2]})",
        weak={"The number": "assert list(run(visits=visits)['visits']) == [1, 1]"},
        edge="visits = pd.DataFrame({'region': pd.Categorical(['a', 'b'], categories=['a', 'b', 'c']), 'minutes': [1, 2]})",
    ),
    Task(
        name="fees of each level",
        request="The sum of @fees by the level of the member in @members, by level.",
        tables=_members,
        returns={"level": "str", "fee": "int64"},
        assumptions=("A member has one level.",),
        right="""
            return fees.merge(members, on="member").groupby("level", as_index=False)["fee"].sum()
        """,
        same="""
            level = fees["member"].map(members.set_index("member")["level"])
            return fees["fee"].groupby(level.rename("level")).sum().reset_index()
        """,
        later={
            "numbers as fractions": 'level = dict(zip(members["member"].astype(float), members["level"]))\nlevels = fees["member"].astype(float).map(level).rename("level")\nreturn fees["fee"].groupby(levels).sum().reset_index()',
            "four digits": 'short = members.assign(member=members["member"] % 10_000)\nreturn fees.assign(member=fees["member"] % 10_000).merge(short, on="member").groupby("level", as_index=False)["fee"].sum()',
            "a dictionary from today": 'table = members.set_index("member")["level"].reindex(range(1_000, 1_080))\nreturn fees["fee"].groupby(fees["member"].map(table).rename("level")).sum().reset_index()',
        },
        small="fees = pd.DataFrame({'member': [1001, 1002], 'fee': [1, 2]})\nmembers = pd.DataFrame({'member': [1001, 1002], 'level': ['a', 'a']})",
        weak={"The sum": "assert list(run(fees=fees, members=members)['fee']) == [3]"},
        edge="fees = pd.DataFrame({'member': [2**53, 2**53 + 1, 10_001, 1], 'fee': [1, 2, 3, 4]})\nmembers = pd.DataFrame({'member': [2**53, 2**53 + 1, 10_001, 1], 'level': ['a', 'b', 'c', 'd']})",
    ),
    Task(
        name="riders of each line",
        request="The riders in @counts by the line of the station in @stations, by line. A station has three digits in @stations, with zeros in front.",
        tables=_stations,
        returns={"line": "str", "riders": "int64"},
        assumptions=("A station has one line.",),
        right="""
            padded = counts.assign(station=counts["station"].astype("str").str.zfill(3))
            return padded.merge(stations, on="station").groupby("line", as_index=False)["riders"].sum()
        """,
        same="""
            plain = stations.assign(station=stations["station"].astype("int64"))
            return counts.merge(plain, on="station").groupby("line", as_index=False)["riders"].sum()
        """,
        later={"one zero": (".str.zfill(3)", '.radd("0")')},
        small="counts = pd.DataFrame({'station': [11, 12], 'riders': [1, 2]})\nstations = pd.DataFrame({'station': ['011', '012'], 'line': ['U', 'U']})",
        weak={"The riders": "assert list(run(counts=counts, stations=stations)['riders']) == [3]"},
        edge="counts = pd.DataFrame({'station': [1, 112], 'riders': [1, 2]})\nstations = pd.DataFrame({'station': ['001', '112'], 'line': ['U', 'U']})",
    ),
)
