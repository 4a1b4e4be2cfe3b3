import pandas as pd
import pytest
from solution import run

COLUMNS = ["make", "group", "name", "year", "mpg", "weight_kg", "origin"]


def make_cars(rows):
    """Cars from (name, mpg, pounds, year, origin)."""
    return pd.DataFrame(
        {
            "Name": pd.Series([row[0] for row in rows], dtype="str"),
            "Miles_per_Gallon": pd.Series([row[1] for row in rows], dtype="float64"),
            "Cylinders": pd.Series([4] * len(rows), dtype="int64"),
            "Displacement": pd.Series([100.0] * len(rows), dtype="float64"),
            "Horsepower": pd.Series([90.0] * len(rows), dtype="float64"),
            "Weight_in_lbs": pd.Series([row[2] for row in rows], dtype="int64"),
            "Acceleration": pd.Series([15.0] * len(rows), dtype="float64"),
            "Year": pd.to_datetime(pd.Series([f"{row[3]}-01-01" for row in rows], dtype="str")),
            "Origin": pd.Series([row[4] for row in rows], dtype="str"),
        }
    )


MAKERS = pd.DataFrame({"make": ["chevrolet", "toyota", "volkswagen"], "group": ["GM", "Toyota", "Volkswagen"]})


def test_misspelt_makes_are_mended():
    """chevroelt and chevy are chevrolet, maxda is mazda, toyouta is toyota, vokswagen and vw are volkswagen, mercedes is mercedes-benz."""
    words = ["chevroelt", "chevy", "maxda", "toyouta", "vokswagen", "vw", "mercedes"]
    cars = make_cars([(f"{word} {number}", 20.0, 2000, 1970 + number, "x") for number, word in enumerate(words)])
    cleaned, _ = run(cars=cars, makers=MAKERS)
    # one car a year, so the order of years is the order of words
    assert cleaned["make"].tolist() == [
        "chevrolet", "chevrolet", "mazda", "toyota", "volkswagen", "volkswagen", "mercedes-benz",
    ]


def test_the_name_itself_stays_as_it_is():
    """Only the first word of Name is mended; the name itself is given as it stands."""
    cleaned, _ = run(cars=make_cars([("vw rabbit", 29.0, 1937, 1976, "Europe")]), makers=MAKERS)
    assert cleaned.loc[0, "name"] == "vw rabbit"
    assert cleaned.loc[0, "make"] == "volkswagen"


def test_group_and_unmatched():
    """Keep every car; unmatched lists the makes that have no group, each once, in alphabetical order."""
    cars = make_cars(
        [
            ("saab 99e", 25.0, 2375, 1970, "Europe"),
            ("amc hornet", 18.0, 2774, 1970, "USA"),
            ("toyota corona", 24.0, 2372, 1970, "Japan"),
            ("amc gremlin", 21.0, 2648, 1971, "USA"),
        ]
    )
    cleaned, unmatched = run(cars=cars, makers=MAKERS)
    assert len(cleaned) == 4
    assert unmatched == ["amc", "saab"]
    groups = cleaned.set_index("name")["group"]
    assert groups["toyota corona"] == "Toyota"
    assert groups[["saab 99e", "amc hornet", "amc gremlin"]].isna().all()


def test_columns_and_units():
    """Give make, group, name, year (as a number), mpg, weight_kg (rounded to whole kilograms) and origin."""
    cleaned, _ = run(cars=make_cars([("toyota corona", 24.0, 2372, 1970, "Japan")]), makers=MAKERS)
    assert list(cleaned.columns) == COLUMNS
    row = cleaned.iloc[0]
    assert row["year"] == 1970
    assert row["mpg"] == pytest.approx(24.0)
    assert row["weight_kg"] == 1076  # 2372 * 0.45359237 = 1075.92
    assert row["origin"] == "Japan"


def test_sorted_by_year_then_make_then_name():
    """Sorted by year, then make, then name."""
    cars = make_cars(
        [
            ("toyota b", 20.0, 2000, 1971, "Japan"),
            ("vw a", 20.0, 2000, 1970, "Europe"),
            ("toyota a", 20.0, 2000, 1971, "Japan"),
            ("chevy z", 20.0, 2000, 1971, "USA"),
        ]
    )
    cleaned, _ = run(cars=cars, makers=MAKERS)
    # 1970: vw a; 1971: chevrolet before toyota, and toyota a before toyota b
    assert cleaned["name"].tolist() == ["vw a", "chevy z", "toyota a", "toyota b"]


def test_missing_mpg_stays_missing():
    """A missing mpg stays missing; the constraint that mpg is positive holds for the values that are there."""
    cars = make_cars([("toyota a", None, 2000, 1970, "Japan"), ("toyota b", 30.0, 2000, 1970, "Japan")])
    cleaned, _ = run(cars=cars, makers=MAKERS)
    assert cleaned["mpg"].isna().tolist() == [True, False]
    assert (cleaned["mpg"].dropna() > 0).all()


def test_a_make_that_is_listed_twice_does_not_double_a_car():
    """If makers lists a make twice, its first group counts, so that no car is doubled."""
    twice = pd.DataFrame({"make": ["toyota", "toyota"], "group": ["Toyota", "Other"]})
    cleaned, _ = run(cars=make_cars([("toyota a", 20.0, 2000, 1970, "Japan")]), makers=twice)
    assert cleaned["group"].tolist() == ["Toyota"]


def test_no_cars():
    """An empty cars table gives an empty table with the same columns and an empty list."""
    cleaned, unmatched = run(cars=make_cars([]), makers=MAKERS)
    assert list(cleaned.columns) == COLUMNS
    assert len(cleaned) == 0
    assert unmatched == []
