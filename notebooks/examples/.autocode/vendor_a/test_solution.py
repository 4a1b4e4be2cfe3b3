import pytest
from solution import run

HEADER = "date,product,quantity,price\n"


def sales(tmp_path, rows):
    path = tmp_path / "sales.csv"
    path.write_text(HEADER + rows)
    return path


def test_revenue_is_quantity_times_price(tmp_path):
    """total_revenue is the sum of quantity times price."""
    revenue, _, _ = run(sales=sales(tmp_path, "2024-03-01,A,2,1.50\n2024-03-02,B,4,2.25\n"))
    assert revenue == pytest.approx(12.0)  # 3 + 9; the prices alone are 3.75


def test_units_are_summed(tmp_path):
    """total_units is the sum of quantity, not the number of rows."""
    assert run(sales=sales(tmp_path, "2024-03-01,A,7,1.00\n2024-03-02,B,5,1.00\n"))[1] == 12


def test_a_product_sold_twice_is_two_sales(tmp_path):
    """Each row is one sale, also when the same product is sold again."""
    assert run(sales=sales(tmp_path, "2024-03-01,A,1,2.00\n2024-03-02,A,1,2.00\n"))[2] == 2


def test_leading_blanks_mean_nothing(tmp_path):
    """Leading blanks of a row mean nothing."""
    plain = run(sales=sales(tmp_path, "2024-03-01,A,2,3.00\n"))
    indented = run(sales=sales(tmp_path, "        2024-03-01,A,2,3.00\n"))
    assert plain == indented == (pytest.approx(6.0), 2, 1)


def test_a_row_without_a_price_or_a_quantity(tmp_path):
    """A row with a missing quantity or price brings no revenue, and is still counted."""
    rows = "2024-03-01,A,2,3.00\n2024-03-02,B,5,\n2024-03-03,C,,4.00\n"
    assert run(sales=sales(tmp_path, rows)) == (pytest.approx(6.0), 7, 3)  # units 2 + 5 + 0


def test_a_header_only(tmp_path):
    """No rows give 0 for each sum and count."""
    assert run(sales=sales(tmp_path, "")) == (0.0, 0, 0)
