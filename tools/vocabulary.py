"""Write the words of our cells for the lab extension, which has them even before a kernel says them.

Run it after a change of an option, a type or a subcommand: `python tools/vocabulary.py`. A test asserts that the file
is current.
"""

from __future__ import annotations

import json
from pathlib import Path

from autocoder_jupyter.lab.vocabulary import vocabulary

PATH = Path(__file__).parents[1] / "labextension" / "src" / "vocabulary.json"


def as_json() -> str:
    """The text of the file."""
    return json.dumps(vocabulary(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(as_json(), encoding="utf-8")
