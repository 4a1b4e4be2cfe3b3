"""Functions whose kinds are known, for the check of splits. Each is the body of `run(df)`.

The check was built with `BUILT_WITH`. `NOT_SEEN` were written beside it and run when it was complete; none of its rules
was made for them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd


def orders(rows: int) -> pd.DataFrame:
    """Orders of 40 customers in four regions; some amounts are missing."""
    random = np.random.default_rng(1)
    customers = random.integers(0, 40, rows)
    days = pd.to_timedelta(np.sort(random.integers(0, 90, rows)), unit="D")
    table = pd.DataFrame(
        {
            "order_id": np.arange(1000, 1000 + rows),
            "customer": [f"c{customer}" for customer in customers],
            "email": [f"c{customer}@example.org" for customer in customers],
            "region": random.choice(["N", "S", "E", "W"], rows),
            "day": pd.Timestamp("2024-01-01") + days,
            "amount": np.round(random.gamma(2, 50, rows), 2),
            "units": random.integers(1, 9, rows),
        }
    )
    table.loc[random.choice(rows, 10), "amount"] = np.nan
    return table


BUILT_WITH = {
    "a product of two columns": ("rows", (), "df.assign(total=df.amount * df.units)"),
    "a filter": ("rows", (), "df[df.amount > 50]"),
    "a sum for each customer": ("groups", ("customer",), "df.groupby('customer', as_index=False).amount.sum()"),
    "a rank within a customer": ("groups", ("customer",), "df.assign(r=df.groupby('customer').amount.rank())"),
    "the first of each customer": ("groups", ("customer",), "df.drop_duplicates('customer')"),
    "the largest 500": ("merge", (), "df.nlargest(500, 'amount')"),
    "a sum": ("merge", (), "pd.DataFrame({'amount': [df.amount.sum()]})"),
    "a share of the total": ("whole", (), "df.assign(s=df.amount / df.amount.sum())"),
    "a rank of all": ("whole", (), "df.assign(r=df.amount.rank())"),
    "a forward fill": ("whole", (), "df.assign(amount=df.amount.ffill())"),
    "row numbers": ("whole", (), "df.assign(n=range(len(df)))"),
    "columns that depend on the data": ("whole", (), "pd.get_dummies(df[['region', 'units']], columns=['region'])"),
    "a mean": ("whole", (), "pd.DataFrame({'amount': [df.amount.mean()]})"),
    "a sample of large tables": ("whole", (), "df.sample(1000, random_state=0) if len(df) > 100_000 else df"),
    "at most three regions": ("whole", (), "df[df.region.isin(sorted(df.region.dropna().unique())[:3])]"),
    "a derived key": ("whole", (), "df.groupby(df.day.dt.month).amount.sum().reset_index()"),
}

NOT_SEEN = {
    "a part of a date": ("rows", (), "pd.DataFrame({'c': df.customer, 'w': df.day.dt.day_of_week})"),
    "more rows for a row": ("rows", (), "df.assign(t=df.email.str.split('@')).explode('t')[['order_id', 't']]"),
    "the mean for what is missing": ("whole", (), "df.assign(amount=df.amount.fillna(df.amount.mean()))"),
    "days since the last order": (
        "groups",
        ("customer",),
        "df.sort_values(['customer', 'day'], kind='stable')"
        ".assign(gap=lambda d: d.groupby('customer').day.diff().dt.days)",
    ),
    "a share of a region": (
        "groups",
        ("region",),
        "df.assign(s=df.amount / df.groupby('region').amount.transform('sum'))",
    ),
    "customers with three orders": (
        "groups",
        ("customer",),
        "df[df.groupby('customer').order_id.transform('count') >= 3]",
    ),
    "the last three": ("merge", (), "df.sort_values('day', kind='stable').tail(3)"),
    "every second row": ("whole", (), "df.iloc[::2]"),
    "the row before": ("whole", (), "df.assign(p=df.units.shift(1))"),
    "a number of customers": ("whole", (), "pd.DataFrame({'n': [df.customer.nunique()]})"),
    "codes by appearance": ("whole", (), "df.assign(code=pd.factorize(df.region)[0])"),
    "days since the first": ("whole", (), "df.assign(d=(df.day - df.day.min()).dt.days)"),
    "the most frequent region": ("whole", (), "df[df.region == df.region.mode().iloc[0]]"),
    "quartiles": ("whole", (), "df.assign(q=pd.qcut(df.units.rank(method='first'), 4, labels=False))"),
}
