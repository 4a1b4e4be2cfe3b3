import pytest
from solution import run

HEADER = "transaction_date,item_name,units_sold,total_revenue\n"


def sales(tmp_path, rows):
    path = tmp_path / "sales.csv"
    path.write_text(HEADER + rows)
    return path


def test_revenue_is_not_multiplied_by_the_units(tmp_path):
    """total_revenue of a row is that of the whole sale."""
    revenue, _, _ = run(sales=sales(tmp_path, "2024-03-01,A,3,10.50\n2024-03-02,B,2,4.00\n"))
    assert revenue == pytest.approx(14.5)  # 10.50 + 4.00; times the units it would be 39.50


def test_units_are_summed(tmp_path):
    """total_units is the sum of units_sold."""
    assert run(sales=sales(tmp_path, "2024-03-01,A,3,1.00\n2024-03-02,B,9,1.00\n"))[1] == 12


def test_an_item_sold_twice_is_two_sales(tmp_path):
    """Each row is one sale, also when an item is sold again."""
    assert run(sales=sales(tmp_path, "2024-03-01,A,3,1.00\n2024-03-02,A,3,1.00\n"))[2] == 2


def test_the_order_of_rows_does_not_matter(tmp_path):
    """The totals are the same in any order of the rows."""
    rows = ["2024-03-01,A,3,1.25\n", "2024-03-02,B,9,2.50\n", "2024-03-03,C,1,0.75\n"]
    there, back = (run(sales=sales(tmp_path, "".join(some))) for some in (rows, rows[::-1]))
    assert there == back == (pytest.approx(4.5), 13, 3)


def test_a_missing_number(tmp_path):
    """A row with a missing number is still counted."""
    assert run(sales=sales(tmp_path, "2024-03-01,A,,5.00\n2024-03-02,B,2,\n")) == (pytest.approx(5.0), 2, 2)


def test_a_header_only(tmp_path):
    """No rows give 0 for each sum and count."""
    assert run(sales=sales(tmp_path, "")) == (0.0, 0, 0)
