"""Print the probe's result, and for each tier of this machine its attacks and times, for docs/embedded-sandbox.md.

    python tools/tiers.py

Times are medians of 3 starts and 12 calls, in an environment with the base packages.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from autocoder_jupyter.sandbox.local import trial
from autocoder_jupyter.sandbox.local.confinement import kernel_features
from autocoder_jupyter.sandbox.local.confinement.process import TIERS, ConfinementTier
from autocoder_jupyter.sandbox.local.sandbox import LocalSandbox, _start_trial
from autocoder_jupyter.sandbox.protocol import WorkerLimits, WorkerSpec
from tests.sandbox.local import test_confinement as attacks
from tests.sandbox.sandboxes import allow_for_emulation, base_environment, say


def main() -> None:
    """Print the results."""
    allow_for_emulation(setattr)
    probe = LocalSandbox().probe()
    print(f"Linux {os.uname().release}, user {os.getuid()}, Landlock {kernel_features.landlock_version()}")
    print(f"probe: {'available' if probe.available else 'not available'}; {probe.reason}")
    for name, value in probe.details.items():
        print(f"  {name}: {value}")
    for tier in TIERS:
        refusal = trial._beforehand(tier, kernel_features.landlock_version()) or trial._refusal(_start_trial, tier)
        print(f"{tier.name}: {refusal or _results(tier)}", flush=True)


def _results(tier: ConfinementTier) -> str:
    with ExitStack() as stack, tempfile.TemporaryDirectory() as outside:
        said = attacks._tried(stack, tier, Path(outside))
    through = [name for name in (*attacks.ATTACKS, *attacks.SEEN) if said[name] == "done"]
    failed = [name for name in attacks.ALLOWED if said[name] != "done"]
    start, call = _times(tier)
    return (
        f"{len(through)} of {len(attacks.ATTACKS | attacks.SEEN)} attacks succeed {through}; "
        f"{len(failed)} of {len(attacks.ALLOWED)} allowed actions fail {failed}; "
        f"start {start:.2f} s, call {call * 1000:.0f} ms"
    )


def _times(tier: ConfinementTier) -> tuple[float, float]:
    """Median seconds of a start and of a call."""
    trial._answer = trial.TierTrial(tier)
    sandbox, environment = LocalSandbox(), base_environment(LocalSandbox())
    starts, calls = [], []
    for _ in range(3):
        began = time.perf_counter()
        worker = sandbox.start(WorkerSpec(environment, WorkerLimits(seconds=60)))
        starts.append(time.perf_counter() - began)
        for _ in range(4):
            began = time.perf_counter()
            say(worker, "return 'x'")
            calls.append(time.perf_counter() - began)
        worker.kill()
    return statistics.median(starts), statistics.median(calls)


if __name__ == "__main__":
    main()
