"""Checks of data: which rows break a rule, what is double, what has no counterpart."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _double(random: np.random.Generator) -> Tables:
    size = 160
    table = pd.DataFrame(
        {"key": random.choice([f"k{i}" for i in range(90)], size), "value": random.integers(0, 3, size)}
    )
    return {"records": table}


def _readings(random: np.random.Generator) -> Tables:
    days = pd.date_range("2024-01-01", periods=90)
    keep = random.random(90) < 0.75
    keep[[0, -1]] = True
    rows = pd.DataFrame({"day": days[keep], "level": random.integers(1, 30, int(keep.sum()))})
    return {"readings": rows.sample(frac=1, random_state=int(random.integers(1000)), ignore_index=True)}


def _ledgers(random: np.random.Generator) -> Tables:
    amounts = random.integers(100, 9000, 120) / 100
    ours = pd.DataFrame({"number": np.arange(120), "amount": amounts}).sample(
        frac=0.9, random_state=int(random.integers(1000))
    )
    off = np.where(random.random(120) < 0.15, random.choice([0.004, 0.02, -5.0], 120), 0.0)
    theirs = pd.DataFrame({"number": np.arange(120), "amount": (amounts + off)}).sample(
        frac=0.9, random_state=int(random.integers(1000))
    )
    return {"ours": ours.reset_index(drop=True), "theirs": theirs.reset_index(drop=True)}


def _staff(random: np.random.Generator) -> Tables:
    boss = random.integers(0, 40, 60).astype("float64")
    boss[random.random(60) < 0.15] = np.nan
    boss[5:9] = [5.0, 200.0, 7.0, 300.0]
    return {"staff": pd.DataFrame({"person": np.arange(60), "boss": boss})}


def _limits(random: np.random.Generator) -> Tables:
    value = random.normal(5, 3, 140).round(1)
    value[random.random(140) < 0.1] = np.nan
    value[:2] = [0.0, 10.0]
    return {"probes": pd.DataFrame({"site": random.choice(["a", "b", "c"], 140), "value": value})}


TASKS = (
    Task(
        name="keys that contradict",
        request="The keys of @records that stand there with more than one value, as a list, by name.",
        tables=_double,
        returns="list",
        assumptions=("The same row twice is no contradiction.",),
        right="""
            counts = records.groupby("key")["value"].nunique()
            return sorted(counts[counts > 1].index.tolist())
        """,
        same="""
            values = {}
            for key, value in zip(records["key"], records["value"]):
                values.setdefault(key, set()).add(value)
            return sorted(key for key, found in values.items() if len(found) > 1)
        """,
        wrong={
            "keys that stand there twice": ('["value"].nunique()', '["value"].size()'),
            "keys with one value": ("counts > 1", "counts == 1"),
            "more than two values": ("counts > 1", "counts > 2"),
            "as they come": 'counts = records.groupby("key", sort=False)["value"].nunique()\nreturn counts[counts > 1].index.tolist()',
        },
        small="""
            records = pd.DataFrame({"key": ["a", "a", "b"], "value": [1, 2, 1]})
        """,
        weak={"more than one value": "assert run(records=records) == ['a']"},
        strong={
            "is no contradiction": "records['value'] = 1\nassert run(records=records) == []",
            "by name": "four = pd.DataFrame({'key': ['b', 'b', 'a', 'a'], 'value': [1, 2, 1, 2]})\nassert run(records=four) == ['a', 'b']",
        },
    ),
    Task(
        name="gaps between days",
        request="The longest gap in @readings: the largest number of missing days in a row between two days with a reading.",
        tables=_readings,
        returns="int",
        assumptions=("Fewer than two days give 0.", "Rows need not be in order."),
        right="""
            days = readings["day"].sort_values()
            gaps = days.diff().dt.days - 1
            return int(max(gaps.max(), 0)) if len(days) > 1 else 0
        """,
        same="""
            there = set(readings["day"])
            if not there:
                return 0
            longest = current = 0
            for day in pd.date_range(min(there), max(there)):
                current = 0 if day in there else current + 1
                longest = max(longest, current)
            return longest
        """,
        wrong={
            "the distance of the days": (".dt.days - 1", ".dt.days"),
            "not in order": (".sort_values()", ""),
            "all missing days": ("int(max(gaps.max(), 0))", "int(gaps.sum())"),
            "the mean gap": ("gaps.max()", "gaps.mean()"),
            "the number of gaps": ("int(max(gaps.max(), 0))", "int((gaps > 0).sum())"),
        },
        small="""
            readings = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-04"]), "level": [1, 2]})
        """,
        weak={"The longest gap": "assert run(readings=readings) == 2"},
        strong={
            "largest": "four = pd.DataFrame({'day': pd.to_datetime(['2024-01-01', '2024-01-03', '2024-01-07', '2024-01-09']), 'level': 1})\nassert run(readings=four) == 3",
            "need not be in order": "assert run(readings=readings.iloc[::-1]) == 2",
            "missing days": "readings['day'] = pd.to_datetime(['2024-01-01', '2024-01-02'])\nassert run(readings=readings) == 0",
        },
    ),
    Task(
        name="two ledgers",
        request="How many numbers are in @ours and in @theirs with amounts that differ by more than a cent?",
        tables=_ledgers,
        returns="int",
        assumptions=("Numbers that are only in one of them do not count.", "Each number stands once in each."),
        right="""
            both = ours.merge(theirs, on="number", suffixes=("_ours", "_theirs"))
            return int(((both["amount_ours"] - both["amount_theirs"]).abs() > 0.01 + 1e-9).sum())
        """,
        same="""
            known = dict(zip(theirs["number"], theirs["amount"]))
            return sum(abs(amount - known[number]) > 0.010000001 for number, amount in zip(ours["number"], ours["amount"]) if number in known)
        """,
        wrong={
            "by place": 'size = min(len(ours), len(theirs))\nleft, right = ours["amount"].iloc[:size].to_numpy(), theirs["amount"].iloc[:size].to_numpy()\nreturn int((abs(left - right) > 0.01).sum())',
            "any difference": ("> 0.01 + 1e-9", "> 0"),
            "only ours is more": (".abs()", ""),
            "numbers of one ledger too": (
                'both = ours.merge(theirs, on="number", suffixes=("_ours", "_theirs"))',
                'both = ours.merge(theirs, on="number", suffixes=("_ours", "_theirs"), how="outer").fillna(0.0)',
            ),
            "a euro": ("> 0.01 + 1e-9", "> 1"),
        },
        small="""
            ours = pd.DataFrame({"number": [1, 2], "amount": [5.0, 10.0]})
            theirs = pd.DataFrame({"number": [1, 2], "amount": [5.0, 2.0]})
        """,
        weak={"that differ": "assert run(ours=ours, theirs=theirs) == 1"},
        strong={
            "by more than a cent": "theirs['amount'] = [5.004, 10.02]\nassert run(ours=ours, theirs=theirs) == 1",
            "only in one of them": "theirs['number'] = [1, 3]\nassert run(ours=ours, theirs=theirs) == 0",
            "by number": "assert run(ours=ours, theirs=theirs.iloc[::-1]) == 1",
        },
    ),
    Task(
        name="bosses who are not there",
        request="How many persons of @staff have a boss who is no person of @staff, or is themselves? A missing boss is fine.",
        tables=_staff,
        returns="int",
        assumptions=("Each person stands once.",),
        right="""
            boss = staff["boss"]
            wrong = boss.notna() & (~boss.isin(staff["person"]) | (boss == staff["person"]))
            return int(wrong.sum())
        """,
        same="""
            people = set(staff["person"])
            return sum(1 for row in staff.itertuples() if pd.notna(row.boss) and (row.boss not in people or row.boss == row.person))
        """,
        wrong={
            "a missing boss counts": ("boss.notna() & ", ""),
            "themselves is fine": (' | (boss == staff["person"])', ""),
            "only themselves": ('~boss.isin(staff["person"]) | ', ""),
            "bosses for persons": ("wrong.sum()", "boss[wrong].nunique()"),
            "persons with a good boss": ("int(wrong.sum())", "int((boss.notna() & ~wrong).sum())"),
        },
        small="""
            staff = pd.DataFrame({"person": [1, 2, 3], "boss": [9.0, 1.0, 9.0]})
        """,
        edge="""
            staff = pd.DataFrame({"person": [1, 2, 3], "boss": [9.0, 9.0, np.nan]})
        """,
        weak={"no person of @staff": "assert run(staff=staff) == 2"},
        strong={
            "is themselves": "staff['boss'] = [1.0, 1.0, 1.0]\nassert run(staff=staff) == 1",
            "A missing boss is fine": "staff['boss'] = [None, None, 8.0]\nassert run(staff=staff) == 1",
        },
    ),
    Task(
        name="values within limits",
        request="The share of values of @probes from 0 to 10 (both included) by site, by name; missing values are not within.",
        tables=_limits,
        returns={"site": "str", "share": "float64"},
        assumptions=("The share is of all rows of the site.",),
        right="""
            within = probes["value"].between(0, 10)
            return within.groupby(probes["site"]).mean().rename("share").reset_index()
        """,
        same="""
            rows = []
            for site, part in probes.groupby("site"):
                rows.append((site, sum(1 for value in part["value"] if 0 <= value <= 10) / len(part)))
            return pd.DataFrame(rows, columns=["site", "share"])
        """,
        wrong={
            "the bounds are not included": ("between(0, 10)", 'between(0, 10, inclusive="neither")'),
            "missing values are left out": (
                'within = probes["value"]',
                'probes = probes.dropna()\nwithin = probes["value"]',
            ),
            "missing values are within": ("between(0, 10)", "between(0, 10) | probes['value'].isna()"),
            "only the upper bound": ("between(0, 10)", "le(10)"),
            "the number": (".mean()", ".sum()"),
        },
        small="""
            probes = pd.DataFrame({"site": ["a", "a"], "value": [5.0, 50.0]})
        """,
        weak={"The share": "assert run(probes=probes)['share'].tolist() == [0.5]"},
        strong={
            "both included": "probes['value'] = [0.0, 10.0]\nassert run(probes=probes)['share'].tolist() == [1.0]",
            "from 0": "probes['value'] = [-0.1, 1.0]\nassert run(probes=probes)['share'].tolist() == [0.5]",
            "not within": "probes['value'] = [None, 1.0]\nassert run(probes=probes)['share'].tolist() == [0.5]",
        },
    ),
)
