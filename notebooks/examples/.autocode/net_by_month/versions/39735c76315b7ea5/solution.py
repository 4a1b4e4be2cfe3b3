import pandas as pd
from helpers import net_orders


def run(orders: pd.DataFrame) -> pd.DataFrame:
    net = net_orders(orders).dropna(subset=["day"])
    if net.empty:
        return pd.DataFrame({"month": pd.Series(dtype="datetime64[us]"), "net": pd.Series(dtype="float64")})
    month = net["day"].dt.to_period("M").dt.to_timestamp()
    months = pd.date_range(month.min(), month.max(), freq="MS", name="month")
    totals = net.groupby(month)["net"].sum().reindex(months, fill_value=0.0)
    result = totals.rename("net").rename_axis("month").reset_index()
    return result.astype({"month": "datetime64[us]", "net": "float64"})
