"""The versions of a function: each run's folder is one, and which of them counts is written down beside them."""

from __future__ import annotations

from autocoder_jupyter.versions.store import Version, Versions

__all__ = ["Version", "Versions"]
