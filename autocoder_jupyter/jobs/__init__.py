"""Generations in the background: one job a name, on the loop of the daemon thread."""

from __future__ import annotations

from autocoder_jupyter.jobs.job import Job
from autocoder_jupyter.jobs.registry import all_jobs, current, forget, prepare, submit, submit_code

__all__ = ["Job", "all_jobs", "current", "forget", "prepare", "submit", "submit_code"]
