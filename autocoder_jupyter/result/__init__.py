"""The result of a generation: first pending, then the tested function with its evidence."""

from __future__ import annotations

from autocoder_jupyter.result.handle import CodeGenEvalResult

__all__ = ["CodeGenEvalResult"]
