"""A call's class with its reason, and rules for names and words at any place in a command."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from autocoder_jupyter.types import ToolClass
from autocoder_jupyter.untrusted.parsing import visible

_RANK: dict[ToolClass, int] = {"safe": 0, "intercepted": 1, "denied": 2}

_RUNNERS = frozenset(
    (
        *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml"),
        *("pytest.py", "_pytest", "pluggy.py", "sitecustomize.py", "usercustomize.py", ".coveragerc"),
    )
)
"""Files that configure pytest and could change how tests run."""

_SECRET = re.compile(r"\$\{?!?\w*(?:KEY|TOKEN|SECRET|PASSW|CREDENTIAL)", re.IGNORECASE)
_HOME = re.compile(r"\$\{?(?:HOME|OLDPWD|TMPDIR)\b")
_HARMLESS_DEVICES = frozenset(("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero"))


@dataclass(frozen=True)
class Judgement:
    """The class of a call with its reason, as text for the user and the agent."""

    kind: ToolClass
    reason: str


SAFE = Judgement("safe", "runs in the sandbox")
TESTS = Judgement("intercepted", "tests are run by the runner whose report counts")
OTHERS_NOT_RUN = "the other commands of the line are not run"
NETWORK = Judgement("denied", "there is no network in the workspace")
PACKAGES = Judgement("denied", "packages are not installed by hand; name them in packages.txt, one a line")
RIGHTS = Judgement("denied", "nothing in the workspace needs the rights of another user")
VARIABLES = Judgement("denied", "environment variables are not shown")
TOO_LONG = Judgement("denied", "the program that it runs is too long to be read; split it")
UNREAD = Judgement("denied", "what it runs cannot be read from the command; write it into a file first")


def unknown(name: str) -> Judgement:
    """The judgement of a command that is not known: denied, because it may start any other."""
    return Judgement("denied", f"{visible(name[:100])} is not known here, and could start other programs; use Python")


def outside(path: str) -> Judgement:
    """The judgement of a path that is not in the workspace: denied."""
    return Judgement("denied", f"{visible(path[:100])} is outside of the workspace; paths are relative to it")


def worst(judgements: Iterable[Judgement]) -> Judgement:
    """The worst of several; the first of equally bad ones."""
    return max(judgements, key=lambda one: _RANK[one.kind], default=SAFE)


def runners_file(path: str) -> Judgement:
    """Judge a file by its name: denied if it would change how tests are run."""
    name = next((part for part in PurePosixPath(path).parts if part in _RUNNERS), "")
    name = name or (PurePosixPath(path).name if path.endswith(".pth") else "")
    return Judgement("denied", f"{visible(name)} would change how tests are run") if name else SAFE


def path_in_a_command(word: str) -> Judgement:
    """Judge a word that may be a path."""
    path = word.partition("=")[2] or word if word.startswith("-") or re.match(r"\w+=", word) else word
    if "/dev/tcp/" in path or "/dev/udp/" in path or "://" in path:
        return NETWORK
    if _SECRET.search(path):
        return VARIABLES
    leads_out = path.startswith(("/", "~")) or ".." in PurePosixPath(path).parts or _HOME.search(path)
    if leads_out and path not in _HARMLESS_DEVICES:
        return outside(path)
    return runners_file(path)
