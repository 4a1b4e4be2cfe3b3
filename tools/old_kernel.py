"""Run tests of the embedded sandbox on another kernel: boots a Debian kernel in QEMU, with this machine's files.

    python tools/old_kernel.py [--kernel 6.1] [--users root,1000] -- tests/sandbox/test_confinement.py

The guest sees this machine's file system read-only (over 9p); what it writes goes into its memory. The machine is
emulated, because KVM does not run every kernel everywhere: count on a minute for the boot and one for each user. It
needs root and apt with Debian's packages; without one of them it says so and exits with 77. The exit code is 0 when
pytest passed as each user.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

CANNOT = 77
"""Exit code that says: not possible on this machine. The same as automake's."""

TREE = Path(__file__).resolve().parent.parent
NEEDED = ("qemu-system-x86", "busybox-static", "cpio")
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
"""What the guest needs, besides what these depend on. Those that a kernel has built in are left out."""

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

GUEST = """#!/bin/bash
# Runs in the guest, as its first process. What it changes stays in the guest's memory.
chmod a+x /root # where the interpreter may be
cd {tree}
ulimit -c 0
[ -d /sys/fs/cgroup ] && mount -t cgroup2 cgroup2 /sys/fs/cgroup
uname -r
for user in {users}; do
  mkdir -p /run/home-$user /run/tmp-$user
  [ "$user" = root ] && become=() || {{ chown $user:$user /run/home-$user /run/tmp-$user
    become=(setpriv --reuid $user --regid $user --clear-groups); }}
  "${{become[@]}}" env -i CI=true LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin \\
    HOME=/run/home-$user TMPDIR=/run/tmp-$user PYTHONDONTWRITEBYTECODE=1 \\
    PYTHONPATH={tree} AUTOCODE_CACHE_DIR={cache} {variables} \\
    {python} -m pytest -p no:cacheprovider --color no -n 0 -q {arguments}
  echo "as $user: exit code $?"
done
echo done
sync
echo o > /proc/sysrq-trigger
sleep 60
"""


def main() -> int:
    """Do it; the exit code."""
    options = _options()
    if reason := _lacking():
        print(f"Not run on another kernel: {reason}")
        return CANNOT
    with tempfile.TemporaryDirectory(prefix="old-kernel-", dir="/var/tmp") as place:
        folder = Path(place)
        folder.chmod(0o755)
        kernel, modules = _kernel(options.kernel, folder)
        cache = _prepared_cache(folder)
        script = folder / "guest.sh"
        script.write_text(_guest_script(options, cache), "utf-8")
        return _boot(kernel, _initial_files(folder, modules, script), options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default="6.1", help="version of a Debian kernel package, such as 6.1")
    parser.add_argument("--users", default="root,1000", help="root, or the number of a user")
    parser.add_argument("--tier", default="", help="the suites' tier; the best that holds by default")
    parser.add_argument("--minutes", type=float, default=15, help="when it is given up")
    parser.add_argument("arguments", nargs="*", help="for pytest")
    return parser.parse_args()


def _lacking() -> str:
    """Why it cannot be done here; "" when it can."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return "it needs Linux on x86-64"
    if os.geteuid() != 0:
        return "it needs root, to share this machine's files"
    if shutil.which("apt-get") is None:
        return "there is no apt"
    missing = [package for package in NEEDED if not _is_installed(package)]
    if missing:
        quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
        subprocess.run(["apt-get", "update", "-qq"], **quiet)  # type: ignore[call-overload]
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
        if subprocess.run(install, **quiet).returncode:  # type: ignore[call-overload]
            return f"apt does not install {', '.join(missing)}"
    return ""


def _is_installed(package: str) -> bool:
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True)
    return asked.stdout == "install ok installed"


def _kernel(version: str, folder: Path) -> tuple[Path, list[Path]]:
    """The kernel's image and its modules, from the newest package of this version."""
    name = re.compile(rf"^linux-image-{re.escape(version)}\.[\w.+-]*-amd64$")
    listed = subprocess.run(["apt-cache", "pkgnames", f"linux-image-{version}"], capture_output=True, text=True).stdout
    found = [package for package in listed.split() if name.match(package) and not re.search("-(cloud|rt)-", package)]
    if not found:
        raise SystemExit(f"apt knows no kernel {version}.")
    newest = max(found, key=lambda package: [int(number) for number in re.findall(r"\d+", package)])
    subprocess.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", newest], cwd=folder, check=True)
    (package,) = folder.glob("*.deb")
    unpacked = folder / "kernel"
    subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
    (image,) = unpacked.glob("boot/vmlinuz-*")
    there = {module.stem: module for module in unpacked.glob("lib/modules/*/kernel/**/*.ko")}
    return image, list(dict.fromkeys(module for name in MODULES for module in _with_needed(name, there)))


