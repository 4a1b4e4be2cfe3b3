"""Write facts about a container as one JSON object: its Python, the rights and the limits of a program in it."""

import importlib.util
import json
import os
import platform
import socket
import stat
import sys
import sysconfig
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
NETWORKS = Path("/sys/class/net")
WAIT_SECONDS = 5.0


def first(*paths: Path) -> str:
    """The text of the first file that can be read; "" if none can."""
    for path in paths:
        try:
            return path.read_text().strip()
        except OSError:
            pass
    return ""


def receives_descriptors() -> bool:
    """Whether a descriptor that the host sends over standard input arrives."""
    if not stat.S_ISSOCK(os.fstat(0).st_mode):
        return False
    with socket.socket(fileno=os.dup(0)) as link:
        link.settimeout(WAIT_SECONDS)
        try:
            return bool(socket.recv_fds(link, 1, 1)[1])
        except OSError:
            return False


def facts() -> dict[str, object]:
    """The facts by name. Limits are texts as in the kernel's files: `memory` is a number of bytes, or "max"."""
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    return {
        "python_version": list(sys.version_info[:2]),
        "release": platform.python_version(),
        "machine": platform.machine(),
        "libc": list(platform.libc_ver()),
        "site_packages": sysconfig.get_path("purelib"),
        "standard_library": sysconfig.get_path("stdlib"),
        "bytecode": Path(importlib.util.cache_from_source(json.__file__)).exists(),
        "descriptors": receives_descriptors(),
        "user": os.getuid(),
        "capabilities": int(status["CapEff"], 16),
        "no_new_privileges": status.get("NoNewPrivs", "").strip() == "1",
        "read_only": bool(os.statvfs("/").f_flag & os.ST_RDONLY),
        "networks": sorted(entry.name for entry in NETWORKS.iterdir()) if NETWORKS.is_dir() else [],
        "memory": first(GROUPS / "memory.max", GROUPS / "memory/memory.limit_in_bytes"),
        "processes": first(GROUPS / "pids.max", GROUPS / "pids/pids.max"),
    }


def main() -> None:
    """Write the facts to standard output, which is a socket."""
    os.write(1, json.dumps(facts()).encode())


if __name__ == "__main__":
    main()
