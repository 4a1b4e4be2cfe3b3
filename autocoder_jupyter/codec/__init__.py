"""Encode values that cross the border of a sandbox: as Arrow and JSON, never as pickle. What would change is refused.

The source of this package also travels into the sandbox, where it is called `autocoder_codec`. It therefore imports
the standard library, numpy, pandas and pyarrow only, and keeps to what Python 3.10 and pandas 2.2 know.

Between two versions of pandas a dtype that one lacks comes back as the nearest: `str` is object before pandas 2.3.
"""

from __future__ import annotations

from .codec import decode, encode
from .encoded import Encoded
from .errors import Corrupt, TypeMismatch, Unencodable
from .pictures import Picture, encoded_parts

__all__ = ["Corrupt", "Encoded", "Picture", "TypeMismatch", "Unencodable", "decode", "encode", "encoded_parts"]
