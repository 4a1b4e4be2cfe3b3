"""The page *Python API* of the site: what users need, and nothing of the inside."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PUBLIC = re.compile(r"(autocoder_jupyter(\.types|\.errors)?|autocode_functions)\.[A-Za-z]\w*")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page as text, built with the settings of the site."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    text = (DOCS / "api.md").read_text("utf-8")
    (source / "index.md").write_text(re.sub(r"\[(\w+)\]\(\w+\.md\)", r"\1", text), "utf-8")
    settings = {
        name: value
        for name, value in runpy.run_path(str(DOCS / "conf.py")).items()
        if name.startswith(("autodoc_", "napoleon_")) or name == "default_role"
    }
    settings["extensions"] = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
    (source / "conf.py").write_text("".join(f"{name} = {value!r}\n" for name, value in settings.items()), "utf-8")
    # In a process of its own, because Sphinx changes the defaults in the signatures of what it describes.
    subprocess.run([sys.executable, "-m", "sphinx", "-Q", "-b", "text", source, built], check=True)
    return (built / "index.txt").read_text("utf-8")


@pytest.mark.slow
def test_the_page_names_what_is_public_and_nothing_else(page: str) -> None:
    documented = re.findall(r"^(?:class|exception) (\S+?)\(|^(autoco[\w.]+)\(", page, re.MULTILINE)
    names = [one or other for one, other in documented]
    assert len(names) > 40 and "autocoder_jupyter.AutoCoderAgent" in names
    assert [name for name in names if not PUBLIC.fullmatch(name)] == []


@pytest.mark.slow
@pytest.mark.parametrize("inside", ["model_config", "model_fields", "model_post_init", "_internal", "pydantic."])
def test_the_page_has_nothing_of_pydantic(page: str, inside: str) -> None:
    assert inside not in page
    assert "generate" in page and "journal_root" in page
