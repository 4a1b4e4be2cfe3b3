"""`AutoCoderAgent`: how generations are done, frozen, and `generate()`."""

from __future__ import annotations

from autocoder_jupyter.agent.agent import AutoCoderAgent

__all__ = ["AutoCoderAgent"]
