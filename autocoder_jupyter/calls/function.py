"""`Function`: all that a call of a generated function needs, as plain data. It can be pickled if its samples can.

Its interface is what a caller sees. Drift and splits are what its calls and checks have found out so far.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autocoder_jupyter.calls.options import OPTIONS
from autocoder_jupyter.calls.outputs import field_names
from autocoder_jupyter.errors import GenerationFailed
from autocoder_jupyter.kinds import table
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.request import Contract
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
from autocoder_jupyter.types import Helpers, InputSpec, OutputSpec, Report, RowsUsed, SampledDatabase
from autocoder_jupyter.types.interface import DeclaredSplit, FoundSplit, KnownSplits
from autocoder_jupyter.untrusted.visible import visible, visible_block

# Signature and docstring


@dataclass(frozen=True)
class Interface:
    """The interface of a function for its caller.

    Args:
        outputs: its outputs, in order; empty while they are unknown.
        sampled: names of inputs that have a sample as default.
    """

    description: str
    inputs: tuple[InputSpec, ...] = ()
    outputs: tuple[OutputSpec, ...] = ()
    sampled: Collection[str] = ()

    def signature(self) -> inspect.Signature:
        """The signature with Python types. Inputs with a sample or a default are optional."""
        parameters = [
            inspect.Parameter(
                spec.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=_annotation(spec),
                default=self._default(spec),
            )
            for spec in self.inputs
        ]
        if _required_after_default(parameters):
            parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        return inspect.Signature(parameters, return_annotation=self._returned())

    def _default(self, spec: InputSpec) -> Any:
        if spec.name in self.sampled:
            return SAMPLE
        return inspect.Parameter.empty if spec.required else spec.default

    def _returned(self) -> Any:
        types = tuple(map(_annotation, self.outputs))
        if not types:
            return inspect.Signature.empty
        return types[0] if len(types) == 1 else tuple.__class_getitem__(types)

    def documentation(self) -> str:
        """What it does, each argument and each output, and the options of a call."""
        parts = [self.description.strip()]
        if self.inputs:
            parts.append("\n".join(["Args:", *(_documented(spec.name, spec) for spec in self.inputs)]))
        if self.outputs:
            fields = field_names([spec.name for spec in self.outputs])
            lines = [_documented(name, spec) for name, spec in zip(fields, self.outputs, strict=True)]
            parts.append("\n".join(["Returns:", *lines]))
        parts.append(f"Options of a call, by name: {', '.join(OPTIONS)}.")
        return visible_block("\n\n".join(parts))


def _documented(name: str, spec: InputSpec | OutputSpec) -> str:
    return f"    {name}: {spec.written_type}. {spec.meaning}".rstrip()


def _annotation(spec: InputSpec | OutputSpec) -> Any:
    return table.python_type(KINDS[spec.type].python_type, spec.elements)


class _Sample:
    """A placeholder in a signature for a default that is a sample."""

    def __repr__(self) -> str:
        return "<sample>"

    def __reduce__(self) -> str:
        return "SAMPLE"


SAMPLE = _Sample()


def _required_after_default(parameters: list[inspect.Parameter]) -> bool:
    optional = [parameter.default is not inspect.Parameter.empty for parameter in parameters]
    return any(earlier and not later for earlier, later in itertools.pairwise(optional))


# Drift: the tables of calls are compared with the recorded values of the samples

MOST_OF_CALLS = 0.04
"""The share of the time of calls that comparing may take. Calls that would exceed it are counted, not compared."""

MOST_KNOWN, MOST_SEEN = 1_000, 16
"""Inputs whose rows are known by their content, and whose objects are known without a look at it."""


class KnownRows:
    """Which rows the calls of one function used.

    Attributes:
        by_input: by a digest of the arguments; None if that cannot be told.
        left_out: the number of calls whose rows were not counted to save time.
    """

    def __init__(self) -> None:
        self.by_input: dict[str, RowsUsed | None] = {}
        self.left_out = 0
        self._seen: dict[tuple[int, ...], list[Callable[[], Any]]] = {}

    def was_seen(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a call had the same objects."""
        seen = self._seen.get(tuple(map(id, arguments.values())))
        return seen is not None and all(one() is value for one, value in zip(seen, arguments.values(), strict=True))

    def see(self, arguments: Mapping[str, Any]) -> None:
        """Note the objects of a call, and keep no table."""
        self._seen[tuple(map(id, arguments.values()))] = list(map(_reference, arguments.values()))
        for oldest in list(self._seen)[:-MOST_SEEN]:
            self._seen.pop(oldest, None)

    def keep(self, digest: str, found: RowsUsed | None) -> None:
        """Keep the newest."""
        self.by_input[digest] = found
        for oldest in list(self.by_input)[:-MOST_KNOWN]:
            self.by_input.pop(oldest, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return KnownRows, ()


def _reference(value: Any) -> Callable[[], Any]:
    return weakref.ref(value) if hasattr(value, "iloc") else lambda: value


class ValueWatch:
    """Differences that were found in the calls of one function.

    Attributes:
        warnings: the sentences, by input, column and kind of difference.
        rows: which rows the calls used.
        calls: the seconds of all calls so far that could be compared.
        comparing: the seconds of all comparisons so far, of the processor.
        compared: the number of calls that were compared.
        left_out: the number of calls that were skipped to save time.
    """

    def __init__(self) -> None:
        self.warnings: dict[tuple[str, str, str], str] = {}
        self.rows = KnownRows()
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
        """Sentences if calls were not compared, or their rows not counted."""
        found = []
        if self.left_out:
            found.append(
                f"{self.left_out:,} of {self.left_out + self.compared:,} calls were not compared, because comparing "
                f"may take at most {MOST_OF_CALLS * 100:.0f} % of the time of calls."
            )
        if count := self.rows.left_out:
            found.append(f"The rows of {count:,} call{'s' if count > 1 else ''} were not counted, to save time.")
        return tuple(found)

    def compare(self, function: Function, arguments: Mapping[str, Any], given: Collection[str]) -> list[str]:
        """Compare the given tables. Returns the sentences about differences of a new kind."""
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
                if kind not in self.warnings:
                    self.warnings[kind] = found.words
                    new.append(f"{function.name}: {found.words}")
        self.comparing += time.thread_time() - began
        return new


# Splits: what is known about calling the function for pieces of a table

NOTIFY_SECONDS = 2.0
"""Minimum time between two updates about a running check: each update closes the open parts of a card."""


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
        """A check begins; `words` describe it. False if one runs already."""
        with self._lock:
            if self._known.doing:
                return False
            self._known = replace(self._known, doing=words, failed="")
            self._not_before = self._now() + NOTIFY_SECONDS
        self._notify()
        return True

    def report_step(self, words: str) -> None:
        """Update the description of the running check. Ignored directly after another update."""
        with self._lock:
            if not self._known.doing or self._now() < self._not_before:
                return
            self._known = replace(self._known, doing=words)
            self._not_before = self._now() + NOTIFY_SECONDS
        self._notify()

    def end(self, failed: str = "") -> None:
        """The check has ended; `failed` is the reason if it failed."""
        with self._lock:
            self._known = replace(self._known, doing="", failed=failed)
        self._notify()

    def keep(self, found: FoundSplit, code: str) -> None:
        """Keep what was found for an output, in place of what was found for it before."""
        with self._lock:
            others = [other for other in self.known(code).found if other.output != found.output]
            self._known, self._code = replace(self._known, found=(*others, found)), code
        self._notify()

    def forget(self) -> None:
        """Forget everything, because the samples have changed."""
        with self._lock:
            self._known = KnownSplits()
        self._notify()

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()

    def __reduce__(self) -> tuple[Any, ...]:
        return SplitWatch, ()


# The function


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
        rows: which rows of the samples it used; None if that is not known.
        renames: names of columns in the data, by the names that it reads (`--rename`).
        helpers: the modules that it may import.
        databases: those whose tables are inputs.
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
    rows: RowsUsed | None = field(default=None, repr=False)
    renames: Mapping[str, str] = field(default_factory=dict)
    helpers: Helpers = field(default_factory=Helpers, repr=False)
    databases: tuple[SampledDatabase, ...] = field(default=(), repr=False)
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
            rows=report.evidence.rows_used,
            renames=report.renames,
            helpers=report.helpers,
            databases=report.databases,
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
