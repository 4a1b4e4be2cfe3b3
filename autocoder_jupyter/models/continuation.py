"""Joins the parts of an answer that was cut off at the token limit."""

from __future__ import annotations

import re

CONTINUE = (
    "Your answer was cut off. Continue it from the exact character where it stopped: "
    "repeat nothing, add no remark and no new code fence."
)

_OVERLAP = 12
_RESTART = 40
_FENCE_LINE = re.compile(r"[ \t]*(```|~~~)[^\n]*\n")


def join(partial: str, continuation: str) -> str:
    """`partial` and its continuation as one text.

    Models do not always follow `CONTINUE`: a repeated end, a second opening fence, and an answer that starts from the
    beginning are detected. Short repetitions are kept, because they are more likely part of the answer.
    """
    if not partial:
        return continuation
    if len(partial) >= _RESTART and continuation.startswith(partial[:_RESTART]):
        return continuation
    fence = _FENCE_LINE.match(continuation)
    if fence and _inside_fence(partial):
        continuation = continuation[fence.end() :]
    return partial + continuation[_overlap(partial, continuation) :]


def _overlap(partial: str, continuation: str) -> int:
    """Length of the longest end of `partial` with which `continuation` begins; 0 if it may be a coincidence."""
    for length in range(min(len(partial), len(continuation), 4000), _OVERLAP - 1, -1):
        if partial.endswith(continuation[:length]):
            return length if continuation[:length].strip() else 0
    return 0


def _inside_fence(text: str) -> bool:
    return len(re.findall(r"^[ \t]*(?:```|~~~)", text, re.MULTILINE)) % 2 == 1
