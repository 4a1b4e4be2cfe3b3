"""The sandboxes for the common suites, and helpers to run programs in them."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.sandbox.choice import get
from autocoder_jupyter.sandbox.local import forks, trial
from autocoder_jupyter.sandbox.protocol import CallSpec, Environment, EnvironmentSpec, Program, Sandbox, Worker
from autocoder_jupyter.types import InputSpec, OutputSpec, TypeName

EACH = [
    pytest.param("local", marks=pytest.mark.local_sandbox),
    pytest.param("docker", marks=pytest.mark.docker),
]

SECONDS = float(os.environ.get("AUTOCODE_TEST_SECONDS", "20"))
"""Timeout of a call in seconds; an emulated machine needs more."""

SLOWER = SECONDS / 20
"""The factor by which something may take longer here."""


def allow_for_emulation(set_attribute: Callable[[object, str, object], None]) -> None:
    """Longer time limits on an emulated machine. Importing the libraries takes a minute there, so it is done once."""
    if "AUTOCODE_TEST_SECONDS" in os.environ:
        set_attribute(trial, "_SECONDS", SECONDS)
        set_attribute(forks, "IDLE_SECONDS", 600.0)
        set_attribute(forks, "_ARRIVAL_SECONDS", 600.0)
        set_attribute(forks, "_TURNS", 1)


def open_sandbox(name: str) -> Sandbox:
    """The sandbox of this name. If it is not available, the test is skipped with the reason; in CI it fails."""
    sandbox = get(name)  # type: ignore[arg-type]
    probe = sandbox.probe()
    if not probe.available:
        assert os.environ.get("CI") != "true", probe.reason
        pytest.skip(f"{name}: {probe.reason}")
    return sandbox


def base_spec(name: str) -> EnvironmentSpec:
    """Only the base packages, with the notebook's Python or that of the base image."""
    return EnvironmentSpec((), sys.version_info[:2] if name == "local" else (3, 11))


def base_environment(sandbox: Sandbox) -> Environment:
    """An environment with the base packages. Without a network, one that was built before."""
    if built := os.environ.get("AUTOCODE_TEST_ENVIRONMENT"):
        fields = json.loads(Path(built).read_text("utf-8"))
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
        }
        return Environment(**given)
    return sandbox.build(base_spec(sandbox.name))


def program(
    body: str,
    inputs: Mapping[str, TypeName] | None = None,
    outputs: Mapping[str, TypeName] | None = None,
    *,
    env_vars: Mapping[str, str] | None = None,
) -> Program:
    """A program whose function has this body. Its only output is a str named `said`, unless others are declared."""
    inputs = inputs or {}
    code = "\n".join(
        [
            "import os, sys, time, signal, socket, ctypes, glob, json, subprocess, threading",
            "from pathlib import Path",
            "import numpy as np, pandas as pd",
            f"def run({', '.join(inputs)}):",
            textwrap.indent(textwrap.dedent(body).strip(), "    "),
            "",
        ]
    )
    return Program(
        code,
        tuple(InputSpec(name=name, type=kind) for name, kind in inputs.items()),
        tuple(OutputSpec(name=name, type=kind) for name, kind in (outputs or {"said": "str"}).items()),
        env_vars=env_vars or {},
    )


def say(worker: Worker, body: str, **options: Any) -> str:
    """Run a program with this body. Returns its output."""
    said = worker.call(program(body), {}, CallSpec(**options)).values["said"]
    assert isinstance(said, str)
    return said


def survivors(mark: str, seconds: float = 30.0 * SLOWER) -> list[str]:
    """Processes of this machine with the name `mark`, after they had time to end."""
    deadline = time.monotonic() + seconds
    while True:
        found = [comm.parent.name for comm in Path("/proc").glob("[0-9]*/comm") if content_of(comm).strip() == mark]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def content_of(file: Path) -> str:
    """The text of a file; "" if it cannot be read."""
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""
