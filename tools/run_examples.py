"""Execute every example notebook, each in its own kernel. It needs no key: the journals contain the model's answers.

python tools/run_examples.py [--only NAME …] [--jobs 2] [--save]

Prints the duration of each, and the output of those that fail. The exit code is 1 if one fails. Saved outputs are those
of somebody who runs the examples for the first time: what earlier runs on this machine found out is not used.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "notebooks" / "examples"
RUN = Path(__file__).with_name("run_notebook.py")


def main() -> int:
    """Run the examples. Returns the exit code: 1 if one fails."""
    parser = argparse.ArgumentParser(description="Execute the example notebooks.")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these notebooks, without .ipynb")
    parser.add_argument("--jobs", type=int, default=2, help="number of kernels at the same time")
    parser.add_argument("--save", action="store_true", help="save the outputs in the notebooks")
    options = parser.parse_args()
    notebooks = [path for path in sorted(EXAMPLES.glob("*.ipynb")) if not options.only or path.stem in options.only]
    if unknown := set(options.only) - {path.stem for path in notebooks}:
        parser.error(f"there is no example {', '.join(sorted(unknown))}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as config, ThreadPoolExecutor(options.jobs) as pool:
        own = {"XDG_CONFIG_HOME": config} if options.save else {}
        passed = list(pool.map(lambda path: _run(path, own, save=options.save), notebooks))
    failed = len(passed) - sum(passed)
    print(f"{len(passed)} examples in {time.monotonic() - began:.1f} s, {failed or 'none'} failed")
    return int(failed > 0)


def _run(notebook: Path, own: dict[str, str], *, save: bool) -> bool:
    began = time.monotonic()
    command = [sys.executable, str(RUN), str(notebook), *(["--save"] if save else [])]
    done = subprocess.run(
        command, env={**without_keys(), **own}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    passed = done.returncode == 0
    said = "" if passed else f"\n{done.stdout}"
    print(f"{'ok    ' if passed else 'FAILED'} {notebook.stem:<28} {time.monotonic() - began:5.1f} s{said}", flush=True)
    return passed


def without_keys() -> dict[str, str]:
    """The environment without keys, and without settings that select another model than that of the journals."""
    settings = ("AUTOCODE_", "ANTHROPIC_", "OPENAI_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
    kept = {name: value for name, value in kept.items() if not name.endswith("_API_KEY")}
    if chosen := os.environ.get("AUTOCODE_SANDBOX"):
        kept["AUTOCODE_SANDBOX"] = chosen
    return kept


if __name__ == "__main__":
    sys.exit(main())
