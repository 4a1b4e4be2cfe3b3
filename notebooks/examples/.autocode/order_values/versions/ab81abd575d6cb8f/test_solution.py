import pandas as pd
import pytest
from solution import run

PRODUCTS = pd.DataFrame(
    {
        "product_id": ["K1", "K2", "K3"],
        "name": ["Pen", "Ink", "Pad"],
        "category": ["desk", "desk", "paper"],
        "in_stock": [True, False, True],
    }
)
ORDERS = pd.DataFrame(
    {
        "order_id": [1, 2, 3, 4, 5],
        "product_id": ["K3", "K1", "K2", "K1", "K9"],
        "quantity": [1, 4, 2, 10, 7],
        "unit_price": [12.0, 3.0, 20.0, 3.0, 5.0],
    }
)  # values 12, 12, 40 (not in stock), 30, and 35 of a product that is not known


def totals(minimum, everything):
    return run(orders=ORDERS, products=PRODUCTS, min_order_value=minimum, include_out_of_stock=everything)


def test_the_grand_total():
    """grand_total is the revenue of all orders that count."""
    assert totals(0.0, False)[1] == pytest.approx(54.0)  # 12 + 12 + 30


def test_exactly_the_minimum_counts():
    """The bound is included: an order of exactly min_order_value counts."""
    assert totals(12.0, False)[1] == pytest.approx(54.0)
    assert totals(12.5, False)[1] == pytest.approx(30.0)


def test_out_of_stock_counts_when_it_is_asked_for():
    """Products that are not in stock are left out unless include_out_of_stock."""
    assert totals(0.0, True)[1] == pytest.approx(94.0)  # 54 + 40


def test_a_row_a_product():
    """product_summary has a row a product, sorted by product_id."""
    table, _ = totals(0.0, True)
    assert table.values.tolist() == [
        ["K1", "Pen", "desk", 2, 42.0],  # 12 + 30
        ["K2", "Ink", "desk", 1, 40.0],
        ["K3", "Pad", "paper", 1, 12.0],
    ]


def test_the_rows_add_up():
    """The revenue of the rows is the grand total."""
    table, total = totals(12.0, True)
    assert table["total_revenue"].sum() == pytest.approx(total)


def test_nothing_counts():
    """When no order counts there are no rows, and the total is 0."""
    table, total = totals(1000.0, True)
    assert len(table) == 0 and total == 0.0
