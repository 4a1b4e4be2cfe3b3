import pandas as pd
from helpers import net_orders


def run(orders: pd.DataFrame) -> pd.DataFrame:
    net = net_orders(orders).dropna(subset=["customer"])
    table = net.groupby("customer", sort=False).agg(
        orders=("order_id", "size"), net=("net", "sum"), last_day=("day", "max")
    )
    table = table.sort_values("net", ascending=False, kind="stable").reset_index()
    return table.astype({"orders": "int64", "net": "float64", "last_day": "datetime64[us]"})
