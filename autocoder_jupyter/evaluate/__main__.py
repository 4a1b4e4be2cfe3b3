"""Run tasks with known answers with one or more models.

    python -m autocoder_jupyter.evaluate --model openai/gpt-4.1 --max-cost 1 [--tasks FOLDER]

A line of JSON for each task is written to the standard output, and a Markdown table to the standard error.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from autocoder_jupyter.agent.generation import reached
from autocoder_jupyter.agent.settings import agent_config
from autocoder_jupyter.errors import AutocodeError
from autocoder_jupyter.evaluate.trial import SHIPPED, UNASKED, TaskScore, markdown, read_tasks, try_model
from autocoder_jupyter.models import preflight
from autocoder_jupyter.request import AgentConfig
from autocoder_jupyter.settings.choices import SANDBOXES
from autocoder_jupyter.settings.parameters import positive_number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tasks. Returns 0, or 2 if a model cannot be asked or tasks cannot be read. What was paid for is shown."""
    options = _parser().parse_args(arguments)
    scores: list[TaskScore] = []
    configs: list[AgentConfig] = []

    def hear(score: TaskScore) -> None:
        scores.append(score)
        print(json.dumps(dataclasses.asdict(score)), flush=True)

    try:
        tasks = read_tasks(options.tasks)
        configs = [
            agent_config(model=model, api_base=options.api_base, api_key=options.api_key, sandbox=options.sandbox)
            for model in options.model
        ]
        for config in configs:  # before any is paid
            preflight.check(reached(config, config.model))
        for config in configs:
            try_model(tasks, config, max_cost=options.max_cost, max_tokens=options.max_tokens, hear=hear)
    except AutocodeError as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        if scores:
            print(markdown(scores, configs[0]), file=sys.stderr)
    return 2 if any(score.failed_stage == UNASKED for score in scores) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m autocoder_jupyter.evaluate", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--model", action="append", required=True, help="provider/model; may be given more than once")
    parser.add_argument("--tasks", type=Path, default=SHIPPED, help="a folder of tasks; ours by default")
    parser.add_argument("--api-base", help="the address of the model")
    parser.add_argument("--api-key", metavar="VARIABLE", help="the NAME of the variable with the key")
    parser.add_argument("--sandbox", default="auto", choices=("auto", *SANDBOXES))
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--max-cost", type=positive_number, help="US dollars for all tasks of a model together")
    budget.add_argument("--max-tokens", type=_positive_integer, help="tokens for all tasks of a model together")
    return parser


def _positive_integer(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise ValueError(text)
    return value


if __name__ == "__main__":
    sys.exit(main())
