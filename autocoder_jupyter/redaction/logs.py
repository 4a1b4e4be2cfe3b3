"""Loggers with redaction: log lines are masked, and an exception is logged without its message.

The message of an exception may quote the data. Its type and its stack are enough to find a bug.
"""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass

from autocoder_jupyter.untrusted.visible import visible


class _Redacting(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        from autocoder_jupyter.redaction.masking import Masker

        record.msg, record.args = visible(Masker().mask(record.getMessage())), ()
        if record.exc_info:
            kind, _, stack = record.exc_info
            places = "".join(traceback.format_tb(stack)) if stack is not None else ""
            record.exc_text = f"{places}{kind.__qualname__ if kind else 'no exception'} (what it says is left out)"
            record.exc_info = None
        return True


_FILTER = _Redacting()


@dataclass(frozen=True)
class _WithoutMessages:
    """Leaves out what contains a word: other libraries log whole messages."""

    word: str

    def filter(self, record: logging.LogRecord) -> bool:
        return self.word not in record.getMessage()


def without_messages(logger: logging.Logger, word: str) -> None:
    """Leave what contains a word out of a logger of another library."""
    logger.addFilter(_WithoutMessages(word))  # an equal one is not added


def redacting_logger(name: str) -> logging.Logger:
    """The logger of a module, with redaction."""
    found = logging.getLogger(name)
    found.addFilter(_FILTER)  # adding the same filter again has no effect
    return found
