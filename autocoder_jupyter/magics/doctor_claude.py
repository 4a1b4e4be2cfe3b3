"""Check what `--backend claude` would use: the SDK, its program, the model and the key. The model is not asked."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.magics.doctor_row import DoctorRow, fault_of
from autocoder_jupyter.untrusted.parsing import visible

if TYPE_CHECKING:
    from autocoder_jupyter.magics.settings import Settings

_START_SECONDS = 20.0
_LONGEST = 200


def claude_rows(settings: Settings) -> Iterator[DoctorRow]:
    """A row for the backend, then one for each of its parts: what was checked, its state, and the next step."""
    from autocoder_jupyter.engines.claude.session import require_program

    used = settings["backend"] == "claude"
    try:
        program = require_program()
    except AutocodeError as error:
        state = "cannot be used" if used else "not in use, and not installed"
        yield DoctorRow("claude backend", state, f"{error.what} {error.hint}" if used else "", used=used, bad=used)
        return
    parts = [_program(program), _model(settings)]
    if not parts[-1].fault:  # the key of another provider is irrelevant
        parts.append(_key(settings))
    if not used:
        yield DoctorRow("claude backend", "not in use", "--backend claude uses it")
    else:
        bad = any(part.fault for part in parts)
        state = "cannot be used" if bad else "will be used"
        yield DoctorRow("claude backend", state, f"'claude' is set ({settings.origins['backend']})", used=True, bad=bad)
    yield DoctorRow("sdk", importlib.metadata.version("claude-agent-sdk"), level=1)
    yield from (DoctorRow(part.name, part.state, part.fault or part.note, level=1) for part in parts)


@dataclass(frozen=True)
class _Part:
    """Something that the backend needs. `fault` describes the problem and the next step."""

    name: str
    state: str
    fault: str = ""
    note: str = ""


def _program(path: str) -> _Part:
    version, fault = _version_of(path)
    return _Part("program", version or "does not start", visible(fault), visible(path))


def _model(settings: Settings) -> _Part:
    from autocoder_jupyter.engines.claude.service import require_claude

    fault = fault_of(lambda: require_claude(settings["model"]))
    return _Part("model", visible(settings["model"]), fault)


def _key(settings: Settings) -> _Part:
    from autocoder_jupyter.models.preflight import KEYS, require_key
    from autocoder_jupyter.models.protocol import ModelConfig

    config = ModelConfig(settings["model"], settings["api_key"], settings["api_base"], settings["litellm_params"])
    if fault := fault_of(lambda: require_key(config)):
        return _Part("key", "is missing", fault)
    has_key = config.api_key or "api_key" in config.params or any(os.environ.get(name) for name in KEYS["anthropic"])
    return _Part("key", "is set" if has_key else "not needed", note="" if has_key else "api_base is set")


def _version_of(program: str) -> tuple[str, str]:
    """The version that the program prints, and ""; or "" and the reason why it does not start."""
    from autocoder_jupyter.engines.claude.session import home

    try:
        with home(program, {}) as place:
            done = subprocess.run(
                [place.cli_path, "--version"],
                cwd=place.cwd,
                env={**os.environ, **place.env},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_START_SECONDS,
            )
    except subprocess.TimeoutExpired:
        return "", f"{program} did not answer within {_START_SECONDS:.0f} s"
    except OSError as error:
        return "", f"{program}: {error.strerror or error}"
    if done.returncode:
        output = visible(done.stderr.strip() or done.stdout.strip())[:_LONGEST]
        return "", f"{program} ended with {done.returncode}: {output}"
    return visible(done.stdout.strip())[:_LONGEST], ""
