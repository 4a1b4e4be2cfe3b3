"""Draws the pictures of the README: a real notebook in a real JupyterLab, photographed. The model is played.

    python tools/readme_pictures.py [FOLDER]

Needs chromium on the PATH and Playwright for Python.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import sync_playwright

from tests.browser import plays
from tests.browser.lab import Lab, NotebookPage
from tests.scripted_model import Answer, ScriptedModel, prompt_of

PLAIN = """
.jp-Cell.jp-mod-selected, .jp-Cell.jp-mod-active { border-color: transparent !important; box-shadow: none !important }
.jp-Collapser, .jp-Toolbar { visibility: hidden !important }
"""
"""Takes away what marks the chosen cell."""

TITLE = ".autocode-card >> text=● Ready"


def main(folder: Path) -> None:
    """Write `card.png` and `evidence.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    with ScriptedModel(_priced) as model, tempfile.TemporaryDirectory() as place:
        root = Path(place) / "notebooks"
        root.mkdir()
        (root / "pyproject.toml").write_text("")
        env = {"AUTOCODE_MODEL": "openai/gpt-4.1", "AUTOCODE_API_BASE": model.url, "AUTOCODE_SANDBOX": "local"}
        with Lab(root, env) as lab, sync_playwright() as playwright:
            lab.write(
                "growth.ipynb",
                [f"%load_ext autocoder_jupyter\n{plays.DATA}", plays.CELL, "%autocode show growth --report"],
            )
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            context = browser.new_context(viewport={"width": 1060, "height": 1000}, device_scale_factor=2)
            page = NotebookPage(context.new_page(), lab, "growth.ipynb")
            page.run(0)
            page.wait_for_prompt(0)
            page.run(1)
            page.page.locator(TITLE).wait_for(timeout=60_000)
            page.run(2)
            page.output(2).locator(".autocode-result").wait_for(timeout=60_000)
            page.page.keyboard.press("Escape")
            page.page.add_style_tag(content=PLAIN)
            page.cell(0).locator(".jp-InputPrompt").click()
            page.cell(1).screenshot(path=folder / "card.png")
            page.cell(2).screenshot(path=folder / "evidence.png")
            browser.close()


def _priced(request: dict[str, object]) -> Answer:
    """The answers, with a pause that lets the stages be seen as they are with a model."""
    return Answer(plays.answer(request), delay=1.0 if "plan" in prompt_of(request) else 0.5)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "images")
