from __future__ import annotations

import logging
from pathlib import Path

import pytest

from autocoder_jupyter.redaction.logs import redacting_logger


def test_a_log_is_masked_and_tells_no_words_of_an_exception(caplog: pytest.LogCaptureFixture) -> None:
    log = redacting_logger("autocoder_jupyter.tests")
    with caplog.at_level(logging.DEBUG):
        try:
            raise ValueError("zelda-cell-77")
        except ValueError:
            log.debug("of %s", "alice@example.com", exc_info=True)
    assert "of <email-1>" in caplog.text and "ValueError" in caplog.text and "test_logs.py" in caplog.text
    assert "zelda" not in caplog.text.replace('raise ValueError("zelda-cell-77")', "")


def test_every_logger_of_ours_is_a_discreet_one() -> None:
    package = Path(__file__).parents[2] / "autocoder_jupyter"
    plain = [path.name for path in package.rglob("*.py") if "getLogger(__name__)" in path.read_text()]
    assert plain == []
