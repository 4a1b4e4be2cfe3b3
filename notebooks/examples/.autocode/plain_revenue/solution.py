import pandas as pd


def run(payments: pd.DataFrame) -> pd.DataFrame:
    paid = payments.dropna(subset=["paid_at"])
    month = paid["paid_at"].dt.to_period("M").dt.to_timestamp().astype("datetime64[us]")
    revenue = (paid["amount"] - paid["refund"]).astype("float64")
    return revenue.groupby(month.rename("month")).sum().rename("revenue").reset_index()
