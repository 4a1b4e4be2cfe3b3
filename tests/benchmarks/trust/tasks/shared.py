"""Mistakes that two solutions of one mind share: what is lost without a word, or counted twice."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _bills(random: np.random.Generator) -> Tables:
    amounts = [f"{amount:,}" for amount in random.integers(80, 9000, 120)]
    return {"bills": pd.DataFrame({"client": random.choice(["N", "S", "W"], 120), "amount": amounts})}


def _shops(random: np.random.Generator) -> Tables:
    codes = [f"{number:03}" for number in range(60, 130)]
    sales = pd.DataFrame({"shop": random.choice(codes, 300), "amount": random.integers(100, 9000, 300) / 100})
    shops = pd.DataFrame({"shop": [code.lstrip("0") for code in codes], "city": random.choice(["A", "B", "C"], 70)})
    return {"sales": sales, "shops": shops}


def _films(random: np.random.Generator) -> Tables:
    kinds = ["Drama", "Comedy", "Drama|Comedy", "Action", "Action|Drama", "Comedy|Romance", "Romance"]
    return {"films": pd.DataFrame({"kind": random.choice(kinds, 200), "year": random.integers(2000, 2006, 200)})}


def _visits(random: np.random.Generator) -> Tables:
    country = random.choice(["USA", "usa", "USA ", "Canada", "Mexico"], 250, p=[0.5, 0.1, 0.1, 0.2, 0.1])
    return {"visits": pd.DataFrame({"country": country, "pages": random.integers(1, 20, 250)})}


def _pupils(random: np.random.Generator) -> Tables:
    pupils = pd.DataFrame({"form": random.choice(["1a", "1b", "2a"], 150), "points": random.integers(0, 100, 150)})
    pupils["phone"] = pd.Series("0664", index=pupils.index).mask(random.random(150) < 0.4)
    return {"pupils": pupils}


def _months(random: np.random.Generator) -> Tables:
    months = [f"{year}-{month:02}" for year in (2022, 2023) for month in range(1, 13) if (year, month) != (2022, 11)]
    return {"sales": pd.DataFrame({"month": months, "units": random.integers(100, 400, 23)})}


def _accounts(random: np.random.Generator) -> Tables:
    ids = np.arange(1, 41)
    invoices = pd.DataFrame({"client": random.choice(ids, 120), "invoiced": random.integers(10, 900, 120)})
    payments = pd.DataFrame({"client": random.choice(ids, 90), "paid": random.integers(10, 500, 90)})
    return {"invoices": invoices, "payments": payments}


def _trips(random: np.random.Generator) -> Tables:
    kinds = random.choice(["member", "casual", "day pass"], 220, p=[0.5, 0.4, 0.1])
    return {"trips": pd.DataFrame({"rider": kinds, "minutes": random.integers(3, 90, 220)})}


def _parcels(random: np.random.Generator) -> Tables:
    grams = random.integers(200, 5000, 100)
    is_kilo = random.random(100) < 0.5
    weight = [f"{one / 1000} kg" if kilo else f"{one} g" for one, kilo in zip(grams, is_kilo, strict=True)]
    return {"parcels": pd.DataFrame({"route": random.choice(["N", "S"], 100), "weight": weight})}


def _budget(random: np.random.Generator) -> Tables:
    rows = [(unit, int(random.integers(10, 90))) for unit in ("Roads", "Schools", "Parks", "Police", "Library")]
    return {"budget": pd.DataFrame([*rows, ("Total", sum(count for _, count in rows))], columns=["unit", "cost"])}


def _calls(random: np.random.Generator) -> Tables:
    days = pd.Timestamp("2022-01-01") + pd.to_timedelta(np.sort(random.integers(0, 730, 300)), unit="D")
    return {"calls": pd.DataFrame({"day": days, "minutes": random.integers(1, 40, 300)})}


def _notes(random: np.random.Generator) -> Tables:
    texts = ["Refund wanted", "refund of the fee", "REFUND", "Late delivery", "Wrong size", "All fine"]
    return {"notes": pd.DataFrame({"text": random.choice(texts, 180), "cost": random.integers(1, 50, 180)})}


TASKS = (
    Task(
        name="amounts with commas",
        request="The total amount of @bills by client, by name.",
        tables=_bills,
        returns={"client": "str", "amount": "float64"},
        assumptions=("Amounts are in one currency.",),
        right="""
            amount = pd.to_numeric(bills["amount"].str.replace(",", ""), errors="coerce").astype(float)
            return amount.groupby(bills["client"]).sum().reset_index()
        """,
        same="""
            bills = bills.assign(amount=[float(text.replace(",", "")) for text in bills["amount"]])
            return bills.groupby("client", as_index=False)["amount"].sum()
        """,
        wrong={"large amounts are lost": ('.str.replace(",", "")', "")},
        shared=("large amounts are lost",),
        small="bills = pd.DataFrame({'client': ['N', 'N'], 'amount': ['10', '5']})",
        weak={"The total": "assert list(run(bills=bills)['amount']) == [15.0]"},
        strong={"with commas": "assert list(run(bills=bills.assign(amount=['1,010', '5']))['amount']) == [1015.0]"},
    ),
    Task(
        name="sales by city of the shop",
        request="The amount of @sales by city of the shop in @shops, by name.",
        tables=_shops,
        returns={"city": "str", "amount": "float64"},
        assumptions=("A shop has one city.",),
        right="""
            known = shops.assign(shop=shops["shop"].str.zfill(3))
            joined = sales.merge(known, on="shop", how="left")
            return joined.groupby("city", as_index=False)["amount"].sum()
        """,
        same="""
            city = sales["shop"].str.lstrip("0").map(shops.set_index("shop")["city"])
            return sales["amount"].groupby(city.rename("city")).sum().reset_index()
        """,
        wrong={"codes that differ in zeros": (".str.zfill(3)", "")},
        shared=("codes that differ in zeros",),
        small="""
            sales = pd.DataFrame({"shop": ["101", "102"], "amount": [1.0, 2.0]})
            shops = pd.DataFrame({"shop": ["101", "102"], "city": ["A", "A"]})
        """,
        weak={"by city": "assert list(run(sales=sales, shops=shops)['amount']) == [3.0]"},
        strong={
            "of the shop": "sales['shop'] = ['099', '102']\nshops['shop'] = ['99', '102']\n"
            "assert list(run(sales=sales, shops=shops)['amount']) == [3.0]"
        },
    ),
    Task(
        name="dramas by year",
        request="The number of dramas among @films by year.",
        tables=_films,
        returns={"year": "int64", "films": "int64"},
        assumptions=("Years without a drama are not listed.",),
        right="""
            dramas = films[films["kind"].str.contains("Drama")]
            return dramas.groupby("year").size().rename("films").reset_index()
        """,
        same="""
            dramas = films[["Drama" in kinds.split("|") for kinds in films["kind"]]]
            return dramas["year"].value_counts().sort_index().rename_axis("year").reset_index(name="films")
        """,
        wrong={"dramas alone": ('films["kind"].str.contains("Drama")', 'films["kind"] == "Drama"')},
        shared=("dramas alone",),
        small="films = pd.DataFrame({'kind': ['Drama', 'Action'], 'year': [2001, 2001]})",
        weak={"dramas": "assert list(run(films=films)['films']) == [1]"},
        strong={
            "of several kinds": "films['kind'] = ['Drama|Action', 'Drama']\nassert list(run(films=films)['films']) == [2]"
        },
    ),
    Task(
        name="pages of the USA",
        request="The mean pages of @visits from the USA.",
        tables=_visits,
        returns="float",
        assumptions=("A visit counts once.",),
        right="""
            return float(visits[visits["country"].str.strip().str.upper() == "USA"]["pages"].mean())
        """,
        same="""
            return float(visits.loc[visits["country"].str.lower().str.strip().eq("usa"), "pages"].mean())
        """,
        wrong={"one spelling": ('visits["country"].str.strip().str.upper() == "USA"', 'visits["country"] == "USA"')},
        shared=("one spelling",),
        small="visits = pd.DataFrame({'country': ['USA', 'USA'], 'pages': [1, 3]})",
        weak={"The mean": "assert run(visits=visits) == 2.0"},
        strong={"in any spelling": "visits['country'] = ['usa ', 'USA']\nassert run(visits=visits) == 2.0"},
    ),
    Task(
        name="points by form",
        request="The mean points of @pupils by form.",
        tables=_pupils,
        returns={"form": "str", "points": "float64"},
        assumptions=("Each pupil counts the same.",),
        right="""
            pupils = pupils.dropna(subset=["form", "points"])
            return pupils.groupby("form", as_index=False)["points"].mean()
        """,
        same="""
            return pupils["points"].groupby(pupils["form"]).mean().reset_index()
        """,
        wrong={"only those with a phone": ('pupils.dropna(subset=["form", "points"])', "pupils.dropna()")},
        shared=("only those with a phone",),
        small="pupils = pd.DataFrame({'form': ['1a', '1a'], 'points': [1, 3], 'phone': ['1', '2']})",
        weak={"The mean": "assert list(run(pupils=pupils)['points']) == [2.0]"},
        strong={"Each pupil": "pupils['phone'] = ['1', None]\nassert list(run(pupils=pupils)['points']) == [2.0]"},
    ),
    Task(
        name="best growth on the month before",
        request="The month of @sales with the largest growth of units on the month before.",
        tables=_months,
        returns="str",
        assumptions=("The first of equal months counts.",),
        right="""
            units = sales.set_index(pd.PeriodIndex(sales["month"], freq="M"))["units"].sort_index()
            units = units.reindex(pd.period_range(units.index.min(), units.index.max(), freq="M"))
            return str((units / units.shift(1)).idxmax())
        """,
        same="""
            known = dict(zip(sales["month"], sales["units"]))
            growth = {}
            for month, units in sorted(known.items()):
                before = str(pd.Period(month, freq="M") - 1)
                if before in known:
                    growth[month] = units / known[before]
            return max(growth, key=growth.get)
        """,
        wrong={
            "on the row before": """
                sales = sales.sort_values("month", ignore_index=True)
                growth = sales["units"] / sales["units"].shift(1)
                return sales["month"][growth.idxmax()]
            """
        },
        shared=("on the row before",),
        small="sales = pd.DataFrame({'month': ['2024-01', '2024-02', '2024-03'], 'units': [1, 3, 4]})",
        edge="sales = pd.DataFrame({'month': ['2024-01', '2024-03', '2024-04'], 'units': [1, 9, 10]})",
        weak={"the largest growth": "assert run(sales=sales) == '2024-02'"},
        strong={
            "the month before": "sales['month'] = ['2024-01', '2024-03', '2024-04']\nassert run(sales=sales) == '2024-04'"
        },
    ),
    Task(
        name="what clients owe",
        request="What all clients together still owe: the sum of @invoices less the sum of @payments, of clients with both.",
        tables=_accounts,
        returns="float",
        assumptions=("Clients are told apart by their number.",),
        right="""
            paid = payments.groupby("client")["paid"].sum()
            invoiced = invoices.groupby("client")["invoiced"].sum()
            both = pd.concat([invoiced, paid], axis=1, join="inner")
            return float((both["invoiced"] - both["paid"]).sum())
        """,
        same="""
            both = set(invoices["client"]) & set(payments["client"])
            mine, theirs = invoices[invoices["client"].isin(both)], payments[payments["client"].isin(both)]
            return float(mine["invoiced"].sum() - theirs["paid"].sum())
        """,
        wrong={
            "each payment for each invoice": """
                both = invoices.merge(payments, on="client")
                return float((both["invoiced"] - both["paid"]).sum())
            """
        },
        shared=("each payment for each invoice",),
        small="""
            invoices = pd.DataFrame({"client": [1, 2], "invoiced": [10, 20]})
            payments = pd.DataFrame({"client": [1, 2], "paid": [4, 5]})
        """,
        weak={"less the payments": "assert run(invoices=invoices, payments=payments) == 21.0"},
        strong={
            "several of a client": "invoices['client'] = 1\npayments['client'] = 1\n"
            "assert run(invoices=invoices, payments=payments) == 21.0"
        },
    ),
    Task(
        name="minutes of members and others",
        request="The mean minutes of @trips of subscribers (members) and of customers (all others), by name of the group.",
        tables=_trips,
        returns={"group": "str", "minutes": "float64"},
        assumptions=("A trip counts once.",),
        right="""
            group = trips["rider"].map({"member": "subscribers", "casual": "customers", "day pass": "customers"})
            return trips["minutes"].groupby(group.rename("group")).mean().reset_index()
        """,
        same="""
            group = ["subscribers" if rider == "member" else "customers" for rider in trips["rider"]]
            return trips.assign(group=group).groupby("group", as_index=False)["minutes"].mean()
        """,
        wrong={"no day passes": (', "day pass": "customers"', "")},
        shared=("no day passes",),
        small="trips = pd.DataFrame({'rider': ['member', 'casual'], 'minutes': [1, 3]})",
        weak={"The mean": "assert list(run(trips=trips)['minutes']) == [3.0, 1.0]"},
        strong={
            "all others": "trips['rider'] = ['member', 'day pass']\nassert list(run(trips=trips)['minutes']) == [3.0, 1.0]"
        },
    ),
    Task(
        name="weight by route in kilograms",
        request="The total weight of @parcels by route in kilograms.",
        tables=_parcels,
        returns={"route": "str", "weight": "float64"},
        assumptions=("Every parcel has a weight.",),
        right="""
            number = parcels["weight"].str.extract(r"([\\d.]+)")[0].astype(float)
            number = number.where(parcels["weight"].str.contains("kg"), number / 1000)
            return number.rename("weight").groupby(parcels["route"]).sum().reset_index()
        """,
        same="""
            kilos = [float(text[:-3]) if text.endswith("kg") else float(text[:-2]) / 1000 for text in parcels["weight"]]
            return parcels.assign(weight=kilos).groupby("route", as_index=False)["weight"].sum()
        """,
        wrong={"no units": ('number = number.where(parcels["weight"].str.contains("kg"), number / 1000)\n', "")},
        shared=("no units",),
        small="parcels = pd.DataFrame({'route': ['N', 'N'], 'weight': ['1.5 kg', '2.0 kg']})",
        weak={"The total": "assert list(run(parcels=parcels)['weight']) == [3.5]"},
        strong={
            "in kilograms": "parcels['weight'] = ['500 g', '2.0 kg']\nassert list(run(parcels=parcels)['weight']) == [2.5]"
        },
    ),
    Task(
        name="share of the largest unit",
        request="The share of the largest cost in the whole @budget, in percent.",
        tables=_budget,
        returns="float",
        assumptions=("Costs are not negative.",),
        right="""
            units = budget[budget["unit"] != "Total"]
            return float(100 * units["cost"].max() / units["cost"].sum())
        """,
        same="""
            cost = budget.set_index("unit")["cost"].drop("Total", errors="ignore")
            return float(cost.max() / cost.sum() * 100)
        """,
        wrong={"the total is a unit": ('budget[budget["unit"] != "Total"]', "budget")},
        shared=("the total is a unit",),
        small="budget = pd.DataFrame({'unit': ['a', 'b'], 'cost': [1, 3]})",
        weak={"The share": "assert run(budget=budget) == 75.0"},
        strong={
            "in the whole": "budget = pd.DataFrame({'unit': ['a', 'b', 'Total'], 'cost': [1, 3, 4]})\n"
            "assert run(budget=budget) == 75.0"
        },
    ),
    Task(
        name="minutes by month",
        request="The total minutes of @calls by month.",
        tables=_calls,
        returns={"month": "str", "minutes": "int64"},
        assumptions=("Months without a call are not listed.",),
        right="""
            month = calls["day"].dt.strftime("%Y-%m").rename("month")
            return calls["minutes"].groupby(month).sum().reset_index()
        """,
        same="""
            month = calls["day"].dt.to_period("M").astype(str)
            return calls.assign(month=month).groupby("month", as_index=False)["minutes"].sum()
        """,
        wrong={"the months of all years": ('dt.strftime("%Y-%m")', "dt.month.astype(str)")},
        shared=("the months of all years",),
        small="calls = pd.DataFrame({'day': pd.to_datetime(['2024-01-03', '2024-01-09']), 'minutes': [1, 3]})",
        weak={"The total": "assert list(run(calls=calls)['minutes']) == [4]"},
        strong={
            "by month": "calls['day'] = pd.to_datetime(['2023-01-03', '2024-01-09'])\n"
            "assert list(run(calls=calls)['minutes']) == [1, 3]"
        },
    ),
    Task(
        name="cost of refunds",
        request="The total cost of the @notes about a refund.",
        tables=_notes,
        returns="int",
        assumptions=("A note is about a refund if it has the word.",),
        right="""
            return int(notes[notes["text"].str.contains("refund", case=False)]["cost"].sum())
        """,
        same="""
            return sum(int(note.cost) for note in notes.itertuples() if "refund" in note.text.lower())
        """,
        wrong={"small letters alone": (", case=False", "")},
        shared=("small letters alone",),
        small="notes = pd.DataFrame({'text': ['a refund', 'fine'], 'cost': [1, 3]})",
        weak={"The total": "assert run(notes=notes) == 1"},
        strong={"has the word": "notes['text'] = ['Refund', 'refund']\nassert run(notes=notes) == 4"},
    ),
)
