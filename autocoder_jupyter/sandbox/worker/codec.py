"""The codec as it is inside a sandbox: its sources travel with ours, as the package `autocoder_codec`."""

from __future__ import annotations

from autocoder_codec import TypeMismatch, Unencodable, decode, encode  # type: ignore[import-not-found]

__all__ = ["TypeMismatch", "Unencodable", "decode", "encode"]
