"""A parameter that is True or False takes nothing else: `resume="no"` would be a yes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import autocoder_jupyter
from autocoder_jupyter import AutoCoderAgent, CodeGenEvalResult, CodeModeAgent
from autocoder_jupyter.codemode.tables import Frame, Visibility, frame_of
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.scaling.map import Map
from autocoder_jupyter.scaling.over import Over
from tests.scaling.conftest import BY_SHOP, Build, built  # noqa: F401  (a fixture)

SALES = pd.DataFrame({"shop": ["a", "b"] * 4, "units": range(8)})
BODY = "return sales.groupby('shop', as_index=False)['units'].sum()"

FLAGS: dict[str, Callable[[CodeGenEvalResult, Path, Any], object]] = {
    "AutoCoderAgent.skip_tests": lambda growth, root, flag: AutoCoderAgent(skip_tests=flag),
    "AutoCoderAgent.locked": lambda growth, root, flag: AutoCoderAgent(locked=flag),
    "AutoCoderAgent.block_network": lambda growth, root, flag: AutoCoderAgent(block_network=flag),
    "AutoCoderAgent.ask": lambda growth, root, flag: AutoCoderAgent(ask=flag),
    "CodeModeAgent.locked": lambda growth, root, flag: CodeModeAgent([], locked=flag),
    "CodeGenEvalResult.as_task.reuse": lambda growth, root, flag: growth.as_task("task", reuse=flag),
    "CodeGenEvalResult.with_options.reuse": lambda growth, root, flag: growth.with_options(reuse=flag),
    "CodeGenEvalResult.export.tests": lambda growth, root, flag: growth.export(root / "growth.py", tests=flag),
    "CodeGenEvalResult.load.trusted": lambda growth, root, flag: CodeGenEvalResult.load(
        growth.save(root / "saved"), trusted=flag
    ),
    "CodeGenEvalResult.model_validate_json.trusted": lambda growth, root, flag: CodeGenEvalResult.model_validate_json(
        growth.model_dump_json(), trusted=flag
    ),
    "Over.resume": lambda growth, root, flag: growth.over(root / "none.parquet", resume=flag),
    "Map.resume": lambda growth, root, flag: growth.map([], resume=flag),
    "Frame.sort.descending": lambda growth, root, flag: frame_of(SALES, "sales", Visibility()).sort(
        "units", descending=flag
    ),
    "load.trusted": lambda growth, root, flag: autocoder_jupyter.load("growth", journal_root=root, trusted=flag),
    "tool.ask": lambda growth, root, flag: autocoder_jupyter.tool(ask=flag),
    "tool.effects": lambda growth, root, flag: autocoder_jupyter.tool(effects=flag),
}

ELSEWHERE = {
    "CodeGenEvalResult.to_flyte.cache",  # `tests/tasks/test_flyte_task.py`
    "CodeGenEvalResult.answers_meanwhile",  # only this package makes results
}


def _flags() -> Iterator[str]:
    owners = [AutoCoderAgent, CodeModeAgent, CodeGenEvalResult, Over, Map, Frame]
    methods = [
        (owner.__name__ if name in ("__init__", "__call__") else f"{owner.__name__}.{name}", method)
        for owner in owners
        for name, method in inspect.getmembers(owner, callable)
        if not name.startswith("_") or name in ("__init__", "__call__")
    ]
    functions: list[tuple[str, Any]] = [("load", autocoder_jupyter.load), ("tool", autocoder_jupyter.tool)]
    for name, method in [*methods, *functions]:
        for parameter in inspect.signature(method).parameters.values():
            if "bool" in str(parameter.annotation):
                yield f"{name}.{parameter.name}"


def test_each_flag_is_tried() -> None:
    assert {*_flags()} == FLAGS.keys() | ELSEWHERE


@pytest.mark.local_sandbox
@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_is_true_or_false(built: Build, tmp_path: Path, name: str) -> None:  # noqa: F811
    growth = built(BODY, {"sales": SALES}, known=BY_SHOP)
    for number, flag in enumerate(("yes", "no", 1, [True])):
        with pytest.raises((InvalidRequest, ValueError), match=f"{name.rpartition('.')[2]} must be (?i:true or false)"):
            FLAGS[name](growth, tmp_path / str(number), flag)
