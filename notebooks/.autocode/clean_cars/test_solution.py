import pandas as pd
import pytest
from solution import run


def make_cars(rows):
    """Cars from (name, mpg, pounds, year, origin)."""
    names, mpg, pounds, years, origins = zip(*rows) if rows else ((), (), (), (), ())
    return pd.DataFrame(
        {
            "Name": pd.Series(names, dtype="str"),
            "Miles_per_Gallon": pd.Series(mpg, dtype="float64"),
            "Cylinders": pd.Series([4] * len(rows), dtype="int64"),
            "Displacement": pd.Series([100.0] * len(rows), dtype="float64"),
            "Horsepower": pd.Series([90.0] * len(rows), dtype="float64"),
            "Weight_in_lbs": pd.Series(pounds, dtype="int64"),
            "Acceleration": pd.Series([12.0] * len(rows), dtype="float64"),
            "Year": pd.to_datetime(pd.Series([f"{year}-01-01" for year in years], dtype="str")).astype("datetime64[us]"),
            "Origin": pd.Series(origins, dtype="str"),
        }
    )


MAKERS = pd.DataFrame({"make": ["chevrolet", "toyota", "mercedes-benz"], "group": ["GM", "Toyota", "Daimler"]})


def test_misspelt_makes_are_mended_before_the_join():
    """The make is the first word of Name, with its spelling mended."""
    words = ["chevroelt", "chevy", "maxda", "toyouta", "vokswagen", "vw", "mercedes"]
    cars = make_cars([(f"{word} x", 20.0, 2000, 1970, "USA") for word in words])
    cleaned, _ = run(cars=cars, makers=MAKERS)
    by_name = dict(zip(cleaned["name"], cleaned["make"]))
    assert by_name == {
        "chevroelt x": "chevrolet",
        "chevy x": "chevrolet",
        "maxda x": "mazda",
        "toyouta x": "toyota",
        "vokswagen x": "volkswagen",
        "vw x": "volkswagen",
        "mercedes x": "mercedes-benz",
    }
    groups = dict(zip(cleaned["name"], cleaned["group"]))
    assert groups["chevroelt x"] == "GM" and groups["mercedes x"] == "Daimler"


def test_only_the_first_word_counts_and_only_as_a_whole():
    """The make is the first word of Name: a maker further back, or a longer word, is none."""
    cars = make_cars([("buick chevy special", 20.0, 2000, 1970, "USA"), ("chevyland one", 20.0, 2000, 1970, "USA")])
    cleaned, unmatched = run(cars=cars, makers=MAKERS)
    assert cleaned["make"].tolist() == ["buick", "chevyland"]
    assert unmatched == ["buick", "chevyland"]


def test_rows_are_sorted_by_year_then_mended_make_then_name():
    """Sorted by year, then make, then name: by the mended make, and the year before all."""
    cars = make_cars(
        [
            ("toyota corona", 24.0, 2300, 1971, "Japan"),
            ("vw beetle", 26.0, 1800, 1970, "Europe"),  # volkswagen: behind toyota
            ("toyota b", 24.0, 2300, 1970, "Japan"),
            ("toyota a", 24.0, 2300, 1970, "Japan"),
        ]
    )
    cleaned, _ = run(cars=cars, makers=MAKERS)
    assert cleaned["name"].tolist() == ["toyota a", "toyota b", "vw beetle", "toyota corona"]
    assert cleaned["year"].tolist() == [1970, 1970, 1970, 1971]


def test_weight_is_in_whole_kilograms():
    """weight_kg is rounded to whole kilograms, and not cut off."""
    cars = make_cars([("toyota a", 24.0, 1000, 1970, "Japan"), ("toyota b", 24.0, 3504, 1970, "Japan")])
    cleaned, _ = run(cars=cars, makers=MAKERS)
    # 1000 * 0.45359237 = 453.59 -> 454; 3504 * 0.45359237 = 1589.39 -> 1589
    assert cleaned["weight_kg"].tolist() == [454, 1589]


def test_a_car_without_mpg_is_kept():
    """Every row of cars is kept, also with a missing mpg, and a missing mpg stays missing."""
    cars = make_cars([("toyota a", float("nan"), 2000, 1970, "Japan"), ("toyota b", 31.5, 2000, 1970, "Japan")])
    cleaned, _ = run(cars=cars, makers=MAKERS)
    assert cleaned["mpg"].isna().tolist() == [True, False]
    assert cleaned["mpg"].iloc[1] == pytest.approx(31.5)


def test_makes_without_a_group_are_listed_once_in_order():
    """unmatched lists the makes that have no group, each once, in alphabetical order."""
    cars = make_cars(
        [
            ("vw beetle", 26.0, 1800, 1970, "Europe"),
            ("opel 1900", 26.0, 1800, 1970, "Europe"),
            ("volkswagen rabbit", 26.0, 1800, 1975, "Europe"),
            ("toyota a", 26.0, 1800, 1975, "Japan"),
        ]
    )
    cleaned, unmatched = run(cars=cars, makers=MAKERS)
    assert unmatched == ["opel", "volkswagen"]
    assert cleaned.loc[cleaned["make"] != "toyota", "group"].isna().all()


def test_a_make_that_stands_twice_in_makers_doubles_no_car():
    """If a make stands twice in makers, its first row counts."""
    makers = pd.DataFrame({"make": ["toyota", "toyota"], "group": ["Toyota", "Other"]})
    cars = make_cars([("toyota a", 26.0, 1800, 1975, "Japan")])
    cleaned, unmatched = run(cars=cars, makers=makers)
    assert cleaned["group"].tolist() == ["Toyota"] and unmatched == []


def test_no_cars_give_no_rows():
    """No rows give the same columns without rows, and an empty list."""
    cleaned, unmatched = run(cars=make_cars([]), makers=MAKERS)
    assert cleaned.columns.tolist() == ["make", "group", "name", "year", "mpg", "weight_kg", "origin"]
    assert len(cleaned) == 0 and unmatched == []
