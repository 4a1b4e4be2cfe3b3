"""The handle of a generation: pending at first, then the tested function and the evidence for it."""

from __future__ import annotations

from autocoder_jupyter.result.handle import CodeGenEvalResult

__all__ = ["CodeGenEvalResult"]
