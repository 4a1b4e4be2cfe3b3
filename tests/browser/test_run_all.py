"""*Run All* in a notebook whose kernel has not loaded the extension before."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.browser import scripts
from tests.browser.conftest import Open, Reply
from tests.browser.lab import Lab, expect
from tests.browser.scripts import holding
from tests.browser.test_lab import wait_for_title
from tests.browser.test_panel import shown_as_widget
from tests.scripted_model import prompt_of

pytestmark = [pytest.mark.browser, pytest.mark.local_sandbox, pytest.mark.usefixtures("extension")]

RUN_ALL = """() => void window.jupyterapp.commands.execute("notebook:run-all-cells")"""


@pytest.fixture
def only_schema(lab: Lab) -> Iterator[None]:
    """The settings of a user with `--share schema`."""
    lab.use_settings("autocoder-jupyter/plugin", {"share": "schema"})
    yield
    lab.use_settings("autocoder-jupyter/plugin", {})


@pytest.mark.own_page
@pytest.mark.own_kernel
@pytest.mark.usefixtures("only_schema")
def test_settings_hold_from_the_first_cell_and_results_appear_where_they_are_named(
    notebook: Open, reply: Reply
) -> None:
    release, script = holding("code")
    model = reply(script)
    before = len(model.requests)
    page = notebook(scripts.CELL, "growth", "growth.run(sales)[1]", "'the last cell'", run_data=False)
    page.page.evaluate(RUN_ALL)
    page.output(2).get_by_text("It is shown here when it is ready.").wait_for(timeout=60_000)
    wait_for_title(page, 1, "Writing code and tests")
    release.set()
    wait_for_title(page, 1, "Ready")
    shown_as_widget(page, 2)
    page.wait_for_prompt(4)
    expect(page.output(3).get_by_text(re.compile("^'2024-"))).to_be_visible()
    prompts = [prompt_of(request) for request in model.requests[before:]]
    assert "values and statistics are withheld" in prompts[0]
    assert not any("North" in prompt for prompt in prompts)
