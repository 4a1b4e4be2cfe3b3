"""Generations in the background: one job a name, on the loop of the daemon thread.

Background jobs (`background_job`): generations (`job`) and runs of code mode (`code_job`, its result, the record that
`--continue` reads); submit, cancel, approve, replace; the registry by name.
"""

from __future__ import annotations

from autocoder_jupyter.jobs.job import GenerationJob
from autocoder_jupyter.jobs.registry import all_jobs, current, forget, prepare, submit, submit_code

__all__ = ["GenerationJob", "all_jobs", "current", "forget", "prepare", "submit", "submit_code"]
