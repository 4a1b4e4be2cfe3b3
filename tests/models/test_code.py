from __future__ import annotations

import ast
import json

import pytest

from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.answers import NotCode, ask_code, extract_code
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.models.protocol import Question
from tests.cases import each
from tests.scripted_model import Answer, ScriptedModel

CODE = 'import pandas as pd\n\n\ndef run(sales: pd.DataFrame) -> str:\n    return "`ok`, äh"\n'


def indented(text: str, by: str = "    ") -> str:
    return "".join(by + line for line in text.splitlines(keepends=True))


@each(
    "answer",
    [
        CODE,
        f"\n\n{CODE}\n\n",
        f"\ufeff{CODE}",
        CODE.replace("\n", "\r\n"),
        indented(CODE),
        f"```python\n{CODE}```",
        f"```\n{CODE}```",
        f"```py\n{CODE}```\n",
        f"```Python3 title=solution.py\n{CODE}```",
        f"```{{python}}\n{CODE}```",
        f"```solution.py\n{CODE}```",
        f"```tool_code\n{CODE}```",
        f"~~~python\n{CODE}~~~",
        f"````python\n{CODE}````",
        f"```python\n{CODE}",
        indented(f"```python\n{CODE}```"),
        f"1. The code:\n\n   ```python\n{indented(CODE, '   ')}   ```\n",
        f"Sure! Here is the code.\n\n```python\n{CODE}```\n\nIt returns a text.",
        f"Install:\n```bash\npip install pandas\n```\nThen:\n```python\n{CODE}```\nPrints:\n```\nok\n```",
        f"```python\nimport os\n```\nor rather\n```python\n{CODE}```",
        f"```text\nrun\n```\n```\n{CODE}```",
        f"Sure, here's the code: ```python\n{CODE}```\nIt returns a text.",
        f"I write it.\n{json.dumps({'path': 'solution.py', 'content': CODE})}",
        f"Here is the code:\n\n{CODE}\nThis function returns a text.",
        json.dumps({"language": "python", "code": CODE}),
        json.dumps({"code": f"```python\n{CODE}```"}),
        f"```json\n{json.dumps({'code': CODE}, indent=2)}\n```",
        json.dumps({"code": CODE.replace("\n", "\\n").replace('"', '\\"')}),
        '{"code": "' + CODE.replace('"', '\\"') + '"}',
    ],
)
def test_code_is_found_however_it_is_wrapped(answer: str) -> None:
    assert extract_code(answer) == CODE


DOCUMENTED = '''def run() -> int:
    """Give one.

    ```python
    run()
    ```

    ~~~
    run()
    ~~~
    """
    return 1
'''


@pytest.mark.parametrize("answer", [DOCUMENTED, f"```python\n{DOCUMENTED}```", f"Here:\n```\n{DOCUMENTED}```\nDone."])
def test_fences_inside_of_a_docstring_stay(answer: str) -> None:
    assert extract_code(answer) == DOCUMENTED


def test_code_that_holds_a_markdown_table_with_fences_stays_whole() -> None:
    code = 'TEXT = """\n```\na\n```\n"""\n\n\ndef run() -> str:\n    return TEXT\n'
    assert extract_code(f"```python\n{code}```") == code


def test_of_several_blocks_the_one_that_defines_the_name_is_taken() -> None:
    helper = "def help_me() -> int:\n    a = 1\n    b = 2\n    return a + b\n"
    answer = f"```python\n{CODE}```\nTry it:\n```python\n{helper * 5}```"
    assert extract_code(answer, must_define="run") == CODE


def test_of_several_blocks_that_define_the_name_the_last_is_taken_also_if_an_earlier_one_is_longer() -> None:
    draft = CODE.replace("return", "draft = 1\n    return")
    answer = f"First attempt:\n```python\n{draft}```\nCorrected:\n```python\n{CODE}```\n"
    assert extract_code(answer, must_define="run") == CODE
    signature = "def run(sales: pd.DataFrame) -> str:\n    ...\n"
    assert extract_code(f"{answer}It has this signature:\n```python\n{signature}```", must_define="run") == CODE


def test_of_several_test_modules_the_last_is_taken() -> None:
    tests = "def test_a():\n    assert run() == 1\n"
    usage = "import pytest\n\npytest.main()\n" + "# run it\n" * 50
    draft = f"{tests}\n\ndef test_b():\n    assert run() == 2\n"
    assert extract_code(f"```python\n{draft}```\nOr:\n```python\n{tests}```\n```python\n{usage}```") == tests


def test_of_equal_blocks_the_last_is_taken() -> None:
    assert extract_code("```python\nrun(1)\n```\n```python\nrun(2)\n```") == "run(2)\n"


@each(
    "answer",
    ["", "  \n", "Sorry", "I cannot do that.", "42", '"text"', "```python\n```", "```python\ndef run(:\n```", "\x00"],
)
def test_what_is_not_code_is_refused(answer: str) -> None:
    with pytest.raises(NotCode):
        extract_code(answer)


def test_the_complaint_shows_the_bad_line() -> None:
    with pytest.raises(NotCode, match=r"line 2:     return \(1"):
        extract_code("```python\ndef run():\n    return (1\n\nx = 2\n```")


def test_a_result_always_parses_and_is_its_own_extract() -> None:
    code = extract_code(f"bla\n```python\n\n\n{CODE}\n\n```")
    ast.parse(code)
    assert extract_code(code) == code


async def test_code_comes_from_an_answer(question: Question) -> None:
    with ScriptedModel([f"```python\n{CODE}```"]) as endpoint:
        code, exchanges = await ask_code(LiteLLMModel(endpoint.config()), question, must_define="run")
    assert code == CODE
    assert len(exchanges) == 1


async def test_a_syntax_error_is_shown_and_repaired(question: Question) -> None:
    with ScriptedModel(["```python\ndef run(:\n    pass\n```", CODE]) as endpoint:
        code, exchanges = await ask_code(LiteLLMModel(endpoint.config()), question, must_define="run")
    assert code == CODE
    assert len(exchanges) == 2
    assert "line 1: def run(:" in endpoint.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    "definition", ["def run():\n    pass\n", "async def run():\n    pass\n", "run = print\n", "run: object = print\n"]
)
async def test_any_kind_of_definition_counts(question: Question, definition: str) -> None:
    with ScriptedModel([definition]) as endpoint:
        code, _ = await ask_code(LiteLLMModel(endpoint.config()), question, must_define="run")
    assert code == definition


async def test_a_missing_definition_is_repaired(question: Question) -> None:
    with ScriptedModel(["def main():\n    pass\n", CODE]) as endpoint:
        code, _ = await ask_code(LiteLLMModel(endpoint.config()), question, must_define="run")
    assert code == CODE
    assert "`run`" in endpoint.requests[1]["messages"][-1]["content"]


async def test_code_that_never_comes_is_an_error(question: Question) -> None:
    with ScriptedModel(["Sorry."] * 9) as endpoint, pytest.raises(UnusableAnswer):
        await ask_code(LiteLLMModel(endpoint.config()), question)
    assert len(endpoint.requests) == 3


async def test_code_that_was_cut_off_is_continued(question: Question) -> None:
    fenced = f"```python\n{CODE}```"
    parts: list[str | Answer] = [Answer(fenced[:50], finish_reason="length"), f"```python\n{fenced[50:]}"]
    with ScriptedModel(parts) as endpoint:
        code, exchanges = await ask_code(LiteLLMModel(endpoint.config()), question)
    assert code == CODE
    assert len(exchanges) == 1