def _with_needed(name: str, there: dict[str, Path]) -> Iterator[Path]:
    """A module after those that it depends on, as it says in its own data."""
    if name not in there:
        return
    said = re.search(rb"\0depends=([^\0]*)\0", there[name].read_bytes())
    for needed in said.group(1).decode().split(",") if said else ():
        yield from _with_needed(needed, there)
    yield there[name]


def _prepared_cache(folder: Path) -> Path:
    """The environment that the suites run in: the guest has no network to build it."""
    cache = folder / "cache"
    build = (
        "from tests.sandbox.sandboxes import base_spec, open_sandbox; open_sandbox('local').build(base_spec('local'))"
    )
    environment = {**os.environ, "AUTOCODE_CACHE_DIR": str(cache), "PYTHONPATH": str(TREE)}
    subprocess.run([sys.executable, "-c", build], check=True, cwd=TREE, env=environment)
    subprocess.run(["chmod", "-R", "a+rwX", cache], check=True)  # the guest's changes stay in its memory
    return cache


def _guest_script(options: argparse.Namespace, cache: Path) -> str:
    return GUEST.format(
        tree=shlex.quote(str(TREE)),
        cache=shlex.quote(str(cache)),
        users=" ".join(map(shlex.quote, options.users.split(","))),
        variables=f"AUTOCODE_TEST_TIER={options.tier}" if options.tier else "",
        python=shlex.quote(sys.executable),
        arguments=" ".join(map(shlex.quote, options.arguments)),
    )


def _initial_files(folder: Path, modules: list[Path], script: Path) -> Path:
    """The file tree that the kernel starts with: busybox, the modules, and what mounts the rest."""
    root = folder / "initial"
    (root / "bin").mkdir(parents=True)
    (root / "modules").mkdir()
    busybox = shutil.which("busybox") or "/bin/busybox"
    shutil.copy(busybox, root / "bin/busybox")
    for module in modules:
        shutil.copy(module, root / "modules" / module.name)
    init = root / "init"
    init.write_text(INIT.format(modules=" ".join(module.name for module in modules), script=script), "ascii")
    init.chmod(0o755)
    archive = folder / "initial.cpio"
    listing = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
    with archive.open("wb") as file:
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=root, input=listing, stdout=file, check=True)
    return archive


def _boot(kernel: Path, initial: Path, options: argparse.Namespace) -> int:
    command = [
        *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max"),
        *("-smp", str(os.cpu_count()), "-m", "4G"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"),
        *("-kernel", str(kernel), "-initrd", str(initial)),
        *("-append", "console=ttyS0 quiet panic=-1 random.trust_cpu=on"),
        *("-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"),
    ]
    seen = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as guest:
        patience = threading.Timer(options.minutes * 60, guest.kill)
        patience.start()
        try:
            assert guest.stdout is not None
            for line in guest.stdout:
                text = line.decode("utf-8", "replace").rstrip()
                print(text, flush=True)
                seen.append(text)
        finally:
            patience.cancel()
            guest.kill()
    passed = [line for line in seen if re.fullmatch(r"as \w+: exit code 0", line)]
    return 0 if len(passed) == len(options.users.split(",")) and "done" in seen else 1


if __name__ == "__main__":
    sys.exit(main())
