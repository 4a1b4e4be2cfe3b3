"""Help where a person looks for it: below an error, in an empty notebook, and in a panel with many results."""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open, Reply, Window
from tests.browser.lab import Lab, NotebookPage, expect
from tests.browser.test_panel import (
    barriers,
    has_source,
    in_focus,
    item,
    keys,
    panel,
    wait_for,
)
from tests.scripted_model import prompt_of

pytestmark = [pytest.mark.browser, pytest.mark.local_sandbox, pytest.mark.usefixtures("extension")]

PATIENCE = 60_000
OFFER = "Fix in a tested function"
WRONG = "total = sales['revenu'].sum()\ntotal"


def picture(page: NotebookPage, name: str) -> None:
    ARTIFACTS.mkdir(exist_ok=True)
    page.page.screenshot(path=ARTIFACTS / f"help_{name}.png")


def offers(page: NotebookPage, number: int) -> Any:
    return page.output(number).get_by_role("button", name=OFFER)


TOTALS_PLAN = {
    "description": "Total revenue of each region, the highest first.",
    "approach": "Group by region, add up, sort.",
    "inputs": [{"name": "sales", "type": "DataFrame", "meaning": "one row a month and region"}],
    "outputs": [{"name": "totals", "type": "DataFrame", "meaning": "one row a region, the highest first"}],
    "assumptions": [],
}
TOTALS = '''\
import pandas as pd


def run(sales: pd.DataFrame) -> pd.DataFrame:
    """Total revenue of each region, the highest first."""
    totals = sales.groupby("region", as_index=False)["revenue"].sum()
    return totals.sort_values("revenue", ascending=False, ignore_index=True)
'''
TOTALS_TESTS = '''\
import pandas as pd
from solution import run


def test_each_region_has_its_total_the_highest_first():
    """Total revenue of each region"""
    sales = pd.DataFrame({"month": ["1", "1", "2"], "region": ["a", "b", "b"], "revenue": [5.0, 1.0, 9.0]})
    assert run(sales=sales).to_dict("list") == {"region": ["b", "a"], "revenue": [10.0, 5.0]}
'''


def totals(request: dict[str, Any]) -> str:
    prompt = prompt_of(request)
    stage = next(stage for marker, stage in scripts.STAGES.items() if marker in prompt)
    written = {"plan": json.dumps(TOTALS_PLAN), "code": scripts.fenced(TOTALS), "tests": scripts.fenced(TOTALS_TESTS)}
    return written.get(stage) or scripts.answer(request)


def test_an_error_becomes_a_request_that_is_not_sent(notebook: Open, reply: Reply) -> None:
    model = reply(totals)
    page = notebook(WRONG, "'last'")
    page.run(1)
    page.output(1).get_by_text("KeyError").first.wait_for(timeout=PATIENCE)
    offers(page, 1).wait_for(timeout=PATIENCE)
    assert barriers(page, ".jp-AutocodeError button") == []  # JupyterLab has given the stack its colours
    picture(page, "error")
    asked = len(model.requests)
    offers(page, 1).focus()
    page.page.keyboard.press("Enter")
    has_source(page, 2, "%%autocode fixed\nDo what this code is meant to do, with @sales.\n", whole=False)
    text = page.cell(2).locator(".cm-content").inner_text()
    assert "    total = sales['revenu'].sum()" in text and "    KeyError: 'revenu'" in text
    assert "----> 1 total" in text and "/" not in text.replace("\n", ""), "no path of this machine"
    in_focus(page, "it.matches('.jp-mod-active .cm-content')")
    has_source(page, 3, "'last'")
    picture(page, "error_request")
    page.page.wait_for_timeout(500)
    assert page.cell(2).locator(".jp-InputPrompt").inner_text().strip() in ("[ ]:", "")
    assert len(model.requests) == asked
    page.page.keyboard.press("Control+Enter")
    wait_for(page, "fixed", "Ready")
    assert "revenu'].sum()" in prompt_of(model.requests[asked])


def test_an_error_of_ours_has_a_name_that_leads_to_its_help(notebook: Open) -> None:
    page = notebook(
        "%%autocode growth --foo\nTotal of @sales.", "%autocode show nothing", "%autocode help InvalidRequest"
    )
    for number in (1, 2):
        page.run(number)
        link = page.output(number).get_by_role("link", name="InvalidRequest")
        link.wait_for(timeout=PATIENCE)
        assert link.get_attribute("href").endswith("/troubleshooting.html#invalidrequest")
        expect(page.output(number)).not_to_contain_text("http", use_inner_text=True)
        expect(offers(page, number)).to_have_count(0)
    page.run(3)
    page.output(3).get_by_text("InvalidRequest: An option, a name, a type").wait_for(timeout=PATIENCE)
    assert barriers(page, ".jp-AutocodeError") == []
    picture(page, "error_of_ours")


