"""The texts that are sent to a model: a Markdown file for each stage, whose sections have blanks such as `$problem`.

`shared.md` begins every question about a function and never varies within a run, so that a provider's cache can serve
it. The text of a stage comes last.
"""

from functools import cache
from pathlib import Path
from string import Template


def prompt(name: str, **blanks: object) -> str:
    """The text of a section, such as `prompt("code_mode.printed", printed="3")`; values are inserted as they are.

    Raises:
        KeyError: there is no such section, or it has a blank without a value.
    """
    stage, _, section = name.partition(".")
    text = _sections(stage)[section]
    return Template(text).substitute(blanks) if blanks or "$" in text else text


@cache
def _sections(stage: str) -> dict[str, str]:
    text = Path(__file__).with_name(f"{stage}.md").read_text("utf-8")
    parts = (part.partition("\n") for part in f"\n{text}".split("\n## ")[1:])
    return {heading.strip(): body.strip("\n") for heading, _, body in parts}
