import pytest
from solution import run

HEADER = "product_id,sale_date,qty,unit_price\n"


def sales(tmp_path, rows):
    path = tmp_path / "sales.csv"
    path.write_text(HEADER + rows)
    return path


def test_revenue_is_qty_times_unit_price(tmp_path):
    """total_revenue is the sum of qty times unit_price, row by row."""
    revenue, _, _ = run(sales=sales(tmp_path, "X,2024-03-01,2,1.50\nY,2024-03-02,4,2.25\n"))
    assert revenue == pytest.approx(12.0)  # 3 + 9; sum times sum would be 6 * 3.75 = 22.5


def test_units_are_summed(tmp_path):
    """total_units is the sum of qty."""
    assert run(sales=sales(tmp_path, "X,2024-03-01,7,1.00\nY,2024-03-02,5,1.00\n"))[1] == 12


def test_a_product_sold_twice_is_two_sales(tmp_path):
    """Each row is one sale, also when a product is sold again."""
    assert run(sales=sales(tmp_path, "X,2024-03-01,1,2.00\nX,2024-03-02,1,2.00\n")) == (pytest.approx(4.0), 2, 2)


def test_leading_blanks_mean_nothing(tmp_path):
    """Leading blanks of a row mean nothing."""
    assert run(sales=sales(tmp_path, "        X,2024-03-01,2,3.00\n")) == (pytest.approx(6.0), 2, 1)


def test_a_row_with_something_missing(tmp_path):
    """A row with a missing qty or unit_price brings no revenue, and is still counted."""
    rows = "X,2024-03-01,2,3.00\nY,2024-03-02,5,\nZ,2024-03-03,,4.00\n"
    assert run(sales=sales(tmp_path, rows)) == (pytest.approx(6.0), 7, 3)  # units 2 + 5 + 0


def test_a_header_only(tmp_path):
    """No rows give 0 for each sum and count."""
    assert run(sales=sales(tmp_path, "")) == (0.0, 0, 0)
