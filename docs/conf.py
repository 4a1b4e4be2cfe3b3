"""The documentation site: MyST with Sphinx. `make docs` builds it; every warning, such as a dead link, is an error."""

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
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the notebooks are already executed
nb_mime_priority_overrides = [("html", "application/vnd.autocoder-jupyter.widget+json", None)]
suppress_warnings = [
    "mystnb.unknown_mime_type",  # outputs have our own mime types in addition to text/html
    "misc.highlighting_failure",  # an %%autocode cell is not Python
]

default_role = "code"  # docstrings write code as `code`
autodoc_typehints = "signature"
autodoc_typehints_format = "short"  # `Exchange`, without the module that defines it
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False

smartquotes = False  # options and code in tables are copied
html_theme = "sphinx_book_theme"
html_title = "autocoder-jupyter"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["narrow.css"]
html_theme_options = {
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "navbar_persistent": [],  # the search is in the sidebar
}
highlight_language = "text"  # an %%autocode cell; blocks of Python are marked


def setup(app: Any) -> None:
    """Write the pages whose source is elsewhere in the repository, and those that are generated from records."""
    from tools import docs_sources

    shutil.rmtree(GENERATED, ignore_errors=True)
    docs_sources.write(ROOT, GENERATED)
    app.connect("source-read", _with_links_in_the_site)


def _with_links_in_the_site(_: Any, __: str, source: list[str]) -> None:
    """Change links from `docs/` to pages of the repository's root, so that they work in the site."""
    source[0] = source[0].replace("](../README.md", "](index.md")
    source[0] = re.sub(r"\]\(\.\./(SECURITY|PRIVACY|CHANGELOG|CONTRIBUTING)\.md", r"](generated/\1.md", source[0])
