"""A result as JSON, and as a folder with its samples as Arrow. Never a pickle, because a folder may be untrusted.

An untrusted result gets at most the default limits, no access outside of the sandbox, no symbolic links, and no
packages that are not well known. If it needs such packages, it can be inspected, but called only with `trusted=True`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from autocoder_jupyter import errors
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.engine.packages import KNOWN_DISTRIBUTIONS, requirement_name
from autocoder_jupyter.errors import AutocodeError, InvalidRequest, UnsupportedData, writing
from autocoder_jupyter.result.pending import Resolution
from autocoder_jupyter.run.events import EndState
from autocoder_jupyter.settings.choices import SANDBOXES
from autocoder_jupyter.trust.formats import require_known, stamp
from autocoder_jupyter.trust.seals import is_sealed, sealed
from autocoder_jupyter.types import Report, Resources, parse_memory, type_name
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.versions.report_check import check_report
from autocoder_jupyter.versions.verification import unverified, unverified_failure

FORMAT = 1
RESULT_FILE = "result.json"
SAMPLES_FOLDER = "samples"

_SEALED_AS = "a saved result"
"""What the seal is for: its file and folder may be moved."""

SAMPLE_BYTES = 2**30
"""The maximum size of an untrusted sample. A larger one is refused without reading it."""

_OPTIONS = TypeAdapter(CallOptions)
_STATE: TypeAdapter[EndState] = TypeAdapter(EndState)


def dumped(resolution: Resolution, options: CallOptions, mode: str = "python") -> dict[str, Any]:
    """The fields of the report, and what calls need. Secrets are in it only by name."""
    data = resolution.report.model_dump(mode=mode)
    return {
        **stamp(FORMAT),
        **data,
        "state": resolution.state,
        "exception": _exception_as_data(resolution.exception),
        "options": _OPTIONS.dump_python(options, mode="json"),
    }


def to_json(resolution: Resolution, options: CallOptions, indent: int | None = None) -> str:
    """`dumped` as JSON. Exactly this text is sealed, unless the function was not verified here."""
    record = dumped(resolution, options, "json")
    if resolution.state == "not_verified":
        return json.dumps(record, ensure_ascii=False, indent=indent)
    return sealed(record, _SEALED_AS, indent=indent)


def from_json(text: str | bytes, *, trusted: bool = False) -> tuple[Resolution, CallOptions]:
    """Read the output of `to_json`. A function that was not verified here is `not_verified`."""
    try:
        data = parse(text)
        require_known(data, "The result", FORMAT)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"it is not in format {FORMAT}")
        state, report = _STATE.validate_python(data["state"]), Report.model_validate(data)
        check_report(report)
        content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        if not is_sealed(content, _SEALED_AS):
            works = report.success or state in ("ready", "not_verified")
            state, report = ("not_verified", unverified(report)) if works else (state, unverified_failure(report))
        resolution = Resolution(state, report, _exception_from_data(data["exception"]))
        options = _OPTIONS.validate_python(data["options"])
        if trusted:
            return resolution, replace(options, withheld=())
        report, withheld = without_strange_packages(resolution.report)
        return replace(resolution, report=report), replace(_held_inside(options), withheld=withheld)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(
            "This is not the JSON of a result.", why=str(error), hint="Write it again with save() or model_dump_json()."
        ) from None


def without_strange_packages(report: Report) -> tuple[Report, tuple[str, ...]]:
    """An untrusted report, and its packages that were not approved. While there are any, it cannot be called."""
    if _strange(report.pins):  # versions of well-known packages are then resolved again
        report = report.model_copy(update={"lock": ()})
    return report, (*_strange(report.detected_packages), *report.detected_system_packages)


def save(folder: Path, resolution: Resolution, options: CallOptions, samples: Mapping[str, Any]) -> Path:
    """Write a result and its samples to a folder, which is created if it does not exist."""
    with writing(f"The result {resolution.report.name}", folder):
        _write(Folder(folder.expanduser()), resolution, options, samples)
    return folder


def _write(files: Folder, resolution: Resolution, options: CallOptions, samples: Mapping[str, Any]) -> None:
    from autocoder_jupyter.codec import Unencodable, encode
    from autocoder_jupyter.data.crossing import that_crosses

    _require_replaceable(files)
    headers = {}
    for number, (name, value) in enumerate(samples.items()):
        columns = resolution.report.sample_shapes.get(name, {}).get("columns", ())
        value, words = that_crosses(value, functools.partial(_is_recorded, [label for label, _ in columns]))
        if words:
            warnings.warn(f"The sample {name} is saved without {words}.", stacklevel=4)
        try:
            encoded = encode(value, type_name(type(value)))
        except Unencodable as error:
            raise UnsupportedData(f"The sample {name} cannot be saved unchanged.", why=str(error)) from None
        files.write(f"{SAMPLES_FOLDER}/{number}.bin", *encoded.buffers)
        headers[name] = encoded.header
    files.write(f"{SAMPLES_FOLDER}/samples.json", json.dumps(headers).encode())
    files.write(RESULT_FILE, to_json(resolution, options, indent=1).encode())


def _require_replaceable(files: Folder) -> None:
    """Require that a folder has no result of a later version of this package."""
    with contextlib.suppress(OSError, ValueError):
        require_known(parse(files.read_bytes(RESULT_FILE)), f"The result in {files.root}", FORMAT)


def _is_recorded(recorded: Sequence[str], label: Any) -> bool:
    from autocoder_jupyter.data.shapes import column_literal

    return column_literal(label) in recorded


def load(folder: Path, *, trusted: bool = False) -> tuple[Resolution, CallOptions, dict[str, Any]]:
    """Read the folder that `save` wrote. The samples are untrusted and are checked."""
    files = Folder(folder.expanduser())
    if not files.exists(RESULT_FILE):
        raise InvalidRequest(
            f"There is no saved result in {folder}.", hint="Give the folder that was passed to save()."
        )
    try:
        resolution, options = from_json(files.read_bytes(RESULT_FILE), trusted=trusted)
        return resolution, options, _samples(files, sys.maxsize if trusted else SAMPLE_BYTES)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise InvalidRequest(f"The result in {folder} cannot be read.", why=why) from None


def _samples(files: Folder, most: int) -> dict[str, Any]:
    from autocoder_jupyter.sandbox.host.replies import receive

    samples = {}
    for number, (name, header) in enumerate(parse(files.read_bytes(f"{SAMPLES_FOLDER}/samples.json")).items()):
        payload = memoryview(files.read_bytes(f"{SAMPLES_FOLDER}/{number}.bin", most))
        samples[name] = receive(header, payload, trusted=False)
    return samples


def _strange(requirements: Iterable[str]) -> tuple[str, ...]:
    """The distributions among these that are not well known, sorted."""
    names = {requirement_name(requirement) or requirement for requirement in requirements}
    return tuple(sorted(names - KNOWN_DISTRIBUTIONS))


def _held_inside(options: CallOptions) -> CallOptions:
    """The options that are allowed for an untrusted file: no secrets, network, files, registry; at most the default
    limits.
    """
    usual = CallOptions()
    given, most = options.resources, usual.resources
    return replace(
        options,
        secrets=usual.secrets,
        network=usual.network,
        output_dir=usual.output_dir,
        image_config=usual.image_config,
        sandbox_minimum=replace(options.sandbox_minimum, by="the file that the result was loaded from"),
        sandbox=options.sandbox if options.sandbox == next(iter(SANDBOXES)) else usual.sandbox,
        reuse=usual.reuse,
        retries=min(options.retries, usual.retries),
        timeout=_at_most(options.timeout, usual.timeout),
        worker_seconds=_at_most(options.worker_seconds, usual.worker_seconds),
        resources=Resources(cpu=_at_most(given.cpu, most.cpu), memory=min(given.memory, most.memory, key=parse_memory)),
    )


def _at_most(value: float, most: float) -> float:
    return value if 0 < value <= most else most  # also for NaN


def _exception_as_data(exception: Exception | None) -> dict[str, str] | None:
    if exception is None:
        return None
    if isinstance(exception, AutocodeError):
        return {"type": type(exception).__name__, "what": exception.what, "why": exception.why, "hint": exception.hint}
    return {"type": "AutocodeError", "what": f"{type(exception).__name__}: {exception}", "why": "", "hint": ""}


_ERRORS: dict[str, type[AutocodeError]] = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AutocodeError)
}
"""The exceptions that a file can name."""


def _exception_from_data(data: Mapping[str, str] | None) -> AutocodeError | None:
    if data is None:
        return None
    kind = _ERRORS.get(data["type"], AutocodeError)
    return kind(data["what"], why=data["why"], hint=data["hint"])
