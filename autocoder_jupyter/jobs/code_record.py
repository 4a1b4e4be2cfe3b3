"""The state of a conversation in a file beside the notebook, so that a cell can continue it after a restart.

    .autocode/<name>/conversation.json

The file is untrusted: its size is limited, and nothing in it is run or looked up. It names the tools and frames of the
conversation, so that a cell that does not pass them can be told which are missing. The variables of the conversation's
code are restored from its journal, which has its own checks.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse

FILE = "conversation.json"

MOST_MESSAGES = 2_000


@dataclass(frozen=True)
class CodeRecord:
    """One finished run.

    Args:
        conversation: the folder of its journal in `.autocode`, which is the name of its first cell.
        message: the text of the request.
        history: the conversation as messages.
        tools: the names that the code uses for its tools.
        frames: the names of its frames.
        state: how it ended.
        summary: the final answer.
    """

    conversation: str
    message: str
    history: tuple[dict[str, str], ...]
    tools: tuple[str, ...]
    frames: tuple[str, ...]
    state: str
    summary: str

    def save(self, root: Path, name: str) -> None:
        """Write the record.

        Raises:
            OSError: it cannot be written.
        """
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        Folder(root.parent).write(f"{root.name}/{name}/{FILE}", text.encode("utf-8", "replace"))


def load_record(root: Path, name: str) -> CodeRecord | None:
    """The record of a name; None if there is none, or it cannot be read."""
    try:
        return _checked(parse(Folder(root.parent).read_bytes(f"{root.name}/{name}/{FILE}")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _checked(record: dict[str, Any]) -> CodeRecord:
    history, tools = record["history"], record["tools"]
    if len(history) > MOST_MESSAGES or not all(message["role"] in ("user", "assistant") for message in history):
        raise ValueError("these are no messages")
    return CodeRecord(
        conversation=_name(record["conversation"]),
        message=_text(record["message"]),
        history=tuple({"role": message["role"], "content": _text(message["content"])} for message in history),
        tools=tuple(map(_name, tools)),
        frames=tuple(map(_name, record["frames"])),
        state=_text(record["state"]),
        summary=_text(record["summary"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text was expected")
    return value


def _name(value: Any) -> str:
    if not _text(value).isidentifier():
        raise ValueError("a name was expected")
    return str(value)
