"""Extracts Python source from an answer, whatever text or fences surround it."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from autocoder_jupyter.models.answers import LONGEST_CODE, FencedBlock, fenced_blocks, objects_in
from autocoder_jupyter.models.listener import SILENT, Listener
from autocoder_jupyter.models.protocol import LanguageModel, Question
from autocoder_jupyter.models.repair import Unreadable, ask_until_readable
from autocoder_jupyter.types import Exchange
from autocoder_jupyter.untrusted.parsing import parse

_PYTHON_TAGS = frozenset({"python", "py", "python3", "py3", "ipython", "ipython3"})
_OTHER_TAGS = frozenset(
    {"bash", "sh", "shell", "zsh", "console", "text", "txt", "plaintext", "output", "markdown", "md", "diff"}
    | {"json", "yaml", "yml", "toml", "ini", "csv", "sql", "html"}
)
_LONGEST_ANSWER = 500_000
"""The maximum number of characters of an answer that are searched, including text."""

_LONGEST_SEARCH = 40
"""The maximum number of possible ends of unfenced code that are tried; fewer in a very long answer."""


class NotCode(Unreadable):
    """An answer has no valid Python; the message is text for the model."""


async def ask_code(
    model: LanguageModel,
    question: Question,
    *,
    must_define: str | None = None,
    listener: Listener = SILENT,
) -> tuple[str, tuple[Exchange, ...]]:
    """Ask for Python source that parses.

    Args:
        model: the model to ask.
        question: the question.
        must_define: name that the module must define at its top level.
        listener: follows all its answers.

    Returns:
        The source, and the exchanges that were needed.

    Raises:
        UnusableAnswer: no answer has such source, also after the repairs.
        ModelError: see `LanguageModel.ask`.
    """

    def read(answer: str) -> str:
        code = extract_code(answer, must_define=must_define)
        if must_define is not None and not _defines(code, must_define):
            raise NotCode(f"The module must define `{must_define}` at its top level.")
        return code

    return await ask_until_readable(model, question, read, listener=listener)


def extract_code(text: str, *, must_define: str | None = None) -> str:
    """The Python source in an answer, with one line break at its end.

    It may be in fences of any kind, in the `code` field of a JSON object, between text, or alone. Blocks tagged as
    Python are preferred to untagged ones. Of several, the block that defines `must_define` is used, then the largest,
    then the last.

    Raises:
        NotCode: nothing in it parses; the message shows the first wrong line.
    """
    text = text[:_LONGEST_ANSWER].replace("\r\n", "\n").lstrip("\ufeff")
    for found in (_whole(text), _in_json(text), _in_fences(text), _between_prose(text)):
        if codes := list(found):
            best = max(reversed(codes), key=lambda code: (_defines(code, must_define), len(code)))
            return best.strip("\n") + "\n"
    raise NotCode(_complaint(text))


# The four places of code. Each function gives only code that parses.


def _in_json(text: str) -> Iterator[str]:
    if not text.lstrip(" \n`~jsonJSON").startswith("{"):
        return
    for record in objects_in(text):
        code = record.get("code")
        if not isinstance(code, str):
            continue
        if "\n" not in code.strip() and "\\n" in code:  # escaped twice
            code = code.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t")
        try:
            yield extract_code(code)
        except NotCode:
            continue


def _in_fences(text: str) -> list[str]:
    blocks = fenced_blocks(text, complete=lambda body: _parses(textwrap.dedent(body)))
    for wanted in (_is_python, _is_untagged, _is_unknown):
        codes = [code for block in blocks if wanted(block) and _parses(code := textwrap.dedent(block.body))]
        if codes:
            return codes
    return []


def _is_python(block: FencedBlock) -> bool:
    return block.tag in _PYTHON_TAGS or block.tag.endswith(".py")


def _is_untagged(block: FencedBlock) -> bool:
    return not block.tag


def _is_unknown(block: FencedBlock) -> bool:
    return block.tag not in _OTHER_TAGS


def _whole(text: str) -> Iterator[str]:
    code = textwrap.dedent(text).strip()
    if _parses(code):
        yield code


def _between_prose(text: str) -> Iterator[str]:
    """Unfenced code: from the first line that looks like code to the last blank line up to which it parses."""
    tries = max(_LONGEST_SEARCH * 5_000 // (len(text) + 1), 2)
    lines = textwrap.dedent(text).splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith(_CODE_STARTS)][:3]
    gaps = [number for number, line in enumerate(lines) if not line.strip()]
    for start in starts:
        for end in [len(lines), *reversed([gap for gap in gaps if gap > start])][: min(tries, _LONGEST_SEARCH)]:
            code = "\n".join(lines[start:end])
            if _parses(code):
                yield code
                return


_CODE_STARTS = ("import ", "from ", "def ", "class ", "async def ", "@", "#", '"""', "'''")


def _parses(code: str) -> bool:
    """Whether it is Python code. A single word parses too, but is text."""
    if len(code) > LONGEST_CODE:
        return False
    try:
        body = parse(code).body
    except SyntaxError:
        return False
    return any(not isinstance(node, ast.Expr) or isinstance(node.value, (ast.Call, ast.Await)) for node in body)


def _defines(code: str, name: str | None) -> bool:
    if name is None:
        return False
    for node in parse(code).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
            return True
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return True
    return False


def _complaint(text: str) -> str:
    blocks = fenced_blocks(text)
    code = textwrap.dedent(max((block.body for block in blocks), key=len, default=text)).strip("\n")
    if not code.strip():
        return "There is no Python code in it."
    if len(code) > LONGEST_CODE:
        return f"It has {len(code):,} characters, at most {LONGEST_CODE:,} can be used."
    try:
        parse(code)
    except SyntaxError as error:
        line = (error.text or "").rstrip()
        where = f", line {error.lineno}: {line}" if error.lineno else ""  # an error because of a null byte has no line
        return f"It is not valid Python: {error.msg}{where}"
    return "There is no Python code in it."
