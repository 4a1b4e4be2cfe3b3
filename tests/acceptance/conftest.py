"""Generations and calls as a user starts them, on every sandbox that works on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.types import CodeSolution, InputSpec, OutputSpec, Report, TypeName
from tests.sandbox.sandboxes import EACH, open_sandbox

Build = Callable[..., CodeGenEvalResult]


@pytest.fixture(scope="session", params=EACH)
def sandbox_name(request: pytest.FixtureRequest) -> str:
    return open_sandbox(request.param).name


def build_result(
    sandbox: str, root: Path, code: str, inputs: dict[str, TypeName], outputs: dict[str, TypeName], **options: Any
) -> CodeGenEvalResult:
    """A result like that of a generation, for a function that the test defines."""
    report = Report(
        name="crossing",
        run_id="abc",
        prompt="…",
        success=True,
        solution=CodeSolution(code=code),
        declared_inputs=tuple(InputSpec(name=name, type=kind) for name, kind in inputs.items()),
        declared_outputs=tuple(OutputSpec(name=name, type=kind) for name, kind in outputs.items()),
        sandbox=sandbox,
    )
    return CodeGenEvalResult(
        "crossing",
        Pending.resolved(Resolution("ready", report)),
        options=CallOptions(sandbox=sandbox, **options),  # type: ignore[arg-type]
        root=root,
    )


@pytest.fixture
def build(sandbox_name: str, tmp_path: Path) -> Iterator[Build]:
    def built(
        code: str, inputs: dict[str, TypeName] | None = None, outputs: dict[str, TypeName] | None = None, **options: Any
    ) -> CodeGenEvalResult:
        return build_result(sandbox_name, tmp_path / ".autocode", code, inputs or {}, outputs or {}, **options)

    yield built
