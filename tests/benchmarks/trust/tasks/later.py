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


def _pairs(random: np.random.Generator) -> Tables:
    left, right = random.choice(["ab", "cd", "ef"], 140), random.choice(["12", "34", "56"], 140)
    return {"sales": pd.DataFrame({"brand": left, "model": right, "units": random.integers(1, 9, 140)})}


def _nights(random: np.random.Generator) -> Tables:
    start = pd.Timestamp("2024-04-02 08:00") + pd.to_timedelta(random.integers(0, 60 * 24, 120) * 15, unit="min")
    start = start.where(start.hour < 20, start - pd.Timedelta(hours=8)).where(
        start.hour >= 4, start + pd.Timedelta(hours=5)
    )
    table = pd.DataFrame({"start": start, "end": start + pd.to_timedelta(random.integers(10, 180, 120), unit="min")})
    return {"shifts": table.sort_values("start", ignore_index=True)}


def _scores(random: np.random.Generator) -> Tables:
    return {"scores": pd.DataFrame({"team": random.choice(list("PQR"), 150), "points": random.integers(1, 90, 150)})}


def _links(random: np.random.Generator) -> Tables:
    hosts = random.choice(["a.com", "b.org", "c.net"], 130)
    return {"links": pd.DataFrame({"host": hosts, "clicks": random.integers(1, 99, 130)})}


def _balances(random: np.random.Generator) -> Tables:
    day = pd.date_range("2024-02-05", periods=140, freq="D")
    return {"balances": pd.DataFrame({"day": day, "amount": random.integers(10, 900, 140)})}


