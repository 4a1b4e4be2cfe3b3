"""Execute every example in a kernel of its own, without a key: their journals hold the model's answers.

python tools/run_examples.py [--only NAME …] [--jobs 2] [--save]

Prints how long each took, and all that a failed one said; the exit code is 1 when one failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "notebooks" / "examples"
RUN = Path(__file__).with_name("run_notebook.py")


def main() -> int:
    """Run them; the exit code is 1 when one fails."""
    parser = argparse.ArgumentParser(description="Execute the example notebooks.")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these notebooks, without .ipynb")
    parser.add_argument("--jobs", type=int, default=2, help="how many kernels side by side")
    parser.add_argument("--save", action="store_true", help="keep the outputs in the notebooks")
    options = parser.parse_args()
    notebooks = [path for path in sorted(EXAMPLES.glob("*.ipynb")) if not options.only or path.stem in options.only]
    if unknown := set(options.only) - {path.stem for path in notebooks}:
        parser.error(f"there is no example {', '.join(sorted(unknown))}")
    began = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        passed = list(pool.map(lambda path: _run(path, save=options.save), notebooks))
    failed = len(passed) - sum(passed)
    print(f"{len(passed)} examples in {time.monotonic() - began:.1f} s, {failed or 'none'} failed")
    return int(failed > 0)


def _run(notebook: Path, *, save: bool) -> bool:
    began = time.monotonic()
    command = [sys.executable, str(RUN), str(notebook), *(["--save"] if save else [])]
    done = subprocess.run(
        command, env=_without_keys(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    passed = done.returncode == 0
    said = "" if passed else f"\n{done.stdout}"
    print(f"{'ok    ' if passed else 'FAILED'} {notebook.stem:<28} {time.monotonic() - began:5.1f} s{said}", flush=True)
    return passed


def _without_keys() -> dict[str, str]:
    """The environment without anything by which a model could be asked, or another one than the journals'."""
    settings = ("AUTOCODE_", "ANTHROPIC_", "OPENAI_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
    kept = {name: value for name, value in kept.items() if not name.endswith("_API_KEY")}
    if chosen := os.environ.get("AUTOCODE_SANDBOX"):
        kept["AUTOCODE_SANDBOX"] = chosen
    return kept


if __name__ == "__main__":
    sys.exit(main())
