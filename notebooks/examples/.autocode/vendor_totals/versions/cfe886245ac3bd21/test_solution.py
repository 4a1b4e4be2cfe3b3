import pytest
from solution import run


def sales(tmp_path, text):
    path = tmp_path / "sales.csv"
    path.write_text(text)
    return path


def test_revenue_is_units_times_price(tmp_path):
    """Without a revenue column, revenue is units times the price of one unit."""
    file = sales(tmp_path, "date,product,quantity,price\n2024-03-01,A,2,1.50\n2024-03-02,B,4,2.25\n")
    revenue, units, count = run(sales=file)
    assert revenue == pytest.approx(12.0)  # 2 * 1.50 + 4 * 2.25 = 3 + 9
    assert (units, count) == (6, 2)


def test_a_revenue_column_is_the_revenue_of_the_row(tmp_path):
    """total_revenue is the revenue of a row, not of one unit."""
    file = sales(tmp_path, "item_name,units_sold,total_revenue\nA,3,10.50\nB,2,4.00\n")
    assert run(sales=file) == (pytest.approx(14.5), 5, 2)  # 10.50 + 4.00, not 3 * 10.50 + 2 * 4.00


def test_the_third_layout(tmp_path):
    """qty and unit_price are read as units and price, in any order of columns."""
    file = sales(tmp_path, "unit_price,product_id,qty\n2.00,X,3\n5.00,Y,1\n")
    assert run(sales=file) == (pytest.approx(11.0), 4, 2)  # 3 * 2 + 1 * 5


def test_revenue_counts_where_a_price_stands_beside_it(tmp_path):
    """If a file has total_revenue as well as a price, total_revenue counts."""
    file = sales(tmp_path, "qty,unit_price,total_revenue\n2,10.00,18.00\n")
    assert run(sales=file)[0] == pytest.approx(18.0)  # with a discount, not 20


def test_blanks_around_fields_mean_nothing(tmp_path):
    """Fields and names of columns may have blanks around them."""
    file = sales(tmp_path, "  date , product , quantity , price \n    2024-03-01 , A , 2 , 3.00 \n")
    assert run(sales=file) == (pytest.approx(6.0), 2, 1)


def test_equal_rows_are_two_sales(tmp_path):
    """Each row is one sale, also when two rows are equal."""
    file = sales(tmp_path, "date,product,quantity,price\n2024-03-01,A,1,2.00\n2024-03-01,A,1,2.00\n")
    assert run(sales=file) == (pytest.approx(4.0), 2, 2)


def test_a_row_with_a_missing_number(tmp_path):
    """A row with a missing number brings no revenue, and is still counted as a sale."""
    file = sales(tmp_path, "quantity,price\n2,3.00\n,5.00\n4,\n")
    assert run(sales=file) == (pytest.approx(6.0), 6, 3)  # revenue 2 * 3, units 2 + 4


def test_a_file_without_rows(tmp_path):
    """No rows give 0 for each sum and count."""
    assert run(sales=sales(tmp_path, "date,product,quantity,price\n")) == (0.0, 0, 0)
