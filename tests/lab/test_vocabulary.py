from __future__ import annotations

import json
from pathlib import Path

from autocoder_jupyter.lab.messages import vocabulary
from autocoder_jupyter.magics.options import FLAGS

BUILT_IN = Path(__file__).parents[2] / "labextension" / "src" / "vocabulary.json"


def test_the_kernel_says_the_words_that_the_extension_was_built_with() -> None:
    assert json.loads(json.dumps(vocabulary())) == json.loads(BUILT_IN.read_text(encoding="utf-8"))


def test_every_flag_is_in_it() -> None:
    assert {flag for option in vocabulary()["options"] for flag in option["flags"]} == set(FLAGS)
