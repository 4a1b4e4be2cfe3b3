"""Trials: start small programs in the local sandbox, to find out how well this machine can confine a program.

One program tries operations that must fail (read a canary file, write next to it, reach a socket, signal the notebook)
and some that must work (write in its folder, fork). The version of the kernel is not trusted. Another program checks
whether a control group enforces its limits.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import socket
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from autocoder_jupyter.errors import SandboxUnavailable
from autocoder_jupyter.sandbox.choice import is_container
from autocoder_jupyter.sandbox.host.exchange import ExitReason
from autocoder_jupyter.sandbox.local import control_groups
from autocoder_jupyter.sandbox.local.confinement import kernel_features
from autocoder_jupyter.sandbox.local.confinement.process import TIERS, ConfinementTier
from autocoder_jupyter.sandbox.local.control_groups import NotDelegated, delegated
from autocoder_jupyter.sandbox.local.process import LocalProcess
from autocoder_jupyter.sandbox.programs import program_text
from autocoder_jupyter.sandbox.programs.confinement_trial import MUST_WORK, SEEN
from autocoder_jupyter.sandbox.programs.group_trial import REFUSED
from autocoder_jupyter.sandbox.protocol import Probe, WorkerLimits
from autocoder_jupyter.sandbox.temporary_folder import temporary_folder

_SECONDS = 60.0
"""Time limit of a program. It is enough for an emulated processor."""


class StartProgram(Protocol):
    """Starts a Python program in the sandbox, confined like a worker of that tier."""

    def __call__(
        self, tier: ConfinementTier, arguments: list[str], limits: WorkerLimits | None = None, group: str = ""
    ) -> LocalProcess:
        """`group` is the folder of the control group in which its own is created; "" for none."""


def explain(reason: ExitReason, errors: str) -> str:
    """Why a program ended, and the end of its error output."""
    ended = f"killed by signal {reason.signal}" if reason.signal else f"exit code {reason.exit_code}"
    return "; ".join(filter(None, (reason.text or ended, errors[-300:])))


def read_all(descriptor: int) -> bytes:
    """Read until the stream ends."""
    deadline = time.monotonic() + _SECONDS
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    parts: list[bytes] = []
    while poll.poll(max(deadline - time.monotonic(), 0.0) * 1000):
        part = os.read(descriptor, 65536)
        if not part:
            return b"".join(parts)
        parts.append(part)
    raise TimeoutError(f"the trial program did not end within {_SECONDS:g} seconds; the machine may be busy")


# Control groups

_GROUP_LIMITS = WorkerLimits(memory=100 << 20, processes=8)
"""The program of the trial needs more. In the trial, only the kernel enforces these limits."""


def usable_group(start: StartProgram, tier: ConfinementTier) -> tuple[str, str]:
    """The folder for the control groups of workers, and ""; or "", and the reason why they cannot be used."""
    try:
        folder = delegated()
    except NotDelegated as refused:
        return "", str(refused)
    try:
        process = start(tier, ["-I", "-S", "-B", "-c", program_text("group_trial")], _GROUP_LIMITS, folder)
        with ExitStack() as stack:
            stack.callback(process.kill)
            for stream in (process.requests, process.data, process.control):
                stack.callback(stream.close)
            forked = read_all(process.data.fileno())
            reason = process.exit_reason()
    except (SandboxUnavailable, OSError) as failure:
        return "", f"no control group can be used in {folder}: {failure}"
    if reason.out_of_memory and forked.decode("ascii", "replace").strip() == REFUSED:
        return folder, ""
    return "", f"a control group in {folder} does not enforce its limits: {explain(reason, '')}"


# Tiers of confinement
#
# They are tried from the strongest to the weakest. The first one that confines the program is used.

SHORTAGE_HINT = "Free memory, disk, open files or processes (`ulimit -a` shows the limits), then run it again."
"""What to do if the system refuses a process or a file."""

_LONGEST_SOCKET = 107
"""Bytes of the longest path of a socket to which a program can connect."""

_ENFORCED = "the kernel limits memory and processes (a control group); disk is checked every 200 ms"
_WATCHED = "a supervisor checks memory, processes and disk, memory every 50 ms"


@dataclass(frozen=True)
class TierTrial:
    """The result of the trials.

    Args:
        tier: the tier that works; None if none does.
        refusals: why stronger tiers do not work here, by their names.
        landlock: the Landlock version of the kernel; 0 for none.
        reason: why no tier can work on this system, if none was tried.
        group: folder in which each worker gets a control group; "" if a supervisor watches memory and processes.
        not_counted: why control groups cannot be used.
    """

    tier: ConfinementTier | None = None
    refusals: dict[str, str] = field(default_factory=dict)
    landlock: int = 0
    seconds: float = 0.0
    reason: str = ""
    group: str = ""
    not_counted: str = ""

    def probe(self) -> Probe:
        """The result as a `Probe`, for the user."""
        if self.tier is None:
            tried = "; ".join(f"{name}: {reason}" for name, reason in self.refusals.items())
            nothing = "; ".join(filter(None, (f"No tier confines a program here. {tried}", _advice(None))))
            return Probe("local", False, self.reason or nothing, self._details())
        return Probe("local", True, details=self._details(), tier=self.tier.name)

    def _details(self) -> dict[str, str]:
        details = {"landlock": str(self.landlock), "milliseconds": f"{self.seconds * 1000:.0f}"}
        if self.tier is not None:
            details |= {f"not {name}": reason for name, reason in self.refusals.items()}
            if advice := _advice(self.tier):
                details["for more"] = advice
            details["limits"] = _ENFORCED if self.group else f"{_WATCHED} ({self.not_counted})"
            if limit := control_groups.memory_limit():
                details["limits"] += f"; all processes of this container together may use {limit >> 20} MiB of memory"
        return details


_lock = threading.Lock()
_answer: TierTrial | None = None


def tier_trial(start: StartProgram) -> TierTrial:
    """Run the trials. The result is kept for this process, unless the trial program cannot be started for now."""
    global _answer
    with _lock:
        try:
            _answer = _answer or _find_out(start)
        except OSError as error:
            return TierTrial(reason=f"The system refuses the processes that try the sandbox: {error}. {SHORTAGE_HINT}")
        return _answer


def _find_out(start: StartProgram) -> TierTrial:
    if not sys.platform.startswith("linux"):
        return TierTrial(reason="The local sandbox needs Linux (Landlock, seccomp and namespaces).")
    began = time.perf_counter()
    version = kernel_features.landlock_version()
    refusals: dict[str, str] = {}
    for tier in TIERS:
        refusal = _beforehand(tier, version) or _refusal(start, tier)
        if not refusal:
            group, not_counted = usable_group(start, tier)
            seconds = time.perf_counter() - began
            return TierTrial(tier, refusals, version, seconds, group=group, not_counted=not_counted)
        refusals[tier.name] = refusal
    return TierTrial(None, refusals, version, time.perf_counter() - began)


def _beforehand(tier: ConfinementTier, version: int) -> str:
    """Why a tier cannot work here; "" if it must be tried."""
    if tier.landlock and version == 0:
        return "the kernel has no Landlock, or the container around this notebook forbids it"
    if not tier.landlock and os.geteuid() == 0:
        return "root could change the kernel's settings without Landlock"
    return ""


def _refusal(start: StartProgram, tier: ConfinementTier) -> str:
    """Why a tier does not confine the trial program; "" if it does."""
    try:
        answers, error = _run(start, tier)
    except SandboxUnavailable as failure:
        return str(failure)
    if answers is None:
        return error
    allowed = (*MUST_WORK, *(() if tier.namespaces else (SEEN,)))
    wrong = [what for what, worked in answers.items() if worked != (what in allowed)]
    if not wrong:
        return ""
    return f"a program in it {'cannot' if wrong[0] in MUST_WORK else 'can'} {wrong[0]}"


def _run(start: StartProgram, tier: ConfinementTier) -> tuple[dict[str, bool] | None, str]:
    """The results of the trial program, or None and the reason why it failed."""
    with ExitStack() as stack:
        folder = str(stack.enter_context(temporary_folder("canary")))
        canary, path_socket, name = Path(folder, "canary"), str(Path(folder, "s")), f"autocode-{secrets.token_hex(8)}"
        canary.write_text("nobody may read this", "utf-8")
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        _listen(stack, f"\0{name}")
        if len(os.fsencode(path_socket)) <= _LONGEST_SOCKET:
            _listen(stack, path_socket)
        arguments = [str(canary), str(Path(folder, "beside")), path_socket, name, str(port), str(os.getpid())]
        process = start(tier, ["-I", "-S", "-B", "-c", program_text("confinement_trial"), *arguments])
        try:
            printed = read_all(process.data.fileno())
            errors = read_all(process.control.fileno()).decode("utf-8", "replace").strip()
            reason = process.exit_reason()
        finally:
            process.kill()
            for stream in (process.requests, process.data, process.control):
                stream.close()
    try:
        return json.loads(printed), ""
    except ValueError:
        return None, explain(reason, errors)


def _listen(stack: ExitStack, address: str) -> None:
    listener = stack.enter_context(socket.socket(socket.AF_UNIX))
    listener.bind(address)
    listener.listen()


# Advice to an administrator

_ROOT = Path("/")
_SETTINGS = Path("/proc/sys")
_FORBIDDING = {
    "user.max_user_namespaces": ("0", "10000"),
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
}
"""Settings of any system, Debian and Ubuntu, each with the value that forbids namespaces and one that allows them."""

_FOR_ROOT_TOO = ("user.max_user_namespaces",)

_SECURITY_MODULES = Path("/sys/kernel/security/lsm")
_OWN = Path("/proc/self")
_SETFCAP = 31


def _advice(tier: ConfinementTier | None) -> str:
    """What an administrator can change so that a stronger tier works; "" if no advice is known."""
    if tier is None:
        as_user = "a user other than root can be held by namespaces alone" if os.geteuid() == 0 else ""
        advice = (_advice_on_landlock(), as_user or _advice_on_namespaces())
    else:
        advice = (
            "" if tier.landlock else _advice_on_landlock(),
            "" if tier.namespaces else _advice_on_namespaces(),
        )
    return "; ".join(filter(None, advice))


def _advice_on_landlock() -> str:
    if kernel_features.landlock_version():
        return ""
    with contextlib.suppress(OSError):
        modules = _SECURITY_MODULES.read_text("ascii").strip()
        if modules and "landlock" not in modules.split(","):
            return f"lsm=landlock,{modules} on the kernel's command line turns Landlock on, from Linux 5.13 on"
    if is_container(_ROOT) and _has_filter():
        return (
            "this is a container; one whose seccomp profile allows landlock_create_ruleset, landlock_add_rule and "
            "landlock_restrict_self has Landlock, if the kernel does"
        )
    return ""


def _advice_on_namespaces() -> str:
    for name, (forbidding, allowing) in _FORBIDDING.items():
        if os.geteuid() == 0 and name not in _FOR_ROOT_TOO:
            continue
        with contextlib.suppress(OSError):
            if (_SETTINGS / name.replace(".", "/")).read_text("ascii").strip() == forbidding:
                where = "on the machine around this container, " if is_container(_ROOT) else ""
                return f"{where}sysctl {name}={allowing} lets users create namespaces"
    return "; ".join(filter(None, (_advice_on_capability(), *(_advice_on_profiles() if is_container(_ROOT) else ()))))


def _advice_on_capability() -> str:
    """Root maps itself into a user namespace, for which it needs a capability. Other users do not need it."""
    if os.geteuid() == 0 and not int(_own_status().get("CapEff", "f" * 16), 16) >> _SETFCAP & 1:
        return "root without the capability SETFCAP cannot create namespaces; a user other than root can"
    return ""


def _advice_on_profiles() -> Iterable[str]:
    """The profiles of this container that may forbid namespaces: of seccomp, and of AppArmor."""
    if _has_filter():
        yield (
            "this is a container; one whose seccomp profile allows namespaces lets the sandbox make its own "
            "(docker run --security-opt seccomp=PROFILE; in a pod securityContext.seccompProfile)"
        )
    with contextlib.suppress(OSError):
        profile, _, mode = (_OWN / "attr/apparmor/current").read_text("utf-8").strip().partition(" ")
        if mode == "(enforce)":
            yield (
                f"the AppArmor profile {profile} of this container must allow mounts and namespaces "
                "(docker run --security-opt apparmor=PROFILE; in a pod securityContext.appArmorProfile)"
            )


def _has_filter() -> bool:
    """Whether a seccomp filter applies to this process; True if the system does not report it."""
    return _own_status().get("Seccomp") != "0"


def _own_status() -> dict[str, str]:
    with contextlib.suppress(OSError):
        lines = (_OWN / "status").read_text("utf-8", "replace").splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return {}
