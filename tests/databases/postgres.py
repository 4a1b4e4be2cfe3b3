"""A PostgreSQL server of the tests: in a temporary folder, over a Unix socket, as a user that is not root."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATABASE, USER = "shop", "tester"

_FAST = (
    "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c shared_buffers=16MB -c max_connections=20 "
    "-c listen_addresses= -c autovacuum=off"
)


def programs() -> Path | None:
    """The folder with `initdb` and `postgres`."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


@contextlib.contextmanager
def server(binaries: Path) -> Iterator[Path]:
    """A server that listens in the folder that is given."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    user = None
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        names = [each.pw_name for each in pwd.getpwall()]
        user = "postgres" if "postgres" in names else "nobody"
        account = pwd.getpwnam(user)
        os.chown(folder, account.pw_uid, account.pw_gid)
    run: dict[str, Any] = {"user": user, "cwd": folder, "stdin": subprocess.DEVNULL}
    data, log = folder / "data", folder / "log"
    try:
        subprocess.run(
            [binaries / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
            check=True,
            capture_output=True,
            **run,
        )
        with log.open("wb") as output:
            process = subprocess.Popen(
                [binaries / "postgres", "-D", data, "-k", folder, *_FAST.split()], stdout=output, stderr=output, **run
            )
        try:
            _wait(folder, process, log)
            subprocess.run(
                [binaries / "createdb", "-h", folder, "-U", USER, DATABASE], check=True, capture_output=True, **run
            )
            yield folder
        finally:
            process.send_signal(signal.SIGINT)  # ends sessions that are open
            process.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(folder: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + 60
    while not (folder / ".s.PGSQL.5432").exists() or "ready to accept" not in log.read_text():
        if process.poll() is not None or time.monotonic() > ends:
            raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}")
        time.sleep(0.02)
