import pandas as pd


def run(stocks: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    rows = stocks.dropna(subset=["symbol", "date", "price"]).sort_values(["symbol", "date"], kind="stable")
    rows = rows.assign(month=rows["date"].dt.to_period("M"))
    rows = rows.drop_duplicates(["symbol", "month"], keep="last")
    number = rows["date"].dt.year * 12 + rows["date"].dt.month
    before = rows.groupby("symbol")["price"].shift()
    gap = number - number.groupby(rows["symbol"]).shift()
    rows = rows.assign(growth=((rows["price"] / before - 1) * 100).round(2))
    rows = rows[(gap == 1) & (before != 0)]

    best = {}
    for symbol, part in rows.groupby("symbol"):
        best[str(symbol)] = str(part.loc[part["growth"].idxmax(), "month"])

    monthly = pd.DataFrame(
        {
            "symbol": rows["symbol"].astype("str"),
            "month": rows["month"].dt.to_timestamp().astype("datetime64[us]"),
            "growth": rows["growth"].astype("float64"),
        }
    )
    return monthly.reset_index(drop=True), best
