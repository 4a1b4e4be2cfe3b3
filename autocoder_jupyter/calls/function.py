"""`Function`: all that a call of a generated function needs, as plain data. It can be pickled if its samples can."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.calls.outputs import Interface
from autocoder_jupyter.errors import GenerationFailed
from autocoder_jupyter.request import Contract
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec, Program
from autocoder_jupyter.types import Figure, InputSpec, OutputSpec, Report
from autocoder_jupyter.types.interface import DeclaredSplit, FoundSplit, KnownSplits
from autocoder_jupyter.untrusted.folder import Folder
from autocoder_jupyter.untrusted.parsing import visible
from autocoder_jupyter.untrusted.plain_json import parse
from autocoder_jupyter.version import VERSION

if TYPE_CHECKING:
    from autocoder_jupyter.codec import Encoded


# Keeps what is known of how a function may be split, and tells whoever shows it.


TOLD_SECONDS = 2.0
"""Least time between two words about a check that runs: each of them closes the parts of a card that are open."""


class SplitWatch:
    """What is known of one function. Every method may be called from any thread.

    Args:
        now: a clock in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._known = KnownSplits()
        self._code = ""
        self._listeners: tuple[Callable[[], object], ...] = ()
        self._now = now
        self._not_before = 0.0
        self._lock = threading.Lock()

    def known(self, code: str) -> KnownSplits:
        """What is known now of the function with this code: a second opinion may have changed it meanwhile."""
        return self._known if code == self._code else replace(self._known, found=())

    def listen(self, listener: Callable[[], object]) -> None:
        """Call a listener after each change. It must return at once."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

    def begin(self, words: str) -> bool:
        """A check begins; its words. False if one runs already."""
        with self._lock:
            if self._known.doing:
                return False
            self._known = replace(self._known, doing=words, failed="")
            self._not_before = self._now() + TOLD_SECONDS
        self._tell()
        return True

    def goes_on(self, words: str) -> None:
        """What the check that runs tries now. It is not told if it told something a moment ago."""
        with self._lock:
            if not self._known.doing or self._now() < self._not_before:
                return
            self._known = replace(self._known, doing=words)
            self._not_before = self._now() + TOLD_SECONDS
        self._tell()

    def end(self, failed: str = "") -> None:
        """The check has ended; the reason if it failed."""
        with self._lock:
            self._known = replace(self._known, doing="", failed=failed)
        self._tell()

    def keep(self, found: FoundSplit, code: str) -> None:
        """Keep what was found for an output, in place of what was found for it before."""
        with self._lock:
            others = [other for other in self.known(code).found if other.output != found.output]
            self._known, self._code = replace(self._known, found=(*others, found)), code
        self._tell()

    def forget(self) -> None:
        """Forget everything: the samples are others."""
        with self._lock:
            self._known = KnownSplits()
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def __reduce__(self) -> tuple[Any, ...]:
        return SplitWatch, ()


# Compares the tables of calls with the recorded values of the samples, and tells each difference once.


MOST_OF_CALLS = 0.04
"""The part of the time of calls that comparing may take. A call that would exceed it is not compared, and counted."""


class ValueWatch:
    """What was found in the calls of one function.

    Attributes:
        told: the sentences, by input, column and kind of difference.
        calls: the seconds of all calls so far that could be compared.
        comparing: the seconds of all comparisons so far, of the processor.
        compared: the number of calls that were compared.
        left_out: the number of calls that were not compared, because there was no time for it.
    """

    def __init__(self) -> None:
        self.told: dict[tuple[str, str, str], str] = {}
        self.calls = 0.0
        self.comparing = 0.0
        self.compared = 0
        self.left_out = 0

    def may_compare(self) -> bool:
        """Whether this call may be compared. The first one always is."""
        if self.comparing <= self.calls * MOST_OF_CALLS:
            self.compared += 1
            return True
        self.left_out += 1
        return False

    @property
    def remarks(self) -> tuple[str, ...]:
        """A sentence if calls were not compared."""
        if not self.left_out:
            return ()
        return (
            f"{self.left_out:,} of {self.left_out + self.compared:,} calls were not compared, because comparing may "
            f"take at most {MOST_OF_CALLS * 100:.0f} % of the time of calls.",
        )

    def compare(self, function: Function, arguments: Mapping[str, Any], given: Collection[str]) -> list[str]:
        """Compare the given tables. Returns the sentences about differences of a kind that was not told before."""
        import pandas as pd

        from autocoder_jupyter.data.columns_read import columns_read
        from autocoder_jupyter.data.value_drift import recorded_values, value_drift

        # Neither imports, which are made once, nor the work of other threads count.
        began, new = time.thread_time(), []
        reads = columns_read(function.code, function.inputs)
        for name in given:
            then, value = recorded_values(function.values[name]), arguments.get(name)
            if then is None or value is function.samples.get(name) or not isinstance(value, pd.DataFrame):
                continue
            for found in value_drift(name, value, then, reads, show_values=True):
                kind = (name, found.column, found.what)
                if kind not in self.told:
                    self.told[kind] = found.words
                    new.append(f"{function.name}: {found.words}")
        self.comparing += time.thread_time() - began
        return new


# What the docstring of this file says.


@dataclass(frozen=True)
class Function:
    """A function to call.

    Args:
        environment: the packages that it was tested with, locked.
        sandbox: the kind of sandbox that it was tested in.
        samples: default arguments; it was tested with them.
        defaults: further default arguments, which it was not tested with. They are checked as if they were passed.
        shapes: columns and dtypes of each frame when the function was built, to detect drift.
        values: the values of each frame in figures when the function was built, to detect drift.
        renames: names of columns in the data, by the names that it reads (`--rename`).
        split: how its largest table must be able to be split (`--split`); None if nothing was demanded.
        root: the `.autocode` folder. `File` and `Dir` outputs are stored below it.
        contracts: schemas that its inputs and outputs must satisfy; the user's own code.
        caution: a sentence for a warning in each call; "" for none.
        unchecked: a sentence about contracts that only its notebook has, for a warning in each call; "" for none.
        unverified: a sentence for a warning in the first call if its evidence was not gathered here; "" for none.
        watch: what was found in the tables of its calls.
        splits: what is known of how it may be split.
    """

    name: str
    code: str
    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    environment: EnvironmentSpec
    sandbox: str | None = None
    description: str = ""
    samples: Mapping[str, Any] = field(default_factory=dict, repr=False)
    defaults: Mapping[str, Any] = field(default_factory=dict, repr=False)
    shapes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    renames: Mapping[str, str] = field(default_factory=dict)
    split: DeclaredSplit | None = None
    root: Path = Path(".autocode")
    contracts: Mapping[str, Contract] = field(default_factory=dict, repr=False)
    caution: str = ""
    unchecked: str = ""
    unverified: str = ""
    watch: ValueWatch = field(default_factory=ValueWatch, repr=False, compare=False)
    splits: SplitWatch = field(default_factory=SplitWatch, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        report: Report,
        samples: Mapping[str, Any],
        root: Path,
        contracts: Mapping[str, Contract] | None = None,
        *,
        is_verified: bool = True,
    ) -> Function:
        """The function of a finished generation.

        Raises:
            GenerationFailed: it has no function that passed.
        """
        if (is_verified and not report.success) or report.solution is None:
            raise GenerationFailed(
                f"{report.name} has no function that passed its tests.",
                why=report.error or "",
                hint=f"See %autocode show {report.name}; then say more in the request, or raise --max-iterations.",
            )
        return cls(
            name=report.name,
            code=report.solution.code,
            inputs=report.declared_inputs,
            outputs=report.declared_outputs,
            environment=EnvironmentSpec(
                packages=report.detected_packages,
                python_version=report.python_version or (sys.version_info[0], sys.version_info[1]),
                system_packages=report.detected_system_packages,
                lock=report.lock,
            ),
            sandbox=report.sandbox,
            description=report.plan.description if report.plan else report.prompt.strip(),
            samples=samples,
            shapes=report.sample_shapes,
            values=report.sample_values,
            renames=report.renames,
            split=report.plan.split if report.plan else None,
            root=root,
            contracts=dict(contracts or {}),
            unchecked=_unchecked(report, contracts or {}),
            unverified="" if is_verified else _unverified(report),
        )

    def without_samples(self) -> Function:
        """The same function for another process, to which the samples are not sent."""
        return replace(self, samples={})

    @property
    def interface(self) -> Interface:
        """Its signature and description."""
        return Interface(self.description, self.inputs, self.outputs, (*self.samples, *self.defaults))


def _unverified(report: Report) -> str:
    return f"{report.name} (version {visible(report.run_id)}) is not verified here: {report.name}.verify() tests it."


def _unchecked(report: Report, contracts: Mapping[str, Contract]) -> str:
    """The warning of each call if a required schema exists only in the notebook; "" if all schemas are available."""
    lacking = [name for name in report.contracts if name not in contracts]
    if not lacking:
        return ""
    return (
        f"{report.name} has a contract for {visible(', '.join(lacking))}, and this call was not checked against it: "
        f"the schema is code of its notebook, of which the record holds only a description. Run its cell to check."
    )


# A cache of outcomes on disk. The key is the content: code, environment, variables and the bytes of the inputs.
#
# The key has no names and paths, so two frames with the same name never share an outcome, and one frame with two names
# does. The size is limited; the least recently used outcomes are removed first.


MAX_OUTCOMES = 50_000
"""A map of thousands of items keeps the outcome of each. One of more items cannot be resumed."""

MAX_BYTES = 2**30

_FEW = 64
"""With more outcomes, the sizes of all are not looked at after each new one, but after an eighth as many."""

_left: dict[Path, tuple[int, int]] = {}
"""How many outcomes and bytes this process may still store in a folder before it looks at the sizes of all."""


def key(function: Function, program: Program, arguments: Mapping[str, Any]) -> str | None:
    """The key of a call: a hash of everything that its outcome depends on, including versions of packages.

    None if an argument cannot be encoded, or if the versions are unknown.
    """
    from autocoder_jupyter.codec import encode

    types = {spec.name: spec.type for spec in function.inputs}
    try:
        digests = {name: encode(value, types[name]).digest() for name, value in sorted(arguments.items())}
    except ValueError:
        return None
    version = version_of(function, program)
    return version and hashlib.sha256(json.dumps([version, digests], sort_keys=True).encode()).hexdigest()


def version_of(function: Function, program: Program) -> str | None:
    """A hash of everything that outcomes depend on besides the arguments. None if versions of packages are unknown."""
    environment = function.environment
    if not environment.lock:
        return None  # versions are resolved again each time, so the cache cannot know which ones computed an outcome
    parts = [
        VERSION,  # our code encodes and decodes the values
        function.sandbox,
        program.code,
        program.function,
        [spec.model_dump(mode="json") for spec in program.outputs],
        [list(environment.python_version), sorted(environment.lock), sorted(environment.system_packages)],
        sorted(program.env_vars.items()),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def find(key: str | None, outputs: Sequence[OutputSpec]) -> dict[str, Any] | None:
    """The stored outcome, decoded; None if there is none or it cannot be read."""
    from autocoder_jupyter.sandbox.host.replies import receive

    if key is None:
        return None
    folder = _home() / key
    files = Folder(folder)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        headers = parse(files.read_bytes("headers.json"))
        values = {}
        for number, output in enumerate(outputs):
            payload = memoryview(files.read_bytes(f"{number}.bin", MAX_BYTES))
            values[output.name] = receive(headers[number], payload, trusted=True)
        os.utime(folder)
        return values
    return None


def store(key: str | None, outputs: Sequence[OutputSpec], values: Mapping[str, Any]) -> None:
    """Store an outcome. A failure to store it does not fail the call."""
    if key is None:
        return
    home = _home()
    with contextlib.suppress(OSError, ValueError):
        encoded = [_encoded(values[output.name], output.type) for output in outputs]
        home.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=".staged-", dir=home))
        size = 0
        for number, one in enumerate(encoded):
            with (staged / f"{number}.bin").open("wb") as file:
                file.writelines(one.buffers)
                size += file.tell()
        (staged / "headers.json").write_text(json.dumps([one.header for one in encoded]), encoding="utf-8")
        shutil.rmtree(home / key, ignore_errors=True)
        staged.replace(home / key)
        outcomes, bytes_ = _left.get(home, (0, 0))
        outcomes, bytes_ = outcomes - 1, bytes_ - size
        if outcomes <= 0 or bytes_ <= 0:
            kept, used = _prune(home)
            outcomes = 1 if kept <= _FEW else kept // 8
            bytes_ = max(MAX_BYTES - used, MAX_BYTES // 16)
        _left[home] = outcomes, bytes_


def extent() -> tuple[int, int]:
    """The number of stored outcomes, and their size in bytes."""
    found = [folder for folder in _home().glob("*") if folder.is_dir()]
    return len(found), sum(path.stat().st_size for folder in found for path in folder.iterdir())


def clear() -> int:
    """Remove all outcomes. Returns the number of freed bytes."""
    _, size = extent()
    shutil.rmtree(_home(), ignore_errors=True)
    return size


def _encoded(value: Any, type_name: str) -> Encoded:
    from autocoder_jupyter.codec import encode, encoded_parts, write_parts

    if isinstance(value, Figure):  # a figure is already rendered
        return encoded_parts(value.kind, value.png, value.svg, json.dumps(value.spec).encode(), value.preview)
    parts = write_parts(value, _encoded) if isinstance(value, list | dict) else None
    return parts or encode(value, type_name)


def _home() -> Path:
    from autocoder_jupyter.concurrency.cache_folder import cache_folder

    return cache_folder() / "outcomes"


def _prune(home: Path) -> tuple[int, int]:
    """Remove the oldest outcomes, so that the limits hold. Returns the number and the bytes of those that stay."""
    newest_first = sorted(home.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    count = used = 0
    for folder in newest_first:
        size = sum(path.stat().st_size for path in folder.iterdir())
        if count >= MAX_OUTCOMES or used + size > MAX_BYTES:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            count, used = count + 1, used + size
    return count, used
