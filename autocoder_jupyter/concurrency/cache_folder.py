"""The cache folder of this machine, which all kernels share: environments, results and locks."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """The folder. `AUTOCODE_CACHE_DIR` overrides it."""
    chosen = os.environ.get("AUTOCODE_CACHE_DIR")
    return Path(chosen).absolute() if chosen else platformdirs.user_cache_path("autocoder-jupyter")
