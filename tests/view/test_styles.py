"""The styles of cards: one CSS file, whose rules become style attributes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import autocoder_jupyter
from autocoder_jupyter.view.markup import element, escape, style

PACKAGE = Path(autocoder_jupyter.__file__).parent
CSS = (PACKAGE / "view" / "styles.css").read_text("utf-8")
CLASSES = re.findall(r"^\.([\w-]+) \{", CSS, re.MULTILINE)
COMPUTED = {"cell", "cell-last", "cell-left", "cell-right", "removed-words", "added-words", "kept-lines", "hanging"}


def test_a_look_becomes_the_declarations_of_its_classes() -> None:
    assert element("div", escape("x"), look="fixed muted") == '<div style="flex:none;color:var(--a-muted,#777)">x</div>'
    assert element("div", look="fixed", style="width:3%") == '<div style="flex:none;width:3%"></div>'
    with pytest.raises(KeyError):
        style("no-such-class")


def test_every_rule_is_for_one_class_and_stands_once() -> None:
    assert sorted(set(CLASSES)) == sorted(CLASSES)
    assert re.findall(r"[^\s{}/*][^{}/*]*\{", re.sub(r"/\*.*?\*/", "", CSS, flags=re.DOTALL)) == [
        f".{name} {{" for name in CLASSES
    ]
    assert all(style(name) for name in CLASSES)


def test_every_look_of_the_package_has_a_rule_and_every_rule_is_used() -> None:
    used: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text("utf-8")
        if "look" not in source and "role" not in source and "Tone" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.keyword) and node.arg == "look":
                for text in texts(node.value):
                    assert set(text.split()) <= set(CLASSES), (path, text)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                used |= set(node.value.split())
    tones = {f"edge-{tone}" for tone in ("good", "bad", "warn", "busy", "quiet")}
    assert set(CLASSES) - used - tones - COMPUTED == set()


def texts(value: ast.expr) -> list[str]:
    """The complete texts that a look can have; computed parts are left out."""
    if isinstance(value, ast.IfExp):
        return texts(value.body) + texts(value.orelse)
    return [value.value] if isinstance(value, ast.Constant) and isinstance(value.value, str) else []


def test_each_variable_of_jupyterlab_has_a_fallback() -> None:
    assert re.findall(r"var\(--jp-[\w-]+,", CSS) and not re.findall(r"var\(--[\w-]+\)", CSS)


def luminance(colour: str) -> float:
    """Of a colour as `#183`, by the rule of WCAG."""
    parts = [int(digit, 16) / 15 for digit in colour.removeprefix("#")]
    red, green, blue = (part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_saved_card_whose_named_colours_were_removed_is_read_on_light_and_dark_pages() -> None:
    colours = set(re.findall(r"var\(--a-(?:muted|good|bad|warn|busy),(#\w{3})\)", CSS))
    assert len(colours) == 5
    for colour in colours:
        own = luminance(colour) + 0.05
        assert min(1.05 / own, own / (luminance("#111") + 0.05)) >= 4, colour
