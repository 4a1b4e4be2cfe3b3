"""The results panel, the commands, the status bar and the settings page of the lab extension."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.lab import Lab, NotebookPage, expect
from tests.browser.scripts import holding

pytestmark = [pytest.mark.browser, pytest.mark.local_sandbox, pytest.mark.usefixtures("extension")]

PATIENCE = 60_000

SHORT = scripts.CELL.replace("growth ", "growth\n", 1)
"""A cell with its options below the first line, because JupyterLab hides a cell's toolbar that would cover text."""


def keys(page: NotebookPage, last: str) -> None:
    """Press one of the extension's shortcuts; all begin with the same combination."""
    page.page.keyboard.press("Control+Shift+A")
    page.page.keyboard.press(last)


def panel(page: NotebookPage) -> Any:
    """The side panel. It is opened with the keyboard if it is closed."""
    found = page.page.locator(".jp-AutocodePanel")
    if not found.is_visible():
        keys(page, "p")
        found.wait_for(timeout=PATIENCE)
    return found


def item(page: NotebookPage, name: str) -> Any:
    """The item of a result in the panel."""
    return panel(page).get_by_role("listitem", name=re.compile(f"^{name}: "))


def wait_for(page: NotebookPage, name: str, word: str) -> Any:
    """Wait until the panel shows this text for a result; "Ready" is the beginning of three."""
    found = panel(page).get_by_role("listitem", name=re.compile(f"^{name}: {word}(,|$)"))
    found.wait_for(timeout=PATIENCE)
    return found


def unfold(page: NotebookPage, name: str) -> Any:
    """Unfold the line of a result in the panel."""
    found = item(page, name)
    found.get_by_role("button", name=name, exact=True).click()
    return found


def press(page: NotebookPage, name: str, label: str) -> None:
    """Press one of the buttons that the line of a result has under the pointer."""
    found = item(page, name)
    found.get_by_role("button", name=name, exact=True).hover()
    found.get_by_role("button", name=label).click()


AXE = Path(__file__).parents[2] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"


def barriers(page: NotebookPage, *places: str) -> list[Any]:
    """The accessibility problems that axe-core finds in these parts of the page, in the light and the dark theme."""
    if not page.page.evaluate("'axe' in window"):
        page.page.evaluate(AXE.read_text())
    return list(
        page.page.evaluate(
            """async include => {
                const { jpThemeName: before } = document.body.dataset;
                // For axe, all in a body without height is hidden, so it would measure no contrast.
                document.body.style.height = "100vh";
                const found = [];
                // The splash of a new theme covers the page, and what is covered has no contrast that can be measured.
                const isCovered = () => document.querySelector("#jupyterlab-splash") !== null;
                for (const theme of ["JupyterLab Dark", "JupyterLab Light", before]) {
                    await window.jupyterapp.commands.execute("apputils:change-theme", { theme });
                    while (document.body.dataset.jpThemeName !== theme || isCovered()) {
                        await new Promise(done => setTimeout(done, 20));
                    }
                    if (theme === before && found.length > 1) break;
                    const { violations } = await axe.run({ include }, { resultTypes: ["violations"] });
                    found.push(violations.map(({ id, nodes }) => [theme, id, nodes.map(node => node.html)]));
                }
                document.body.style.height = "";
                return found.flat();
            }""",
            list(places),
        )
    )


def use_theme(page: NotebookPage, theme: str) -> None:
    page.page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
    page.page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)
    page.page.locator("#jupyterlab-splash").wait_for(state="detached")


def offer(page: NotebookPage, number: int, label: str) -> Any:
    """A button on the card of a cell."""
    return page.output(number).locator(".jp-AutocodeStrip").get_by_role("button", name=f"{label}: ")


def status(page: NotebookPage, words: str) -> None:
    """Wait until the status bar shows this text."""
    page.page.locator(".jp-AutocodeStatus").get_by_text(words).wait_for(timeout=PATIENCE)


def picture(page: NotebookPage, name: str) -> None:
    ARTIFACTS.mkdir(exist_ok=True)
    page.page.screenshot(path=ARTIFACTS / f"panel_{name}.png")


