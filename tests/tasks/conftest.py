from __future__ import annotations

from tests.calls.conftest import report

__all__ = ["report"]
