"""Results whose functions run in the real local sandbox."""

from __future__ import annotations

import functools
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.calls import outcome_cache
from autocoder_jupyter.calls.binding import bind
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.calls.runtime import runtime_for
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
from autocoder_jupyter.scaling import contract
from autocoder_jupyter.types import CodePlan, CodeSolution, ImageConfig, InputSpec, OutputSpec, Report
from autocoder_jupyter.types.interface import DeclaredSplit, Split

FRAME = InputSpec(name="sales", type="DataFrame")

ROWS = Split(input="sales", kind="rows", ordered=False, comparisons=9)
BY_SHOP = Split(input="sales", kind="groups", keys=("shop",), ordered=False, comparisons=9)
BY_SHOP_IN_ORDER = BY_SHOP.model_copy(update={"ordered": True})
MERGE = Split(input="sales", kind="merge", ordered=False, comparisons=9)
WHOLE = Split(input="sales", kind="whole", comparisons=9, against={"whole": "it is known"})
"""Splits as an earlier process of this machine found them, for `built(known=…)`."""


@functools.cache
def locked() -> tuple[str, ...]:
    """The lock of the environment that has only the base packages."""
    spec = EnvironmentSpec((), sys.version_info[:2])
    return runtime_for("local", ImageConfig()).environment(spec).lock


Build = Callable[..., CodeGenEvalResult]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Makes a result from the body of `run(sales, …)`. No split and no outcome of another test is known to it.

    The environment is that of other tests: to build it takes seconds. So does a check of how a function may be split;
    with `known`, an earlier process found and kept it. That is for tests whose subject is what follows from a split.
    """
    monkeypatch.setattr(contract, "_home", lambda: tmp_path / "splits")
    monkeypatch.setattr(contract, "_kept", OrderedDict())
    monkeypatch.setattr(outcome_cache, "_home", lambda: tmp_path / "outcomes")

    def build(
        body: str,
        samples: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        inputs: tuple[InputSpec, ...] = (FRAME,),
        before: str = "",
        lock: bool = False,
        split: DeclaredSplit | None = None,
        known: Split | None = None,
    ) -> CodeGenEvalResult:
        names = ", ".join(spec.name if spec.required else f"{spec.name}=None" for spec in inputs)
        imports = "import os, time, uuid\nimport pandas as pd\nCHILD = uuid.uuid4().hex\n"
        code = f"{imports}{before}\n\ndef run({names}):\n    {body}\n"
        report = Report(
            name="growth",
            run_id="abc",
            prompt="…",
            success=True,
            solution=CodeSolution(code=code),
            plan=CodePlan(description="", approach="", split=split),
            declared_inputs=inputs,
            declared_outputs=tuple(
                OutputSpec(name=name, type=kind) for name, kind in (outputs or {"answer": "DataFrame"}).items()
            ),
            sample_shapes={
                name: shape_of(value) for name, value in (samples or {}).items() if hasattr(value, "columns")
            },
            sandbox="local",
            lock=locked() if lock else (),
        )
        result = CodeGenEvalResult(
            "growth",
            Pending.resolved(Resolution("ready", report)),
            samples=samples,
            options=CallOptions(sandbox="local"),
            root=tmp_path / ".autocode",
        )
        if known is not None:
            function, options = result._built(), result.options
            output, why = contract.split_output(function, options)
            assert not why
            key = contract._key(function, options, bind(function, (), {}), known.input, output, split)
            contract._store(key, known)
        return result

    return build
