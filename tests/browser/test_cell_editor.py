"""A `%%autocode` cell in the editor: what a user sees, and what the keyboard does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open
from tests.browser.lab import KERNEL_IS_IDLE, Lab, NotebookPage, expect
from tests.browser.test_panel import barriers

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("extension")]

SOON = 15_000
PROSE = "Revenue of @sales: import what isn't there, def and class; mail me@example.org."


def write(page: NotebookPage, number: int, text: str) -> Any:
    """Type text into a cell, key by key. Returns the cell."""
    page.cell(number).locator(".cm-content").click()
    page.page.keyboard.type(text)
    return page.cell(number)


def text_of(page: NotebookPage, number: int) -> str:
    return "\n".join(page.cell(number).locator(".cm-line").all_inner_texts()).replace("\u200b", "")


def offered(page: NotebookPage) -> list[str]:
    """The entries of the completion menu."""
    page.page.locator(".jp-Completer-item").first.wait_for(timeout=SOON)
    return list(page.page.locator(".jp-Completer-item .jp-Completer-match").all_inner_texts())


def until_the_data_is_known(page: NotebookPage, number: int) -> None:
    page.cell(number).locator(".autocode-known").first.wait_for(timeout=SOON)


def test_a_cell_is_written_with_completion_by_the_keyboard_alone(notebook: Open) -> None:
    page = notebook("", "sales_2025 = sales.head(10)", "", "", "")
    keyboard = page.page.keyboard
    write(page, 1, "%%autocode growth --s")
    keyboard.press("Tab")
    flags = {
        "--sample",
        "--schema",
        "--second-opinion",
        "--skip-tests",
        "--sandbox",
        "--sandbox-minimum",
        "--share",
        "--split",
    }
    assert set(offered(page)) == flags
    keyboard.type("ha")
    keyboard.press("Enter")
    keyboard.type(" ")
    keyboard.press("Tab")
    assert offered(page) == ["rows", "stats", "schema"]
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    keyboard.type(' -o "monthly: D')
    keyboard.press("Tab")
    assert set(offered(page)) == {"Dir", "DataFrame"}
    keyboard.type("at")
    keyboard.press("Enter")
    keyboard.type('"\nGrowth of @s')
    keyboard.press("Tab")
    assert offered(page) == ["@sales"]
    keyboard.press("Enter")
    page.cell(1).locator(".autocode-known", has_text="@sales").wait_for(timeout=SOON)
    assert text_of(page, 1) == '%%autocode growth --share stats -o "monthly: DataFrame"\nGrowth of @sales'

    # data with its type and shape
    page.run(2)
    page.wait_for_prompt(2)
    write(page, 3, "%%autocode growth\nGrowth of @sales over @")
    until_the_data_is_known(page, 3)
    keyboard.press("Tab")
    assert offered(page) == ["@sales", "@sales_2025"]
    said = page.page.locator(".jp-Completer-typeExtended").all_inner_texts()
    assert [text.replace("\u00a0", " ").casefold() for text in said] == ["dataframe 2,000 × 3", "dataframe 10 × 3"]
    keyboard.press("Escape")

    # models, the provider first
    write(page, 4, "%%autocode growth -m open")
    keyboard.press("Tab")
    assert "openai/" in offered(page)
    keyboard.press("Escape")
    keyboard.type("ai/gpt-4.1-m")
    keyboard.press("Tab")
    page.page.locator(".jp-Completer-match", has_text="openai/gpt-4.1-mini").first.wait_for(timeout=SOON)
    keyboard.press("Escape")

    # no Python in prose
    write(page, 5, "%%autocode growth\nAdd them up and sal")
    keyboard.press("Tab")
    page.page.wait_for_timeout(1500)  # longer than JupyterLab waits for a kernel
    expect(page.page.locator(".jp-Completer-item").first).to_be_hidden()


@pytest.fixture
def patience_with_kernels(lab: Lab) -> Iterator[None]:
    """JupyterLab waits up to a minute for the completions of a kernel."""
    lab.use_settings("@jupyterlab/completer-extension/manager", {"providerTimeout": 60_000})
    yield
    lab.use_settings("@jupyterlab/completer-extension/manager", {})


@pytest.mark.usefixtures("patience_with_kernels")
def test_a_busy_kernel_does_not_delay_completion_and_finds_what_is_wrong(notebook: Open) -> None:
    page = notebook("import time; time.sleep(60)", "", "")
    page.run(1)
    page.cell(1).locator(".jp-InputPrompt", has_text="[*]").wait_for(timeout=SOON)
    write(page, 2, "%%autocode growth --share ")
    page.page.keyboard.press("Tab")
    assert offered(page) == ["rows", "stats", "schema"]
    page.page.keyboard.press("Escape")
    cell = write(page, 3, "%%autocode growth --sandbox dockr\nDo it.")
    cell.locator(".cm-lintRange-error", has_text="dockr").wait_for(timeout=SOON)


@pytest.fixture
def menus_that_open(lab: Lab) -> Iterator[None]:
    lab.use_settings("@jupyterlab/completer-extension/manager", {"autoCompletion": True})
    yield
    lab.use_settings("@jupyterlab/completer-extension/manager", {})


@pytest.mark.usefixtures("menus_that_open")
def test_an_at_sign_or_a_dash_opens_the_menu_if_the_person_wants_menus_that_open(notebook: Open) -> None:
    page = notebook("other = sales", "", "")
    page.run(1)
    page.wait_for_prompt(1)
    write(page, 2, "%%autocode growth\nGrowth of @sales over ")
    until_the_data_is_known(page, 2)
    page.page.keyboard.type("@")
    assert set(offered(page)) == {"@sales", "@other"}
    page.page.keyboard.type("o")
    page.page.locator(".jp-Completer-item", has_text="@sales").wait_for(state="hidden", timeout=SOON)
    page.page.keyboard.press("Enter")
    assert text_of(page, 2).endswith("Growth of @sales over @other")
    write(page, 3, "%%autocode growth ")
    page.page.keyboard.type("-")
    assert "--share" in offered(page)


def test_a_name_under_the_pointer_shows_its_shape_and_columns(notebook: Open) -> None:
    page = notebook(scripts.CELL)
    until_the_data_is_known(page, 1)
    page.cell(1).locator(".autocode-known", has_text="@sales").hover()
    box = page.page.locator(".autocode-hover")
    box.wait_for(timeout=SOON)
    text = box.inner_text()
    assert "DataFrame · 2,000 rows × 3 columns" in text
    assert [row.split() for row in text.splitlines() if row.startswith("re")] == [
        ["region", "str"],
        ["revenue", "float64"],
    ]
    page.page.mouse.move(0, 0)
    box.wait_for(state="detached", timeout=SOON)
    page.cell(1).locator(".autocode-option", has_text="--check").hover()
    page.page.locator(".autocode-hover", has_text="--check").wait_for(timeout=SOON)


def test_the_same_is_shown_and_said_by_the_keyboard(notebook: Open) -> None:
    page = notebook("")
    cell = write(page, 1, "%%autocode growth\nGrowth of @sales")
    until_the_data_is_known(page, 1)
    page.page.keyboard.press("Control+F1")
    page.page.locator(".autocode-hover", has_text="2,000 rows × 3 columns").wait_for(timeout=SOON)
    cell.locator(".cm-announced", has_text="revenue: float64").wait_for(state="attached", timeout=SOON)
    page.page.keyboard.type(" ")
    page.page.locator(".autocode-hover").wait_for(state="detached", timeout=SOON)


def point_at(page: NotebookPage, mark: Any, said: str) -> None:
    """Move the pointer to a mark until its description appears. It repeats because a redrawn mark loses the pointer."""
    from playwright.sync_api import TimeoutError as NotSeen

    diagnostic = page.page.locator(".cm-diagnostic", has_text=said)
    for _ in range(5):
        page.page.mouse.move(0, 0)
        mark.hover()
        with contextlib.suppress(NotSeen):
            diagnostic.wait_for(timeout=SOON / 5)
            return
    diagnostic.wait_for(timeout=SOON)


def test_what_the_kernel_would_refuse_is_underlined_and_explained(notebook: Open) -> None:
    page = notebook("", "")
    cell = write(page, 1, '%%autocode growth --moddel x\n-o "a: DataFrme"\nGrowth of @saless.')
    cell.locator(".cm-lintRange-error").nth(1).wait_for(timeout=SOON)
    assert cell.locator(".cm-lintRange-error").all_inner_texts() == ["--moddel", "DataFrme"]
    cell.locator(".cm-lintRange-warning", has_text="@saless").wait_for(timeout=SOON)
    point_at(page, cell.locator(".cm-lintRange-error").first, "Did you mean --model?")
    page.page.get_by_role("button", name="Write --model").click()
    assert text_of(page, 1).startswith("%%autocode growth --model x")
    cell.locator(".cm-lintRange-error", has_text="--model").wait_for(state="detached", timeout=SOON)

    # problems are reached and read by the keyboard
    cell = write(page, 2, "%%autocode growth --moddel\nDo it.")
    cell.locator(".cm-lintRange-error").wait_for(timeout=SOON)
    page.page.keyboard.press("F8")
    cell.locator(".cm-announced", has_text="There is no option --moddel.").wait_for(state="attached", timeout=SOON)
    assert page.page.evaluate("getSelection().toString()") == "--moddel"
    page.page.keyboard.press("Control+Shift+m")
    listed = cell.locator(".cm-panel-lint li", has_text="There is no option --moddel.")
    listed.wait_for(timeout=SOON)
    assert listed.get_attribute("role") == "option"


def test_what_the_page_finds_is_underlined_while_no_kernel_answers(notebook: Open) -> None:
    page = notebook("", run_data=False)
    cell = write(page, 1, "%%autocode growth --moddel x --sandbox dockr\nDo it.")
    cell.locator(".cm-lintRange-error", has_text="--moddel").wait_for(timeout=SOON)
    assert cell.locator(".cm-lintRange-error").all_inner_texts() == ["--moddel"]
    page.run(0)  # the kernel starts, and finds the other problems
    cell.locator(".cm-lintRange-error", has_text="dockr").wait_for(timeout=SOON)


def test_a_table_that_is_named_without_its_at_sign_is_underlined_and_tab_or_a_click_adds_it(notebook: Open) -> None:
    page = notebook("daily_visits = sales.head(10)", "")
    page.run(1)
    page.wait_for_prompt(1)
    cell = write(page, 2, "%%autocode growth\nCompare the daily visits")
    cell.locator(".cm-lintRange", has_text="daily visits").wait_for(timeout=SOON)
    assert barriers(page, ".autocode-cell") == []
    page.page.keyboard.press("Tab")
    page.cell(2).locator(".autocode-known", has_text="@daily_visits").wait_for(timeout=SOON)
    assert text_of(page, 2).endswith("Compare the @daily_visits")
    page.page.keyboard.type(" with sales now")
    point_at(page, cell.locator(".cm-lintRange", has_text="sales").last, "Write @sales")
    page.page.get_by_role("button", name="Write @sales").click()
    assert text_of(page, 2).endswith("Compare the @daily_visits with @sales now")


def test_data_that_comes_into_being_is_known_at_once(notebook: Open) -> None:
    page = notebook("orders = sales", "%%autocode growth\nGrowth of @orders.")
    page.cell(2).locator(".autocode-unknown").wait_for(timeout=SOON)
    page.run(1)
    page.cell(2).locator(".autocode-known", has_text="@orders").wait_for(timeout=SOON)
    page.cell(2).locator(".cm-lintRange-warning").wait_for(state="detached", timeout=SOON)


def test_values_names_and_words_are_marked_while_they_are_typed(notebook: Open) -> None:
    page = notebook("limit = 5", "")
    page.run(1)
    text = '%%autocode limit --max-cost abc\n--check "total >"\nGrowth of sales above @limit.'
    cell = write(page, 2, text)
    cell.locator(".cm-lintRange-error", has_text="abc").wait_for(timeout=SOON)
    cell.locator(".cm-lintRange-error").nth(1).wait_for(timeout=SOON)
    cell.locator(".cm-lintRange-warning", has_text="limit").nth(1).wait_for(timeout=SOON)
    page.page.keyboard.press("Control+Shift+m")
    page.page.locator(".cm-panel-lint li").nth(4).wait_for(timeout=SOON)
    said = "\n".join(page.page.locator(".cm-panel-lint li").all_inner_texts())
    page.page.screenshot(path=ARTIFACTS / "marks.png")
    for words in (
        "'limit' is already a variable of the notebook (int).",
        "--max-cost must be a number above 0, not 'abc'.",
        "--check 'total >' is not a Python expression.",
        "@limit is an int; a request can refer to a DataFrame",
        '-i "limit: int = 5", or write the value itself.',
        "sales is a DataFrame of the notebook, and the request does not pass it.",
    ):
        assert words in said
    page.page.get_by_role("button", name="Write @sales").first.click()
    assert "Growth of @sales above" in text_of(page, 2)


@pytest.mark.own_kernel
def test_a_cell_says_that_the_extension_is_not_loaded(notebook: Open) -> None:
    page = notebook("%%autocode growth\nGrowth of it.", run_data=False)
    cell = page.cell(1)
    page.page.wait_for_function(KERNEL_IS_IDLE)
    expect(cell.locator(".cm-lintRange-warning")).to_have_count(0)  # a cell loads it, that was not run yet
    page.cell(0).locator(".cm-content").click()
    page.page.keyboard.press("Control+a")
    page.page.keyboard.type("x = 1")
    write(page, 1, " ")
    cell.locator(".cm-lintRange-warning", has_text="%%autocode").wait_for(timeout=SOON)
    point_at(page, cell.locator(".cm-lintRange-warning").first, "Run a cell with %load_ext autocoder_jupyter first.")


@pytest.mark.cold_kernel
def test_what_the_first_answer_needs_is_loaded_while_a_cell_is_written(notebook: Open) -> None:
    loads = "from autocoder_jupyter.models import process; bool(process._process and process._process.is_loaded)"
    page = notebook("%%autocode growth\nWords", loads)
    page.cell(1).locator(".autocode-prose").first.wait_for(timeout=SOON)
    page.run(2)
    page.output(2).get_by_text("False", exact=True).wait_for(timeout=SOON)
    page.cell(1).locator(".cm-content").click()
    page.page.keyboard.press("Control+End")
    page.page.keyboard.type(" of @sales.")
    loaded = page.output(2).get_by_text("True", exact=True)
    for _ in range(60):
        page.run(2)
        page.page.wait_for_timeout(1000)
        if loaded.is_visible():
            break
    expect(loaded).to_be_visible()


def tokens(page: NotebookPage, number: int) -> list[str]:
    """The texts that are colored as code."""
    return list(
        page.cell(number).evaluate(
            """cell => [...cell.querySelectorAll(".cm-line span")]
                .filter(span => ![...span.classList].some(name => /^(autocode|cm)-/.test(name)))
                .map(span => span.textContent)"""
        )
    )


def test_a_cell_is_prose_as_long_as_it_begins_with_the_magic(notebook: Open) -> None:
    page = notebook(f"%%autocode growth\n{PROSE}", "import os")
    page.cell(1).locator(".autocode-prose").wait_for(timeout=SOON)
    assert tokens(page, 1) == [] and "import" in tokens(page, 2)
    page.cell(1).locator(".cm-content").click()
    page.page.keyboard.press("Control+Home")
    page.page.keyboard.press("Shift+ArrowRight")
    page.page.keyboard.press("Delete")
    page.cell(1).locator(".autocode-prose").wait_for(state="detached", timeout=SOON)
    assert "import" in tokens(page, 1)
    page.page.keyboard.type("%")
    page.cell(1).locator(".autocode-prose").wait_for(timeout=SOON)
    assert tokens(page, 1) == []


def test_prose_is_not_indented_like_python_and_wraps(notebook: Open) -> None:
    page = notebook("")
    cell = write(page, 1, "%%autocode growth\nFor each month:\nelse nothing (and so on")
    assert text_of(page, 1) == "%%autocode growth\nFor each month:\nelse nothing (and so on"
    page.page.keyboard.insert_text(", on and on" * 30)
    line, editor = cell.locator(".autocode-prose").last, cell.locator(".cm-editor")
    assert line.bounding_box()["height"] > 30
    assert editor.evaluate("editor => editor.querySelector('.cm-scroller').scrollWidth <= editor.clientWidth")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_it_fits_the_theme(notebook: Open, lab: Lab, theme: str) -> None:
    lab.use_theme(f"JupyterLab {theme}")
    try:
        page = notebook(scripts.CELL, '%%autocode other --moddel x -o "a: DataFrme"\nRows of @sales and @saless.')
    finally:
        lab.use_theme("JupyterLab Light")
    until_the_data_is_known(page, 1)
    page.cell(2).locator(".cm-lintRange-warning").wait_for(timeout=SOON)
    page.cell(1).locator(".autocode-known", has_text="@sales").hover()
    page.page.locator(".autocode-hover").wait_for(timeout=SOON)
    ARTIFACTS.mkdir(exist_ok=True)
    page.page.screenshot(path=ARTIFACTS / f"cell_editor_{theme.lower()}.png")
    contrasts = page.page.evaluate(CONTRASTS)
    assert {"autocode-command", "autocode-known", "autocode-value"} <= contrasts.keys()
    assert {part: ratio for part, ratio in contrasts.items() if ratio < 4.5} == {}


CONTRASTS = """() => {
    const channels = colour => colour.match(/[\\d.]+/g).map(Number);
    const luminance = colour => {
        const linear = c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = channels(colour).map(c => linear(c / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = node => {
        for (let at = node; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if ((channels(colour)[3] ?? 1) === 1) return colour;
        }
        return "rgb(255, 255, 255)";
    };
    const seen = {};
    for (const node of document.querySelectorAll(".autocode-cell [class*=autocode-]")) {
        if (!node.textContent.trim()) continue;
        const [high, low] = [luminance(getComputedStyle(node).color), luminance(ground(node))].sort((a, b) => b - a);
        seen[node.className] = Math.min(seen[node.className] ?? 99, (high + 0.05) / (low + 0.05));
    }
    return seen;
}"""
