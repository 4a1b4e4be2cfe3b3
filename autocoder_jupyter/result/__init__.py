"""The result of a generation: first pending, then the tested function with its evidence.

`CodeGenEvalResult`: a handle that is pending first and resolved later (`waited`, shared with code mode); fields,
storage, a recorded version as a result (`recorded`), its `verification` in the sandbox.
"""

from __future__ import annotations

from autocoder_jupyter.result.handle import CodeGenEvalResult

__all__ = ["CodeGenEvalResult"]
