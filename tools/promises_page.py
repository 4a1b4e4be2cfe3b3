"""The page of the site with each promise of SECURITY.md and PRIVACY.md, and the tests that hold it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

_PROMISE = re.compile(r"^(- |\| )\*\*([A-Z]\d+)\*\* (.+(?:\n  .+)*)", re.MULTILINE)
"""An item of a list, or a row of a table."""

_ABOUT = """\
# Promises and their tests

For those who check what is promised. Which
tests hold a promise of [Security](SECURITY.md) or [Privacy](PRIVACY.md)? The paths are below `tests/`."""


def promises(page: str) -> Iterator[tuple[str, str]]:
    """The number and the words of each promise, in the order of the page."""
    for _, number, words in _PROMISE.findall(page):
        yield number, " ".join(words.removesuffix(" |").replace(" | ", " · ").split())


def named_tests(root: Path) -> dict[str, dict[str, list[str]]]:
    """The tests of each promise (`folder/test_file.py::test_name`), by page and number."""
    return tomllib.loads((root / "tests" / "promises.toml").read_text("utf-8"))


def promises_page(root: Path) -> str:
    """The text of the page."""
    parts = [_ABOUT]
    for name, tests in named_tests(root).items():
        parts.append(f"## {name.removesuffix('.md').capitalize()}")
        for number, words in promises((root / name).read_text("utf-8")):
            named = "\n".join(f"- `{test}`" for test in tests[number])
            parts.append(f"({number.lower()})=\n**{number}** {words}\n\n{named}")
    return "\n\n".join(parts) + "\n"


def with_links(page: str) -> str:
    """The page with a link from the number of each promise to its tests."""
    return _PROMISE.sub(lambda found: f"{found[1]}[**{found[2]}**](#{found[2].lower()}) {found[3]}", page)
