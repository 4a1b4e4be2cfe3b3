"""Thoughts that a model writes into its answer: they are neither the answer nor a part of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.answers import ask_code
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.protocol import SILENT, Listener, Question
from autocoder_jupyter.models.thoughts import AnswerText, without_thoughts
from autocoder_jupyter.types import Exchange
from tests.cases import each
from tests.model_faults import DONE, chunk, sends, whole
from tests.scripted_model import Answer, ScriptedModel

CODE = "```python\ndef run():\n    return 1\n```\n"
DRAFT = "Let me try.\n```python\ndef run():\n    return 2  # first, a long draft\n```\nNo."
ANALYSIS, FINAL = "<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>final<|message|>"

THOUGHTFUL = {
    "think": f"<think>\n{DRAFT}\n</think>\n\n{CODE}",
    "empty thoughts": f"<think>\n\n</think>\n\n{CODE}",
    "thinking": f"<thinking>{DRAFT}</thinking>{CODE}",
    "seed": f"<seed:think>{DRAFT}</seed:think>{CODE}",
    "after a word": f"Sure.\n<think>{DRAFT}</think>\n{CODE}",
    "two": f"<think>a</think>\n<think>{DRAFT}</think>\n{CODE}",
    "lone": f"{DRAFT}\n</think>\n\n{CODE}",
    "lone at the end of a sentence": f"{DRAFT} Done.</think>\n{CODE}",
    "lone before a fence": f"{DRAFT}\n</think>{CODE}",
    "magistral": f"[THINK]{DRAFT}[/THINK]{CODE}",
    "kimi": f"◁think▷{DRAFT}◁/think▷{CODE}",
    "cohere": f"<|START_THINKING|>{DRAFT}<|END_THINKING|>{CODE}<|END_RESPONSE|>",
    "harmony": f"{ANALYSIS}{DRAFT}<|end|>{FINAL}{CODE}<|return|>",
    "harmony in two thoughts": f"{ANALYSIS}a<|end|><|start|>assistant<|channel|>commentary<|message|>{DRAFT}<|end|>"
    f"<|start|>assistant<|channel|>final <|constrain|>text<|message|>{CODE}",
    "harmony with a call": f"{ANALYSIS}{DRAFT}<|end|><|start|>assistant<|channel|>commentary to=functions.write "
    f"<|constrain|>json<|message|>{CODE}<|call|>",
    "harmony whose beginning was in the prompt": f"{DRAFT}<|end|>{FINAL}{CODE}",
    "harmony without tokens": f"analysisWe write it. {DRAFT}assistantfinal{CODE}",
}


@each("name", list(THOUGHTFUL))
def test_the_answer_comes_after_the_thoughts(name: str) -> None:
    assert without_thoughts(THOUGHTFUL[name]).removeprefix("Sure.").strip() == CODE.strip()


@each("name", list(THOUGHTFUL))
@pytest.mark.parametrize("size", [1, 2, 7, 80])
def test_pieces_make_the_same_answer_and_no_draft_is_streamed_whose_beginning_was_marked(name: str, size: int) -> None:
    text, reader = THOUGHTFUL[name], AnswerText()
    given = [reader.take(text[start : start + size]) for start in range(0, len(text), size)]
    streamed = "".join([*given, reader.end()])
    assert reader.answer == without_thoughts(text)
    assert without_thoughts(streamed).strip() == reader.answer.strip()
    if "lone" not in name and "prompt" not in name:
        assert "a long draft" not in streamed


WITHOUT = [
    CODE,
    "",
    "analysis of sales: none",
    '{"assumptions": ["text up to </think> is dropped"]}',
    'import re\n\n\ndef run(s):\n    return re.sub(r"<think>.*?</think>", "", s)\n',
    'x = """\n<b>bold</b>\n"""\n',
    "```python\nTEXT = '''\n<think>\nwhy\n</think>\nyes\n'''\n```\nIt keeps </think> tags.",
    "[1, 2]\n<table>\n  [a]\n",
    "1 < 2 and [3",
]


@each("text", WITHOUT)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_an_answer_without_thoughts_stays_as_it_is(text: str, size: int) -> None:
    reader = AnswerText()
    given = [reader.take(text[start : start + size]) for start in range(0, len(text), size)]
    assert "".join([*given, reader.end()]) == text == reader.answer


@each("text", ["<think>I wonder", f"<think>{DRAFT}</think>", f"{DRAFT}\n</think>\n", "<|channel|>analysis<|message|>I"])
def test_thoughts_alone_are_no_answer(text: str) -> None:
    reader = AnswerText()
    reader.take(text)
    reader.end()
    assert reader.answer.strip() == ""
    assert reader.thoughts.strip()


def test_text_that_cannot_be_a_mark_is_given_at_once() -> None:
    reader = AnswerText()
    assert [reader.take("a" * 80), reader.take("b" * 80), reader.take(" <b")] == ["a" * 80, "b" * 80, " "]
    assert reader.take("ut it goes on\n") == "<but it goes on\n"


# Through litellm

QUESTION = Question("code", ({"role": "user", "content": "Write it."},))
PLAIN = "def run():\n    return 1\n"


def call_of(arguments: str) -> dict[str, Any]:
    return {"index": 0, "id": "c", "type": "function", "function": {"name": "python", "arguments": arguments}}


async def heard_answer(answer: Answer) -> tuple[str, str]:
    pieces: list[str] = []
    with ScriptedModel([answer]) as endpoint:
        model = LiteLLMModel(endpoint.config())
        exchange = await model.ask(QUESTION, Listener(on_text=pieces.append))
    return exchange.answer, "".join(pieces)


async def test_thoughts_are_neither_streamed_nor_recorded() -> None:
    answer, streamed = await heard_answer(Answer(THOUGHTFUL["think"], piece=5))
    assert answer.strip() == streamed.strip() == CODE.strip()


async def test_thoughts_without_end_are_told_with_the_room_that_they_had() -> None:
    endless = Answer(wire=sends(chunk({"reasoning_content": "They want a sum."}), chunk({}, "length"), DONE))
    with ScriptedModel([endless] * 4) as endpoint, pytest.raises(UnusableAnswer) as caught:
        await LiteLLMModel(endpoint.config()).ask(QUESTION)
    assert "Within 64,000 tokens it wrote only thoughts: They want a sum." in caught.value.why
    assert "--effort quick" in caught.value.hint and endpoint.requests[-1]["max_tokens"] == 64_000


async def test_thoughts_that_used_all_tokens_get_more_room() -> None:
    with ScriptedModel([Answer("<think>Hm. " * 9, finish_reason="length"), f"<think>Ah.</think>{CODE}"]) as endpoint:
        exchange = await LiteLLMModel(endpoint.config()).ask(QUESTION)
    assert exchange.answer == CODE
    assert [len(request["messages"]) for request in endpoint.requests] == [1, 1]
    assert [request["max_tokens"] for request in endpoint.requests] == [8000, 16000]


@pytest.mark.parametrize(
    "call",
    [
        [chunk({"tool_calls": [call_of(json.dumps({"code": PLAIN}))]})],
        [chunk({"tool_calls": [call_of(PLAIN)]})],
        [
            chunk({"tool_calls": [call_of('{"path": "a.py", ')]}),
            chunk({"tool_calls": [call_of(f'"x": {json.dumps(PLAIN)}}}')]}),
        ],
        [
            chunk({"content": "<think>I call it.</think>"}),
            chunk({"tool_calls": [call_of(json.dumps({"code": PLAIN}))]}),
        ],
        [
            chunk({"content": "I'll write it to a file now."}),
            chunk({"tool_calls": [call_of(json.dumps({"path": "solution.py", "content": PLAIN}))]}),
        ],
        [chunk({"content": CODE}), chunk({"tool_calls": [call_of(json.dumps({"path": "."}))]})],
    ],
)
async def test_code_is_taken_from_a_call_of_a_tool(call: list[bytes]) -> None:
    wire = sends(*call, chunk({}, "tool_calls"), DONE)
    with ScriptedModel([Answer(wire=wire)]) as endpoint:
        code, _ = await ask_code(LiteLLMModel(endpoint.config()), QUESTION, must_define="run")
    assert code == PLAIN and len(endpoint.requests) == 1


async def test_code_is_taken_from_a_call_in_plain_json_and_in_text() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "python", "arguments": json.dumps({"code": PLAIN})}}
    body = whole(None).replace(b'"content": null', b'"content": null, "tool_calls": ' + json.dumps([call]).encode())
    text = f"<tool_call>\n{json.dumps({'name': 'python', 'arguments': {'code': PLAIN}})}\n</tool_call>"
    beside = body.replace(b'"content": null', b'"content": "I write it now."')
    bodies = [Answer(wire=sends(each, kind="application/json")) for each in (body, beside)]
    for answer in (*bodies, Answer(text), Answer(f"I write it now.\n{text}")):
        with ScriptedModel([answer]) as endpoint:
            code, _ = await ask_code(LiteLLMModel(endpoint.config()), QUESTION, must_define="run")
        assert code == PLAIN


@pytest.mark.parametrize(
    "answer",
    [
        Answer("<think>They want a sum.</think>"),
        Answer(wire=sends(chunk({"reasoning_content": "They want a sum."}), chunk({}, "stop"), DONE)),
    ],
    ids=["in the text", "in a field of their own"],
)
async def test_an_answer_of_thoughts_alone_is_called_so(answer: Answer) -> None:
    with ScriptedModel([answer] * 3) as endpoint, pytest.raises(UnusableAnswer) as caught:
        await ask_code(LiteLLMModel(endpoint.config()), QUESTION, must_define="run")
    assert "only thoughts" in caught.value.why and "They want a sum." in caught.value.why
    assert endpoint.requests[1]["messages"][1]["content"] == "(nothing)"
    assert "only thoughts" in endpoint.requests[1]["messages"][2]["content"]


async def test_a_recorded_answer_with_thoughts_is_read_without_them() -> None:
    class Recorded:
        async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
            return Exchange(stage="code", key="", model="m", messages=(), answer=THOUGHTFUL["lone"])

    code, _ = await ask_code(Recorded(), QUESTION, must_define="run")
    assert code == PLAIN
