"""Run tests of the embedded sandbox on another Linux kernel, of Debian or Ubuntu, in QEMU with this machine's files.

    python tools/old_kernel --kernel 6.1 --as root=tests/sandbox/local/test_confinement.py --as 1000="tests/kinds -k x"
    python tools/old_kernel --kernel 6.1 --fetch         only downloads; needs no packages of Python

The guest sees this machine's file system read-only (over 9p) and writes into its memory. KVM is used if it can run any
kernel; otherwise the machine is emulated, which takes twenty to forty times as long. It needs root, and apt with the
packages of Debian or Ubuntu. If one of these is missing, it prints the reason and exits with 77, or with 1 if
`CI=true`. The exit code is 0 if every pytest run passed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import guest
from archive import SUITES, Unavailable, fetch

NOT_POSSIBLE = 77
"""Exit code for "not possible on this machine", as in automake."""

TREE = Path(__file__).resolve().parents[2]
FETCHED = TREE / "build/old-kernel"
PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio", "zstd": "zstd"}
"""Required programs, with the package of each."""

PLAIN = "console=ttyS0 loglevel=3 panic=-1 random.trust_cpu=on no_timer_check mitigations=off norandmaps nopti no5lvl"
"""No side-channel mitigations, and the same addresses in each process: an emulator then translates code once."""

ALL, WORKING = "full,landlock,namespaces", {"5.10": "namespaces"}
"""The tiers that must work on a kernel with default settings. Before 5.13 there is no Landlock."""

BUILD = """
import json, sys
from dataclasses import asdict
from autocoder_jupyter.sandbox.host.bundle import bundle
from tests.sandbox.sandboxes import base_spec, open_sandbox
bundle()  # compiles the modules of a worker
print(json.dumps(asdict(open_sandbox("local").build(base_spec("local")))))
"""


def main() -> int:
    """Run the tests. Returns the exit code."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the emulator ends too
    try:
        _need_programs()
        kernel = fetch(options.kernel, FETCHED)
    except Unavailable as reason:
        print(f"Not run on Linux {options.kernel}: {reason}.", flush=True)
        return 1 if os.environ.get("CI") == "true" else NOT_POSSIBLE
    if options.fetch:
        return 0
    with tempfile.TemporaryDirectory(prefix="old-kernel-", dir="/var/tmp") as place:
        folder = Path(place)
        folder.chmod(0o755)
        variables = dict(setting.split("=", 1) for setting in options.env)
        variables.setdefault("AUTOCODE_TEST_TIERS", WORKING.get(options.kernel, ALL))
        ours = (lambda words: words) if options.program else guest.tests
        tries = [
            guest.Try(user, ours(shlex.split(words)), in_group, not options.program)
            for in_group, (user, words) in options.tries
        ]
        arguments = [] if options.program else [word for _, (_, words) in options.tries for word in shlex.split(words)]
        environment = _built(arguments)
        (folder / "environment.json").write_text(json.dumps(environment), "utf-8")
        variables |= {
            "AUTOCODE_TEST_ENVIRONMENT": str(folder / "environment.json"),
            "AUTOCODE_TEST_SECONDS": "480",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        script = guest.script(TREE, Path(environment["location"]), tries, variables, options.sysctl)
        return _boot(kernel.image(folder), guest.initial_files(kernel, folder, script), options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/old_kernel", description=__doc__.splitlines()[0])
    parser.add_argument("--kernel", default="6.1", choices=SUITES, help="the version")
    tries: dict[str, Any] = {"dest": "tries", "default": [], "action": "append", "metavar": "USER=ARGUMENTS"}
    parser.add_argument(
        "--as",
        **tries,
        type=lambda text: (False, text.split("=", 1)),
        help="user (root or a number) and arguments of pytest, quoted as for a shell; repeat it for runs in parallel",
    )
    parser.add_argument(
        "--in-group",
        **tries,
        type=lambda text: (True, text.split("=", 1)),
        help="the same, in a control group that is delegated to the user",
    )
    parser.add_argument("--fetch", action="store_true", help="only download what is needed")
    parser.add_argument("--append", default="", help="text for the kernel's command line, such as lsm=yama")
    parser.add_argument(
        "--sysctl", default=[], action="append", help="a kernel setting, such as user.max_user_namespaces=0"
    )
    parser.add_argument(
        "--env", default=[], action="append", help="an environment variable, such as AUTOCODE_TEST_TIER=landlock"
    )
    parser.add_argument(
        "--program", action="store_true", help="the arguments of --as are a command, not arguments of pytest"
    )
    parser.add_argument("--minutes", type=float, default=40, help="timeout in minutes")
    return parser.parse_args()


def _need_programs() -> None:
    """Install the programs that are missing.

    Raises:
        Unavailable: this is not possible on this machine.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise Unavailable("it needs Linux on x86-64")
    if os.geteuid() != 0:
        raise Unavailable("it needs root, to share this machine's files")
    if shutil.which("apt-get") is None:
        raise Unavailable("there is no apt-get")
    if missing := [package for program, package in PROGRAMS.items() if shutil.which(program) is None]:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
        for command in (["apt-get", "update", "-qq"], install):
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"apt cannot install {', '.join(missing)}: {done.stderr.strip()[-300:]}")


def _built(arguments: list[str]) -> dict[str, Any]:
    """Build the suites' environment and the bytecode of the tests, because the guest has no network and is slow.

    The environment is that of the other tests of this machine's user, so it is built only once.

    Args:
        arguments: of pytest, for all users together; they select the tests.

    Returns:
        The fields of the environment.
    """
    lean = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    lean |= {"PYTHONPATH": str(TREE), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    said = subprocess.run([sys.executable, "-c", BUILD], check=True, cwd=TREE, env=lean, capture_output=True, text=True)
    if arguments:
        collect = [sys.executable, "-m", "pytest", *guest.tests(arguments), "--collect-only"]
        subprocess.run(collect, check=True, cwd=TREE, env=lean, stdout=subprocess.DEVNULL)
    environment: dict[str, Any] = json.loads(said.stdout)
    return environment


def _machine() -> list[str]:
    """QEMU's arguments for KVM, or for an emulated processor. A PVM host runs only its own kernels."""
    if os.access("/dev/kvm", os.R_OK | os.W_OK) and not Path("/sys/module/kvm_pvm").exists():
        return ["-accel", "kvm", "-cpu", "host", "-smp", str(os.cpu_count())]
    # The oldest processor that the wheels of numpy and pyarrow support, because wide registers are slow to emulate.
    # Only one: two would wait for each other's kernel locks while this machine runs something else.
    return ["-accel", "tcg", "-cpu", "Nehalem", "-smp", "1"]


def _boot(image: Path, initial: Path, options: argparse.Namespace) -> int:
    command = [
        *("qemu-system-x86_64", *_machine(), "-m", "3G"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"),
        *("-kernel", str(image), "-initrd", str(initial), "-append", f"{PLAIN} {options.append}"),
        *("-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"),
    ]
    seen, began = [], time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as running:
        timeout = threading.Timer(options.minutes * 60, running.kill)
        timeout.start()
        try:
            assert running.stdout is not None
            for line in running.stdout:
                text = line.decode("utf-8", "replace").rstrip()
                print(text, flush=True)
                seen.append(text)
        finally:
            timeout.cancel()
            running.kill()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime
    print(f"{time.monotonic() - began:.0f} s in QEMU; {processor:.0f} s of processor time, including the preparation.")
    passed = [line for line in seen if re.fullmatch(r"as [\w ]+: exit code 0", line)]
    if "done" not in seen:
        print(f"Linux {options.kernel} did not finish within {options.minutes:g} minutes.", flush=True)
    return 0 if len(passed) == len(options.tries) and "done" in seen else 1


if __name__ == "__main__":
    sys.exit(main())
