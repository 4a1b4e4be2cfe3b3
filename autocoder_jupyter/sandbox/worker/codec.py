"""The codec inside a sandbox. Its sources are sent with those of the worker, as the package `autocoder_codec`."""

from __future__ import annotations

from autocoder_codec import TypeMismatch, Unencodable, decode, encode  # type: ignore[import-not-found]

__all__ = ["TypeMismatch", "Unencodable", "decode", "encode"]
