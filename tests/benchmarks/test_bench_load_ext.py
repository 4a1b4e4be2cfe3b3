"""The time of `%load_ext autocoder_jupyter` in a new interpreter (the target is 150 ms), and no slow imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import autocoder_jupyter

_LOAD = """
import json, sys, time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
began = time.perf_counter()
shell.run_line_magic("load_ext", "autocoder_jupyter")
took = (time.perf_counter() - began) * 1000
print(json.dumps({"ms": took, "modules": sorted({name.partition(".")[0] for name in set(sys.modules) - before})}))
"""


def load_once() -> dict[str, Any]:
    """Load the extension once. Returns the milliseconds, and the top-level modules that were imported."""
    env = {**os.environ, "PYTHONPATH": str(Path(autocoder_jupyter.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", _LOAD], capture_output=True, text=True, check=True, env=env)
    loaded: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return loaded


def test_loading_the_extension_imports_nothing_heavy() -> None:
    heavy = {"pandas", "numpy", "pyarrow", "litellm", "docker", "pandera", "pydantic", "ipywidgets"}
    assert heavy.isdisjoint(load_once()["modules"])


@pytest.mark.benchmark(group="load_ext")
def test_load_ext(benchmark: Any) -> None:
    loads: list[dict[str, Any]] = []
    benchmark.pedantic(lambda: loads.append(load_once()), rounds=5)
    times = sorted(load["ms"] for load in loads)
    benchmark.extra_info["load_ext_ms"] = times
