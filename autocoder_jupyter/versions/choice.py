"""`choice.json`: which version of a function counts, if the user chose one; else the newest good version does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ValidationError

from autocoder_jupyter.errors import writing
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.plain_json import parse

FILE = "choice.json"

_BYTES = 2**20


class _ChoiceFile(BaseModel):
    """The schema of the file. The file is untrusted."""

    pinned: str | None = None
    chosen: dict[str, str] = {}


@dataclass(frozen=True)
class Choice:
    """The choices that the user made for one function.

    Args:
        pinned: the version that every request of this name gets; None if there is none.
        chosen: by request key, the version that counts for it.
    """

    pinned: str | None = None
    chosen: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, files: Folder, home: str) -> Choice:
        """The choice in a folder of versions; empty if the file is missing or cannot be read."""
        try:
            said = _ChoiceFile.model_validate(parse(files.read_bytes(f"{home}/{FILE}", _BYTES)))
        except (OSError, ValueError, ValidationError):
            return cls()
        return cls(said.pinned, said.chosen)

    def write(self, files: Folder, home: str) -> None:
        """Write the file.

        Raises:
            InvalidRequest: the folder cannot be written.
        """
        record = {"pinned": self.pinned, "chosen": dict(sorted(self.chosen.items()))}
        with writing("The choice of a version", files.root / home / FILE):
            files.write(f"{home}/{FILE}", (json.dumps(record, indent=1) + "\n").encode())

    def choosing(self, request_key: str, version: str) -> Choice:
        """A copy with a version chosen for a request."""
        return replace(self, chosen={**self.chosen, request_key: version})

    def without(self, version: str) -> Choice:
        """A copy without any choice of this version."""
        kept = {key: chosen for key, chosen in self.chosen.items() if chosen != version}
        return Choice(None if self.pinned == version else self.pinned, kept)
