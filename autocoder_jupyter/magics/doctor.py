"""`%autocode setup check`: check the sandbox, the model, the versions and the caches that a generation would use."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from autocoder_jupyter.errors import AutocodeError, SandboxUnavailable, working_folder
from autocoder_jupyter.magics.terminal import columns
from autocoder_jupyter.settings.choices import SANDBOXES
from autocoder_jupyter.settings.config import NO_KEY
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.view import as_text, markup
from autocoder_jupyter.view.amounts import amount
from autocoder_jupyter.view.markup import Html

if TYPE_CHECKING:
    from autocoder_jupyter.magics.settings import Settings


# Rows


class DoctorRow(NamedTuple):
    """What was checked, its state, and the reason or the next step.

    `level` is 0 for a subject, and more for its parts. `used` is true for what the next generation would use, and
    `bad` if it could not.
    """

    name: str
    state: str
    more: str = ""
    level: int = 0
    used: bool = False
    bad: bool = False


def shown(rows: Sequence[DoctorRow]) -> tuple[Html, str]:
    """A table of rows for a page, and for a terminal, in its width. Parts are indented."""
    cells = [("  " * row.level + row.name, row.state, row.more) for row in rows]
    return markup.table(("", "", ""), cells), as_text.wrapped(markup.columns(cells), columns())


def fault_of(look: Callable[[], None]) -> str:
    """The error that a check raises and what to do next; "" if it raises none."""
    try:
        look()
    except AutocodeError as error:
        return visible(f"{error.what} {error.hint}")
    return ""


# The claude backend: SDK, program, model and key

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
    parts = [_claude_program(program), _claude_model(settings)]
    if not parts[-1].fault:  # the key of another provider is irrelevant
        parts.append(_claude_key(settings))
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


def _claude_program(path: str) -> _Part:
    version, fault = _version_of(path)
    return _Part("program", version or "does not start", visible(fault), visible(path))


def _claude_model(settings: Settings) -> _Part:
    from autocoder_jupyter.engines.claude.service import require_claude

    fault = fault_of(lambda: require_claude(settings["model"]))
    return _Part("model", visible(settings["model"]), fault)


def _claude_key(settings: Settings) -> _Part:
    from autocoder_jupyter.models import keys
    from autocoder_jupyter.models.preflight import KEYS, require_key
    from autocoder_jupyter.models.protocol import ModelConfig

    config = ModelConfig(settings["model"], settings["api_key"], settings["api_base"], settings["litellm_params"])
    if fault := fault_of(lambda: require_key(config)):
        return _Part("key", "is missing", fault)
    given = keys.typed(config) or config.api_key or "api_key" in config.params
    has_key = given or any(os.environ.get(name) for name in KEYS["anthropic"])
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


# All checks

_SIZE_SECONDS = 1.0
"""Time limit for measuring the size of one folder."""

_VERSIONS = (
    "autocoder-jupyter",
    "ipython",
    "ipykernel",
    "ipywidgets",
    "pandas",
    "pyarrow",
    "litellm",
    "uv",
    "docker",
)


def examine(settings: Settings) -> list[DoctorRow]:
    """All checks. If one fails with an exception, it has a row that says so, and the others still run."""
    parts: tuple[tuple[str, Callable[[], Iterable[DoctorRow]]], ...] = (
        ("sandbox", lambda: _sandboxes(settings)),
        ("model", lambda: _model(settings)),
        ("claude backend", lambda: claude_rows(settings)),
        ("folder", lambda: _folder(settings)),
        ("versions", _versions),
        ("cache", _caches),
    )
    rows: list[DoctorRow] = []
    for name, look in parts:
        try:
            rows.extend(look())
        except Exception as error:
            rows.append(DoctorRow(name, "could not be checked", f"{type(error).__name__}: {error}"))
    return rows


def _sandboxes(settings: Settings) -> Iterable[DoctorRow]:
    from autocoder_jupyter.sandbox.choice import probe_all, required_minimums, unmet_by
    from autocoder_jupyter.settings.choices import sandbox_line

    wanted = settings["sandbox"]
    probes = probe_all()
    try:
        demanded = required_minimums(settings.sandbox_minimum)
    except SandboxUnavailable as error:
        why = visible(" ".join(str(error).split()))
        yield DoctorRow("sandbox", "none can be used; generated code cannot run", why, used=True, bad=True)
        return
    allowed = [
        probe
        for probe in probes
        if probe.available and wanted in ("auto", probe.name) and not unmet_by(probe, demanded)
    ]
    used = allowed[0].name if allowed else None
    yield DoctorRow(
        "sandbox",
        f"{used} will be used" if used else "none can be used; generated code cannot run",
        f"{wanted!r} is set ({settings.origins['sandbox']})",
        used=True,
        bad=used is None,
    )
    for demand in demanded:
        met = any(demand.met_by(probe.tier) for probe in probes if probe.available)
        yield DoctorRow(
            "minimum",
            f"{demand.tier}{'' if met else ': no sandbox here meets it'}",
            f"by {visible(demand.by)}",
            level=1,
        )
    for probe in probes:
        details = "; ".join(f"{key}: {value}" for key, value in probe.details.items())
        holds = sandbox_line(probe.name, probe.tier) if probe.available else ""
        notes = "; ".join(note for note in (holds, probe.reason, details) if note)
        yield DoctorRow(probe.name, "works" if probe.available else "does not work here", notes, level=1)
        if SANDBOXES[probe.name].has_engines:
            yield from _engines(probe.available)


def _engines(works: bool) -> Iterable[DoctorRow]:
    """The products that contain a container engine: which are installed, and how to start one that is stopped."""
    from autocoder_jupyter.sandbox.docker.products import Machine

    machine = Machine()
    if not works and machine.environ.get("DOCKER_HOST"):
        return  # only that engine is asked, and the row above says what to do
    states = [(product, machine.state(product)) for product in machine.products]
    for product, state in states:
        if state == "running":
            yield DoctorRow(product.name, "running", level=2)
        elif state == "stopped":
            yield DoctorRow(product.name, "installed, not running", f"to start it: {product.start}", level=2)
    if not works and all(state == "not installed" for _, state in states):
        yield DoctorRow("engines", "none is installed", machine.advice, level=2)


def _model(settings: Settings) -> Iterable[DoctorRow]:
    from autocoder_jupyter.models.library import describe
    from autocoder_jupyter.models.preflight import require_address, require_provider
    from autocoder_jupyter.models.protocol import ModelConfig
    from autocoder_jupyter.models.questions import place

    config = ModelConfig(settings["model"], settings["api_key"], settings["api_base"], settings["litellm_params"])
    part = partial(DoctorRow, level=1, used=True)
    unknown = fault_of(lambda: require_provider(config))
    origin = f"set by {settings.origins['model']}"
    yield DoctorRow(
        "model", settings["model"], f"{origin}. {unknown}" if unknown else origin, used=True, bad=bool(unknown)
    )
    if unknown:
        return
    known = describe(config)
    if config.params.get("api_key") == NO_KEY:
        yield part("key", "none is sent", "the settings say that none is needed")
    elif "api_key" in config.params:
        yield part("key", "in litellm_params")
    elif known["key_typed"]:
        yield part("key", "typed", "in the memory of this kernel until it ends")
    elif variable := known["key_variable"]:
        is_set, address = known["key_set"], known["api_base"]
        if is_set:
            yield part("key", f"{variable} is set", f"it is sent to {visible(place(address))}" if address else "")
        elif address and not config.api_key:
            yield part("key", "none is sent", f"{variable} is not set; a server of your own may need none")
        else:
            more = "set it where you start Jupyter; kept functions need no key"
            yield part("key", f"{variable} is not set", more, bad=True)
    silent = fault_of(lambda: require_address(config))
    if known["api_base"] or silent:
        yield part("address", str(known["api_base"] or "the usual one"), silent, bad=bool(silent))
    window = known["context_window"]
    yield DoctorRow("context", f"{amount(window)} tokens" if window else "unknown", level=1)
    prices = (known["input_price"], known["output_price"])
    if None in prices:
        yield part("price", "unknown", "--max-cost needs it: set it in litellm_params, or use --max-tokens")
    else:
        yield part("price", f"${prices[0]:g} in, ${prices[1]:g} out", "per million tokens")


def _folder(settings: Settings) -> Iterable[DoctorRow]:
    place = visible(settings.folder)
    if not settings.permissions:
        yield DoctorRow("folder", "needs no permission", place)
    elif not settings.waiting:
        yield DoctorRow("folder", "all its permissions are granted, or set by you", place)
    else:
        yield DoctorRow("folder", "not trusted; %autocode trust asks you", place)
        for permission in settings.waiting:
            yield DoctorRow(
                permission.name,
                f"pyproject.toml asks for {visible(permission.value)}",
                f"if granted, {visible(permission.why)}",
                level=1,
            )


def _versions() -> Iterable[DoctorRow]:
    yield DoctorRow("python", platform.python_version(), sys.executable)
    for name in _VERSIONS:
        try:
            yield DoctorRow(name, importlib.metadata.version(name), level=1)
        except importlib.metadata.PackageNotFoundError:
            yield DoctorRow(name, "not installed", level=1)


def _caches() -> Iterable[DoctorRow]:
    from autocoder_jupyter.concurrency.cache_folder import cache_folder
    from autocoder_jupyter.sandbox.environments.installed import UNUSED_DAYS

    cache = cache_folder()
    environments = sum("." not in entry.name for entry in cache.glob("environments/*"))  # the rest are locks
    yield DoctorRow("cache", _size(cache), str(cache))
    lasting = f"of the local sandbox; removed after {UNUSED_DAYS} days without use"
    yield DoctorRow("environments", str(environments), lasting, level=1)
    journal = working_folder() / ".autocode"
    yield DoctorRow("journal", _size(journal), str(journal))


def _size(folder: Path, seconds: float = _SIZE_SECONDS) -> str:
    """The size of the files in a folder. If measuring takes too long, a lower bound.

    Environments share files by hard links, so each inode counts once.
    """
    deadline = time.monotonic() + seconds
    seen: set[tuple[int, int]] = set()
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # removed in the meantime
                about = Path(place, name).lstat()
                if (about.st_dev, about.st_ino) not in seen:
                    seen.add((about.st_dev, about.st_ino))
                    size += about.st_size
        if time.monotonic() > deadline:
            return f"more than {size / 1e6:.1f} MB"
    return f"{size / 1e6:.1f} MB"
