from pathlib import Path

import pandas as pd

KEYS = ["product_id", "name", "category"]


def run(
    orders: pd.DataFrame, products: pd.DataFrame, min_order_value: float = 15.0, include_out_of_stock: bool = False
) -> tuple[Path, Path, float]:
    """Revenue of the orders that count, by product and in all."""
    joined = orders.merge(products, on="product_id", how="inner")
    joined["value"] = joined["quantity"] * joined["unit_price"]
    joined = joined[joined["value"] >= min_order_value]
    if not include_out_of_stock:
        joined = joined[joined["in_stock"].fillna(False).astype(bool)]

    by_product = (
        joined.groupby(KEYS, sort=True, dropna=False)
        .agg(total_orders=("order_id", "size"), total_revenue=("value", "sum"))
        .reset_index()
    )
    count, revenue = len(joined), float(joined["value"].sum())
    overall = pd.DataFrame(
        {
            "metric": ["total_orders", "total_revenue", "average_order_value"],
            "value": [float(count), revenue, revenue / count if count else float("nan")],
        }
    )
    product_summary, overall_summary = Path("product_summary.csv"), Path("overall_summary.csv")
    by_product.to_csv(product_summary, index=False)
    overall.to_csv(overall_summary, index=False)
    return product_summary, overall_summary, revenue
