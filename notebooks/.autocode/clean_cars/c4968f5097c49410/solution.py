import pandas as pd

SPELLING = {
    "chevroelt": "chevrolet",
    "chevy": "chevrolet",
    "maxda": "mazda",
    "toyouta": "toyota",
    "vokswagen": "volkswagen",
    "vw": "volkswagen",
    "mercedes": "mercedes-benz",
}
KG_PER_POUND = 0.45359237


def run(cars: pd.DataFrame, makers: pd.DataFrame) -> tuple[pd.DataFrame, list]:
    make = cars["Name"].str.strip().str.split().str[0].str.lower().replace(SPELLING)
    groups = makers.assign(make=makers["make"].str.strip().str.lower()).drop_duplicates("make", keep="first")
    cleaned = pd.DataFrame(
        {
            "make": make,
            "group": make.map(groups.set_index("make")["group"]).astype("str"),
            "name": cars["Name"],
            "year": cars["Year"].dt.year.astype("int64"),
            "mpg": cars["Miles_per_Gallon"].astype("float64"),
            "weight_kg": (cars["Weight_in_lbs"] * KG_PER_POUND).round().astype("int64"),
            "origin": cars["Origin"],
        }
    )
    cleaned = cleaned.sort_values(["year", "make", "name"], kind="stable").reset_index(drop=True)
    unmatched = sorted(cleaned.loc[cleaned["group"].isna(), "make"].dropna().unique().tolist())
    return cleaned, unmatched
