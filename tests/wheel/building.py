"""Builds the package as a release does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(root: Path, kind: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "build", kind, "--no-isolation", "--outdir", str(folder), str(root)]
    return subprocess.run(command, env=env, capture_output=True, text=True)
