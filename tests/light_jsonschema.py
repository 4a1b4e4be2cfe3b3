"""Import this before nbformat or JupyterLab: jsonschema then skips 38 grammars, which take two seconds to compile.

jsonschema uses the package `rfc3987_syntax` for some formats of text if it can be imported, and works without it.
"""

from __future__ import annotations

import sys

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
