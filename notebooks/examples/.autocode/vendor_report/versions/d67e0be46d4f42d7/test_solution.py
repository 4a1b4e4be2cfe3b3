import pytest
from solution import run

COLUMNS = ["vendor", "total_revenue", "total_units", "transaction_count"]


def folder(tmp_path, **files):
    place = tmp_path / "vendors"
    place.mkdir()
    for name, text in files.items():
        (place / f"{name}.csv").write_text(text)
    return place


PRICED = "date,product,quantity,price\n2024-03-01,A,2,1.50\n2024-03-02,B,4,2.25\n"  # 3 + 9 = 12, 6 units
STATED = "transaction_date,item_name,units_sold,total_revenue\n2024-03-01,A,3,10.50\n2024-03-02,A,2,4.00\n"  # 14.50, 5
OTHER = "product_id,sale_date,qty,unit_price\nX,2024-03-01,3,2.00\n"  # 6, 3 units


def test_one_row_a_file_sorted_by_vendor(tmp_path):
    """One row a file: vendor is the name of the file without .csv, sorted by vendor."""
    report, _ = run(vendors=folder(tmp_path, zeta=PRICED, alpha=OTHER))
    assert list(report.columns) == COLUMNS
    assert report["vendor"].tolist() == ["alpha", "zeta"]


def test_each_layout_is_read(tmp_path):
    """Units are quantity, units_sold or qty; the price of a unit is price or unit_price."""
    report, _ = run(vendors=folder(tmp_path, a=PRICED, b=STATED, c=OTHER))
    assert report["total_revenue"].tolist() == pytest.approx([12.0, 14.5, 6.0])
    assert report["total_units"].tolist() == [6, 5, 3]
    assert report["transaction_count"].tolist() == [2, 2, 1]


def test_a_stated_revenue_is_that_of_the_whole_row(tmp_path):
    """Who sends total_revenue means that of the whole row."""
    report, _ = run(vendors=folder(tmp_path, b=STATED))
    assert report["total_revenue"].tolist() == pytest.approx([14.5])  # times the units it would be 39.5


def test_the_revenue_of_all_files(tmp_path):
    """total_revenue is the sum over all files."""
    _, total = run(vendors=folder(tmp_path, a=PRICED, b=STATED, c=OTHER))
    assert total == pytest.approx(32.5)  # 12 + 14.5 + 6


def test_a_stated_revenue_counts_beside_a_price(tmp_path):
    """If a file has total_revenue as well as a price, total_revenue counts."""
    report, _ = run(vendors=folder(tmp_path, d="qty,unit_price,total_revenue\n2,10.00,18.00\n"))
    assert report["total_revenue"].tolist() == pytest.approx([18.0])  # not 20


def test_a_row_with_a_missing_number_is_a_sale_without_revenue(tmp_path):
    """A row with missing units or a missing price brings no revenue, and is one sale."""
    report, _ = run(vendors=folder(tmp_path, e="quantity,price\n2,3.00\n,5.00\n4,\n"))
    assert report.iloc[0].tolist() == ["e", 6.0, 6, 3]


def test_indented_rows_are_read(tmp_path):
    """Blanks before the fields of a row, as in the data, change nothing."""
    report, _ = run(vendors=folder(tmp_path, f="quantity,price\n        2,3.00\n"))
    assert report.iloc[0].tolist() == ["f", 6.0, 2, 1]


def test_a_folder_without_sales(tmp_path):
    """Files that do not end in .csv are left out; no files give a report without rows, and 0."""
    place = folder(tmp_path)
    (place / "notes.txt").write_text("quantity,price\n1,1.0\n")
    report, total = run(vendors=place)
    assert list(report.columns) == COLUMNS and len(report) == 0
    assert total == 0.0
