"""The first answer: a module whose docstring is the plan. The plan is read while the code below it is still written.

A docstring, because every model can write one: small ones fail at a JSON record of the same content, and write right
code beside it.
"""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from autocoder_jupyter.engine.conversation import Conversation, Messages
from autocoder_jupyter.engine.plan import (
    PlanAnswer,
    PlannedColumn,
    PlannedOutput,
    PlannedParameter,
    PlannedQuestion,
    names_type,
)
from autocoder_jupyter.engine.probes import ROUNDS, probes_in
from autocoder_jupyter.engine.prompt import (
    FUNCTION,
    block,
    given_signature,
    interface_problem,
    plan_addition,
    question,
    request_text,
    signature,
    without_entry,
)
from autocoder_jupyter.models.answers import NotCode, Unreadable, ask_until_readable, defines, extract_code, read_record
from autocoder_jupyter.models.protocol import SILENT, Listener, Question
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan, Exchange, InputSpec
from autocoder_jupyter.untrusted.parsing import parse, parse_expression

# The question


def first_messages(
    request: Request,
    inputs: Iterable[InputSpec],
    data_context: str,
    *,
    asks: bool = False,
    plan_only: bool = False,
    system_prompt: str = "",
    probes: str = "",
) -> Messages:
    """The first question to the model. A preview shows it, because every later question begins with the same text.

    Args:
        request: the request.
        inputs: the given inputs of `run`.
        data_context: the text about the data and the environment.
        asks: whether the answer may have questions to the user.
        plan_only: whether only the docstring is asked for, because an agent writes the code.
        system_prompt: replaces the role of the model.
        probes: the offer to look at the data first; "" for none.
    """
    role = prompt("first_answer.role of a planner") if plan_only else system_prompt or prompt("first_answer.role")
    other_figures = re.search("plotly|altair", request_text(request, ""), re.IGNORECASE)
    return question(
        request,
        data_context,
        block("interface", _interface(request, inputs)),
        role,
        prompt("first_answer.docstring"),
        prompt("first_answer.other figures") if other_figures else "",
        prompt("first_answer.questions") if asks else "",
        plan_addition(request.earlier) if request.earlier else "",
        prompt("first_answer.docstring only" if plan_only else "first_answer.module"),
        probes,
    )


def _interface(request: Request, inputs: Iterable[InputSpec]) -> str:
    """The `def` line as far as it is known, and the declared outputs."""
    declared = [f"- {spec.name} ({spec.written_type})" for spec in request.outputs]
    more = ", and after them those that the last wish adds, if any" if declared and request.earlier else ""
    outputs = [f"Declared outputs{more}:", *declared] if declared else ["Declared outputs: none"]
    return "\n".join([f"    {given_signature(inputs)}", "", *outputs])


# The docstring as a plan

_QUOTED = re.compile(
    r"""\A(?P<before>.*?)^[ \t]*[rR]?(?P<quote>\"{3}|'{3})(?P<text>.*?)(?<!\\)(?P=quote)""", re.DOTALL | re.MULTILINE
)
_BEFORE = re.compile(
    r"\s*(?:(?!import\b|from\b|def\b|class\b|[^\n]*(?i:\b(?:attempt|draft|first|try)\b))[^\n<{`]{1,200}\n+)?"
    r"(?:(?:```|~~~)(?!probe)[^\n]*\n)?(?:[ \t]*#[^\n]*\n)*\s*"
)
"""What may stand before the module: one line of prose, if it announces no draft. Behind more, as behind thoughts, may
come another module."""

_LONGEST_HEAD = 30_000
_LONGEST_ITEM = 2_000

_SECTIONS = ("outputs", "parameters", "assumptions", "packages", "system packages", "holds", "conclusion", "questions")
_USUAL = {"args": "parameters", "arguments": "parameters", "inputs": "parameters", "returns": "returns"}
"""Sections of docstrings as people write them."""

