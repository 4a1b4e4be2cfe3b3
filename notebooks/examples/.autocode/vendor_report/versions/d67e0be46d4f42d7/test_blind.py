import pytest
from solution import run


def write(folder, name, header, *rows):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join([header, *rows]) + "\n")


def test_units_times_price(tmp_path):
    """Without total_revenue, revenue is units times the price of a unit."""
    write(tmp_path / "v", "north.csv", "date,product,quantity,price", "2024-05-01,P,5,2.00", "2024-05-02,Q,1,7.50")
    report, total = run(vendors=tmp_path / "v")
    assert report["total_revenue"].tolist() == pytest.approx([17.5])  # 10 + 7.5
    assert total == pytest.approx(17.5)


def test_a_stated_revenue_is_not_multiplied(tmp_path):
    """total_revenue in a file is that of the whole row."""
    write(tmp_path / "v", "s.csv", "item_name,units_sold,total_revenue", "P,4,20.00", "Q,2,5.00")
    report, total = run(vendors=tmp_path / "v")
    assert total == pytest.approx(25.0)  # multiplied it would be 90
    assert report["total_units"].tolist() == [6]


def test_a_row_a_file_in_order(tmp_path):
    """One row a file, named without .csv and sorted by vendor."""
    for name in ("west", "east", "mid"):
        write(tmp_path / "v", f"{name}.csv", "qty,unit_price", "1,1.00")
    report, _ = run(vendors=tmp_path / "v")
    assert report["vendor"].tolist() == ["east", "mid", "west"]


def test_the_total_is_that_of_all_files(tmp_path):
    """total_revenue is the sum over all files, and of the report."""
    write(tmp_path / "v", "a.csv", "quantity,price", "2,4.00")
    write(tmp_path / "v", "b.csv", "units_sold,total_revenue", "9,1.50")
    write(tmp_path / "v", "c.csv", "unit_price,qty", "0.50,3")
    report, total = run(vendors=tmp_path / "v")
    assert total == pytest.approx(11.0)  # 8 + 1.5 + 1.5
    assert report["total_revenue"].sum() == pytest.approx(total)


def test_rows_are_sales_even_when_alike(tmp_path):
    """Each row is one sale, also when two rows are equal."""
    write(tmp_path / "v", "a.csv", "quantity,price", "1,2.00", "1,2.00", "1,2.00")
    report, total = run(vendors=tmp_path / "v")
    assert report["transaction_count"].tolist() == [3] and total == pytest.approx(6.0)


def test_missing_numbers(tmp_path):
    """A row with missing units or a missing price brings no revenue, and is counted."""
    write(tmp_path / "v", "a.csv", "quantity,price", "2,2.00", ",9.00", "3,")
    report, total = run(vendors=tmp_path / "v")
    assert total == pytest.approx(4.0)
    assert report["total_units"].tolist() == [5]  # 2 + 3
    assert report["transaction_count"].tolist() == [3]


def test_other_files_are_left_out(tmp_path):
    """Only files that end in .csv count."""
    write(tmp_path / "v", "a.csv", "quantity,price", "1,1.00")
    write(tmp_path / "v", "a.csv.bak", "quantity,price", "1,1.00")
    assert run(vendors=tmp_path / "v")[0]["vendor"].tolist() == ["a"]
