"""Applies untrusted regular expressions in the sandbox: one can take time that is exponential in a text's length."""

from __future__ import annotations

from typing import Any

import pandas as pd

from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.engine.sample_run import PROGRAM_FAILURES
from autocoder_jupyter.engine.sandbox_session import SandboxSession
from autocoder_jupyter.sandbox.protocol import Program
from autocoder_jupyter.types import InputSpec, OutputSpec


async def matches(session: SandboxSession, pattern: str, texts: pd.Series[Any]) -> pd.Series[Any] | str:
    """Whether a pattern matches at the start of each text, as `re.match` does; or why it could not be applied.

    Args:
        session: the sandbox that runs it, with the time and memory limits of a call.
        pattern: a regular expression.
        texts: without missing values, labelled 0, 1, ….
    """
    if texts.empty:
        return pd.Series([], dtype=bool)
    program = Program(
        code=program_text("matcher"),
        inputs=(InputSpec(name="pattern", type="str"), InputSpec(name="texts", type="Series")),
        outputs=(OutputSpec(name="found", type="Series"),),
    )
    try:
        outcome = await session.work(lambda worker: worker.call(program, {"pattern": pattern, "texts": texts}))
    except PROGRAM_FAILURES as error:
        return f"its pattern could not be applied: {error.what}"
    found: pd.Series[Any] = outcome.values["found"]
    return found if found.dtype == bool and len(found) == len(texts) else "its pattern could not be applied"
