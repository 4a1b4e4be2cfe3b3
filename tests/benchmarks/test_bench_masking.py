"""The time to mask text that was written to be slow. The time per character must not depend on the length."""

from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.redaction.masking import Masker

PIECES = (
    "a", "a.", "1 ", "1-", "a@", "+1 ", "AB12 ", "postgres://a:", "password ", "token:", "http://a:b", "eyJ",
    "-----BEGIN ", "1.1.", "a:1", "00", "Aa ", "(at)", "%40", "?key=", "…(+1)", "12 rue de ",
)  # fmt: skip


@pytest.mark.parametrize("characters", [10_000, 100_000])
def test_bench_hostile_text(benchmark: Any, characters: int) -> None:
    texts = [(piece * characters)[:characters] for piece in PIECES]
    benchmark.pedantic(lambda: [Masker().mask(text) for text in texts], rounds=1)
