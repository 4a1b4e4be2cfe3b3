import pandas as pd
from solution import run

MAKERS = pd.DataFrame({"make": ["chevrolet", "toyota", "toyota"], "group": ["GM", "Toyota", "Other"]})


def cleaned(names, **columns):
    n = len(names)
    frame = pd.DataFrame({"Name": pd.Series(names, dtype="str"), "Miles_per_Gallon": pd.Series([20.0] * n, dtype="float64")})
    filler = {"Cylinders": 4, "Displacement": 100.0, "Horsepower": 90.0, "Weight_in_lbs": 2000, "Acceleration": 12.0}
    filler |= {"Year": pd.Timestamp("1970-01-01"), "Origin": "USA"}
    return run(cars=frame.assign(**filler | columns), makers=MAKERS)


def test_mended_spelling():
    """The make is the first word of Name, with its spelling mended."""
    words = ["chevroelt", "chevy", "maxda", "mercedes", "toyouta", "vokswagen", "vw"]
    table, _ = cleaned([f"{word} x" for word in words])
    makes = ["chevrolet", "chevrolet", "mazda", "mercedes-benz", "toyota", "volkswagen", "volkswagen"]
    assert dict(zip(table["name"], table["make"])) == {f"{word} x": make for word, make in zip(words, makes)}


def test_only_the_first_word():
    """The make is the first word of Name: only that word, and the whole of it."""
    table, unmatched = cleaned(["buick chevy special", "chevyland one"])
    assert table["make"].tolist() == unmatched == ["buick", "chevyland"]


def test_order():
    """Sorted by year, then make, then name."""
    years = pd.to_datetime(["1971-01-01", "1970-01-01", "1970-01-01", "1970-01-01"])
    table, _ = cleaned(["toyota c", "vw a", "toyota b", "toyota a"], Year=years)
    assert table["name"].tolist() == ["toyota a", "toyota b", "vw a", "toyota c"]  # vw is volkswagen
    assert table["year"].tolist() == [1970, 1970, 1970, 1971]


def test_numbers():
    """weight_kg is rounded to whole kilograms, and a missing mpg stays missing."""
    table, _ = cleaned(["toyota a", "toyota b"], Weight_in_lbs=[1000, 3504], Miles_per_Gallon=[float("nan"), 31.5])
    assert table["weight_kg"].tolist() == [454, 1589]  # 453.59, 1589.39
    assert table["mpg"].isna().tolist() == [True, False]


def test_groups():
    """unmatched lists the makes that have no group, each once, in alphabetical order; the first row of a make counts."""
    table, unmatched = cleaned(["vw a", "toyota b", "opel c", "volkswagen d"])
    assert unmatched == ["opel", "volkswagen"] and len(table) == 4
    assert table.loc[table["make"] == "toyota", "group"].tolist() == ["Toyota"]
    assert table.loc[table["make"] != "toyota", "group"].isna().all()


def test_no_cars():
    """No rows give the same columns with no rows, and an empty list."""
    table, unmatched = cleaned([])
    assert table.columns.tolist() == ["make", "group", "name", "year", "mpg", "weight_kg", "origin"]
    assert len(table) == 0 and unmatched == []
