"""The documentation site: MyST by Sphinx. `make docs` builds it; every warning, a dead link among them, is an error."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
GENERATED = HERE / "generated"
sys.path.insert(0, str(ROOT))

from autocoder_jupyter.version import VERSION  # noqa: E402

project = "autocoder-jupyter"
author = "The autocoder-jupyter developers"
copyright = author
release = VERSION

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks come here executed
nb_mime_priority_overrides = [("html", "application/vnd.autocoder-jupyter.widget+json", None)]
suppress_warnings = [
    "mystnb.unknown_mime_type",  # our own mime types stand beside text/html
    "misc.highlighting_failure",  # a cell of ours is no Python
]

default_role = "code"  # docstrings write code as `code`
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False

html_theme = "sphinx_book_theme"
html_title = "autocoder-jupyter"
html_show_sphinx = False
html_theme_options = {
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "navbar_persistent": [],  # the search is in the sidebar
}
highlight_language = "text"  # a cell of ours; blocks of Python say so


def setup(app: Any) -> None:
    """Bring together what stands elsewhere in the repository, and what is made from records."""
    from tools import docs_sources

    shutil.rmtree(GENERATED, ignore_errors=True)
    docs_sources.write(ROOT, GENERATED)
    app.connect("source-read", _with_links_in_the_site)


def _with_links_in_the_site(_: Any, __: str, source: list[str]) -> None:
    """A link from `docs/` to a page of the repository's root goes to that page's place in the site."""
    source[0] = re.sub(r"\]\(\.\./(SECURITY|PRIVACY|CHANGELOG|CONTRIBUTING)\.md", r"](generated/\1.md", source[0])
