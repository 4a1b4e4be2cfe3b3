"""Dates and times: zones, bounds, months and quarters without rows."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _clicks(random: np.random.Generator) -> Tables:
    moments = pd.Timestamp("2024-03-25") + pd.to_timedelta(random.integers(0, 14 * 24 * 60, 400), unit="min")
    return {"clicks": pd.DataFrame({"at": moments.tz_localize("UTC"), "count": random.integers(1, 6, 400)})}


def _bookings(random: np.random.Generator) -> Tables:
    first = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 200, 150), unit="D")
    last = first + pd.to_timedelta(random.integers(0, 12, 150), unit="D")
    return {
        "bookings": pd.DataFrame({"room": random.choice(["red", "blue", "gold"], 150), "first": first, "last": last})
    }


def _members(random: np.random.Generator) -> Tables:
    joined = pd.Timestamp("2023-09-01") + pd.to_timedelta(random.integers(0, 400, 220), unit="D")
    left = pd.Series(joined + pd.to_timedelta(random.integers(5, 300, 220), unit="D")).where(random.random(220) < 0.6)
    month_end = pd.to_datetime(["2024-01-31", "2024-04-30"])
    left.iloc[:2] = month_end
    return {"members": pd.DataFrame({"member": np.arange(220), "joined": joined, "left": left})}


def _sales(random: np.random.Generator) -> Tables:
    days = pd.Timestamp("2022-01-10") + pd.to_timedelta(random.integers(0, 1000, 200), unit="D")
    days = days[(days < pd.Timestamp("2023-04-01")) | (days >= pd.Timestamp("2023-10-01"))]
    return {"sales": pd.DataFrame({"day": days, "amount": random.integers(100, 9000, len(days)) / 100})}


def _people(random: np.random.Generator) -> Tables:
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(random.integers(0, 20_000, 200), unit="D")
    return {"people": pd.DataFrame({"name": [f"n{number}" for number in range(200)], "born": born})}


TASKS = (
    Task(
        name="clicks by local day",
        request="The sum of count in @clicks by day in Berlin, as YYYY-MM-DD, in order.",
        tables=_clicks,
        returns={"day": "str", "count": "int64"},
        assumptions=("A day begins at midnight in Berlin, with summer time.", "Days without clicks are left out."),
        right="""
            day = clicks["at"].dt.tz_convert("Europe/Berlin").dt.strftime("%Y-%m-%d").rename("day")
            return clicks.groupby(day)["count"].sum().reset_index()
        """,
        same="""
            local = clicks.assign(day=clicks["at"].dt.tz_convert("Europe/Berlin").dt.date.astype(str))
            return local.groupby("day", as_index=False)["count"].sum()
        """,
        wrong={
            "days in UTC": ('.dt.tz_convert("Europe/Berlin")', ""),
            "always an hour later": (
                'clicks["at"].dt.tz_convert("Europe/Berlin")',
                '(clicks["at"] + pd.Timedelta("1h"))',
            ),
            "the clock is kept": ('.dt.tz_convert("Europe/Berlin")', '.dt.tz_localize(None).dt.tz_localize("UTC")'),
            "the number of rows": ('["count"].sum()', '["count"].count()'),
        },
        small="""
            clicks = pd.DataFrame({"at": pd.to_datetime(["2024-05-01 12:00", "2024-05-02 12:00"], utc=True),
                                   "count": [1, 1]})
        """,
        weak={"by day": "assert list(run(clicks=clicks)['day']) == ['2024-05-01', '2024-05-02']"},
        strong={
            "day in Berlin": "clicks['at'] = pd.to_datetime(['2024-05-01 22:30', '2024-05-01 21:30'], utc=True)\n"
            "assert list(run(clicks=clicks)['day']) == ['2024-05-01', '2024-05-02']",
            "The sum of count": "clicks['count'] = [2, 3]\nassert list(run(clicks=clicks)['count']) == [2, 3]",
        },
    ),
    Task(
        name="booked days",
        request="How many days is each room in @bookings booked in all (first and last day both count), by room? "
        "Bookings do not overlap.",
        tables=_bookings,
        returns={"room": "str", "days": "int64"},
        assumptions=("Overlapping bookings count twice.",),
        right="""
            days = (bookings["last"] - bookings["first"]).dt.days + 1
            return days.groupby(bookings["room"]).sum().rename("days").reset_index()
        """,
        same="""
            length = [len(pd.date_range(one, other)) for one, other in zip(bookings["first"], bookings["last"])]
            table = bookings.assign(days=length).groupby("room", as_index=False)["days"].sum()
            return table.astype({"days": "int64"})
        """,
        wrong={
            "nights": (" + 1", ""),
            "business days": (
                '(bookings["last"] - bookings["first"]).dt.days + 1',
                'pd.Series(np.busday_count(bookings["first"].to_numpy("datetime64[D]"), '
                'bookings["last"].to_numpy("datetime64[D]") + 1), index=bookings.index)',
            ),
            "a mean": (".sum()", '.mean().round().astype("int64")'),
            "one day for each room": (
                'days.groupby(bookings["room"]).sum()',
                '((bookings["last"] - bookings["first"]).dt.days.groupby(bookings["room"]).sum() + 1)',
            ),
        },
        small="""
            bookings = pd.DataFrame({"room": ["a"], "first": pd.to_datetime(["2024-01-01"]),
                                     "last": pd.to_datetime(["2024-01-03"])})
        """,
        weak={"How many days": "assert list(run(bookings=bookings)['days']) == [3]"},
        strong={
            "in all": "two = pd.concat([bookings, bookings.assign(first=pd.Timestamp('2024-01-05'), "
            "last=pd.Timestamp('2024-01-07'))], ignore_index=True)\n"
            "assert list(run(bookings=two)['days']) == [6]  # Friday to Sunday",
            "first and last day both count": "bookings['last'] = bookings['first']\n"
            "assert list(run(bookings=bookings)['days']) == [1]",
        },
    ),
    Task(
        name="members at the end of the month",
        request="The number of @members on the last day of each month of 2024 (a member who left that day is no more there).",
        tables=_members,
        returns={"month": "str", "members": "int64"},
        assumptions=("The month is YYYY-MM; all twelve are there.", "A missing left is a member who is still there."),
        right="""
            ends = pd.date_range("2024-01-31", "2024-12-31", freq="ME")
            there = [int(((members["joined"] <= end) & ~(members["left"] <= end)).sum()) for end in ends]
            return pd.DataFrame({"month": ends.strftime("%Y-%m"), "members": there})
        """,
        same="""
            rows = []
            for month in pd.period_range("2024-01", "2024-12", freq="M"):
                end = month.to_timestamp(how="end").normalize()
                came = members["joined"].le(end)
                stays = members["left"].isna() | members["left"].gt(end)
                rows.append({"month": str(month), "members": int((came & stays).sum())})
            return pd.DataFrame(rows)
        """,
        wrong={
            "there on the day they left": ('members["left"] <= end', 'members["left"] < end'),
            "who has no end is not there": ('& ~(members["left"] <= end)', '& (members["left"] > end)'),
            "who joined that day is not there": ('members["joined"] <= end', 'members["joined"] < end'),
            "only who joined in that month": (
                'members["joined"] <= end',
                '(members["joined"] <= end) & (members["joined"].dt.month == end.month)',
            ),
        },
        small="""
            members = pd.DataFrame({"member": [1, 2], "joined": pd.to_datetime(["2024-01-10", "2024-01-11"]),
                                    "left": pd.to_datetime(["2024-02-10", "2030-01-01"])})
        """,
        edge="""
            members = pd.DataFrame({"member": [1], "joined": pd.to_datetime(["2024-01-31"]),
                                    "left": pd.to_datetime(["2024-02-29"])})
        """,
        weak={"on the last day": "assert list(run(members=members)['members'])[:1] == [2]"},
        strong={
            "left that day": "members['left'] = pd.to_datetime(['2024-01-31', '2024-03-01'])\n"
            "assert list(run(members=members)['members'])[:3] == [1, 1, 0]",
            "still there": "members['left'] = pd.to_datetime([None, '2024-03-01'])\n"
            "assert list(run(members=members)['members']) == [2, 2] + [1] * 10",
            "each month": "members['joined'] = pd.to_datetime(['2024-01-31', '2024-11-30'])\n"
            "members['left'] = pd.NaT\nassert list(run(members=members)['members']) == [1] * 10 + [2, 2]",
        },
    ),
    Task(
        name="quarters with none",
        request="The amount of @sales by quarter, such as 2023Q1, from the first to the last quarter; 0 where there are none.",
        tables=_sales,
        returns={"quarter": "str", "amount": "float64"},
        assumptions=("Quarters are those of the calendar year.",),
        right="""
            sums = sales.groupby(sales["day"].dt.to_period("Q"))["amount"].sum()
            if sums.empty:
                return pd.DataFrame({"quarter": pd.Series([], dtype="str"), "amount": pd.Series([], dtype="float64")})
            whole = sums.reindex(pd.period_range(sums.index.min(), sums.index.max(), freq="Q"), fill_value=0.0)
            return pd.DataFrame({"quarter": whole.index.astype(str), "amount": whole.to_numpy()})
        """,
        same="""
            table = sales.set_index("day")["amount"].resample("QE").sum()
            names = [f"{day.year}Q{(day.month + 2) // 3}" for day in table.index]
            return pd.DataFrame({"quarter": pd.Series(names, dtype="str"), "amount": table.to_numpy(dtype="float64")})
        """,
        wrong={
            "quarters without sales are left out": (
                'sums.reindex(pd.period_range(sums.index.min(), sums.index.max(), freq="Q"), fill_value=0.0)',
                "sums",
            ),
            "missing for 0": (", fill_value=0.0", ""),
            "all years in one": (
                'sales["day"].dt.to_period("Q")',
                'pd.PeriodIndex([f"2023Q{quarter}" for quarter in sales["day"].dt.quarter], freq="Q")',
            ),
            "filled from the quarter before": ("fill_value=0.0", 'method="ffill"'),
        },
        small="""
            sales = pd.DataFrame({"day": pd.to_datetime(["2023-01-05", "2023-05-01"]), "amount": [10.0, 20.0]})
        """,
        weak={"by quarter": "assert list(run(sales=sales)['amount']) == [10.0, 20.0]"},
        strong={
            "0 where there are none": "sales['day'] = pd.to_datetime(['2023-03-31', '2023-07-01'])\n"
            "out = run(sales=sales)\nassert list(out['quarter']) == ['2023Q1', '2023Q2', '2023Q3']\n"
            "assert list(out['amount']) == [10.0, 0.0, 20.0]",
            "from the first to the last": "sales['day'] = pd.to_datetime(['2023-01-31', '2024-01-31'])\n"
            "assert len(run(sales=sales)) == 5",
        },
    ),
    Task(
        name="age in years",
        request="How many @people are at least 40 years old on 2024-06-30?",
        tables=_people,
        returns="int",
        assumptions=("Somebody is a year older from the birthday on.",),
        right="""
            day = pd.Timestamp("2024-06-30")
            before = (people["born"].dt.month * 100 + people["born"].dt.day) > (day.month * 100 + day.day)
            age = day.year - people["born"].dt.year - before.astype(int)
            return int((age >= 40).sum())
        """,
        same="""
            return int((people["born"] <= pd.Timestamp("2024-06-30") - pd.DateOffset(years=40)).sum())
        """,
        wrong={
            "only the years": (" - before.astype(int)", ""),
            "older than 40": ("age >= 40", "age > 40"),
            "days by 360": (
                'day.year - people["born"].dt.year - before.astype(int)',
                '(day - people["born"]).dt.days // 360',
            ),
            "not on the birthday": ("> (day.month * 100 + day.day)", ">= (day.month * 100 + day.day)"),
        },
        small="""
            people = pd.DataFrame({"name": ["a", "b", "c"],
                                   "born": pd.to_datetime(["1950-01-01", "1960-02-02", "2001-01-01"])})
        """,
        edge="""
            people = pd.DataFrame({"name": ["a"], "born": pd.to_datetime(["1984-06-30"])})
        """,
        weak={"at least 40": "assert run(people=people) == 2"},
        strong={
            "from the birthday on": "people['born'] = pd.to_datetime(['1984-06-30', '1984-07-01', '1984-12-31'])\n"
            "assert run(people=people) == 1",
            "at least 40": "people['born'] = pd.to_datetime(['1984-01-01', '1983-12-31', '2000-01-01'])\n"
            "assert run(people=people) == 2",
        },
    ),
)
