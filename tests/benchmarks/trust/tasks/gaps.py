"""Missing and unreadable values: what counts, and what fills a gap."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _sensors(random: np.random.Generator) -> Tables:
    value = random.normal(20, 4, 240).round(1)
    value[random.random(240) < 0.1] = -999.0
    value[random.random(240) < 0.05] = np.nan
    table = {"sensor": random.choice(list("abcd"), 240), "hour": np.tile(np.arange(24), 10), "value": value}
    return {"readings": pd.DataFrame(table)}


def _form(random: np.random.Generator) -> Tables:
    count = 160
    table = pd.DataFrame(
        {
            "name": random.choice(["Ann", "Bo", "Cy", ""], count, p=[0.4, 0.3, 0.2, 0.1]),
            "city": pd.Series(random.choice(["Rome", "Oslo", "", "-"], count, p=[0.5, 0.2, 0.1, 0.2])).replace(
                "-", None
            ),
            "age": np.where(random.random(count) < 0.15, np.nan, random.integers(18, 90, count)),
        }
    )
    return {"form": table}


def _steps(random: np.random.Generator) -> Tables:
    value = random.integers(1, 50, 180).astype(float)
    value[random.random(180) < 0.45] = np.nan
    table = {"person": np.repeat(["x", "y", "z"], 60), "day": np.tile(np.arange(60), 3), "steps": value}
    return {"steps": pd.DataFrame(table)}


def _stores(random: np.random.Generator) -> Tables:
    sales = random.integers(1, 90, 200).astype(float)
    store = random.choice(["s1", "s2", "s3", "s4", "s5"], 200)
    sales[(store == "s3") | (random.random(200) < 0.2)] = np.nan
    return {"stores": pd.DataFrame({"store": store, "sales": sales})}


def _texts(random: np.random.Generator) -> Tables:
    cents = random.integers(100, 900_000, 120)
    texts = [f"{cent / 100:,.2f}" for cent in cents]
    shown = [random.choice([text, f" {text} ", "n/a"], p=[0.7, 0.2, 0.1]) for text in texts]
    return {"bills": pd.DataFrame({"bill": np.arange(120), "amount": pd.Series(shown, dtype="str")})}


TASKS = (
    Task(
        name="a number for missing",
        request="The mean value of each sensor in @readings, by sensor; -999 stands for a missing value.",
        tables=_sensors,
        returns={"sensor": "str", "value": "float64"},
        assumptions=("A sensor without values has a missing mean.",),
        right="""
            value = readings["value"].mask(readings["value"] == -999)
            return value.groupby(readings["sensor"]).mean().rename("value").reset_index()
        """,
        same="""
            clean = readings.replace({"value": {-999.0: np.nan}})
            return clean.groupby("sensor", as_index=False)["value"].mean()
        """,
        wrong={
            "-999 counts": ('.mask(readings["value"] == -999)', ""),
            "-999 counts as 0": ('.mask(readings["value"] == -999)', '.mask(readings["value"] == -999, 0.0)'),
            "all negative values are missing": ('readings["value"] == -999', 'readings["value"] < 0'),
            "the median": (".mean()", ".median()"),
            "sensors without values are lost": (".mean().rename", ".mean().dropna().rename"),
        },
        small="""
            readings = pd.DataFrame({"sensor": ["a", "a", "b"], "hour": [0, 1, 0], "value": [10.0, 20.0, 5.0]})
        """,
        edge="""
            readings = pd.DataFrame({"sensor": ["a", "a", "b"], "hour": [0, 1, 0], "value": [-5.0, 20.0, -999.0]})
        """,
        weak={"The mean value of each sensor": "assert list(run(readings=readings)['value']) == [15.0, 5.0]"},
        strong={
            "-999 stands for a missing value": "readings['value'] = [-999.0, 20.0, 5.0]\n"
            "assert list(run(readings=readings)['value']) == [20.0, 5.0]",
            "has a missing mean": "readings['value'] = [-5.0, -15.0, -999.0]\nout = run(readings=readings)\n"
            "assert out['value'].iloc[0] == -10.0 and np.isnan(out['value'].iloc[1])",
            "mean": "out = run(readings=readings.assign(sensor='a', value=[1.0, 2.0, 9.0]))\n"
            "assert list(out['value']) == [4.0]",
        },
    ),
    Task(
        name="share of gaps",
        request="The share of missing cells of each column of @form, as column and share, the largest share first; "
        "empty text is missing too.",
        tables=_form,
        returns={"column": "str", "share": "float64"},
        assumptions=("Columns with the same share keep their order.",),
        right="""
            missing = form.isna() | (form == "")
            share = missing.mean().sort_values(ascending=False, kind="stable")
            return pd.DataFrame({"column": share.index, "share": share.to_numpy()})
        """,
        same="""
            rows = []
            for name in form.columns:
                empty = [pd.isna(cell) or (isinstance(cell, str) and cell == "") for cell in form[name]]
                rows.append((name, sum(empty) / len(form)))
            rows.sort(key=lambda row: -row[1])
            return pd.DataFrame(rows, columns=["column", "share"])
        """,
        wrong={
            "empty text is there": (' | (form == "")', ""),
            "counts": ("missing.mean()", "missing.sum().astype(float)"),
            "the share that is there": ("missing.mean()", "(~missing).mean()"),
            "the smallest first": ("ascending=False", "ascending=True"),
            "only empty text": ("form.isna() | ", ""),
        },
        small="""
            form = pd.DataFrame({"name": ["Ann", None], "age": [1.0, 2.0]})
        """,
        weak={
            "share of missing cells": "assert run(form=form).to_dict('list') == "
            "{'column': ['name', 'age'], 'share': [0.5, 0.0]}"
        },
        strong={
            "empty text is missing too": "form['name'] = ['Ann', '']\n"
            "assert list(run(form=form)['share']) == [0.5, 0.0]",
            "the largest share first": "form['age'] = [None, None]\n"
            "assert list(run(form=form)['column']) == ['age', 'name']",
        },
    ),
    Task(
        name="filled for two days",
        request="@steps with gaps filled with the last value of the same person, at most 2 days long. "
        "Rows as they are (they are in order of day).",
        tables=_steps,
        returns={"person": "str", "day": "int64", "steps": "float64"},
        assumptions=("Of a longer gap the first two days are filled.",),
        right="""
            filled = steps.groupby("person")["steps"].ffill(limit=2)
            return steps.assign(steps=filled).reset_index(drop=True)
        """,
        same="""
            parts = [part.assign(steps=part["steps"].ffill(limit=2)) for _, part in steps.groupby("person", sort=False)]
            return pd.concat(parts).sort_index().reset_index(drop=True)
        """,
        wrong={
            "across persons": ('steps.groupby("person")["steps"]', 'steps["steps"]'),
            "without a limit": ("limit=2", ""),
            "one day": ("limit=2", "limit=1"),
            "backwards": (".ffill(", ".bfill("),
        },
        small="""
            steps = pd.DataFrame({"person": ["x"] * 3, "day": [0, 1, 2], "steps": [5.0, None, 7.0]})
        """,
        weak={"filled with the last value": "assert list(run(steps=steps)['steps']) == [5.0, 5.0, 7.0]"},
        strong={
            "at most 2 days": "steps = pd.DataFrame({'person': 'x', 'day': range(5), "
            "'steps': [5.0, None, None, None, 1.0]})\nout = run(steps=steps)['steps']\n"
            "assert out.tolist()[:3] == [5.0, 5.0, 5.0] and np.isnan(out[3])",
            "of the same person": "out = run(steps=steps.assign(person=['x', 'y', 'y']))['steps']\n"
            "assert np.isnan(out[1])",
        },
        other={
            "A gap of more than two days stays as it is.": """
                gap = steps["steps"].isna()
                run_of = (gap != gap.groupby(steps["person"]).shift()).groupby(steps["person"]).cumsum()
                length = gap.groupby([steps["person"], run_of]).transform("size")
                filled = steps.groupby("person")["steps"].ffill()
                return steps.assign(steps=steps["steps"].where(~gap | (length > 2), filled)).reset_index(drop=True)
            """
        },
    ),
    Task(
        name="a sum of nothing",
        request="The sales of each store in @stores, by store; missing (not 0) for a store of which no value is known.",
        tables=_stores,
        returns={"store": "str", "sales": "float64"},
        assumptions=("Missing values of a store with others are left out.",),
        right="""
            return stores.groupby("store")["sales"].sum(min_count=1).reset_index()
        """,
        same="""
            sums = stores.groupby("store")["sales"].agg(lambda part: part.dropna().sum() if part.notna().any() else np.nan)
            return sums.astype("float64").reset_index()
        """,
        wrong={
            "0 for nothing": ("min_count=1", ""),
            "the store is left out": ('stores.groupby("store")', 'stores.dropna().groupby("store")'),
            "missing if one is missing": (
                ".sum(min_count=1)",
                '.agg(lambda part: part.sum(skipna=False)).astype("float64")',
            ),
            "two values are needed": ("min_count=1", "min_count=2"),
        },
        small="""
            stores = pd.DataFrame({"store": ["a", "a", "b", "b"], "sales": [1.0, 2.0, 5.0, 1.0]})
        """,
        edge="""
            stores = pd.DataFrame({"store": ["a"], "sales": [1.0]})
        """,
        weak={"The sales of each store": "assert list(run(stores=stores)['sales']) == [3.0, 6.0]"},
        strong={
            "missing (not 0)": "stores['sales'] = [1.0, 2.0, None, None]\nout = run(stores=stores)['sales']\n"
            "assert out[0] == 3.0 and np.isnan(out[1])",
            "are left out": "stores['sales'] = [1.0, None, 5.0, 1.0]\n"
            "assert list(run(stores=stores)['sales']) == [1.0, 6.0]",
        },
    ),
    Task(
        name="amounts as text",
        request="The sum of amount in @bills, which is text such as 1,234.50; what cannot be read counts 0.",
        tables=_texts,
        returns="float",
        assumptions=("The comma separates thousands.", "Blanks around a number are allowed."),
        right="""
            plain = bills["amount"].str.strip().str.replace(",", "", regex=False)
            return float(pd.to_numeric(plain, errors="coerce").sum())
        """,
        same="""
            def number(text):
                try:
                    return float(str(text).replace(",", ""))
                except ValueError:
                    return 0.0

            return float(sum(map(number, bills["amount"].dropna())))
        """,
        wrong={
            "amounts with a comma are lost": ('.str.replace(",", "", regex=False)', ""),
            "the comma is a decimal one": (
                '.str.replace(",", "", regex=False)',
                '.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)',
            ),
            "only the first thousand": (
                '.str.strip().str.replace(",", "", regex=False)',
                '.str.strip().str.split(",").str[0]',
            ),
            "without cents": (
                'float(pd.to_numeric(plain, errors="coerce").sum())',
                'float(pd.to_numeric(plain.str.split(".").str[0], errors="coerce").sum())',
            ),
        },
        small="""
            bills = pd.DataFrame({"bill": [1, 2], "amount": ["10.00", "20.00"]})
        """,
        weak={"The sum of amount": "assert run(bills=bills) == 30.0"},
        strong={
            "text such as 1,234.50": "bills['amount'] = ['1,234.50', ' 2,000,000.00 ']\n"
            "assert run(bills=bills) == pytest.approx(2001234.5)",
            "cannot be read counts 0": "bills['amount'] = ['n/a', '0.75']\nassert run(bills=bills) == 0.75",
        },
    ),
)
