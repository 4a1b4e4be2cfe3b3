"""The request of a run that is only on disk, to go on with it after the kernel was restarted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.notebook import Notebook
from autocoder_jupyter.request import Request
from autocoder_jupyter.visible import visible

_RUN_ITS_CELL = "Run its cell again: what was answered already is not asked again."

_NOT_RECORDED_WHOLE = ("earlier", "wishes", "own_tests", "examples")


def recorded_request(notebook: Notebook, name: str, record: Mapping[str, Any]) -> Request:
    """What was asked, with the data that the notebook has under the names of the samples now.

    Settings are not read: the record may be a stranger's.

    Args:
        notebook: its variables are the data.
        name: of the result.
        record: `request.json`.

    Raises:
        InvalidRequest: it cannot be read, is not all that was asked, or a variable is not there.
    """
    from autocoder_jupyter.agent.arguments import build_request
    from autocoder_jupyter.types import InputSpec, OutputSpec

    if any(record.get(part) for part in _NOT_RECORDED_WHOLE):
        raise InvalidRequest(
            f"What {name} was asked for is not recorded as a whole.",
            why="It started from another version, or came with tests or examples of yours.",
            hint=_RUN_ITS_CELL,
        )
    try:
        asked = {
            "prompt": record["prompt"],
            "schema": record["schema"],
            "constraints": record["constraints"],
            "checks": record["checks"],
            "inputs": {spec["name"]: InputSpec.model_validate(spec) for spec in record["inputs"]},
            "outputs": {spec["name"]: OutputSpec.model_validate(spec) for spec in record["outputs"]},
        }
        samples = list(dict(record["samples"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidRequest(f"The record of {name} cannot be read.", why=str(error), hint=_RUN_ITS_CELL) from None
    return build_request(**asked, samples={each: _variable(notebook, name, each) for each in samples}, name=name)


def _variable(notebook: Notebook, name: str, sample: str) -> Any:
    if sample not in notebook.namespace:
        raise InvalidRequest(
            f"{name} needs {visible(sample)}, and the notebook has no such variable now.",
            hint="Run the cells that make it, then this line again; or run the cell of the request.",
        )
    return notebook.namespace[sample]
