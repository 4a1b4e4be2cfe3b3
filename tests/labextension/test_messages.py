"""The messages between kernel and page are the same in Python and in TypeScript."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from autocoder_jupyter.run.record import Phase
from autocoder_jupyter.view.document import Tone
from tests.cases import each as each_case

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "autocoder_jupyter"
PAGE = ROOT / "labextension" / "src"

Fields = dict[str, str]
"""TypeScript types by name. The name of an optional field ends with `?`."""

RECORDS = {
    "JobMessage": "IJob",
    "Column": "IColumn",
    "Variable": "IVariable",
    "CellProblem": "ICellProblem",
    "CheckedPart": "ICheckedPart",
    "OptionWords": "IOption",
    "SubcommandWords": "ISubcommand",
    "Vocabulary": "IVocabulary",
}
"""The names of a record in Python and on the page."""

OLDER_KERNELS = {"page"}
"""Fields that older versions of the kernel's side do not send."""


@each_case(("python", "page"), RECORDS.items(), ids=list(RECORDS.values()))
def test_a_record_has_the_same_fields_on_both_sides(python: str, page: str) -> None:
    said = {f"{name}?" if name in OLDER_KERNELS else name: each for name, each in CLASSES[python].items()}
    assert said == INTERFACES[page]


@each_case("kind", ["welcome", "settings", "jobs", "data"])
def test_a_message_has_the_fields_that_the_page_reads(kind: str) -> None:
    (said,) = [fields for fields in CLASSES.values() if fields.get("kind") == f"'{kind}'"]
    (heard,) = [fields for fields in HEARD if fields["kind"] == f"'{kind}'"]
    assert {name.rstrip("?") for name in heard} <= {name.rstrip("?") for name in said}
    for name, each in said.items():
        assert heard.get(name, heard.get(f"{name}?", each)) in (each, "object")


def test_a_reply_is_one_of_the_two_that_the_page_knows() -> None:
    good, bad = (fields for fields in HEARD if fields["kind"] == "'reply'")
    said = {name.rstrip("?"): each for name, each in CLASSES["ReplyMessage"].items()}
    assert {**good, **bad, "ok": "boolean"} == said


def test_the_page_knows_every_phase_and_can_ask_for_every_action() -> None:
    tokens = (PAGE / "link" / "tokens.ts").read_text(encoding="utf-8")
    assert _union(tokens, "Phase") == set(_words(Phase))
    assert _union(tokens, "Tone") == set(_words(Tone))
    tree = ast.parse((PACKAGE / "lab" / "requests.py").read_text(encoding="utf-8"))
    actions = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_ACTIONS" and node.value
    )
    assert _union(tokens, "Action") == set(ast.literal_eval(f"[{', '.join(map(ast.unparse, actions.keys))}]"))  # type: ignore[attr-defined]


def _typed_dicts(*files: Path) -> dict[str, Fields]:
    """The fields of all `TypedDict`s, including those of their base classes."""
    found: dict[str, Fields] = {"TypedDict": {}}
    for file in files:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.bases and all(ast.unparse(base) in found for base in node.bases):
                inherited = {name: each for base in node.bases for name, each in found[ast.unparse(base)].items()}
                own = dict(_field(each) for each in node.body if isinstance(each, ast.AnnAssign))
                found[node.name] = {**inherited, **own}
    return found


def _field(node: ast.AnnAssign) -> tuple[str, str]:
    name, written = ast.unparse(node.target), ast.unparse(node.annotation)
    if optional := re.fullmatch(r"NotRequired\[(.*)\]", written):
        return f"{name}?", _in_typescript(optional[1])
    return name, _in_typescript(written)


def _in_typescript(written: str) -> str:
    if " | " in written:
        return " | ".join(map(_in_typescript, written.split(" | ")))
    if many := re.fullmatch(r"list\[(.*)\]", written):
        return f"{_in_typescript(many[1])}[]"
    if table := re.fullmatch(r"dict\[str, (.*)\]", written):
        return f"{{ [name: string]: {_in_typescript(table[1])} }}"
    if literal := re.fullmatch(r"Literal\[(.*)\]", written):
        return literal[1].replace(", ", " | ")
    plain = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "None": "null"}
    return plain.get(written) or RECORDS.get(written, written)


def _interfaces(*files: Path) -> Iterator[tuple[str, Fields]]:
    for file in files:
        for name, body in re.findall(r"export interface (\w+) \{\n(.*?)\n\}", file.read_text("utf-8"), re.DOTALL):
            yield name, dict(re.findall(r"^  (\w+\??): (.*);$", body, re.MULTILINE))


def _heard() -> Iterator[Fields]:
    text = (PAGE / "link" / "messages.ts").read_text(encoding="utf-8").partition("export type Heard =")[2]
    for body in re.findall(r"^  \| \{ (.*) \}", text, re.MULTILINE):
        yield dict(re.findall(r"(\w+\??): ((?:\{.*?\}|[^;{])+)", body))


def _union(text: str, name: str) -> set[str]:
    written = text.partition(f"export type {name} =")[2].partition(";")[0]
    return set(re.findall(r"'([\w-]+)'", written))


def _words(kind: object) -> Iterator[object]:
    """The values of a union of literals."""
    for part in get_args(kind):
        yield from _words(part) if get_args(part) else [part]


CLASSES = _typed_dicts(
    PACKAGE / "view" / "as_text.py",
    PACKAGE / "magics" / "references.py",
    PACKAGE / "lab" / "messages.py",
    PACKAGE / "lab" / "messages.py",
)
INTERFACES = dict(_interfaces(PAGE / "link" / "tokens.ts", PAGE / "vocabulary.ts"))
HEARD = list(_heard())
