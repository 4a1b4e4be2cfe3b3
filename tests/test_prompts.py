"""The texts for a model are files, and all of them are used."""

import ast
import re
from pathlib import Path
from string import Template

import autocoder_jupyter
from autocoder_jupyter.prompts import prompt

PACKAGE = Path(autocoder_jupyter.__file__).parent
FILES = sorted((PACKAGE / "prompts").glob("*.md"))


def sections() -> dict[str, str]:
    """The text of each section by its name."""
    found = {}
    for path in FILES:
        for heading in re.findall(r"^## (.+)$", path.read_text("utf-8"), re.MULTILINE):
            blanks = set(re.findall(r"\$\{?(\w+)", path.read_text("utf-8")))
            found[f"{path.stem}.{heading}"] = prompt(f"{path.stem}.{heading}", **dict.fromkeys(blanks, "…"))
    return found


def calls() -> list[tuple[str, set[str]]]:
    """The name in each call of `prompt` (a pattern where it is an f-string), with the blanks that it fills in."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "prompt":
                blanks = {keyword.arg or "" for keyword in node.keywords}
                found += [(name, blanks) for name in names(node.args[0])]
    return found


def names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.IfExp):
        return [*names(node.body), *names(node.orelse)]
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else None for part in node.values)
        return ["".join(re.escape(str(part)) if part is not None else ".+" for part in parts)]
    if isinstance(node, ast.Name):  # `refusal` takes one of several constants
        return [r"tests\.refused.*"]
    return [re.escape(ast.literal_eval(node))]


def test_each_section_is_used_and_each_use_has_a_section() -> None:
    known, used = sections(), [name for name, _ in calls()]
    unused = [name for name in known if not any(re.fullmatch(pattern, name) for pattern in used)]
    unknown = [pattern for pattern in used if not any(re.fullmatch(pattern, name) for name in known)]
    assert (unused, unknown) == ([], [])


def test_each_use_fills_in_the_blanks_of_its_section() -> None:
    texts = {}
    for path in FILES:
        for part in f"\n{path.read_text('utf-8')}".split("\n## ")[1:]:
            heading, _, body = part.partition("\n")
            texts[f"{path.stem}.{heading}"] = set(Template(body).get_identifiers())
    for pattern, blanks in calls():
        for name, wanted in texts.items():
            if re.fullmatch(pattern, name):
                assert wanted == blanks, (name, wanted, blanks)


def test_the_site_shows_every_file() -> None:
    page = (PACKAGE.parent / "docs/prompts.md").read_text("utf-8")
    assert [path.name for path in FILES if f"prompts/{path.name}\n" not in page] == []


def test_lines_of_prompts_are_short() -> None:
    for path in FILES:
        assert [line for line in path.read_text("utf-8").splitlines() if len(line) > 120] == [], path
