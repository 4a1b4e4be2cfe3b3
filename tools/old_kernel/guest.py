"""The guest machine: its initial files, the script that mounts the file system, and the tests of each user."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from archive import Kernel

MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
"""The modules that the guest needs, without their dependencies. Modules that are built into a kernel are left out."""

CHOICE = (
    *("-o", "addopts=", "--import-mode=importlib", "--confcutdir=tests/sandbox/any_sandbox"),
    *("-p", "no:cacheprovider", "-W", "ignore::pytest.PytestConfigWarning", "-m", "not docker"),
    *("-q", "--color=no", "--tb=short", "-rfEs"),
)
"""Arguments for pytest with as few imports as possible, because an emulated import takes thirty times as long."""

INIT = """#!/bin/busybox sh
export PATH=/bin
busybox mkdir -p /proc /sys /dev /lower /upper /new
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs devtmpfs /dev
for module in {modules}; do busybox insmod /modules/$module; done
busybox mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=1048576 host /lower
busybox mount -t tmpfs tmpfs /upper
busybox mkdir /upper/files /upper/work
busybox mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /new
for place in proc sys dev; do busybox mount --move /$place /new/$place; done
busybox mkdir -p /new/dev/shm
busybox mount -t tmpfs tmpfs /new/dev/shm
busybox mount -t tmpfs -o mode=1777 tmpfs /new/run
busybox ip link set lo up
exec busybox switch_root /new /bin/bash {script}
"""

SCRIPT = """#!/bin/bash
# The guest's first process. Its changes of files stay in the guest's memory.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
chmod a+x {folders} # the interpreter and the environment may be in the home of root
cd {tree}
ulimit -c 0
[ -d /sys/fs/cgroup ] && mount -t cgroup2 cgroup2 /sys/fs/cgroup
[ -d /sys/kernel/security ] && mount -t securityfs securityfs /sys/kernel/security
echo "Linux $(uname -r), $(cat /sys/kernel/security/lsm 2>/dev/null)"
{settings}
env -i CI=true LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={tree} {variables} \\
  {users} {tries} 2>&1
echo done
sync
echo o > /proc/sysrq-trigger
/bin/sleep 60
"""


@dataclass(frozen=True)
class Try:
    """What one user runs in the guest; see `users.py`.

    Args:
        user: root, or a number.
        command: the arguments of pytest, or a program and its arguments.
        in_group: whether it runs in a control group that is delegated to the user.
        tests: whether pytest runs.
    """

    user: str
    command: list[str]
    in_group: bool
    tests: bool


def script(
    tree: Path, environment: Path, tries: Iterable[Try], variables: Mapping[str, str], settings: Iterable[str]
) -> str:
    """The script that the guest runs after its file system is mounted.

    Args:
        tree: the folder of this project.
        environment: the folder of the suites' environment.
        tries: what the users run; they do so in parallel.
        variables: environment variables.
        settings: kernel settings, in the form of `sysctl`.
    """
    read = (tree, environment, Path(sys.base_prefix).resolve())
    return SCRIPT.format(
        folders=shlex.join(sorted({str(parent) for place in read for parent in place.parents} - {"/"})),
        tree=shlex.quote(str(tree)),
        users=shlex.join([sys.executable, str(Path(__file__).with_name("users.py"))]),
        tries=shlex.quote(json.dumps([asdict(one) for one in tries])),
        variables=shlex.join(f"{name}={value}" for name, value in variables.items()),
        settings="\n".join(f"sysctl -q -w {shlex.quote(setting)}" for setting in settings),
    )


def tests(arguments: Iterable[str]) -> list[str]:
    """The arguments of pytest that run what these select."""
    return [*CHOICE, *arguments]


def initial_files(kernel: Kernel, folder: Path, first: str) -> Path:
    """The initial file tree of the kernel: busybox, the modules, and the script that mounts the rest.

    Args:
        kernel: the kernel to boot.
        folder: the files are written here; the guest can read it.
        first: the guest's script, see `script`.
    """
    beginning = folder / "guest.sh"
    beginning.write_text(first, "utf-8")
    root = folder / "initial"
    for part in ("bin", "modules"):
        (root / part).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "/bin/busybox", root / "bin/busybox")
    modules = kernel.write_modules(MODULES, root / "modules")
    init = root / "init"
    init.write_text(INIT.format(modules=" ".join(modules), script=beginning), "ascii")
    init.chmod(0o755)
    archive = folder / "initial.cpio"
    listing = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
    with archive.open("wb") as file:
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=root, input=listing, stdout=file, check=True)
    return archive
