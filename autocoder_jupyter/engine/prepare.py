"""Everything before the first question: inputs, checks of the samples, the text about data and environment, the key."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd

from autocoder_jupyter.codec import Unencodable, encode
from autocoder_jupyter.data.capture import origin_of, with_origin
from autocoder_jupyter.data.constraints import read_constraints, tables_of
from autocoder_jupyter.data.context import DataContext, build_context
from autocoder_jupyter.data.crossing import left_out, that_crosses
from autocoder_jupyter.data.text_formats import label_literal
from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.engine.acceptance import check_examples
from autocoder_jupyter.engine.evidence.split import require_split_columns
from autocoder_jupyter.engine.journal import Journal
from autocoder_jupyter.engine.packages import requirement_name
from autocoder_jupyter.engine.prompt import block
from autocoder_jupyter.errors import InvalidRequest, UnsupportedData
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.request import AgentConfig, Request, secret_values
from autocoder_jupyter.sandbox.environments.locking import name_of, pin_of, read_pylock
from autocoder_jupyter.settings.parameters import is_input_name, require_unicode
from autocoder_jupyter.types import InputSpec, type_name
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.versions import request_fields
from autocoder_jupyter.versions.request_fields import RequestKey


@dataclass(frozen=True)
class Prepared:
    """The result of `prepare`.

    Args:
        inputs: all inputs: the declared ones, then a required one for each sample that was not declared.
        context: the text about the data for the model.
        key: the key of the request, from its content and the schemas of its samples, without their rows.
        request: the request, with the samples as they go into the sandbox.
        left_out: a sentence for each sample of which something cannot.
    """

    inputs: tuple[InputSpec, ...]
    context: DataContext
    key: RequestKey
    request: Request
    pinned: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def prepare(request: Request, config: AgentConfig) -> Prepared:
    """Prepare everything that needs no model."""
    secret_values(config.secrets)  # only the sandbox needs them, but a missing one is reported before a model is paid
    inputs, given = settle_inputs(request), request.samples
    if odd := next((spec.name for spec in inputs if not is_input_name(spec.name)), ""):
        raise InvalidRequest(
            f"{visible(odd)!r} cannot be the name of an input.",
            why="It is a reserved name of Python, or has invisible characters.",
            hint="Give the data another name.",
        )
    request, left = with_samples_that_cross(request)
    require_encodable(inputs, request.samples)
    withheld = WithheldColumns.of(config.hide, config.mask)
    columns = (column.name for output in request.outputs for column in output.columns)
    contracts = (contract.text for contract in request.contracts.values())
    withheld.require_possible(given, (texts_of_request(request), *request.wishes, *columns, *contracts))
    _require_no_values_of_masked(request, config)
    _require_no_secrets(request, config)
    for example in request.examples:
        withheld.require_absent(example.text, (value for _, value in (*example.given, *example.expected)))
    if request.split:
        require_split_columns(request.split, inputs, request.samples)
    reading = read_constraints(
        request.constraints, tables_of(withheld.without_hidden(request.samples), request.outputs)
    )
    check_examples(request.examples, inputs, request.outputs, request.samples)
    context = build_context(
        request.samples,
        share=config.share,
        max_sample_rows=config.max_sample_rows,
        checks=reading.checks,
        request=texts_of_request(request),
        examples=request.examples,
        withheld=withheld,
        helpers=request.helpers,
        databases=request.databases,
    )
    return Prepared(inputs, context, RequestKey.of(request, inputs), request, _own_lock(config), left)


def _require_no_values_of_masked(request: Request, config: AgentConfig) -> None:
    """A contract is sent to the model unchanged, and its checks of a masked column may contain values of it."""
    for name, contract in request.contracts.items():
        checked = [part for part in (*contract.record["columns"], *contract.record["index"]) if part["checks"]]
        masked = next((column for column in config.mask for part in checked if part["label"] == repr(column)), None)
        if masked is not None:
            raise InvalidRequest(
                f"{masked} is to be masked, but the contract of {name} has checks of it.",
                why="A contract is sent to the model unchanged, and such checks may contain values.",
                hint="Remove these checks from the contract, or do not mask the column.",
            )


def _require_no_secrets(request: Request, config: AgentConfig) -> None:
    """The source of helpers is sent to the model and recorded."""
    for module, source in request.helpers.modules().items():
        for name, value in secret_values(config.secrets).items():
            if value and value in source:
                raise InvalidRequest(
                    f"The value of the secret {name} is in the source of a helper ({module}).",
                    why="The source of helpers is sent to the model and recorded.",
                    hint=f'Read it inside of the function: os.environ["{name}"].',
                )


def _own_lock(config: AgentConfig) -> tuple[str, ...]:
    """The lines of the user's lock. They are not in the key: other versions of packages do not change the request."""
    if config.packages_from is None:
        return ()
    return read_pylock(Path(config.packages_from), config.image_config.python_version or sys.version_info[:2])


