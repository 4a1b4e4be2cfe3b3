"""Make the pictures of README and docs: a real notebook in a real JupyterLab, with a scripted model.

    python tools/readme_pictures.py [FOLDER]

    python tools/readme_pictures.py --frames FOLDER

`working.png`, `evidence.png`, `attempts.png`, `agent.png` and `trace.png` are screenshots; `run-light.webp` and
`run-dark.webp` are films of one run, made of screenshots. `--frames` writes films as numbered pictures instead, one
run for each of three speeds of the model, and the finished card in both themes at three widths. Needs chromium on the
PATH, Playwright for Python, and the lab extension (`make labextension`).
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from PIL import Image
from playwright.sync_api import ViewportSize, sync_playwright

from tests.browser import agent_scripts, scripts
from tests.browser.conftest import PROGRAMS
from tests.browser.lab import Lab, NotebookPage
from tests.first_answers import joined
from tests.scripted_model import Answer, ScriptedModel, prompt_of

PLAIN = """
.jp-Cell.jp-mod-selected, .jp-Cell.jp-mod-active { border-color: transparent !important; box-shadow: none !important }
.jp-Collapser, .jp-Toolbar { visibility: hidden !important }
"""
"""Style that removes the marks of the selected cell."""

TIMEOUT_MS = 90_000
WINDOW: ViewportSize = {"width": 1440, "height": 950}
TALL: ViewportSize = {"width": 1130, "height": 1500}
FILM: ViewportSize = {"width": 960, "height": 640}

READY = re.compile("^● Ready")

FRAME_MS = 350
"""Milliseconds between two screenshots of a film, and for which a frame is shown."""

LAST_FRAME_MS = 5000

SPEEDS = (50, 100, 300)
"""Tokens a second of the model in the films of `--frames`."""

CHANGE_THEME = """async theme => {
    await window.jupyterapp.commands.execute("apputils:change-theme", { theme });
    while (document.body.dataset.jpThemeName !== theme) await new Promise(done => setTimeout(done, 20));
}"""


SECOND = '''\
"""How it is read:

- growth is the revenue of a month over that of the month before, less one
- a month with fewer orders than `min_orders` is left out before growth is computed
"""

import numpy as np
import pandas as pd

OUTPUTS = {"monthly": "DataFrame", "best_month": "str"}


def run(sales, min_orders=5):
    rows = []
    for month, orders in sales.groupby(sales["order_date"].dt.strftime("%Y-%m-01"), sort=True):
        if len(orders) >= min_orders:
            rows.append((pd.Timestamp(month), float(orders["revenue"].sum()), len(orders)))
    monthly = pd.DataFrame(rows, columns=["month", "revenue", "orders"])
    before = monthly["revenue"].shift()
    monthly["growth"] = np.where(before.notna(), monthly["revenue"] / before - 1, np.nan)
    known = monthly.dropna(subset=["growth"])
    if known.empty:
        return monthly, ""
    return monthly, known.sort_values("growth", kind="stable").iloc[-1]["month"].strftime("%Y-%m")
'''
"""A second solution, in the words of somebody who has not seen the first one."""


def stage_of(request: dict[str, Any]) -> str:
    """The stage that asks."""
    return next(stage for marker, stage in scripts.STAGES.items() if marker in prompt_of(request))


def text_of(request: dict[str, Any]) -> str:
    """The text of an answer: the first code is wrong."""
    others = {"code": joined(scripts.PLAN, scripts.fenced(scripts.WRONG)), "second": scripts.fenced(SECOND)}
    return others.get(stage_of(request)) or scripts.answer(request)


class Story:
    """The model's answers: its first code is wrong, and it pauses in the middle of an answer until `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def __call__(self, request: dict[str, Any]) -> Answer:
        """The answer to a request."""
        stage, text = stage_of(request), text_of(request)
        if stage not in ("code", "tests"):
            return Answer(text)
        return Answer(
            text, pace=0.02, hold=self.go_on, hold_after=text.index("def run(") + 400 if stage == "code" else 1500
        )


def told(request: dict[str, Any]) -> Answer:
    """The answer to a request of a film: all text comes at a readable speed."""
    return Answer(text_of(request), pace=0.04)


def frames(folder: Path) -> None:
    """Write one run at each speed as numbered pictures with their milliseconds, and the finished card."""
    for speed in SPEEDS:
        theme = "Dark" if speed == SPEEDS[-1] else "Light"

        def told_at(request: dict[str, Any], pace: float = 2 / speed) -> Answer:
            return Answer(told(request).text, piece=8, pace=pace)  # a piece has two tokens

        place = folder / f"{speed}-tokens-a-second"
        place.mkdir(parents=True, exist_ok=True)
        with ScriptedModel(told_at) as model, opened(scripts.CELL, "openai/gpt-4.1", model.url, theme) as page:
            for number, (milliseconds, picture) in enumerate(filmed(page)):
                (place / f"{number:04d}-{milliseconds:06d}ms.png").write_bytes(picture)
            for name in ("Light", "Dark") if speed == SPEEDS[-1] else ():
                page.page.evaluate(CHANGE_THEME, f"JupyterLab {name}")
                for width in (1400, 600, 400):
                    page.page.set_viewport_size({"width": width, "height": 900})
                    page.cell(1).evaluate("node => node.scrollIntoView()")
                    page.page.screenshot(path=folder / f"ready-{name.lower()}-{width}.png")


