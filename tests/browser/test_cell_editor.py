"""A `%%autocode` cell in the editor: what a user sees, and what the keyboard does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open
from tests.browser.lab import Lab, NotebookPage, expect
from tests.browser.test_panel import barriers, use_theme

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("extension")]

SOON = 15_000


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

    # Tab writes what is underlined
    keyboard.type("es")
    page.cell(5).locator(".cm-lintRange-info", has_text="sales").wait_for(timeout=SOON)
    keyboard.press("Tab")
    page.cell(5).locator(".autocode-known", has_text="@sales").wait_for(timeout=SOON)
    assert text_of(page, 5).endswith("Add them up and @sales")


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


def test_it_fits_both_themes_and_its_lines_wrap(notebook: Open) -> None:
    prose = f"Rows of sales and @saless{', on and on' * 30}"
    page = notebook(scripts.CELL, f'%%autocode other --moddel x -o "a: DataFrme"\n{prose}')
    until_the_data_is_known(page, 1)
    cell = page.cell(2)
    for severity in ("error", "warning", "info"):
        cell.locator(f".cm-lintRange-{severity}").first.wait_for(timeout=SOON)
    line, editor = cell.locator(".autocode-prose").last, cell.locator(".cm-editor")
    assert line.bounding_box()["height"] > 30
    assert editor.evaluate("editor => editor.querySelector('.cm-scroller').scrollWidth <= editor.clientWidth")
    assert barriers(page, ".autocode-cell") == []
    box = page.page.locator(".autocode-hover", has_text="DataFrame · 2,000 rows × 3 columns")
    ARTIFACTS.mkdir(exist_ok=True)
    for theme in ("Dark", "Light"):
        use_theme(page, f"JupyterLab {theme}")
        page.cell(1).locator(".autocode-known", has_text="@sales").hover()
        box.wait_for(timeout=SOON)
        page.page.screenshot(path=ARTIFACTS / f"cell_editor_{theme.lower()}.png")
        contrasts = page.page.evaluate(CONTRASTS)
        assert {"autocode-command", "autocode-known", "autocode-value"} <= contrasts.keys()
        assert {part: ratio for part, ratio in contrasts.items() if ratio < 4.5} == {}
        page.page.mouse.move(0, 0)
        box.wait_for(state="detached", timeout=SOON)


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
