from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autocoder_jupyter.lab.requests import take_settings
from autocoder_jupyter.magics.notebook import Notebook
from tests.lab.conftest import ScriptedJobs


def test_what_the_page_gives_reaches_the_next_cell(shell: Any, notebook: Notebook, jobs: ScriptedJobs) -> None:
    told = take_settings(notebook, {"model": "openai/mine", "max_cost": 0.5, "packages": ["geopandas"]})
    assert told["settings"]["packages"] == {"value": ["geopandas"], "origin": "JupyterLab"}
    shell.run("%%autocode growth --max-cost 2\nWords")
    assert (jobs.last.config.model, jobs.last.config.max_cost) == ("openai/mine", 2.0)
    take_settings(notebook, {})
    shell.run("%%autocode growth\nWords")
    assert (jobs.last.config.model, jobs.last.config.max_cost) == (type(jobs.last.config)().model, None)


def test_the_page_gives_a_model_without_a_key_and_a_price(shell: Any, notebook: Notebook, jobs: ScriptedJobs) -> None:
    free = {"api_key": "not-needed", "input_cost_per_token": 0, "output_cost_per_token": 1.5e-07}
    take_settings(notebook, {"litellm_params": free})
    shell.run("%%autocode growth\nWords")
    assert dict(jobs.last.config.litellm_params) == free
    take_settings(notebook, {"litellm_params": {}})
    assert notebook.settings().origins["litellm_params"] == "default"


def test_values_that_may_be_secrets_stay_in_the_kernel(shell: Any, notebook: Notebook) -> None:
    traits: Any = notebook.traits
    traits.env_vars = {"TOKEN": "sesame"}
    told = json.dumps(take_settings(notebook, {"litellm_params": {"api_key": "open-up"}}))
    assert "TOKEN" in told and "sesame" not in told and "open-up" not in told


def test_a_broken_pyproject_is_said_and_what_the_page_gives_is_kept(notebook: Notebook, here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool.autocode")
    told = take_settings(notebook, {"share": "stats", "cpu": "many"})
    assert told["settings"] == {} and "pyproject.toml cannot be read." in told["error"]
    assert told["refused"] == {"cpu": "cpu must be a number above 0, not 'many'."}
    (here / "pyproject.toml").write_text("")
    assert notebook.settings().origins["share"] == "JupyterLab"
