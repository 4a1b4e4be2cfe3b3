"""Write what a program in a container finds: its Python, its rights and its limits, as one JSON object."""

import json
import os
import platform
import sys
import sysconfig
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
NETWORKS = Path("/sys/class/net")


def first(*paths: Path) -> str:
    """The text of the first file that can be read; "" where none can."""
    for path in paths:
        try:
            return path.read_text().strip()
        except OSError:
            pass
    return ""


def facts() -> dict[str, object]:
    """What is found, by name. Limits are texts as the kernel writes them: `memory` in bytes, or "max"."""
    lines = Path("/proc/self/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    return {
        "python_version": list(sys.version_info[:2]),
        "release": platform.python_version(),
        "machine": platform.machine(),
        "libc": list(platform.libc_ver()),
        "site_packages": sysconfig.get_path("purelib"),
        "user": os.getuid(),
        "capabilities": int(status["CapEff"], 16),
        "no_new_privileges": status.get("NoNewPrivs", "").strip() == "1",
        "read_only": bool(os.statvfs("/").f_flag & os.ST_RDONLY),
        "networks": sorted(entry.name for entry in NETWORKS.iterdir()) if NETWORKS.is_dir() else [],
        "memory": first(GROUPS / "memory.max", GROUPS / "memory/memory.limit_in_bytes"),
        "processes": first(GROUPS / "pids.max", GROUPS / "pids/pids.max"),
    }


def main() -> None:
    """Write them to standard output, which is a socket."""
    os.write(1, json.dumps(facts()).encode())


if __name__ == "__main__":
    main()
