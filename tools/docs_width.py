"""Checks that no page of the built site is wider than a narrow screen: `python tools/docs_width.py docs/_build/html`.

Without Chromium nothing is checked; in CI (`CI=true`) that is an error.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

WIDTH = 400
"""Pixels."""

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def too_wide(site: Path, program: str) -> list[str]:
    """The pages that can be scrolled sideways, each with its width."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 800}, offline=True)
        for path in sorted(site.rglob("*.html")):
            page.goto(path.absolute().as_uri(), wait_until="load")
            width = page.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
            if width > WIDTH:
                found.append(f"{path.relative_to(site)}: {width} pixels wide on a screen of {WIDTH}")
        browser.close()
    return found


def main(site: Path) -> int:
    """Print the pages that are too wide; 1 if there are any."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        print("There is no Chromium here: the width of the pages is not checked.")
        return int(os.environ.get("CI") == "true")
    found = too_wide(site, program)
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
