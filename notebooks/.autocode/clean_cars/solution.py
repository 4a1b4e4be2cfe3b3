import pandas as pd

KILOGRAMS_PER_POUND = 0.45359237

MENDED = {
    "chevroelt": "chevrolet",
    "chevy": "chevrolet",
    "maxda": "mazda",
    "toyouta": "toyota",
    "vokswagen": "volkswagen",
    "vw": "volkswagen",
    "mercedes": "mercedes-benz",
}

COLUMNS = ["make", "group", "name", "year", "mpg", "weight_kg", "origin"]


def run(cars: pd.DataFrame, makers: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    first = cars["Name"].astype("str").str.strip().str.split(" ", n=1).str[0].str.lower()
    table = pd.DataFrame(
        {
            "make": first.replace(MENDED).astype("str"),
            "name": cars["Name"].astype("str"),
            "year": cars["Year"].dt.year.astype("int64"),
            "mpg": cars["Miles_per_Gallon"].astype("float64"),
            "weight_kg": (cars["Weight_in_lbs"] * KILOGRAMS_PER_POUND).round().astype("int64"),
            "origin": cars["Origin"].astype("str"),
        }
    )
    groups = makers[["make", "group"]].drop_duplicates("make")
    cleaned = table.merge(groups, on="make", how="left")
    cleaned["group"] = cleaned["group"].astype("str")
    cleaned = cleaned.sort_values(["year", "make", "name"], kind="stable").reset_index(drop=True)[COLUMNS]
    without = cleaned.loc[cleaned["group"].isna(), "make"].dropna()
    return cleaned, sorted(str(make) for make in without.unique())
