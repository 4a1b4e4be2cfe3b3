"""Requests that can be interpreted in two ways, and answers that good models would give.

Each answer was written from the prompt that the product sends, without looking at the others: the first function with
its assumptions and tests, a second solution of the same interpretation in another style, and one of the other
interpretation. Some first functions have an error that their tests do not find; it is given as `slip`.
"""

# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Ambiguous:
    """A request with two interpretations.

    Args:
        name: of the case.
        prompt: the request.
        sample: makes the data; the input is called `data`.
        output: type of the only output, `answer`; for a DataFrame the dtypes of its columns by name.
        assumption: the interpretation of the first function.
        other_reading: the other interpretation, as a short text and as a line of the request.
        first: the body of the first function.
        tests: the bodies of its tests, by the sentence that they check.
        same: another solution of the same interpretation.
        other: a solution of the other interpretation.
        slip: (text in `first`, its wrong replacement); "" if there is none.
    """

    name: str
    prompt: str
    sample: Callable[[], pd.DataFrame]
    output: str | dict[str, str]
    assumption: str
    other_reading: tuple[str, str]
    first: str
    tests: dict[str, str]
    same: str
    other: str
    slip: tuple[str, str] = ("", "")


def _sales() -> pd.DataFrame:
    random = np.random.default_rng(1)
    days = pd.date_range("2022-01-01", "2024-12-31")
    return pd.DataFrame(
        {
            "day": random.choice(days, 3000),
            "region": random.choice(["N", "S"], 3000),
            "revenue": random.gamma(2, 60, 3000),
        }
    )


def _measurements() -> pd.DataFrame:
    random = np.random.default_rng(2)
    return pd.DataFrame({"sensor": random.choice(list("abcdef"), 60), "value": random.normal(20, 3, 60)})


def _orders() -> pd.DataFrame:
    random = np.random.default_rng(3)
    placed = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 120 * 24, 400), unit="h")
    paid = placed + pd.to_timedelta(random.integers(1, 20 * 24, 400), unit="h")
    return pd.DataFrame({"placed": placed, "paid": paid, "amount": random.integers(5, 300, 400).astype(float)})


def _players() -> pd.DataFrame:
    return pd.DataFrame({"player": list("dacbef"), "points": [12, 30, 30, 12, 7, 30]})


def _ratings() -> pd.DataFrame:
    random = np.random.default_rng(4)
    stars = random.integers(1, 6, 200).astype(float)
    stars[random.random(200) < 0.15] = np.nan
    return pd.DataFrame({"product": random.choice(["kettle", "lamp", "mug"], 200), "stars": stars})


def _ages() -> pd.DataFrame:
    return pd.DataFrame({"age": np.random.default_rng(5).integers(10, 80, 300)})


def _tickets() -> pd.DataFrame:
    random = np.random.default_rng(6)
    opened = pd.Timestamp("2024-03-01") + pd.to_timedelta(random.integers(0, 60, 80), unit="D")
    return pd.DataFrame({"opened": opened, "closed": opened + pd.to_timedelta(random.integers(0, 14, 80), unit="D")})


def _prices() -> pd.DataFrame:
    random = np.random.default_rng(7)
    return pd.DataFrame({"price": random.uniform(1, 9, 100).round(2), "quantity": random.integers(1, 40, 100)})


def _customers() -> pd.DataFrame:
    random = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "email": random.choice([f"c{n}" for n in range(60)], 150),
            "plan": random.choice(["free", "pro"], 150),
            "updated": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.permutation(150), unit="h"),
        }
    )


def _events() -> pd.DataFrame:
    random = np.random.default_rng(9)
    moments = pd.Timestamp("2024-05-01", tz="UTC") + pd.to_timedelta(random.integers(0, 20 * 24 * 60, 500), unit="min")
    return pd.DataFrame({"at": moments.tz_convert("UTC"), "clicks": random.integers(1, 5, 500)})


def _invoices() -> pd.DataFrame:
    random = np.random.default_rng(10)
    return pd.DataFrame({"client": random.choice(list("xyz"), 90), "net": (random.integers(100, 9999, 90) / 100)})


def _subscriptions() -> pd.DataFrame:
    random = np.random.default_rng(11)
    started = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 150, 200), unit="D")
    ended = pd.Series(started + pd.to_timedelta(random.integers(10, 200, 200), unit="D"))
    return pd.DataFrame({"started": started, "ended": ended.where(random.random(200) < 0.6)})


def _visits() -> pd.DataFrame:
    random = np.random.default_rng(12)
    days = pd.Timestamp("2024-02-01") + pd.to_timedelta(random.integers(0, 29, 300), unit="D")
    return pd.DataFrame({"user": random.choice([f"u{n}" for n in range(40)], 300), "day": days})