def has_source(page: NotebookPage, number: int, text: str, *, whole: bool = True) -> None:
    """Wait until a cell's text is this text, or begins with it."""
    page.page.wait_for_function(
        """([number, text, whole]) => {
            const cell = document.querySelectorAll(".jp-Notebook .jp-Cell")[number];
            const source = cell?.querySelector(".cm-content")?.innerText ?? "";
            return whole ? source === text : source.startsWith(text);
        }""",
        arg=[number, text, whole],
        timeout=20_000,
    )


def in_focus(page: NotebookPage, javascript: str) -> None:
    """Wait until this expression about the focused element, `it`, is true."""
    page.page.wait_for_function(f"() => (it => {javascript})(document.activeElement)", timeout=20_000)


def press_tab_until(page: NotebookPage, javascript: str) -> None:
    """Press Tab until this expression about the focused element, `it`, is true."""
    for _ in range(20):
        page.page.keyboard.press("Tab")
        if page.page.evaluate(f"(it => {javascript})(document.activeElement)"):
            return
    raise AssertionError(f"not reached: {javascript}")


def shown_in_toolbar(page: NotebookPage, number: int, *expected: str) -> None:
    """Wait until a cell's toolbar shows exactly these buttons of the extension."""
    page.page.wait_for_function(
        """([number, expected]) => {
            const cell = document.querySelectorAll(".jp-Notebook .jp-Cell")[number];
            const buttons = [...cell.querySelectorAll(".jp-cell-toolbar [data-jp-item-name^=autocode-]")];
            const shown = buttons.filter(button => button.checkVisibility());
            return shown.map(button => button.dataset.jpItemName.slice(9)).join() === expected.join();
        }""",
        arg=[number, list(expected)],
        timeout=PATIENCE,
    )


def shown_as_widget(page: NotebookPage, number: int) -> None:
    page.output(number).locator(".jp-AutocodeResult .jupyter-widgets").first.wait_for(timeout=20_000)
    expect(page.output(number)).not_to_contain_text("model not found", use_inner_text=True)


def shown_as_html(page: NotebookPage, number: int) -> None:
    page.output(number).locator(".jp-AutocodeResult .jp-RenderedHTML").first.wait_for(timeout=20_000)
    expect(page.output(number).locator(".jupyter-widgets")).to_have_count(0)


def test_a_job_is_followed_from_its_cell_to_the_exported_script(notebook: Open, reply: Reply, lab: Lab) -> None:
    release, script = holding("code")
    reply(script)
    page = notebook(scripts.CELL, "1 + 1")
    wait_for(page, "growth", "Not run in this kernel")
    page.run(1)
    wait_for(page, "growth", "Writing code and tests")
    running = unfold(page, "growth")
    expect(running).to_contain_text("attempt 1 of 2", use_inner_text=True)
    before = running.locator(".jp-AutocodePanel-facts").first.inner_text()
    status(page, "1 running · cost unknown")
    page.page.wait_for_timeout(1200)
    assert running.locator(".jp-AutocodePanel-facts").first.inner_text() != before, "the clock stands still"
    picture(page, "running")
    release.set()
    ready = wait_for(page, "growth", "Ready")
    assert "6 of 6 tests passed" in ready.inner_text() and "cost unknown" in ready.inner_text()
    expect(ready).to_contain_text("in part: 6 tests", use_inner_text=True)
    status(page, "1 result · cost unknown")
    picture(page, "ready")

    page.cell(2).locator(".cm-content").click()
    press(page, "growth", "Show the cell")
    page.page.locator(".jp-Cell.jp-mod-active", has_text="%%autocode growth").wait_for(timeout=PATIENCE)

    press(page, "growth", "Insert the code")
    page.page.locator(".jp-Cell.jp-mod-active .cm-content", has_text="def growth(").wait_for(timeout=PATIENCE)
    has_source(page, 2, "import pandas as pd", whole=False)
    has_source(page, 3, "1 + 1")

    offer(page, 1, "Insert call").click()
    page.page.locator(".jp-Cell.jp-mod-active .cm-content", has_text="best_month = growth.run(sales)").wait_for()
    has_source(page, 2, "monthly, best_month = growth.run(sales)")
    for _ in range(2):  # the second time in the cell of the first
        offer(page, 1, "Run").click()
        page.output(2).get_by_text("2024-10", exact=True).wait_for(timeout=PATIENCE)
    has_source(page, 2, "growth.run(sales)")
    has_source(page, 3, "monthly, ", whole=False)

    press(page, "growth", "Export")
    dialog = page.page.get_by_role("dialog")
    expect(dialog.get_by_role("textbox")).to_have_value("growth.py")
    dialog.get_by_role("button", name="Export").click()
    page.page.get_by_text(re.compile(r"Wrote .*growth\.py")).first.wait_for(timeout=PATIENCE)
    assert "def run(" in (lab.folder / "growth.py").read_text()
    (lab.folder / "growth.py").write_text("mine")
    press(page, "growth", "Export")
    dialog.get_by_role("button", name="Export").click()
    page.page.get_by_text("The file growth.py exists.").wait_for(timeout=PATIENCE)
    dialog.get_by_role("button", name="Cancel").click()
    page.page.wait_for_timeout(300)
    assert (lab.folder / "growth.py").read_text() == "mine"


