"""Names of frames in prose without an at sign: which are recognised, and which ordinary words are left alone."""

from __future__ import annotations

from autocoder_jupyter.magics.recognition import recognised
from tests.cases import each

NAMES = (
    *(
        "sales",
        "stores",
        "daily_visits",
        "orders_df",
        "df_customers",
        "web_events",
        "returnsTable",
        "invoice",
        "df",
        "x",
    ),
    *(
        "data",
        "table",
        "date",
        "value",
        "values",
        "result",
        "price",
        "total",
        "name",
        "index",
        "count",
        "order",
        "rows",
    ),
    *("staff2024", "iris", "plan", "month", "rate", "test", "sample", "a", "customer_segments", "weather", "x", "rows"),
)

SENTENCES = """
Monthly revenue of sales. | sales
Join sales with stores by store id. | sales stores
Revenue of the sales table by month. | sales
Revenue of the Sales table by month. | sales
The store table has the region. | stores
Count daily visits by weekday. | daily_visits
Count the daily visit by weekday. | daily_visits
Daily-visits by weekday. | daily_visits
Mean of daily_visits. | daily_visits
Use orders_df to count orders. | orders_df
The orders table by customer. | orders_df
How many rows of orders are there? | orders_df
The customers data by country. | df_customers
Clean df_customers. | df_customers
Sessions from web events. | web_events
Sessions from Web Events, half an hour apart. | web_events
The returns table by reason. | returnsTable
The invoice table by client. | invoice
Sum of invoice by client. | invoice
Rows of df with a missing price. | df
Group df by date. | df
Describe the data. | data
Clean the data by date. | data
The mean of all columns in data. | data
Turn this table into long form. | table
Rows in the table without a name. | table
The date table joined to sales. | date sales
The price table by product. | price
Cluster customer segments by size. | customer_segments
The iris data by species. | iris
Plot iris by species. | iris
Weather by city. |
weather by city. | weather
Total of sales and stores, then sales again. | sales stores
Join the sales and stores tables. | sales stores
Compare plan with sales. | plan sales
The plan table by quarter. | plan
Check staff2024 for duplicates. | staff2024
Revenue by store and month. |
Revenue by date. |
The total price by order date. |
Sum of value by name. |
The number of orders per customer. |
The mean value of each column. |
Count values by index. |
Give the result as a table. |
A table with one row per month. |
The first ten primes. |
Sort the names. |
Is x prime? |
Add one to x. |
The price after tax. |
Convert the rate to percent. |
Parse a date. |
Test whether a word is a palindrome. |
The order of the rows must not change. |
A list of values without duplicates. |
The largest value of a list. |
A random sample of ten numbers. |
The month of each date. |
The index of the largest value. |
The total by name and date. |
Return the count. |
Draw one figure per month. |
The customer with the most orders. |
A customer may return an item. |
Visits are counted by day. |
Events on the web are not counted. |
A segment of a customer. |
Write to sales@example.org. |
Use example.sales as the domain. |
presales and salespeople |
The salesman with the most customers. |
A daily report of visits. |
Web pages and events. |
The test must fail if the value is missing. |
Sum two numbers. |
Reverse a text. |
How many days has a month? |
The name of the weekday of a date. |
A data structure for intervals. |
Data science terms, sorted. |
Output a table of results. |
The result must have no index. |
Round the total to cents. |
Count words in a text. |
The rate of change from day to day. |
A year is a leap year or not. |
In order of time. |
Sort by price, then by name. |
Keep rows as they are. |
The number of rows. |
One row per customer and month. |
A function that adds a and b. |
Values below zero count as zero. |
Customers without orders. |
The store with the highest price. |
Draw a line for each store. |
The share of each value in the total. |
Split the name into first and last. |
The median price per month. |
An invoicing plan in words. | plan
""".strip().splitlines()


@each("line", SENTENCES)
def test_a_sentence_names_these_variables(line: str) -> None:
    prose, _, expected = line.partition("|")
    found = recognised(prose, NAMES, lambda name: True)
    assert [one.name for one in found] == expected.split()


