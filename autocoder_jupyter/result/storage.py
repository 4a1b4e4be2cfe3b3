"""A result as JSON, and as a folder with its samples as Arrow. Never a pickle: a folder may come from somebody else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from autocoder_jupyter import errors
from autocoder_jupyter.errors import AutocodeError, InvalidRequest, UnsupportedData
from autocoder_jupyter.result.pending import FinalState, Resolution
from autocoder_jupyter.tasks.options import CallOptions
from autocoder_jupyter.types import Dir, File, Report, type_name
from autocoder_jupyter.writing import writing

FORMAT = 1
RESULT_FILE = "result.json"
SAMPLES_FOLDER = "samples"

_OPTIONS = TypeAdapter(CallOptions)
_STATE: TypeAdapter[FinalState] = TypeAdapter(FinalState)


def dumped(resolution: Resolution, options: CallOptions, mode: str = "python") -> dict[str, Any]:
    """The report's fields and what is needed to go on calling; secrets are in it by name only."""
    data = resolution.report.model_dump(mode=mode)
    return {
        "format": FORMAT,
        **data,
        "state": resolution.state,
        "exception": _exception_as_data(resolution.exception),
        "options": _OPTIONS.dump_python(options, mode="json"),
    }


def to_json(resolution: Resolution, options: CallOptions, indent: int | None = None) -> str:
    """`dumped` as JSON."""
    return json.dumps(dumped(resolution, options, "json"), ensure_ascii=False, indent=indent)


def from_json(text: str | bytes, *, trusted: bool = False) -> tuple[Resolution, CallOptions]:
    """What `to_json` wrote.

    Args:
        text: the JSON.
        trusted: take over the options that reach out of the sandbox too.

    Raises:
        InvalidRequest: it is something else.
    """
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"it is not in format {FORMAT}")
        resolution = Resolution(
            state=_STATE.validate_python(data["state"]),
            report=Report.model_validate(data),
            exception=_exception_from_data(data["exception"]),
        )
        options = _OPTIONS.validate_python(data["options"])
        return resolution, options if trusted else _held_inside(options)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(
            "This is not the JSON of a result.", why=str(error), hint="Write it anew with save() or model_dump_json()."
        ) from None


def save(folder: Path, resolution: Resolution, options: CallOptions, samples: Mapping[str, Any]) -> Path:
    """Write result and samples to a folder, which is made when it is missing.

    Raises:
        UnsupportedData: a sample cannot be written without being changed.
        InvalidRequest: the folder cannot be written.
    """
    with writing(f"The result {resolution.report.name}", folder):
        _write(folder.expanduser(), resolution, options, samples)
    return folder


def _write(folder: Path, resolution: Resolution, options: CallOptions, samples: Mapping[str, Any]) -> None:
    from autocoder_jupyter.data.codec import Unencodable, encode

    place = folder / SAMPLES_FOLDER
    place.mkdir(parents=True, exist_ok=True)
    headers = {}
    for number, (name, value) in enumerate(samples.items()):
        try:
            encoded = encode(value, type_name(type(value)))
        except Unencodable as error:
            raise UnsupportedData(f"The sample {name} cannot be saved unchanged.", why=str(error)) from None
        with (place / f"{number}.bin").open("wb") as file:
            file.writelines(encoded.buffers)
        headers[name] = encoded.header
    (place / "samples.json").write_text(json.dumps(headers), encoding="utf-8")
    (folder / RESULT_FILE).write_text(to_json(resolution, options, indent=1), encoding="utf-8")


def load(folder: Path, *, trusted: bool = False) -> tuple[Resolution, CallOptions, dict[str, Any]]:
    """What `save` wrote. The samples are checked as if they came from a stranger, because they may.

    Args:
        folder: that `save` was given.
        trusted: as for `from_json`.

    Raises:
        InvalidRequest: there is no result in the folder, or it cannot be read.
    """
    from autocoder_jupyter.data.codec import decode

    folder = folder.expanduser()
    if not (folder / RESULT_FILE).is_file():
        raise InvalidRequest(f"There is no saved result in {folder}.", hint="Give the folder that save() was given.")
    resolution, options = from_json((folder / RESULT_FILE).read_text(encoding="utf-8"), trusted=trusted)
    place = folder / SAMPLES_FOLDER
    samples = {}
    try:
        for number, (name, header) in enumerate(json.loads((place / "samples.json").read_text("utf-8")).items()):
            payload = memoryview((place / f"{number}.bin").read_bytes())
            files = place / f"{number}.files"
            samples[name] = decode(header, payload, folder=files, wrap_path=_wrapped, trusted=False)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(f"The samples in {folder} cannot be read.", why=str(error)) from None
    return resolution, options, samples


def _held_inside(options: CallOptions) -> CallOptions:
    """The options without those by which a stranger's file would get at secrets, a network, files or a registry."""
    closed = CallOptions()
    return replace(
        options,
        secrets=closed.secrets,
        network=closed.network,
        output_dir=closed.output_dir,
        image_config=closed.image_config,
    )


def _wrapped(kind: str, path: Path) -> File | Dir:
    return File(path) if kind == "File" else Dir(path)


def _exception_as_data(exception: Exception | None) -> dict[str, str] | None:
    if exception is None:
        return None
    if isinstance(exception, AutocodeError):
        return {"type": type(exception).__name__, "what": exception.what, "why": exception.why, "hint": exception.hint}
    return {"type": "AutocodeError", "what": f"{type(exception).__name__}: {exception}", "why": "", "hint": ""}


def _exception_from_data(data: Mapping[str, str] | None) -> AutocodeError | None:
    if data is None:
        return None
    kind = getattr(errors, data["type"], None)
    if not isinstance(kind, type) or not issubclass(kind, AutocodeError):
        kind = AutocodeError
    return kind(data["what"], why=data["why"], hint=data["hint"])
