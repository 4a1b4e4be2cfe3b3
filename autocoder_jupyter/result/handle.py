"""The result of a generation: bound to its name at once, first pending, later the function with its evidence."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from autocoder_jupyter.calls.binding import misfit
from autocoder_jupyter.calls.callable import DocumentationOfInstance, Live, SignatureOfInstance
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.interface import Interface
from autocoder_jupyter.calls.option_specs import GivenOptions, TaskOptions, taking
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.request import Contract
from autocoder_jupyter.result import storage
from autocoder_jupyter.result.fields import ReportFields
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.result.run import Run
from autocoder_jupyter.result.waited import Waited
from autocoder_jupyter.tasks.export import export
from autocoder_jupyter.tasks.task import Task
from autocoder_jupyter.types import Report


class CodeGenEvalResult(ReportFields, Waited[Resolution]):
    """The result of a generation: pending at first; then `run()` calls the tested function in its sandbox.

    `state`, `done` and `repr` never wait. `wait()` and `await` give the result when the generation has ended, with
    or without success; they raise only what the generation itself raised (no key, no sandbox, cancelled). Every
    other field waits too, and can be read after any ending. `run()` raises `GenerationFailed` when there is no
    function that can be trusted.

    A name that had a good function keeps it: `last_good` is the result from before until this one is ready. What
    `run()` does meanwhile:

    - While this run is in work it waits, so that *Run All* never gives the cells below the function of another
      request. Only where the same request is asked anew (`--refresh`, `%autocode retry`) the function from before
      answers at once; it does what is asked for.
    - When this run has failed or was cancelled, it calls the function from before. A call that had begun to wait for
      the new one gets the error instead.

    Each call that the function from before answers gives an `EarlierVersionWarning`, and the defaults of its arguments
    are the samples of this run, never those of the earlier one.

    Args:
        name: what the user calls it.
        pending: where the outcome will be.
        samples: values by input name, captured; the defaults of `run()`.
        options: how the function is called.
        root: the `.autocode` folder.
        declared: how the function will be called, as far as that is known before there is one.
        before: gives the result that the name had before, when there was a good one.
        answers_meanwhile: whether the function from before answers calls while this run is in work.
        contracts: schemas that inputs and outputs must satisfy in each call.
    """

    __doc__ = DocumentationOfInstance(__doc__)

    __slots__ = (
        "_answers_meanwhile",
        "_before",
        "_contracts",
        "_declared",
        "_function",
        "_options",
        "_samples",
    )

    def __init__(
        self,
        name: str,
        pending: Pending[Resolution],
        *,
        samples: Mapping[str, Any] | None = None,
        options: CallOptions | None = None,
        root: Path = Path(".autocode"),
        declared: Interface | None = None,
        before: Callable[[], CodeGenEvalResult | None] = lambda: None,
        answers_meanwhile: bool = False,
        contracts: Mapping[str, Contract] | None = None,
    ) -> None:
        super().__init__(name, pending, root)
        self._samples = dict(samples or {})
        self._options = options or CallOptions()
        self._declared = declared or Interface(f"{name} is not ready yet.")
        self._before = before
        self._answers_meanwhile = answers_meanwhile
        self._contracts = dict(contracts or {})
        self._function: Function | None = None

    @property
    def report(self) -> Report:
        """Everything as one record of plain data; waits, and does not raise what the generation raised."""
        return self._pending.wait().report

    @property
    def original_samples(self) -> Mapping[str, Any]:
        """The samples as they were captured; the defaults of `run()`."""
        return dict(self._samples)

    @property
    def contracts(self) -> Mapping[str, Any]:
        """The schemas that the user demanded, by the input or output that each call is held to."""
        return {name: contract.given for name, contract in self._contracts.items()}

    @property
    def contracts_in_force(self) -> Mapping[str, Contract]:
        """The same with what is recorded of them."""
        return dict(self._contracts)

    @property
    def options(self) -> CallOptions:
        """How the function is called: limits, network, variables."""
        return self._options

    @property
    def last_good(self) -> CodeGenEvalResult | None:
        """The good result of the name: this one when it is ready, else the one from before, if any. Never waits."""
        return self if self._is_good else self._before()

    @property
    def _is_good(self) -> bool:
        return self.done and self.report.success

    # The function

    @Live
    def run(self) -> Run:
        """The function, to be called: `result.run(df)`, or `await result.run.aio(df)` on a loop of your own.

        Its arguments are the inputs, by position or name, and for this call: `name`, `resources`, `retries`,
        `timeout`, `env_vars`, `secrets`, `cache`, `reuse`, `output_dir`, `tables` (see `with_options`, which also
        serves when an input has the name of an option: the input wins here). What is not given is the sample. It has
        the signature and the docstring of the function; while that is pending, those of what was declared.

        A call gives one output bare, several as a named tuple in declared order (`summary.csv` is its field
        `summary_csv`). It raises `GenerationFailed` when there is no function that can be trusted, `InvalidRequest`
        or `DataDrift` when the arguments do not fit (nothing ran), `ContractBroken` when a table does not satisfy its
        schema, and `SandboxError` when the program or its
        sandbox failed.
        """
        stand_in = self._stand_in()
        if stand_in is None:
            return Run(self.name, self.interface, self._options, self._ready, self._task)

        async def from_before() -> Function:
            return stand_in

        return Run(self.name, stand_in.interface, self._options, from_before, self._task)

    def __call__(self, *args: Any, **overrides: Any) -> Any:
        """The same as `run(…)`."""
        return self.run(*args, **overrides)

    __signature__ = SignatureOfInstance()

    @property
    def interface(self) -> Interface:
        """How the function is called, with its docstring: of what was declared, until it is ready; never waits."""
        if (stand_in := self._stand_in()) is not None:
            return stand_in.interface
        if not self.done:
            return self._declared
        report = self.report
        return self._built().interface if report.success and report.solution else self._declared

    def _stand_in(self) -> Function | None:
        """The function from before, where it is to answer a call that begins now."""
        if self._is_good or not (self.done or self._answers_meanwhile) or (before := self._before()) is None:
            return None
        state = {"cancelled": "was cancelled", "running": "is being made anew"}.get(self.state, "has failed")
        function = Function.of(before.report, self._samples, self._root, self._contracts)
        inputs = {spec.name for spec in function.inputs}
        told = f"{self.name} {state}; this call went to the function from before (version {before.report.run_id})."
        return replace(
            function,
            samples={name: value for name, value in self._samples.items() if name in inputs},
            caution=told,
        )

    def _task(self) -> Task:
        if not self.done:
            raise TypeError(f"{self.name} is still pending; call .wait() before it is pickled or copied")
        return self.as_task(self.name)

    def misfit(self, name: str, value: Any) -> str:
        """Why a value cannot be an input of the function, in a sentence; "" when it can. Waits if pending.

        Args:
            name: the name of the input.
            value: what would be given to `run()`.

        Raises:
            GenerationFailed: there is no function that can be trusted.
        """
        return misfit(self.wait()._built(), name, value)

    async def _ready(self) -> Function:
        self._settled(await self._pending.settled())
        return self._built()

    def _built(self) -> Function:
        if self._function is None:
            self._function = Function.of(self.report, self._samples, self._root, self._contracts)
        return self._function

    @taking(GivenOptions)
    def with_options(self, **options: Unpack[GivenOptions]) -> CodeGenEvalResult:
        """The same result, called with other options. What is None stays as it is; everything else is shared.

        Args:
            {options}

        Raises:
            InvalidRequest: a value that an option cannot have.
        """
        view = copy.copy(self)
        view._options = self._options.changed({name: value for name, value in options.items() if value is not None})
        return view

    @taking(TaskOptions)
    def as_task(self, name: str, **options: Unpack[TaskOptions]) -> Task:
        """The function as a callable object with `.aio`, a signature and a docstring; it pickles. Waits if pending.

        Args:
            name: its `__name__`, and the label of its calls in errors.
            {options}

        Raises:
            GenerationFailed: (a ValueError as well) there is no function that can be trusted.
            InvalidRequest: a value that an option cannot have.
        """
        configured = self.with_options(name=name, **options)
        return Task(name, self.wait()._built(), configured._options)

    def export(self, path: str | os.PathLike[str], *, tests: bool = True) -> Path:
        """Write a script that `uv run` executes, with a command line, and its tests beside it. Waits if pending.

        Raises:
            GenerationFailed: there is no function that can be trusted.
            InvalidRequest: the path is not that of a module, or cannot be written.
        """
        function = self.wait()._built()
        return export(self.report, function, Path(path), tests=tests)

    # As data

    def model_dump(self, mode: str = "python") -> dict[str, Any]:
        """The report's fields, with `state` and `options`; without the samples. Waits if pending."""
        return storage.dumped(self._pending.wait(), self._options, mode)

    def model_dump_json(self, indent: int | None = None) -> str:
        """`model_dump` as JSON."""
        return storage.to_json(self._pending.wait(), self._options, indent)

    @classmethod
    def model_validate_json(cls, text: str | bytes, *, trusted: bool = False) -> CodeGenEvalResult:
        """A result from its JSON. Its samples are not in there, so `run()` needs all inputs.

        Args:
            text: what `model_dump_json` gave.
            trusted: take over the options that reach out of the sandbox too (`secrets`, network, `output_dir`, images),
                limits above the usual, and packages that are not well known. Not by default: the text may be a
                stranger's.

        Raises:
            InvalidRequest: the text is not that of a result.
        """
        resolution, options = storage.from_json(text, trusted=trusted)
        return cls(resolution.report.name, Pending.resolved(resolution), options=options)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write result and samples (as Arrow) to a folder. Waits if pending.

        Raises:
            UnsupportedData: a sample cannot be written without being changed.
            InvalidRequest: the folder cannot be written.
        """
        return storage.save(Path(folder), self._pending.wait(), self._options, self._samples)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, trusted: bool = False) -> CodeGenEvalResult:
        """A result from the folder that `save` wrote; `run()` without arguments works.

        Args:
            folder: that `save` was given.
            trusted: as for `model_validate_json`.

        Raises:
            InvalidRequest: there is no result in the folder.
        """
        resolution, options, samples = storage.load(Path(folder), trusted=trusted)
        pending = Pending.resolved(resolution)
        return cls(resolution.report.name, pending, samples=samples, options=options)

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.done:
            raise TypeError(f"{self.name} is still pending; call .wait() before it is pickled or copied")
        parts = self.name, self._pending.wait(), self._samples, self._options, self._root, self._contracts
        return _revived, parts

    def __copy__(self) -> CodeGenEvalResult:
        twin = CodeGenEvalResult(
            self.name,
            self._pending,
            samples=self._samples,
            options=self._options,
            root=self._root,
            declared=self._declared,
            before=self._before,
            answers_meanwhile=self._answers_meanwhile,
            contracts=self._contracts,
        )
        twin._function = self._function
        return twin

    def __repr__(self) -> str:
        words = [f"autocode {self.name} {self.state.replace('_', ' ')}"]
        if self.done:
            words += _summary(self.report)
        return f"<{' · '.join(words)}>"


def _summary(report: Report) -> list[str]:
    words = []
    if report.evidence.tests:
        passed = sum(outcome.outcome == "passed" for outcome in report.evidence.tests)
        words.append(f"{passed}/{len(report.evidence.tests)} tests")
    if report.usage.input_tokens:
        words.append("cost unknown" if report.usage.cost is None else f"${report.usage.cost:.2f}")
    return words


def _revived(
    name: str,
    resolution: Resolution,
    samples: Mapping[str, Any],
    options: CallOptions,
    root: Path,
    contracts: Mapping[str, Contract] | None = None,
) -> CodeGenEvalResult:
    pending = Pending.resolved(resolution)
    return CodeGenEvalResult(name, pending, samples=samples, options=options, root=root, contracts=contracts)
