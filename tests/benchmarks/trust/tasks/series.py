"""Rows in an order: windows, streaks, changes, sessions."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _days(random: np.random.Generator) -> Tables:
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(random.choice(120, 80, replace=False)), unit="D")
    return {"sales": pd.DataFrame({"day": days, "amount": random.integers(10, 900, 80).astype(float)})}


def _visits(random: np.random.Generator) -> Tables:
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 90, 150), unit="D")
    return {"visits": pd.DataFrame({"day": days, "who": random.choice(list("abc"), 150)})}


def _shops(random: np.random.Generator) -> Tables:
    table = pd.DataFrame(
        {
            "shop": np.repeat(["a", "b", "c"], 40),
            "day": np.tile(pd.date_range("2024-01-01", periods=40), 3),
            "sold": random.integers(20, 400, 120).astype(float),
        }
    )
    return {"shops": table.sample(frac=1, random_state=int(random.integers(1000)), ignore_index=True)}


def _hits(random: np.random.Generator) -> Tables:
    minutes = random.integers(0, 6000, 200)
    minutes[:20] = minutes[20:40] + 30
    table = pd.DataFrame(
        {
            "user": random.choice(["u1", "u2", "u3"], 200),
            "at": pd.Timestamp("2024-01-01") + pd.to_timedelta(minutes, unit="min"),
        }
    )
    table.loc[:19, "user"] = table.loc[20:39, "user"].to_numpy()
    return {"hits": table}


def _prices(random: np.random.Generator) -> Tables:
    close = (100 * np.exp(random.normal(0, 0.03, 150).cumsum())).round(2)
    return {"prices": pd.DataFrame({"day": pd.date_range("2024-01-01", periods=150), "close": close})}


TASKS = (
    Task(
        name="mean of seven days",
        request="For each day of @sales from the first to the last, the mean amount of that day and the 6 days before it; "
        "a day without a row counts 0.",
        tables=_days,
        returns={"day": "datetime64[us]", "mean": "float64"},
        assumptions=("The first six days have no mean.",),
        right="""
            amount = sales.groupby("day")["amount"].sum().asfreq("D", fill_value=0.0)
            mean = amount.rolling(7).mean()
            return pd.DataFrame({"day": mean.index.as_unit("us"), "mean": mean.to_numpy()})
        """,
        same="""
            days = pd.date_range(sales["day"].min(), sales["day"].max(), freq="D")
            per_day = sales.groupby("day")["amount"].sum().reindex(days, fill_value=0.0)
            means = [per_day.iloc[place - 6:place + 1].sum() / 7 if place >= 6 else np.nan for place in range(len(days))]
            return pd.DataFrame({"day": days.as_unit("us"), "mean": means})
        """,
        wrong={
            "seven rows": ('.asfreq("D", fill_value=0.0)', ""),
            "shorter at the start": ("rolling(7)", "rolling(7, min_periods=1)"),
            "three days on both sides": ("rolling(7)", "rolling(7, center=True)"),
            "days without a row do not count": (
                'asfreq("D", fill_value=0.0)\nmean = amount.rolling(7).mean()',
                'asfreq("D")\nmean = amount.rolling(7, min_periods=1).mean()',
            ),
            "six days": ("rolling(7)", "rolling(6)"),
        },
        small="""
            sales = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=8).as_unit("us"),
                                  "amount": [7.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]})
        """,
        weak={"the mean amount": "assert run(sales=sales)['mean'].iloc[6] == pytest.approx(1.0)"},
        strong={
            "that day and the 6 days before": "out = run(sales=sales)['mean']\n"
            "assert out[:6].isna().all() and out[7] == pytest.approx(0.0)",
            "a day without a row counts 0": "out = run(sales=sales.iloc[[0, 7]].assign(amount=[7.0, 14.0]))\n"
            "assert len(out) == 8 and out['mean'].iloc[7] == pytest.approx(2.0)",
        },
    ),
    Task(
        name="longest streak",
        request="The longest number of days in a row with @visits.",
        tables=_visits,
        returns="int",
        assumptions=("Several visits on a day count as one day.", "No visits give 0."),
        right="""
            days = visits["day"].drop_duplicates().sort_values()
            if days.empty:
                return 0
            block = (days.diff() != pd.Timedelta(days=1)).cumsum()
            return int(days.groupby(block).size().max())
        """,
        same="""
            best = current = 0
            last = None
            for day in sorted(set(visits["day"])):
                current = current + 1 if last is not None and (day - last).days == 1 else 1
                best, last = max(best, current), day
            return best
        """,
        wrong={
            "visits for days": (".drop_duplicates()", ""),
            "not in order": (".sort_values()", ""),
            "one too few": (".size().max()", ".size().max() - 1"),
            "a gap of a day is allowed": ("!= pd.Timedelta(days=1)", "> pd.Timedelta(days=2)"),
            "the last streak": (".size().max()", ".size().iloc[-1]"),
        },
        small="""
            visits = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]), "who": "a"})
        """,
        weak={"days in a row": "assert run(visits=visits) == 3"},
        strong={
            "count as one day": "visits = visits.iloc[[0, 1, 1, 2]]\nassert run(visits=visits) == 3",
            "in a row": "visits['day'] = pd.to_datetime(['2024-01-02', '2024-01-04', '2024-01-01'])\n"
            "assert run(visits=visits) == 2",
        },
    ),
    Task(
        name="change to the day before",
        request="Of @shops, for each shop and day the change of sold to the row of the day before in the same shop, "
        "by shop and day.",
        tables=_shops,
        returns={"shop": "str", "day": "datetime64[us]", "change": "float64"},
        assumptions=("The first day of a shop has no change.",),
        right="""
            ordered = shops.sort_values(["shop", "day"]).reset_index(drop=True)
            ordered["change"] = ordered.groupby("shop")["sold"].diff()
            return ordered[["shop", "day", "change"]]
        """,
        same="""
            before, change = {}, []
            table = shops[["shop", "day", "sold"]].sort_values(["shop", "day"], kind="stable").reset_index(drop=True)
            for shop, sold in zip(table["shop"], table["sold"], strict=True):
                change.append(sold - before.get(shop, np.nan))
                before[shop] = sold
            table["change"] = pd.Series(change, dtype="float64")
            return table.drop(columns="sold")
        """,
        wrong={
            "across shops": ('ordered.groupby("shop")["sold"].diff()', 'ordered["sold"].diff()'),
            "a share": ('["sold"].diff()', '["sold"].pct_change()'),
            "not in order of days": ('shops.sort_values(["shop", "day"])', 'shops.sort_values("shop", kind="stable")'),
            "to the day after": (".diff()", ".diff(-1)"),
            "0 on the first day": (".diff()", ".diff().fillna(0.0)"),
        },
        small="""
            shops = pd.DataFrame({"shop": ["a", "a"], "day": pd.to_datetime(["2024-01-01", "2024-01-02"]).as_unit("us"),
                                  "sold": [10.0, 11.0]})
        """,
        weak={"the change of sold": "assert run(shops=shops)['change'].iloc[1] == 1.0"},
        strong={
            "in the same shop": "assert run(shops=shops.assign(shop=['a', 'b']))['change'].isna().all()",
            "the day before": "out = run(shops=shops.iloc[::-1].reset_index(drop=True))['change']\n"
            "assert np.isnan(out[0]) and out[1] == 1.0",
            "The first day has no change": "out = run(shops=shops.assign(sold=[10.0, 30.0]))['change']\n"
            "assert np.isnan(out[0]) and out[1] == 20.0",
        },
    ),
    Task(
        name="sessions",
        request="The number of sessions of each user in @hits, by user: a new session begins after more than 30 minutes "
        "without a hit.",
        tables=_hits,
        returns={"user": "str", "sessions": "int64"},
        assumptions=("Exactly 30 minutes is the same session.",),
        right="""
            ordered = hits.sort_values(["user", "at"])
            pause = ordered.groupby("user")["at"].diff()
            begins = pause.isna() | (pause > pd.Timedelta(minutes=30))
            return begins.groupby(ordered["user"]).sum().rename("sessions").astype("int64").reset_index()
        """,
        same="""
            rows = {}
            for user, part in hits.groupby("user"):
                moments = sorted(part["at"])
                pauses = [(after - before).total_seconds() > 1800 for before, after in zip(moments, moments[1:])]
                rows[user] = 1 + sum(pauses)
            return pd.DataFrame({"user": list(rows), "sessions": pd.Series(list(rows.values()), dtype="int64")})
        """,
        wrong={
            "from 30 minutes on": ("> pd.Timedelta", ">= pd.Timedelta"),
            "the first session does not count": ("pause.isna() | ", ""),
            "across users": ('ordered.groupby("user")["at"].diff()', 'hits.sort_values("at")["at"].diff()'),
            "not in order": ('hits.sort_values(["user", "at"])', "hits"),
            "30 seconds": ("minutes=30", "seconds=30"),
        },
        small="""
            hits = pd.DataFrame({"user": ["u", "u", "u"],
                                 "at": pd.to_datetime(["2024-01-01 10:00", "2024-01-01 10:10", "2024-01-01 12:00"])})
        """,
        edge="""
            hits = pd.DataFrame({"user": ["u", "u", "u"],
                                 "at": pd.to_datetime(["2024-01-01 10:00", "2024-01-01 10:30", "2024-01-01 12:00"])})
        """,
        weak={"The number of sessions": "assert list(run(hits=hits)['sessions']) == [2]"},
        strong={
            "Exactly 30 minutes": "hits['at'] = pd.to_datetime(['2024-01-01 10:00', '2024-01-01 10:30', '2024-01-01 11:00'])\n"
            "assert list(run(hits=hits)['sessions']) == [1]",
            "of each user": "assert list(run(hits=hits.assign(user=['v', 'u', 'v']))['sessions']) == [1, 2]",
            "in order of time": "assert list(run(hits=hits.iloc[[2, 0, 1]])['sessions']) == [2]",
        },
    ),
    Task(
        name="largest fall",
        request="The largest fall of close in @prices from its highest value until then, as a share from 0 to 1.",
        tables=_prices,
        returns="float",
        assumptions=("Rows are in order of day; if not, they are sorted.", "No rows give a missing value."),
        right="""
            close = prices.sort_values("day")["close"]
            fall = 1 - close / close.cummax()
            return float(fall.max())
        """,
        same="""
            peak, worst = float("-inf"), float("nan")
            for value in prices.sort_values("day", kind="stable")["close"].dropna():
                peak = max(peak, value)
                worst = 1 - value / peak if not worst >= 1 - value / peak else worst
            return float(worst)
        """,
        wrong={
            "the highest and the lowest of all": ("close / close.cummax()", "close.min() / close.max() + 0 * close"),
            "from the first value": ("close.cummax()", "close.iloc[0]"),
            "an amount": ("1 - close / close.cummax()", "close.cummax() - close"),
            "a negative share": ("float(fall.max())", "float(-fall.max())"),
            "of one day": ("1 - close / close.cummax()", "-close.pct_change()"),
        },
        small="""
            prices = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=3), "close": [2.0, 1.0, 1.5]})
        """,
        weak={"The largest fall": "assert run(prices=prices) == pytest.approx(0.5)"},
        strong={
            "until then": "prices['close'] = [1.0, 2.0, 4.0]\nassert run(prices=prices) == pytest.approx(0.0)",
            "its highest value": "prices['close'] = [2.0, 4.0, 3.0]\nassert run(prices=prices) == pytest.approx(0.25)",
            "over several days": "prices['close'] = [4.0, 3.0, 2.0]\nassert run(prices=prices) == pytest.approx(0.5)",
        },
    ),
)
