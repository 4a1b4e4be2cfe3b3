"""The protocol of a sandbox, its environments and its workers.

A `Sandbox` turns an `EnvironmentSpec` into an `Environment` (a locked set of packages, on disk or as an image) and
starts `Worker`s in it: one interpreter each, its libraries loaded and locked down, that runs each program in a
fresh forked child. All methods here block; callers on an event loop go through `concurrency.background`.

Exceptions are part of the contract and are those of `autocoder_jupyter.errors`. They keep apart what must never be
confused: the *program's* failure (`SolutionError`, `WrongType`, `SandboxTimeout`, `OutOfMemory`, `SandboxCrash`,
`OutputRefused`), which a model may be told about, and the *sandbox's* (`SandboxUnavailable`, `EngineGone`,
`PackageError`), which it may not be shown as its program's output.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from autocoder_jupyter.settings.tiers import SandboxTier
from autocoder_jupyter.types import InputSpec, OutputSpec, TestOutcome

if TYPE_CHECKING:
    from autocoder_jupyter.sandbox.cancellation import CancellationToken
    from autocoder_jupyter.sandbox.host.replies import Answer
    from autocoder_jupyter.sandbox.worker.entries import Packed


@dataclass(frozen=True)
class Probe:
    """Whether a sandbox can be used here, from a real run and not from a guess.

    `reason` says why not, or what is weaker than it could be; `details` are facts for `%autocode doctor`; `tier` is
    by what it holds, None where it does not.
    """

    name: Literal["docker", "local"]
    available: bool
    reason: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
    tier: SandboxTier | None = None


@dataclass(frozen=True)
class EnvironmentSpec:
    """What an environment must hold, before it is locked.

    Args:
        packages: requirements (`"pandas"`, `"scikit-learn>=1.5"`), without URLs and paths.
        system_packages: apt packages; only Docker can install them.
        python_version: (major, minor).
        lock: lines of an earlier lock (see `pins`), to be used as they are when given.
        pinned: lines of a person's own lock: these versions and hashes, and what `packages` need besides.
    """

    packages: tuple[str, ...]
    python_version: tuple[int, int]
    system_packages: tuple[str, ...] = ()
    lock: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()


@dataclass(frozen=True)
class Environment:
    """A built environment. `key` is the hash of all that it holds; `location` is a folder or an image's name.

    `image` names it without saying where it lies on this machine. `made` tells it from an earlier one in the same
    place, whose workers cannot see what is there now.
    """

    key: str
    location: str
    lock: tuple[str, ...]
    python_version: tuple[int, int]
    system_packages: tuple[str, ...] = ()
    made: str = ""

    @property
    def image(self) -> str:
        """The image's name, or `local:<key>` for a folder."""
        return f"local:{self.key}" if Path(self.location).is_absolute() else self.location


@dataclass(frozen=True)
class Limits:
    """What one worker, and one program in it, may use.

    Args:
        cpu: cores.
        memory: bytes over all processes of the worker.
        seconds: wall clock of one program.
        processes: processes and threads.
        output_bytes: what one program may send back as values.
        text_bytes: what is kept of its standard output and error, each.
        disk: bytes under its temporary folder.
    """

    cpu: float = 1.0
    memory: int = 2 * 2**30
    seconds: float = 120.0
    processes: int = 128
    output_bytes: int = 2 * 2**30
    text_bytes: int = 64 * 1024
    disk: int = 2**30


@dataclass(frozen=True)
class Program:
    """A solution to run: its source, its interface, and the environment variables it may see."""

    code: str
    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    function: str = "run"
    env_vars: Mapping[str, str] = field(default_factory=dict, repr=False)  # secrets are among them


@dataclass(frozen=True)
class CallOutcome:
    """What a call gave.

    Args:
        values: the outputs by name, decoded and validated. A `File` or `Dir` lies in a temporary folder that is removed
            with the value; move or copy it to keep it.
        digests: content hash of each encoded output, to see whether two calls agree. Equal values have equal digests.
        mutated: names of inputs that the function changed in place; empty unless they were watched.
        stdout, stderr: head and tail, control characters stripped.
        seconds: time inside the function.
    """

    values: Mapping[str, Any]
    digests: Mapping[str, str]
    mutated: tuple[str, ...]
    stdout: str
    stderr: str
    seconds: float


@dataclass(frozen=True)
class CommandOutcome:
    """What a command of a shell gave.

    Args:
        exit_code: the shell's; the negative number of a signal that ended it.
        output: head and tail of what it and its processes printed, both streams together; control characters spelled
            out, and the folder in which it ran taken out of paths.
        files: the plain files that lie in the workspace now, by path.
        left_out: what lies there besides and was not taken, each with its reason.
        stopped: why it was ended before its end, "timed out" or "flooded"; "" when it was not.
    """

    exit_code: int
    output: str
    files: Mapping[str, bytes] = field(repr=False)
    left_out: tuple[str, ...] = ()
    stopped: str = ""


@dataclass(frozen=True)
class TestRun:
    """What a test run gave. A test that was expected and never reported has the outcome `missing`.

    Args:
        outcomes: one per expected test id; parametrised ids are reported one by one and must all pass.
        exit_code: pytest's.
        output: pytest's own report, addresses, durations and paths of this machine taken out, so that two runs of
            the same failure give the same text.
        collection_error: the error that kept the tests from being collected, or "".
        missing_module: top-level name of the module that could not be imported, by the solution or the tests, or "".
        seconds: wall clock.
    """

    __test__ = False

    outcomes: tuple[TestOutcome, ...]
    exit_code: int
    output: str
    collection_error: str
    missing_module: str
    seconds: float

    @property
    def passed(self) -> bool:
        """Every expected test was reported as passed, and there was at least one."""
        return bool(self.outcomes) and all(outcome.outcome == "passed" for outcome in self.outcomes)


