import pandas as pd

TYPES = {"product_id": "str", "name": "str", "category": "str", "total_orders": "int64", "total_revenue": "float64"}


def run(
    orders: pd.DataFrame, products: pd.DataFrame, min_order_value: float, include_out_of_stock: bool
) -> tuple[pd.DataFrame, float]:
    """Revenue of the orders that count, by product and in all."""
    joined = orders.merge(products, on="product_id", how="inner")
    joined["value"] = joined["quantity"] * joined["unit_price"]
    joined = joined[joined["value"] >= min_order_value]
    if not include_out_of_stock:
        joined = joined[joined["in_stock"]]
    summary = (
        joined.groupby(["product_id", "name", "category"], sort=True)
        .agg(total_orders=("order_id", "size"), total_revenue=("value", "sum"))
        .reset_index()
        .astype(TYPES)
    )
    return summary, float(joined["value"].sum())