_SECTION = re.compile(
    rf"^[ \t]*[#*_]*[ \t]*(?P<name>{'|'.join((*_SECTIONS, *_USUAL))})[*_]*[ \t]*:[*_]*[ \t]*(?P<rest>.*)$",
    re.IGNORECASE,
)
_UNDERLINED = re.compile(r"^([ \t]*\w[\w ]*?)[ \t]*\n[ \t]*-{3,}[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"^(?P<indent>[ \t]*)[-*•][ \t]+(?P<text>.*)$")
_TYPED = re.compile(r"^(?P<name>.+?)\s*\((?P<type>[^()]*)\)\s*(?::\s*(?P<meaning>.*))?$", re.DOTALL)
_COLON = re.compile(r"^(?P<name>[^:]+?)\s*:\s*(?P<rest>.*)$", re.DOTALL)
_ENDS_TYPE = re.compile(r"[,;(]|\s[-–—]\s|\.\s")
_CHOICE = re.compile(r"^(?P<text>.*?)\s*\[(?P<options>.+)\]\s*[,;.]?\s*(?:assumed\s*:?\s*(?P<assumed>.*))?$", re.DOTALL)
_NONE = frozenset({"", "none", "n/a", "null", "nothing", "none needed", "none required", "not applicable"})
_MARKS = " .,;:`'\"*()[]{}-–"


def docstring_in(text: str) -> str | None:
    """The docstring at the beginning of a module in an answer that may not be complete; None if it has no end yet."""
    found = _head_in(text)
    return found["text"] if found is not None else None


def _head_in(text: str) -> re.Match[str] | None:
    found = _QUOTED.match(text[:_LONGEST_HEAD])
    return found if found is not None and _BEFORE.fullmatch(found["before"]) else None


def read_docstring(docstring: str) -> PlanAnswer:
    """The plan in a docstring. What it lacks is empty."""
    sections: dict[str, list[tuple[int, str]]] = {}
    title: list[str] = []
    current: list[tuple[int, str]] | None = None
    for line in _UNDERLINED.sub(r"\1:", docstring[:_LONGEST_HEAD].strip()).splitlines():
        if heading := _SECTION.match(line):
            name = heading["name"].lower()
            current = sections.setdefault(_USUAL.get(name, name), [])
            if heading["rest"].strip():
                current.append((0, heading["rest"].strip()))
        elif current is None:
            title.append(line.strip())
        elif line.strip():
            item = _ITEM.match(line)
            indent, text = _indent(line), (item["text"] if item else line).strip()
            if item or not current or (indent <= current[-1][0] and _begins_item(text)):
                current.append((indent, text))
            else:
                current[-1] = (current[-1][0], f"{current[-1][1]} {text}")
    lines = {name: [text for _, text in items if not _is_none(text)] for name, items in sections.items()}
    returned = (output for output in _outputs(sections.get("returns", [])) if names_type(output.type))
    return PlanAnswer(
        description=" ".join(filter(None, title)),
        outputs=list(_outputs(sections.get("outputs", []))) or list(returned),
        parameters=[one for text in lines.get("parameters", []) if not _is_none((one := _parameter(text)).name)],
        assumptions=lines.get("assumptions", []),
        packages=list(_words(lines.get("packages", []))),
        system_packages=list(_words(lines.get("system packages", []))),
        holds=list(_words(lines.get("holds", []))),
        conclusion=next(iter(lines.get("conclusion", [])), ""),
        questions=[_question(text) for text in lines.get("questions", [])],
    )


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def _is_none(text: str) -> bool:
    """Whether a text says that there is nothing, in words or as an empty list."""
    return text.strip(_MARKS).lower() in _NONE


def _begins_item(text: str) -> bool:
    """Whether a line without a bullet is an item of its own: a name with its type, or a type."""
    name, kind, _ = _typed(text)
    return len(name.split()) == 1 and (names_type(kind.partition("=")[0]) or names_type(name))


def _words(lines: Iterable[str]) -> Iterator[str]:
    """The words of a list with commas, without backticks; of a line, what stands before an explanation."""
    for line in lines:
        for word in (line.strip("[]") if line.startswith("[") else line).split(","):
            name = re.split(r"\s[-–—(]|:\s", word.strip())[0].strip("`'\" .")
            if not _is_none(name):
                yield name


def _outputs(items: list[tuple[int, str]]) -> Iterator[PlannedOutput]:
    """The outputs. Items that are further to the right than the first one are columns of the output before them. An
    output of which only the type is said is the result.
    """
    output: PlannedOutput | None = None
    for number, (indent, text) in enumerate(items, start=1):
        if _is_none(text):
            continue
        name, kind, meaning = _typed(text)
        if output is not None and indent > items[0][0]:
            name = re.sub(r"^column\s+", "", name).strip("`'\"*")
            output.columns.append(PlannedColumn(name=name, dtype=kind, meaning=meaning))
            continue
        if not names_type(kind) and names_type(name):
            name, kind, meaning = f"result_{number}" if number > 1 else "result", name, text.partition(":")[2].strip()
        if output is not None:
            yield output
        output = PlannedOutput(name=name.strip("`'\"*"), type=kind, meaning=meaning)
    if output is not None:
        yield output


def _typed(text: str) -> tuple[str, str, str]:
    """Name, type and meaning of `name (type): meaning` or `name: type, meaning`."""
    text = text[:_LONGEST_ITEM]
    if found := _TYPED.match(text):
        return found["name"].strip(), found["type"].strip("`* "), (found["meaning"] or "").strip()
    if found := _COLON.match(text):
        rest = found["rest"]
        ends = (sign.start() for sign in _ENDS_TYPE.finditer(rest))
        end = next((end for end in ends if rest[:end].count("[") == rest[:end].count("]")), len(rest))
        return found["name"].strip(), rest[:end].strip("`* ."), rest[end:].strip(" ,;-–—")
    return text.strip(), "", ""


def _parameter(text: str) -> PlannedParameter:
    name, kind, meaning = _typed(text)
    kind, _, default = (part.strip() for part in kind.partition("="))
    return PlannedParameter(name=name.strip("`'\"*"), type=kind, default=_value(default), meaning=meaning)


def _value(text: str) -> Any:
    """A default as it is written; a text may be without quotes. None if there is none."""
    if not text:
        return None
    try:
        return ast.literal_eval(parse_expression(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text


def _question(text: str) -> PlannedQuestion:
    found = _CHOICE.match(text[:_LONGEST_ITEM])
    if found is None:
        return PlannedQuestion(text=text)
    options = [option.strip() for option in found["options"].split("|")]
    return PlannedQuestion(text=found["text"], options=options, assumed=(found["assumed"] or "").strip(" ."))


def plan_in(answer: str, code: str) -> PlanAnswer:
    """The plan of a whole answer: in the docstring, in a JSON record above the code, or in the annotations of `run`."""
    module = parse(code) if code else None
    docstring = (ast.get_docstring(module) if module else docstring_in(answer)) or ""
    plan = read_docstring(docstring if module or docstring else answer)
    if not plan.outputs and "{" in answer:
        with suppress(Unreadable):
            return read_record(answer, PlanAnswer)
    if not plan.outputs and module is not None:
        plan = plan.model_copy(update={"outputs": list(_returned(module))})
    return plan


def _returned(module: ast.Module) -> Iterator[PlannedOutput]:
    """The outputs that the annotation of `run` has, for models that write code and no plan."""
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == FUNCTION]
    returns = functions[-1].returns if functions else None
    if returns is None:
        return
    texts = [ast.unparse(returns)]
    if isinstance(returns, ast.Subscript) and ast.unparse(returns.value).lower().endswith("tuple"):
        parts = returns.slice.elts if isinstance(returns.slice, ast.Tuple) else [returns.slice]
        texts = [ast.unparse(part) for part in parts]
    for number, text in enumerate(texts, start=1):
        yield PlannedOutput(name="result" if len(texts) == 1 else f"result_{number}", type=text)


def without_plan(code: str) -> str:
    """The module without a docstring that is a plan: the plan is kept beside the code."""
    docstring, first = ast.get_docstring(parse(code)) or "", parse(code).body[0]
    lines, end = code.split("\n"), first.end_lineno or first.lineno
    has_plan = any(_SECTION.match(line) for line in docstring.splitlines())
    if not has_plan or lines[end - 1].strip()[-1:] not in ("'", '"'):  # else there is code behind it
        return code
    return "\n".join([*lines[: first.lineno - 1], *lines[end:]]).strip("\n") + "\n"


# The answer

Look = Callable[[Sequence[str], bool], Awaitable[Messages]]
"""Evaluates probes; the second argument says that these are the last."""


@dataclass(frozen=True)
class Head:
    """The plan of an answer, and what the model asks the user."""

    answer: PlanAnswer
    plan: CodePlan


class FirstAnswer:
    """One answer to the first question, repaired if it cannot be read. It is asked for at once.

    Args:
        messages: the question.
        accept: makes the plan from what was read; it raises `Unreadable` if it cannot.
        plan_only: whether the answer has no code.
        look: makes the next messages from the lines of probes; None if there may be none.
    """

    def __init__(
        self,
        conversation: Conversation,
        messages: Messages,
        accept: Callable[[PlanAnswer], CodePlan],
        *,
        plan_only: bool = False,
        look: Look | None = None,
    ) -> None:
        self._conversation = conversation
        self._accept = accept
        self._plan_only = plan_only
        self._look = look
        self._looks_left = ROUNDS if look is not None else 0
        self._arrived = ""
        self._unshown: list[str] | None = []  # of the code, until its stage begins
        self._head: Head | None = None
        self._has_head = asyncio.Event()
        asked = Question(stage="plan" if plan_only else "code", messages=messages)
        self._work = asyncio.create_task(self._answered(asked))
        self._work.add_done_callback(lambda work: work.cancelled() or work.exception())  # may be awaited by nobody

    async def head(self) -> Head:
        """The plan, as soon as it is complete.

        Raises:
            UnusableAnswer: no answer has a plan that can be read.
            ModelError: see `LanguageModel.ask`.
        """
        waiting = asyncio.create_task(self._has_head.wait())
        try:
            await asyncio.wait({waiting, self._work}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self._head is None:
            await self._work
        assert self._head is not None
        return self._head

    async def code(self) -> str:
        """The module, when it is complete. It has the interface of the plan.

        Raises:
            UnusableAnswer: no answer has such a module.
            ModelError: see `LanguageModel.ask`.
        """
        for text in self._unshown or ():
            self._conversation.listener("code").on_text(text)
        self._unshown = None
        return await asyncio.shield(self._work)

    def stop(self) -> None:
        """End the answer, if it still arrives."""
        self._work.cancel()

    async def ask(self, question: Question, listener: Listener = SILENT) -> Exchange:
        """One answer of the conversation. Its beginning is read while it arrives."""
        self._arrived = ""

        def retry(reason: str, seconds: float) -> None:
            self._arrived = ""
            self._conversation.listener("code" if self._head else "plan").on_retry(reason, seconds)

        return await self._conversation.ask(question, replace(listener, on_text=self._hear, on_retry=retry))

    async def _answered(self, asked: Question) -> str:
        while True:
            found, _ = await ask_until_readable(self, asked, self._read)
            if isinstance(found, str):
                return found
            assert self._look is not None, "probes are only read where they may be asked for"
            self._looks_left -= 1
            further = await self._look(found, self._looks_left == 0)
            asked = replace(asked, messages=(*asked.messages, *further))

    def _hear(self, text: str) -> None:
        if self._head is None:
            self._conversation.listener("plan").on_text(text)
            self._read_beginning(text)
        elif self._unshown is not None:
            self._unshown.append(text)
        else:
            self._conversation.listener("code").on_text(text)

    def _read_beginning(self, text: str) -> None:
        if len(self._arrived) > _LONGEST_HEAD:
            return
        self._arrived += text
        if "'" not in text and '"' not in text:
            return
        found = _head_in(self._arrived)
        if found is not None:
            with suppress(Unreadable):  # the whole answer is read again
                self._set_head(read_docstring(found["text"]))
                self._unshown = [self._arrived[found.end() :].lstrip()]

    def _set_head(self, answer: PlanAnswer) -> None:
        self._head = Head(answer, self._accept(answer))
        self._has_head.set()

    def _read(self, answer: str) -> str | tuple[str, ...]:
        """The module of a whole answer, or the probes that it asks for. The plan stays as it was read first: tests are
        written from it.
        """
        if self._head is None and (probes := probes_in(answer)):
            if not self._looks_left:
                raise Unreadable(prompt("first_answer.no more probes"))
            return probes
        code = ""
        if not self._plan_only:
            code = without_entry(extract_code(answer, must_define=FUNCTION))
            if not defines(code, FUNCTION):
                raise NotCode(f"The module must define `{FUNCTION}` at its top level.")
        if self._head is None:
            self._set_head(plan_in(answer, code))
        assert self._head is not None
        plan = self._head.plan
        if code and (problem := interface_problem(code, plan)):
            raise Unreadable(
                f"The module does not have the interface of its docstring: {problem}. Its `def` line is "
                f"`{signature(plan).removesuffix(' ...')}`."
            )
        return without_plan(code) if code else ""
