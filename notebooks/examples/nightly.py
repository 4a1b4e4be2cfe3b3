"""A nightly job: has a function written that totals a week's sales, and calls it.

python nightly.py ADDRESS_OF_THE_MODEL FOLDER_OF_THE_JOURNAL
"""

import sys

from autocoder_jupyter import AutoCoderAgent, File

address, journal = sys.argv[1:]
agent = AutoCoderAgent(
    name="nightly",
    model="openai/played-by-hand",
    api_base=address,
    max_iterations=5,
    sandbox_retries=2,
    timeout=600,
    second_opinion="off",
)
week_totals = agent.generate(
    "Total revenue, units sold and number of rows of the week's sales in @sales.",
    samples={"sales": File("data/week.csv")},
    outputs={"total_revenue": float, "total_units": int, "row_count": int},
    name="week_totals",
    journal_root=journal,
)
print(week_totals.success, *week_totals.run(retries=2))
