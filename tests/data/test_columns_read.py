from __future__ import annotations

import textwrap
from typing import Any

import pandas as pd

from autocoder_jupyter.data.columns_read import columns_read
from autocoder_jupyter.types import InputSpec
from tests.cases import each

SALES = InputSpec(name="sales", type="DataFrame")
OTHER = InputSpec(name="other", type="DataFrame")
COLUMN = InputSpec(name="column", type="str")
LEAST = InputSpec(name="least", type="int")


def read(body: str, *inputs: InputSpec, more: str = "") -> str:
    """Which of three columns the body of `run` reads, as one word."""
    inputs = inputs or (SALES,)
    reads = columns_read(module(body, *inputs, more=more), inputs)
    return " ".join(name for name in ("region", "revenue", "notes") if reads.covers(repr(name)))


def module(body: str, *inputs: InputSpec, more: str = "") -> str:
    head = f"def run({', '.join(spec.name for spec in inputs)}):\n"
    return f"import pandas as pd\n{textwrap.dedent(more)}\n\n{head}" + textwrap.indent(textwrap.dedent(body), "    ")


@each(
    "body",
    [
        "return sales['revenue'].sum(), sales['region'].nunique()",
        "return sales.groupby('region')['revenue'].sum().reset_index()",
        "return sales.groupby('region', as_index=False).agg(total=('revenue', 'sum'))",
        "return sales.groupby('region').agg({'revenue': 'sum'})",
        "return sales.groupby('region').agg(total=pd.NamedAgg('revenue', 'sum'))",
        "return sales.groupby(['region']).size(), sales.revenue.max()",
        "df = sales.copy()\ndf['double'] = df['revenue'] * 2\nreturn df[df['region'] == 'north']",
        "return sales.dropna(subset=['region']).sort_values('revenue', ascending=False).head(3)",
        "return sales.query('revenue > 3 and region == \"north\"')['revenue'].mean()",
        "return sales.loc[sales['region'].isin(['north']), 'revenue'].sum()",
        "return sales.drop_duplicates(['region'])['revenue'], sales.duplicated(subset='region')",
        "part = sales[['region', 'revenue']].drop_duplicates()\nreturn part.describe(), part.columns",
        "return sum(row['revenue'] for _, row in sales.iterrows() if row['region'])",
        "return [row.revenue for row in sales.itertuples() if row.region]",
        """
        rows = []
        for name, group in sales.groupby('region'):
            rows.append({'r': name, 't': group['revenue'].sum()})
        return pd.DataFrame(rows)
        """,
        "return sales.apply(lambda row: row['revenue'] if row['region'] else 0, axis=1).sum()",
        "return sales.assign(d=lambda t: t['revenue'] * 2)['region'].map(lambda x: x + 'a')",
        "return sales.pivot_table(index='region', values='revenue', aggfunc='sum')",
        """
        wanted = ['region', 'revenue']
        missing = [c for c in wanted if c not in sales.columns]
        if missing:
            raise ValueError(f'{len(missing)} are missing')
        return sales[wanted].sum()
        """,
        "if {'region', 'revenue'} - set(sales.columns) or sales.empty:\n    return 0\nreturn len(sales)",
        "total = 0\nfor c in ('region', 'revenue'):\n    total += sales[c].count()\nreturn total",
        "return sales.rename(columns={'revenue': 'x'}).astype({'x': float})['x'], sales.shape[0], sales['region']",
        "return sales.set_index('region').loc['north', 'revenue']",
        "return sales.groupby('region').apply(lambda g: g.nlargest(1, 'revenue'))",
        "return sales.iloc[0]['revenue'], sales.index, sales['region']",
        "sales = sales[sales['revenue'] > 0]\nreturn sales['region']",
        "def rev(t):\n    return t[t['region'] == 'x']['revenue']\nreturn rev(sales).sum()",
        """
        with open('/dev/null') as f:
            f.fileno()
        try:
            return sales['revenue'].sum() + len(sales['region'])
        except KeyError:
            return 0
        """,
    ],
)  # fmt: skip
def test_columns_that_are_used_by_name_are_what_is_read(body: str) -> None:
    assert read(body) == "region revenue"
    namespace: dict[str, Any] = {}
    exec(module(body, SALES), namespace)
    sales = pd.DataFrame({"region": ["north", "south", "north"], "revenue": [3.0, 4.0, 5.0], "notes": ["a", "b", "c"]})
    lean = namespace["run"](sales.drop(columns="notes"))  # proof: the code does not need the third column
    assert "notes" not in repr(lean)
    if "notes" not in repr(whole := namespace["run"](sales)):
        assert repr(lean) == repr(whole)


