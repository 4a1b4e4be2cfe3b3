"""Runs the program of the Claude Agent SDK in its own folders, and with few environment variables.

The SDK passes all environment variables of the kernel to its program; its option `env` only adds variables. So the SDK
starts a launcher of this package, which replaces itself by the program with only the variables on a list.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from autocoder_jupyter.sandbox.temporary_folder import temporary_folder

_OF_THE_SYSTEM = ("LANG", "LC_ALL", "TZ")
"""Variables that keep their value. Proxies may contain a password and are not needed: the program asks only us."""

_PATH = "/usr/local/bin:/usr/bin:/bin"
_OF_THE_SDK = ("CLAUDE_CODE_ENTRYPOINT", "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CODE_SDK_READS_SESSION_STATE")

_LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True)
class Home:
    """The options of a session: `cli_path`, `cwd` (an empty folder) and `env`."""

    cli_path: str
    cwd: str
    env: Mapping[str, str]


@contextmanager
def home(program: str, variables: Mapping[str, str]) -> Iterator[Home]:
    """A folder for the program during a session. It is removed afterwards.

    Args:
        program: path of its executable.
        variables: further environment variables, such as its key and the address of the model's service.
    """
    with temporary_folder("claude") as root:  # the program writes the session there, so it must be removed
        folders = {name: str(root / name) for name in ("cwd", "home", "config", "tmp")}
        env = {
            **dict(variables),
            "PATH": _PATH,
            **dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), folders["home"]),
            "TMPDIR": folders["tmp"],
            "CLAUDE_CONFIG_DIR": folders["config"],
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        for folder in folders.values():
            Path(folder).mkdir()
        yield Home(_launcher(root, program, [*_OF_THE_SYSTEM, *_OF_THE_SDK, *env]), folders["cwd"], env)


def _launcher(root: Path, program: str, kept: list[str]) -> str:
    """A script that starts `program` with the variables `kept`. No value is in it or on a command line."""
    file = root / "launcher"
    command = shlex.join([sys.executable, "-I", "-S", "-c", _LAUNCHER.read_text("utf-8"), program, ",".join(kept)])
    file.write_text(f'#!/bin/sh\nexec {command} "$@"\n', "utf-8")
    file.chmod(0o700)
    return str(file)
