"""Right functions on data that a careless sample tears: rows that say something together only."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _weights(random: np.random.Generator) -> Tables:
    count = 900
    table = pd.DataFrame(
        {
            "patient": np.repeat([f"p{number:04}" for number in range(count)], 2),
            "visit": ["first", "second"] * count,
            "weight": random.integers(500, 1100, 2 * count) / 10,
        }
    )
    return {"weights": table.iloc[random.permutation(2 * count)].reset_index(drop=True)}


def _log(random: np.random.Generator) -> Tables:
    starts = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.cumsum(random.integers(20, 90, 800)), unit="min")
    ends = starts + pd.to_timedelta(random.integers(2, 15, 800), unit="min")
    jobs = np.arange(800)
    begun, ended = (
        pd.DataFrame({"at": at, "job": jobs, "event": event}) for at, event in ((starts, "start"), (ends, "end"))
    )
    return {"log": pd.concat([begun, ended]).sort_values(["at", "job"], ignore_index=True)}


def _ledger(random: np.random.Generator) -> Tables:
    rows = []
    for booking in range(500):
        cents = random.integers(100, 9000, random.integers(1, 4))
        wrong = 5 if booking % 97 == 3 else 0
        rows += [(booking, "debit", int(cent)) for cent in cents] + [(booking, "credit", int(cents.sum()) + wrong)]
    return {"ledger": pd.DataFrame(rows, columns=["booking", "side", "cents"])}


def _load(random: np.random.Generator) -> Tables:
    hours = pd.date_range("2024-01-01", periods=2400, freq="h")
    return {"load": pd.DataFrame({"hour": hours, "megawatts": random.integers(300, 900, 2400)})}


def _export(random: np.random.Generator) -> Tables:
    kilos, cents = random.integers(1, 400, 150).astype(str), random.integers(100, 900, 150).astype(str)
    return {"export": pd.DataFrame({"weight": ["kg", *kilos], "price": ["cent", *cents]})}


def _stores(random: np.random.Generator) -> Tables:
    months = pd.date_range("2023-01-01", periods=12, freq="MS")
    table = pd.DataFrame({"store": np.repeat([f"S{n:03}" for n in range(150)], 12), "month": np.tile(months, 150)})
    return {"stores": table.assign(sales=random.integers(100, 900, len(table)))}


def _report(random: np.random.Generator) -> Tables:
    rows = []
    for area in range(300):
        for line in range(int(random.integers(2, 7))):
            rows.append((f"Area {area}" if line == 0 else None, int(random.integers(10, 900))))
    return {"report": pd.DataFrame(rows, columns=["area", "cost"])}


def _games(random: np.random.Generator) -> Tables:
    count = 700
    table = pd.DataFrame({"game": np.repeat(np.arange(count), 2), "team": random.choice(list("ABCDEF"), 2 * count)})
    return {"games": table.assign(goals=random.integers(0, 5, 2 * count))}


TASKS = (
    Task(
        name="weight that was lost",
        request="The mean change of weight from the first to the second visit in @weights.",
        tables=_weights,
        returns="float",
        assumptions=("Each patient has both visits.",),
        right="""
            wide = weights.pivot(index="patient", columns="visit", values="weight")
            return float((wide["second"] - wide["first"]).mean())
        """,
        same="""
            ordered = weights.sort_values(["patient", "visit"])["weight"].to_numpy()
            return float(np.mean(ordered[1::2] - ordered[0::2]))
        """,
        small="weights = pd.DataFrame({'patient': ['a', 'a'], 'visit': ['first', 'second'], 'weight': [80.0, 78.0]})",
        weak={"The mean": "assert run(weights=weights) == -2.0"},
    ),
    Task(
        name="minutes of all jobs",
        request="The minutes of all jobs in @log together, from start to end.",
        tables=_log,
        returns="float",
        assumptions=("Each job has a start and an end.",),
        right="""
            times = log.pivot(index="job", columns="event", values="at")
            return float((times["end"] - times["start"]).dt.total_seconds().sum() / 60)
        """,
        same="""
            signs = log["event"].map({"start": -1, "end": 1})
            first = log["at"].min()
            return float(((log["at"] - first).dt.total_seconds() * signs).sum() / 60)
        """,
        small="log = pd.DataFrame({'at': pd.to_datetime(['2024-01-01 10:00', '2024-01-01 10:30']), 'job': [1, 1], 'event': ['start', 'end']})",
        weak={"The minutes": "assert run(log=log) == 30.0"},
    ),
    Task(
        name="bookings that do not add up",
        request="The number of bookings in @ledger whose debits are not its credit.",
        tables=_ledger,
        returns="int",
        assumptions=("Each booking has one credit.",),
        right="""
            signed = ledger["cents"].where(ledger["side"] == "debit", -ledger["cents"])
            return int((signed.groupby(ledger["booking"]).sum() != 0).sum())
        """,
        same="""
            credit = ledger[ledger["side"] == "credit"].set_index("booking")["cents"]
            debits = ledger[ledger["side"] == "debit"].groupby("booking")["cents"].sum()
            return int((credit - debits != 0).sum()) if len(credit) == len(debits) else int((credit.reindex(debits.index) != debits).sum())
        """,
        small="ledger = pd.DataFrame({'booking': [1, 1], 'side': ['debit', 'credit'], 'cents': [5, 6]})",
        weak={"The number": "assert run(ledger=ledger) == 1"},
    ),
    Task(
        name="largest rise in a day",
        request="The largest rise of megawatts in @load against the hour 24 hours before.",
        tables=_load,
        returns="float",
        assumptions=("There is a row for each hour.", "Without such a pair of hours, it is missing."),
        right="""
            return float(load["megawatts"].diff(24).max())
        """,
        same="""
            by_hour = load.set_index("hour")["megawatts"]
            before = by_hour.reindex(by_hour.index - pd.Timedelta(hours=24)).to_numpy()
            rises = by_hour.to_numpy() - before
            return float(np.nanmax(rises)) if np.isfinite(rises).any() else float("nan")
        """,
        small="load = pd.DataFrame({'hour': pd.date_range('2024-01-01', periods=26, freq='h'), 'megawatts': range(26)})",
        weak={"The largest": "assert run(load=load) == 24.0"},
    ),
    Task(
        name="price below a header",
        request="The mean price in @export. Its first row has the units.",
        tables=_export,
        returns="float",
        assumptions=("The first row does not count.",),
        right="""
            return float(export["price"].iloc[1:].astype(float).mean())
        """,
        same="""
            prices = [price for price in export["price"] if price != "cent"]
            return float(np.mean([float(price) for price in prices]))
        """,
        small="export = pd.DataFrame({'weight': ['kg', '1', '2'], 'price': ['cent', '5', '7']})",
        weak={"The mean": "assert run(export=export) == 6.0"},
    ),
    Task(
        name="growth of each store",
        request="The growth of sales of each store in @stores from its first to its last month, as a share, by store.",
        tables=_stores,
        returns={"store": "str", "growth": "float64"},
        assumptions=("Each store has twelve months, in order.",),
        right="""
            sales = stores.groupby("store")["sales"]
            return (sales.last() / sales.first() - 1).rename("growth").reset_index()
        """,
        same="""
            names, rows = stores["store"].to_numpy()[::12], stores["sales"].to_numpy().reshape(-1, 12)
            return pd.DataFrame({"store": pd.Series(names, dtype="str"), "growth": rows[:, -1] / rows[:, 0] - 1})
        """,
        small="stores = pd.DataFrame({'store': ['a'] * 12, 'month': pd.date_range('2023-01-01', periods=12, freq='MS'), 'sales': range(1, 13)})",
        weak={"The growth": "assert list(run(stores=stores)['growth']) == [11.0]"},
    ),
    Task(
        name="cost of each area",
        request="The cost of each area in @report, in the order of the report. The name stands in the first row of an area only.",
        tables=_report,
        returns={"area": "str", "cost": "int64"},
        assumptions=("No two areas have one name.",),
        right="""
            area = report["area"].ffill()
            return report["cost"].groupby(area, sort=False).sum().reset_index()
        """,
        same="""
            number = report["area"].notna().cumsum()
            costs = report["cost"].groupby(number).sum()
            return pd.DataFrame({"area": report["area"].dropna().to_numpy(), "cost": costs.to_numpy()}).astype({"area": "str"})
        """,
        small="report = pd.DataFrame({'area': ['N', None, 'S'], 'cost': [1, 2, 3]})",
        weak={"The cost": "assert list(run(report=report)['cost']) == [3, 3]"},
    ),
    Task(
        name="games without a winner",
        request="The number of games in @games that no team has won.",
        tables=_games,
        returns="int",
        assumptions=("Each game has two rows, one for each team.",),
        right="""
            goals = games["goals"].to_numpy()
            return int((goals[0::2] == goals[1::2]).sum())
        """,
        same="""
            return int((games.groupby("game")["goals"].nunique() == 1).sum())
        """,
        small="games = pd.DataFrame({'game': [1, 1, 2, 2], 'team': list('ABAB'), 'goals': [1, 1, 0, 2]})",
        weak={"The number": "assert run(games=games) == 1"},
    ),
)