def _quotes(random: np.random.Generator) -> Tables:
    return {
        "quotes": pd.DataFrame(
            {"lot": np.arange(90), "asked": random.integers(10, 90, 90), "sold": random.integers(1, 50, 90)}
        )
    }


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
    Task(
        name="units of each model",
        request="The units of @sales by brand and model, written as brand-model, by this name.",
        tables=_pairs,
        returns={"name": "str", "units": "int64"},
        assumptions=("Each brand with each of its models is one name.",),
        right="""
            sums = sales.groupby(["brand", "model"], as_index=False)["units"].sum()
            sums = sums.assign(name=sums["brand"] + "-" + sums["model"])[["name", "units"]]
            return sums.sort_values("name", ignore_index=True)
        """,
        same="""
            names = sales["brand"].str.cat(sales["model"], sep="-").rename("name")
            return sales["units"].groupby(names).sum().reset_index()
        """,
        later={
            "two letters": 'names = (sales["brand"].str[:2] + "-" + sales["model"]).rename("name")\nreturn sales["units"].groupby(names).sum().reset_index()',
            "all pairs of today": 'names = (sales["brand"] + "-" + sales["model"]).rename("name")\nlisted = [f"{one}-{other}" for one in ("ab", "cd", "ef") for other in ("12", "34", "56")]\nsums = sales["units"].groupby(names).sum()\nreturn sums[sums.index.isin(listed)].reset_index()',
        },
        small="sales = pd.DataFrame({'brand': ['ab', 'ab'], 'model': ['12', '12'], 'units': [1, 2]})",
        weak={"The units": "assert list(run(sales=sales)['units']) == [3]"},
        edge="sales = pd.DataFrame({'brand': ['ab', 'abc', 'q'], 'model': ['12', '12', '7'], 'units': [1, 2, 3]})",
    ),
    Task(
        name="hours of work",
        request="The hours of all @shifts together.",
        tables=_nights,
        returns="float",
        assumptions=("A shift has less than a day.",),
        right="""
            return float((shifts["end"] - shifts["start"]).dt.total_seconds().sum() / 3600)
        """,
        same="""
            return float(sum((end - start) / pd.Timedelta(hours=1) for start, end in zip(shifts["start"], shifts["end"]) if pd.notna(end - start)))
        """,
        later={
            "one day": 'begun, ended = (shifts[name].dt.hour + shifts[name].dt.minute / 60 for name in ("start", "end"))\nreturn float((ended - begun).sum())',
            "one year of days": 'hours = [shifts[name].dt.dayofyear * 24 + shifts[name].dt.hour + shifts[name].dt.minute / 60 for name in ("start", "end")]\nreturn float((hours[1] - hours[0]).sum())',
        },
        small="shifts = pd.DataFrame({'start': pd.to_datetime(['2024-04-01 10:00']), 'end': pd.to_datetime(['2024-04-01 12:30'])})",
        weak={"The hours": "assert run(shifts=shifts) == 2.5"},
        edge="shifts = pd.DataFrame({'start': pd.to_datetime(['2023-12-31 22:00']), 'end': pd.to_datetime(['2024-01-01 02:30'])})",
    ),
    Task(
        name="best of each team",
        request="The largest points of each team in @scores, by team.",
        tables=_scores,
        returns={"team": "str", "points": "int64"},
        assumptions=("Each team has points.",),
        right="""
            return scores.groupby("team", as_index=False)["points"].max()
        """,
        same="""
            ordered = scores.sort_values("points", ascending=False).drop_duplicates("team")
            return ordered[["team", "points"]].sort_values("team", ignore_index=True)
        """,
        later={
            "at least 0": 'best = {}\nfor team, points in zip(scores["team"], scores["points"]):\n    best[team] = max(best.get(team, 0), points)\nreturn pd.DataFrame(sorted(best.items()), columns=["team", "points"]).astype({"team": "str", "points": "int64"})',
            "at most 100": 'return scores.assign(points=scores["points"].clip(upper=100)).groupby("team", as_index=False)["points"].max()',
            "one letter": 'teams = scores["team"].str[0]\nreturn scores["points"].groupby(teams).max().reset_index()',
        },
        small="scores = pd.DataFrame({'team': ['P', 'P'], 'points': [1, 3]})",
        weak={"The largest": "assert list(run(scores=scores)['points']) == [3]"},
        edge="scores = pd.DataFrame({'team': ['P', 'PP'], 'points': [-5, 400]})",
    ),
    Task(
        name="clicks of a.com",
        request="The clicks of the host a.com in @links.",
        tables=_links,
        returns="int",
        assumptions=("Hosts are written in small letters.",),
        right="""
            return int(links.loc[links["host"] == "a.com", "clicks"].sum())
        """,
        same="""
            return int(sum(clicks for host, clicks in zip(links["host"], links["clicks"]) if host == "a.com" and clicks == clicks))
        """,
        later={
            "a pattern": 'return int(links.loc[links["host"].str.contains("a.com"), "clicks"].sum())',
            "the first letter": 'return int(links.loc[links["host"].str.startswith("a"), "clicks"].sum())',
        },
        small="links = pd.DataFrame({'host': ['a.com', 'b.org'], 'clicks': [1, 3]})",
        weak={"The clicks": "assert run(links=links) == 1"},
        edge="links = pd.DataFrame({'host': ['a.com', 'a.com2', 'aXcom'], 'clicks': [1, 3, 5]})",
    ),
    Task(
        name="change in a week",
        request="The largest change of amount in @balances against the day seven days before.",
        tables=_balances,
        returns="float",
        assumptions=("A day without a day seven days before it does not count.",),
        right="""
            amount = balances.drop_duplicates("day").set_index("day")["amount"]
            before = amount.reindex(amount.index - pd.Timedelta(days=7)).to_numpy()
            return float(pd.Series(amount.to_numpy() - before, dtype="float64").max())
        """,
        same="""
            known = {}
            for day, amount in zip(balances["day"], balances["amount"]):
                known.setdefault(day, amount)
            changes = [amount - known.get(day - pd.Timedelta(days=7), np.nan) for day, amount in known.items()]
            return float(pd.Series(changes, dtype="float64").max())
        """,
        later={
            "seven rows": 'return float(balances["amount"].diff(7).max())',
            "days of one year": 'amount = balances.set_index(balances["day"].dt.dayofyear)["amount"]\nreturn float((amount - amount.reindex(amount.index - 7).to_numpy()).max())',
        },
        small="balances = pd.DataFrame({'day': pd.date_range('2024-02-05', periods=9), 'amount': range(9)})",
        weak={"The largest": "assert run(balances=balances) == 7.0"},
        edge="balances = pd.DataFrame({'day': pd.to_datetime(['2023-12-28', '2023-12-31', '2024-01-01', '2024-01-04', '2024-01-05', '2024-01-06', '2024-01-07', '2024-01-09', '2024-01-10']), 'amount': [1, 2, 4, 8, 16, 32, 64, 128, 999]})",
    ),
    Task(
        name="share that was sold",
        request="The sum of sold by the sum of asked in @quotes.",
        tables=_quotes,
        returns="float",
        assumptions=("A lot without one of the two numbers does not count.", "Without lots, it is missing."),
        right="""
            known = quotes.dropna(subset=["asked", "sold"])
            return float(known["sold"].sum() / known["asked"].sum()) if known["asked"].sum() else float("nan")
        """,
        same="""
            pairs = [(sold, asked) for sold, asked in zip(quotes["sold"], quotes["asked"]) if pd.notna(sold) and pd.notna(asked)]
            total = sum(asked for _, asked in pairs)
            return float(sum(sold for sold, _ in pairs) / total) if total else float("nan")
        """,
        later={
            "each sum for itself": 'return float(quotes["sold"].sum() / quotes["asked"].sum())',
            "missing is 0": 'return float(quotes["sold"].fillna(0).sum() / quotes["asked"].fillna(0).sum())',
        },
        small="quotes = pd.DataFrame({'lot': [1, 2], 'asked': [2, 2], 'sold': [1, 2]})",
        weak={"The sum": "assert run(quotes=quotes) == 0.75"},
        edge="quotes = pd.DataFrame({'lot': [1, 2], 'asked': [2.0, 2.0], 'sold': [1.0, None]})",
    ),
)