def texts_of_request(request: Request) -> str:
    """All text that the user wrote. It shows which columns are meant."""
    inputs = (f"{spec.name} {spec.meaning}" for spec in request.inputs)
    outputs = (f"{spec.name} {spec.meaning}" for spec in request.outputs)
    return "\n".join((*request_fields.texts_of(request), *inputs, *outputs))


def settle_inputs(request: Request) -> tuple[InputSpec, ...]:
    """The declared inputs, and a required one for every sample that was not declared."""
    declared = {spec.name for spec in request.inputs}
    samples = tuple(
        InputSpec(name=name, type=type_name(type(value)))
        for name, value in request.samples.items()
        if name not in declared
    )
    return (*request.inputs, *samples)


def with_samples_that_cross(request: Request) -> tuple[Request, tuple[str, ...]]:
    """The request without columns of its samples that cannot go into a sandbox and that it does not name."""
    samples, sentences = dict(request.samples), []
    text = texts_of_request(request)
    named = {part["label"] for contract in request.contracts.values() for part in contract.record["columns"]}

    def is_needed(label: Any) -> bool:
        return label_literal(label) in named or is_mentioned(str(label), text)

    for name, value in request.samples.items():
        made, words = that_crosses(value, is_needed, attrs_too=not is_mentioned("attrs", text))
        if words:
            samples[name] = with_origin(made, origin_of(value))
            sentences.append(left_out(name, words))
    return (replace(request, samples=samples) if sentences else request), tuple(sentences)


def is_mentioned(name: str, text: str) -> bool:
    """Whether a name is a word, or words, of a text."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def require_encodable(inputs: tuple[InputSpec, ...], samples: Mapping[str, Any]) -> None:
    """Check that each sample can cross into a sandbox, by encoding it."""
    types = {spec.name: spec.type for spec in inputs}
    for name, value in samples.items():
        if isinstance(value, pd.Series) and isinstance(value.name, str):
            require_unicode(f"The name of the Series {name}", value.name)  # pandas makes no column of it
        try:
            encode(value, types[name])
        except Unencodable as error:
            raise UnsupportedData(
                f"{name} cannot be sent to the sandbox unchanged.",
                why=str(error),
                hint=KINDS[types[name]].sample_hint,
            ) from None
        except ValueError as error:
            raise InvalidRequest(f"{name} does not have its declared type.", why=str(error)) from None


def request_record(request: Request, config: AgentConfig, key: RequestKey) -> dict[str, Any]:
    """The request as JSON for the journal, without samples, values of secrets and addresses of services."""
    settings = asdict(config)
    for private in ("env_vars", "api_base", "litellm_params", "log"):
        settings.pop(private)
    settings["secrets"] = [secret.key for secret in config.secrets]
    for record in ("resources", "image_config"):
        settings[record] = getattr(config, record).model_dump(exclude={"registry", "base_image"})
    return {**request_fields.field_records(request), "settings": settings, "key": key.record()}


# Versions of Python and packages, for the model
#
# The text follows the data and is the same for every stage. Versions are given without their last part, and as they
# were when the request was first asked. So a journal that was recorded with another Python can be replayed; the code is
# then tested in today's environment.

_STEP = "versions"
_HARMLESS = re.compile(r"[A-Za-z0-9 ._,<>=!~\[\]-]{1,400}")
"""A valid recorded text. The journal is untrusted."""


def environment_text(config: AgentConfig, lock: Sequence[str]) -> str:
    """`Python 3.11, pandas 3.1`, and the packages from the user's settings."""
    python = config.image_config.python_version or sys.version_info[:2]
    pins = {name_of(line): _short(pin_of(line).partition("==")[2]) for line in lock}
    if not pins and python == sys.version_info[:2]:
        pins["pandas"] = _short(metadata.version("pandas"))  # the notebook's, see `sandbox.environments`
    parts = [f"Python {python[0]}.{python[1]}", *([f"pandas {pins['pandas']}"] if "pandas" in pins else [])]
    for wanted in config.base_packages:
        name = requirement_name(wanted)
        parts += [f"{name} {pins[name]}" if name in pins else wanted] if name != "pandas" else []
    return ", ".join(parts)


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])


def recorded_environment(journal: Journal, request_key: str) -> str:
    """The recorded text of this request; "" if there is none."""
    text = (journal.find_step(_STEP, request_key) or {}).get("told")
    return text if isinstance(text, str) and _HARMLESS.fullmatch(text) else ""


def record_environment(journal: Journal, request_key: str, text: str) -> None:
    """Record the text of this request."""
    journal.add_step(_STEP, request_key, {"told": text})


def with_environment(data_context: str, versions: str) -> str:
    """The text about the data, followed by that about the environment."""
    return "\n\n".join(filter(None, (data_context, block("environment", versions))))
