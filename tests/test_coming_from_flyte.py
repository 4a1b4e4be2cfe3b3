"""What *How it compares* says about scripts that come from Flyte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import AutoCoderAgent
from autocoder_jupyter.errors import InvalidRequest, UnsupportedData
from tests.scripted_model import Answer, ScriptedModel, always


@pytest.mark.parametrize("parameter", ["resources", "secrets", "cache"])
def test_records_of_flyte_are_refused(parameter: str) -> None:
    import flyte

    given: dict[str, Any] = {
        "resources": flyte.Resources(cpu=1, memory="1Gi"),
        "secrets": [flyte.Secret("KEY")],
        "cache": flyte.Cache("auto"),
    }
    with pytest.raises(InvalidRequest, match=parameter):
        AutoCoderAgent(model="openai/x", **{parameter: given[parameter]})


@pytest.mark.parametrize("parameter", ["resources", "secrets", "cache"])
def test_what_the_page_says_to_write_is_taken(parameter: str) -> None:
    given: dict[str, Any] = {"resources": {"cpu": 1, "memory": "1Gi"}, "secrets": ["KEY"], "cache": "disable"}
    AutoCoderAgent(model="openai/x", **{parameter: given[parameter]})


@pytest.mark.parametrize("parameter", ["inputs", "outputs"])
@pytest.mark.parametrize("name", ["File", "Dir", "DataFrame"])
def test_a_class_of_flyte_is_no_type(parameter: str, name: str) -> None:
    import flyte.io

    with ScriptedModel(always(Answer("{}"))) as model:
        agent = AutoCoderAgent(**model.settings)
        with pytest.raises(InvalidRequest, match=rf"{parameter}: t cannot be a flyte\.io\.[\w.]*{name}\.") as refused:
            given: Any = {parameter: {"t": getattr(flyte.io, name)}}
            agent.generate(prompt="x", **given)
        assert refused.value.hint == f'Write "{name}".' and model.requests == []


def test_a_file_of_flyte_is_no_sample(tmp_path: Path) -> None:
    from flyte.io import File

    (tmp_path / "sales.csv").write_text("a\n1\n")
    agent = AutoCoderAgent(model="openai/x", api_base="http://127.0.0.1:9")
    with pytest.raises((InvalidRequest, UnsupportedData), match="cannot be a File"):
        agent.generate(prompt="x", samples={"sales": File(path=str(tmp_path / "sales.csv"))}, outputs={"t": float})
