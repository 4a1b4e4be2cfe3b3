"""The pages of the documentation, their examples, and which examples no test executes.

A test executes `examples("guide.md")` in their order; `tests/test_pages.py` checks that no page is forgotten.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = {path.name: path.read_text("utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

NOT_EXECUTED = {
    ("README.md", "make demo"): "they set up an environment; CI runs both",
    ("models.md", "python -m autocoder_jupyter.evaluate"): "asks Ollama; tests/evaluate runs the command",
    ("claude-backend.md", "pip install"): "installs from the package index",
    ("embedded-sandbox.md", "# KubeSpawner"): "is the configuration of a hub",
}
"""The beginning of an example, and why it cannot be executed."""


def programs(page: str) -> list[tuple[str, str]]:
    """Language and text of each block that a reader can run: cells, Python and commands, in their order."""
    found = FENCED.findall(PAGES[page])
    return [(language, text) for language, text in found if language in ("python", "bash") or text.startswith("%")]


def examples(page: str) -> list[tuple[str, str]]:
    """Those that a test executes."""
    left_out = tuple(start for of, start in NOT_EXECUTED if of == page)
    return [(language, text) for language, text in programs(page) if not text.startswith(left_out)]
