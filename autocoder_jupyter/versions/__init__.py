"""The versions of a function: each run's folder is a version, and `choice.json` says which version counts."""

from __future__ import annotations

from autocoder_jupyter.versions.store import Version, Versions

__all__ = ["Version", "Versions"]
