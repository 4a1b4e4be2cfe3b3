"""Several tables: which rows meet, what becomes of the others, and how often a row counts."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pandas as pd

from autocoder_jupyter.evaluate.trial import Tables
from tests.benchmarks.trust.task import Task


def _market(random: np.random.Generator) -> Tables:
    users = pd.DataFrame(
        {
            "user_id": np.arange(100, 180),
            "country": random.choice(["DE", "FR", "IT"], 80),
            "since": pd.Timestamp("2023-01-01") + pd.to_timedelta(random.integers(0, 300, 80), unit="D"),
        }
    )
    sales = pd.DataFrame(
        {
            "sale": np.arange(1, 251),
            "buyer_id": random.integers(100, 190, 250),  # some are no users
            "amount": random.integers(100, 9000, 250) / 100,
        }
    )
    return {"sales": sales, "users": users}


MARKET = """
users = pd.DataFrame({"user_id": [1, 2, 3], "country": ["DE", "FR", "DE"]})
sales = pd.DataFrame({"sale": [1, 2, 3], "buyer_id": [1, 2, 3], "amount": [10.0, 20.0, 5.0]})
"""


def _priced(random: np.random.Generator) -> Tables:
    prices = pd.DataFrame(
        {
            "product": np.repeat([f"p{number}" for number in range(12)], 4),
            "valid_from": np.tile(pd.to_datetime(["2024-01-01", "2024-03-01", "2024-06-01", "2024-09-01"]), 12),
            "price": random.integers(100, 5000, 48) / 100,
        }
    ).sample(frac=1, random_state=int(random.integers(1000)), ignore_index=True)
    sales = pd.DataFrame(
        {
            "product": random.choice([f"p{number}" for number in range(12)], 200),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 330, 200), unit="D"),
            "pieces": random.integers(1, 9, 200),
        }
    )
    return {"sales": sales, "prices": prices}


def _catalogue(random: np.random.Generator) -> Tables:
    versions = pd.DataFrame(
        {
            "sku": random.choice([f"s{number}" for number in range(40)], 90),
            "weight": random.integers(1, 200, 90) / 10,
            "edited": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.permutation(90), unit="h"),
        }
    )
    lines = pd.DataFrame(
        {
            "parcel": np.sort(random.integers(1, 60, 240)),
            "sku": random.choice([f"s{number}" for number in range(40)], 240),
            "pieces": random.integers(1, 4, 240),
        }
    )
    return {"lines": lines, "versions": versions}


def _foreign(random: np.random.Generator) -> Tables:
    months = pd.period_range("2024-01", "2024-06", freq="M").astype(str)
    rates = pd.DataFrame(
        {
            "month": np.tile(months, 2),
            "currency": np.repeat(["USD", "GBP"], 6),
            "rate": np.concatenate([random.integers(105, 112, 6) / 100, random.integers(83, 88, 6) / 100]),
        }
    )
    bills = pd.DataFrame(
        {
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 180, 150), unit="D"),
            "currency": random.choice(["EUR", "USD", "GBP"], 150),
            "amount": random.integers(1000, 90000, 150) / 100,
        }
    )
    return {"bills": bills, "rates": rates}


TASKS = (
    Task(
        name="revenue by country",
        request="The amount of @sales by country of the buyer in @users, by name; sales of unknown buyers as 'unknown'.",
        tables=_market,
        returns={"country": "str", "amount": "float64"},
        assumptions=("A buyer is unknown if the id is not in users.", "Countries without sales are left out."),
        right="""
            joined = sales.merge(users, left_on="buyer_id", right_on="user_id", how="left")
            country = joined["country"].fillna("unknown")
            return joined["amount"].groupby(country).sum().reset_index()
        """,
        same="""
            country = sales["buyer_id"].map(users.set_index("user_id")["country"]).fillna("unknown").rename("country")
            return sales.groupby(country)["amount"].sum().sort_index().reset_index()
        """,
        wrong={
            "an inner join": ('how="left"', 'how="inner"'),
            "no name for the unknown": ('.fillna("unknown")', ""),
            "the number of sales": ('["amount"].groupby(country).sum()', '["amount"].groupby(country).count()'),
            "joined by the number of the sale": (
                'left_on="buyer_id", right_on="user_id"',
                'left_on=sales["sale"] + users["user_id"].min() - 1, right_on="user_id"',
            ),
        },
        small=MARKET,
        weak={
            "by country": "assert run(sales=sales, users=users).to_dict('list') == "
            "{'country': ['DE', 'FR'], 'amount': [15.0, 20.0]}"
        },
        strong={
            "unknown buyers as 'unknown'": "sales['buyer_id'] = [1, 9, 3]\n"
            "assert run(sales=sales, users=users).to_dict('list') == "
            "{'country': ['DE', 'unknown'], 'amount': [15.0, 20.0]}",
            "country of the buyer": "sales['buyer_id'] = [2, 1, 1]\n"
            "assert run(sales=sales, users=users).to_dict('list') == {'country': ['DE', 'FR'], 'amount': [25.0, 10.0]}",
        },
    ),
    Task(
        name="users without a sale",
        request="How many @users have no row in @sales (buyer_id is user_id)?",
        tables=_market,
        returns="int",
        assumptions=("Each user counts once.",),
        right="""
            return int((~users["user_id"].isin(sales["buyer_id"])).sum())
        """,
        same="""
            return len(set(users["user_id"]) - set(sales["buyer_id"]))
        """,
        wrong={
            "sales without a user": 'return int((~sales["buyer_id"].isin(users["user_id"])).sum())',
            "the difference of two numbers": 'return int(len(users) - sales["buyer_id"].nunique())',
            "users with a sale": ("~", ""),
            "ids compared by place": 'return int((users["user_id"] != sales["buyer_id"].reindex(users.index)).sum())',
        },
        small=f"{MARKET}sales['buyer_id'] = [1, 2, 1]",
        weak={
            "have no row in @sales": "assert run(sales=sales, users=users) == 1",
        },
        strong={
            "of users, not of sales": "sales['buyer_id'] = [7, 8, 1]\nassert run(sales=sales, users=users) == 2",
            "no row": "sales['buyer_id'] = [3, 2, 1]\nassert run(sales=sales, users=users) == 0",
        },
    ),
    Task(
        name="price of the day",
        request="The total of @sales: pieces times the price of the product in @prices that was valid on that day "
        "(the last valid_from not after it).",
        tables=_priced,
        returns="float",
        assumptions=("A price is valid on the day of valid_from itself.", "A sale before the first price counts 0."),
        right="""
            left, right = sales.sort_values("day", kind="stable"), prices.sort_values("valid_from", kind="stable")
            found = pd.merge_asof(left, right, left_on="day", right_on="valid_from", by="product", direction="backward")
            return float((found["pieces"] * found["price"]).sum())
        """,
        same="""
            total = 0.0
            for sale in sales.itertuples():
                mine = prices[(prices["product"] == sale.product) & (prices["valid_from"] <= sale.day)]
                if len(mine):
                    total += float(sale.pieces * mine.sort_values("valid_from")["price"].iloc[-1])
            return total
        """,
        wrong={
            "the next price": ('direction="backward"', 'direction="forward"'),
            "the nearest price": ('direction="backward"', 'direction="nearest"'),
            "the last price of all": """
                last = prices.sort_values("valid_from").groupby("product")["price"].last()
                return float((sales["pieces"] * sales["product"].map(last)).sum())
            """,
            "not on the day itself": ('direction="backward")', 'direction="backward", allow_exact_matches=False)'),
        },
        small="""
            prices = pd.DataFrame({"product": ["a", "a"], "valid_from": pd.to_datetime(["2024-01-01", "2024-02-01"]),
                                   "price": [1.0, 3.0]})
            sales = pd.DataFrame({"product": ["a"], "day": pd.to_datetime(["2024-03-01"]), "pieces": [2]})
        """,
        edge="""
            prices = pd.DataFrame({"product": ["a", "a"], "valid_from": pd.to_datetime(["2024-01-01", "2024-02-01"]),
                                   "price": [1.0, 3.0]})
            sales = pd.DataFrame({"product": ["a"], "day": pd.to_datetime(["2024-02-01"]), "pieces": [2]})
        """,
        weak={"pieces times the price": "assert run(sales=sales, prices=prices) == 6.0"},
        strong={
            "valid on that day": "sales['day'] = pd.Timestamp('2024-01-30')\nassert run(sales=sales, prices=prices) == 2.0",
            "the day of valid_from itself": "sales['day'] = pd.Timestamp('2024-02-01')\n"
            "assert run(sales=sales, prices=prices) == 6.0",
            "before the first price": "sales['day'] = pd.Timestamp('2023-12-31')\n"
            "assert run(sales=sales, prices=prices) == 0.0",
        },
    ),
    Task(
        name="weight of a parcel",
        request="The weight of each parcel in @lines, by parcel: pieces times the weight of the sku in @versions, of which "
        "the row that was edited last counts.",
        tables=_catalogue,
        returns={"parcel": "int64", "weight": "float64"},
        assumptions=("A sku that is in no version weighs nothing.",),
        right="""
            newest = versions.sort_values("edited", kind="stable").drop_duplicates("sku", keep="last")
            joined = lines.merge(newest, on="sku", how="left")
            joined["weight"] = (joined["pieces"] * joined["weight"]).fillna(0.0)
            return joined.groupby("parcel", as_index=False)["weight"].sum()
        """,
        same="""
            weight = versions.loc[versions.groupby("sku")["edited"].idxmax()].set_index("sku")["weight"]
            each = lines["pieces"] * lines["sku"].map(weight)
            return each.groupby(lines["parcel"]).sum().rename("weight").reset_index()
        """,
        wrong={
            "all versions": ('.drop_duplicates("sku", keep="last")', ""),
            "the first version": ('keep="last"', 'keep="first"'),
            "the last row": ('versions.sort_values("edited", kind="stable")', "versions"),
            "the mean of the versions": """
                joined = lines.merge(versions.groupby("sku", as_index=False)["weight"].mean(), on="sku", how="left")
                joined["weight"] = (joined["pieces"] * joined["weight"]).fillna(0.0)
                return joined.groupby("parcel", as_index=False)["weight"].sum()
            """,
            "an inner join": ('how="left"', 'how="inner"'),
        },
        small="""
            versions = pd.DataFrame({"sku": ["a", "b"], "weight": [1.0, 2.0],
                                     "edited": pd.to_datetime(["2024-01-01", "2024-01-02"])})
            lines = pd.DataFrame({"parcel": [1, 1, 2], "sku": ["a", "b", "a"], "pieces": [1, 2, 3]})
        """,
        edge="""
            versions = pd.DataFrame({"sku": ["a", "a"], "weight": [1.0, 2.0],
                                     "edited": pd.to_datetime(["2024-01-03", "2024-01-02"])})
            lines = pd.DataFrame({"parcel": [1, 2], "sku": ["a", "z"], "pieces": [1, 2]})
        """,
        weak={"The weight of each parcel": "assert list(run(lines=lines, versions=versions)['weight']) == [5.0, 3.0]"},
        strong={
            "edited last": "versions = pd.DataFrame({'sku': ['a', 'b', 'a'], 'weight': [9.0, 2.0, 1.0], "
            "'edited': pd.to_datetime(['2024-01-03', '2024-01-01', '2024-01-02'])})\n"
            "assert list(run(lines=lines, versions=versions)['weight']) == [13.0, 27.0]",
            "in no version weighs nothing": "out = run(lines=lines.assign(sku=['a', 'b', 'z']), versions=versions)\n"
            "assert list(out['weight']) == [5.0, 0.0]",
        },
    ),
    Task(
        name="amounts in euros",
        request="The total of @bills in EUR. @rates has the units of a currency for one euro, by month (YYYY-MM).",
        tables=_foreign,
        returns="float",
        assumptions=("A bill in EUR needs no rate.", "The rate is that of the month of the bill's day."),
        right="""
            month = bills["day"].dt.strftime("%Y-%m")
            keyed = bills.assign(month=month).merge(rates, on=["month", "currency"], how="left")
            rate = keyed["rate"].where(keyed["currency"] != "EUR", 1.0)
            return float((keyed["amount"] / rate).sum())
        """,
        same="""
            known = {(row.month, row.currency): row.rate for row in rates.itertuples()}
            total = 0.0
            for bill in bills.itertuples():
                rate = 1.0 if bill.currency == "EUR" else known.get((f"{bill.day:%Y-%m}", bill.currency))
                total += bill.amount / rate if rate else 0.0
            return float(total)
        """,
        wrong={
            "times the rate": ('keyed["amount"] / rate', 'keyed["amount"] * rate'),
            "bills in euros are lost": ('.where(keyed["currency"] != "EUR", 1.0)', ""),
            "the mean rate": """
                rate = bills["currency"].map(rates.groupby("currency")["rate"].mean()).fillna(1.0)
                return float((bills["amount"] / rate).sum())
            """,
            "each rate of the month": ('on=["month", "currency"]', 'on="month", suffixes=("", "_of")'),
        },
        small="""
            rates = pd.DataFrame({"month": ["2024-01"], "currency": ["USD"], "rate": [1.0]})
            bills = pd.DataFrame({"day": pd.to_datetime(["2024-01-10", "2024-01-12"]), "currency": ["USD", "USD"],
                                  "amount": [10.0, 20.0]})
        """,
        weak={"The total": "assert run(bills=bills, rates=rates) == 30.0"},
        strong={
            "units of a currency for one euro": "rates['rate'] = 2.0\nassert run(bills=bills, rates=rates) == 15.0",
            "EUR needs no rate": "bills['currency'] = ['USD', 'EUR']\nassert run(bills=bills, rates=rates) == 30.0",
            "by month": "rates = pd.DataFrame({'month': ['2024-01', '2024-02'], 'currency': 'USD', 'rate': [2.0, 5.0]})\n"
            "bills['day'] = pd.to_datetime(['2024-01-31', '2024-02-01'])\n"
            "assert run(bills=bills, rates=rates) == 9.0  # 5 + 4",
            "of the currency": "rates = pd.DataFrame({'month': '2024-01', 'currency': ['USD', 'GBP'], 'rate': [2.0, 4.0]})\n"
            "assert run(bills=bills, rates=rates) == 15.0",
        },
    ),
)