def main(folder: Path) -> None:
    """Write all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for theme in ("Light", "Dark"):
        with ScriptedModel(told) as model, opened(scripts.CELL, "openai/gpt-4.1", model.url, theme) as page:
            film(page, folder / f"run-{theme.lower()}.webp")
    story = Story()
    with ScriptedModel(story) as model, opened(scripts.CELL, "openai/gpt-4.1", model.url) as page:
        work(page, story, folder)
        page.page.set_viewport_size(TALL)
        page.page.add_style_tag(content=PLAIN)
        inspect(page, folder, evidence="Evidence", attempts="History")
    release, script = agent_scripts.held_after(agent_scripts.FINDING)
    with ScriptedModel(script) as model, opened(agent_scripts.CELL, "", model.root) as page:
        page.page.set_viewport_size(TALL)
        page.page.add_style_tag(content=PLAIN)
        follow(page, release, folder)
        inspect(page, folder, trace="History")


@contextmanager
def opened(cell: str, model: str, address: str, theme: str = "Light") -> Iterator[NotebookPage]:
    """A page with a notebook: the first cell has run and has made the data, the second is `cell`."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "notebooks"
        root.mkdir()
        (root / "pyproject.toml").write_text("")
        env = {"AUTOCODE_MODEL": model, "AUTOCODE_API_BASE": address, "AUTOCODE_SANDBOX": "local"}
        env["AUTOCODE_SECOND_OPINION"] = "on"
        with Lab(root, env) as lab, sync_playwright() as playwright:
            lab.use_theme(f"JupyterLab {theme}")
            lab.write("growth.ipynb", [f"%load_ext autocoder_jupyter\n{scripts.DATA}", cell, "growth"])
            program = next(filter(None, map(shutil.which, PROGRAMS)), None)
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
            context = browser.new_context(viewport=WINDOW, device_scale_factor=2)
            context.set_default_timeout(TIMEOUT_MS)
            page = NotebookPage(context.new_page(), lab, "growth.ipynb")
            page.run(0)
            page.wait_for_prompt(0)
            yield page
            browser.close()


def film(page: NotebookPage, target: Path) -> None:
    """Run the cell, and write a film of the cell and its card until all has ended."""
    images = [Image.open(io.BytesIO(picture)).convert("RGB") for _, picture in filmed(page)]
    shown = [FRAME_MS] * (len(images) - 1) + [LAST_FRAME_MS]
    images[0].save(target, save_all=True, append_images=images[1:], duration=shown, loop=0, quality=60, method=6)


def filmed(page: NotebookPage) -> Iterator[tuple[int, bytes]]:
    """Run the cell. Gives screenshots until all has ended, each with its milliseconds since the start."""
    page.page.set_viewport_size(FILM)
    page.page.add_style_tag(content=PLAIN)
    began = time.monotonic()
    page.run(1)
    ready = page.card(1).get_by_text(READY)
    cancel = page.output(1).get_by_role("button", name="Cancel")
    has_ended = False
    while not has_ended:
        has_ended = ready.is_visible() and not cancel.is_visible()
        page.cell(1).evaluate("node => node.scrollIntoView()")
        yield int(1000 * (time.monotonic() - began)), page.page.screenshot()
        page.page.wait_for_timeout(FRAME_MS)


def work(page: NotebookPage, story: Story, folder: Path) -> None:
    """Run the cell, and take a screenshot of the window while the model writes."""
    page.page.get_by_role("tab", name="Autocode").click()
    page.run(1)
    window = page.output(1).locator(".autocode-live")
    page.output(1).locator(".autocode-now").get_by_text("Writing code and tests").wait_for(timeout=TIMEOUT_MS)
    page.page.wait_for_timeout(3000)
    page.cell(1).locator(".cm-content").scroll_into_view_if_needed()
    window.scroll_into_view_if_needed()
    page.page.screenshot(path=folder / "working.png")
    story.go_on.set()
    page.card(1).get_by_text(READY).wait_for(timeout=TIMEOUT_MS)
    page.output(1).get_by_role("button", name="Cancel").wait_for(state="hidden", timeout=TIMEOUT_MS)
    page.page.get_by_role("tab", name="Autocode").click()


def follow(page: NotebookPage, release: threading.Event, folder: Path) -> None:
    """Run the cell, and take a screenshot of the card while the agent works."""
    page.run(1)
    page.output(1).get_by_text(agent_scripts.FINDING).wait_for(timeout=TIMEOUT_MS)
    page.cell(0).locator(".jp-InputPrompt").click()
    page.output(1).screenshot(path=folder / "agent.png")
    release.set()
    page.card(1).get_by_text(READY).wait_for(timeout=TIMEOUT_MS)


def inspect(page: NotebookPage, folder: Path, **tabs: str) -> None:
    """Open the inspector, and take a screenshot of each tab under a name."""
    page.run(2)
    output = page.output(2)
    for name, tab in tabs.items():
        shown = output.get_by_role("tab", name=tab)
        while shown.get_attribute("aria-selected", timeout=TIMEOUT_MS) != "true":  # what is found later shows it anew
            shown.click(timeout=TIMEOUT_MS)
            page.page.wait_for_timeout(2000)
        page.cell(0).locator(".jp-InputPrompt").click()
        page.page.mouse.move(0, 0)
        output.screenshot(path=folder / f"{name}.png")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--frames"]:
        frames(Path(sys.argv[2]))
        sys.exit()
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "images")
