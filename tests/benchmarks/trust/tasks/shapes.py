"""The shape of a table: wide and long, one row for each, what is combined and what is complete."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _long(random: np.random.Generator) -> Tables:
    table = pd.DataFrame(
        {
            "city": random.choice(["Rome", "Oslo", "Bonn"], 70),
            "year": random.choice([2021, 2022, 2023], 70),
            "rain": random.integers(0, 90, 70).astype(float),
        }
    )
    return {"rain": table[(table["city"] != "Bonn") | (table["year"] != 2022)].reset_index(drop=True)}


def _wide(random: np.random.Generator) -> Tables:
    table = pd.DataFrame({"shop": [f"s{i}" for i in range(25)]})
    for month in ("jan", "feb", "mar"):
        table[month] = np.where(random.random(25) < 0.2, np.nan, random.integers(1, 50, 25))
    return {"plan": table}


def _contacts(random: np.random.Generator) -> Tables:
    size = 110
    table = pd.DataFrame(
        {
            "person": random.choice([f"p{i}" for i in range(40)], size),
            "changed": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.permutation(size), unit="D"),
            "phone": pd.Series(random.integers(100, 999, size).astype(str)).where(random.random(size) < 0.6),
        }
    )
    return {"versions": table}


def _answers(random: np.random.Generator) -> Tables:
    return {
        "answers": pd.DataFrame(
            {
                "person": np.repeat(np.arange(40), 3)[random.random(120) < 0.8],
            }
        ).assign(
            question=lambda t: random.choice(["q1", "q2", "q3"], len(t)), value=lambda t: random.integers(1, 6, len(t))
        )
    }


def _spans(random: np.random.Generator) -> Tables:
    begin = random.integers(0, 300, 60)
    return {
        "spans": pd.DataFrame(
            {"machine": random.choice(["m1", "m2"], 60), "begin": begin, "end": begin + random.integers(1, 12, 60)}
        )
    }


TASKS = (
    Task(
        name="cities beside years",
        request="The sum of rain in @rain with a row for each city (by name) and the columns y2021, y2022 and y2023; 0 where there is none.",
        tables=_long,
        returns={"city": "str", "y2021": "float64", "y2022": "float64", "y2023": "float64"},
        assumptions=("Other years are left out.",),
        right="""
            wide = rain.pivot_table(index="city", columns="year", values="rain", aggfunc="sum")
            wide = wide.reindex(columns=[2021, 2022, 2023]).fillna(0.0)
            wide.columns = ["y2021", "y2022", "y2023"]
            return wide.reset_index()
        """,
        same="""
            cities = sorted(rain["city"].dropna().unique())
            table = {"city": pd.Series(cities, dtype="str")}
            for year in (2021, 2022, 2023):
                sums = rain[rain["year"] == year].groupby("city")["rain"].sum()
                table[f"y{year}"] = [float(sums.get(city, 0.0)) for city in cities]
            return pd.DataFrame(table)
        """,
        wrong={
            "a mean": ('aggfunc="sum"', 'aggfunc="mean"'),
            "missing for 0": (".fillna(0.0)", ""),
            "the last value": ('aggfunc="sum"', 'aggfunc="last"'),
            "years in the other order": ("columns=[2021, 2022, 2023]", "columns=[2023, 2022, 2021]"),
        },
        small="""
            rain = pd.DataFrame({"city": ["a"] * 3, "year": [2021, 2022, 2023], "rain": [1.0, 1.0, 1.0]})
        """,
        weak={"a row for each city": "assert run(rain=rain).iloc[0].tolist() == ['a', 1.0, 1.0, 1.0]"},
        strong={
            "The sum": "two = pd.concat([rain, rain], ignore_index=True)\nassert run(rain=two)['y2021'].tolist() == [2.0]",
            "columns": "rain['rain'] = [1.0, 2.0, 3.0]\nassert run(rain=rain).iloc[0].tolist() == ['a', 1.0, 2.0, 3.0]",
            "0 where there is none": "assert run(rain=rain.iloc[:2])['y2023'].tolist() == [0.0]",
        },
    ),
    Task(
        name="months below each other",
        request="@plan with a row for each shop and month that has a value: shop, month (jan, feb, mar) and pieces, in the order of the shops and months.",
        tables=_wide,
        returns={"shop": "str", "month": "str", "pieces": "float64"},
        assumptions=("Missing values have no row; 0 has one.",),
        right="""
            rows = plan.assign(place=range(len(plan))).melt(["shop", "place"], ["jan", "feb", "mar"], "month", "pieces")
            rows = rows.dropna(subset=["pieces"]).sort_values("place", kind="stable")
            return rows[["shop", "month", "pieces"]].astype({"pieces": "float64"}).reset_index(drop=True)
        """,
        same="""
            found = [(row["shop"], month, float(row[month])) for row in plan.to_dict("records") for month in ("jan", "feb", "mar") if pd.notna(row[month])]
            return pd.DataFrame(found, columns=["shop", "month", "pieces"])
        """,
        wrong={
            "months with none": ('.dropna(subset=["pieces"])', ""),
            "all shops of a month first": ('.sort_values("place", kind="stable")', ""),
            "months by name": ('.sort_values("place", kind="stable")', '.sort_values(["place", "month"])'),
            "0 for missing": ('.dropna(subset=["pieces"])', '.fillna({"pieces": 0.0})'),
            "shops without a gap": 'plan = plan.dropna()\nrows = plan.assign(place=range(len(plan))).melt(["shop", "place"], ["jan", "feb", "mar"], "month", "pieces")\nrows = rows.sort_values("place", kind="stable")\nreturn rows[["shop", "month", "pieces"]].reset_index(drop=True)',
        },
        small="""
            plan = pd.DataFrame({"shop": ["b"], "jan": [1.0], "feb": [2.0], "mar": [3.0]})
        """,
        weak={"a row for each": "assert sorted(run(plan=plan)['pieces']) == [1.0, 2.0, 3.0]"},
        strong={
            "that has a value": "plan['feb'] = np.nan\nassert run(plan=plan)['month'].tolist() == ['jan', 'mar']",
            "order of the shops and months": "two = pd.concat([plan, plan.assign(shop='a')], ignore_index=True)\nout = run(plan=two)\nassert out['shop'].tolist() == ['b'] * 3 + ['a'] * 3 and out['month'].tolist() == ['jan', 'feb', 'mar'] * 2",
        },
    ),
    Task(
        name="the last known phone",
        request="The last known phone of each person in @versions (by changed), by person; missing if none is known.",
        tables=_contacts,
        returns={"person": "str", "phone": "str"},
        assumptions=("A later version without a phone does not remove it.",),
        right="""
            ordered = versions.sort_values("changed")
            return ordered.groupby("person")["phone"].last().reset_index()
        """,
        same="""
            phones = {person: None for person in sorted(versions["person"].unique())}
            for row in versions.sort_values("changed").itertuples():
                if pd.notna(row.phone):
                    phones[row.person] = row.phone
            return pd.DataFrame({"person": pd.Series(list(phones), dtype="str"), "phone": pd.Series(list(phones.values()), dtype="str")})
        """,
        wrong={
            "of the last version": (
                '.groupby("person")["phone"].last()',
                '.groupby("person")["phone"].agg(lambda part: part.iloc[-1])',
            ),
            "the first one": (".last()", ".first()"),
            "in the order of rows": ('versions.sort_values("changed")', "versions"),
            "persons without one are lost": (
                'versions.sort_values("changed")',
                'versions.sort_values("changed").dropna()',
            ),
        },
        small="""
            versions = pd.DataFrame({"person": ["a", "a"], "changed": pd.to_datetime(["2024-01-01", "2024-01-02"]), "phone": ["1", "2"]})
        """,
        weak={"The last known phone": "assert run(versions=versions)['phone'].tolist() == ['2']"},
        strong={
            "last known": "versions['phone'] = ['1', None]\nassert run(versions=versions)['phone'].tolist() == ['1']",
            "(by changed)": "assert run(versions=versions.iloc[::-1])['phone'].tolist() == ['2']",
            "missing if none is known": "versions['phone'] = pd.Series([None, None], dtype='str')\nout = run(versions=versions)\nassert len(out) == 1 and out['phone'].isna().all()",
        },
    ),
    Task(
        name="complete persons",
        request="How many persons of @answers answered all of q1, q2 and q3?",
        tables=_answers,
        returns="int",
        assumptions=("Several answers to a question count as one.",),
        right="""
            asked = answers[answers["question"].isin(["q1", "q2", "q3"])]
            return int((asked.groupby("person")["question"].nunique() == 3).sum())
        """,
        same="""
            sets = [set(answers.loc[answers["question"] == question, "person"]) for question in ("q1", "q2", "q3")]
            return len(sets[0] & sets[1] & sets[2])
        """,
        wrong={
            "three answers": ('["question"].nunique()', '["question"].size()'),
            "at least two": ("== 3", ">= 2"),
            "any answer": ("== 3", ">= 1"),
            "three different values": ('["question"].nunique()', '["value"].nunique()'),
        },
        small="""
            answers = pd.DataFrame({"person": [1, 1, 1], "question": ["q1", "q2", "q3"], "value": [1, 2, 3]})
        """,
        weak={"answered all": "assert run(answers=answers) == 1"},
        strong={
            "all of q1, q2 and q3": "assert run(answers=answers.iloc[:2]) == 0",
            "count as one": "answers['question'] = ['q1', 'q2', 'q2']\nassert run(answers=answers) == 0",
            "the value does not matter": "answers['value'] = 5\nassert run(answers=answers) == 1",
        },
    ),
    Task(
        name="busy minutes",
        request="How many minutes was each machine of @spans busy, by machine? Spans run from begin up to, but not including, end; minutes in several spans count once.",
        tables=_spans,
        returns={"machine": "str", "minutes": "int64"},
        assumptions=("begin and end are whole minutes.",),
        right="""
            rows = []
            for machine, part in spans.sort_values("begin").groupby("machine"):
                total, reached = 0, None
                for begin, end in zip(part["begin"], part["end"]):
                    start = begin if reached is None else max(begin, reached)
                    total += max(0, end - start)
                    reached = end if reached is None else max(reached, end)
                rows.append((machine, int(total)))
            return pd.DataFrame({"machine": pd.Series([row[0] for row in rows], dtype="str"), "minutes": pd.Series([row[1] for row in rows], dtype="int64")})
        """,
        same="""
            minutes = {}
            for row in spans.itertuples():
                minutes.setdefault(row.machine, set()).update(range(int(row.begin), int(row.end)))
            names = sorted(minutes)
            return pd.DataFrame({"machine": pd.Series(names, dtype="str"), "minutes": pd.Series([len(minutes[name]) for name in names], dtype="int64")})
        """,
        wrong={
            "several spans count each": 'return (spans["end"] - spans["begin"]).groupby(spans["machine"]).sum().rename("minutes").reset_index()',
            "from the first to the last": 'groups = spans.groupby("machine")\nreturn (groups["end"].max() - groups["begin"].min()).rename("minutes").reset_index()',
            "the end counts": ("end - start)", "end - start + 1)"),
            "a span inside of another ends it": ("max(reached, end)", "end"),
        },
        small="""
            spans = pd.DataFrame({"machine": ["m"], "begin": [0], "end": [5]})
        """,
        edge="""
            spans = pd.DataFrame({"machine": ["m"] * 3, "begin": [0, 2, 6], "end": [10, 4, 12]})
        """,
        weak={"How many minutes": "assert run(spans=spans)['minutes'].tolist() == [5]"},
        strong={
            "count once": "two = pd.DataFrame({'machine': 'm', 'begin': [0, 3], 'end': [5, 8]})\nassert run(spans=two)['minutes'].tolist() == [8]",
            "with a pause": "two = pd.DataFrame({'machine': 'm', 'begin': [0, 10], 'end': [5, 12]})\nassert run(spans=two)['minutes'].tolist() == [7]",
            "inside of another": "three = pd.DataFrame({'machine': 'm', 'begin': [0, 2, 6], 'end': [10, 4, 12]})\nassert run(spans=three)['minutes'].tolist() == [12]",
        },
    ),
)
