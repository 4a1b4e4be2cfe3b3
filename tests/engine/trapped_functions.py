"""Functions with a trap that the sample does not show and a late file has, and right ones that are split.

Each is the body of `run(sales)`. A trap is in a file that is read late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

FILES, ROWS, TRAPPED = 12, 250, 10


def orders(rows: int, seed: int) -> pd.DataFrame:
    """Orders as the sample has them: one spelling of each key, no gaps, whole days."""
    draw = np.random.default_rng(seed)
    customers = draw.integers(0, 30, rows)
    return pd.DataFrame(
        {
            "order_id": np.arange(rows) + 1000 * (seed + 1),
            "customer": [f"cust {number:02}" for number in customers],
            "region": draw.choice(["north", "south", "east", "west"], rows),
            "category": draw.choice(["OPEN", "PAID"], rows),
            "product": draw.choice([f"p{number}" for number in range(12)], rows),
            "account": [str(number) for number in draw.integers(100, 140, rows)],
            "price": [f"{number / 100:.2f}" for number in draw.integers(100, 900, rows)],
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 25, rows), unit="D"),
            "written": [f"{a:02}/{b:02}/2024" for a, b in draw.integers(1, 12, (rows, 2))],
            "amount": draw.integers(1, 400, rows) / 4,
            "units": draw.integers(1, 9, rows),
            "share": draw.integers(1, 99, rows) / 100,
        }
    )


Trap = Callable[[pd.DataFrame], pd.DataFrame]


def put(column: str, *values: Any) -> Trap:
    """A trap: other values in some rows."""

    def change(table: pd.DataFrame) -> pd.DataFrame:
        table = table.copy()
        places = [17 + 31 * place for place in range(len(values))]
        if table[column].dtype.kind in "iufM":
            table[column] = table[column].astype("float64" if None in values else table[column].dtype)
        table.loc[places, column] = [np.nan if value is None else value for value in values]
        return table

    return change


def map_of(column: str, change: Callable[[Any], Any], every: int = 40) -> Trap:
    """A trap: some values in another form."""

    def made(table: pd.DataFrame) -> pd.DataFrame:
        rows = np.arange(len(table)) % every == 3
        changed = [change(value) if row else value for value, row in zip(table[column], rows, strict=True)]
        return table.assign(**{column: changed})

    return made


def same(table: pd.DataFrame) -> pd.DataFrame:
    return table


class Trapped(NamedTuple):
    body: str
    trap: Trap


def of(body: str, trap: Trap = same) -> Trapped:
    return Trapped(body, trap)


CLOSED = put("category", "CLOSED", "CLOSED")
COMMA = put("price", "1,250.00", "2,000.50")

TRAPPED_FUNCTIONS = {
    # keys that the code makes equal
    "strip and lower": of(
        "sales = sales.assign(region=sales['region'].str.strip().str.lower())\n"
        "    return sales.groupby('region', as_index=False)['amount'].mean()",
        map_of("region", lambda text: f"{text.upper()} "),
    ),
    "whole days": of(
        "sales = sales.assign(day=sales['day'].dt.floor('D'))\n"
        "    return sales.groupby('day', as_index=False)['amount'].mean()",
        map_of("day", lambda day: day + pd.Timedelta(hours=9)),
    ),
    "numbers of texts": of(
        "sales = sales.assign(account=sales['account'].astype(int))\n"
        "    return sales.groupby('account', as_index=False)['amount'].mean()",
        map_of("account", lambda text: f"00{text}"),
    ),
    "texts without leading zeros": of(
        "sales = sales.assign(account=sales['account'].str.lstrip('0'))\n"
        "    return sales.groupby('account', as_index=False)['amount'].median()",
        map_of("account", lambda text: f"0{text}"),
    ),
    "a word for what is missing": of(
        "sales = sales.assign(region=sales['region'].fillna('north'))\n"
        "    return sales.groupby('region', as_index=False)['amount'].mean()",
        map_of("region", lambda text: None),
    ),
    "punctuation left out": of(
        "sales = sales.assign(customer=sales['customer'].str.replace(r'[^a-z0-9]', '', regex=True))\n"
        "    return sales.groupby('customer', as_index=False)['amount'].mean()",
        map_of("customer", lambda text: text.replace(" ", "-")),
    ),
    "a word for another": of(
        "sales = sales.assign(region=sales['region'].replace({'n.': 'north', 'nord': 'north'}))\n"
        "    return sales.groupby('region', as_index=False)['amount'].mean()",
        map_of("region", lambda text: "nord"),
    ),
    "the first word": of(
        "sales = sales.assign(region=sales['region'].str.split().str[0])\n"
        "    return sales.groupby('region', as_index=False)['amount'].mean()",
        map_of("region", lambda text: f"{text} (old)"),
    ),
    "the first five letters": of(
        "sales = sales.assign(region=sales['region'].str[:5])\n"
        "    return sales.groupby('region', as_index=False)['amount'].mean()",
        map_of("region", lambda text: f"{text}ern"),
    ),
    "accents left out": of(
        "plain = sales['region'].str.normalize('NFKD').str.encode('ascii', 'ignore').str.decode('ascii')\n"
        "    return sales.assign(region=plain).groupby('region', as_index=False)['amount'].mean()",
        map_of("region", lambda text: text.replace("o", "ö").replace("e", "é")),
    ),
    "the account without its sign": of(
        "sales = sales.assign(order_id=sales['order_id'].abs() % 100_000)\n"
        "    return sales.groupby('order_id', as_index=False)['amount'].mean()",
        lambda table: table.assign(order_id=-table["order_id"] + 1000 * TRAPPED - 3000),
    ),
    # conditions on a whole column
    "a comma anywhere": of(
        "price = sales['price']\n"
        "    if price.str.contains(',').any():\n"
        "        price = price.str.replace('.', '', regex=False).str.replace(',', '.', regex=False)\n"
        "    return sales.assign(value=pd.to_numeric(price, errors='coerce'))[['order_id', 'value']]",
        COMMA,
    ),
    "a closed one anywhere": of(
        "closed = (sales['category'] == 'CLOSED').any()\n"
        "    return sales.assign(value=sales['amount'] * (2 if closed else 1))[['order_id', 'value']]",
        CLOSED,
    ),
    "a closed one anywhere, in a group": of(
        "factor = 1.0 if (sales['category'] != 'CLOSED').all() else 0.5\n"
        "    totals = sales.groupby('customer', as_index=False)['amount'].sum()\n"
        "    return totals.assign(amount=totals['amount'] * factor)",
        CLOSED,
    ),
    "percent or parts": of(
        "share = sales['share']\n"
        "    if share.max() > 1:\n"
        "        share = share / 100\n"
        "    return sales.assign(share=share)[['order_id', 'share']]",
        put("share", 45.0, 60.0),
    ),
    "a flag without a branch": of(
        "return sales.assign(value=sales['amount'] * (1 + sales['category'].isin(['CLOSED']).any()))[['value']]",
        CLOSED,
    ),
    "np.where on a flag": of(
        "import numpy as np\n"
        "    late = sales['day'].max() > pd.Timestamp('2024-06-01')\n"
        "    return sales.assign(value=np.where(late, sales['amount'], sales['units']))[['value']]",
        put("day", pd.Timestamp("2024-07-01")),
    ),
    "a gap anywhere": of(
        "if sales['amount'].isna().any():\n"
        "        sales = sales.assign(amount=sales['amount'].fillna(0) + 1)\n"
        "    return sales[['order_id', 'amount']]",
        put("amount", None),
    ),
    "a time in the day": of(
        "has_time = (sales['day'].dt.hour != 0).any()\n"
        "    form = '%Y-%m-%d %H:%M' if has_time else '%Y-%m-%d'\n"
        "    return sales.assign(day=sales['day'].dt.strftime(form))[['order_id', 'day']]",
        put("day", pd.Timestamp("2024-01-05 13:30")),
    ),
    "a while loop": of(
        "power = 1\n"
        "    while sales['amount'].max() > 1000 * power:\n"
        "        power *= 10\n"
        "    return sales.assign(amount=sales['amount'] / power)[['order_id', 'amount']]",
        put("amount", 50_000.0),
    ),
    "the longest text": of(
        "width = max(5, sales['region'].str.len().max())\n"
        "    return sales.assign(region=sales['region'].str.pad(int(width)))[['region']]",
        put("region", "north-north-west"),
    ),
    "a match": of(
        "match sorted(set(sales['category'])):\n"
        "        case [*_, 'VOID']:\n"
        "            return sales[['amount']] * 2\n"
        "    return sales[['amount']] * 1",
        put("category", "VOID"),
    ),
    "a lookup by a flag": of(
        "factor = {True: 0.5, False: 1.0}[bool((sales['units'] > 50).any())]\n    return (sales[['amount']] * factor)",
        put("units", 60),
    ),
    "a sum over a limit": of(
        "total = sales['units'].sum()\n"
        "    return sales.assign(value=sales['amount'] * (0.9 if total > 15_000 else 1))[['value']]",
        put("units", 5000),
    ),
    "many customers": of(
        "if sales['customer'].nunique() > 60:\n"
        "        return sales.assign(customer=sales['customer'].str.upper())[['customer']]\n"
        "    return sales[['customer']]",
        lambda table: table.assign(customer=[f"new {n}" for n in range(len(table))]),
    ),
    "a helper with a condition": of(
        "def clean(column):\n"
        "        return column.str.upper() if column.str.contains('/', regex=False).any() else column\n"
        "    return sales.assign(region=clean(sales['region']))[['region']]",
        put("region", "n/a"),
    ),
    # top-N, ranks, quantiles
    "the most frequent twenty": of(
        "top = sales['product'].value_counts().head(20).index\n"
        "    return sales[sales['product'].isin(top)][['order_id', 'product']]",
        lambda table: table.assign(product=[f"q{n % 60}" for n in range(len(table))]),
    ),
    "the others in one": of(
        "top = sales['product'].value_counts().index[:15]\n"
        "    kept = sales['product'].where(sales['product'].isin(top), 'other')\n"
        "    return sales.assign(product=kept).groupby('product', as_index=False)['units'].sum()",
        lambda table: table.assign(product=[f"q{n % 60}" for n in range(len(table))]),
    ),
    "the most frequent by category": of(
        "top = sales['product'].astype('category').value_counts().nlargest(15).index\n"
        "    return sales[sales['product'].isin(top.astype(str))].groupby('customer', as_index=False)['units'].sum()",
        lambda table: table.assign(product=[f"q{n % 60}" for n in range(len(table))]),
    ),
    "the most frequent words": of(
        "word = sales['region'].str.extract('([a-z]+)', expand=False)\n"
        "    top = word.value_counts().head(20).index\n"
        "    return sales[word.isin(top)][['order_id', 'region']]",
        lambda table: table.assign(region=[f"town{chr(97 + n % 26)}{chr(97 + n % 3)}" for n in range(len(table))]),
    ),
    "outliers": of(
        "limit = max(150.0, sales['amount'].quantile(0.99))\n"
        "    return sales[sales['amount'] <= limit][['order_id', 'amount']]",
        lambda table: table.assign(amount=table["amount"] * 20),
    ),
    "winsorised": of(
        "limit = sales['amount'].quantile(0.999)\n"
        "    return sales.assign(amount=sales['amount'].clip(upper=max(limit, 100)))[['amount']]",
        put("amount", 900.0, 950.0),
    ),
    "a rank": of("return sales.assign(rank=sales['amount'].rank(method='dense'))[['order_id', 'rank']]"),
    "quantile bins": of("return sales.assign(bin=pd.qcut(sales['amount'], 4, labels=False))[['order_id', 'bin']]"),
    "bins over the range": of("return sales.assign(bin=pd.cut(sales['amount'], 3, labels=False))[['order_id', 'bin']]"),
    # the rows before, the first, the whole
    "only the first": of("return sales.drop_duplicates('product')[['order_id', 'product']]"),
    "the row before": of("return sales.assign(before=sales['amount'].shift())[['order_id', 'before']]"),
    "a rolling mean": of("return sales.assign(mean=sales['amount'].rolling(3).mean())[['order_id', 'mean']]"),
    "a running sum": of("return sales.assign(sum=sales['units'].cumsum())[['order_id', 'sum']]"),
    "the mean for gaps": of(
        "return sales.assign(amount=sales['amount'].fillna(sales['amount'].mean()))[['order_id', 'amount']]",
        put("amount", None, None),
    ),
    "the next for gaps": of(
        "return sales.assign(amount=sales['amount'].interpolate())[['order_id', 'amount']]", put("amount", None, None)
    ),
    "the most frequent for gaps": of(
        "return sales.assign(region=sales['region'].fillna(sales['region'].mode()[0]))[['order_id', 'region']]",
        put("region", None, None),
    ),
    "codes of categories": of(
        "return sales.assign(code=sales['category'].astype('category').cat.codes)[['order_id', 'code']]", CLOSED
    ),
    "columns of categories": of("return pd.get_dummies(sales[['category']])", CLOSED),
    "merged with its own counts": of(
        "counts = sales.groupby('product', as_index=False).size()\n"
        "    return sales.merge(counts, on='product')[['order_id', 'size']]"
    ),
    "a normalised sample": of("return sales.sample(frac=0.5, random_state=0)[['order_id']]"),
    "weeks": of("return sales.resample('W', on='day')['units'].sum().reset_index()"),
    "more than a thousand": of("return sales.head(5)[['order_id']] if len(sales) > 1000 else sales[['order_id']]"),
    # types that are guessed
    "numbers if all are": of(
        "try:\n"
        "        value = sales['account'].astype(int) % 10\n"
        "    except ValueError:\n"
        "        value = -1\n"
        "    return sales.assign(value=value)[['order_id', 'value']]",
        put("account", "A7"),
    ),
    "dates by the first": of(
        "return sales.assign(day=pd.to_datetime(sales['written']))[['order_id', 'day']]",
        lambda table: table.assign(written=[f"{a}/05/2024" for a in np.arange(len(table)) % 12 + 13]),
    ),
    "day first if any is": of(
        "first = sales['written'].str[:2].astype(int)\n"
        "    form = '%d/%m/%Y' if first.max() > 12 else '%m/%d/%Y'\n"
        "    return sales.assign(day=pd.to_datetime(sales['written'], format=form))[['order_id', 'day']]",
        put("written", "25/02/2024"),
    ),
    "numbers or texts": of(
        "value = pd.to_numeric(sales['account'], errors='coerce')\n"
        "    value = sales['account'] if value.isna().any() else value.astype(int).astype(str).str.zfill(8)\n"
        "    return sales.assign(account=value)[['order_id', 'account']]",
        put("account", "A7"),
    ),
}
"""By their names; none may be split in a way that gives another answer."""

HONEST = {
    "a product": "return sales.assign(value=sales['amount'] * sales['units'])[['order_id', 'value']]",
    "a filter": "return sales[sales['amount'] > 50][['order_id', 'amount']]",
    "a filter by a word": "return sales[sales['category'] == 'PAID'][['order_id']]",
    "columns checked": (
        "missing = {'amount', 'units'} - set(sales.columns)\n"
        "    if missing:\n        raise ValueError(f'missing: {missing}')\n"
        "    return sales[['amount', 'units']].sum(axis=1).to_frame('sum')"
    ),
    "nothing for nothing": (
        "if sales.empty:\n        return pd.DataFrame(columns=['order_id', 'value'])\n"
        "    return sales.assign(value=sales['amount'] * 2)[['order_id', 'value']]"
    ),
    "nothing is left": (
        "paid = sales[sales['category'] == 'PAID']\n"
        "    if paid.empty:\n        return paid[['order_id']].assign(value=0.0)\n"
        "    return paid.assign(value=paid['amount'] * 2)[['order_id', 'value']]"
    ),
    "gaps filled if there are any": (
        "if sales['amount'].isna().any():\n        sales = sales.assign(amount=sales['amount'].fillna(0))\n"
        "    return sales[['order_id', 'amount']]"
    ),
    "negatives refused": (
        "if (sales['amount'] < 0).any():\n        raise ValueError('negative')\n    return sales[['amount']] * 2"
    ),
    "dates if they are texts": (
        "day = sales['day']\n"
        "    if not pd.api.types.is_datetime64_any_dtype(day):\n        day = pd.to_datetime(day)\n"
        "    return sales.assign(month=day.dt.month)[['order_id', 'month']]"
    ),
    "texts if they are objects": (
        "if sales['price'].dtype == object:\n        sales = sales.assign(price=sales['price'].str.strip())\n"
        "    return sales.assign(price=sales['price'].astype(float))[['order_id', 'price']]"
    ),
    "commas left out if there are any": (
        "price = sales['price']\n"
        "    if price.str.contains(',').any():\n        price = price.str.replace(',', '')\n"
        "    return sales.assign(price=pd.to_numeric(price, errors='coerce'))[['order_id', 'price']]"
    ),
    "each row by a function": (
        "def size(row):\n        if row['units'] > 500:\n            return 'huge'\n"
        "        return 'large' if row['units'] > 5 else 'small'\n"
        "    return sales.assign(size=sales.apply(size, axis=1))[['order_id', 'size']]"
    ),
    "cleaned texts": "return sales.assign(region=sales['region'].str.strip().str.lower())[['order_id', 'region']]",
    "fixed bins": (
        "return sales.assign(bin=pd.cut(sales['amount'], [-1e9, 20, 60, 1e9], labels=False))[['order_id', 'bin']]"
    ),
    "tried for each": (
        "def number(text):\n        try:\n            return float(text)\n"
        "        except ValueError:\n            return None\n"
        "    return sales.assign(price=sales['price'].map(number).astype(float))[['order_id', 'price']]"
    ),
    "a sum for each customer": "return sales.groupby('customer', as_index=False)['amount'].sum()",
    "a mean for each region": "return sales.groupby('region', as_index=False)['amount'].mean()",
    "a mean for each customer and day": "return sales.groupby(['customer', 'day'], as_index=False)['amount'].mean()",
    "a rank in a region": (
        "return sales.assign(rank=sales.groupby('region')['amount'].rank(method='min'))[['order_id', 'rank']]"
    ),
    "the three largest of a customer": (
        "top = sales.sort_values(['amount', 'order_id'], ascending=[False, True]).groupby('customer').head(3)\n"
        "    return top[['customer', 'order_id', 'amount']]"
    ),
    "a helper for each customer": (
        "def of(group):\n        if len(group) < 3:\n            return pd.Series({'mean': 0.0})\n"
        "        if group['amount'].max() > 1e7:\n            return pd.Series({'mean': -1.0})\n"
        "        return pd.Series({'mean': group['amount'].mean()})\n"
        "    return sales.groupby('customer')[['amount']].apply(of).reset_index()"
    ),
    "a share of a customer": (
        "total = sales.groupby('customer')['amount'].transform('sum')\n"
        "    return sales.assign(share=sales['amount'] / total)[['order_id', 'share']]"
    ),
    "a loop over customers": (
        "rows = []\n"
        "    for customer, group in sales.groupby('customer'):\n"
        "        if group['units'].sum() == 0:\n            continue\n"
        "        rows.append({'customer': customer, 'price': group['amount'].sum() / group['units'].sum()})\n"
        "    return pd.DataFrame(rows, columns=['customer', 'price'])"
    ),
    "a sum of all": "return pd.DataFrame({'units': [sales['units'].sum()]})",
    "the ten largest": "return sales.nlargest(10, ['amount', 'order_id'])",
    "a warning": (
        "import warnings\n"
        "    if not sales['category'].isin(['OPEN', 'PAID']).all():\n        warnings.warn('other categories')\n"
        "    return sales[['order_id', 'category']]"
    ),
    "a key that is cleaned, row by row": (
        "key = sales['region'].str.strip().str.lower()\n"
        "    return sales.assign(rate=key.map({'north': 1.0, 'south': 2.0}).fillna(0.0))[['order_id', 'rate']]"
    ),
}
"""By their names; each may be split, and is."""
