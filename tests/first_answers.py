"""The first answer of a model, from a plan as a record and the code below it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def docstring(plan: Mapping[str, Any]) -> str:
    """The docstring that says what a plan says."""
    lines = [plan.get("description", ""), ""]
    if outputs := plan.get("outputs"):
        lines.append("Outputs:")
        for output in outputs:
            lines.append(_item(output["name"], output["type"], output))
            lines += ["    " + _item(column["name"], column["dtype"], column) for column in output.get("columns", ())]
    if parameters := plan.get("parameters"):
        lines.append("Parameters:")
        for one in parameters:
            default = "" if one.get("default") is None else f" = {one['default']!r}"
            lines.append(_item(one["name"], f"{one['type']}{default}", one))
    if assumptions := plan.get("assumptions"):
        lines += ["Assumptions:", *(f"- {line}" for line in assumptions)]
    for name in ("packages", "system_packages", "holds"):
        if words := plan.get(name):
            lines.append(f"{name.replace('_', ' ').capitalize()}: {', '.join(words)}")
    if conclusion := plan.get("conclusion"):
        lines.append(f"Conclusion: {conclusion}")
    if questions := plan.get("questions"):
        lines.append("Questions:")
        for one in questions:
            assumed = f" assumed: {one['assumed']}" if one.get("assumed") else ""
            lines.append(f"- {one['text']} [{' | '.join(one.get('options', ()))}]{assumed}")
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{text}\n"""'


def _item(name: str, kind: str, record: Mapping[str, Any]) -> str:
    meaning = " ".join(str(record.get("meaning", "")).split())
    return f"- {name} ({kind}){f': {meaning}' if meaning else ''}"


def joined(plan: str, code: str, padding: str = "") -> str:
    """The text of one answer, from that of a plan in JSON and that of the code. Other texts are put together.

    The padding is put between them.
    """
    try:
        head = docstring(json.loads(plan))
    except (ValueError, TypeError, KeyError, AttributeError):
        return f"{plan}\n\n{padding}{code}"
    if code.startswith("{"):
        record = json.loads(code)
        return json.dumps({**record, "code": joined(plan, record["code"], padding)})
    before, fence, module = code.partition("```python\n")
    return f"{before}{fence}{head}\n{padding}{module}" if fence else f"{head}\n{padding}{code}"
