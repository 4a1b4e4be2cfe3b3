"""The version of this package, for the rooms that must not know of the whole of it."""

from __future__ import annotations

VERSION = "0.1.0"
