import pandas as pd
from helpers import net_by_customer


def run(orders: pd.DataFrame) -> float:
    customers = net_by_customer(orders)
    if customers.empty:
        return float("nan")
    return float((customers["orders"] > 1).mean())
