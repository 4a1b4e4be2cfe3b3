"""Write the files that are generated from records. Run `python tools/generated.py` after a change of an option, a
setting, a type or a subcommand. A test asserts that these files are current.

- `vocabulary.json`: options, types and subcommands for the lab extension, which needs them also without a kernel.
- `errors.json`: the names of the errors, and the page about them.
- `properties` of `schema/plugin.json`: JupyterLab's settings page.
- `agent/constructor.py`: the parameters of `AutoCoderAgent`, with types, defaults and docstring.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from autocoder_jupyter import errors
from autocoder_jupyter.lab.messages import vocabulary
from autocoder_jupyter.settings import config
from autocoder_jupyter.settings.config import RECORDS, AgentConfig
from autocoder_jupyter.settings.setting import SettingRecord

ROOT = Path(__file__).parents[1]

_WIDTH = 120


def generated() -> dict[Path, str]:
    """The text of each generated file, by its path."""
    page = ROOT / "labextension" / "schema" / "plugin.json"
    return {
        ROOT / "labextension" / "src" / "vocabulary.json": _as_json(vocabulary()),
        ROOT / "labextension" / "src" / "errors.json": _as_json(
            {"page": errors.TROUBLESHOOTING, "names": list(errors.kinds())}
        ),
        page: _with_properties(page.read_text(encoding="utf-8")),
        ROOT / "autocoder_jupyter" / "agent" / "constructor.py": _constructor(),
    }


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _with_properties(schema: str) -> str:
    """The schema with the properties of the records, in prettier's style. The rest of the file is written by hand."""
    fields = {record.name: _property(record) for record in RECORDS.values() if record.page}
    text = textwrap.indent(json.dumps(fields, indent=2, ensure_ascii=False), "  ").strip()
    text = re.sub(r'\{\n\s+("const": .*),\n\s+("title": .*)\n\s+\}', r"{ \1, \2 }", text)
    text = re.sub(r'\[\n\s+("\w+"),\n\s+("null")\n\s+\]', r"[\1, \2]", text)
    by_hand = schema.partition('"properties": ')[0]
    return f'{by_hand}"properties": {text}\n}}\n'


def _property(record: SettingRecord) -> dict[str, Any]:
    assert record.page is not None
    if record.page.parts:
        return _dictionary(record, record.page.parts)
    kind = {int: "integer", float: "number"}.get(record.plain_type)
    unset = None if kind else ""
    described = {
        "type": [kind, "null"] if kind else "string",
        "title": record.page.title,
        "description": record.description,
        "default": unset,
    }
    if record.page.pattern:
        described["pattern"] = f"^(?:{record.page.pattern})?$"
    if not record.page.choices:
        return described
    titles = {"": "Default", **record.page.choices}
    return {**described, "oneOf": [{"const": choice, "title": title} for choice, title in titles.items()]}


def _dictionary(record: SettingRecord, parts: Mapping[str, tuple[str, str | None]]) -> dict[str, Any]:
    """A dictionary with these keys only; each may be left empty."""
    assert record.page is not None
    properties: dict[str, Any] = {}
    for name, (title, only) in parts.items():
        if only is None:
            properties[name] = {"type": ["number", "null"], "title": title, "minimum": 0, "default": None}
        else:
            choices = [{"const": "", "title": "Default"}, {"const": only, "title": only.replace("-", " ")}]
            properties[name] = {"type": "string", "title": title, "default": "", "oneOf": choices}
    return {
        "type": "object",
        "title": record.page.title,
        "description": record.description,
        "default": {},
        "additionalProperties": False,
        "properties": properties,
    }


def _constructor() -> str:
    types = _written_types()
    body = "\n".join(
        (
            *(_parameter(record, types[record.name]) for record in RECORDS.values()),
            "    ) -> None:",
            '        """Check and freeze the settings.',
            "",
            "        Args:",
            *(line for record in RECORDS.values() for line in _argument(record)),
        )
    )
    taken = {record.setting.takes or types[record.name] for record in RECORDS.values()}
    own = "(\n    {},\n)".format(",\n    ".join(("AgentConfig", *sorted(taken & {*vars(config)}))))
    return _MODULE.replace("OWN", own).replace("BODY", body)


def _written_types() -> dict[str, str]:
    """The type of each field as it is written in the source."""
    trees = [ast.parse(inspect.getsource(base)) for base in AgentConfig.__mro__ if dataclasses.is_dataclass(base)]
    fields = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]
    return {ast.unparse(node.target): ast.unparse(node.annotation.slice.elts[0]) for node in fields}  # type: ignore[attr-defined]


def _parameter(record: SettingRecord, held: str) -> str:
    """A parameter of the constructor. It has the field's type, unless the setting accepts further types."""
    takes = record.setting.takes or held
    default = None if takes.endswith("None") else record.default
    return f"        {record.name}: {takes} = {json.dumps(default) if isinstance(default, str) else repr(default)},"


def _argument(record: SettingRecord) -> Iterator[str]:
    """The lines of a setting in the docstring."""
    yield from textwrap.wrap(
        f"{record.name}: {record.help}.",
        _WIDTH,
        initial_indent=" " * 12,
        subsequent_indent=" " * 16,
        break_on_hyphens=False,
    )


_MODULE = '''\
"""The constructor of `AutoCoderAgent`, generated by `tools/generated.py`. Do not edit it; change `AgentConfig`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from autocoder_jupyter.agent.settings import freeze
from autocoder_jupyter.settings.choices import MinimumTier
from autocoder_jupyter.settings.config import OWN
from autocoder_jupyter.types import ImageConfig, Resources, Secret


class Constructor(AgentConfig):
    """Accepts settings in the forms that users write, and documents them."""

    def __init__(
        self,
        *,
BODY

        Raises:
            InvalidRequest: a value is not valid for its setting. The message names the setting.
        """
        freeze(self, locals())
'''


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
