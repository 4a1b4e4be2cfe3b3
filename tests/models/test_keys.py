from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.models.protocol import ModelConfig, Question, answer_form, question_key
from autocoder_jupyter.types import CodePlan
from tests.cases import each

CONFIG = ModelConfig("openai/gpt-4.1", params={"top_p": 0.5, "stop": {"b", "a", "c"}})
QUESTION = Question("plan", ({"role": "user", "content": "Zürich?"},), form=answer_form(CodePlan))


class Other(BaseModel):
    name: str


@each(
    "changes",
    [
        {"messages": ({"role": "user", "content": "Zurich?"},)},
        {"form": None},
        {"form": answer_form(Other)},
        {"max_tokens": 1},
        {"temperature": 0.0},
        {"variant": 1},
    ],
    ids=str,
)
def test_another_question_has_another_key(changes: dict[str, Any]) -> None:
    assert question_key(dataclasses.replace(QUESTION, **changes), CONFIG) != question_key(QUESTION, CONFIG)


@pytest.mark.parametrize("changes", [{"model": "openai/gpt-5"}, {"params": {"top_p": 0.6}}], ids=str)
def test_another_model_or_parameter_makes_another_key(changes: dict[str, Any]) -> None:
    assert question_key(QUESTION, dataclasses.replace(CONFIG, **changes)) != question_key(QUESTION, CONFIG)


@each(
    "changes",
    [
        {"api_base": "https://proxy.example/v1"},
        {"api_key": "OTHER_KEY"},
        {"seconds": 1.0},
        pytest.param(
            {"params": {**CONFIG.params, "timeout": 3, "api_key": "s", "extra_headers": {"a": "b"}}}, id="connection"
        ),
        pytest.param({"params": dict(reversed(list(CONFIG.params.items())))}, id="order"),
    ],
    ids=str,
)
def test_how_the_model_is_reached_is_not_in_the_key(changes: Mapping[str, Any]) -> None:
    assert question_key(QUESTION, dataclasses.replace(CONFIG, **changes)) == question_key(QUESTION, CONFIG)


def test_what_a_question_is_for_is_not_in_the_key() -> None:
    assert question_key(dataclasses.replace(QUESTION, stage="code"), CONFIG) == question_key(QUESTION, CONFIG)


def test_a_parameter_of_the_person_takes_the_place_of_ours() -> None:
    params = {"temperature": 1.0}
    hot = dataclasses.replace(QUESTION, temperature=1.0)
    assert question_key(QUESTION, ModelConfig("m", params=params)) == question_key(hot, ModelConfig("m"))


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_key_is_the_same_in_another_process(seed: str) -> None:
    program = (
        "from autocoder_jupyter.models.protocol import question_key\n"
        "from autocoder_jupyter.models.protocol import ModelConfig, Question\n"
        "from autocoder_jupyter.models.protocol import answer_form\n"
        "from autocoder_jupyter.types import CodePlan\n"
        "config = ModelConfig('openai/gpt-4.1', params={'top_p': 0.5, 'stop': {'b', 'a', 'c'}})\n"
        "question = Question('plan', ({'content': 'Z\\u00fcrich?', 'role': 'user'},), form=answer_form(CodePlan))\n"
        "print(question_key(question, config))\n"
    )
    environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert ran.stdout.strip() == question_key(QUESTION, CONFIG)


def test_a_parameter_without_json_form_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="object"):
        question_key(QUESTION, ModelConfig("m", params={"logit_bias": object()}))
