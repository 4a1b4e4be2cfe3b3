"""Cards and strips when their page, kernel or connection is lost during a job."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import scripts
from tests.browser.conftest import ARTIFACTS, Open, Reply
from tests.browser.lab import Lab, NotebookPage, expect
from tests.browser.scripts import holding
from tests.browser.test_inspector import end_kernel
from tests.browser.test_lab import wait_for_title, wait_until_gone
from tests.browser.test_panel import shown_as_widget

if TYPE_CHECKING:
    from playwright.sync_api import Page, WebSocketRoute

pytestmark = [pytest.mark.browser, pytest.mark.local_sandbox, pytest.mark.usefixtures("extension")]

PATIENCE = 60_000

CONNECTION_IS_BROKEN = """() =>
    window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.connectionStatus !== "connected"
"""


def in_the_middle(notebook: Open, reply: Reply, *cells: str) -> tuple[NotebookPage, threading.Event]:
    """A notebook whose job writes code until the event is set."""
    release, script = holding("code")
    reply(script)
    page = notebook(scripts.CELL, *cells)
    page.run(1)
    wait_for_title(page, 1, "Writing code and tests")
    return page, release


def strip(page: NotebookPage) -> Any:
    return page.output(1).get_by_role("button", name="Cancel: growth")


def recognised(page: NotebookPage) -> None:
    """Wait until the cell is shown as an `%%autocode` cell."""
    page.cell(1).locator(".autocode-prose").first.wait_for(timeout=PATIENCE)


def says_that_it_was_cut_off(page: NotebookPage, number: int = 1) -> None:
    output = page.output(number)
    note = output.get_by_role("status").get_by_text(re.compile("^Interrupted: the kernel no longer has this run."))
    note.wait_for(timeout=PATIENCE)  # the page asks for the state of kernels only every so often
    expect(output.locator(".jupyter-widgets")).to_have_count(0)
    expect(output).not_to_contain_text(re.compile("Writing|is running"), use_inner_text=True)
    expect(output).to_contain_text(re.compile("● Interrupted|growth was interrupted"), use_inner_text=True)
    expect(output).not_to_contain_text("model not found", use_inner_text=True)


def result_to_come(page: NotebookPage, number: int) -> Any:
    return page.output(number).get_by_text(re.compile("it is shown here when it is ready"))


def test_a_page_that_is_loaded_anew_follows_card_and_result_to_the_end(notebook: Open, reply: Reply, lab: Lab) -> None:
    planned, release, script = holding("plan", "code")
    reply(script)
    page = notebook(scripts.CELL, "growth")
    page.run(1)
    wait_for_title(page, 1, "Planning")
    page.run(2)
    result_to_come(page, 2).wait_for(timeout=PATIENCE)
    page.save()
    planned.set()
    wait_for_title(page, 1, "Writing code and tests")
    page.page.reload()
    wait_for_title(page, 1, "Writing code and tests")
    strip(page).wait_for(timeout=PATIENCE)
    result_to_come(page, 2).wait_for(timeout=PATIENCE)
    recognised(page)
    second = NotebookPage(page.page.context.new_page(), lab, page.name)
    wait_for_title(second, 1, "Writing code and tests")
    second.page.close()
    release.set()
    wait_for_title(page, 1, "Ready")
    wait_until_gone(page.output(1).locator(".jupyter-widgets"))
    assert page.output(1).locator(".jp-AutocodeFollowed-note").is_hidden()
    shown_as_widget(page, 2)
    page.save()
    saved = (lab.folder / page.name).read_text()
    assert "6 of 6 tests passed" in saved
    assert "it is shown here when it is ready" not in saved


@pytest.mark.own_kernel
def test_a_restart_in_the_middle_is_said_and_the_cell_can_be_run_again(notebook: Open, reply: Reply) -> None:
    page, release = in_the_middle(notebook, reply)
    page.cell(1).locator(".jp-InputPrompt").click()
    page.page.keyboard.press("0")
    page.page.keyboard.press("0")
    page.page.get_by_role("button", name="Confirm Kernel Restart").click()
    says_that_it_was_cut_off(page)
    release.set()
    page.wait_until_idle()
    page.run(0)
    page.wait_for_prompt(0)
    page.run(1)
    wait_for_title(page, 1, "Ready")
    assert page.output(1).locator(".jp-AutocodeFollowed-note").is_hidden()


@pytest.mark.own_kernel
def test_card_and_result_are_cut_off_with_their_run_and_say_so_when_the_notebook_is_opened(
    notebook: Open, reply: Reply, lab: Lab
) -> None:
    page, release = in_the_middle(notebook, reply, "growth")
    page.run(2)
    result_to_come(page, 2).wait_for(timeout=PATIENCE)
    page.save()
    end_kernel(page, lab)
    says_that_it_was_cut_off(page, 1)
    says_that_it_was_cut_off(page, 2)
    release.set()
    again = NotebookPage(page.page, lab, page.name)  # loads it anew
    says_that_it_was_cut_off(again, 1)
    says_that_it_was_cut_off(again, 2)
    recognised(again)
    ARTIFACTS.mkdir(exist_ok=True)
    again.page.screenshot(path=ARTIFACTS / "cut_off.png")
    path = lab.folder / page.name
    saved = json.loads(path.read_text())
    saved["metadata"].pop("kernelspec")  # as it is where its kernel does not exist: the page asks for one
    without = lab.folder / f"without_{page.name}"
    without.write_text(json.dumps(saved))
    tab = again.page
    tab.goto(f"{lab.address}/doc/workspaces/without/tree/{without.name}")
    tab.get_by_role("dialog").get_by_role("combobox").select_option(label="No Kernel")
    tab.get_by_role("dialog").get_by_role("button", name="Select").click()
    says_that_it_was_cut_off(again, 1)
    tab.screenshot(path=ARTIFACTS / "cut_off_without_kernel.png")


def test_a_connection_that_breaks_and_comes_back_loses_nothing(notebook: Open, reply: Reply) -> None:
    release, script = holding("code")
    reply(script)
    open_sockets: list[WebSocketRoute] = []
    broken = threading.Event()

    def connect(socket: WebSocketRoute) -> None:
        if broken.is_set():
            socket.close(code=1011)
        else:
            socket.connect_to_server()
            open_sockets.append(socket)

    def prepare(tab: Page) -> None:
        tab.route_web_socket(re.compile("/channels"), connect)

    page = notebook(scripts.CELL, prepare=prepare)
    page.run(1)
    wait_for_title(page, 1, "Writing code and tests")
    broken.set()
    for socket in open_sockets:
        socket.close(code=1011)
    page.page.wait_for_function(CONNECTION_IS_BROKEN, timeout=PATIENCE)
    release.set()
    page.page.wait_for_timeout(3000)
    expect(page.output(1)).not_to_contain_text("Interrupted", use_inner_text=True)
    broken.clear()
    wait_for_title(page, 1, "Ready")
    wait_until_gone(page.output(1).locator(".jupyter-widgets"))
    item = page.page.locator(".jp-AutocodeStatus")
    item.get_by_text("1 result").wait_for(timeout=PATIENCE)
