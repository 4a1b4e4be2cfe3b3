from __future__ import annotations

from typing import Any, get_args

from autocoder_jupyter.data.checks import CheckKind, ColumnCheck, condition_text
from tests.cases import each


@each("kind", get_args(CheckKind))
def test_each_condition_has_words_of_bounded_length_without_hidden_characters(kind: Any) -> None:
    check = ColumnCheck(target="t", column="c", kind=kind, value="\u202e" * 9, pattern="x" * 999, values=("y",) * 999)
    text = condition_text(check)
    assert text.startswith("column 'c' of t ") and len(text) <= 201 and "\u202e" not in text