def _stock() -> pd.DataFrame:
    random = np.random.default_rng(13)
    days = pd.bdate_range("2024-01-01", periods=80)
    return pd.DataFrame({"day": days, "close": (100 + random.normal(0, 1, 80).cumsum()).round(2)})


CASES = (
    Ambiguous(
        "year on year or month on month",
        "In which month did revenue grow the most? Give it as YYYY-MM.",
        _sales,
        "str",
        "Growth compares a month with the month before it.",
        ("year on year", "Growth compares a month with the same month of the year before."),
        'monthly = data.groupby(data["day"].dt.to_period("M"))["revenue"].sum().sort_index()\n'
        "growth = monthly.pct_change().dropna()\n"
        'return str(growth.idxmax()) if len(growth) else ""',
        {
            "In which month did revenue grow the most?": "data = days(('2024-01-05', 10.0), ('2024-02-05', 30.0), "
            "('2024-03-05', 40.0))\nassert run(data=data) == '2024-02'",
        },
        'by_month = data.assign(m=data["day"].dt.strftime("%Y-%m")).groupby("m")["revenue"].sum()\n'
        "change = by_month / by_month.shift(1) - 1\n"
        'return "" if change.dropna().empty else str(change.idxmax())',
        'totals = data.groupby(data["day"].dt.to_period("M"))["revenue"].sum()\n'
        "before = totals.reindex(totals.index - 12).to_numpy()\n"
        "growth = (totals / before - 1).dropna()\n"
        'return "" if growth.empty else str(growth.idxmax())',
    ),
    Ambiguous(
        "sample or population deviation",
        "The standard deviation of value per sensor.",
        _measurements,
        {"sensor": "str", "deviation": "float64"},
        "The standard deviation is that of a sample (divided by n - 1).",
        ("of the population, divided by n", "The standard deviation is that of the population (divided by n)."),
        'table = data.groupby("sensor", as_index=False)["value"].std()\n'
        'return table.rename(columns={"value": "deviation"})',
        {
            "The standard deviation of value per sensor.": "data = pd.DataFrame({'sensor': ['a', 'a'], 'value': [1.0, 3.0]})\n"
            "assert run(data=data)['deviation'].iloc[0] == pytest.approx(2 ** 0.5)",
        },
        'result = data.groupby("sensor")["value"].agg(lambda v: v.std(ddof=1))\n'
        'return result.rename("std").reset_index()',
        'result = data.groupby("sensor")["value"].std(ddof=0)\nreturn result.rename("std").reset_index()',
    ),
    Ambiguous(
        "which date counts",
        "Total amount per month (YYYY-MM).",
        _orders,
        {"month": "str", "total": "float64"},
        "The month is that in which the order was placed.",
        ("by the month of payment", "The month is that in which the order was paid."),
        'month = data["placed"].dt.strftime("%Y-%m").rename("month")\n'
        'return data.groupby(month)["amount"].sum().rename("total").reset_index()',
        {
            "Total amount per month": "day = pd.to_datetime(['2024-01-31', '2024-02-01'])\n"
            "data = pd.DataFrame({'placed': day, 'paid': day, 'amount': [1.0, 2.0]})\n"
            "assert list(run(data=data)['total']) == [1.0, 2.0]",
        },
        'out = data.assign(month=data["placed"].dt.to_period("M").astype(str))\n'
        'return out.groupby("month", as_index=False).agg(amount=("amount", "sum"))',
        'out = data.assign(month=data["paid"].dt.to_period("M").astype(str))\n'
        'return out.groupby("month", as_index=False).agg(amount=("amount", "sum"))',
    ),
    Ambiguous(
        "ties",
        "The two players with the most points.",
        _players,
        {"player": "str", "points": "int64"},
        "Of players with equal points those that come first in the data are taken.",
        ("with all who are tied", "Players that are tied with the second are all given."),
        'return data.nlargest(2, "points", keep="first").reset_index(drop=True)',
        {
            "The two players with the most points.": "data = pd.DataFrame({'player': ['a', 'b', 'c'], 'points': [1, 3, 2]})\n"
            "assert list(run(data=data)['player']) == ['b', 'c']",
        },
        'best = data.sort_values("points", ascending=False, kind="stable").head(2)\nreturn best.reset_index(drop=True)',
        'return data.nlargest(2, "points", keep="all").reset_index(drop=True)',
    ),
    Ambiguous(
        "missing values in a mean",
        "The mean number of stars of each product.",
        _ratings,
        {"product": "str", "mean_stars": "float64"},
        "Ratings without stars are left out.",
        ("with missing stars as zero", "Ratings without stars count as zero stars."),
        'means = data.groupby("product")["stars"].mean().rename("mean_stars")\nreturn means.reset_index()',
        {
            "The mean number of stars of each product.": "data = pd.DataFrame({'product': ['a', 'a'], 'stars': [1.0, 2.0]})\n"
            "assert run(data=data)['mean_stars'].iloc[0] == 1.5",
        },
        'known = data.dropna(subset=["stars"])\nreturn known.groupby("product", as_index=False)["stars"].mean()',
        'filled = data.fillna({"stars": 0.0})\nreturn filled.groupby("product", as_index=False)["stars"].mean()',
        ("mean()", "agg(lambda stars: stars.fillna(0).mean())"),
    ),
    Ambiguous(
        "inclusive bounds",
        "How many people are between 18 and 65?",
        _ages,
        "int",
        "Both bounds are included.",
        ("with 65 left out", "65 itself is not included."),
        'return int(data["age"].between(18, 65).sum())',
        {
            "How many people are between 18 and 65?": "data = pd.DataFrame({'age': [17, 30, 70]})\nassert run(data=data) == 1",
        },
        'return int(((data["age"] >= 18) & (data["age"] <= 65)).sum())',
        'return int(((data["age"] >= 18) & (data["age"] < 65)).sum())',
        ("between(18, 65)", 'between(18, 65, inclusive="neither")'),
    ),
    Ambiguous(
        "business days",
        "On average, how many days does it take to close a ticket?",
        _tickets,
        "float",
        "Calendar days are counted.",
        ("in business days", "Only business days count."),
        'return float((data["closed"] - data["opened"]).dt.days.mean())',
        {
            "how many days does it take": "data = pd.DataFrame({'opened': pd.to_datetime(['2024-03-04']), "
            "'closed': pd.to_datetime(['2024-03-06'])})\nassert run(data=data) == 2.0",
        },
        'return float(((data["closed"] - data["opened"]) / pd.Timedelta(days=1)).mean())',
        'days = np.busday_count(data["opened"].to_numpy("datetime64[D]"), data["closed"].to_numpy("datetime64[D]"))\n'
        "return float(days.mean())",
    ),
    Ambiguous(
        "weighted mean",
        "The average price.",
        _prices,
        "float",
        "Every row counts the same.",
        ("weighted by quantity", "The average price is weighted by quantity."),
        'return float(data["price"].mean())',
        {
            "The average price.": "data = pd.DataFrame({'price': [1.0, 2.0], 'quantity': [1, 1]})\nassert run(data=data) == 1.5"
        },
        'return round(float(data["price"].sum() / len(data)), 2) if len(data) else float("nan")',
        'return float((data["price"] * data["quantity"]).sum() / data["quantity"].sum())',
    ),
    Ambiguous(
        "which duplicate stays",
        "One row for each email, without duplicates.",
        _customers,
        {"email": "str", "plan": "str", "updated": "datetime64[us]"},
        "Of several rows the one that was updated last stays.",
        ("with the first row kept", "Of several rows the first one in the data stays."),
        'newest = data.sort_values("updated").drop_duplicates("email", keep="last")\n'
        'return newest.sort_values("email").reset_index(drop=True)',
        {
            "One row for each email": "data = pd.DataFrame({'email': ['b', 'a'], 'plan': ['x', 'y'], "
            "'updated': pd.to_datetime(['2024-01-01', '2024-01-02']).astype('datetime64[us]')})\n"
            "assert list(run(data=data)['email']) == ['a', 'b']",
        },
        'rows = data.groupby("email")["updated"].idxmax()\nreturn data.loc[rows].reset_index(drop=True)',
        'return data.drop_duplicates("email").reset_index(drop=True)',
        ('keep="last"', "keep='first'"),
    ),
    Ambiguous(
        "where a day begins",
        "Clicks per day in Berlin's office, as YYYY-MM-DD.",
        _events,
        {"day": "str", "clicks": "int64"},
        "A day begins at midnight in Berlin.",
        ("by days in UTC", "A day begins at midnight in UTC, as the data have it."),
        'day = data["at"].dt.tz_convert("Europe/Berlin").dt.strftime("%Y-%m-%d").rename("day")\n'
        'return data.groupby(day)["clicks"].sum().reset_index()',
        {
            "Clicks per day": "data = pd.DataFrame({'at': pd.to_datetime(['2024-05-01 12:00'], utc=True), 'clicks': [2]})\n"
            "assert run(data=data).to_dict('list') == {'day': ['2024-05-01'], 'clicks': [2]}",
        },
        'local = data["at"].dt.tz_convert("Europe/Berlin")\n'
        'return data.assign(date=local.dt.date.astype(str)).groupby("date", as_index=False)["clicks"].sum()',
        'return data.assign(date=data["at"].dt.date.astype(str)).groupby("date", as_index=False)["clicks"].sum()',
    ),
    Ambiguous(
        "rounding each or the sum",
        "Value added tax of 19 % on net, per client, in cents exactly (two decimals).",
        _invoices,
        {"client": "str", "tax": "float64"},
        "The tax of the client's sum is rounded, once.",
        ("rounded on each invoice", "The tax is rounded on each invoice and then added up."),
        'total = data.groupby("client")["net"].sum() * 0.19\nreturn total.round(2).rename("tax").reset_index()',
        {
            "Value added tax of 19 % on net": "data = pd.DataFrame({'client': ['x'], 'net': [100.0]})\n"
            "assert run(data=data)['tax'].iloc[0] == pytest.approx(19.0)",
        },
        'sums = data.groupby("client", as_index=False)["net"].sum()\n'
        'return pd.DataFrame({"client": sums["client"], "vat": (sums["net"] * 0.19).round(2)})',
        'each = (data["net"] * 0.19).round(2)\nreturn each.groupby(data["client"]).sum().round(2).rename("vat").reset_index()',
    ),
    Ambiguous(
        "churn",
        "Churn in March 2024, as a share.",
        _subscriptions,
        "float",
        "Churn is those who ended in March, of those who were active on the first of March.",
        ("of all who ever started by then", "Churn is those who ended in March, of all who started before April."),
        'first, last = pd.Timestamp("2024-03-01"), pd.Timestamp("2024-04-01")\n'
        'active = data[(data["started"] < first) & ~(data["ended"] < first)]\n'
        'return float((active["ended"] < last).mean()) if len(active) else 0.0',
        {
            "Churn in March 2024": "data = pd.DataFrame({'started': pd.to_datetime(['2024-01-01', '2024-01-01']), "
            "'ended': pd.to_datetime(['2024-03-10', None])})\nassert run(data=data) == 0.5",
        },
        "begin, end = pd.Timestamp(2024, 3, 1), pd.Timestamp(2024, 4, 1)\n"
        "there = data.loc[(data.started < begin) & (data.ended.isna() | (data.ended >= begin))]\n"
        "return 0.0 if there.empty else float(there.ended.lt(end).sum() / len(there))",
        "begin, end = pd.Timestamp(2024, 3, 1), pd.Timestamp(2024, 4, 1)\n"
        "base = data[data.started < end]\n"
        "gone = base.ended.ge(begin) & base.ended.lt(end)\n"
        "return 0.0 if base.empty else float(gone.mean())",
        ("< first) & ~", "<= first) & ~"),
    ),
    Ambiguous(
        "active users",
        "How many users are active?",
        _visits,
        "int",
        "Active are users with a visit in the last seven days of the data.",
        ("with visits on two days or more", "Active are users who came on at least two different days."),
        'since = data["day"].max() - pd.Timedelta(days=6)\nreturn int(data.loc[data["day"] >= since, "user"].nunique())',
        {
            "How many users are active?": "data = pd.DataFrame({'user': ['a', 'b'], 'day': pd.to_datetime(['2024-02-01', '2024-02-20'])})\n"
            "assert run(data=data) == 1",
        },
        'recent = data[data["day"] > data["day"].max() - pd.Timedelta(days=7)]\nreturn int(len(set(recent["user"])))',
        'days = data.drop_duplicates(["user", "day"]).groupby("user").size()\nreturn int((days >= 2).sum())',
        ("days=6", "days=7"),
    ),
    Ambiguous(
        "a moving average at the start",
        "The five-day moving average of close.",
        _stock,
        {"day": "datetime64[us]", "average": "float64"},
        "The first four days have no average.",
        ("with fewer days at the start", "The first days are averaged over the days that there are."),
        'return pd.DataFrame({"day": data["day"], "average": data["close"].rolling(5).mean()})',
        {
            "The five-day moving average of close.": "data = pd.DataFrame({'day': pd.bdate_range('2024-01-01', periods=5)"
            ".astype('datetime64[us]'), 'close': [1.0, 2.0, 3.0, 4.0, 5.0]})\n"
            "assert run(data=data)['average'].iloc[4] == 3.0",
        },
        'ordered = data.sort_values("day")\n'
        'return ordered.assign(ma5=ordered["close"].rolling(5, min_periods=5).mean().round(4))[["day", "ma5"]].reset_index(drop=True)',
        'ordered = data.sort_values("day")\n'
        'return ordered.assign(ma5=ordered["close"].rolling(5, min_periods=1).mean())[["day", "ma5"]].reset_index(drop=True)',
    ),
)
