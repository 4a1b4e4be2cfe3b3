"""Orders and ranks: ties, the best of each group, quantiles."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _products(random: np.random.Generator) -> Tables:
    table = pd.DataFrame(
        {
            "product": [f"p{number:02}" for number in random.permutation(60)],
            "category": random.choice(["food", "toys", "tools"], 60, p=[0.6, 0.37, 0.03]),
            "sold": random.integers(1, 12, 60),
        }
    )
    return {"products": table}


def _players(random: np.random.Generator) -> Tables:
    return {"players": pd.DataFrame({"player": [f"n{i}" for i in range(40)], "points": random.integers(0, 15, 40)})}


def _incomes(random: np.random.Generator) -> Tables:
    return {"incomes": pd.DataFrame({"income": random.integers(100, 900, 101).astype(float)})}


def _words(random: np.random.Generator) -> Tables:
    words = random.choice(["plum", "apple", "pear", ""], 120, p=[0.28, 0.28, 0.14, 0.3])
    table = pd.DataFrame({"word": pd.Series(words, dtype="str").replace("", None)})
    known = table["word"].dropna()
    short = known.value_counts().reindex(["plum", "apple"])
    level = ["plum" if short["apple"] > short["plum"] else "apple"] * int(abs(short["apple"] - short["plum"]))
    return {"words": pd.concat([table, pd.DataFrame({"word": pd.Series(level, dtype="str")})], ignore_index=True)}


def _customers(random: np.random.Generator) -> Tables:
    spent = (random.pareto(1.3, 90) * 100).round(0) + 10
    return {"customers": pd.DataFrame({"customer": np.arange(90), "spent": spent})}


TASKS = (
    Task(
        name="the best of each category",
        request="The 2 products of each category in @products with the most sold; equal ones by name. By category, "
        "the most sold first.",
        tables=_products,
        returns={"category": "str", "product": "str", "sold": "int64"},
        assumptions=("A category with one product has one row.",),
        right="""
            ranked = products.sort_values(["category", "sold", "product"], ascending=[True, False, True])
            return ranked.groupby("category").head(2)[["category", "product", "sold"]].reset_index(drop=True)
        """,
        same="""
            rows = products.to_dict("records")
            rows.sort(key=lambda row: (row["category"], -row["sold"], row["product"]))
            kept = [row for place, row in enumerate(rows)
                    if sum(other["category"] == row["category"] for other in rows[:place]) < 2]
            return pd.DataFrame(kept, columns=["category", "product", "sold"])
        """,
        wrong={
            "ties in the order of the rows": """
                ranked = products.sort_values("sold", ascending=False, kind="stable")
                best = ranked.groupby("category").head(2).sort_values("category", kind="stable")
                return best[["category", "product", "sold"]].reset_index(drop=True)
            """,
            "the least sold": ("ascending=[True, False, True]", "ascending=[True, True, True]"),
            "the first two rows": """
                best = products.groupby("category").head(2)
                best = best.sort_values(["category", "sold", "product"], ascending=[True, False, True])
                return best[["category", "product", "sold"]].reset_index(drop=True)
            """,
            "with all who are tied": """
                rank = products.groupby("category")["sold"].rank(method="min", ascending=False)
                best = products[rank <= 2].sort_values(["category", "sold", "product"], ascending=[True, False, True])
                return best[["category", "product", "sold"]].reset_index(drop=True)
            """,
        },
        small="""
            products = pd.DataFrame({"product": ["b", "a", "c"], "category": ["x", "x", "y"], "sold": [9, 5, 1]})
        """,
        weak={"The 2 products": "assert list(run(products=products)['product']) == ['b', 'a', 'c']"},
        strong={
            "equal ones by name": "products = pd.DataFrame({'product': ['d', 'c', 'b'], 'category': 'x', 'sold': [5, 5, 5]})\n"
            "assert list(run(products=products)['product']) == ['b', 'c']",
            "with the most sold": "products = pd.DataFrame({'product': ['d', 'c', 'b'], 'category': 'x', 'sold': [1, 5, 7]})\n"
            "assert list(run(products=products)['product']) == ['b', 'c']",
        },
    ),
    Task(
        name="places of a contest",
        request="The place of each player in @players by points, the most points first; equal points share the better "
        "place, and the next place is left out (1, 2, 2, 4).",
        tables=_players,
        returns={"player": "str", "points": "int64", "place": "int64"},
        assumptions=("Players with equal points keep their order.",),
        right="""
            place = players["points"].rank(method="min", ascending=False).astype("int64")
            table = players.assign(place=place).sort_values("place", kind="stable")
            return table[["player", "points", "place"]].reset_index(drop=True)
        """,
        same="""
            place = [int((players["points"] > points).sum()) + 1 for points in players["points"]]
            table = players.assign(place=place).sort_values("points", ascending=False, kind="stable")
            return table[["player", "points", "place"]].reset_index(drop=True)
        """,
        wrong={
            "no place is left out": ('method="min"', 'method="dense"'),
            "the worse place": ('method="min"', 'method="max"'),
            "each a place of its own": ('method="min"', 'method="first"'),
            "the fewest points first": ("ascending=False", "ascending=True"),
        },
        small="""
            players = pd.DataFrame({"player": ["a", "b", "c"], "points": [5, 9, 7]})
        """,
        weak={"The place of each player": "assert list(run(players=players)['player']) == ['b', 'c', 'a']"},
        strong={
            "(1, 2, 2, 4)": "players = pd.DataFrame({'player': list('abcd'), 'points': [1, 7, 9, 7]})\n"
            "out = run(players=players)\nassert list(out['place']) == [1, 2, 2, 4]\n"
            "assert list(out['player']) == ['c', 'b', 'd', 'a']",
        },
    ),
    Task(
        name="the top quarter",
        request="The mean income of the quarter of @incomes with the highest income: all at or above the third quartile.",
        tables=_incomes,
        returns="float",
        assumptions=("The quartile is interpolated linearly.",),
        right="""
            bound = incomes["income"].quantile(0.75)
            return float(incomes.loc[incomes["income"] >= bound, "income"].mean())
        """,
        same="""
            values = incomes["income"].to_numpy()
            return float(values[values >= np.percentile(values, 75)].mean()) if len(values) else float("nan")
        """,
        wrong={
            "above the quartile": (">= bound", "> bound"),
            "the lower quarter": (">= bound", "<= incomes['income'].quantile(0.25)"),
            "the quartile itself": ('float(incomes.loc[incomes["income"] >= bound, "income"].mean())', "float(bound)"),
            "the median of them": (".mean()", ".median()"),
            "the upper 25 rows": 'return float(incomes["income"].tail(len(incomes) // 4).mean())',
        },
        small="""
            incomes = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0]})
        """,
        weak={"The mean income": "assert run(incomes=incomes) == 4.0"},
        strong={
            "at or above": "incomes = pd.DataFrame({'income': [1.0, 2.0, 3.0, 4.0, 8.0]})\n"
            "assert run(incomes=incomes) == 6.0  # (4 + 8) / 2",
            "highest": "incomes = pd.DataFrame({'income': [9.0, 5.0, 7.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0]})\n"
            "assert run(incomes=incomes) == 8.0  # (7 + 8 + 9) / 3",
            "the mean": "incomes = pd.DataFrame({'income': [1.0] * 9 + [2.0, 2.0, 8.0]})\n"
            "assert run(incomes=incomes) == 4.0",
        },
    ),
    Task(
        name="the most frequent word",
        request="The most frequent word of @words; of equally frequent ones the first in the alphabet.",
        tables=_words,
        returns="str",
        assumptions=("Missing words do not count.", "No words give an empty text."),
        right="""
            counts = words["word"].value_counts()
            best = counts[counts == counts.max()]
            return str(sorted(best.index)[0]) if len(best) else ""
        """,
        same="""
            found = words["word"].dropna()
            return "" if found.empty else str(found.mode().sort_values().iloc[0])
        """,
        wrong={
            "the one that came first": 'counts = words["word"].value_counts(sort=True)\n'
            'return str(words.loc[words["word"].map(counts) == counts.max(), "word"].iloc[0]) if len(counts) else ""',
            "the last in the alphabet": ("sorted(best.index)[0]", "sorted(best.index)[-1]"),
            "missing words count": (
                'counts = words["word"].value_counts()',
                'counts = words["word"].fillna("").value_counts()',
            ),
            "the first in the alphabet": ("counts[counts == counts.max()]", "counts"),
        },
        small="""
            words = pd.DataFrame({"word": ["b", "b", "c"]})
        """,
        edge="""
            words = pd.DataFrame({"word": pd.Series(["b", "b", "a", None, None, None], dtype="str")})
        """,
        weak={"The most frequent word": "assert run(words=words) == 'b'"},
        strong={
            "the first in the alphabet": "words = pd.DataFrame({'word': ['c', 'b', 'b', 'c', 'a']})\n"
            "assert run(words=words) == 'b'",
            "do not count": "words = pd.DataFrame({'word': ['b', None, None]})\nassert run(words=words) == 'b'",
        },
    ),
    Task(
        name="customers who make 80 %",
        request="How few @customers spent together at least 80 % of all that was spent?",
        tables=_customers,
        returns="int",
        assumptions=("Those who spent most are counted first.",),
        right="""
            spent = customers["spent"].sort_values(ascending=False)
            if spent.sum() == 0:
                return 0
            return int((spent.cumsum() < 0.8 * spent.sum()).sum()) + 1
        """,
        same="""
            goal, so_far = customers["spent"].sum() * 0.8, 0.0
            for place, amount in enumerate(sorted(customers["spent"], reverse=True), start=1):
                so_far += amount
                if so_far >= goal and amount:
                    return place
            return 0
        """,
        wrong={
            "one too few": (" + 1", ""),
            "the smallest first": ("ascending=False", "ascending=True"),
            "as they come": ('customers["spent"].sort_values(ascending=False)', 'customers["spent"]'),
            "80 % of the customers": "return int(np.ceil(0.8 * len(customers)))",
            "more than 80 %": ("< 0.8", "<= 0.8"),
        },
        small="""
            customers = pd.DataFrame({"customer": [1, 2, 3], "spent": [70.0, 20.0, 10.0]})
        """,
        edge="""
            customers = pd.DataFrame({"customer": [1, 2, 3], "spent": [80.0, 10.0, 10.0]})
        """,
        weak={"at least 80 %": "assert run(customers=customers) == 2"},
        strong={
            "How few": "customers['spent'] = [5.0, 5.0, 90.0]\nassert run(customers=customers) == 1",
            "at least": "customers['spent'] = [10.0, 40.0, 40.0]\nassert run(customers=customers) == 2",
            "exactly 80 %": "customers['spent'] = [40.0, 40.0, 20.0]\nassert run(customers=customers) == 2",
        },
    ),
)
