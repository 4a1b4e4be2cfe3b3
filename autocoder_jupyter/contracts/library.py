"""Import pandera when a schema is needed, with a clear error if it is missing or too old."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from autocoder_jupyter.errors import InvalidRequest

_INSTALL = 'pip install "pandera>=0.24"'


def pandera() -> Any:
    """The module `pandera.pandas`.

    Raises:
        InvalidRequest: pandera is missing, or older than that module.
    """
    try:
        return importlib.import_module("pandera.pandas")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pandera":
            raise
        version = getattr(sys.modules.get("pandera"), "__version__", "")
        found = f"pandera {version} is too old" if version else "pandera is not installed"
        raise InvalidRequest(f"Schemas need pandera 0.24 or newer, and {found}.", hint=f"Run: {_INSTALL}") from None