NAMES_BESIDE = (
    *(
        "sales",
        "stores",
        "daily_visits",
        "orders_df",
        "df_customers",
        "returnsTable",
        "df",
        "data",
        "table",
        "date",
        "value",
        "result",
    ),
    *("price", "total", "summary", "order_items", "orders_2024", "plan", "weather", "monthly_sales", "growth", "df2"),
)

BESIDE_DATA = """
Join @x with the stores table by store id. | stores
Join @x with the stores table. | stores
Join @x with the Stores dataset. | stores
Join @x with the store table. | stores
Join @x with stores. |
Join @x with the sales and stores tables. | sales stores
Join @x with the sales, stores and plan tables. | sales stores plan
Join @x with daily_visits. | daily_visits
Join @x with `stores` by id. | stores
Merge @x and orders_2024 on id. | orders_2024
Merge @x and the orders_2024 on id. | orders_2024
Enrich @x with the orders table. | orders_df
Enrich @x, daily_visits and the stores table. | daily_visits stores
Take the region from orders_2024. | orders_2024
Use daily_visits for the number of visits of @x. | daily_visits
Join @x with df2. | df2
Add the order items table to @x. | order_items
The customers table has the country. @x has orders. | df_customers
Add the region, which is in the stores frame. | stores
Build a monthly sales table from @x. |
Make a sales table from @x. |
Return a table of stores with revenue of @x. |
Write the result in daily_visits. |
Return daily_visits. |
Call it daily_visits. |
Return columns month, daily_visits and share of @x. |
The columns: month, daily_visits |
Sum daily_visits by month. |
Give the result table by date from @x. |
The date table. |
Sort the df by date. |
The table stores the revenue of @x. |
Do not use the stores table. |
Do not use orders_2024. |
Group @x without the stores table. |
The summary of sales in @x as a table. |
Write orders_2024.csv. |
From orders_2024.csv and @x. |
All sales records of @x. |
The sales data of @x has gaps. |
Plot growth of sales from @x. |
Return @x with a column daily_visits. |
A price table by product from @x. |
A plan table from @x. |
The output table has one row per store. |
use orders_2024 as the name |
Revenue of @x by store, one table per month. |
The weather in @x. |
Turn @x into the stores table. |
Return the sales and stores tables. |
Return the stores table, with the revenue of @x. |
Return @x joined with the stores table. | stores
Return revenue by region from the stores table and @x. | stores
From orders_2024: join it with @x. | orders_2024
Rename date to daily_visits in @x. |
monthly_sales = sum of price in @x |
Return @x joined with stores_table. |
The stores tables of @x | stores
Return the visits. Columns are not given. Join the stores table. | stores
""".strip().splitlines()


@each("line", BESIDE_DATA)
def test_a_sentence_about_other_data_names_these_variables_with_certainty(line: str) -> None:
    prose, _, expected = line.partition("|")
    found = recognised(prose, NAMES_BESIDE, lambda name: True)
    assert [one.name for one in found if one.is_certain] == expected.split()


def test_there_are_a_hundred_sentences_and_half_of_them_name_nothing() -> None:
    assert len(SENTENCES) >= 100
    assert sum(line.endswith("|") for line in SENTENCES) >= 50


def test_the_place_is_that_of_the_words_that_mean_the_variable() -> None:
    (found,) = recognised("Mean of the Daily visits by day", ["daily_visits"], lambda name: True)
    assert "Mean of the Daily visits by day"[found.start : found.end] == "Daily visits"


def test_two_variables_that_could_both_be_meant_are_not_guessed() -> None:
    assert recognised("The sales table.", ["sales_df", "df_sales"], lambda name: True) == []
    assert [one.name for one in recognised("The sales table.", ["sales_df", "sales"], lambda name: True)] == ["sales"]


def test_only_names_that_occur_are_asked_about() -> None:
    asked: list[str] = []
    recognised("Revenue of sales", ["sales", "stores", "x"], lambda name: asked.append(name) or True)
    assert asked == ["sales"]
