"""A nightly job: has an agent write a function that totals a week's sales, and calls it.

python nightly_agent.py ADDRESS_OF_THE_MODEL FOLDER_OF_THE_JOURNAL
"""

import sys

from autocoder_jupyter import AutoCoderAgent, File

address, journal = sys.argv[1:]
agent = AutoCoderAgent(
    name="nightly",
    backend="claude",
    model="anthropic/claude-sonnet-4-5",
    api_base=address,
    agent_max_turns=20,
    sandbox_retries=2,
    second_opinion="off",
)
week_by_agent = agent.generate(
    "Total revenue, units sold and number of rows of the week's sales in @sales.",
    samples={"sales": File("data/week.csv")},
    outputs={"total_revenue": float, "total_units": int, "row_count": int},
    name="week_by_agent",
    journal_root=journal,
)
for call in week_by_agent.report.trace.calls:
    print("from the journal:" if call.replayed else "done now:", call.tool, call.argument)
print(week_by_agent.success, *week_by_agent.run(retries=2))
