"""HTML is a type that mypy distinguishes from `str`, and only one module creates it."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autocoder_jupyter
from autocoder_jupyter.view.markup import EMPTY, element, escape, html_output, join

PACKAGE = Path(autocoder_jupyter.__file__).parent
HOSTILE = """<script>alert("1")</script> & 'x'\x1b[2J\u202e"""

TYPED = """
from autocoder_jupyter.view import markup
from autocoder_jupyter.view.markup import Html, element, escape, html_output, html_widget, join

def unescaped(text: str) -> None:
    element("div", text)                        # refused
    element("div", f"<b>{escape(text)}</b>")    # refused
    element(text)                               # refused
    join(escape("a"), text)                     # refused
    html_output(text, text)                     # refused
    html_output(escape(text) + "<br>", text)    # refused
    html_widget(text)                           # refused
    html_widget().value = text                  # refused
    markup.row("label", text)                   # refused
    markup.items([text])                        # refused

def returned(text: str) -> Html:
    return f"<b>{text}</b>"                     # refused

def escaped(text: str) -> Html:
    shown = element("div", escape(text), join(escape(text), between=text), title=text)
    html_widget(markup.row(text, shown)).value = shown
    html_output(shown, text)
    return shown
"""


@pytest.mark.slow
def test_a_type_checker_refuses_text_that_was_not_escaped(tmp_path: Path) -> None:
    source = tmp_path / "typed.py"
    source.write_text(TYPED)
    options = ("--config-file=", "--strict", "--follow-imports=skip", "--cache-dir=/dev/null", "--no-error-summary")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(source), str(PACKAGE / "view/markup.py")],
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,
    ).stdout
    refused = {int(number) for number in re.findall(r"typed\.py:(\d+): error: .*(?:Html|Literal)", checked)}
    assert refused == {number for number, line in enumerate(TYPED.splitlines(), 1) if line.endswith("# refused")}


def test_only_one_module_makes_html_of_text() -> None:
    assert places("Html", lambda node: isinstance(node, ast.Call) and named(node.func) == "Html") == {"view/markup.py"}
    assert not places(
        "Html",
        lambda node: isinstance(node, ast.Call) and named(node.func) == "cast" and "Html" in ast.unparse(node.args[0]),
    )


def test_html_reaches_a_page_only_through_functions_that_take_html() -> None:
    assert places("HTML", lambda node: isinstance(node, ast.Attribute) and node.attr == "HTML") == {"view/markup.py"}
    # IPython's formatters are found by the same word; the functions that they call give `Html`.
    assert places("html", lambda node: isinstance(node, ast.Constant) and node.value == "text/html") == {
        "view/markup.py",
        "magics/__init__.py",
    }


def places(word: str, wanted: Callable[[ast.AST], bool]) -> set[str]:
    """The modules with such a node. Only modules whose source has `word` are parsed."""
    return {path for path, source in sources().items() if word in source and any(map(wanted, ast.walk(tree(source))))}


@functools.cache
def sources() -> dict[str, str]:
    return {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}


@functools.cache
def tree(source: str) -> ast.Module:
    return ast.parse(source)


def named(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def test_text_stays_text_between_tags_in_attributes_and_between_parts(read: Callable[[str], Any]) -> None:
    page = read(join(element("div", escape(HOSTILE), title=HOSTILE), element("pre", escape("b")), between=HOSTILE))
    assert page.tags == {"div", "pre"} and page.attributes == {"title"}
    assert page.text.count('<script>alert("1")</script>') == 2


def test_an_element_is_written_as_it_is_said() -> None:
    assert element("div", escape("a"), escape("<")) == "<div>a&lt;</div>"
    assert element("img", alt="a") == '<img alt="a">'
    assert element("td", class_="a", aria_label="b", data_autocode_block="") == (
        '<td class="a" aria-label="b" data-autocode-block=""></td>'
    )
    assert element("details", open=True) == "<details open></details>"
    assert element("details", open=False, title=None) == "<details></details>"


def test_quotes_may_stay_as_they_are_between_tags() -> None:
    assert escape("""<'">""", quotes=False) == """&lt;'"&gt;"""


def test_nothing_joined_is_nothing() -> None:
    assert join() == EMPTY == ""
    assert join(EMPTY, EMPTY) == ""


def test_an_output_has_html_and_words() -> None:
    assert html_output(escape("<"), "<") == {"text/html": "&lt;", "text/plain": "<"}
