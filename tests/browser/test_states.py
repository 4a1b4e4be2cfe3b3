"""Every state of a card in one notebook, narrow and light, and wide and dark; the pictures are in `artifacts/`."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.test_panel import barriers, offer, use_theme
from tests.first_answers import joined
from tests.runner import MARKERS, fenced
from tests.scripted_model import Answer, prompt_of

pytestmark = [pytest.mark.browser, pytest.mark.local_sandbox, pytest.mark.usefixtures("extension")]

PATIENCE = 120_000

ORDERS = """\
%load_ext autocoder_jupyter
import pandas as pd
from autocoder_jupyter.models import silence
%config Autocode.second_opinion = "auto"
%config Autocode.cache = "auto"
orders = pd.DataFrame({
    "country": (["Austria", "Chile", "Norway", None] * 30)[:110],
    "status": (["paid"] * 9 + ["cancelled"]) * 11,
    "price": [float(10 + number % 7) + 0.1 for number in range(110)],
    "discount": [float(number % 3) for number in range(110)],
})"""

PLAN: dict[str, Any] = {
    "description": "The revenue of each country, the highest first.",
    "approach": "Leave out what does not count, and add up by country.",
    "outputs": [
        {
            "name": "revenue",
            "type": "DataFrame",
            "meaning": "one row a country",
            "columns": [
                {"name": "country", "dtype": "object", "meaning": "name of the country"},
                {"name": "revenue", "dtype": "float64", "meaning": "sum of the prices"},
            ],
        }
    ],
    "assumptions": [
        "Revenue is the price; a discount is not subtracted.",
        "Cancelled orders do not count.",
        "Orders without a country are left out.",
    ],
}
QUESTIONS = [{"text": "Which revenue?", "options": ["gross", "net of discount"], "assumed": "gross"}]
CODE = '''\
import pandas as pd


def run(orders: pd.DataFrame) -> pd.DataFrame:
    """The revenue of each country, the highest first."""
    kept = orders[orders["status"] != "cancelled"].dropna(subset=["country"])
    total = kept.groupby("country", as_index=False).agg(revenue=("price", "sum"))
    return total.sort_values("revenue", ascending=False, ignore_index=True)
'''
TESTS = '''\
import pandas as pd
import pytest
from solution import run


def orders(*rows):
    return pd.DataFrame(rows, columns=["country", "status", "price", "discount"])


def test_each_country_has_its_revenue_the_highest_first():
    """revenue of each country"""
    found = run(orders=orders(("A", "paid", 1.5, 0.0), ("B", "paid", 4.0, 1.0), ("A", "paid", 2.0, 0.0)))
    assert found.values.tolist() == [["B", 4.0], ["A", 3.5]]


def test_cancelled_orders_do_not_count():
    """revenue"""
    found = run(orders=orders(("A", "cancelled", 1.5, 0.0), ("A", "paid", 4.0, 1.0)))
    assert found["revenue"].tolist() == [4.0]


def test_an_order_without_a_country_is_left_out():
    """each country"""
    found = run(orders=orders((None, "paid", 1.5, 0.0), ("A", "paid", 4.0, 1.0)))
    assert found["country"].tolist() == ["A"]
'''
SECOND = '''\
"""How it is read:

