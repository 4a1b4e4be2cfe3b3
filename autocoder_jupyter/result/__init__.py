"""The result of a generation: first pending, then the tested function with its evidence.

The package may import `calls`, `scaling`, `tasks` and `versions`, and what is below them.

- `handle`: `CodeGenEvalResult`
- `pending`: an outcome that is set later, the fields of a report, the base that results share with code mode
- `storage`: a result as JSON, and as a folder
- `recorded`: a recorded version as a result; `verification`: its recorded tests, run here
"""

from __future__ import annotations

from autocoder_jupyter.result.handle import CodeGenEvalResult

__all__ = ["CodeGenEvalResult"]