@pytest.mark.own_kernel  # a variable is set in it
def test_the_first_steps_are_done_with_the_keyboard_and_lead_to_a_first_cell(notebook: Open, lab: Lab) -> None:
    page = notebook("import os; os.environ['GEMINI_API_KEY'] = 'x'; 'set'")
    page.run(1)
    page.output(1).get_by_text("set", exact=False).first.wait_for(timeout=PATIENCE)
    keyboard = page.page.keyboard
    page.page.set_viewport_size({"width": 400, "height": 900})
    first = panel(page).get_by_role("form", name="First steps")
    try:
        in_focus(page, "it.labels?.[0].textContent === 'Model'")
        keyboard.press("Shift+Tab")  # the panel may have been open before the variable was set
        keyboard.press("Tab")
        first.get_by_text("GEMINI_API_KEY is set.").wait_for(timeout=PATIENCE)
        expect(first.get_by_role("button", name="gemini/gemini-2.5-pro")).to_have_attribute("aria-pressed", "false")
        expect(first.locator("datalist option").first).to_have_attribute("value", "gemini/gemini-2.5-pro")
        keyboard.press("Control+a")
        keyboard.type("openai/scripted")
        press_tab_until(page, "it.textContent === 'A variable with the key, or a server of your own'")
        if not page.page.evaluate("document.activeElement.parentElement.open"):  # the kernel has an address already
            keyboard.press("Enter")
        keyboard.press("Tab")
        in_focus(page, "it.labels?.[0].textContent === 'Environment variable with the key'")
        keyboard.press("Control+a")
        keyboard.type("NO_SUCH_KEY")
        keyboard.press("Tab")
        in_focus(page, "it.labels?.[0].textContent === 'No key is needed'")
        keyboard.press("Tab")
        keyboard.press("Control+a")
        keyboard.type("localhost:9")  # which is no address
        keyboard.press("Enter")
        said = first.get_by_role("status")
        said.get_by_text("must begin with http:// or https://").wait_for(timeout=PATIENCE)
        keyboard.press("Control+a")
        keyboard.type("http://127.0.0.1:9/v1")
        keyboard.press("Enter")
        said.get_by_text("NO_SUCH_KEY, which is not set").wait_for(timeout=PATIENCE)
        in_focus(page, "it.value === 'http://127.0.0.1:9/v1'")
        said.get_by_text(
            "Saved in JupyterLab's settings: openai/scripted, the name NO_SUCH_KEY and the address "
            "http://127.0.0.1:9/v1. "
            "Nothing is written into the notebook, and no key."
        ).wait_for(timeout=PATIENCE)
        first.get_by_text("What will be used").click()
        first.get_by_text("set by JupyterLab", exact=True).first.wait_for(timeout=PATIENCE)
        expect(first.locator(".jp-mod-bad").first).to_contain_text("NO_SUCH_KEY is not set", use_inner_text=True)
        expect(first.locator(".jp-mod-bad").nth(1)).to_contain_text("nothing answers at", use_inner_text=True)
        first.get_by_text("A price that is not known, or none").click()
        for width in (1400, 400):
            page.page.set_viewport_size({"width": width, "height": 1000})
            picture(page, f"first_steps_{width}")
            assert barriers(page, ".jp-AutocodePanel") == []
            narrow = first.evaluate("node => node.scrollWidth <= node.clientWidth")
            assert narrow, f"the form is cut at {width} pixels"
    finally:
        lab.use_settings("autocoder-jupyter/plugin", {})
    press_tab_until(page, "it.textContent === 'Insert a first cell'")
    keyboard.press("Enter")
    page.page.locator(".jp-Cell.jp-mod-active .cm-content", has_text="%%autocode result").wait_for(timeout=PATIENCE)
    in_focus(page, "it.matches('.jp-mod-active .cm-content')")  # a space would press the button again
    page.page.keyboard.type("Revenue of ")  # in the place of the words that were there
    has_source(page, 2, "%%autocode result\nRevenue of ")