@each(
    "body",
    [
        "return sales.columns",
        "return sales.dropna()",
        "return sales.drop_duplicates()",
        "return sales.groupby('region').sum()",
        "return sales.groupby('region').agg('sum')",
        "return sales.select_dtypes('number').sum()",
        "return sales.iloc[:, 1]",
        "return sales.iloc[0, 1]",
        "return [sales[c].sum() for c in sales]",
        "return sales.copy().sum()",
        "return sales[sales['region'] == 'a'].mean(numeric_only=True)",
        "return sales * 2",
        "return sales > 0",
        "return sales.apply(lambda column: column.sum())",
        "return sales.apply(lambda row: row.sum(), axis=1)",
        "return [row[1] for row in sales.itertuples()]",
        "return [len(row) and row.sum() for _, row in sales.iterrows()]",
        "return sales.rename(columns=str.lower)",
        "return sales.values, sales.T",
        "return sales.to_csv()",
        "return list(sales)",
        "return getattr(sales, 'revenue')",
        "return pd.DataFrame(sales)",
        "return sales.filter(like='rev')",
        "frames = {}\nframes['a'] = sales\nreturn frames",
        "return [f(sales) for f in (len, str)]",
        "return sales.groupby('region').apply(lambda g: g.mean())",
        "def own(t):\n    return t.mean()\nreturn own(sales)",
        "def own(t):\n    return t\nreturn own(sales).mean()",
        "return sales.pipe(lambda t: t.sum())",
        "class A:\n    pass\nreturn 1",
        "return sales.loc[:, 'region':'revenue']",
        "return (sales if True else None).mean()",
        "return f'{sales}'",
        "return sales.merge(sales)",
        "return pd.concat([sales, sales]).sum()",
        "x = sales\ny = x\nreturn y.sum()",
        "return sales.equals(sales)",
        "return sales.pipe(print)",
        "return sales.pipe((print, 'df'))",
        "return sales.apply('sum', axis=1)",
        "import numpy as np\nreturn sales.apply(np.sum, axis=1)",
        "return sales.groupby('region').apply(len)",
        "return eval('sales.sum()')",
        "return locals()['sales'].sum()",
        "def own(t):\n    return t['region']\ndef own(t):\n    return t.sum()\nreturn own(sales)",
        "def d(f):\n    return lambda t: f(t.sum())\n@d\ndef own(t):\n    return t['region']\nreturn own(sales)",
        "lambda t=sales: 1\nreturn (lambda t: t.sum())(sales)",
        "return (lambda t=sales: t.sum())()",
        "*a, b = sales, sales\nreturn b.sum()",
        "g = sales.groupby('region')\nreturn g.mean()",
        "return sales.fillna(0)",
        "import re\nreturn map(str, [sales])",
    ],
)  # fmt: skip
def test_a_look_at_all_columns_makes_every_column_count(body: str) -> None:
    assert read(body) == "region revenue notes"


@each(
    "body",
    [
        "return sales[column].sum()",
        "return sales.groupby(column).size()",
        "wanted = [column, 'revenue']\nreturn sales[wanted].sum()",
        "wanted = ['revenue']\nwanted.append(column)\nreturn sales[wanted].sum()",
        "name = column.lower()\nreturn sales[f'{name}']",
        "return sales.query(column)",
        "names = {}\nnames['a'] = column\nreturn sales[names['a']]",
    ],
)
def test_a_name_that_the_caller_gives_may_be_any_column(body: str) -> None:
    assert read(body, SALES, COLUMN) == "region revenue notes"


def test_a_value_that_the_caller_gives_names_no_column() -> None:
    assert read("return sales[sales['region'] == column]['revenue']", SALES, COLUMN) == "region revenue"
    assert read("return sales[sales['region'].isin([column])]['revenue']", SALES, COLUMN) == "region revenue"
    assert read("return sales.nlargest(least, 'revenue')['region']", SALES, LEAST) == "region revenue"


def test_tables_are_put_together_by_the_columns_that_are_named() -> None:
    assert read("return sales.merge(other, on='region')['revenue']", SALES, OTHER) == "region revenue"
    assert read("return pd.merge(sales, other, on='region')['revenue']", SALES, OTHER) == "region revenue"
    assert read("return pd.concat([sales, other])[['region', 'revenue']]", SALES, OTHER) == "region revenue"
    assert read("t = sales.groupby('region')['revenue'].sum()\nreturn t.to_frame().merge(other, on='region')",
                SALES, OTHER) == "region revenue"  # fmt: skip
    assert read("return sales.merge(other)", SALES, OTHER) == "region revenue notes"


def test_a_text_that_is_put_together_reads_what_it_could_spell() -> None:
    assert read("return [sales[f're{x}'] for x in ('gion', 'venue')]") == "region revenue"
    assert read("return [sales['re' + str(x)] for x in range(3)]") == "region revenue"
    assert read("return [sales['no%s' % x] for x in range(3)]") == "notes"
    assert read("return sales['{}es'.format('a')]") == "notes"
    assert read("return sales['e'.join(['r', 'gion'])]") == "region revenue notes"


def test_a_column_that_a_merge_renames_is_read_by_its_old_name() -> None:
    merged = "m = sales.merge(other, on='region')\nreturn m['revenue_x'], m['region']"
    assert read(merged, SALES, OTHER) == "region revenue"
    named = "m = sales.merge(other, on='region', suffixes=('', '_old'))\nreturn m['notes_old'], m['region']"
    assert read(named, SALES, OTHER) == "region notes"


def test_helpers_and_names_of_the_module_are_followed() -> None:
    more = """
        WANTED = ["region", "revenue"]

        def clean(table, least=0):
            '''Takes notes out.'''
            return table[WANTED].dropna()
    """
    assert read("return clean(sales).sum()", more=more) == "region revenue"


def test_what_is_no_module_with_run_reads_everything() -> None:
    assert columns_read("def (", [SALES]).covers("'notes'")
    assert columns_read("x = 1", [SALES]).covers("'notes'")


def test_labels_that_are_no_plain_text_always_count() -> None:
    reads = columns_read("def run(sales):\n    return sales['revenue'], sales['2024']", [SALES])
    assert [
        literal for literal in ("7", "None", "('a', 1)", "Timestamp('2024')", "'<email-1>'") if reads.covers(literal)
    ]
    assert reads.covers("('revenue', 'sum')")
    assert not reads.covers("('notes', 'sum')")


def test_a_spelling_of_many_parts_is_matched_in_linear_time() -> None:
    gaps = "".join("a{x}" for _ in range(2_000))
    reads = columns_read(f"def run(sales):\n    x = ''\n    return sales[f'{gaps}b']", [SALES])
    assert not reads.covers(repr("a" * 100_000))