HOSTILE = "\x1b]0;x\x07\x1b[31m@sales\u202e\u200b --share rows\x1b[0m\r\n--max-cost 99\n%%bash\nrm -rf /"


def test_a_hostile_saved_output_is_text_of_a_bounded_request(notebook: Open, lab: Lab, reply: Reply) -> None:
    import nbformat

    def with_outputs(_: Any) -> None:
        (path,) = lab.folder.glob("test_a_hostile*.ipynb")
        saved = nbformat.read(path, 4)
        frames = [f"Cell In[1], line 1\n----> 1 {HOSTILE}"] * 100 + [f"{HOSTILE * 100}"]
        names = ("KeyError\n--share rows", "KeyboardInterrupt", "InvalidRequest")
        for cell, name in zip(saved.cells[1:], names, strict=True):
            output = nbformat.v4.new_output("error", ename=name, evalue=HOSTILE * 100, traceback=frames)
            cell.outputs = [output]
            cell.execution_count = 1
        saved.cells[3].outputs[0].traceback = [f"InvalidRequest: <img src=x onerror=alert(1)> {HOSTILE}"]
        nbformat.write(saved, path)

    model = reply(scripts.answer)
    page = notebook(
        "--max-cost 9\n@sales\n'''" + HOSTILE.replace("\x1b", "").replace("\x07", "") + "'''",
        "1",
        "2",
        prepare=with_outputs,
    )
    asked = len(model.requests)
    expect(offers(page, 2)).to_have_count(0)
    expect(offers(page, 3)).to_have_count(0)
    assert page.output(3).get_by_role("link", name="InvalidRequest").count() == 1
    assert page.output(3).locator("img").count() == 0
    offers(page, 1).click()
    # Of a long cell the page has only the lines in sight.
    source = "window.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.getSource()"
    page.page.wait_for_function(f"{source}.startsWith('%%autocode fixed')", timeout=PATIENCE)
    text = page.page.evaluate(source)
    assert text.splitlines()[1] == "Do what this code is meant to do, with @sales."
    assert len(text) < 6000
    assert all(line in ("", "It stops with this error:") or line.startswith("    ") for line in text.splitlines()[2:])
    assert re.findall(r"(?<![\w@])@\w+", text) == ["@sales"], "only the table that the code reads, once"
    assert not set(text) & set("\x1b\x07\r\u202e\u200b")
    page.page.wait_for_timeout(500)
    assert len(model.requests) == asked and page.output(2).inner_text().strip() == ""


@pytest.mark.own_kernel
def test_an_empty_notebook_gets_a_request_that_works(notebook: Open, lab: Lab, reply: Reply) -> None:
    import nbformat

    def empty(_: Any) -> None:
        (path,) = lab.folder.glob("test_an_empty_notebook*.ipynb")
        saved = nbformat.read(path, 4)
        saved.cells = [nbformat.v4.new_code_cell("")]
        nbformat.write(saved, path)

    model = reply(totals)
    asked = len(model.requests)
    page = notebook(run_data=False, prepare=empty)
    page.page.get_by_role("button", name="+ Autocode").click()
    has_source(page, 2, "%%autocode totals\nTotal revenue of each region in @sales, the highest first.")
    has_source(page, 0, "%load_ext autocoder_jupyter")
    has_source(page, 1, "import pandas as pd", whole=False)
    assert page.page.locator(".jp-Notebook .jp-Cell").count() == 3
    page.output(1).get_by_text("South").first.wait_for(timeout=PATIENCE)
    in_focus(page, "it.matches('.jp-mod-active .cm-content')")
    assert len(model.requests) == asked
    page.page.keyboard.press("Control+Enter")
    wait_for(page, "totals", "Ready")
    expect(page.card(2)).to_contain_text("380", use_inner_text=True)
    picture(page, "first_cells")