LABELS_ABOVE = """card => {
    const rows = [...card.querySelectorAll("div")].filter(row =>
        row.checkVisibility() && row.getBoundingClientRect().height && row.children[0]?.style.flex.endsWith("8em"));
    const above = rows.filter(({ children: [label, value] }) =>
        label.getBoundingClientRect().bottom <= value.getBoundingClientRect().top + 1);
    return [rows.length, above.length, card.scrollWidth <= card.clientWidth];
}"""
"""The rows with a label, those whose label stands above the value, and whether the card is wide enough for all."""


def test_between_two_open_sidebars_labels_stand_above_values(notebook: Open) -> None:
    page = notebook(scripts.CELL)
    page.run(1)
    page.card(1).get_by_text(re.compile("^● Ready")).wait_for(timeout=PATIENCE)
    rows, above, _ = page.card(1).evaluate(LABELS_ABOVE)
    assert rows >= 3 and above == 0
    page.page.set_viewport_size({"width": 700, "height": 900})
    page.page.evaluate("() => { jupyterapp.shell.expandLeft(); jupyterapp.shell.expandRight(); }")
    expect(page.page.locator("#jp-right-stack")).to_be_visible()
    expect(page.page.locator("#jp-left-stack")).to_be_visible()
    page.card(1).scroll_into_view_if_needed()
    assert page.card(1).evaluate(LABELS_ABOVE) == [rows, rows, True]
    picture(page, "between_sidebars")
    page.page.evaluate("() => jupyterapp.shell.collapseLeft()")


def test_a_failed_card_leads_on_by_its_buttons(notebook: Open, reply: Reply) -> None:
    page = notebook(f"{scripts.CELL} Never right.")
    page.run(1)
    page.card(1).get_by_text("● Failed", exact=True).wait_for(timeout=PATIENCE)
    expect(page.card(1).locator(".autocode-head")).to_contain_text(
        "test_growth_is_over_the_month_before: assert", use_inner_text=True
    )
    text = page.card(1).inner_text()
    assert "== 0.5" in text and "○ " not in text
    expect(page.card(1).get_by_text("%autocode retry growth")).to_be_hidden()  # the buttons show it
    picture(page, "failed_card")
    assert barriers(page, ".jp-AutocodeFollowed") == []

    offer(page, 1, "Raise the limit").click()
    asked = page.page.get_by_role("dialog")
    expect(asked.get_by_role("spinbutton")).to_have_value("4")
    asked.get_by_role("spinbutton").fill("3")
    page.page.keyboard.press("Enter")
    page.card(1).get_by_text("Not solved in 3 attempts").first.wait_for(timeout=PATIENCE)
    has_source(page, 1, "%%autocode growth --max-iterations 3 -o", whole=False)

    release, script = holding("plan")
    reply(script)
    offer(page, 1, "Retry").click()
    page.card(1).get_by_text("● Planning", exact=True).wait_for(timeout=PATIENCE)
    offer(page, 1, "Cancel").focus()
    picture(page, "cancel_in_the_head")
    page.page.keyboard.press("Enter")
    page.card(1).get_by_text("● Cancelled", exact=True).wait_for(timeout=PATIENCE)
    release.set()
    in_focus(page, "it.textContent === 'Retry'")
    offer(page, 1, "Edit the request").click()
    page.page.keyboard.type("# ")
    expect(page.cell(1).locator(".cm-content")).to_contain_text("# ", use_inner_text=True)


