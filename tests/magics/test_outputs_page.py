from __future__ import annotations

import base64
import pickle
from typing import Any

import pandas as pd
import polars as pl
import pytest

from autocoder_jupyter import magics
from autocoder_jupyter.calls.outputs import outputs_type
from autocoder_jupyter.types import Figure

PNG = b"\x89PNG picture"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def outputs() -> Any:
    frame = pd.DataFrame({HOSTILE: [HOSTILE]})
    return outputs_type(("monthly", "best_month", "chart"))(frame, "2024-02", Figure(PNG, 640, 480))


def shown(shell: Any, value: object) -> dict[str, Any]:
    data, _ = shell.display_formatter.format(value)
    return data


def test_a_tuple_of_outputs_shows_tables_and_pictures_under_their_names(shell: Any, outputs: Any) -> None:
    page = shown(shell, outputs)["text/html"]
    assert all(name in page for name in ("monthly", "best_month", "chart", "2024-02"))
    assert "<table" in page
    assert f'src="data:image/png;base64,{base64.b64encode(PNG).decode()}"' in page
    assert HOSTILE not in page and "&lt;script&gt;" in page


def test_tables_of_other_libraries_are_tables_too(shell: Any) -> None:
    outputs = outputs_type(("monthly", "total"))(pl.DataFrame({"month": ["May"], "growth": [0.123456789]}), 1)
    page = shown(shell, outputs)["text/html"]
    assert "<table" in page and "0.1235" in page and "┌" not in page


def test_a_single_figure_shows_as_a_picture(shell: Any) -> None:
    assert shown(shell, Figure(PNG, 640, 480))["image/png"] == PNG


def test_in_every_other_respect_it_is_a_plain_named_tuple(shell: Any, outputs: Any) -> None:
    _, best_month, chart = outputs
    assert (outputs.best_month, outputs[2]) == (best_month, chart)
    assert outputs._fields == ("monthly", "best_month", "chart") and isinstance(outputs, tuple)
    assert repr(outputs).startswith("Outputs(monthly=")
    assert shown(shell, outputs)["text/plain"] == repr(outputs)
    assert not hasattr(outputs, "__dict__")
    assert pickle.loads(pickle.dumps(outputs)).best_month == "2024-02"
    assert not any(name.startswith("_repr_") for name in dir(outputs))


def test_other_tuples_and_an_unloaded_extension_show_words_only(shell: Any, outputs: Any) -> None:
    assert set(shown(shell, (1, Figure(PNG, 1, 1)))) == {"text/plain"}
    magics.unregister(shell)
    assert set(shown(shell, outputs)) == {"text/plain"}
