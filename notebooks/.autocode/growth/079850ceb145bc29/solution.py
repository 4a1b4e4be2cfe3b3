import numpy as np
import pandas as pd


def run(stocks: pd.DataFrame) -> tuple[pd.DataFrame, dict]:
    prices = stocks.dropna(subset=["symbol", "date", "price"]).sort_values(["symbol", "date"], kind="stable")
    month = prices["date"].dt.to_period("M")
    prices = prices.assign(month=month).drop_duplicates(["symbol", "month"], keep="last")

    by_symbol = prices.groupby("symbol", sort=False)
    before = by_symbol["price"].shift()
    follows = (prices["month"] == by_symbol["month"].shift() + 1) & (before != 0)

    growth = ((prices["price"] / before.replace(0, np.nan) - 1) * 100).round(2)
    kept = follows & growth.notna()
    monthly = pd.DataFrame(
        {
            "symbol": prices.loc[kept, "symbol"],
            "month": prices.loc[kept, "month"].dt.to_timestamp().astype("datetime64[us]"),
            "growth": growth[kept].astype("float64"),
        }
    ).reset_index(drop=True)

    best = {}
    for symbol, rows in monthly.groupby("symbol", sort=True):
        top = rows.loc[rows["growth"].idxmax(), "month"]
        best[str(symbol)] = top.strftime("%Y-%m")
    return monthly, best