def test_everything_is_in_reach_of_the_keyboard(notebook: Open) -> None:
    page = notebook(SHORT, "1 + 1")
    tab = page.page
    page.cell(1).locator(".cm-content").click()
    tab.keyboard.press("Escape")
    shown_in_toolbar(page, 1, "run")
    keys(page, "r")
    wait_for(page, "growth", "Ready")
    shown_in_toolbar(page, 1, "run", "inspect", "insert", "export")
    page.cell(2).locator(".cm-content").click()
    page.cell(2).locator(".jp-cell-toolbar [data-jp-item-name='delete-cell']").wait_for(timeout=PATIENCE)
    shown_in_toolbar(page, 2)

    tab.keyboard.press("Control+Shift+C")
    tab.locator(".lm-CommandPalette-input").type("autocode inspect")
    # All commands are listed before it has searched, and Enter takes the first.
    tab.locator(".lm-CommandPalette-item.lm-mod-active", has_text="Inspect: growth").wait_for(timeout=PATIENCE)
    tab.keyboard.press("Enter")
    inspector = tab.locator(".jp-AutocodeInspector")
    inspector.get_by_text("in part: 6 tests").first.wait_for(timeout=30_000)
    picture(page, "inspector")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    inspector.get_by_role("button", name="Copy").first.click()
    inspector.get_by_role("button", name="Copied").wait_for(timeout=PATIENCE)
    assert "def run(" in tab.evaluate("navigator.clipboard.readText()")
    inspector.get_by_role("button", name="Insert").first.click()
    page.cell(3).locator(".cm-content", has_text="def growth(").wait_for(timeout=PATIENCE)
    page.cell(3).click()
    keys(page, "p")
    in_focus(page, "it.matches('.jp-AutocodePanel-name') && it.textContent === 'growth'")
    names = []
    for _ in range(4):
        tab.keyboard.press("Tab")
        names.append(tab.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert names == [
        "Inspect growth",
        "Insert the code of growth below its cell",
        "Export growth as a script",
        "Show the cell of growth",
    ]
    assert barriers(page, ".jp-AutocodePanel", ".jp-AutocodeFollowed", ".jp-AutocodeInspector") == []
    tab.set_viewport_size({"width": 640, "height": 1200})
    for name in ("Result and code", "Evidence", "Sent", "History"):
        label = inspector.get_by_role("tab", name=name)
        assert label.evaluate("tab => tab.scrollWidth <= tab.clientWidth + 1"), f"{name} is cut"  # pixels are integers
    assert inspector.evaluate("node => node.scrollWidth <= node.clientWidth")
    picture(page, "inspector_narrow")


WALKED = """%%autocode walked --cache auto
-o "monthly: DataFrame" -o "best_month: str" -i "min_orders: int = 5"
Monthly revenue growth from @sales, one row a month; skip months with fewer than 5 orders."""


def test_from_the_first_cell_to_its_versions_and_its_code_and_back_by_the_keyboard_alone(notebook: Open) -> None:
    page = notebook("1 + 1")
    keyboard = page.page.keyboard
    panel(page)
    in_focus(page, "it.labels?.[0].textContent === 'Model'")
    press_tab_until(page, "it.textContent === 'Insert a first cell'")
    keyboard.press("Enter")
    in_focus(page, "it.matches('.jp-mod-active .cm-content')")
    keyboard.press("Control+a")
    keyboard.type(WALKED)
    keyboard.press("Escape")
    keyboard.press("Control+Enter")
    wait_for(page, "walked", "Ready")
    in_focus(page, "it.matches('.jp-Cell.jp-mod-active')")
    press_tab_until(page, "it.ariaLabel === 'Inspect: walked'")
    keyboard.press("Enter")
    inspector = page.page.locator(".jp-AutocodeInspector")
    in_focus(page, "it.matches('.jp-AutocodeInspector')")
    inspector.get_by_role("tab", name="History").wait_for(timeout=PATIENCE)
    keyboard.press("Tab")
    keyboard.press("ArrowLeft")  # from the first tab to the last
    keyboard.press("Enter")
    inspector.get_by_text("ready, not fully checked · current").wait_for(timeout=PATIENCE)
    buttons = inspector.get_by_role("button", name="Restore").bounding_box()["y"]
    row = inspector.get_by_role("row").last.bounding_box()
    assert buttons - row["y"] < 150, "the last column of the table is not as narrow as a letter"
    press_tab_until(page, "it.innerText === 'Pin'")
    keyboard.press("Enter")
    inspector.get_by_text("walked is pinned to version 1").wait_for(timeout=PATIENCE)
    assert barriers(page, ".jp-AutocodeInspector") == []
    keyboard.press("Escape")
    in_focus(page, "it.matches('.jp-Cell.jp-mod-active')")
    keys(page, "i")
    in_focus(page, "it.matches('.jp-AutocodeInspector')")
    inspector.get_by_role("tab", name="Result and code", selected=True).wait_for(timeout=PATIENCE)
    press_tab_until(page, "it.ariaLabel === 'Insert as a cell'")
    keyboard.press("Enter")
    in_focus(page, "it.matches('.jp-mod-active .cm-content') && it.innerText.includes('def walked(')")


@pytest.mark.own_kernel
def test_a_reload_a_second_page_a_new_name_and_a_restart(notebook: Open, lab: Lab) -> None:
    page = notebook(scripts.CELL, "growth")
    page.run(1)
    wait_for(page, "growth", "Ready")
    page.run(2)
    shown_as_widget(page, 2)
    page.save()
    page.page.reload()
    page.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=PATIENCE)
    wait_for(page, "growth", "Ready")
    shown_as_widget(page, 2)

    second = NotebookPage(page.page.context.new_page(), lab, page.name)
    wait_for(second, "growth", "Ready")
    shown_as_widget(second, 2)

    page.page.bring_to_front()
    page.page.get_by_text("File", exact=True).first.click()
    page.page.get_by_text(re.compile("^Rename Notebook")).first.click()
    dialog = page.page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("renamed.ipynb")
    dialog.get_by_role("button", name="Rename").click()
    panel(page).get_by_text("renamed.ipynb").wait_for(timeout=PATIENCE)
    wait_for(page, "growth", "Ready")

    page.cell(2).locator(".jp-InputPrompt").click()
    page.page.keyboard.press("0")
    page.page.keyboard.press("0")
    page.page.get_by_role("button", name="Confirm Kernel Restart").click()
    wait_for(page, "growth", "Not run in this kernel")
    shown_as_html(page, 2)
    picture(page, "restarted")
    wait_for(second, "growth", "Not run in this kernel")
    shown_as_html(second, 2)