OnCall = Callable[[Mapping[str, Any], Mapping[str, Any]], None]
"""Takes the arguments and the outputs of a call, decoded anew."""


class Worker(Protocol):
    """One resident, locked-down interpreter. One program at a time; `kill` may come from any thread.

    What stands in `id` before a dot names the interpreter that it was forked from; workers of one share its hash seed.
    """

    id: str

    def call(
        self,
        program: Program,
        arguments: Mapping[str, Any],
        *,
        seed: int | None = None,
        seconds: float | None = None,
        reuse: bool = False,
        watch_inputs: bool = False,
    ) -> CallOutcome:
        """Run the function on `arguments`.

        Args:
            program: what to run.
            arguments: live values by input name; encoded before anything runs.
            seed: seeds `random` and numpy's global generator; another one each time by default, so that hidden
                randomness shows between two calls.
            seconds: wall clock for this call; the worker's limit by default.
            reuse: run in the child of the previous such call if it had the same program: faster, less separate. What
                the module holds and wrote when it was loaded is still there; files of earlier calls are not.
            watch_inputs: find out which inputs the function changes in place (`CallOutcome.mutated`). They are asked
                for when it has returned, and compared here. Ordinary calls, which work on a private copy anyway, go
                without.

        Raises:
            UnsupportedData: an argument cannot cross.
            SandboxError: as the module's docstring says. After a timeout, a crash or a lost engine the worker is dead.
        """
        ...

    def answer(self, program: Program, packed: Packed, *, seconds: float, watch_inputs: bool) -> Answer:
        """Run the function on encoded arguments, as `call` does, and return its answer undecoded.

        Raises:
            SandboxError: there is no answer; as `call`.
        """
        ...

    def test(
        self,
        program: Program,
        tests: str,
        expected: Sequence[str],
        *,
        callee: Worker | None,
        seconds: float | None = None,
        on_report: Callable[[TestOutcome], None] | None = None,
        on_call: OnCall | None = None,
    ) -> TestRun:
        """Run pytest on the source `tests` here; `from solution import run` in it reaches `program` in another worker.

        Each call that a test makes is one of `callee`, in a fresh child and without anything that tells it from any
        other call. Whatever the program or the tests do is an outcome; only a sandbox that fails raises.

        Args:
            program: what is tested.
            tests: source of the tests. It never leaves this worker.
            expected: ids of the tests that count.
            callee: another worker, in which the function is called. None calls it in the process of the tests: for a
                program of ours, such as a stub, which finds out nothing.
            seconds: wall clock for all tests; the worker's limit by default.
            on_report: hears of each test when it ends.
            on_call: hears of each call that a test made and that returned: its arguments and outputs by name.
        """
        ...

    def command(self, command: str, files: Mapping[str, bytes], *, seconds: float) -> CommandOutcome:
        """Run a command of a shell in a folder that holds `files`, and tell what lies there afterwards.

        It runs in a fresh child, with no variable of any program and the environment's `python` first on its path. What
        it started and left running is ended with the call.

        Args:
            command: for `bash -c`, or `sh -c` where there is no bash.
            files: by path, relative and confined (`sandbox.confined`); the folder holds nothing else.
            seconds: wall clock, after which the command is stopped. Its files are taken all the same.

        Raises:
            SandboxError: there is no outcome; as `call`. The files are then what they were.
        """
        ...

    def kill(self) -> None:
        """End every process of the worker at once. Idempotent, from any thread."""
        ...

    @property
    def alive(self) -> bool:
        """Whether it can take another program, as far as can be seen without asking it."""
        ...

    def in_order(self) -> bool:
        """Whether it can take another program. Asks the worker; one that does not answer in time counts as dead."""
        ...


def origin_of(worker: str) -> str:
    """The interpreter that the worker with this id comes from."""
    return worker.partition(".")[0]


class Sandbox(Protocol):
    """A way to run code that nobody has reviewed."""

    name: Literal["docker", "local"]

    def probe(self) -> Probe:
        """Find out by a real run whether it works here. Cheap when repeated."""
        ...

    def build(
        self,
        spec: EnvironmentSpec,
        *,
        on_progress: Callable[[str], None] | None = None,
        token: CancellationToken | None = None,
    ) -> Environment:
        """Lock and build an environment, or find it already built. Safe from several kernels at once.

        Args:
            spec: what it must hold.
            on_progress: gets a line before anything slow.
            token: ends the build at once when asked, with every process that it started; nothing half made is left, and
                whoever waits for the same environment builds it.

        Raises:
            PackageError: with the distribution at fault.
            SandboxUnavailable: system packages on a sandbox that has none.
            Cancelled: it was stopped.
        """
        ...

    def examine(self, environment: Environment) -> str:
        """Look whether an environment whose programs fail is what was built; blocks for some tenths of a second.

        Returns:
            What is wrong with it, in words; "" when nothing is. `build` then makes it anew.
        """
        ...

    def start(
        self,
        environment: Environment,
        limits: Limits,
        *,
        network: bool = False,
        preload: Sequence[str] = (),
        unlike: Collection[str] = (),
    ) -> Worker:
        """Start a worker, libraries loaded (`preload` names further modules), locked down, ready for its first call.

        It has another hash seed than the workers with the ids `unlike`.
        """
        ...

    def affords_spare(self) -> bool:
        """Whether a worker may be started ahead: starting takes long here, and there is memory. Cheap; never raises."""
        ...
