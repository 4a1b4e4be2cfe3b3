import pytest
from solution import run


def week(tmp_path, *rows):
    path = tmp_path / "sales.csv"
    path.write_text("\n".join(["date,product,quantity,price", *rows]) + "\n")
    return path


def test_revenue(tmp_path):
    """Total revenue is quantity times price, summed over the rows."""
    revenue, _, _ = run(sales=week(tmp_path, "2024-05-06,Tea,3,4.00", "2024-05-07,Cup,2,7.50"))
    assert revenue == pytest.approx(27.0)  # 12 + 15


def test_units_are_not_rows(tmp_path):
    """Units sold is the sum of quantity; the number of rows is another number."""
    _, units, rows = run(sales=week(tmp_path, "2024-05-06,Tea,30,1.00", "2024-05-07,Cup,12,1.00"))
    assert (units, rows) == (42, 2)


def test_equal_rows_count_each(tmp_path):
    """Equal rows are counted each."""
    row = "2024-05-06,Tea,1,4.00"
    assert run(sales=week(tmp_path, row, row, row)) == (pytest.approx(12.0), 3, 3)


def test_a_missing_price(tmp_path):
    """A row with a missing quantity or price brings no revenue, and is still counted."""
    assert run(sales=week(tmp_path, "2024-05-06,Tea,2,", "2024-05-06,Cup,1,3.00")) == (pytest.approx(3.0), 3, 2)


def test_no_rows(tmp_path):
    """No rows give 0 for each sum and count."""
    assert run(sales=week(tmp_path)) == (0.0, 0, 0)