- an order that was cancelled brings no revenue
"""

import pandas as pd

OUTPUTS = {"revenue": "DataFrame"}


def run(orders):
    counted = orders.loc[(orders["status"] != "cancelled") & orders["country"].notna()]
    sums = counted["price"].groupby(counted["country"]).sum()
    pairs = sorted(sums.items(), key=lambda pair: -pair[1])
    return pd.DataFrame(pairs, columns=["country", "revenue"])
'''
FAILURE = {
    "test_name": "test_each_country_has_its_revenue_the_highest_first",
    "error_message": "the revenue is 2.0",
    "expected_behavior": "the prices of a country are added up",
    "actual_behavior": "the highest price of a country is taken",
    "root_cause": "max instead of sum",
    "suggested_fix": "Use sum.",
    "error_type": "logic",
}
NO_FIX = {"find": '("price", "max")', "replace": '("price", "mean")', "mends": [FAILURE["test_name"]]}


def answer(request: dict[str, Any]) -> str:
    """The answer to a request; words in the prompt select the variant."""
    prompt = prompt_of(request)
    stage = next(stage for stage, marker in MARKERS.items() if marker in prompt)
    code, tests, second = CODE, TESTS, SECOND
    if "Net or not." in prompt:
        second = SECOND.replace('counted["price"]', '(counted["price"] - counted["discount"])')
    if "Only Paid." in prompt:  # no order has this status
        code, second = (text.replace('!= "cancelled"', '== "Paid"') for text in (CODE, SECOND))
        tests = TESTS.replace('"paid"', '"Paid"')
    if "Never right." in prompt:
        code = CODE.replace('"sum"', '"max"')
    if "Ask first." in prompt:
        code = CODE.replace("import pandas", "import fiscalmonths\nimport pandas", 1)
    named = {"assumption": 1, "words": "net of discount", "line": "Subtract the discount."}
    plan = {**PLAN, "questions": QUESTIONS} if "up to three questions" in prompt else PLAN
    return {
        "code": joined(json.dumps(plan), fenced(code)),
        "tests": fenced(tests),
        "second": fenced(second),
        "name": json.dumps({"readings": [named] if "Net or not." in prompt else []}),
        "constraints": json.dumps({"constraints": []}),
        "diagnose": json.dumps({"failures": [FAILURE]}),
        "fix_code": json.dumps({"edits": [NO_FIX]}),
    }[stage]


def cell(name: str, words: str = "", options: str = "--effort quick") -> str:
    return f'%%autocode {name} {options} -o "revenue: DataFrame"\nRevenue of each country from @orders. {words}'


NORMAL = "--effort normal"
QUESTION, IN_PART = "Ready, with a question for you", "Ready, not fully checked"
CELLS = {
    "orders": (ORDERS, ""),
    "agreed": (cell("agreed", options=NORMAL), "Ready"),
    "reading": (cell("reading", "Net or not.", NORMAL), QUESTION),
    "empty": (cell("empty", "Only Paid.", NORMAL), QUESTION),
    "unchecked": (cell("unchecked"), IN_PART),
    "failed": (cell("failed", "Never right."), "Failed"),
    "budget": (cell("budget", options="--effort quick --max-tokens 3000"), "Out of budget"),
    "renamed": (cell("renamed"), IN_PART),
    "rename": ('orders = orders.rename(columns={"price": "amount"})', ""),
    "restore": ('orders = orders.rename(columns={"amount": "price"})', ""),
    "replaced": (cell("twice"), IN_PART),
    "later": (cell("twice", "Rounded."), IN_PART),
    "price": (cell("price", options="--max-cost 1"), "What does it cost?"),
    "approval": (cell("approval", "Ask first."), "Waiting for approval"),
    "questions": (cell("questions", options="--effort quick --ask"), "Waiting for your answers"),
    "cancelled": (cell("cancelled", "Hold."), "Writing code and tests"),
    "working": (cell("working", "Hold."), "Writing code and tests"),
    "patience": ("silence.SILENT_SECONDS = 1.0", ""),
    "silent": (cell("silent", "Say nothing."), "Planning"),
    "key": ("%config Autocode.api_key = 'NO_SUCH_VARIABLE'", ""),
    "model": (cell("model"), "Which model?"),
}
"""Cells, each with the headline of its card, in the order in which they are run."""

PLACES = {name: number for number, name in enumerate(CELLS, 1)}
CARDS = [name for name, (_, headline) in CELLS.items() if headline]

FIRST_SIGHT = """card => {
    const tops = new Set();
    let words = 0;
    const texts = document.createTreeWalker(card, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const { data, parentElement } = texts.currentNode;
        if (!data.trim() || parentElement.closest("table, button, details:not([open]) > :not(summary)")) continue;
        if (parentElement.closest("summary, .autocode-words")) continue;
        const range = document.createRange();
        range.selectNodeContents(texts.currentNode);
        for (const box of range.getClientRects()) tops.add(Math.round(box.bottom / 10));
        words += data.trim().split(/\\s+/).length;
    }
    const scrolls = [...card.querySelectorAll("*")].filter(node => node.scrollHeight > node.clientHeight + 1
        && node.checkVisibility() && ["auto", "scroll"].includes(getComputedStyle(node).overflowY));
    return [words, tops.size, scrolls.length, card.scrollWidth <= card.clientWidth];
}"""
"""The words and lines of a card, without tables, buttons and closed folds; how many parts of it scroll by themselves;
and whether it is as wide as what is in it."""


@pytest.mark.own_page  # its theme is changed
@pytest.mark.own_kernel  # settings are changed in it
def test_each_state_is_told_at_first_sight(notebook: Open, reply: Reply) -> None:
    release = threading.Event()

    def script(request: dict[str, Any]) -> Answer:
        prompt, text = prompt_of(request), answer(request)
        if "Say nothing." in prompt:
            return Answer(text, hold=release)
        return Answer(text, hold=release, hold_after=len(text) * 4 // 5) if "Hold." in prompt else Answer(text)

    reply(script)
    page = notebook(*(text for text, _ in CELLS.values()), run_data=False)
    try:
        for name, (_, headline) in CELLS.items():
            place = PLACES[name]
            page.run(place)
            if headline:
                page.card(place).get_by_text(f"● {headline}", exact=True).wait_for(timeout=PATIENCE)
            else:
                page.wait_for_prompt(place)
            if name == "cancelled":
                offer(page, place, "Cancel").click()
                page.card(place).get_by_text("● Cancelled", exact=True).wait_for(timeout=PATIENCE)
            if name == "rename":
                page.run(PLACES["renamed"])
                page.card(PLACES["renamed"]).get_by_text("● Renamed?", exact=True).wait_for(timeout=PATIENCE)
        page.card(PLACES["replaced"]).get_by_text("● Replaced", exact=True).wait_for(timeout=PATIENCE)
        page.card(PLACES["silent"]).get_by_role("button", name="Wait").wait_for(timeout=PATIENCE)
        ARTIFACTS.mkdir(exist_ok=True)
        for width, theme in ((700, "Light"), (1400, "Dark")):
            page.page.set_viewport_size({"width": width, "height": 1000})
            use_theme(page, f"JupyterLab {theme}")
            for name in CARDS:
                picture = f"state_{name}_{width}_{theme.lower()}.png"
                page.output(PLACES[name]).screenshot(path=ARTIFACTS / picture)
            seen = {name: page.card(PLACES[name]).evaluate(FIRST_SIGHT) for name in CARDS}
            assert all(scrolls == 0 and fits for _, _, scrolls, fits in seen.values()), seen
        ready = {name: seen[name][:2] for name in CARDS if CELLS[name][1].startswith("Ready")}
        assert all(words <= 120 and lines <= 20 for words, lines in ready.values()), ready
        assert barriers(page, ".jp-Notebook .jp-Cell-outputWrapper") == []
    finally:
        release.set()
