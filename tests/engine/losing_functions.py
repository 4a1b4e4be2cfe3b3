"""Functions that lose or multiply rows, and right ones that only look like it. Each is the body of `run`.

`BEFORE` was written before the rules of `engine.evidence.losses`, `AFTER` when they were complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

Tables = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Losing:
    """A request, its data and a function.

    Args:
        asks: words of the question that a person gets; "" if the function is right, and there must be none.
    """

    request: str
    tables: Callable[[], Tables]
    body: str
    asks: str = ""
    assumptions: tuple[str, ...] = ()


# Tables


def flights() -> Tables:
    """310 flights whose day comes first; of some the delay is not known."""
    days = pd.date_range("2023-01-01", periods=310)
    random = np.random.default_rng(1)
    delay = random.integers(-10, 90, 310).astype(str)
    delay[::31] = "n/a"
    return {
        "flights": pd.DataFrame(
            {
                "Date": days.strftime("%d/%m/%Y"),
                "Carrier": random.choice(["UA", "DL", "AA"], 310),
                "Delay": delay,
                "Fare": [f"${fare:,}" for fare in random.integers(600, 2400, 310)],
            }
        )
    }


def regions() -> Tables:
    """Cases of 52 regions, of which the table of the population has 51."""
    names = [f"State {number:02}" for number in range(51)] + ["Puerto Rico"]
    random = np.random.default_rng(2)
    cases = pd.DataFrame({"region": np.repeat(names, 6), "cases": random.integers(10, 900, 312)})
    people = pd.DataFrame({"region": names[:51], "population": random.integers(500_000, 9_000_000, 51)})
    return {"cases": cases, "people": people}


def weather() -> Tables:
    """Hours with the words of an observer."""
    kinds = {
        "Clear": 1300,
        "Mainly Clear": 900,
        "Snow": 390,
        "Snow,Fog": 60,
        "Moderate Snow": 44,
        "Snow Showers": 60,
        "Rain,Snow": 40,
        "Rain": 300,
        "Fog": 150,
    }
    hours = pd.DataFrame({"Weather": np.repeat(list(kinds), list(kinds.values()))})
    hours = hours.sample(frac=1, random_state=3, ignore_index=True)
    hours.insert(0, "Time", pd.date_range("2012-01-01", periods=len(hours), freq="h"))
    hours["Temp"] = np.round(np.random.default_rng(4).normal(5, 9, len(hours)), 1)
    return {"hours": hours}


def passengers() -> Tables:
    """891 passengers; most have no cabin, and some no age."""
    random = np.random.default_rng(5)
    cabin = pd.Series(random.choice(["A", "B", "C", "D"], 891)).where(random.random(891) < 0.23)
    age = pd.Series(np.round(random.gamma(9, 3.3, 891), 0)).where(random.random(891) > 0.2)
    port = pd.Series(random.choice(["S", "C", "Q"], 891, p=[0.7, 0.2, 0.1])).where(random.random(891) > 0.003)
    return {
        "passengers": pd.DataFrame(
            {
                "Sex": random.choice(["male", "female"], 891),
                "Age": age,
                "Cabin": cabin,
                "Embarked": port,
                "Fare": np.round(random.gamma(2, 16, 891), 2),
                "Survived": random.integers(0, 2, 891),
            }
        )
    }


def yearly() -> Tables:
    """A year of which there is no row, between others."""
    years = [2006, 2007, 2008, 2009, 2010, 2012, 2013, 2014, 2015, 2016]
    return {"visits": pd.DataFrame({"year": years, "visitors": [310, 330, 360, 350, 400, 460, 470, 520, 540, 590]})}


def every_year() -> Tables:
    years = list(range(2006, 2017))
    return {"visits": pd.DataFrame({"year": years, "visitors": [300 + 25 * (year - 2006) for year in years]})}


def orders() -> Tables:
    """Orders and a list of customers in which some stand twice."""
    random = np.random.default_rng(6)
    ids = [f"C{number:03}" for number in range(60)]
    customers = pd.DataFrame({"customer": [*ids, *ids[:5]], "segment": random.choice(["A", "B"], 65)})
    orders = pd.DataFrame({"customer": random.choice(ids, 400), "amount": np.round(random.gamma(2, 40, 400), 2)})
    return {"orders": orders, "customers": customers}


def movies() -> Tables:
    random = np.random.default_rng(7)
    genres = random.choice(["Action", "Drama", "Comedy", "Action, Drama", "Comedy, Romance", "Action, Comedy"], 500)
    return {
        "movies": pd.DataFrame(
            {
                "title": [f"Movie {number}" for number in range(500)],
                "genre": genres,
                "gross": np.round(random.gamma(2, 50, 500), 1),
            }
        )
    }


def payments() -> Tables:
    random = np.random.default_rng(8)
    status = random.choice(["paid", "Paid", "unpaid", "partly paid", "refunded"], 600, p=[0.6, 0.06, 0.2, 0.04, 0.1])
    return {"payments": pd.DataFrame({"status": status, "amount": np.round(random.gamma(2, 40, 600), 2)})}


def tidy_payments() -> Tables:
    tables = payments()
    tables["payments"]["status"] = tables["payments"]["status"].str.lower()
    return tables


def countries() -> Tables:
    names = ["Guinea", "Guinea-Bissau", "Equatorial Guinea", "Papua New Guinea", "Niger", "Nigeria", "Mali"]
    random = np.random.default_rng(9)
    return {
        "life": pd.DataFrame(
            {
                "country": np.repeat(names, 12),
                "year": np.tile(range(1952, 2012, 5), 7),
                "years": random.normal(50, 6, 84),
            }
        )
    }


def grades() -> Tables:
    """Classes of very different size."""
    random = np.random.default_rng(10)
    sizes = [4, 9, 31, 60]
    names = np.repeat(["1a", "1b", "2a", "2b"], sizes)
    return {"grades": pd.DataFrame({"class": names, "points": np.round(random.normal(60, 12, len(names)) + 0, 1)})}


def sensors() -> Tables:
    """Readings by day with a column of codes."""
    random = np.random.default_rng(11)
    days = pd.date_range("2024-01-01", periods=120)
    readings = pd.DataFrame(
        {"day": days, "site": random.choice(["N", "S", "E", "W"], 120), "value": random.normal(9, 2, 120)}
    )
    return {"readings": readings}


def staff() -> Tables:
    random = np.random.default_rng(12)
    people = pd.DataFrame({"name": [f"P{number}" for number in range(90)], "dept_id": random.integers(1, 9, 90)})
    people["salary"] = random.integers(40, 120, 90) * 1000
    depts = pd.DataFrame({"id": range(1, 11), "dept": [f"Dept {number}" for number in range(1, 11)]})
    return {"people": people, "depts": depts}


def prices() -> Tables:
    random = np.random.default_rng(13)
    valid = pd.to_datetime(["2024-01-01", "2024-03-01", "2024-06-01"])
    prices = pd.DataFrame(
        {"item": np.repeat(["a", "b", "c"], 3), "valid_from": np.tile(valid, 3), "price": range(1, 10)}
    )
    sales = pd.DataFrame({"item": random.choice(["a", "b", "c"], 100), "day": pd.date_range("2024-01-02", periods=100)})
    return {"sales": sales, "prices": prices}


# Functions

GUILTY_BEFORE: Mapping[str, Losing] = {
    "days and months in the wrong order": Losing(
        "The number of @flights by month.",
        flights,
        """
        dates = pd.to_datetime(flights["Date"], format="%m/%d/%Y", errors="coerce")
        return flights.groupby(dates.dt.to_period("M").astype(str)).size().rename("flights").reset_index()
        """,
        "Date",
    ),
    "amounts that are no numbers": Losing(
        "The mean fare of @flights by carrier.",
        flights,
        """
        fares = flights.assign(Fare=pd.to_numeric(flights["Fare"].str.replace("$", ""), errors="coerce"))
        return fares.groupby("Carrier", as_index=False)["Fare"].mean()
        """,
        "Fare",
    ),
    "a region without its population": Losing(
        "The total of @cases for each 100,000 people of @people, over all regions.",
        regions,
        """
        both = cases.merge(people, on="region")
        return pd.DataFrame({"rate": [both["cases"].sum() / people["population"].sum() * 100_000]})
        """,
        "1 of 52",
    ),
    "only the exact word": Losing(
        "The number of @hours with snow, by month.",
        weather,
        """
        snow = hours[hours["Weather"] == "Snow"]
        return snow.groupby(snow["Time"].dt.month).size().rename("hours").reset_index()
        """,
        "204 more",
    ),
    "only one of several genres": Losing(
        "The gross of Action @movies.",
        movies,
        """
        return pd.DataFrame({"gross": [movies.loc[movies["genre"] == "Action", "gross"].sum()]})
        """,
        "Action",
    ),
    "another spelling": Losing(
        "The total of paid @payments.",
        payments,
        """
        return pd.DataFrame({"amount": [payments[payments["status"].eq("paid")]["amount"].sum()]})
        """,
        "'Paid'",
    ),
    "rows that lack something else": Losing(
        "The share of survivors among @passengers by sex.",
        passengers,
        """
        known = passengers.dropna()
        return known.groupby("Sex", as_index=False)["Survived"].mean()
        """,
        "Cabin",
    ),
    "a change over a gap": Losing(
        "The yearly growth of visitors in @visits in percent.",
        yearly,
        """
        visits = visits.sort_values("year")
        return visits.assign(growth=visits["visitors"].pct_change() * 100)
        """,
        "2011",
    ),
    "customers that stand twice": Losing(
        "The amount of @orders by segment of @customers.",
        lambda: {**orders(), "orders": orders()["orders"]},
        """
        both = orders.merge(customers, on="customer")
        return both.groupby("segment", as_index=False)["amount"].sum()
        """,
        "400 rows into",
    ),
    "a mean of means": Losing(
        "The average points in @grades.",
        grades,
        """
        return pd.DataFrame({"points": [grades.groupby("class")["points"].mean().mean()]})
        """,
        "mean",
    ),
    "words that a dictionary lacks": Losing(
        "The mean value of @readings by half of the map (north or south).",
        sensors,
        """
        half = readings["site"].map({"N": "north", "S": "south"})
        return readings.groupby(half)["value"].mean().reset_index()
        """,
        "'E'",
    ),
    "labels in another language": Losing(
        "The number of @hours by weekday, from Monday.",
        weather,
        """
        counts = hours["Time"].dt.day_name().value_counts()
        names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Sat", "Sun"]
        return counts.reindex(names).rename_axis("day").reset_index(name="hours")
        """,
        "Saturday",
    ),
    "keys with blanks": Losing(
        "The total of @cases by population of @people.",
        lambda: {**regions(), "people": regions()["people"].assign(region=lambda t: t["region"] + " ")},
        """
        both = cases.merge(people, on="region", how="left")
        return both.groupby("population", as_index=False)["cases"].sum()
        """,
        "blanks",
    ),
    "equal rows": Losing(
        "The total amount of @payments.",
        lambda: {"payments": pd.concat([tidy_payments()["payments"]] * 2, ignore_index=True).assign(amount=9.5)},
        """
        return pd.DataFrame({"amount": [payments.drop_duplicates()["amount"].sum()]})
        """,
        "repeated",
    ),
}

INNOCENT_BEFORE: Mapping[str, Losing] = {
    "days in their order": Losing(
        "The number of @flights by month.",
        flights,
        """
        dates = pd.to_datetime(flights["Date"], format="%d/%m/%Y", errors="coerce")
        return flights.groupby(dates.dt.to_period("M").astype(str)).size().rename("flights").reset_index()
        """,
    ),
    "words for what is missing": Losing(
        "The mean delay of @flights by carrier.",
        flights,
        """
        delay = pd.to_numeric(flights["Delay"], errors="coerce")
        return delay.groupby(flights["Carrier"]).mean().reset_index()
        """,
    ),
    "a plan that says it": Losing(
        "The total of @cases for each 100,000 people of @people, over all regions.",
        regions,
        """
        both = cases.merge(people, on="region")
        return pd.DataFrame({"rate": [both["cases"].sum() / people["population"].sum() * 100_000]})
        """,
        assumptions=("Regions without a row in people are left out.",),
    ),
    "all states of a word": Losing(
        "The number of @hours with snow, by month.",
        weather,
        """
        snow = hours[hours["Weather"].str.contains("Snow")]
        return snow.groupby(snow["Time"].dt.month).size().rename("hours").reset_index()
        """,
    ),
    "a word that is quoted": Losing(
        "The number of @hours whose Weather is exactly 'Snow'.",
        weather,
        """
        return pd.DataFrame({"hours": [len(hours[hours["Weather"] == "Snow"])]})
        """,
    ),
    "a word inside of others": Losing(
        "The total of paid @payments.",
        tidy_payments,
        """
        return pd.DataFrame({"amount": [payments[payments["status"] == "paid"]["amount"].sum()]})
        """,
    ),
    "a country among its neighbours": Losing(
        "The life expectancy of Guinea in @life by year.",
        countries,
        """
        return life[life["country"] == "Guinea"][["year", "years"]]
        """,
    ),
    "rows that lack what is used": Losing(
        "The mean age of @passengers by sex.",
        passengers,
        """
        known = passengers.dropna(subset=["Age"])
        return known.groupby("Sex", as_index=False)["Age"].mean()
        """,
    ),
    "few without a key": Losing(
        "The mean fare of @passengers by port.",
        passengers,
        """
        return passengers.groupby("Embarked", as_index=False)["Fare"].mean()
        """,
    ),
    "a change without a gap": Losing(
        "The yearly growth of visitors in @visits in percent.",
        every_year,
        """
        return visits.assign(growth=visits["visitors"].pct_change() * 100)
        """,
    ),
    "a gap that is filled": Losing(
        "The yearly growth of visitors in @visits in percent.",
        yearly,
        """
        by_year = visits.set_index("year")["visitors"].reindex(range(2006, 2017))
        return (by_year.pct_change(fill_method=None) * 100).rename("growth").reset_index()
        """,
    ),
    "a name for each department": Losing(
        "The mean salary of @people by name of the department in @depts.",
        staff,
        """
        both = people.merge(depts, left_on="dept_id", right_on="id")
        return both.groupby("dept", as_index=False)["salary"].mean()
        """,
    ),
    "departments with their people": Losing(
        "A list of all departments in @depts with the names of @people.",
        staff,
        """
        return depts.merge(people, left_on="id", right_on="dept_id", how="left")[["dept", "name"]]
        """,
    ),
    "the price of the day": Losing(
        "For each of @sales the price of its item in @prices on that day.",
        prices,
        """
        both = sales.reset_index().merge(prices, on="item")
        both = both[both["valid_from"] <= both["day"]]
        return both.sort_values("valid_from").drop_duplicates("index", keep="last")[["item", "day", "price"]]
        """,
    ),
    "a mean of sums": Losing(
        "The average number of @hours with rain in a month.",
        weather,
        """
        rain = hours["Weather"].str.contains("Rain")
        return pd.DataFrame({"hours": [rain.groupby(hours["Time"].dt.month).sum().mean()]})
        """,
    ),
    "a mean of means that is asked for": Losing(
        "The average of the averages of the classes in @grades.",
        grades,
        """
        return pd.DataFrame({"points": [grades.groupby("class")["points"].mean().mean()]})
        """,
    ),
    "a dictionary with all words": Losing(
        "The mean value of @readings by half of the map.",
        sensors,
        """
        half = readings["site"].map({"N": "north", "S": "south", "E": "south", "W": "north"})
        return readings.groupby(half)["value"].mean().reset_index()
        """,
    ),
    "the words of a week": Losing(
        "The number of @hours by weekday, from Monday.",
        weather,
        """
        counts = hours["Time"].dt.day_name().value_counts()
        names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
        return counts.reindex(names).rename_axis("day").reset_index(name="hours")
        """,
    ),
    "pairs that are there": Losing(
        "The pairs of status and amount that occur in @payments, each once.",
        tidy_payments,
        """
        return payments.drop_duplicates().sort_values(["status", "amount"])
        """,
    ),
    "what has no match is filled": Losing(
        "The @cases of each region beside its population in @people, 0 if it is not known.",
        regions,
        """
        both = cases.merge(people, on="region", how="left")
        return both.assign(population=both["population"].fillna(0))
        """,
    ),
}

# Written after the rules


def catalogue() -> Tables:
    """Titles with their countries and dates, as streaming services list them."""
    random = np.random.default_rng(21)
    places = ["United States", "India", "United States, Canada", "United Kingdom", "Canada", "India, United Kingdom"]
    days = pd.date_range("2016-01-05", periods=400, freq="3D")
    return {
        "titles": pd.DataFrame(
            {
                "type": random.choice(["Movie", "TV Show"], 400),
                "country": random.choice(places, 400),
                "added": days.strftime("%B %d, %Y"),
                "rating": random.choice(["PG", "PG-13", "R", "TV-MA", "TV-PG"], 400),
                "minutes": random.integers(60, 180, 400).astype(str) + pd.Series([" min"] * 400),
            }
        )
    }


def closes() -> Tables:
    """Closing prices on working days."""
    days = pd.bdate_range("2024-01-01", periods=200)
    walk = 100 + np.cumsum(np.random.default_rng(22).normal(0, 1, 200))
    return {"closes": pd.DataFrame({"day": days, "close": np.round(walk, 2)})}


def monthly() -> Tables:
    """Revenue by month, in which a month is missing."""
    months = [f"2023-{month:02}" for month in range(1, 13) if month != 8]
    return {"revenue": pd.DataFrame({"month": months, "eur": [90, 94, 97, 91, 99, 104, 108, 120, 118, 125, 131]})}


def schools() -> Tables:
    """Pupils by school; the codes of one table have leading zeros."""
    random = np.random.default_rng(23)
    codes = [f"{number:04}" for number in range(8, 48)]
    pupils = pd.DataFrame({"school": np.repeat(codes, 5), "pupils": random.integers(20, 300, 200)})
    towns = pd.DataFrame({"school": [code.lstrip("0") for code in codes], "town": random.choice(["A", "B", "C"], 40)})
    return {"pupils": pupils, "towns": towns}


def nations() -> Tables:
    """Two lists of countries, which write three of them otherwise."""
    random = np.random.default_rng(24)
    names = [f"Country {number}" for number in range(40)]
    gdp = pd.DataFrame({"country": [*names, "Russia", "South Korea", "Iran"], "gdp": random.integers(10, 900, 43)})
    life = pd.DataFrame(
        {
            "country": [*names, "Russian Federation", "Korea, Rep.", "Iran, Islamic Rep."],
            "life": random.normal(72, 5, 43),
        }
    )
    return {"gdp": gdp, "life": life}


def penguins() -> Tables:
    random = np.random.default_rng(25)
    table = pd.DataFrame(
        {
            "species": random.choice(["Adelie", "Chinstrap", "Gentoo"], 344),
            "bill": np.round(random.normal(44, 5, 344), 1),
            "mass": np.round(random.normal(4200, 800, 344), 0),
            "sex": random.choice(["male", "female"], 344),
        }
    )
    table.loc[[3, 271], ["bill", "mass", "sex"]] = np.nan
    table.loc[[8, 9, 10, 47, 178], "sex"] = np.nan
    return {"penguins": table}


def complaints() -> Tables:
    random = np.random.default_rng(26)
    kinds = ["Noise - Residential", "Noise - Street", "Noise", "Heat", "Water", "Noise - Vehicle", "Noise - Park"]
    return {
        "calls": pd.DataFrame(
            {
                "kind": random.choice(kinds, 700),
                "opened": pd.date_range("2024-01-01", periods=700, freq="h").strftime("%m/%d/%Y %I:%M:%S %p"),
                "borough": random.choice(["BRONX", "Bronx", "QUEENS", "BROOKLYN"], 700),
            }
        )
    }


def teams() -> Tables:
    random = np.random.default_rng(27)
    players = pd.DataFrame({"player": [f"P{number}" for number in range(60)], "team": np.repeat(list("ABCDEF"), 10)})
    games = pd.DataFrame({"team": random.choice(list("ABCDEF"), 80), "points": random.integers(60, 120, 80)})
    vip = pd.DataFrame({"player": [f"P{number}" for number in range(0, 60, 9)]})
    scores = pd.DataFrame({"player": random.choice(players["player"], 300), "score": random.integers(0, 40, 300)})
    return {"players": players, "games": games, "vip": vip, "scores": scores}


def some(tables: Callable[[], Tables], *names: str) -> Callable[[], Tables]:
    """Only some of the tables."""
    return lambda: {name: tables()[name] for name in names}


GUILTY_AFTER: Mapping[str, Losing] = {
    "a table that is never read": Losing(
        "The total score in @scores of the players in @vip.",
        some(teams, "scores", "vip"),
        """
        return pd.DataFrame({"score": [scores["score"].sum()]})
        """,
        "vip is never read",
    ),
    "only titles of one country alone": Losing(
        "How many @titles come from Canada, by type?",
        catalogue,
        """
        return titles[titles.country == "Canada"].groupby("type").size().reset_index(name="titles")
        """,
        "Canada",
    ),
    "minutes with their unit": Losing(
        "The mean length of @titles in minutes, by type.",
        catalogue,
        """
        titles["length"] = pd.to_numeric(titles["minutes"], errors="coerce")
        return titles.groupby("type", as_index=False)["length"].mean()
        """,
        "minutes",
    ),
    "dates in words by the wrong format": Losing(
        "The number of @titles that were added in each year.",
        catalogue,
        """
        added = pd.to_datetime(titles["added"], format="%b %d, %Y", errors="coerce")
        return added.dt.year.value_counts().sort_index().rename_axis("year").reset_index(name="titles")
        """,
        "added",
    ),
    "a month before the gap": Losing(
        "The growth of @revenue on the month before in percent.",
        monthly,
        """
        before = revenue["eur"].shift(1)
        return revenue.assign(growth=(revenue["eur"] / before - 1) * 100)
        """,
        "between 2023-07 and 2023-09",
    ),
    "three months with a gap": Losing(
        "@revenue with the mean of the last three months.",
        monthly,
        """
        return revenue.assign(mean=revenue["eur"].rolling(3).mean())
        """,
        "2023-09",
    ),
    "codes with leading zeros": Losing(
        "The number of @pupils by town of @towns.",
        schools,
        """
        both = pupils.merge(towns, on="school", how="inner")
        return both.groupby("town", as_index=False)["pupils"].sum()
        """,
        "leading zeros",
    ),
    "countries with two names": Losing(
        "How do @gdp and @life expectancy go together? The correlation over all countries.",
        nations,
        """
        both = gdp.set_index("country").join(life.set_index("country"), how="inner")
        return both.corr().reset_index()
        """,
        "3 of 43",
    ),
    "all that lack a sex": Losing(
        "The mean mass of @penguins by species.",
        penguins,
        """
        clean = penguins.dropna()
        return clean.groupby("species")["mass"].mean().reset_index()
        """,
        "sex",
    ),
    "one kind of noise": Losing(
        "The number of @calls about noise by borough.",
        complaints,
        """
        noise = calls.query("kind == 'Noise'")
        return noise.groupby("borough").size().reset_index(name="calls")
        """,
        "Noise",
    ),
    "the Bronx in capitals": Losing(
        "The number of @calls from the Bronx by kind.",
        complaints,
        """
        return calls[calls["borough"].isin(["BRONX"])]["kind"].value_counts().reset_index()
        """,
        "Bronx",
    ),
    "noise in small letters": Losing(
        "The number of @calls about noise by borough.",
        lambda: {
            "calls": complaints()["calls"].assign(
                kind=lambda t: t["kind"].where(t.index % 9 > 0, t["kind"].str.lower())
            )
        },
        """
        noise = calls[calls["kind"].str.contains("Noise")]
        return noise["borough"].value_counts().reset_index()
        """,
        "other letters",
    ),
    "each player for each game": Losing(
        "The total points of @games by team, beside its number of @players.",
        some(teams, "players", "games"),
        """
        both = players.merge(games, on="team", how="left")
        return both.groupby("team", as_index=False).agg(points=("points", "sum"), players=("player", "nunique"))
        """,
        "60 rows into",
    ),
    "an average of averages over teams": Losing(
        "The average score in @scores.",
        some(teams, "scores"),
        """
        by_player = scores.groupby("player")["score"].agg("mean")
        return pd.DataFrame({"score": [by_player.mean()]})
        """,
        "means",
    ),
    "names of boroughs in a map": Losing(
        "The number of @calls by county of the borough.",
        complaints,
        """
        county = {"BRONX": "Bronx", "QUEENS": "Queens", "BROOKLYN": "Kings"}
        calls["county"] = calls["borough"].map(county)
        return calls.groupby("county").size().reset_index(name="calls")
        """,
        "1 of 4",
    ),
    "few that have a cabin": Losing(
        "The mean fare of @passengers by deck (Cabin).",
        passengers,
        """
        return passengers.groupby("Cabin", as_index=False)["Fare"].mean()
        """,
        "no Cabin",
    ),
}

INNOCENT_AFTER: Mapping[str, Losing] = {
    "all titles of a country": Losing(
        "How many @titles come from Canada, by type?",
        catalogue,
        """
        is_of_it = titles["country"].str.split(", ").apply(lambda names: "Canada" in names)
        return titles[is_of_it].groupby("type").size().reset_index(name="titles")
        """,
    ),
    "titles that are movies": Losing(
        "The mean length of the movies among @titles by rating.",
        catalogue,
        """
        movies = titles[titles["type"] == "Movie"].copy()
        movies["length"] = movies["minutes"].str.replace(" min", "").astype(float)
        return movies.groupby("rating", as_index=False)["length"].mean()
        """,
    ),
    "each rating beside each type": Losing(
        "A table of all ratings of @titles beside all types, with the number of titles, 0 where there are none.",
        catalogue,
        """
        found = titles.groupby(["rating", "type"]).size().rename("titles").reset_index()
        ratings = titles[["rating"]].dropna().drop_duplicates().assign(key=1)
        types = titles[["type"]].dropna().drop_duplicates().assign(key=1)
        grid = ratings.merge(types, on="key").drop(columns="key")
        grid = grid.merge(found, on=["rating", "type"], how="left")
        return grid.assign(titles=grid["titles"].fillna(0).astype("int64"))
        """,
    ),
    "titles rated PG": Losing(
        "How many @titles are rated PG?",
        catalogue,
        """
        return pd.DataFrame({"titles": [(titles["rating"] == "PG").sum()]})
        """,
    ),
    "returns of working days": Losing(
        "The daily return of @closes in percent.",
        closes,
        """
        closes = closes.sort_values("day")
        return closes.assign(change=closes["close"].pct_change() * 100)
        """,
    ),
    "a mean of 20 days": Losing(
        "@closes with the moving average of 20 trading days.",
        closes,
        """
        return closes.assign(mean=closes["close"].rolling(20).mean()).dropna()
        """,
    ),
    "months that are filled": Losing(
        "The growth of @revenue on the month before in percent.",
        monthly,
        """
        by_month = revenue.set_index(pd.PeriodIndex(revenue["month"], freq="M"))["eur"]
        by_month = by_month.reindex(pd.period_range("2023-01", "2023-12", freq="M"))
        growth = (by_month / by_month.shift(1) - 1) * 100
        return growth.rename("growth").rename_axis("month").reset_index().astype({"month": str})
        """,
    ),
    "gaps that are looked for": Losing(
        "The months of @revenue that do not follow the one before.",
        monthly,
        """
        month = pd.PeriodIndex(revenue["month"], freq="M").astype("int64")
        return revenue[pd.Series(month).diff().fillna(1) > 1]
        """,
    ),
    "codes that are made equal": Losing(
        "The number of @pupils by town of @towns.",
        schools,
        """
        both = pupils.merge(towns.assign(school=towns["school"].str.zfill(4)), on="school", how="inner")
        return both.groupby("town", as_index=False)["pupils"].sum()
        """,
    ),
    "countries that are in both": Losing(
        "The @gdp and @life expectancy of the countries that are in both tables.",
        nations,
        """
        return gdp.merge(life, on="country")
        """,
    ),
    "measured penguins": Losing(
        "The mean bill of @penguins by sex and species.",
        penguins,
        """
        known = penguins.dropna(subset=["bill", "sex"])
        return known.groupby(["species", "sex"], as_index=False)["bill"].mean()
        """,
    ),
    "complete penguins": Losing(
        "The correlation of bill and mass of @penguins.",
        penguins,
        """
        clean = penguins.dropna()
        return clean[["bill", "mass"]].corr().reset_index()
        """,
        assumptions=("Only complete rows are used.",),
    ),
    "two formats, one after the other": Losing(
        "The number of @calls by day.",
        lambda: {
            "calls": complaints()["calls"].assign(
                opened=lambda t: t["opened"].where(
                    t.index % 3 > 0, pd.Series(pd.date_range("2024-01-01", periods=700).strftime("%Y-%m-%d"))
                )
            )
        },
        """
        first = pd.to_datetime(calls["opened"], format="%m/%d/%Y %I:%M:%S %p", errors="coerce")
        second = pd.to_datetime(calls["opened"], format="%Y-%m-%d", errors="coerce")
        day = first.fillna(second).dt.normalize()
        return calls.groupby(day).size().rename("calls").rename_axis("day").reset_index()
        """,
    ),
    "boroughs in one spelling": Losing(
        "The number of @calls from the Bronx by kind.",
        complaints,
        """
        is_bronx = calls["borough"].str.upper() == "BRONX"
        return calls[is_bronx]["kind"].value_counts().reset_index()
        """,
    ),
    "both spellings": Losing(
        "The number of @calls from the Bronx by kind.",
        complaints,
        """
        return calls[calls["borough"].isin(["BRONX", "Bronx"])]["kind"].value_counts().reset_index()
        """,
    ),
    "scores of a few": Losing(
        "The total score in @scores of the players in @vip.",
        some(teams, "scores", "vip"),
        """
        both = scores.merge(vip, on="player")
        return both.groupby("player", as_index=False)["score"].sum()
        """,
    ),
    "scores of a few, without a word": Losing(
        "Total score by player, @vip players, from @scores.",
        some(teams, "scores", "vip"),
        """
        both = vip.merge(scores, how="inner", on="player")
        return both.groupby("player", as_index=False)["score"].sum()
        """,
    ),
    "the team of each score": Losing(
        "The mean score in @scores by team of @players.",
        some(teams, "players", "scores"),
        """
        team = scores["player"].map(players.set_index("player")["team"])
        return scores.groupby(team)["score"].mean().reset_index()
        """,
    ),
    "pairs of players": Losing(
        "All pairs of @players of one team.",
        some(teams, "players"),
        """
        both = players.merge(players, on="team", suffixes=("_1", "_2"))
        return both[both["player_1"] < both["player_2"]]
        """,
    ),
    "the best of each player": Losing(
        "The best score of each player in @scores.",
        some(teams, "scores"),
        """
        return scores.sort_values("score", ascending=False).drop_duplicates("player")
        """,
    ),
    "the average of what players scored": Losing(
        "The average number of scores that a player has in @scores.",
        some(teams, "scores"),
        """
        return pd.DataFrame({"scores": [scores.groupby("player").size().mean()]})
        """,
    ),
    "an average for each player and its spread": Losing(
        "The average score of each player in @scores, and how far it is from the average over players.",
        some(teams, "scores"),
        """
        by_player = scores.groupby("player", as_index=False)["score"].mean()
        return by_player.assign(off=by_player["score"] - by_player["score"].mean())
        """,
    ),
    "the share of those with a cabin": Losing(
        "The share of survivors in @passengers with a cabin and without one.",
        passengers,
        """
        has_one = passengers["Cabin"].notna()
        return passengers.groupby(has_one)["Survived"].mean().reset_index()
        """,
    ),
    "columns in an order": Losing(
        "The number of @passengers by port and sex, as a table with a column for each sex.",
        passengers,
        """
        counts = passengers.pivot_table(index="Embarked", columns="Sex", values="Fare", aggfunc="count")
        return counts.reindex(columns=["female", "male"]).reset_index()
        """,
    ),
    "days without calls": Losing(
        "The number of @calls by hour of the day, also for hours without any.",
        complaints,
        """
        hour = pd.to_datetime(calls["opened"], format="%m/%d/%Y %I:%M:%S %p").dt.hour
        return hour.value_counts().reindex(range(24), fill_value=0).rename_axis("hour").reset_index(name="calls")
        """,
    ),
    "a short answer in the words of the data": Losing(
        "Do survivors pay more? The mean fare of @passengers by answer yes or no.",
        passengers,
        """
        answer = passengers["Survived"].map({1: "yes", 0: "no"})
        return passengers.groupby(answer)["Fare"].mean().reset_index()
        """,
    ),
    "the rest together": Losing(
        "The number of @hours by kind: snow, rain, or other.",
        weather,
        """
        kind = hours["Weather"].map({"Snow": "snow", "Rain": "rain"}).fillna("other")
        return kind.value_counts().reset_index()
        """,
    ),
}