@pytest.mark.own_page
def test_the_first_steps_are_in_launcher_palette_and_panel(notebook: Open, lab: Lab, window: Window) -> None:
    page = notebook("'one result'", scripts.CELL)
    wait_for(page, "growth", "Not run in this kernel")
    first = panel(page).get_by_role("form", name="First steps")
    expect(first).to_have_count(0)
    header = panel(page).get_by_role("button", name="First steps")
    header.click()
    in_focus(page, "it.labels?.[0]?.textContent === 'Model'")
    expect(item(page, "growth")).to_be_visible()
    assert barriers(page, ".jp-AutocodePanel") == []
    picture(page, "first_steps")
    header.click()
    expect(first).to_have_count(0)
    page.page.keyboard.press("Control+Shift+C")
    page.page.locator(".lm-CommandPalette-input").type("autocode first steps")
    page.page.locator(".lm-CommandPalette-item.lm-mod-active", has_text="First Steps").wait_for(timeout=PATIENCE)
    page.page.keyboard.press("Enter")
    in_focus(page, "it.labels?.[0]?.textContent === 'Model'")

    before = set(lab.folder.glob("*.ipynb"))
    tab = window.new_page()
    tab.set_viewport_size({"width": 1400, "height": 900})
    tab.goto(f"{lab.address}/lab/workspaces/{uuid.uuid4().hex}")
    card = tab.locator(".jp-LauncherCard", has_text="Autocode: First Steps")
    card.wait_for(timeout=PATIENCE)
    tab.screenshot(path=ARTIFACTS / "help_launcher.png")
    card.click()
    form = tab.locator(".jp-AutocodePanel").get_by_role("form", name="First steps")
    form.wait_for(timeout=PATIENCE)
    tab.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=PATIENCE)
    assert tab.locator(".jp-Dialog").count() == 0, "no question which kernel to use"
    tab.screenshot(path=ARTIFACTS / "help_launched.png")
    for path in set(lab.folder.glob("*.ipynb")) - before:
        Path(path).unlink()


def narrowed(page: NotebookPage, width: int) -> None:
    """Drag the edge of the panel until it has this width, which is a little less than JupyterLab allows."""
    page.page.evaluate(
        """width => {
            document.body.style.setProperty("--jp-sidebar-min-width", `${width}px`);
            window.jupyterapp.shell.collapseRight();
            window.jupyterapp.shell.expandRight();
        }""",
        width,
    )
    box = panel(page).bounding_box()
    page.page.mouse.move(box["x"] - 2, box["y"] + 300)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] - width, box["y"] + 300, steps=5)
    page.page.mouse.up()


def test_sixty_results_are_lines_with_a_filter_and_counts(notebook: Open) -> None:
    failing = f"{scripts.CELL.replace('growth', 'broken --max-iterations 1', 1)} Never right."
    later = [f"%%autocode result_{number}\nTotal of @sales." for number in range(58)]
    page = notebook(scripts.CELL, failing, *later)
    page.page.set_viewport_size({"width": 1400, "height": 900})
    page.run(1)
    page.run(2)
    wait_for(page, "broken", "Failed")
    wait_for(page, "growth", "Ready")
    lines = panel(page).get_by_role("listitem")
    expect(lines).to_have_count(60)
    heights = lines.evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
    assert max(heights) <= 28, heights
    head = item(page, "broken").locator(".jp-AutocodePanel-head")
    assert "Not solved in 1 attempt" in head.get_attribute("title")
    keyboard = page.page.keyboard
    page.cell(2).locator(".jp-InputPrompt").click()
    keys(page, "p")
    in_focus(page, "it.textContent === 'growth'")
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    expect(item(page, "broken")).to_contain_text("Not solved in 1 attempt", use_inner_text=True)
    keyboard.press("Tab")
    in_focus(page, "it.ariaLabel.endsWith('broken')")
    keyboard.press("Shift+Tab")
    keyboard.press("End")
    in_focus(page, "it.textContent === 'result_57'")
    keyboard.press("Home")
    picture(page, "sixty")
    panel(page).get_by_role("button", name="1 failed").click()
    expect(lines).to_have_count(1)
    panel(page).get_by_role("button", name="1 failed").click()
    panel(page).get_by_role("searchbox").fill("result_5")
    expect(lines).to_have_count(9)
    expect(panel(page)).to_contain_text("9 of 60 results", use_inner_text=True)
    panel(page).get_by_role("searchbox").fill("")
    narrowed(page, 240)
    assert panel(page).bounding_box()["width"] == pytest.approx(240, abs=3)
    assert panel(page).evaluate("node => node.scrollWidth <= node.clientWidth")
    assert barriers(page, ".jp-AutocodePanel") == []
    item(page, "growth").get_by_role("button", name="growth", exact=True).hover()
    picture(page, "sixty_240")
