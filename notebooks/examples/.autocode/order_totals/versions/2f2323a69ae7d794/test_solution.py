import pandas as pd
import pytest
from solution import run


def orders(*rows):
    frame = pd.DataFrame(list(rows), columns=["product_id", "quantity", "unit_price"])
    frame.insert(0, "order_id", range(1, len(frame) + 1))
    return frame.astype({"order_id": "int64", "product_id": "str", "quantity": "int64", "unit_price": "float64"})


PRODUCTS = pd.DataFrame(
    {
        "product_id": ["A", "B", "C"],
        "name": ["Cup", "Jar", "Lid"],
        "category": ["kitchen", "kitchen", "spare"],
        "in_stock": [True, False, True],
    }
)
ORDERS = orders(("A", 1, 8.0), ("A", 2, 8.0), ("B", 3, 10.0), ("C", 4, 5.0))  # values 8, 16, 30, 20


def test_small_orders_and_products_out_of_stock_are_left_out():
    """Orders below min_order_value and those of products not in stock are left out."""
    _, _, total = run(orders=ORDERS, products=PRODUCTS, min_order_value=10.0, include_out_of_stock=False)
    assert total == pytest.approx(36.0)  # 16 + 20; 8 is too small, B is out of stock


def test_the_bound_is_included():
    """An order of exactly min_order_value counts."""
    total = run(orders=ORDERS, products=PRODUCTS, min_order_value=20.0, include_out_of_stock=False)[2]
    assert total == pytest.approx(20.0)
    assert run(orders=ORDERS, products=PRODUCTS, min_order_value=20.01, include_out_of_stock=False)[2] == 0.0


def test_out_of_stock_counts_on_demand():
    """With include_out_of_stock, orders of products that are not in stock count too."""
    total = run(orders=ORDERS, products=PRODUCTS, min_order_value=10.0, include_out_of_stock=True)[2]
    assert total == pytest.approx(66.0)  # 16 + 30 + 20


def test_the_summary_of_products():
    """product_summary.csv has a row a product with its orders and revenue, sorted by product_id."""
    summary, _, total = run(orders=ORDERS, products=PRODUCTS, min_order_value=0.0, include_out_of_stock=True)
    table = pd.read_csv(summary)
    assert list(table.columns) == ["product_id", "name", "category", "total_orders", "total_revenue"]
    assert table[["product_id", "total_orders"]].values.tolist() == [["A", 2], ["B", 1], ["C", 1]]
    assert table["total_revenue"].tolist() == pytest.approx([24.0, 30.0, 20.0])  # 8 + 16
    assert table["total_revenue"].sum() == pytest.approx(total)


def test_the_summary_over_all():
    """overall_summary.csv has total_orders, total_revenue and average_order_value."""
    _, overall, _ = run(orders=ORDERS, products=PRODUCTS, min_order_value=10.0, include_out_of_stock=False)
    table = pd.read_csv(overall)
    assert table["metric"].tolist() == ["total_orders", "total_revenue", "average_order_value"]
    assert table["value"].tolist() == pytest.approx([2.0, 36.0, 18.0])  # 36 / 2


def test_an_unknown_product_is_left_out():
    """Orders of products that are not in products are left out."""
    some = orders(("Z", 9, 9.0), ("A", 2, 8.0))
    summary, _, total = run(orders=some, products=PRODUCTS, min_order_value=0.0, include_out_of_stock=True)
    assert total == pytest.approx(16.0)
    assert pd.read_csv(summary)["product_id"].tolist() == ["A"]


def test_no_order_counts():
    """When no order counts, there are no products, the totals are 0, and the average is missing."""
    summary, overall, total = run(orders=ORDERS, products=PRODUCTS, min_order_value=1000.0, include_out_of_stock=True)
    assert len(pd.read_csv(summary)) == 0
    values = pd.read_csv(overall)["value"]
    assert values[:2].tolist() == [0, 0] and pd.isna(values[2])
    assert total == 0.0
