"""The version of this package, and the address of its documentation."""

from __future__ import annotations

VERSION = "0.2.0"

DOCUMENTATION = "https://autocoder-jupyter.readthedocs.io/en/stable"
