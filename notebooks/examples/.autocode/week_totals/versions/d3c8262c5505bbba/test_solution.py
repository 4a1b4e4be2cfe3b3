import pytest
from solution import run


def sales(tmp_path, rows):
    path = tmp_path / "week.csv"
    path.write_text("date,product,quantity,price\n" + rows)
    return path


def test_revenue_is_quantity_times_price(tmp_path):
    """total_revenue is the sum of quantity times price, row by row."""
    revenue, _, _ = run(sales=sales(tmp_path, "2024-03-01,A,2,1.50\n2024-03-02,B,4,2.25\n"))
    assert revenue == pytest.approx(12.0)  # 3 + 9; sum times sum would be 22.5


def test_units_and_rows(tmp_path):
    """total_units is the sum of quantity, row_count the number of rows."""
    _, units, rows = run(sales=sales(tmp_path, "2024-03-01,A,7,1.00\n2024-03-02,B,5,1.00\n2024-03-02,C,1,1.00\n"))
    assert (units, rows) == (13, 3)


def test_equal_rows_count_each(tmp_path):
    """Equal rows are counted each."""
    assert run(sales=sales(tmp_path, "2024-03-01,A,1,2.00\n2024-03-01,A,1,2.00\n")) == (pytest.approx(4.0), 2, 2)


def test_a_row_with_something_missing(tmp_path):
    """A row with a missing quantity or price brings no revenue, and is still counted."""
    rows = "2024-03-01,A,2,3.00\n2024-03-02,B,5,\n2024-03-03,C,,4.00\n"
    assert run(sales=sales(tmp_path, rows)) == (pytest.approx(6.0), 7, 3)  # units 2 + 5 + 0


def test_a_header_only(tmp_path):
    """No rows give 0 for each sum and count."""
    assert run(sales=sales(tmp_path, "")) == (0.0, 0, 0)
