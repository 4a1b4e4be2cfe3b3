"""Statistics: deviations, weights, correlations, outliers, rounding."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _tests(random: np.random.Generator) -> Tables:
    table = {"group": random.choice(["a", "b", "c"], 90), "score": random.normal(50, 9, 90).round(1)}
    return {
        "scores": pd.concat([pd.DataFrame(table), pd.DataFrame({"group": ["d"], "score": [40.0]})], ignore_index=True)
    }


def _funds(random: np.random.Generator) -> Tables:
    table = {
        "fund": random.choice(["f1", "f2", "f3"], 60),
        "weight": random.integers(0, 9, 60).astype(float),
        "gain": random.normal(0.04, 0.1, 60).round(3),
    }
    return {"holdings": pd.DataFrame(table)}


def _pairs(random: np.random.Generator) -> Tables:
    hours = random.integers(0, 12, 80).astype(float)
    mark = hours**3 + random.normal(0, 150, 80).round(0)
    mark[random.random(80) < 0.1] = np.nan
    return {"marks": pd.DataFrame({"hours": hours, "mark": mark})}


def _cells(random: np.random.Generator) -> Tables:
    value = random.normal(10, 2, 150).round(1)
    value[random.integers(0, 150, 9)] = random.choice([60.0, -40.0, 25.0], 9)
    return {"cells": pd.DataFrame({"batch": random.choice(["p", "q"], 150), "value": value})}


def _votes(random: np.random.Generator) -> Tables:
    return {"votes": pd.DataFrame({"party": [f"P{i}" for i in range(7)], "votes": random.integers(1000, 60_000, 7)})}


TASKS = (
    Task(
        name="deviation by group",
        request="The sample standard deviation of score (n - 1) in @scores by group, by name; missing for a group with one row.",
        tables=_tests,
        returns={"group": "str", "deviation": "float64"},
        assumptions=("It is divided by n - 1.",),
        right="""
            return scores.groupby("group")["score"].std(ddof=1).rename("deviation").reset_index()
        """,
        same="""
            rows = []
            for group, part in scores.groupby("group")["score"]:
                centred = part - part.mean()
                rows.append((group, float(np.sqrt((centred**2).sum() / (len(part) - 1))) if len(part) > 1 else np.nan))
            return pd.DataFrame(rows, columns=["group", "deviation"])
        """,
        wrong={
            "of the population": ("ddof=1", "ddof=0"),
            "the variance": (".std(ddof=1)", ".var(ddof=1)"),
            "0 for a group with one row": (".std(ddof=1)", ".std(ddof=1).fillna(0.0)"),
            "small groups are lost": (".std(ddof=1)", ".std(ddof=1).dropna()"),
            "the mean deviation": (
                ".std(ddof=1)",
                ".agg(lambda part: (part - part.mean()).abs().mean() if len(part) > 1 else np.nan)",
            ),
        },
        small="""
            scores = pd.DataFrame({"group": ["a", "a"], "score": [1.0, 1.0 + 2 ** 0.5]})
        """,
        weak={"standard deviation": "assert run(scores=scores)['deviation'].iloc[0] == pytest.approx(1.0)"},
        strong={
            "(n - 1)": "three = pd.DataFrame({'group': 'a', 'score': [1.0, 2.0, 6.0]})\nassert run(scores=three)['deviation'].iloc[0] == pytest.approx(7 ** 0.5)  # (4 + 1 + 9) / 2",
            "missing for a group with one row": "out = run(scores=scores.assign(group=['a', 'b']))\nassert len(out) == 2 and out['deviation'].isna().all()",
        },
    ),
    Task(
        name="weighted gain",
        request="The gain of each fund in @holdings, weighted by weight, by fund.",
        tables=_funds,
        returns={"fund": "str", "gain": "float64"},
        assumptions=("A fund whose weights are all 0 has a missing gain.",),
        right="""
            sums = holdings.assign(part=holdings["weight"] * holdings["gain"]).groupby("fund")[["part", "weight"]].sum()
            gain = sums["part"] / sums["weight"].where(sums["weight"] != 0)
            return gain.rename("gain").reset_index()
        """,
        same="""
            rows = []
            for fund, part in holdings.groupby("fund"):
                known = part["weight"].sum() != 0
                rows.append((fund, float(np.average(part["gain"], weights=part["weight"])) if known else np.nan))
            return pd.DataFrame(rows, columns=["fund", "gain"])
        """,
        wrong={
            "not weighted": 'return holdings.groupby("fund")["gain"].mean().reset_index()',
            "not divided": ('sums["part"] / sums["weight"].where(sums["weight"] != 0)', 'sums["part"]'),
            "divided by the number of rows": (
                'sums["weight"].where(sums["weight"] != 0)',
                'holdings.groupby("fund").size()',
            ),
            "divided by all weights": ('sums["weight"].where(sums["weight"] != 0)', 'sums["weight"].sum()'),
        },
        small="""
            holdings = pd.DataFrame({"fund": ["a", "a"], "weight": [1.0, 1.0], "gain": [0.1, 0.3]})
        """,
        weak={"The gain of each fund": "assert run(holdings=holdings)['gain'].iloc[0] == pytest.approx(0.2)"},
        strong={
            "weighted by weight": "holdings['weight'] = [3.0, 1.0]\nassert run(holdings=holdings)['gain'].iloc[0] == pytest.approx(0.15)",
            "of each fund": "holdings['fund'] = ['a', 'b']\nassert list(run(holdings=holdings)['gain']) == pytest.approx([0.1, 0.3])",
            "all 0": "holdings['weight'] = 0.0\nassert run(holdings=holdings)['gain'].isna().all()",
        },
    ),
    Task(
        name="rank correlation",
        request="Spearman's correlation of hours and mark in @marks, over the rows in which both are known.",
        tables=_pairs,
        returns="float",
        assumptions=("Ties share the mean rank.", "Fewer than two rows give a missing value."),
        right="""
            known = marks[["hours", "mark"]].dropna()
            ranks = known.rank()
            return float(ranks["hours"].corr(ranks["mark"]))
        """,
        same="""
            both = marks.dropna(subset=["hours", "mark"])
            return float(both["hours"].rank(method="average").corr(both["mark"].rank(method="average")))
        """,
        wrong={
            "Pearson's": ("known.rank()", "known"),
            "missing as 0": (".dropna()", ".fillna(0.0)"),
            "ties by their order": ("known.rank()", 'known.rank(method="first")'),
            "ranked before rows are left out": (
                'known = marks[["hours", "mark"]].dropna()\nranks = known.rank()',
                'ranks = marks[["hours", "mark"]].rank()',
            ),
        },
        small="""
            marks = pd.DataFrame({"hours": [1.0, 2.0, 3.0], "mark": [10.0, 20.0, 30.0]})
        """,
        edge="""
            marks = pd.DataFrame({"hours": [1.0, 2.0, 2.0, 5.0, 3.0], "mark": [10.0, np.nan, 90.0, 30.0, 5.0]})
        """,
        weak={"correlation of hours and mark": "assert run(marks=marks) == pytest.approx(1.0)"},
        strong={
            "Spearman's": "marks['mark'] = [1.0, 2.0, 900.0]\nassert run(marks=marks) == pytest.approx(1.0)",
            "both are known": "more = pd.DataFrame({'hours': [1.0, 2.0, 3.0, 2.5], 'mark': [3.0, 2.0, 1.0, None]})\nassert run(marks=more) == pytest.approx(-1.0)",
            "Ties share": "ties = pd.DataFrame({'hours': [1.0, 1.0, 2.0], 'mark': [1.0, 2.0, 2.0]})\nassert run(marks=ties) == pytest.approx(0.5)",
        },
    ),
    Task(
        name="values far away",
        request="How many values of @cells are outliers: more than 1.5 times the interquartile range below the first or above the third quartile of their batch?",
        tables=_cells,
        returns="int",
        assumptions=("Quartiles are interpolated linearly.", "A value on the bound is no outlier."),
        right="""
            groups = cells.groupby("batch")["value"]
            low, high = groups.transform("quantile", 0.25), groups.transform("quantile", 0.75)
            reach = 1.5 * (high - low)
            return int(((cells["value"] < low - reach) | (cells["value"] > high + reach)).sum())
        """,
        same="""
            total = 0
            for _, part in cells.groupby("batch"):
                values = part["value"].to_numpy()
                first, third = np.percentile(values, [25, 75])
                total += int(np.count_nonzero((values < first - 1.5 * (third - first)) | (values > third + 1.5 * (third - first))))
            return total
        """,
        wrong={
            "only above": ('(cells["value"] < low - reach) | ', ""),
            "of all batches": ('cells.groupby("batch")', "cells.groupby(lambda row: 0)"),
            "three times the range": ("1.5 *", "3 *"),
            "by deviations": 'groups = cells.groupby("batch")["value"]\nreturn int(((cells["value"] - groups.transform("mean")).abs() > 3 * groups.transform("std")).sum())',
            "the bound too": ("> high + reach", ">= high + reach"),
        },
        small="""
            cells = pd.DataFrame({"batch": "p", "value": [1.0, 2.0, 3.0, 4.0, 5.0, 100.0]})
        """,
        edge="""
            cells = pd.DataFrame({"batch": "p", "value": [0.0, 1.0, 2.0, 3.0, 6.0]})
        """,
        weak={"How many values": "assert run(cells=cells) == 1"},
        strong={
            "below the first": "cells['value'] = [1.0, 2.0, 3.0, 4.0, 5.0, -100.0]\nassert run(cells=cells) == 1",
            "of their batch": "two = pd.concat([cells, cells.assign(batch='q', value=cells['value'] + 98)])\nassert run(cells=two) == 2",
            "no outlier": "five = pd.DataFrame({'batch': 'p', 'value': [0.0, 1.0, 2.0, 3.0, 6.0]})\nassert run(cells=five) == 0  # 3 + 1.5 * 2",
            "1.5 times": "five = pd.DataFrame({'batch': 'p', 'value': [0.0, 1.0, 2.0, 3.0, 7.0]})\nassert run(cells=five) == 1",
        },
    ),
    Task(
        name="shares of votes",
        request="The share of each party of @votes in percent with one decimal, the largest first.",
        tables=_votes,
        returns={"party": "str", "percent": "float64"},
        assumptions=("Parties with the same number of votes keep their order.", "The shares need not add up to 100."),
        right="""
            percent = (100 * votes["votes"] / votes["votes"].sum()).round(1)
            table = pd.DataFrame({"party": votes["party"], "percent": percent, "votes": votes["votes"]})
            return table.sort_values("votes", ascending=False, kind="stable")[["party", "percent"]].reset_index(drop=True)
        """,
        same="""
            ordered = votes.sort_values("votes", ascending=False, kind="stable").reset_index(drop=True)
            total = float(ordered["votes"].sum())
            return pd.DataFrame({"party": ordered["party"], "percent": [round(100 * n / total, 1) for n in ordered["votes"]]})
        """,
        wrong={
            "a share from 0 to 1": ("100 * ", "1 * "),
            "whole percent": (".round(1)", ".round(0)"),
            "as they come": ('table.sort_values("votes", ascending=False, kind="stable")', "table"),
            "not rounded": (".round(1)", ""),
            "of the largest party": ('votes["votes"].sum()', 'votes["votes"].max()'),
        },
        small="""
            votes = pd.DataFrame({"party": ["A", "B"], "votes": [3, 1]})
        """,
        weak={"The share of each party": "assert list(run(votes=votes)['percent']) == [75.0, 25.0]"},
        strong={
            "with one decimal": "votes['votes'] = [1, 2]\nassert list(run(votes=votes)['percent']) == [66.7, 33.3]",
            "the largest first": "votes['votes'] = [1, 3]\nassert list(run(votes=votes)['party']) == ['B', 'A']",
        },
    ),
)
