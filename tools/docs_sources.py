"""Pages of the site whose source is outside of `docs/`: records, files of the repository's root, executed notebooks."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tools import reference
from tools.packages_page import packages_page
from tools.promises_page import promises_page, with_links

_TREE = "```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
"""The other pages of a folder, for the site's navigation."""

_FROM_ROOT = ("SECURITY.md", "PRIVACY.md", "CHANGELOG.md", "CONTRIBUTING.md")


def write(root: Path, target: Path) -> None:
    """Write all pages into `target`, a new folder in `docs/` that is not committed.

    Raises:
        FileNotFoundError: the tutorial was not executed before; `make docs` executes it.
    """
    target.mkdir()
    for name, text in reference.pages().items():
        (target / name).write_text(text, encoding="utf-8")
    for name in _FROM_ROOT:
        text = _links_from_generated((root / name).read_text(encoding="utf-8"))
        (target / name).write_text(with_links(text), encoding="utf-8")
    (target / "promises.md").write_text(promises_page(root), encoding="utf-8")
    readme = (root / "README.md").read_text(encoding="utf-8")
    (target / "first_page.txt").write_text(_first_page(readme), encoding="utf-8")
    (target / "packages.md").write_text(packages_page(root), encoding="utf-8")
    tutorial = root / "docs" / "_build" / "tutorial.ipynb"
    if not tutorial.exists():
        raise FileNotFoundError(f"{tutorial} is not there: run `make docs`, which executes the tutorial first")
    shutil.copy(tutorial, target)
    examples = target / "examples"
    examples.mkdir()
    for source in sorted((root / "notebooks" / "examples").glob("*.ipynb")):
        shutil.copy(source, examples)
    index = (
        (root / "notebooks" / "examples" / "README.md").read_text(encoding="utf-8").replace("](../../docs/", "](../../")
    )
    (examples / "README.md").write_text(f"{index}\n{_TREE}", encoding="utf-8")


_FILM = re.compile(r'<picture>.*?alt="([^"]*)".*?</picture>', re.DOTALL)
_ON_SITE = {
    "notebooks/quickstart.ipynb": "generated/tutorial.ipynb",
    "notebooks/examples/README.md": "generated/examples/README.md",
    **{name: f"generated/{name}" for name in _FROM_ROOT},
}


def _first_page(readme: str) -> str:
    """The README as the first page of the site, which includes it: with the site's links, and its film by theme."""
    film = r"![\1](images/run-light.webp){.only-light}\n![\1](images/run-dark.webp){.only-dark}"
    text = _FILM.sub(film, readme)
    for place, page in _ON_SITE.items():
        text = text.replace(f"]({place})", f"]({page})")
    return text.replace("](docs/)", "](index.md)").replace("](docs/", "](")


def _links_from_generated(text: str) -> str:
    """Change the links of a file of the root to `docs/…`, so that they work in `docs/generated/`."""
    return re.sub(r"\]\(docs/", "](../", text)
