"""Charts of Plotly and Altair in a page."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Open

pytestmark = [pytest.mark.browser]

CHART = """
import altair, json, pandas as pd
from autocoder_jupyter import Figure
sales = pd.DataFrame({"month": ["Jan", "Feb"], "revenue": [1.5, 2.0]})
bars = altair.Chart(sales, title="Sales").mark_bar().encode(x="month", y="revenue")
Figure(b"", 0, 0, kind="altair", spec=json.loads(bars.to_json()))
"""


def test_a_chart_of_altair_is_drawn_by_the_page(notebook: Open) -> None:
    page = notebook(CHART.strip())
    page.run(1)
    page.page.locator(".vega-embed canvas, .vega-embed svg").first.wait_for(timeout=60_000)
