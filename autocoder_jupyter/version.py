"""The version of this package and its documentation's address, for the rooms that must not know of the whole of it."""

from __future__ import annotations

VERSION = "0.1.0"

DOCUMENTATION = "https://autocoder-jupyter.readthedocs.io/en/stable"
