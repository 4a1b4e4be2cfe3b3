"""The order of a category, from the sample of a generation to calls with files and the exported script."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.errors import DataDrift
from autocoder_jupyter.result.recorded import result_of
from autocoder_jupyter.versions import Versions
from tests.runner import Runner, fenced

ORDER = ["S", "M", "L"]
CODE = "def run(sales):\n    return str(sales.sort_values('size')['size'].iloc[-1])\n"
TESTS = (
    "import pandas as pd\nfrom solution import run\n\ndef test_the_largest_counts():\n"
    "    sizes = pd.Categorical(['S', 'L'], ['S', 'M', 'L'], ordered=True)\n"
    "    assert run(sales=pd.DataFrame({'size': sizes})) == 'L'\n"
)
PLAN = json.dumps(
    {
        "description": "The largest size.",
        "approach": "Sort.",
        "inputs": [{"name": "sales", "type": "DataFrame", "meaning": "sizes"}],
        "outputs": [{"name": "largest", "type": "str", "meaning": "a size"}],
        "assumptions": [],
        "constraints": [],
        "test_cases": [],
        "packages": [],
    }
)


def sizes(values: list[str], order: list[str] | None) -> pd.DataFrame:
    return pd.DataFrame({"size": pd.Categorical(values, order, ordered=True) if order else values})


@pytest.mark.local_sandbox
async def test_each_form_of_the_data_has_the_answer_of_the_frame(runner: Runner, tmp_path: Path) -> None:
    script: dict[str, Any] = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
    made = await runner.begin(script, samples={"sales": sizes(["M", "S", "L"], ORDER)}, outputs=())
    assert made.report.success
    version = Versions(runner.root, "growth").last_good()
    assert version is not None
    growth = result_of(version, runner.root, CallOptions(), trusted=False)
    today = sizes(["S", "M", "S"], ORDER)
    today.to_csv(tmp_path / "a.csv", index=False)
    today.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    today.to_excel(tmp_path / "a.xlsx", index=False)
    forms = [today, today.astype(str), today.astype(str).astype("category"), sizes(["S", "M"], ["S", "M"])]
    for form in (*forms, *(tmp_path / f"a.{suffix}" for suffix in ("csv", "jsonl", "xlsx"))):
        assert growth.run(form) == "M"
    turned = sizes(["S", "M"], ORDER[::-1])
    with pytest.raises(DataDrift, match="has the order 'L' < 'M' < 'S' instead of 'S' < 'M' < 'L'"):
        growth.run(turned)
    with pytest.raises(DataDrift, match="'XL', which is not in the recorded order"):
        growth.run(sizes(["S", "XL"], None))
    program = growth.export(tmp_path / "largest.py")
    command = [sys.executable, str(program), "--sales", str(tmp_path / "a.csv")]
    assert "largest: M" in subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: ASYNC221
    again = await runner.generate(script, samples={"sales": turned}, outputs=())
    assert again.asked and again.report.run_id != made.report.run_id
