"""A table whose rows are elsewhere as a sample: what the model, the card, the record and another day have of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.data.sampling import sampled
from autocoder_jupyter.display.card import card
from autocoder_jupyter.magics.command import parse_cell
from autocoder_jupyter.magics.references import collect_samples
from autocoder_jupyter.result.recorded import result_of
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import run_of
from autocoder_jupyter.types import OutputSpec, Report
from autocoder_jupyter.types.records import Drawn
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.view.as_text import document_text
from tests.runner import Runner, fenced
from tests.scripted_model import prompt_of

pytestmark = pytest.mark.real_sandbox

ROWS = 24_000
SALES = pd.DataFrame({"shop": np.arange(ROWS) % 7, "units": np.arange(ROWS) % 5})

PLAN = json.dumps(
    {
        "description": "The units of each shop.",
        "approach": "Group and sum.",
        "outputs": [{"name": "table", "type": "DataFrame"}],
        "assumptions": [],
    }
)

CODE = """\
import pandas as pd


def run(sales: pd.DataFrame) -> pd.DataFrame:
    return sales.groupby("shop", as_index=False)[["units"]].sum()"""

TESTS = """\
import pandas as pd
from solution import run


def test_units():
    assert run(sales=pd.DataFrame({"shop": [1, 1, 2], "units": [1, 2, 4]}))["units"].tolist() == [3, 4]"""

GIVEN: dict[str, Any] = {
    "prompt": "The units of each shop of @sales.",
    "outputs": (OutputSpec(name="table", type="DataFrame"),),
}
SCRIPT: dict[str, Any] = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}

SAID = "a sample of 10,000 of 24,000 rows"


def lazy() -> pl.LazyFrame:
    return pl.from_pandas(SALES).lazy()


def shown(state: FunctionRun) -> str:
    return " ".join(document_text(card(state)).split())


@pytest.mark.local_sandbox
async def test_a_function_of_a_lazy_frame_is_made_of_a_sample_and_kept_on_another_day(runner: Runner) -> None:
    samples = await sampled({"sales": lazy()})
    first = await runner.generate(SCRIPT, samples=samples, **GIVEN)
    assert first.report.success
    assert SAID in prompt_of(first.model.requests[0])
    drawn = Drawn(kind="polars LazyFrame", rows=10_000, of=ROWS)
    state = FunctionRun("growth")
    for event in first.events:
        state = state.after(event)
    for told in (state, run_of(first.report, "ready")):
        assert f"sales: on {SAID}; growth.over(sales) computes all rows" in shown(told)
    version = Versions(runner.root, "growth").last_good()
    assert version is not None and version.report.drawn == {"sales": drawn}

    again = await runner.generate({}, samples=await sampled({"sales": lazy()}), **GIVEN)
    assert again.asked == [] and again.report.kept == SAID and again.report.drift == ()

    growth = result_of(version, runner.root, CallOptions(sandbox="local"), samples=samples, trusted=True)
    assert growth.run()["units"].sum() == samples["sales"]["units"].sum() < SALES["units"].sum()
    assert (await growth.verify.aio(sales=lazy())).report.kept == SAID
    assert growth.run(lazy())["units"].sum() == SALES["units"].sum()


def test_a_cell_draws_a_sample_of_what_it_names() -> None:
    namespace = {"sales": lazy(), "shops": SALES.head(3)}
    samples = collect_samples(parse_cell("growth -s few=sales.head(5)", "Join @sales and @shops."), namespace)
    assert {name: len(value) for name, value in samples.items()} == {"sales": 10_000, "shops": 3, "few": 5}


def test_what_was_drawn_without_a_seed_is_said() -> None:
    drawn = Drawn(kind="ibis Table", rows=9_700, of=ROWS, seeded=False)
    report = Report(name="growth", run_id="a", prompt="…", success=True, drawn={"sales": drawn})
    assert "9,700 of 24,000 rows, drawn without a seed: the next time, others are drawn" in shown(
        run_of(report, "ready")
    )
