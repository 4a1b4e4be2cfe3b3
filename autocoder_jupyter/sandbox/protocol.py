"""The protocol of a sandbox, its environments and its workers.

A `Sandbox` turns an `EnvironmentSpec` into an `Environment` (a locked set of packages, on disk or as an image) and
starts `Worker`s in it: one interpreter each, its libraries loaded and locked down, that runs each program in a
fresh forked child. All methods here block; callers on an event loop use `concurrency.background`.

The exceptions are part of the contract and are defined in `autocoder_jupyter.errors`. There are two groups. Failures of
the *program* may be sent to the model: `SolutionError`, `WrongType`, `SandboxTimeout`, `OutOfMemory`, `SandboxCrash`
and `OutputRefused`. Failures of the *sandbox* must not be sent to it as failures of its program: `SandboxUnavailable`,
`EngineGone` and `PackageError`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from autocoder_jupyter.errors import Cancelled, EngineGone
from autocoder_jupyter.settings.choices import SandboxName, SandboxTier
from autocoder_jupyter.types import Helpers, InputSpec, OutputSpec, TestOutcome

if TYPE_CHECKING:
    from autocoder_jupyter.errors import SandboxError
    from autocoder_jupyter.sandbox.host.replies import CallAnswer
    from autocoder_jupyter.sandbox.worker.entries import Packed


# Cancellation
#
# A build waits for subprocesses, an engine, a worker and the builds of other kernels. None of them notices by itself
# that it was cancelled. So a `CancellationToken` is passed down, and each long step registers a function that ends it.


class CancellationToken:
    """Cancels the steps that registered with it. `cancel` may be called from any thread.

    Args:
        message: text of the `Cancelled` that is raised.
    """

    def __init__(self, message: str = "The build of the environment was cancelled.") -> None:
        self._message = message
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._callbacks: list[Callable[[], None]] = []

    def cancel(self) -> None:
        """End the running steps, and prevent new ones. Returns at once."""
        with self._lock:
            self._cancelled.set()
            for end in self._callbacks:
                end()

    def raise_if_cancelled(self) -> None:
        """Raise if `cancel` was called.

        Raises:
            Cancelled: `cancel` was called.
        """
        if self._cancelled.is_set():
            raise Cancelled(self._message)

    def wait(self, seconds: float) -> None:
        """Sleep until `cancel` is called, or the time is over."""
        self._cancelled.wait(seconds)

    @contextmanager
    def on_cancel(self, end: Callable[[], None]) -> Iterator[None]:
        """Register a function that ends the step inside this context.

        Raises:
            Cancelled: `cancel` was called. It replaces the exception of the step.
        """
        with self._lock:
            self._callbacks.append(end)
            if self._cancelled.is_set():
                end()
        try:
            self.raise_if_cancelled()
            yield
        except Exception:
            self.raise_if_cancelled()
            raise
        finally:
            with self._lock:
                self._callbacks.remove(end)
        self.raise_if_cancelled()


def _ignore(line: str) -> None:
    """The `on_step` of a build whose steps are not shown."""


@dataclass(frozen=True)
class BuildWatch:
    """Shows the steps of a build to whoever waits for it, and may cancel it.

    Args:
        on_step: called with a line before each slow step.
        token: cancels the build and kills its processes.
    """

    on_step: Callable[[str], None] = _ignore
    token: CancellationToken = field(default_factory=CancellationToken)


UNWATCHED = BuildWatch()
"""The watch of a build whose steps are not shown, and which is never cancelled."""


def run_cancellable(
    command: Sequence[str],
    *,
    token: CancellationToken,
    input: str = "",
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. Its process group is killed if the token is cancelled."""
    token.raise_if_cancelled()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=env,
        cwd=folder,
        start_new_session=True,  # its processes form one group, and a Ctrl-C for the kernel does not reach them
    )
    with process, token.on_cancel(lambda: _kill(process)):
        try:
            output, errors = process.communicate(input)
        except BaseException:
            _kill(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _kill(process: subprocess.Popen[str]) -> None:
    if process.returncode is not None:
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except AttributeError:  # a system without process groups
        process.kill()
    except ProcessLookupError:
        return


# Sandboxes, environments and workers


class WorkerNotReady(EngineGone):
    """The worker had ended, or did not take the request, so another worker can take it.

    At most a kept process, which has ended with the worker, has begun with it.
    """


@dataclass(frozen=True)
class Probe:
    """Whether a sandbox can be used here. It was found by a real run.

    Args:
        reason: why it cannot be used, or what weakens it; "" if there is nothing to say.
        details: facts for `%autocode setup check`.
        tier: the kind of isolation; None if it cannot be used.
    """

    name: SandboxName
    available: bool
    reason: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
    tier: SandboxTier | None = None


@dataclass(frozen=True)
class EnvironmentSpec:
    """The required content of an environment, before it is locked.

    Args:
        packages: requirements (`"pandas"`, `"scikit-learn>=1.5"`), without URLs and paths.
        system_packages: apt packages; only Docker can install them.
        lock: lines of an earlier lock (see `environments.locking`). If given, exactly these are installed.
        pinned: lines of the user's own lock. These versions and hashes are used; further requirements of `packages`
            are added.
    """

    packages: tuple[str, ...]
    python_version: tuple[int, int]
    system_packages: tuple[str, ...] = ()
    lock: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()


@dataclass(frozen=True)
class Environment:
    """A built environment.

    Args:
        location: its folder, or the name of its image.
        made: identifies this build. A rebuild at the same location has another value, because workers of the earlier
            build do not see the new files.
    """

    key: str
    location: str
    lock: tuple[str, ...]
    python_version: tuple[int, int]
    system_packages: tuple[str, ...] = ()
    made: str = ""

    @property
    def image(self) -> str:
        """The name of the image, or `local:<key>` for a folder. It has no path of this machine."""
        return f"local:{self.key}" if Path(self.location).is_absolute() else self.location


@dataclass(frozen=True)
class WorkerLimits:
    """The limits of one worker, and of one program in it.

    Args:
        memory: bytes of all processes of the worker together.
        seconds: wall-clock seconds of one program.
        output_bytes: bytes of all values that one program returns.
        text_bytes: bytes that are kept of its standard output, and of its standard error.
        disk: bytes in its temporary folder.
    """

    cpu: float = 1.0
    memory: int = 2 * 2**30
    seconds: float = 120.0
    processes: int = 128
    output_bytes: int = 2 * 2**30
    text_bytes: int = 64 * 1024
    disk: int = 2**30


@dataclass(frozen=True)
class WorkerSpec:
    """The kind of a worker. Workers of equal specs are interchangeable.

    Args:
        environment: the result of `Sandbox.build`.
        limits: of the worker and of each program.
        network: whether programs may use the network.
    """

    environment: Environment
    limits: WorkerLimits
    network: bool = False


@dataclass(frozen=True)
class Program:
    """A solution to run: its source, its interface, what it may import, and the environment variables it may see."""

    code: str
    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    function: str = "run"
    env_vars: Mapping[str, str] = field(default_factory=dict, repr=False)  # secrets are among them
    helpers: Helpers = field(default_factory=Helpers, repr=False)


@dataclass(frozen=True)
class CallSpec:
    """How a program is called.

    Args:
        seed: seed of `random` and of numpy's global generator. By default each call has another one, so that a
            comparison of two calls shows hidden randomness.
        seconds: wall-clock limit of this call; by default the limit of the worker.
        processor_seconds: limit of its processor time. Seconds in which it waits for something else count too.
        reuse: run in the child process of the previous call with `reuse`, if it had the same program. This is faster
            and isolates less: the module keeps its state and the files that it wrote when it was loaded. Files of
            earlier calls are removed.
        watch_inputs: find out which inputs the function changes in place (`CallOutcome.mutated`). The inputs are sent
            back after the call and compared in the notebook, so the call takes longer.
    """

    seed: int | None = None
    seconds: float | None = None
    reuse: bool = False
    watch_inputs: bool = False
    processor_seconds: float | None = None


PLAIN_CALL = CallSpec()


@dataclass(frozen=True)
class CallOutcome:
    """The result of a call.

    Args:
        values: the outputs by name, decoded and validated. A `File` or `Dir` is in a temporary folder that is removed
            with the value; move or copy it to keep it.
        digests: content hash of each encoded output. Equal values have equal digests.
        mutated: names of the inputs that the function changed in place; always empty without `watch_inputs`.
        stdout: head and tail of the standard output, without control characters.
    """

    values: Mapping[str, Any]
    digests: Mapping[str, str]
    mutated: tuple[str, ...]
    stdout: str
    stderr: str
    seconds: float


@dataclass(frozen=True)
class CommandOutcome:
    """The result of a shell command.

    Args:
        exit_code: of the shell; if a signal ended it, the negative number of the signal.
        output: head and tail of standard output and error, in one text. Control characters are escaped, and the
            folder of the workspace is removed from paths.
        files: content of the regular files in the workspace after the command, by path.
        left_out: entries of the workspace that were not taken, each with its reason.
        stopped: "timed out" or "flooded" (too much output) if the command was stopped, else "".
    """

    exit_code: int
    output: str
    files: Mapping[str, bytes] = field(repr=False)
    left_out: tuple[str, ...] = ()
    stopped: str = ""


OnCall = Callable[[Mapping[str, Any], Mapping[str, Any]], None]
"""Receives the arguments and the outputs of a call, by name. Both are decoded for this function alone."""


@dataclass(frozen=True)
class TestSpec:
    """Tests to run, and who receives their outcomes.

    Args:
        source: of the tests. It never leaves the worker that runs them.
        seconds: wall-clock limit of all tests; by default the limit of the worker.
        processor_seconds: limit of the processor time of the tests, and of each call of the function; see `CallSpec`.
        on_report: called with each outcome when a test ends.
        on_call: called after each call of a test that returned, with its arguments and outputs by name.
        until_failure: end after the first test that fails; those after it are missing.
        reuse: make all calls in one process, see `CallSpec`, and run the tests in that of the last such run of the same
            tests. Program and tests could notice it, so it is not evidence for the program.
        other_stub: source of another stub. The tests that passed run on it too, in the same process.
        traceback: show the lines in which a test failed. Without them, failing tests take less time.
    """

    __test__ = False

    source: str
    expected: Sequence[str]
    seconds: float | None = None
    on_report: Callable[[TestOutcome], None] | None = None
    on_call: OnCall | None = None
    until_failure: bool = False
    reuse: bool = False
    other_stub: str = ""
    traceback: bool = True
    processor_seconds: float | None = None


@dataclass(frozen=True)
class TestRun:
    """The result of a test run.

    Args:
        outcomes: the outcome of each expected test; `missing` if it was not reported. A parametrised test is reported
            with each of its ids.
        output: pytest's report without addresses, durations and paths of this machine. So two runs with the same
            failure give the same text.
        collection_error: the error that prevented the collection of the tests, or "".
        missing_module: top-level name of a module that the solution or the tests could not import, or "".
        seconds: wall-clock seconds.
        on_other_stub: the expected tests that passed on `other_stub` too.
    """

    __test__ = False

    outcomes: tuple[TestOutcome, ...]
    exit_code: int
    output: str
    collection_error: str
    missing_module: str
    seconds: float
    on_other_stub: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether there was at least one expected test, and all of them passed."""
        return bool(self.outcomes) and all(outcome.outcome == "passed" for outcome in self.outcomes)


class Callee(Protocol):
    """Where the function is called that tests run on."""

    @property
    def alive(self) -> bool:
        """Whether the worker seems able to run another program. The worker itself is not asked."""
        ...

    def answer(self, program: Program, packed: Packed, spec: CallSpec) -> CallAnswer:
        """Like `Worker.call`, but with encoded arguments and an answer that is not decoded.

        Raises:
            SandboxError: there is no answer; see `Worker.call`.
        """
        ...


class Worker(Callee, Protocol):
    """One running, locked-down interpreter. It runs one program at a time. `kill` may be called from any thread.

    The part of `id` before the first dot identifies the interpreter that it was forked from. Workers that were forked
    from the same interpreter have the same hash seed. `cores` are the numbers of the cores that it is bound to; none if
    it may run on any. `processor_seconds` is the processor time of all programs so far, with that in which they waited
    for something else than a processor.
    """

    id: str
    cores: Collection[int]

    @property
    def processor_seconds(self) -> float:
        """See above."""
        ...

    def call(self, program: Program, arguments: Mapping[str, Any], spec: CallSpec = PLAIN_CALL) -> CallOutcome:
        """Run the function on `arguments`.

        Args:
            program: the solution.
            arguments: values by input name. All are encoded before anything runs.
            spec: how it is called.

        Raises:
            UnsupportedData: an argument cannot be encoded.
            SandboxError: the program or the sandbox failed; see the docstring of this module. After a timeout, a crash
                or the loss of the engine the worker is dead.
        """
        ...

    def batch(
        self,
        program: Program,
        calls: Sequence[Packed],
        seconds: float,
        *,
        seed: int | None = None,
        partly: bool = False,
        processor_seconds: float | None = None,
    ) -> Sequence[CallOutcome | SandboxError]:
        """Run the function on one set of arguments after the other, in one fresh child.

        Args:
            program: the solution. What it keeps in global variables stays until the last call.
            calls: the encoded arguments of each call.
            seconds: wall-clock limit of all calls. After half of it no further call is begun.
            processor_seconds: limit of their processor time, likewise; see `CallSpec`.
            seed: of the random numbers of each call, see `CallSpec`.
            partly: if the child is stopped, return the outcomes that it had until then, if there are any.

        Returns:
            For each call its outcome, or the error that the function raised; one at least. There are fewer than calls
            if the time was short.

        Raises:
            SandboxError: the child or the sandbox failed; see `call`. Nothing is known about any call then.
        """
        ...

    def test(self, program: Program, tests: TestSpec, *, callee: Callee | None) -> TestRun:
        """Run pytest on `tests` in this worker. `from solution import run` calls `program` in `callee`.

        Each call of a test runs in a fresh child of `callee`, like any other call, so the program cannot notice that
        it is tested. Failures of the program or the tests are part of the result.

        Args:
            program: the solution that is tested.
            tests: the tests.
            callee: another worker, in which the function is called. None calls it in the process of the tests; this
                is only safe for a program that was not generated, such as a stub.

        Raises:
            SandboxError: the sandbox failed.
        """
        ...

    def command(self, command: str, files: Mapping[str, bytes], *, seconds: float) -> CommandOutcome:
        """Run a shell command in a folder with `files`, and return its output and the files afterwards.

        It runs in a fresh child process, without the environment variables of a program. The environment's `python` is
        first on its PATH. Processes that it leaves running are killed.

        Args:
            command: the text for `bash -c`, or for `sh -c` if there is no bash.
            files: content by relative path (see `workspace.workspace`). The folder has no other files.
            seconds: wall-clock limit. The command is stopped then; its files are still returned.

        Raises:
            SandboxError: there is no outcome; see `call`.
        """
        ...

    def kill(self) -> None:
        """Kill all processes of the worker. May be called repeatedly and from any thread."""
        ...

    def responds(self) -> bool:
        """Whether the worker can run another program. The worker is asked; without an answer in time it is False."""
        ...

    def rest(self) -> None:
        """End the process that is kept for another call of the same program, if there is one."""
        ...


def origin_of(worker: str) -> str:
    """The id of the interpreter from which the worker with this id was forked."""
    return worker.partition(".")[0]


class Sandbox(Protocol):
    """Runs unreviewed code in isolation."""

    name: SandboxName

    def probe(self) -> Probe:
        """Find out by a real run whether the sandbox works here. The result is cached."""
        ...

    def build(self, spec: EnvironmentSpec, *, watch: BuildWatch = UNWATCHED) -> Environment:
        """Lock and build an environment, or return it if it is already built. Several kernels may do this at once.

        Args:
            spec: the required content.
            watch: shows the steps, and may cancel them. No incomplete environment is left. Another kernel that
                waits for the same environment then builds it.

        Raises:
            PackageError: a package cannot be found or installed; the error names it.
            SandboxUnavailable: the sandbox cannot install the system packages.
            Cancelled: it was cancelled.
        """
        ...

    def examine(self, environment: Environment) -> str:
        """Check whether an environment is still complete. It is used when programs fail, and takes some 0.1 s.

        Returns:
            A description of what is wrong; "" if the environment is complete. `build` repairs it.
        """
        ...

    def start(self, spec: WorkerSpec, *, unlike: Collection[str] = ()) -> Worker:
        """Start a worker with its libraries loaded, ready for its first call.

        Args:
            spec: the kind of the worker.
            unlike: ids of workers. The new worker has a hash seed that differs from theirs.

        Raises:
            SandboxError: it could not be started.
        """
        ...

    def affords_spare(self) -> bool:
        """Whether a worker should be started in advance: starting is slow here, and there is enough memory.

        It is fast and never raises.
        """
        ...
