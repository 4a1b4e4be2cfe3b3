"""Reading any text that a program or a model wrote takes time in proportion to its length.

No speed is measured. The texts are so long that quadratic work would take far more processor time than the limit, which
is several times that of the longest reading; an alarm ends it, and the test fails.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from autocoder_jupyter.data import dialects
from autocoder_jupyter.data.constraints import parse_sentence
from autocoder_jupyter.data.text_formats import text_formats
from autocoder_jupyter.engine.packages import missing_packages
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import parse_input, split_words
from autocoder_jupyter.models.answers import NotCode, extract_code, fenced_blocks, objects_in
from autocoder_jupyter.models.questions import join
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.sandbox.environments.uv import package_error
from autocoder_jupyter.sandbox.host.messages import boundary_hint, clean, stable
from autocoder_jupyter.untrusted.visible import visible, visible_block
from autocoder_jupyter.view.markup import escape
from tests.deadline import at_most

CHARACTERS = 25_000
FAMILIES = [
    *("/a", "a/", "/", "/a/site-packages", "/lib/python3.1", "(", "[", "{", "{}", "[],", '{"a":', "<", " ", "\t", "\n"),
    *("1", "1,", ", ", "a@a.", '"', "'", "\\", "`", "```\n", "```python\n", "~~~\n", "\x1b[", "\x1b]", "\x1bP", "\x9b"),
    *("\u202e", "\u200d", " in 1", "0x1", "Error", "Error: ", " and ", "the ", "is at least ", "model ", "model="),
    *("No module named 'a' ", "platform ", "import a\n", "\nimport a\n\n", "def f(): pass\n\n", "# a\n\n(\n\n"),
    *("a b ", "https://a ", "é", "x" * 99 + " "),
]


def code_in(text: str) -> None:
    with contextlib.suppress(NotCode):
        extract_code(text)


def declared_in(text: str) -> None:
    for declaration in (text, f"a{text}b", f"a: {text}b", f"a: date = {text}b", f"a: timedelta = P{text}b"):
        with contextlib.suppress(InvalidRequest):
            parse_input(declaration)


def words_of(text: str) -> None:
    with contextlib.suppress(InvalidRequest):
        split_words(text)


READERS: dict[str, Callable[[str], object]] = {
    "a program's words": clean,
    "a program's words that stay the same": lambda text: stable(text, "/tmp/autocode-1"),
    "shown in one line": visible,
    "shown as a block": visible_block,
    "in HTML": escape,
    "a hint at the boundary": lambda text: boundary_hint("PermissionError", text, text),
    "packages that are missing": lambda text: missing_packages([text], ()),
    "what uv says": lambda text: package_error(text, ("numpy", "pandas")),
    "fenced blocks": fenced_blocks,
    "objects": objects_in,
    "code": code_in,
    "a continuation": lambda text: join(text, text),
    "a field of a file": lambda text: [
        pattern.fullmatch(f"1{text}") for pattern in (dialects._NUMBER, dialects._DATE, dialects._DECIMAL_COMMA)
    ],
    "the forms of a column": lambda text: text_formats([text] * 3),
    "what is masked": lambda text: Masker().mask(text),
    "a declaration of an input": declared_in,
    "words of a line": words_of,
    "a constraint": lambda text: list(parse_sentence(text)),
}


@pytest.mark.parametrize("reader", READERS)
def test_text_of_any_kind_is_read_in_time_that_grows_with_its_length(reader: str) -> None:
    for piece in FAMILIES:
        text = (piece * CHARACTERS)[:CHARACTERS]
        for end in ("", "!"):
            with at_most(1):
                READERS[reader](text + end)
