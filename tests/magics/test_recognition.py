"""Names of frames in prose without an at sign: which are recognised, and which ordinary words are left alone."""

from __future__ import annotations

import pytest

from autocoder_jupyter.magics.recognition import recognised

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


@pytest.mark.parametrize("line", SENTENCES)
def test_a_sentence_names_these_variables(line: str) -> None:
    prose, _, expected = line.partition("|")
    found = recognised(prose, NAMES, lambda name: True)
    assert [one.name for one in found] == expected.split()


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