def test_the_settings_page_reaches_the_kernel_at_once(notebook: Open, lab: Lab) -> None:
    lab.use_theme("JupyterLab Dark")
    try:
        page = notebook("%autocode setup settings", "%autocode setup settings")
    finally:
        lab.use_theme("JupyterLab Light")
    tab = page.page
    page.run(1)
    page.wait_for_prompt(1)
    expect(page.output(1)).not_to_contain_text("JupyterLab", use_inner_text=True)
    panel(page).get_by_text("No results yet.").wait_for(timeout=PATIENCE)
    picture(page, "dark")
    tab.keyboard.press("Control+Shift+D")  # a tab for each document
    tab.get_by_text("Settings", exact=True).first.click()
    tab.get_by_text("Settings Editor", exact=True).first.click()
    tab.locator(".jp-PluginList").get_by_text("Autocode", exact=True).click()
    tab.locator("[name$=plugin_max_cost]").fill("0.75")
    tab.locator("[name$=plugin_share]").select_option(label="Names and types of columns only")
    picture(page, "settings")
    tab.wait_for_timeout(1500)  # the page of settings saves after a pause
    tab.locator(".lm-TabBar-tabLabel", has_text=page.name).click()
    page.run(2)
    page.output(2).get_by_text("JupyterLab").first.wait_for(timeout=PATIENCE)
    rows = page.output(2).locator("tr").filter(has_text="JupyterLab").all_inner_texts()
    assert [row.split()[:3] for row in rows] == [["max_cost", "0.75", "JupyterLab"], ["share", "schema", "JupyterLab"]]

    tab.locator(".lm-TabBar-tabLabel", has_text=re.compile("^Settings$")).click()
    tab.locator("[name$=plugin_max_cost]").fill("-1")
    tab.get_by_text(re.compile("Autocode: .*max_cost.*")).first.wait_for(timeout=PATIENCE)
    picture(page, "refused")
    tab.locator("[name$=plugin_max_cost]").fill("")
    tab.locator("[name$=plugin_share]").select_option(label="Default")
    tab.wait_for_timeout(1500)
    tab.locator(".lm-TabBar-tabLabel", has_text=page.name).click()
    page.run(2)
    page.output(2).locator("tr", has_text="JupyterLab").first.wait_for(state="detached", timeout=PATIENCE)


def test_notebook_7_has_the_panel_and_the_commands(notebook: Open) -> None:
    page = notebook(scripts.CELL, view="notebooks")
    page.run(1)
    wait_for(page, "growth", "Ready")
    press(page, "growth", "Inspect")
    page.page.locator(".jp-AutocodeInspector").get_by_text("in part: 6 tests").first.wait_for(timeout=30_000)
    picture(page, "notebook_7")
