"""A question about a result: a request whose data are the inputs and tables of the function, which it may call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import pandas as pd

from autocoder_jupyter.agent.arguments import folder_name
from autocoder_jupyter.engine.start import no_more_than_then
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.types import OutputSpec
from autocoder_jupyter.versions import Versions

OUTPUTS = (OutputSpec(name="answer", type="str"), OutputSpec(name="evidence", type="DataFrame"))
"""A sentence, and the table that it rests on."""

MOST_CHARACTERS = 10_000

C = TypeVar("C", bound=AgentConfig)


def shared_as(result: CodeGenEvalResult, config: C) -> C:
    """The settings, with no more shared than when the function was made: its data are those of the question too."""
    return no_more_than_then(config, Versions(result.journal_root, result.name).request(result.report.run_id))


def question_about(result: CodeGenEvalResult, question: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `generate` for a question about a function that was verified here. Calls the function.

    Args:
        result: the function.
        question: in the words of the user.
        inputs: values by input name, instead of the samples that the result has.

    Raises:
        InvalidRequest: there is no question, no such input or no data.
    """
    if not isinstance(question, str) or not question.strip() or len(question) > MOST_CHARACTERS:
        raise InvalidRequest(
            f"A question must be a text of at most {MOST_CHARACTERS:,} characters.",
            hint=f'Write {result.name}.ask("Why did March fall?").',
        )
    names = [spec.name for spec in result.report.declared_inputs]
    if strange := [name for name in inputs if name not in names]:
        raise InvalidRequest(
            f"{', '.join(strange)} is not an input of {result.name}.", hint=f"Its inputs are {', '.join(names)}."
        )
    samples = {name: value for name, value in {**result.original_samples, **inputs}.items() if name in names}
    required = [spec.name for spec in result.report.declared_inputs if spec.required and spec.name not in samples]
    if required:
        raise InvalidRequest(
            f"{result.name} has no data here, so nothing can be asked about them.",
            hint=f"Pass them: {result.name}.ask(…, {', '.join(f'{name}={name}' for name in required)}).",
        )
    given = result.run(**samples)
    outputs = [spec.name for spec in result.report.declared_outputs]
    values = dict(zip(outputs, [given] if len(outputs) == 1 else given, strict=True))
    tables = {
        name if name not in samples else f"{name}_result": value
        for name, value in ((re.sub(r"\W", "_", name), value) for name, value in values.items())
        if isinstance(value, pd.DataFrame | pd.Series)
    }
    call, named = f"{result.name}({', '.join(names)})", ", ".join(tables) or "values"
    return {
        "prompt": prompt("question.about a result", question=question.strip(), call=call, tables=named),
        "samples": {**samples, **tables},
        "outputs": {spec.name: spec for spec in OUTPUTS},
        "helpers": {result.name: result},
        "name": folder_name(f"{result.name} {question}"),
    }
