"""`AutoCoderAgent`: frozen settings of generations, and `generate()`."""

from __future__ import annotations

from autocoder_jupyter.agent.agent import AutoCoderAgent

__all__ = ["AutoCoderAgent"]
