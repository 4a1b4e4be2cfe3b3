import pandas as pd

LAST_DAY = 25


def run(payments: pd.DataFrame) -> pd.DataFrame:
    counted = payments[payments["paid_at"].notna() & (payments["channel"] != "staff")]
    first = counted["paid_at"].dt.to_period("M")
    month = (first + (counted["paid_at"].dt.day > LAST_DAY).astype("int64")).dt.to_timestamp()
    revenue = (counted["amount"] - counted["refund"]).astype("float64")
    table = revenue.groupby(month.astype("datetime64[us]").rename("month")).sum()
    return table.rename("revenue").reset_index()
