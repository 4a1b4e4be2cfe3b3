"""Describe the user's examples for the model, and identify them in the request key."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pandas as pd

from autocoder_jupyter.codec import encode
from autocoder_jupyter.codec.plain import dumps, to_json
from autocoder_jupyter.data.profile import as_frame, profile_frame
from autocoder_jupyter.data.rendering import TableText, TableView, neutral
from autocoder_jupyter.data.sample import sample_rows
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import Example, Share
from autocoder_jupyter.types import Dir, File
from autocoder_jupyter.untrusted.plain_json import shortened

MOST_ROWS = 30
TABLE_TOKENS = 900
"""Maximum number of rows of a table in an example."""

MOST_TOLD = 8
_LONGEST_VALUE = 400

_RULE = (
    "The person gives examples. For what is given, just what is expected must come out; what is not given is as in the "
    "data above. They are right where the request can be read otherwise."
)
_WITHHELD = "The person has {count} of an input and its output, which the function must fulfil. They are withheld."


def examples_text(examples: Sequence[Example], share: Share, masker: Masker) -> str:
    """The text for the prompt, after the data; "" if there are none. It has values only with `share="rows"`."""
    if not examples:
        return ""
    if share != "rows":
        return _WITHHELD.format(count="1 example" if len(examples) == 1 else f"{len(examples)} examples")
    blocks = [_RULE]
    for number, example in enumerate(examples[:MOST_TOLD], start=1):
        blocks += [f'<data name="example {number}">']
        blocks += [_line("given", name, value, masker) for name, value in example.given] or ["given: nothing"]
        blocks += [_line("expected", name, value, masker) for name, value in example.expected]
        blocks += ["</data>"]
    if len(examples) > MOST_TOLD:
        blocks.append(f"There are {len(examples) - MOST_TOLD} more, which are not shown.")
    return "\n".join(blocks)


def _line(what: str, name: str, value: Any, masker: Masker) -> str:
    head = f"{what}{f' {neutral(name)}' if name else ''}"
    if isinstance(value, File | Dir):
        return f"{head}: a {type(value).__name__}"
    if not isinstance(value, pd.DataFrame | pd.Series):
        text = neutral(masker.mask(repr(shortened(value))))
        return f"{head}: {text if len(text) <= _LONGEST_VALUE else f'{text[:_LONGEST_VALUE]}…'}"
    view = TableView(profile_frame(value), sample_rows(as_frame(value), MOST_ROWS))
    return f"{head}: {TableText(view, 'rows', masker, MOST_ROWS).render(TABLE_TOKENS).text}"


def example_record(example: Example) -> list[Any]:
    """The identity of an example: its text, and a hash of each of its values."""
    values = [[name, _digest(value)] for name, value in (*example.given, *example.expected)]
    return [example.text, len(example.given), values]


def _digest(value: Any) -> str:
    if isinstance(value, pd.DataFrame | pd.Series | File | Dir):
        return encode(value, "Series" if isinstance(value, pd.Series) else _kind(value)).digest()
    return hashlib.sha256(dumps(to_json(value, "the value", simplify=True)).encode()).hexdigest()


def _kind(value: Any) -> str:
    return "DataFrame" if isinstance(value, pd.DataFrame) else type(value).__name__
