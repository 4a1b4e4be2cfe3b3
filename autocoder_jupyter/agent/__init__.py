"""`AutoCoderAgent`: frozen settings of generations, and `generate()`.

`AutoCoderAgent`: checks and freezes settings (`constructor` is generated), makes a `Request` from arguments, and
wires one generation; the optional `event_log`, and the spans of `tracing`.
"""

from __future__ import annotations

from autocoder_jupyter.agent.agent import AutoCoderAgent

__all__ = ["AutoCoderAgent"]
