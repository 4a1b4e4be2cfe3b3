"""Generations and runs of code mode in the background: one job per name, on the loop of the daemon thread.

The package may import `agent`, `codemode` and what is below them.

- `job`: the base of all jobs, their questions to the user, and generations
- `code_job`: runs of code mode, their result, and the record that `--continue` reads
- `registry`: the jobs of this process by name
"""

from __future__ import annotations

from autocoder_jupyter.jobs.job import GenerationJob
from autocoder_jupyter.jobs.registry import all_jobs, complete, current, forget, prepare, submit, submit_code

__all__ = ["GenerationJob", "all_jobs", "complete", "current", "forget", "prepare", "submit", "submit_code"]
