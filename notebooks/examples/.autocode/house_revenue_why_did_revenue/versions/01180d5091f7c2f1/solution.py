import pandas as pd
from helpers import house_revenue

LAST_DAY = 25


def run(payments: pd.DataFrame, monthly: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    months = house_revenue(payments)
    counted = payments[payments["paid_at"].notna() & (payments["channel"] != "staff")]
    late = (counted["paid_at"].dt.day > LAST_DAY).astype("int64")
    table = pd.DataFrame(
        {
            "month": (counted["paid_at"].dt.to_period("M") + late).dt.to_timestamp().astype("datetime64[us]"),
            "order_id": counted["order_id"].astype("int64"),
            "paid_at": counted["paid_at"].astype("datetime64[us]"),
            "revenue": (counted["amount"] - counted["refund"]).astype("float64"),
        }
    )
    marches = months.index[months["month"].dt.month == 3]
    if len(marches) == 0 or marches[-1] == 0:
        return "There is no March with a month before it in these payments.", table.iloc[:0].reset_index(drop=True)
    before, march = months.loc[marches[-1] - 1], months.loc[marches[-1]]
    change = march["revenue"] - before["revenue"]
    verb = "fell" if change < 0 else "did not fall: it rose" if change > 0 else "did not fall: it stayed"
    answer = (
        f"Revenue {verb} from {before['revenue']:.2f} in {before['month']:%B %Y} to {march['revenue']:.2f} in "
        f"{march['month']:%B %Y}, a change of {change:+.2f}."
    )
    shown = table[table["month"].isin([before["month"], march["month"]])]
    return answer, shown.sort_values("paid_at", kind="stable").reset_index(drop=True)
