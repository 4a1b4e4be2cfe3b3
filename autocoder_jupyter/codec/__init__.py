"""Values that cross the border of a sandbox, as Arrow and JSON. Pickle is never used.

A value that would be changed on the way is refused. The bytes may come from hostile code: they are checked before a
value is created.

The source of this package is also copied into the sandbox, where its name is `autocoder_codec`. Therefore it imports
only the standard library, numpy, pandas and pyarrow, and must run with Python 3.10 and pandas 2.2. Both sides may have
different versions of pandas. A dtype that the reader lacks becomes the nearest one: `str` becomes object before pandas
2.3.

- `values`: every type of value; lists, dicts and scalars
- `frames`, `labels`, `columns`, `objects`, `nested`, `geometry`: tables, their labels, and the arrays in them
- `pictures`, `figure_data`: figures; `files`: files and folders
- `ipc`: arrays as bytes; `plain`: single values as JSON; `bounded_json`: parses JSON from others
"""

from __future__ import annotations

from .frames import Encoded
from .pictures import Picture, encoded_parts
from .plain import Corrupt, TypeMismatch, Unencodable
from .values import decode, encode, write_parts

__all__ = [
    "Corrupt",
    "Encoded",
    "Picture",
    "TypeMismatch",
    "Unencodable",
    "decode",
    "encode",
    "encoded_parts",
    "write_parts",
]
