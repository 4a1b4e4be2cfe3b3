"""The import of the SDK skips what it does not need, and everything still works that other code may use."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from autocoder_jupyter.engines.claude import session as sdk_import
sdk_import.load()
before = [name in sys.modules for name in ("claude_agent_sdk", "jsonschema", "lark", "rfc3987_syntax")]
from jsonschema import FormatChecker
check = FormatChecker(["iri", "iri-reference"])
found = [check.conforms(text, form) for form in ("iri", "iri-reference") for text in ("http://ä.org/b", "http://a b")]
from rfc3987_syntax import is_valid_syntax_iri
print(before, found, is_valid_syntax_iri("http://ä.org/b"))
"""


def test_no_grammar_is_compiled_until_a_format_of_jsonschema_needs_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[True, True, False, False] [True, False, True, False] True", done.stderr
